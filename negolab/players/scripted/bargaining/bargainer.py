"""What the price strategies share: a reserve, a first price, and when to take what is on the table."""

from __future__ import annotations

from typing import Any

from typing_extensions import override

from negolab.games.bargaining.rules import Bargaining
from negolab.games.bargaining.state import Accept, Action, Offer, Reject, Seen, Told, own_number
from negolab.players.player import Scripted

ACCEPT, REJECT = Accept(), Reject()


class Bargainer(Scripted):
    """Names a price per round; accepts what is at least as good as its own next price, and at the last response
    whatever does not pay less than no deal."""

    def price(self, game: Bargaining, seen: Seen, number: int) -> int:
        """The offer of round `number` in cents."""
        raise NotImplementedError

    @override
    def act(self, game: Any, seen: Seen) -> Action:
        public = seen.public
        offers = public.offers
        if not offers:
            return Offer(self.price(game, seen, 1))
        standing = offers[-1][2]
        if len(offers) == public.terms.rounds:
            return ACCEPT if self.takes_last(seen, standing) else REJECT
        return self.respond(game, seen, standing)

    def respond(self, game: Bargaining, seen: Seen, standing: int) -> Action:
        """The answer where a counteroffer is possible."""
        price = self.price(game, seen, len(seen.public.offers) + 1)
        good = standing >= price if seen.seat == "A" else standing <= price
        return ACCEPT if good else Offer(price)

    def takes_last(self, seen: Seen, standing: int) -> bool:
        """The answer where a refusal ends the game."""
        return gain(seen, standing) >= 0


def gain(seen: Seen, price: int) -> int:
    """What a deal at `price` pays the seat more than no deal, undiscounted. The kept item counts at its cost."""
    terms = seen.public.terms
    if seen.seat == "A":
        return price - own_number(seen) - terms.outside_seller
    return own_number(seen) - price - terms.outside_buyer


def first_price(seen: Seen) -> int:
    """The other's number if it is known, else the end of what is told of it that is best for the seat."""
    public = seen.public
    if seen.seat == "A":
        if public.value is not None:
            return public.value
        return max(_amounts(public.terms.seller_told), default=public.terms.price_hi)
    if public.cost is not None:
        return public.cost
    return min(_amounts(public.terms.buyer_told), default=public.terms.price_lo)


def _amounts(told: Told) -> tuple[int, ...]:
    return tuple(amount for amount in told if isinstance(amount, int))


def own_offers(seen: Seen) -> list[int]:
    return [cents for _, seat, cents in seen.public.offers if seat == seen.seat]


def others_offers(seen: Seen) -> list[int]:
    return [cents for _, seat, cents in seen.public.offers if seat != seen.seat]


def in_range(seen: Seen, price: int) -> int:
    """The price, moved to the nearest end of the price range if it lies outside."""
    terms = seen.public.terms
    return min(max(price, terms.price_lo), terms.price_hi)


def worth_it(seen: Seen, price: int) -> int:
    """The price, no worse for the seat than its reserve, and in range."""
    terms = seen.public.terms
    if seen.seat == "A":
        return min(max(price, own_number(seen)), terms.price_hi)
    return max(min(price, own_number(seen)), terms.price_lo)


def full_information(game: Bargaining) -> bool:
    return game.buyer_told == ("exact",) and game.seller_told == ("exact",)
