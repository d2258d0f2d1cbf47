"""What a price pays a seat, as far as the one who looks may know it."""

from __future__ import annotations

from negolab.game import Seat, other
from negolab.games.bargaining.money import money
from negolab.games.bargaining.state import Seen
from negolab_widgets.html import Markup, element


def number_of(seen: Seen, seat: Seat) -> int | None:
    """The seller's cost or the buyer's value; None if this observation does not hold it."""
    private, public = seen.private, seen.public
    if seat == seen.seat:
        return private.cost if seat == "A" else private.value
    return public.cost if seat == "A" else public.value


def earns(seen: Seen, seat: Seat, cents: int, number: int) -> float | None:
    """What a deal on the offer of round `number` pays a seat; None if that is not known here."""
    terms, own = seen.public.terms, number_of(seen, seat)
    if seat == "A":
        gain = cents if terms.frame == "keeps_item" else None if own is None else cents - own
        discount = terms.discount_seller
    else:
        gain = None if own is None else own - cents
        discount = terms.discount_buyer
    return gain if gain is None or discount == 1 else gain * discount ** (number - 1)


def alone(seen: Seen) -> int:
    """What the seat has without a deal."""
    terms = seen.public.terms
    if seen.seat == "B":
        return terms.outside_buyer
    cost = number_of(seen, "A")
    assert cost is not None
    return terms.outside_seller + (cost if terms.frame == "keeps_item" else 0)


def brings(seen: Seen, cents: int, number: int) -> Markup:
    """A deal at this price in words: own pay, how it compares, and the other's pay where it is known."""
    own = earns(seen, seen.seat, cents, number)
    assert own is not None
    away = other(seen.seat)
    theirs = earns(seen, away, cents, number)
    beside = f"{money(theirs)} for the {name(away)}." if theirs is not None else ""
    return element(
        "div",
        element("div", element("b", money(own)), " for you", cls="nl-loss" if own < alone(seen) else "nl-gain"),
        element("div", " ".join(filter(None, (_against(own, alone(seen)), beside))), cls="nl-soft"),
        cls="nl-brings",
    )


def _against(own: float, without: int) -> str:
    """How a pay compares with having no deal."""
    if own == without:
        return "The same as without a deal."
    if own < without:
        return f"{money(without - own)} less than without a deal."
    return f"{money(own - without)} more than without a deal." if without else ""


def name(seat: Seat) -> str:
    return "seller" if seat == "A" else "buyer"
