"""Strategies that answer the other's concessions."""

from __future__ import annotations

from typing_extensions import override

from negolab.games.bargaining.money import nearest
from negolab.games.bargaining.rules import Bargaining
from negolab.games.bargaining.state import Seen
from negolab.players.scripted.bargaining.bargainer import (
    Bargainer,
    first_price,
    others_offers,
    own_offers,
    worth_it,
)


class Reactive(Bargainer):
    """Opens with `start`; from then on moves from its own last offer as the other's offers tell it."""

    def __init__(self, *, start: int | None = None, seed: int = 0) -> None:
        super().__init__(seed=seed)
        self.start = start

    @override
    def price(self, game: Bargaining, seen: Seen, number: int) -> int:
        own = own_offers(seen)
        if not own:
            return worth_it(seen, first_price(seen) if self.start is None else self.start)
        return worth_it(seen, self.next(own[-1], others_offers(seen)))

    def next(self, own: int, others: list[int]) -> int:
        """The next offer after the own last one, given all offers of the other."""
        raise NotImplementedError


class RelativeTitForTat(Reactive):
    """Repays the other's last concession in proportion: own offer times q'/q, where q' and q are the other's offer
    before last and its last one (Faratin, Sierra and Jennings 1998). Repeats its offer until it has seen two; never
    offers worse than its reserve."""

    @override
    def next(self, own: int, others: list[int]) -> int:
        if len(others) < 2 or others[-1] == 0:
            return own
        return nearest(own * others[-2], others[-1])


class AbsoluteTitForTat(Reactive):
    """Repays the other's last concession cent by cent (Faratin, Sierra and Jennings 1998). Repeats its offer until
    it has seen two of the other; never offers worse than its reserve."""

    @override
    def next(self, own: int, others: list[int]) -> int:
        return own if len(others) < 2 else own + others[-2] - others[-1]


class Split(Reactive):
    """Splits the difference between its own last offer and the other's, no worse than its reserve."""

    @override
    def next(self, own: int, others: list[int]) -> int:
        return nearest(own + others[-1], 2) if others else own
