"""A seat's table of bargaining as HTML: what it knows, the standing offer, all offers, the messages."""

from __future__ import annotations

from collections.abc import Sequence

from negolab.formatting import format_money
from negolab.game import SEATS, Seat, other
from negolab.games.bargaining.rules import Bargaining
from negolab.games.bargaining.state import Seen, Told, reservation_value
from negolab.games.bargaining.words import WORDS
from negolab.money import discounted
from negolab.studies.texts import table_texts
from negolab_widgets import html
from negolab_widgets.html import Markup, element
from negolab_widgets.tables.conversation import ConversationEntry
from negolab_widgets.tables.decision import Decision, end_class, render_pay
from negolab_widgets.tables.inputs import Zone
from negolab_widgets.tables.timeline import Timeline


def known_reservation_value(seen: Seen, seat: Seat) -> int | None:
    """Return the seller's cost or the buyer's value; None if this observation does not hold it."""
    private, public = seen.private, seen.public
    if seat == seen.seat:
        return private.cost if seat == "A" else private.value
    return public.cost if seat == "A" else public.value


def deal_payoff(seen: Seen, seat: Seat, cents: int, number: int) -> float | None:
    """Return what a deal on the offer of round `number` pays a seat; None if that is not known here."""
    terms, own = seen.public.terms, known_reservation_value(seen, seat)
    if seat == "A":
        gain = cents if terms.frame == "keeps_item" else None if own is None else cents - own
        discount = terms.discount_seller
    else:
        gain = None if own is None else own - cents
        discount = terms.discount_buyer
    return None if gain is None else discounted(gain, discount, number - 1)


def own_deal_payoff(seen: Seen, cents: int, number: int) -> float:
    """Return what a deal on the offer of round `number` pays the seat itself, which knows its own number."""
    return deal_payoff(seen, seen.seat, cents, number) or 0


def no_deal_payoff(seen: Seen) -> int:
    """Return what the seat has without a deal."""
    terms = seen.public.terms
    if seen.seat == "B":
        return terms.outside_buyer
    return terms.outside_seller + (reservation_value(seen) if terms.frame == "keeps_item" else 0)


def render_deal_value(seen: Seen, cents: int, number: int) -> Markup:
    """Render what a deal at this price pays the seat, compared with no deal, and the other where that is known."""
    own = own_deal_payoff(seen, cents, number)
    away, without, best = other(seen.seat), no_deal_payoff(seen), _best_payoff(seen, number)
    theirs = deal_payoff(seen, away, cents, number)
    beside = WORDS["for_the"][away.lower()].format(amount=format_money(theirs)) if theirs is not None else ""
    compared = " ".join(filter(None, (_compare_with_no_deal(own, without), beside)))
    bar = (own / best, without / best) if best > 0 else None
    return render_pay(format_money(own), compared, gain=own - without, bar=bar)


def _best_payoff(seen: Seen, number: int) -> float:
    """Return the most that the seat could get in a round: at the other's own number where it is known."""
    terms, theirs = seen.public.terms, known_reservation_value(seen, other(seen.seat))
    edge = terms.price_hi if seen.seat == "A" else terms.price_lo
    return own_deal_payoff(seen, edge if theirs is None else theirs, number)


def _compare_with_no_deal(own: float, without: int) -> str:
    """Compare a payoff with that of no deal, in words."""
    if own == without:
        return WORDS.SAME
    if own < without:
        return WORDS.LESS.format(amount=format_money(without - own))
    return WORDS.MORE.format(amount=format_money(own - without)) if without else ""


def role_name(seat: Seat) -> str:
    return WORDS["role"][seat.lower()]


def role(game: Bargaining, seat: Seat) -> str:
    return WORDS["the"][seat.lower()]


