"""Two questions about a knapsack frontier that do not need all of it, for instances too large to list it: is a point on
it, and how large can the harmonic mean of the two worths be? Exact.

The list dynamic programming of `frontier`, less every state whose linear relaxation (Dantzig 1957) rules it out.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from negolab.theory.frontier import Column, Numbers, order_of, table, undominated

Direction = tuple[float, float]
Row = tuple[int, ...]
_SLACK = 1e-6


def is_undominated(effort: Numbers, a: Numbers, b: Numbers, limit: int, point: tuple[int, int]) -> bool:
    """Whether no set within `limit` is worth at least `point` in both and more in one."""
    _, columns = table(effort, a, b)
    return not _dominated(*columns, limit, *point)


def largest_mean(effort: Numbers, a: Numbers, b: Numbers, limit: int, tops: tuple[int, int]) -> float:
    """The largest harmonic mean of the worths as percentages of `tops`, over the sets within `limit`."""
    _, columns = table(effort, a, b)
    return _largest_mean(*columns, limit, *tops)


@lru_cache(maxsize=1024)
def _dominated(effort: Row, a: Row, b: Row, limit: int, least_a: int, least_b: int) -> bool:
    slopes = [(np.cos(angle), np.sin(angle)) for angle in np.linspace(0.1, 1.47, 9)]

    def dominating(worth_a: Column, worth_b: Column) -> bool:
        more = worth_a + worth_b > least_a + least_b
        return bool(((worth_a >= least_a) & (worth_b >= least_b) & more).any())

    def may(bounds: list[Column]) -> Column:
        open_ = (bounds[0] >= least_a - _SLACK) & (bounds[1] >= least_b - _SLACK)
        for (p, q), bound in zip(slopes, bounds[2:], strict=True):
            open_ &= bound >= p * least_a + q * least_b + min(p, q) - _SLACK
        return open_

    return _Search(effort, a, b, limit, [(1, 0), (0, 1), *slopes]).run(dominating, may)


@lru_cache(maxsize=1024)
def _largest_mean(effort: Row, a: Row, b: Row, limit: int, top_a: int, top_b: int) -> float:
    best, x, y = max(_guesses(effort, a, b, limit, top_a, top_b))
    # The mean is concave and homogeneous: nowhere is it above its tangent planes, all of which pass through 0.
    slopes = [_tangent(x * turn, y / turn, top_a, top_b) for turn in (1, 0.97, 1.03)]

    def better(worth_a: Column, worth_b: Column) -> bool:
        nonlocal best
        best = max(best, float(_mean(100 * worth_a / top_a, 100 * worth_b / top_b).max()))
        return False

    def may(bounds: list[Column]) -> Column:
        least = best * (1 + 1e-12)
        open_ = _mean(100 * bounds[0] / top_a, 100 * bounds[1] / top_b) > least
        for bound in bounds[2:]:
            open_ &= bound > least
        return open_

    _Search(effort, a, b, limit, [(1, 0), (0, 1), *slopes]).run(better, may)
    return best


def _mean(x: Column, y: Column) -> Column:
    mean: Column = 2 * x * y / np.maximum(x + y, 1e-300)
    return mean


def _tangent(x: float, y: float, top_a: int, top_b: int) -> Direction:
    """The gradient of the mean at percentages (x, y), per unit of worth."""
    return (200 * y * y / (x + y) ** 2 / top_a, 200 * x * x / (x + y) ** 2 / top_b)


def _guesses(effort: Row, a: Row, b: Row, limit: int, top_a: int, top_b: int) -> list[tuple[float, float, float]]:
    """Good means and their percentages: items by density, for a fan of weights."""
    found = [(0.0, 1.0, 1.0)]
    for lean in np.linspace(0.05, 0.95, 40):
        value = [lean * x / top_a + (1 - lean) * y / top_b for x, y in zip(a, b, strict=True)]
        density = [worth / max(weight, 1e-9) for worth, weight in zip(value, effort, strict=True)]
        room, x, y = limit, 0, 0
        for i in sorted(range(len(effort)), key=density.__getitem__, reverse=True):
            if effort[i] <= room:
                room, x, y = room - effort[i], x + a[i], y + b[i]
        if x and y:
            u, v = 100 * x / top_a, 100 * y / top_b
            found.append((2 * u * v / (u + v), u, v))
    return found


class _Search:
    """States (effort, a, b), one item after the other; before each, states without prospects go."""

    def __init__(self, effort: Row, a: Row, b: Row, limit: int, directions: list[Direction]) -> None:
        items = [i for i in order_of(effort, a, b) if effort[i] <= limit]
        self.effort, self.a, self.b = (np.array([column[i] for i in items], np.int64) for column in (effort, a, b))
        self.limit = limit
        self.directions = directions
        values = [p * self.a + q * self.b for p, q in directions]
        self.values = values
        self.falling = [np.argsort(-value / np.maximum(self.effort, 1e-9), kind="stable") for value in values]

    def run(self, found: Callable[[Column, Column], bool], may: Callable[[list[Column]], Column]) -> bool:
        """Offers `found` the worths of feasible sets until it is content (True) or nothing is left. `may` gets, per
        direction, an upper bound of what each state can still become, and says which to keep."""
        states = (np.zeros(1, np.int64),) * 3
        above = int(self.a.sum()) + 1
        for k in range(len(self.effort) + 1):
            bounds = []
            for j, (p, q) in enumerate(self.directions):
                more_a, more_b, more = self._relaxed(j, k, self.limit - states[0])
                if found(states[1] + more_a, states[2] + more_b):
                    return True
                bounds.append(p * states[1] + q * states[2] + more)
            keep = may(bounds)
            states = (states[0][keep], states[1][keep], states[2][keep])
            if not len(states[0]) or k == len(self.effort):
                break
            states = self._offer(states, k, above)
        return False

    def _relaxed(self, j: int, k: int, room: Column) -> tuple[Column, Column, Column]:
        """For items from the k-th on, by density in the j-th direction: the worths of those that fit before the first
        that does not, and the direction's worth with a fraction of that one."""
        items = self.falling[j][self.falling[j] >= k]
        efforts = _sums(self.effort[items])
        at = np.searchsorted(efforts, room, side="right") - 1
        value, effort = np.append(self.values[j][items], 0), np.append(self.effort[items], 1)
        more = _sums(self.values[j][items])[at] + (room - efforts[at]) * value[at] / effort[at]
        return _sums(self.a[items])[at], _sums(self.b[items])[at], more

    def _offer(self, states: tuple[Column, Column, Column], k: int, above: int) -> Any:
        """The states with and without the k-th item, undominated ones only."""
        fits = states[0] + self.effort[k] <= self.limit
        item = (self.effort[k], self.a[k], self.b[k])
        joined = [np.concatenate((old, old[fits] + one)) for old, one in zip(states, item, strict=True)]
        order = np.argsort(joined[0], kind="stable")
        effort, a, b = (column[order] for column in joined)
        keep = undominated(a.tolist(), b.tolist(), above)
        return effort[keep], a[keep], b[keep]


def _sums(column: Column) -> Column:
    return np.concatenate((np.zeros(1, column.dtype), np.cumsum(column)))
