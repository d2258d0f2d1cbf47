"""A seat's table of bargaining as a picture: what it knows, the offer that stands, all offers, what was said."""

from __future__ import annotations

from collections.abc import Collection

from negolab.game import Seat, other
from negolab.games.bargaining import prompts
from negolab.games.bargaining.money import money
from negolab.games.bargaining.rules import Bargaining
from negolab.games.bargaining.state import Seen, history, may_talk
from negolab_widgets import html
from negolab_widgets.html import Markup, element
from negolab_widgets.tables.bargaining.worth import alone, brings, earns, name, number_of
from negolab_widgets.tables.talk import Said, talk


def role(game: Bargaining, seat: Seat) -> str:
    return f"the {name(seat)}"


def clock(game: Bargaining, seen: Seen) -> str:
    public = seen.public
    made, rounds = len(public.offers), public.terms.rounds
    if public.over:
        return f"Ended in round {made} of {rounds}"
    if public.last_response:
        return f"Round {rounds} of {rounds}, no offer left"
    left = sum(offers_in(seen, number) == seen.seat for number in range(made + 1, rounds + 1))
    return f"Round {max(made, 1)} of {rounds}, {left} offer{'' if left == 1 else 's'} left for you"


def offers_in(seen: Seen, number: int) -> Seat:
    """Who makes the offer of a round."""
    first: Seat = "A" if seen.public.terms.opener == "seller" else "B"
    return first if number % 2 else other(first)


def render(game: Bargaining, seen: Seen) -> Markup:
    top = ending(seen) if seen.public.over else html.panel(standing_title(seen), standing_body(seen))
    parts = [top, knows(game, seen), offer_panel(seen), messages(game, seen)]
    return element("div", *filter(None, parts), cls="nl-stack")


def knows(game: Bargaining, seen: Seen) -> Markup:
    """The seat's own number, what it was told of the other's, and what it has without a deal."""
    terms, away = seen.public.terms, other(seen.seat)
    facts, exact = (terms.seller_told, seen.public.value) if seen.seat == "A" else (terms.buyer_told, seen.public.cost)
    told = prompts.told(facts, exact)
    rows = [
        (own_word(seen, seen.seat).capitalize(), element("b", money(number_of(seen, seen.seat) or 0))),
        (own_word(seen, away).capitalize(), "not known to you" if told == "nothing" else told),
        ("Without a deal", f"{money(alone(seen))} for you{_kept(game, seen)}"),
        ("Prices", f"{money(terms.price_lo)} to {money(terms.price_hi)}"),
    ]
    discounts = {"A": terms.discount_seller, "B": terms.discount_buyer}
    if set(discounts.values()) != {1}:
        words = f"multiplies your pay by {discounts[seen.seat]:g}, the {name(away)}'s by {discounts[away]:g}"
        rows.append(("Each round after the first", words))
    return html.panel("What you know", html.table((), rows, "What you know"))


def own_word(seen: Seen, seat: Seat) -> str:
    """What a seat's own number is called."""
    word = "value" if seat == "B" else "valuation" if seen.public.terms.frame == "keeps_item" else "cost"
    return f"your {word}" if seat == seen.seat else f"the {name(seat)}'s {word}"


def _kept(game: Bargaining, seen: Seen) -> str:
    keeps = seen.public.terms.frame == "keeps_item" and seen.seat == "A"
    return f", as you keep the {game.item}" if keeps else ""


# The offer that stands.


def standing_title(seen: Seen) -> str:
    public = seen.public
    if not public.offers:
        opens = offers_in(seen, 1)
        return "You make the first offer" if opens == seen.seat else f"The {name(opens)} makes the first offer"
    number, seat, _ = public.offers[-1]
    if seat == seen.seat:
        return f"Your offer of round {number} waits for an answer"
    final = ", the final offer" if public.last_response else ""
    return f"The {name(seat)} offers in round {number}{final}"


def standing_body(seen: Seen) -> Markup:
    """Its price and what a deal at it would pay."""
    public = seen.public
    if not public.offers:
        return element("div", "No offer stands yet.", cls="nl-soft")
    number, seat, cents = public.offers[-1]
    final = public.last_response and seat != seen.seat
    due = "No counteroffer is left: accept it, or end without a deal." if final else ""
    return html.join(
        [
            element("div", element("div", money(cents), cls="nl-big"), brings(seen, cents, number), cls="nl-stands"),
            element("div", due, cls="nl-due") if due else "",
        ]
    )


