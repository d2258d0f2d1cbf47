"""The exact Pareto frontier of two linear worths over the sets of items within one budget (0/1 knapsack).

`is_undominated` and `max_harmonic_mean` answer two questions about a frontier without listing it, for instances too
large for that: they drop every state whose linear relaxation (Dantzig 1957) rules it out. Some numbers leave more
states than a machine can hold, so a search that has looked at `MOST_STATES` returns None.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, cast

import msgspec
import numpy as np
import numpy.typing as npt

Key = int | str
Column = npt.NDArray[Any]
Numbers = Mapping[str, int] | Sequence[int]
MOST_STATES = 16_000_000
"""Largest number of states that one search looks at: about half a minute. 50 random items need 100,000 to 2,000,000."""


class Frontier(msgspec.Struct, frozen=True, gc=False):
    """Undominated worths `(a, b)` in rising order of a, and one set that reaches each. Never empty, because the empty
    set fits."""

    points: tuple[tuple[int, int], ...]
    sets: tuple[frozenset[Any], ...]

    @property
    def max_a(self) -> int:
        """The largest worth a."""
        return self.points[-1][0]

    @property
    def max_b(self) -> int:
        """The largest worth b."""
        return self.points[0][1]


def knapsack(effort: Numbers, a: Numbers, b: Numbers, limit: int) -> Frontier | None:
    """Return the frontier over all sets whose efforts sum to at most `limit`; None beyond `MOST_STATES`.

    Nemhauser and Ullmann 1969; for two worths, Bazgan, Hugot and Vanderpooten 2009 (without their bounds).

    Args:
        effort: Effort of each item: a sequence, or a mapping by item.
        a: Worths of the items to A, in the same form.
        b: Worths of the items to B, in the same form.
        limit: Largest total effort. All numbers are integers >= 0 of any size.

    Returns:
        The frontier; its sets hold indices, or the keys of the mappings.

    Raises:
        ValueError: A number is negative, or the columns have different lengths.

    Example:
        >>> cast(Frontier, knapsack([1, 1], [3, 1], [1, 2], 1)).points
        ((1, 2), (3, 1))
    """
    keys, columns = aligned_columns(effort, a, b)
    return _frontier(keys, *columns, limit)


def best_set(effort: Numbers, worth: Numbers, limit: int) -> frozenset[Any]:
    """Return one set with the largest worth within `limit`."""
    keys, (efforts, worths) = aligned_columns(effort, worth)
    # With a single worth there are few states, so the search has no limit and never returns None.
    return cast(Frontier, _frontier(keys, efforts, worths, (0,) * len(keys), limit)).sets[0]


def aligned_columns(*columns: Numbers) -> tuple[tuple[Key, ...], list[tuple[int, ...]]]:
    """Return the keys of the columns, and each column's numbers in the order of the keys."""
    first = columns[0]
    if not isinstance(first, Mapping):
        if len({len(column) for column in columns}) > 1:
            raise ValueError(f"columns of different lengths: {[len(column) for column in columns]}")
        return tuple(range(len(first))), [tuple(cast(Sequence[int], column)) for column in columns]
    keys = tuple(first)
    return keys, [tuple(cast(Mapping[str, int], column)[key] for key in keys) for column in columns]


@lru_cache(maxsize=1024)
def _frontier(
    keys: tuple[Key, ...], effort: tuple[int, ...], a: tuple[int, ...], b: tuple[int, ...], limit: int
) -> Frontier | None:
    if min((*effort, *a, *b, limit), default=0) < 0:
        raise ValueError("efforts, worths and the limit must be at least 0")
    items = [i for i in item_order(effort, a, b) if effort[i] <= limit]
    search = _Search([effort[i] for i in items], [a[i] for i in items], [b[i] for i in items], limit)
    found = search.run()
    if found is None:
        return None
    points = tuple((x, y) for x, y, _, _ in found)
    sets = tuple(frozenset(keys[items[k]] for k in search.taken(node, rest)) for _, _, node, rest in found)
    return Frontier(points, sets)


