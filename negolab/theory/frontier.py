"""The Pareto frontier of two linear worths over the sets of items within one budget (0/1 knapsack), exact."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, cast

import msgspec
import numpy as np
import numpy.typing as npt

Key = int | str
Column = npt.NDArray[Any]
Numbers = Mapping[str, int] | Sequence[int]


class Frontier(msgspec.Struct, frozen=True, gc=False):
    """Undominated worths `(a, b)` by rising a, and one set that reaches each. It is never empty: the empty set fits."""

    points: tuple[tuple[int, int], ...]
    sets: tuple[frozenset[Any], ...]

    @property
    def max_a(self) -> int:
        """The most that `a` alone can reach."""
        return self.points[-1][0]

    @property
    def max_b(self) -> int:
        """The most that `b` alone can reach."""
        return self.points[0][1]


def knapsack(effort: Numbers, a: Numbers, b: Numbers, limit: int) -> Frontier:
    """The frontier over all sets whose efforts sum to at most `limit`. Sequences give sets of indices, mappings with
    the same keys sets of keys. All numbers are integers >= 0, of any size.

    Nemhauser and Ullmann 1969; for two worths Bazgan, Hugot and Vanderpooten 2009 (without their bounds).
    """
    keys, columns = table(effort, a, b)
    return _frontier(keys, *columns, limit)


def best(effort: Numbers, worth: Numbers, limit: int) -> frozenset[Any]:
    """One set of the largest worth within `limit`."""
    keys, (efforts, worths) = table(effort, worth)
    return _frontier(keys, efforts, worths, (0,) * len(keys), limit).sets[0]


def table(*columns: Numbers) -> tuple[tuple[Key, ...], list[tuple[int, ...]]]:
    """Keys, and each column's numbers in their order."""
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
) -> Frontier:
    if min((*effort, *a, *b, limit), default=0) < 0:
        raise ValueError("efforts, worths and the limit must be at least 0")
    items = [i for i in order_of(effort, a, b) if effort[i] <= limit]
    search = _Search([effort[i] for i in items], [a[i] for i in items], [b[i] for i in items], limit)
    found = search.run()
    points = tuple((x, y) for x, y, _, _ in found)
    sets = tuple(frozenset(keys[items[k]] for k in search.taken(node, rest)) for _, _, node, rest in found)
    return Frontier(points, sets)


def order_of(effort: tuple[int, ...], a: tuple[int, ...], b: tuple[int, ...]) -> list[int]:
    """Items by the larger of their two ranks by worth per effort: what is good for both comes first."""
    ranks = []
    for worth in (a, b):
        # A scaled integer quotient, since a float overflows; the order decides the speed, never the result.
        falling = sorted(range(len(effort)), key=lambda i: -((worth[i] << 20) // max(effort[i], 1)))
        ranks.append({i: rank for rank, i in enumerate(falling)})
    return sorted(ranks[0], key=lambda i: (max(ranks[0][i], ranks[1][i]), ranks[0][i] + ranks[1][i], i))


class _Search:
    """List dynamic programming over states (effort, a, b): one item after the other, undominated states only.

    A state's `node` numbers the last item it took; `_trail` holds where each run of numbers starts, that item and
    the nodes before it. Numbers beyond 62 bits are kept as Python's own, slower but as exact.
    """

    def __init__(self, effort: list[int], a: list[int], b: list[int], limit: int) -> None:
        self.effort, self.a, self.b = effort, a, b
        self.limit = limit
        self.above = sum(a) + 1
        small = max(sum(effort), sum(a), sum(b), limit) < 1 << 62
        self.kind: Any = np.int64 if small else object
        self._starts = [1]
        self._trail: list[tuple[int, Column]] = []

    def run(self) -> list[tuple[int, int, int, int]]:
        """`(a, b, node, k)` by rising a: worths of a set that is `node`'s items and all from the k-th on."""
        zero = np.zeros(1, self.kind)
        states = (zero, zero, zero, np.zeros(1, np.int64))
        done: list[tuple[int, int, int, int]] = []
        rest, rest_a, rest_b = sum(self.effort), sum(self.a), sum(self.b)
        for k, effort in enumerate(self.effort):
            fits = states[0] + rest <= self.limit
            if fits.any():
                _, a, b, node = (column[fits] for column in states)
                done += zip((a + rest_a).tolist(), (b + rest_b).tolist(), node.tolist(), [k] * len(a), strict=True)
                states = cast(Any, tuple(column[~fits] for column in states))
            states = self._offer(states, k)
            rest, rest_a, rest_b = rest - effort, rest_a - self.a[k], rest_b - self.b[k]
        _, a, b, node = states
        done += zip(a.tolist(), b.tolist(), node.tolist(), [len(self.effort)] * len(a), strict=True)
        return _staircase(done)

    def _offer(self, states: tuple[Column, Column, Column, Column], k: int) -> tuple[Column, Column, Column, Column]:
        """All states with and without the k-th item, less those that another dominates."""
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
        """Positions of the items behind a result of `run`."""
        taken = list(range(rest, len(self.effort)))
        while node:
            run = bisect_right(self._starts, node) - 1
            k, before = self._trail[run]
            taken.append(k)
            node = int(before[node - self._starts[run]])
        return taken


def undominated(a: list[int], b: list[int], above: int) -> list[int]:
    """Indices, in order, of the pairs that no earlier pair equals or exceeds in both; `above` exceeds every a.

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
    """The undominated ones by rising a."""
    stairs: list[tuple[int, int, int, int]] = []
    for entry in sorted(done, key=lambda entry: (-entry[0], -entry[1])):
        if not stairs or entry[1] > stairs[-1][1]:
            stairs.append(entry)
    return stairs[::-1]
