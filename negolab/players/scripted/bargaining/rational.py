"""The player of theory: subgame-perfect on the grid of whole cents."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import Any

from typing_extensions import override

from negolab.games.bargaining.rules import Bargaining
from negolab.games.bargaining.state import Action, Offer, Public, Seen, own_number
from negolab.players.scripted.bargaining.bargainer import ACCEPT, Bargainer, full_information, gain
from negolab.theory.equilibrium import spe_grid

_path = lru_cache(maxsize=1024)(spe_grid)


class Equilibrium(Bargainer):
    """Plays the subgame-perfect equilibrium of complete information (Stahl 1972), rounded to cents, with responders
    that accept when indifferent. Where a round has no price that both want it names its reserve. Accepts what is
    worth at least its own discounted gain at the next price of the path."""

    @override
    def check(self, game: Any) -> None:
        if not full_information(game):
            raise ValueError("spe needs full information: buyer_told and seller_told must be exact")
        if game.outside_seller or game.outside_buyer:
            raise ValueError("spe needs outside options of 0")

    @override
    def price(self, game: Bargaining, seen: Seen, number: int) -> int:
        price = path(seen.public)[number - 1]
        return own_number(seen) if price is None else price

    @override
    def respond(self, game: Bargaining, seen: Seen, standing: int) -> Action:
        public = seen.public
        made = len(public.offers)
        if gain(seen, standing) >= self._waiting(seen, made):
            return ACCEPT
        return Offer(self.price(game, seen, made + 1))

    def _waiting(self, seen: Seen, made: int) -> Fraction:
        """The own gain at the first later price of the path, discounted to the standing offer's round."""
        terms = seen.public.terms
        discount = Fraction(repr(terms.discount_seller if seen.seat == "A" else terms.discount_buyer))
        for number, price in enumerate(path(seen.public)[made:], start=1):
            if price is not None:
                return gain(seen, price) * discount**number
        return Fraction(0)


def path(public: Public) -> list[int | None]:
    """The equilibrium price of every round."""
    terms = public.terms
    if public.value is None or public.cost is None:
        raise ValueError("spe needs full information: value and cost must be public")
    return _path(
        terms.rounds,
        public.value,
        public.cost,
        terms.discount_seller,
        terms.discount_buyer,
        terms.opener,
        True,
        terms.price_lo,
        terms.price_hi,
    )
