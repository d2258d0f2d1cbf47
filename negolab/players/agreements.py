"""Scripted players for any game with a finite set of agreements, including a researcher's own.

Such a game has, besides the methods of `Game`, those of `Agreements`. The players use nothing else in it: only their
own points and what both seats see.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any, NamedTuple, Protocol, runtime_checkable

from typing_extensions import override

from negolab.game import Seat, Seen, other
from negolab.protocols import Scripted

MAX_AGREEMENTS = 10**6


@runtime_checkable
class Agreements(Protocol):
    """The methods by which players for any game bargain over its agreements.

    An agreement is any value; if it is a tuple with a number or word per issue, players can tell how near two of them
    are. An agreement's points depend only on what the seat knows from the start.
    """

    def agreements(self, seen: Any) -> Iterable[Any]:
        """Return all agreements, lazily and in a fixed order."""
        ...

    def worth(self, seen: Any, agreement: Any) -> Any:
        """Return the seat's own points for an agreement; None stands for no deal."""
        ...

    def offers(self, seen: Any) -> Sequence[tuple[Seat, Any]]:
        """Return the agreements offered so far, oldest first, each with the seat that offered it."""
        ...

    def propose(self, seen: Any, agreement: Any) -> Any:
        """Return the action that accepts an agreement if the other seat's offer of it stands, or else offers it; None
        if the seat can do neither now."""
        ...


class Ranking(NamedTuple):
    """All agreements in rising order of one seat's points, those with equal points in the game's order."""

    points: list[Any]
    agreements: list[Any]


_recent: deque[tuple[tuple[Any, Seat, Any], Ranking]] = deque(maxlen=16)
"""The last rankings, with two million agreements in all, because the matches of a run often share them, and ranking a
million takes seconds."""


def rank_agreements(game: Any, seen: Seen) -> Ranking:
    """List a game's agreements by a seat's points.

    Raises:
        ValueError: There are more than `MAX_AGREEMENTS`.
    """
    key = (game, seen.seat, seen.private)
    found = next((ranking for known, ranking in _recent if known == key), None)
    if found is None:
        found = _rank(game, seen)
        _recent.append((key, found))
        while sum(len(ranking.points) for _, ranking in _recent) > 2 * MAX_AGREEMENTS:
            _recent.popleft()
    return found


def _rank(game: Any, seen: Seen) -> Ranking:
    agreements = list(islice(game.agreements(seen), MAX_AGREEMENTS + 1))
    if len(agreements) > MAX_AGREEMENTS:
        raise ValueError(f"this player weighs all agreements, but this game has more than {MAX_AGREEMENTS:,}")
    points = [game.worth(seen, agreement) for agreement in agreements]
    order = sorted(range(len(points)), key=points.__getitem__)
    return Ranking([points[at] for at in order], [agreements[at] for at in order])


def distance(one: Any, two: Any) -> tuple[int, float]:
    """Return how many issues differ between two agreements, and by how much in total for those that are numbers."""
    if not (isinstance(one, tuple) and isinstance(two, tuple) and len(one) == len(two)):
        return int(one != two), 0
    differing = [(x, y) for x, y in zip(one, two, strict=True) if x != y]
    numbers = [(x, y) for x, y in differing if isinstance(x, int | float) and isinstance(y, int | float)]
    return len(differing), sum(abs(x - y) for x, y in numbers)


class Bargainer(Scripted):
    """Base class: aims at a number of its own points, its target, in each message. It accepts an offer that reaches the
    target (AC_next; Baarslag, Hindriks and Jonker 2013); otherwise, among the agreements with the fewest points that
    reach it, it offers the one nearest to the other's last offer. When it can no longer make an offer, it accepts
    anything not below no deal."""

    deterministic = True

    @override
    def check(self, game: Any) -> None:
        if not isinstance(game, Agreements):
            raise ValueError("this player needs a game with the methods agreements, worth, offers and propose")

    def target(self, game: Any, seen: Seen, ranking: Ranking) -> float:
        """Return the points to aim at now."""
        raise NotImplementedError

    def least(self, game: Any, seen: Seen, ranking: Ranking) -> float:
        """Return the points that it accepts when it can no longer make an offer."""
        return float(game.worth(seen, None))

    @override
    def act(self, game: Any, seen: Seen) -> Any:
        ranking = rank_agreements(game, seen)
        target = max(self.target(game, seen, ranking), game.worth(seen, None))
        theirs = offers_of(game, seen, other(seen.seat))
        last = theirs[-1] if theirs else None
        reached = last is not None and game.worth(seen, last) >= target
        aim = last if reached else nearest_at(ranking, target, last)
        action = None if aim is None else game.propose(seen, aim)
        if action is None and last is not None and game.worth(seen, last) >= self.least(game, seen, ranking):
            action = game.propose(seen, last)
        return action if action is not None else _decline(game, seen, last)


def _reserve(game: Any, seen: Seen, ranking: Ranking) -> Any:
    """Return the points for no deal, or for the worst agreement if that is better."""
    return max(game.worth(seen, None), ranking.points[0])


def offers_of(game: Any, seen: Seen, seat: Seat) -> list[Any]:
    """Return the agreements that a seat offered, oldest first."""
    return [agreement for author, agreement in game.offers(seen) if author == seat]