def clock(game: Bargaining, seen: Seen) -> str:
    public = seen.public
    made, rounds = len(public.offers), public.terms.rounds
    if public.over:
        return WORDS.ENDED.format(round=made, rounds=rounds)
    if public.last_response:
        return WORDS.NO_OFFER_LEFT.format(rounds=rounds)
    left = sum(proposer_in_round(seen, number) == seen.seat for number in range(made + 1, rounds + 1))
    return (WORDS.AT_1 if left == 1 else WORDS.AT).format(round=max(made, 1), rounds=rounds, left=left)


def proposer_in_round(seen: Seen, number: int) -> Seat:
    """Return who makes the offer of a round."""
    first: Seat = "A" if seen.public.terms.opener == "seller" else "B"
    return first if number % 2 else other(first)


def known(game: Bargaining, seen: Seen) -> list[object]:
    return []


def facts(game: Bargaining, seen: Seen) -> list[tuple[str, object]]:
    """Return the seat's own number, what it was told of the other's, and what it has without a deal."""
    terms, away = seen.public.terms, other(seen.seat)
    told, exact = known_facts(seen)
    without = WORDS.KEPT.format(amount=format_money(no_deal_payoff(seen)), item=game.item)
    discounts = {"A": terms.discount_seller, "B": terms.discount_buyer}
    factors = {"own": f"{discounts[seen.seat]:g}", "theirs": f"{discounts[away]:g}"}
    discounting = WORDS.DISCOUNTING, WORDS["discounts"][seen.seat.lower()].format(**factors)
    return [
        (reservation_value_name(seen, seen.seat), format_money(reservation_value(seen))),
        (reservation_value_name(seen, away), describe_told(told, exact)),
        (WORDS.WITHOUT_A_DEAL, without if _keeps_item(seen) else format_money(no_deal_payoff(seen))),
        *([discounting] if set(discounts.values()) != {1} else []),
    ]


def known_facts(seen: Seen) -> tuple[Told, int | None]:
    """Return what the seat was told of the other's number, and that number where it knows it."""
    public = seen.public
    return (public.terms.seller_told, public.value) if seen.seat == "A" else (public.terms.buyer_told, public.cost)


def describe_told(facts: Told, exact: int | None) -> str:
    """Say what a seat was told of the other's number."""
    match facts:
        case ("exact",):
            return WORDS.EXACTLY.format(amount=format_money(exact or 0))
        case ("range", int(low), int(high)):
            return WORDS.BETWEEN.format(low=format_money(low), high=format_money(high))
        case ("verified", int(low), int(high)):
            return WORDS.CERTIFIED.format(low=format_money(low), high=format_money(high))
        case ("set", *amounts):
            listed = tuple(amount for amount in amounts if isinstance(amount, int))
            return WORDS.ONE_OF.format(amounts=_list_alternatives(listed))
    return WORDS.UNKNOWN


def _list_alternatives(amounts: Sequence[int]) -> str:
    """List amounts as `$20.00, $30.00 or $40.00`."""
    *before, last = map(format_money, amounts)
    return WORDS.OR.format(before=", ".join(before), last=last) if before else last


def reservation_value_name(seen: Seen, seat: Seat) -> str:
    """Return what a seat's own number is called, as a title."""
    word = "value" if seat == "B" else "valuation" if seen.public.terms.frame == "keeps_item" else "cost"
    return (WORDS["your"] if seat == seen.seat else WORDS["their"])[word]


def _keeps_item(seen: Seen) -> bool:
    """Return True if this seat keeps the item without a deal."""
    return seen.public.terms.frame == "keeps_item" and seen.seat == "A"


def rules(game: Bargaining, seen: Seen) -> list[str]:
    """Say the rules to a person: the goal, what no deal pays, how offers are made and answered."""
    terms, seller = seen.public.terms, seen.seat == "A"
    own = format_money(reservation_value(seen))
    words, keeps = WORDS["rules"], _keeps_item(seen)
    discount = terms.discount_seller if seller else terms.discount_buyer
    told = (
        words["keep" if keeps else "sell" if seller else "buy"].format(item=game.item, own=own),
        words["kept" if keeps else "no_deal"].format(payoff=format_money(no_deal_payoff(seen)), item=game.item),
        words["with_buyer" if seller else "with_seller"].format(rounds=terms.rounds),
        words["walk_away"] if terms.walk_away else "",
        words["discount"].format(factor=f"{discount:g}") if discount != 1 else "",
        words["talk"] if terms.talk != "none" else "",
    )
    return list(filter(None, told))


