"""A seat's table of bargaining as HTML: what it knows, the standing offer, all offers, the messages."""

from __future__ import annotations

from collections.abc import Collection

from negolab.game import Seat, other
from negolab.games.bargaining import prompt
from negolab.games.bargaining.rules import Bargaining
from negolab.games.bargaining.state import Seen, history, may_talk
from negolab.money import format_cents
from negolab_widgets import html
from negolab_widgets.html import Markup, element
from negolab_widgets.tables.conversation import ConversationEntry, render_conversation


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
    return gain if gain is None or discount == 1 else gain * discount ** (number - 1)


def no_deal_payoff(seen: Seen) -> int:
    """Return what the seat has without a deal."""
    terms = seen.public.terms
    if seen.seat == "B":
        return terms.outside_buyer
    cost = known_reservation_value(seen, "A")
    assert cost is not None
    return terms.outside_seller + (cost if terms.frame == "keeps_item" else 0)


def render_deal_value(seen: Seen, cents: int, number: int) -> Markup:
    """Render what a deal at this price pays the seat, compared with no deal, and the other where that is known."""
    own = deal_payoff(seen, seen.seat, cents, number)
    assert own is not None
    away = other(seen.seat)
    theirs = deal_payoff(seen, away, cents, number)
    beside = f"{format_cents(theirs)} for the {role_name(away)}." if theirs is not None else ""
    return element(
        "div",
        element(
            "div",
            element("b", format_cents(own)),
            " for you",
            cls="nl-loss" if own < no_deal_payoff(seen) else "nl-gain",
        ),
        element(
            "div", " ".join(filter(None, (_compare_with_no_deal(own, no_deal_payoff(seen)), beside))), cls="nl-soft"
        ),
        cls="nl-brings",
    )


def _compare_with_no_deal(own: float, without: int) -> str:
    """Compare a payoff with that of no deal, in words."""
    if own == without:
        return "The same as without a deal."
    if own < without:
        return f"{format_cents(without - own)} less than without a deal."
    return f"{format_cents(own - without)} more than without a deal." if without else ""


def role_name(seat: Seat) -> str:
    return "seller" if seat == "A" else "buyer"


def role(game: Bargaining, seat: Seat) -> str:
    return f"the {role_name(seat)}"


def clock(game: Bargaining, seen: Seen) -> str:
    public = seen.public
    made, rounds = len(public.offers), public.terms.rounds
    if public.over:
        return f"Ended in round {made} of {rounds}"
    if public.last_response:
        return f"Round {rounds} of {rounds}, no offer left"
    left = sum(proposer_in_round(seen, number) == seen.seat for number in range(made + 1, rounds + 1))
    return f"Round {max(made, 1)} of {rounds}, {left} offer{'' if left == 1 else 's'} left for you"


def proposer_in_round(seen: Seen, number: int) -> Seat:
    """Return who makes the offer of a round."""
    first: Seat = "A" if seen.public.terms.opener == "seller" else "B"
    return first if number % 2 else other(first)


def render(game: Bargaining, seen: Seen) -> Markup:
    top = (
        render_ending(seen) if seen.public.over else html.panel(standing_offer_title(seen), render_standing_offer(seen))
    )
    parts = [top, render_knowledge(game, seen), offer_panel(seen), render_messages(game, seen)]
    return element("div", *filter(None, parts), cls="nl-stack")


def render_knowledge(game: Bargaining, seen: Seen) -> Markup:
    """Render the seat's own number, what it was told of the other's, and what it has without a deal."""
    terms, away = seen.public.terms, other(seen.seat)
    facts, exact = (terms.seller_told, seen.public.value) if seen.seat == "A" else (terms.buyer_told, seen.public.cost)
    told = prompt.describe_told(facts, exact)
    rows = [
        (
            reservation_value_name(seen, seen.seat).capitalize(),
            element("b", format_cents(known_reservation_value(seen, seen.seat) or 0)),
        ),
        (reservation_value_name(seen, away).capitalize(), "not known to you" if told == "nothing" else told),
        ("Without a deal", f"{format_cents(no_deal_payoff(seen))} for you{_kept_item_text(game, seen)}"),
        ("Prices", f"{format_cents(terms.price_lo)} to {format_cents(terms.price_hi)}"),
    ]
    discounts = {"A": terms.discount_seller, "B": terms.discount_buyer}
    if set(discounts.values()) != {1}:
        words = f"multiplies your pay by {discounts[seen.seat]:g}, the {role_name(away)}'s by {discounts[away]:g}"
        rows.append(("Each round after the first", words))
    return html.panel("What you know", html.table((), rows, "What you know"))


def reservation_value_name(seen: Seen, seat: Seat) -> str:
    """Return what a seat's own number is called."""
    word = "value" if seat == "B" else "valuation" if seen.public.terms.frame == "keeps_item" else "cost"
    return f"your {word}" if seat == seen.seat else f"the {role_name(seat)}'s {word}"


def _kept_item_text(game: Bargaining, seen: Seen) -> str:
    keeps = seen.public.terms.frame == "keeps_item" and seen.seat == "A"
    return f", as you keep the {game.item}" if keeps else ""


# The offer that stands.