def item_order(effort: tuple[int, ...], a: tuple[int, ...], b: tuple[int, ...]) -> list[int]:
    """Order items by the larger of their two ranks by worth per effort, so that items good for both come first."""
    ranks = []
    for worth in (a, b):
        # A scaled integer quotient, because a float can overflow; the order decides only the speed, never the result.
        falling = sorted(range(len(effort)), key=lambda i: -((worth[i] << 20) // max(effort[i], 1)))
        ranks.append({i: rank for rank, i in enumerate(falling)})
    return sorted(ranks[0], key=lambda i: (max(ranks[0][i], ranks[1][i]), ranks[0][i] + ranks[1][i], i))


class _Search:
    """List dynamic programming over states (effort, a, b): one item after another, undominated states only.

    A state's `node` is a number for the last item it took; `_trail` holds where each run of such numbers starts, that
    item and the nodes before it. Numbers beyond 62 bits are kept as Python's own, which are slower but just as exact.
    """

    def __init__(self, effort: list[int], a: list[int], b: list[int], limit: int) -> None:
        self.effort, self.a, self.b = effort, a, b
        self.limit = limit
        self.above = sum(a) + 1
        self.most = MOST_STATES if any(b) else None
        small = max(sum(effort), sum(a), sum(b), limit) < 1 << 62
        self.kind: Any = np.int64 if small else object
        self._starts = [1]
        self._trail: list[tuple[int, Column]] = []

    def run(self) -> list[tuple[int, int, int, int]] | None:
        """Return `(a, b, node, k)` in rising order of a: the worths of the set that consists of `node`'s items and all
        from the k-th on."""
        zero = np.zeros(1, self.kind)
        states = (zero, zero, zero, np.zeros(1, np.int64))
        done: list[tuple[int, int, int, int]] = []
        rest, rest_a, rest_b, looked = sum(self.effort), sum(self.a), sum(self.b), 0
        for k, effort in enumerate(self.effort):
            fits = states[0] + rest <= self.limit
            if fits.any():
                _, a, b, node = (column[fits] for column in states)
                done += zip((a + rest_a).tolist(), (b + rest_b).tolist(), node.tolist(), [k] * len(a), strict=True)
                states = cast(Any, tuple(column[~fits] for column in states))
            looked += len(states[0])
            if self.most and looked > self.most:
                return None
            states = self._offer(states, k)
            rest, rest_a, rest_b = rest - effort, rest_a - self.a[k], rest_b - self.b[k]
        _, a, b, node = states
        done += zip(a.tolist(), b.tolist(), node.tolist(), [len(self.effort)] * len(a), strict=True)
        return _staircase(done)

    def _offer(self, states: tuple[Column, Column, Column, Column], k: int) -> tuple[Column, Column, Column, Column]:
        """Return all states with and without the k-th item, except those that another dominates."""
        effort, a, b, node = states
        room = effort <= self.limit - self.effort[k]
        start = self._starts[-1]
        before = node[room]
        self._trail.append((k, before))
        self._starts.append(start + len(before))
        effort = np.concatenate((effort, effort[room] + self.effort[k]))
        order = np.argsort(effort, kind="stable")
        a = np.concatenate((a, a[room] + self.a[k]))[order]
        b = np.concatenate((b, b[room] + self.b[k]))[order]
        node = np.concatenate((node, np.arange(start, start + len(before))))
        keep = undominated(a.tolist(), b.tolist(), self.above)
        kept = order[keep]
        return effort[kept], a[keep], b[keep], node[kept]

    def taken(self, node: int, rest: int) -> list[int]:
        """Return the positions of the items in a result of `run`."""
        taken = list(range(rest, len(self.effort)))
        while node:
            run = bisect_right(self._starts, node) - 1
            k, before = self._trail[run]
            taken.append(k)
            node = int(before[node - self._starts[run]])
        return taken


def undominated(a: list[int], b: list[int], above: int) -> list[int]:
    """Return the indices of the pairs that no earlier pair equals or exceeds in both; `above` must exceed every a.

    `stair_a` rises and `stair_b` falls: the frontier of the pairs so far, closed by a step that dominates nothing.
    """
    stair_a, stair_b = [above], [-1]
    keep = []
    for i, (x, y) in enumerate(zip(a, b, strict=True)):
        at = bisect_left(stair_a, x)
        if stair_b[at] >= y:
            continue
        keep.append(i)
        low = at
        while low and stair_b[low - 1] <= y:
            low -= 1
        high = at + 1 if stair_a[at] == x else at
        if low == high:
            stair_a.insert(at, x)
            stair_b.insert(at, y)
        else:
            stair_a[low], stair_b[low] = x, y
            if high - low > 1:
                del stair_a[low + 1 : high], stair_b[low + 1 : high]
    return keep


def _staircase(done: list[tuple[int, int, int, int]]) -> list[tuple[int, int, int, int]]:
    """Return the undominated entries in rising order of a."""
    stairs: list[tuple[int, int, int, int]] = []
    for entry in sorted(done, key=lambda entry: (-entry[0], -entry[1])):
        if not stairs or entry[1] > stairs[-1][1]:
            stairs.append(entry)
    return stairs[::-1]


Direction = tuple[float, float]
Row = tuple[int, ...]
_SLACK = 1e-6


def is_undominated(effort: Numbers, a: Numbers, b: Numbers, limit: int, point: tuple[int, int]) -> bool | None:
    """Return True if no set within `limit` is worth at least `point` in both and more in one; None beyond
    `MOST_STATES`."""
    _, columns = aligned_columns(effort, a, b)
    dominated = _dominated(*columns, limit, *point)
    return None if dominated is None else not dominated


def max_harmonic_mean(effort: Numbers, a: Numbers, b: Numbers, limit: int, tops: tuple[int, int]) -> float | None:
    """Return the largest harmonic mean of the worths as percentages of `tops`, over the sets within `limit`; None
    beyond `MOST_STATES`."""
    _, columns = aligned_columns(effort, a, b)
    return _max_harmonic_mean(*columns, limit, *tops)


@lru_cache(maxsize=1024)
def _dominated(effort: Row, a: Row, b: Row, limit: int, least_a: int, least_b: int) -> bool | None:
    slopes = [(np.cos(angle), np.sin(angle)) for angle in np.linspace(0.1, 1.47, 9)]

    def dominating(worth_a: Column, worth_b: Column) -> bool:
        more = worth_a + worth_b > least_a + least_b
        return bool(((worth_a >= least_a) & (worth_b >= least_b) & more).any())

    def may(bounds: list[Column]) -> Column:
        open_ = (bounds[0] >= least_a - _SLACK) & (bounds[1] >= least_b - _SLACK)
        for (p, q), bound in zip(slopes, bounds[2:], strict=True):
            open_ &= bound >= p * least_a + q * least_b + min(p, q) - _SLACK
        return open_

    return _TargetSearch(effort, a, b, limit, [(1, 0), (0, 1), *slopes]).run(dominating, may)


@lru_cache(maxsize=1024)
def _max_harmonic_mean(effort: Row, a: Row, b: Row, limit: int, top_a: int, top_b: int) -> float | None:
    best, x, y = max(_greedy_means(effort, a, b, limit, top_a, top_b))
    # The mean is concave and homogeneous, so it is nowhere above its tangent planes, all of which pass through 0.
    slopes = [_tangent(x * turn, y / turn, top_a, top_b) for turn in (1, 0.97, 1.03)]

    def better(worth_a: Column, worth_b: Column) -> bool:
        nonlocal best
        best = max(best, float(_harmonic_mean(100 * worth_a / top_a, 100 * worth_b / top_b).max()))
        return False

    def may(bounds: list[Column]) -> Column:
        least = best * (1 + 1e-12)
        open_ = _harmonic_mean(100 * bounds[0] / top_a, 100 * bounds[1] / top_b) > least
        for bound in bounds[2:]:
            open_ &= bound > least
        return open_

    found = _TargetSearch(effort, a, b, limit, [(1, 0), (0, 1), *slopes]).run(better, may)
    return None if found is None else best


def _harmonic_mean(x: Column, y: Column) -> Column:
    mean: Column = 2 * x * y / np.maximum(x + y, 1e-300)
    return mean


def _tangent(x: float, y: float, top_a: int, top_b: int) -> Direction:
    """Return the gradient of the mean at percentages (x, y), per unit of worth."""
    return (200 * y * y / (x + y) ** 2 / top_a, 200 * x * x / (x + y) ** 2 / top_b)


def _greedy_means(effort: Row, a: Row, b: Row, limit: int, top_a: int, top_b: int) -> list[tuple[float, float, float]]:
    """Find good means and their percentages greedily: items by density, for a range of weights."""
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


class _TargetSearch:
    """Dynamic programming over states (effort, a, b), dropping states whose upper bounds are too low before each
    item."""

    def __init__(self, effort: Row, a: Row, b: Row, limit: int, directions: list[Direction]) -> None:
        items = [i for i in item_order(effort, a, b) if effort[i] <= limit]
        self.effort, self.a, self.b = (np.array([column[i] for i in items], np.int64) for column in (effort, a, b))
        self.limit = limit
        self.directions = directions
        values = [p * self.a + q * self.b for p, q in directions]
        self.values = values
        self.falling = [np.argsort(-value / np.maximum(self.effort, 1e-9), kind="stable") for value in values]

    def run(self, found: Callable[[Column, Column], bool], may: Callable[[list[Column]], Column]) -> bool | None:
        """Pass the worths of feasible sets to `found` until it returns True or no state is left. `may` gets, per
        direction, an upper bound on what each state can still reach, and returns which states to keep. Return None
        beyond `MOST_STATES`."""
        states = (np.zeros(1, np.int64),) * 3
        above, looked = int(self.a.sum()) + 1, 0
        for k in range(len(self.effort) + 1):
            looked += len(states[0])
            if looked > MOST_STATES:
                return None
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
        """Relax the items from the k-th on, by density in the j-th direction: return the worths of those that fit
        before the first that does not, and the direction's worth with a fraction of that one."""
        items = self.falling[j][self.falling[j] >= k]
        efforts = _prefix_sums(self.effort[items])
        at = np.searchsorted(efforts, room, side="right") - 1
        value, effort = np.append(self.values[j][items], 0), np.append(self.effort[items], 1)
        more = _prefix_sums(self.values[j][items])[at] + (room - efforts[at]) * value[at] / effort[at]
        return _prefix_sums(self.a[items])[at], _prefix_sums(self.b[items])[at], more

    def _offer(self, states: tuple[Column, Column, Column], k: int, above: int) -> Any:
        """Return the undominated states with and without the k-th item."""
        fits = states[0] + self.effort[k] <= self.limit
        item = (self.effort[k], self.a[k], self.b[k])
        joined = [np.concatenate((old, old[fits] + one)) for old, one in zip(states, item, strict=True)]
        order = np.argsort(joined[0], kind="stable")
        effort, a, b = (column[order] for column in joined)
        keep = undominated(a.tolist(), b.tolist(), above)
        return effort[keep], a[keep], b[keep]


def _prefix_sums(column: Column) -> Column:
    return np.concatenate((np.zeros(1, column.dtype), np.cumsum(column)))