# The offer that stands.


def decision(game: Bargaining, seen: Seen) -> Decision:
    """Return the standing offer, what a deal at it pays, and the other's last offer where the own one stands."""
    offers, away = seen.public.offers, other(seen.seat).lower()
    if not offers:
        opens = proposer_in_round(seen, 1)
        return Decision(WORDS.YOU_OPEN if opens == seen.seat else WORDS["opens"][opens.lower()])
    number, seat, cents = offers[-1]
    pays = render_deal_value(seen, cents, number)
    before = [price for _, by, price in offers if by != seen.seat]
    if seat == seen.seat:
        last = WORDS["last_offer"][away].format(amount=format_money(before[-1])) if before else ""
        return Decision(WORDS.WAITS, format_money(cents), pays, last, seat)
    said = {at: text for at, _, text in seen.public.messages}.get(number, "")
    moved = WORDS.BEFORE.format(amount=format_money(before[-2])) if len(before) > 1 else ""
    says = (WORDS["final_offer"] if seen.public.last_response else WORDS["offers"])[away]
    heard = f"\N{LEFT DOUBLE QUOTATION MARK}{said}\N{RIGHT DOUBLE QUOTATION MARK}" if said else ""
    return Decision(says, format_money(cents), pays, " ".join(filter(None, (moved, heard))), seat)


def standing_gain(seen: Seen) -> float:
    """Return what a deal on the standing offer pays the seat beyond no deal, in cents."""
    number, _, cents = seen.public.offers[-1]
    return own_deal_payoff(seen, cents, number) - no_deal_payoff(seen)


def price_zone(seen: Seen, least: int, most: int) -> Zone:
    """Return the prices that can suit both as far as this seat was told: between both numbers, else all of them."""
    own, away = known_reservation_value(seen, seen.seat), other(seen.seat)
    told, exact = known_facts(seen)
    sure = told[0] in ("exact", "range", "verified", "set")
    known = [cents for cents in (own, exact, *(told[1:] if sure else ())) if isinstance(cents, int)]
    ends = (max(least, min(known)), min(most, max(known))) if sure else (least, most)
    names = {number: reservation_value_name(seen, seat) for seat, number in ((seen.seat, own), (away, exact))}
    low, high = ends if ends[0] < ends[1] else (least, most)
    last = {seat: cents for _, seat, cents in seen.public.offers}
    words = {seen.seat: WORDS.YOUR_LAST, away: WORDS["their_offer"][away.lower()]}
    marks = [[cents, f"{words[seat]} {format_money(cents)}", seat.lower()] for seat, cents in last.items()]
    return Zone(low, high, [f"{names.get(end, '')} {format_money(end)}".strip() for end in (low, high)], marks)


def render_shares(seen: Seen, cents: int, number: int) -> Markup:
    """Render as one bar who gains how much at a price; empty where somebody loses or the other's number is unknown."""
    gains = {seat: deal_payoff(seen, seat, cents, number) or 0 for seat in SEATS}
    names = {seen.seat: WORDS.YOU, other(seen.seat): role_name(other(seen.seat))}
    words = {seat: f"{names[seat].capitalize()} {format_money(gain)}" for seat, gain in gains.items()}
    bar = (element("span", words[s], cls=f"nl-share-{s.lower()}", style=f"flex: {gains[s]:g}") for s in SEATS)
    return element("div", *bar, cls="nl-shares", aria_hidden="true") if min(gains.values()) > 0 else Markup()


def is_last_offer(seen: Seen) -> bool:
    """Return True if the offer that this seat may make now is the last of the match."""
    public = seen.public
    return not public.over and len(public.offers) == public.terms.rounds - 1


