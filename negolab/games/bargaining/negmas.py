"""Bargaining as NegMAS sees it: one issue, the price in cents, with a utility that is linear in it."""

from __future__ import annotations

from typing import Any

from negolab.games.bargaining.rules import Bargaining
from negolab.games.bargaining.state import Accept, Action, Offer, Reject, Seen, reservation_value
from negolab.players.negmas import Move


def domain(game: Bargaining, seen: Seen) -> dict[str, Any]:
    """Return the seat's payoff from each price, scaled to [0, 1]; with a discount, which multiplies it, 0 stays 0."""
    own, lo, hi = reservation_value(seen), game.price_lo, game.price_hi
    if seen.seat == "A":
        kept = own if game.frame == "keeps_item" else 0
        sign, fixed, no_deal, discount = 1, kept - own, game.outside_seller + kept, game.discount_seller
    else:
        sign, fixed, no_deal, discount = -1, own, game.outside_buyer, game.discount_buyer
    low, high = sorted((sign * lo + fixed, sign * hi + fixed))
    floor, span = (low, high - low) if discount == 1 else (0, max(abs(low), abs(high)))
    # A deal pays as of its offer, one message earlier than NegMAS discounts it.
    rate = 1 / span / discount
    price = {"name": "price", "low": lo, "size": hi - lo + 1, "slope": sign * rate, "bias": (fixed - floor) * rate}
    about = {"steps": game.rounds + 1, "discount": discount, "no_deal_is_discounted": False}
    return {"issues": [price], "reservation": (no_deal - floor) / span, **about}


def heard(game: Bargaining, seen: Seen) -> list[tuple[int, ...]]:
    """Return the offers, counted from the lowest price."""
    return [(cents - game.price_lo,) for _, _, cents in seen.public.offers]


def act(game: Bargaining, seen: Seen, move: Move) -> Action | None:
    """Return the action for a move; an offer that nobody could answer becomes a rejection."""
    if isinstance(move, tuple) and not seen.public.last_response:
        return Offer(game.price_lo + move[0])
    if move == "accept" and seen.public.offers:
        return Accept()
    can_leave = game.walk_away and move == "end" and seen.public.offers
    return Reject() if seen.public.last_response or can_leave else None