def standing_offer_title(seen: Seen) -> str:
    public = seen.public
    if not public.offers:
        opens = proposer_in_round(seen, 1)
        return "You make the first offer" if opens == seen.seat else f"The {role_name(opens)} makes the first offer"
    number, seat, _ = public.offers[-1]
    if seat == seen.seat:
        return f"Your offer of round {number} waits for an answer"
    final = ", the final offer" if public.last_response else ""
    return f"The {role_name(seat)} offers in round {number}{final}"


def render_standing_offer(seen: Seen) -> Markup:
    """Render the price of the standing offer and what a deal at it would pay."""
    public = seen.public
    if not public.offers:
        return element("div", "No offer stands yet.", cls="nl-soft")
    number, seat, cents = public.offers[-1]
    final = public.last_response and seat != seen.seat
    due = "No counteroffer is left: accept it, or end without a deal." if final else ""
    return html.join(
        [
            element(
                "div",
                element("div", format_cents(cents), cls="nl-big"),
                render_deal_value(seen, cents, number),
                cls="nl-stands",
            ),
            element("div", due, cls="nl-due") if due else "",
        ]
    )


def is_last_offer(seen: Seen) -> bool:
    """Return True if the offer that this seat may make now is the last of the match."""
    public = seen.public
    return not public.over and len(public.offers) == public.terms.rounds - 1


def render_ending(seen: Seen, *, unread: bool = False) -> Markup:
    """Render the deal and what it pays, or why there is none; empty while the match runs.

    `unread` says that this seat's last answer could not be read.
    """
    public = seen.public
    if not public.over:
        return Markup("")
    if public.price is None:
        words = f"{_no_deal_text(seen, unread=unread)} You have {format_cents(no_deal_payoff(seen))}."
        return html.panel("No deal", element("p", words))
    number, seat, cents = public.offers[-1]
    whose = "your" if seat == seen.seat else f"the {role_name(seat)}'s"
    return html.panel(
        f"Deal on {whose} offer of round {number}",
        element(
            "div",
            element("div", format_cents(cents), cls="nl-big"),
            render_deal_value(seen, cents, number),
            cls="nl-stands",
        ),
        cls="nl-deal",
    )


def _no_deal_text(seen: Seen, *, unread: bool) -> str:
    public = seen.public
    own = public.by == seen.seat
    who = "You" if own else f"The {role_name(other(seen.seat))}"
    if public.forfeited:
        return f"{who} gave too many replies that could not be read."
    if own and unread:
        return "Your answer could not be read, so the last offer was rejected for you."
    if public.last_response:
        return f"{who} rejected the last offer."
    return f"{who} walked away."


# What stands in for an answer that cannot be read.


def filled_offer_text(cents: int) -> str:
    return f"Your answer could not be read, so {format_cents(cents)} was offered for you."


# All offers, and what was said.

HEAD = ("Round", "Offer by", "Price", "For you", "State")
_OFFER_STATES = {"open": "stands", "countered": "", "accepted": "deal", "rejected": "rejected"}


def render_offers(seen: Seen, stand_ins: Collection[int] = ()) -> Markup:
    """Render every offer with what a deal at it would have paid, the deal in bold.

    `stand_ins` are the rounds in which an answer of this seat could not be read.
    """
    rows, notes = [], []
    for (number, seat, cents), row in zip(seen.public.offers, history(seen.public), strict=True):
        own = deal_payoff(seen, seen.seat, cents, number)
        who = "for you" if number in stand_ins else "you" if seat == seen.seat else role_name(seat)
        notes += (
            [element("div", f"Round {number}: {filled_offer_text(cents)}", cls="nl-due")] if number in stand_ins else []
        )
        became = row["outcome"]
        cells = [str(number), who, format_cents(cents), format_cents(own or 0), _OFFER_STATES[became]]
        rows.append([element("b", cell) for cell in cells] if became == "accepted" else cells)
    if not rows:
        return element("div", "No offer was made yet.", cls="nl-soft")
    return html.join([html.table(HEAD, rows, "All offers", cls="nl-offers"), *notes])


def offer_panel(seen: Seen) -> Markup:
    return html.panel("All offers", render_offers(seen))


def render_messages(game: Bargaining, seen: Seen) -> Markup:
    """Render the messages beside the offers; empty where nobody may write any."""
    terms = seen.public.terms
    claimed = prompt.seller_claim(terms.buyer_told, game.item)
    if terms.talk == "none" and claimed is None:
        return Markup("")
    entries = (
        []
        if claimed is None
        else [_conversation_entry(seen, "A", claimed, "before round 1; the game does not check it")]
    )
    entries += [
        _conversation_entry(seen, seat, text, f"with the offer of round {number}")
        for number, seat, text in seen.public.messages
    ]
    return html.panel("Messages", render_conversation(entries, whole=seen.public.over))


def _conversation_entry(seen: Seen, seat: Seat, text: str, note: str) -> ConversationEntry:
    own = seat == seen.seat
    return ConversationEntry("you" if own else f"the {role_name(seat)}", text, note, "own" if own else "other")


def may_write(seen: Seen) -> bool:
    """Return True if a message may go with this seat's offers."""
    return may_talk(seen.public.terms.talk, seen.seat)