def ending(game: Bargaining, seen: Seen, *, unread: bool = False) -> Markup:
    """Render the deal and what it pays, or why there is none; empty while the match runs.

    `unread` says that this seat's last answer could not be read.
    """
    public = seen.public
    if not public.over:
        return Markup("")
    if public.price is None:
        why, amount = outcome(game, seen, unread=unread), format_money(no_deal_payoff(seen))
        return html.panel(WORDS.NO_DEAL, element("p", WORDS.YOU_HAVE.format(why=why, amount=amount)))
    number, _, cents = public.offers[-1]
    return html.panel(
        _deal_title(seen),
        element(
            "div",
            element("div", format_money(cents), cls="nl-big"),
            render_deal_value(seen, cents, number),
            cls="nl-stands",
        ),
        cls=end_class(standing_gain(seen)),
    )


def _deal_title(seen: Seen) -> str:
    number, seat, _ = seen.public.offers[-1]
    return (WORDS.DEAL_ON_YOURS if seat == seen.seat else WORDS["deal_on"][seat.lower()]).format(round=number)


def outcome(game: Bargaining, seen: Seen, *, unread: bool = False) -> str:
    """Return the deal, or why there is none; `unread` as in `ending`."""
    public = seen.public
    if public.price is not None:
        return f"{_deal_title(seen)}: {format_money(public.price)}"
    own = public.by == seen.seat
    who = "you" if own else other(seen.seat).lower()
    if public.forfeited:
        return WORDS["forfeited"][who]
    if own and unread:
        return WORDS.REJECTED_FOR_YOU
    return (WORDS["rejected"] if public.last_response else WORDS["walked_away"])[who]


# What stands in for an answer that cannot be read.


def filled_offer_text(cents: int) -> str:
    return WORDS.FILLED.format(amount=format_money(cents))


# All offers, and what was said.


def timeline(game: Bargaining, seen: Seen) -> Timeline:
    """Return the prices over the rounds, and the numbers of both seats that this one was told."""
    public = seen.public
    known = ((reservation_value_name(seen, seat), known_reservation_value(seen, seat)) for seat in SEATS)
    lines: dict[str, float] = {name: cents for name, cents in known if cents is not None}
    return Timeline(
        seen.seat,
        WORDS.ALL_OFFERS,
        public.offers,
        table_texts.ROUND,
        lines,
        format_money,
        tick="${}",
        scale=100,
        last=public.terms.rounds,
        now=table_texts.STANDS if public.price is None else table_texts.DEAL,
        theirs=role_name(other(seen.seat)),
    )


def talk(game: Bargaining, seen: Seen) -> list[ConversationEntry]:
    """List the offers with what a deal at each pays, and the words that went along."""
    claimed = seller_claim(seen.public.terms.buyer_told, game.item)
    entries = [] if claimed is None else [_conversation_entry(seen, "A", claimed, WORDS.BEFORE_ROUND_1)]
    said = {number: text for number, _, text in seen.public.messages}
    for number, seat, cents in seen.public.offers:
        pays = format_money(own_deal_payoff(seen, cents, number))
        note = WORDS.OFFERED.format(amount=format_money(cents), pays=pays)
        entries.append(_conversation_entry(seen, seat, said.get(number, ""), note))
    if seen.public.price is not None and seen.public.by is not None:
        entries.append(_conversation_entry(seen, seen.public.by, "", WORDS.ACCEPTED))
    return entries


def seller_claim(told: Told, item: str) -> str | None:
    """Return the seller's message before round 1 in the `claimed` treatment; None in any other."""
    match told:
        case ("claimed", int(low), int(high)):
            return WORDS.CLAIM.format(item=item, low=format_money(low), high=format_money(high))
    return None


def _conversation_entry(seen: Seen, seat: Seat, text: str, note: str) -> ConversationEntry:
    own = seat == seen.seat
    return ConversationEntry(WORDS.YOU if own else WORDS["the"][seat.lower()], text, note, "own" if own else "other")
