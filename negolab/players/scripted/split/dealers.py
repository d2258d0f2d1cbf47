"""Players that make offers, for the exact rule with private values."""

from __future__ import annotations

from functools import lru_cache

from typing_extensions import override

from negolab.catalog import AnyGame
from negolab.games.split import Split
from negolab.games.split.allocation import complement
from negolab.games.split.position import Seen, Units
from negolab.games.split.statements import offer
from negolab.players.scripted.split.dividers import Splitter
from negolab.players.scripted.split.hearing import equal, left_by_other, offered, texts


class Dealer(Splitter):
    """Talks in offers and proposes its part of the latest one, whoever made it."""

    @override
    def check(self, game: AnyGame) -> None:
        if isinstance(game, Split) and (game.rule != "exact" or game.show != "own"):
            raise ValueError('players that make offers need rule="exact" and show="own"')

    @override
    def says(self, game: Split, seen: Seen) -> str:
        left = left_by_other(game, seen)
        if left is not None and self.accepts(game, seen, worth(left, _own(seen))):
            return f"Agreed. {offer(game.items, left)}"
        return offer(game.items, self.demands(game, seen))

    def accepts(self, game: Split, seen: Seen, gain: int) -> bool:
        """Whether an offer that leaves it this many points is good enough."""
        raise NotImplementedError

    def demands(self, game: Split, seen: Seen) -> Units:
        """What it offers to keep."""
        raise NotImplementedError

    @override
    def keeps(self, game: Split, seen: Seen) -> Units | None:
        latest_offer = offered(game, seen)
        if latest_offer is None:
            return equal(seen)
        author, keep = latest_offer
        part = keep if author == seen.seat else complement(seen.public.stock, keep)
        return part if worth(part, _own(seen)) > 0 else None


def _own(seen: Seen) -> Units:
    assert seen.private.values is not None
    return seen.private.values


class Agreeable(Dealer):
    """Agrees to any offer that leaves it something; until then it asks for all units of the types it values. For the
    exact rule with private values."""

    @override
    def accepts(self, game: Split, seen: Seen, gain: int) -> bool:
        return gain > 0

    @override
    def demands(self, game: Split, seen: Seen) -> Units:
        return tuple([units if value else 0 for units, value in zip(seen.public.stock, _own(seen), strict=True)])


class Concede(Dealer):
    """Concedes linearly: its k-th of K messages aspires to 1 - k / (2 K) of what everything is worth to it. It agrees
    to an offer that leaves that much, else it offers to keep the fewest units that do. For the exact rule with private
    values."""

    @override
    def accepts(self, game: Split, seen: Seen, gain: int) -> bool:
        return gain >= self.aspiration(game, seen)

    @override
    def demands(self, game: Split, seen: Seen) -> Units:
        return fewest(seen.public.stock, _own(seen), self.aspiration(game, seen))

    def aspiration(self, game: Split, seen: Seen) -> int:
        """The fewest whole points that are not below the aspired part."""
        k, whole = len(texts(seen, seen.seat)) + 1, 2 * game.quota
        return -(-worth(seen.public.stock, _own(seen)) * (whole - k) // whole)


@lru_cache(maxsize=4096)
def fewest(stock: Units, values: Units, least: int) -> Units:
    """The division worth at least `least` that keeps the fewest units, then the fewest points, then comes first in
    lexicographic order. `least` must be attainable."""
    units, missing = 0, least
    for value, there in sorted(zip(values, stock, strict=True), reverse=True):
        taken = min(there, -(-missing // value)) if missing > 0 and value else 0
        units, missing = units + taken, missing - taken * value
    best = min((worth(keep, values), keep) for keep in _divisions(stock, units) if worth(keep, values) >= least)
    return best[1]


def _divisions(stock: Units, units: int) -> list[Units]:
    """Every way to keep exactly this many units."""
    if not stock:
        return [()] if units == 0 else []
    rest = sum(stock[1:])
    return [
        (n, *tail)
        for n in range(max(0, units - rest), min(stock[0], units) + 1)
        for tail in _divisions(stock[1:], units - n)
    ]


def worth(units: Units, values: Units) -> int:
    """Points of whole units."""
    return sum(n * value for n, value in zip(units, values, strict=True))