def nearest_at(ranking: Ranking, target: float, last: Any) -> Any:
    """Return, among the agreements with the fewest points from `target` up, the one nearest to `last` (None: the first
    in the game's order); None if none has that many points."""
    begin = bisect_left(ranking.points, target)
    if begin == len(ranking.points):
        return None
    level = ranking.agreements[begin : bisect_right(ranking.points, ranking.points[begin])]
    return level[0] if last is None else min(level, key=lambda agreement: distance(agreement, last))


def _decline(game: Any, seen: Seen, last: Any) -> Any:
    """Return the first option that neither offers nor accepts, or the first of all if there is none."""
    options = game.options(seen)
    accept = None if last is None else game.propose(seen, last)
    return next((option for option in options if option != accept and not game.terms(option)), options[0])


class Time(Bargainer):
    """Concedes along a curve: from its best agreement to no deal as its messages run out. After a share t of them, its
    target has fallen by t**(1/beta) of the way (Faratin, Sierra and Jennings 1998). Beta < 1 concedes late (Boulware),
    beta > 1 early (Conceder)."""

    BETA = 1.0

    def __init__(self, *, beta: float | None = None, seed: int = 0) -> None:
        super().__init__(seed=seed)
        self.beta = self.BETA if beta is None else beta
        if not self.beta > 0:
            raise ValueError(f"beta must be above 0, not {beta!r}")

    @override
    def check(self, game: Any) -> None:
        super().check(game)
        if game.bound() is None:
            raise ValueError("this player needs a game with a last message: set a limit")

    @override
    def target(self, game: Any, seen: Seen, ranking: Ranking) -> float:
        best, reserve = ranking.points[-1], _reserve(game, seen, ranking)
        return float(best - (best - reserve) * math.pow(self.time(game, seen), 1 / self.beta))

    def time(self, game: Any, seen: Seen) -> float:
        """Return the share of its messages that is used up, from 0 in the first to 1 in the last."""
        offers = game.offers(seen)
        second = bool(offers) and offers[0][0] != seen.seat
        messages = (game.bound() + (not second)) // 2
        made = len(offers_of(game, seen, seen.seat))
        return min(made / (messages - 1), 1.0) if messages > 1 else 1.0


class Boulware(Time):
    """Concedes slowly: holds out until near the end, like `time` with beta 0.2."""

    BETA = 0.2


class Linear(Time):
    """Concedes evenly: the same amount in each message, like `time` with beta 1."""


class Conceder(Time):
    """Concedes at once: most of it in its first messages, like `time` with beta 5."""

    BETA = 5.0


class TitForTat(Bargainer):
    """Repays concessions: the other's last one, in proportion (relative tit-for-tat; Faratin, Sierra and Jennings
    1998), in its own points: if the other's last offer falls short of its best agreement by less than the one before,
    its claim above no deal falls by the same share. Begins with its best agreement and repeats its claim until it has
    seen two offers."""

    @override
    def target(self, game: Any, seen: Seen, ranking: Ranking) -> float:
        own, theirs = (offers_of(game, seen, seat) for seat in (seen.seat, other(seen.seat)))
        best, reserve = ranking.points[-1], _reserve(game, seen, ranking)
        if not own:
            return float(best)
        claim = game.worth(seen, own[-1]) - reserve
        if len(theirs) > 1:
            before, now = (best - game.worth(seen, agreement) for agreement in theirs[-2:])
            claim *= now / before if before > 0 else 1
        return float(min(reserve + claim, best))


class Stubborn(Bargainer):
    """Concedes nothing: offers its best agreement in every message and accepts nothing worth less, even at the end."""

    @override
    def target(self, game: Any, seen: Seen, ranking: Ranking) -> float:
        return float(ranking.points[-1])

    @override
    def least(self, game: Any, seen: Seen, ranking: Ranking) -> float:
        return float(ranking.points[-1])


class Micro(Bargainer):
    """Concedes as much as it is conceded to: offers its agreements in falling order of its own points, a new one only
    while the other has made at least as many different offers, and otherwise one of its own again at random; it accepts
    an offer worth at least the least that it is then willing to offer (MiCRO; de Jonge 2022, IJCAI). Knows nothing
    about the other's points or about time, so it never offers below no deal."""

    deterministic = False

    @override
    def act(self, game: Any, seen: Seen) -> Any:
        ranking = rank_agreements(game, seen)
        made, heard = (list(dict.fromkeys(offers_of(game, seen, seat))) for seat in (seen.seat, other(seen.seat)))
        bids = ranking.agreements[bisect_left(ranking.points, game.worth(seen, None)) :][::-1]
        willing = bids[: len(made) + (len(made) <= len(heard))]
        last = offers_of(game, seen, other(seen.seat))[-1] if heard else None
        reached = last is not None and willing and game.worth(seen, last) >= game.worth(seen, willing[-1])
        own = willing[-1] if len(willing) > len(made) else self.rng.choice(made or [None])
        action = None if own is None else game.propose(seen, last if reached else own)
        return action if action is not None else _decline(game, seen, last)


PLAYERS: dict[str, type[Scripted]] = {
    "time": Time,
    "boulware": Boulware,
    "linear": Linear,
    "conceder": Conceder,
    "tft": TitForTat,
    "stubborn": Stubborn,
    "micro": Micro,
}