def last_chance(seen: Seen) -> bool:
    """Whether the offer that this seat may make now is the last of the match."""
    public = seen.public
    return not public.over and len(public.offers) == public.terms.rounds - 1


def ending(seen: Seen, *, unread: bool = False) -> Markup:
    """The deal and what it pays, or why there is none; "" while the match runs. `unread` says that this seat's last
    answer could not be read."""
    public = seen.public
    if not public.over:
        return Markup("")
    if public.price is None:
        words = f"{_why(seen, unread=unread)} You have {money(alone(seen))}."
        return html.panel("No deal", element("p", words))
    number, seat, cents = public.offers[-1]
    whose = "your" if seat == seen.seat else f"the {name(seat)}'s"
    return html.panel(
        f"Deal on {whose} offer of round {number}",
        element("div", element("div", money(cents), cls="nl-big"), brings(seen, cents, number), cls="nl-stands"),
        cls="nl-deal",
    )


def _why(seen: Seen, *, unread: bool) -> str:
    public = seen.public
    own = public.by == seen.seat
    who = "You" if own else f"The {name(other(seen.seat))}"
    if public.forfeited:
        return f"{who} gave too many replies that could not be read."
    if own and unread:
        return "Your answer could not be read, so the last offer was rejected for you."
    if public.last_response:
        return f"{who} rejected the last offer."
    return f"{who} walked away."


# What stands in for an answer that cannot be read.


def instead(seen: Seen) -> str:
    """What happens in the place of an answer of this seat, where no more of them may be mended."""
    if seen.seat == "B":
        return "the match ends without a deal"
    if seen.public.last_response:
        return "the last offer is rejected for you"
    own = [cents for _, seat, cents in seen.public.offers if seat == seen.seat]
    # The first offer's stand-in is not told to a seat.
    return f"{money(own[-1])} is offered for you" if own else "an offer is made for you"


def filled(cents: int) -> str:
    return f"Your answer could not be read, so {money(cents)} was offered for you."


# All offers, and what was said.

HEAD = ("Round", "Offer by", "Price", "For you", "State")
_BECAME = {"open": "stands", "countered": "", "accepted": "deal", "rejected": "rejected"}


def offer_table(seen: Seen, stand_ins: Collection[int] = ()) -> Markup:
    """Every offer with what a deal at it would have paid; the deal in bold. `stand_ins` are the rounds in which an
    answer of this seat could not be read."""
    rows, notes = [], []
    for (number, seat, cents), row in zip(seen.public.offers, history(seen.public), strict=True):
        own = earns(seen, seen.seat, cents, number)
        who = "for you" if number in stand_ins else "you" if seat == seen.seat else name(seat)
        notes += [element("div", f"Round {number}: {filled(cents)}", cls="nl-due")] if number in stand_ins else []
        became = row["outcome"]
        cells = [str(number), who, money(cents), money(own or 0), _BECAME[became]]
        rows.append([element("b", cell) for cell in cells] if became == "accepted" else cells)
    if not rows:
        return element("div", "No offer was made yet.", cls="nl-soft")
    return html.join([html.table(HEAD, rows, "All offers", cls="nl-offers"), *notes])


def offer_panel(seen: Seen) -> Markup:
    return html.panel("All offers", offer_table(seen))


def messages(game: Bargaining, seen: Seen) -> Markup:
    """What was said beside the offers; "" where nobody may say anything."""
    terms = seen.public.terms
    claimed = prompts.claim(terms.buyer_told, game.item)
    if terms.talk == "none" and claimed is None:
        return Markup("")
    entries = [] if claimed is None else [_entry(seen, "A", claimed, "before round 1; the game does not check it")]
    entries += [
        _entry(seen, seat, text, f"with the offer of round {number}") for number, seat, text in seen.public.messages
    ]
    return html.panel("Messages", talk(entries, whole=seen.public.over))


def _entry(seen: Seen, seat: Seat, text: str, note: str) -> Said:
    own = seat == seen.seat
    return Said("you" if own else f"the {name(seat)}", text, note, "own" if own else "other")


def may_write(seen: Seen) -> bool:
    """Whether a message may go with this seat's offers."""
    return may_talk(seen.public.terms.talk, seen.seat)
