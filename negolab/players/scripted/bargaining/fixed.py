"""Strategies that do not move: one price, or chance."""

from __future__ import annotations

import random
from typing import Any

from typing_extensions import override

from negolab.games.bargaining.rules import Bargaining, fair_price
from negolab.games.bargaining.state import Action, Offer, Seen
from negolab.players.scripted.bargaining.bargainer import ACCEPT, REJECT, Bargainer, full_information


class Fixed(Bargainer):
    """Always names `price` (None: the fair price, the midpoint of value and cost, where both are public). Accepts
    what is at least as good, and at the last response any gain."""

    def __init__(self, *, price: int | None = None, seed: int = 0) -> None:
        super().__init__(seed=seed)
        self._price = price

    @override
    def check(self, game: Any) -> None:
        if self._price is None and not full_information(game):
            raise ValueError("this player needs a price: in this game the fair price is not public")
        if self._price is not None and not game.price_lo <= self._price <= game.price_hi:
            raise ValueError(f"price must be from {game.price_lo} to {game.price_hi} cents, not {self._price}")

    @override
    def price(self, game: Bargaining, seen: Seen, number: int) -> int:
        if self._price is not None:
            return self._price
        value, cost = seen.public.value, seen.public.cost
        if value is None or cost is None:
            raise ValueError("the fair price is not public")
        return fair_price(value, cost)


class Fair(Fixed):
    """Insists on `price` (None: the fair price), also at the last response: it rather goes without a deal."""

    @override
    def act(self, game: Any, seen: Seen) -> Action:
        action = super().act(game, seen)
        offers = seen.public.offers
        if isinstance(action, Offer) or len(offers) < seen.public.terms.rounds:
            return action
        price, standing = self.price(game, seen, len(offers)), offers[-1][2]
        return ACCEPT if (standing >= price if seen.seat == "A" else standing <= price) else REJECT


class RandomPrice(Bargainer):
    """Accepts with probability 1/4, else names a price uniform over the price range; at the last response it rejects
    instead. Draws from its own generator."""

    def __init__(self, *, seed: int = 0) -> None:
        super().__init__(seed=seed)
        self._rng = random.Random(seed)

    @override
    def act(self, game: Any, seen: Seen) -> Action:
        public = seen.public
        if public.offers and self._rng.random() < 0.25:
            return ACCEPT
        if public.last_response:
            return REJECT
        return Offer(self._rng.randint(public.terms.price_lo, public.terms.price_hi))
