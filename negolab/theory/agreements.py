"""Exact frontier and solutions of an agenda: one option for each issue, with points that add up over the issues.

`enumerate_agreements` looks at every agreement in one NumPy pass; `merge_issues` adds one issue at a time and drops
whatever is dominated (Nemhauser and Ullmann 1969, as `theory.frontier` does for a knapsack), which is exact because
points add up. `frontier_of` chooses between the two by the number of agreements.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import prod
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

Column = npt.NDArray[np.int64]
Table = Sequence[Sequence[int]]
"""One seat's points: a row per issue, a number per option."""
Pair = tuple[int, int]

MAX_ENUMERATED = 10**6
"""Largest number of agreements for which all are listed."""
MAX_STATES = 10**6
"""Largest number of undominated partial agreements, with each option of the next issue, for which issues are merged."""
_MAX_POINTS = 2**62


class AgreementFrontier(msgspec.Struct, frozen=True, gc=False):
    """Undominated points of agreements `(a, b)`, in rising order of a.

    Args:
        points: The points of A and B; never empty.
        agreements: One agreement for each pair, the first in lexicographic order: an option's index per issue.
    """

    points: tuple[Pair, ...]
    agreements: tuple[tuple[int, ...], ...]


class Solutions(msgspec.Struct, frozen=True, gc=False):
    """Points on the frontier that a cooperative solution selects, with all ties, in rising order of a.

    The first three look only at agreements that give both seats at least their disagreement points, and are empty if
    there are none.

    Args:
        nash: Those with the largest product of gains over the disagreement points (Nash 1950).
        kalai_smorodinsky: Those whose smaller share of the largest gains is largest (Kalai and Smorodinsky 1975).
        egalitarian: Those whose smaller gain is largest (Kalai 1977).
        utilitarian: Those with the largest sum of points.
    """

    nash: tuple[Pair, ...]
    kalai_smorodinsky: tuple[Pair, ...]
    egalitarian: tuple[Pair, ...]
    utilitarian: tuple[Pair, ...]


def count_agreements(a: Table) -> int:
    """Return the number of agreements: the product of the numbers of options."""
    return prod(len(row) for row in a)


def frontier_of(a: Table, b: Table) -> AgreementFrontier:
    """Return the frontier of all agreements' points.

    Args:
        a: A's points, a row per issue with a number per option.
        b: B's points, in the same shape.

    Raises:
        ValueError: The shapes differ, a number is too large, or there are too many undominated agreements to list.

    Example:
        >>> frontier_of([[0, 3], [1, 0]], [[3, 0], [0, 1]]).points
        ((0, 4), (1, 3), (3, 1), (4, 0))
    """
    return (enumerate_agreements if count_agreements(a) <= MAX_ENUMERATED else merge_issues)(a, b)


def agreement_points(table: Table) -> Column:
    """Return the points of every agreement in lexicographic order, as one array."""
    total: Column = np.zeros(1, np.int64)
    for row in table:
        total = (total[:, None] + np.array(row, np.int64)).ravel()
    return total


def enumerate_agreements(a: Table, b: Table) -> AgreementFrontier:
    """Return the frontier from a list of all agreements. Arguments and errors are as for `frontier_of`."""
    _check(a, b)
    points_a, points_b = agreement_points(a), agreement_points(b)
    kept = _undominated(points_a, points_b)
    return _frontier(points_a[kept], points_b[kept], kept, a)


def merge_issues(a: Table, b: Table) -> AgreementFrontier:
    """Return the frontier by merging one issue at a time. Arguments and errors are as for `frontier_of`."""
    _check(a, b)
    points_a = points_b = codes = np.zeros(1, np.int64)
    for row_a, row_b in zip(a, b, strict=True):
        if len(codes) * len(row_a) > MAX_STATES:
            raise ValueError(
                f"the frontier of {count_agreements(a):,} agreements has too many points to list "
                f"({len(codes):,} after some of the issues): use fewer issues, or points that differ less"
            )
        points_a = (points_a[:, None] + np.array(row_a, np.int64)).ravel()
        points_b = (points_b[:, None] + np.array(row_b, np.int64)).ravel()
        codes = (codes[:, None] * len(row_a) + np.arange(len(row_a))).ravel()
        kept = _undominated(points_a, points_b, codes)
        points_a, points_b, codes = points_a[kept], points_b[kept], codes[kept]
    return _frontier(points_a, points_b, codes, a)


def _check(a: Table, b: Table) -> None:
    if not a or [len(row) for row in a] != [len(row) for row in b] or not all(map(len, a)):
        raise ValueError("both seats need points for the same options, at least one issue and one option for each")
    if sum(max(map(abs, (*row, *other))) for row, other in zip(a, b, strict=True)) >= _MAX_POINTS:
        raise ValueError(f"an agreement's points must be below {_MAX_POINTS:,}")
    if count_agreements(a) >= _MAX_POINTS:
        raise ValueError(f"{count_agreements(a):,} agreements are too many to enumerate")


def _undominated(a: Column, b: Column, codes: Column | None = None) -> Column:
    """Return the indices of the undominated pairs, in rising order of a; of equal pairs, the first, or the one with the
    lowest code."""
    order = np.lexsort((-b, -a) if codes is None else (codes, -b, -a))
    falling = b[order]
    best = np.maximum.accumulate(falling)
    first = np.ones(len(order), bool)
    first[1:] = falling[1:] > best[:-1]
    return order[first][::-1]


def _frontier(a: Column, b: Column, codes: Column, table: Table) -> AgreementFrontier:
    options = np.stack(np.unravel_index(codes, [len(row) for row in table]), axis=1).tolist()
    return AgreementFrontier(tuple(zip(a.tolist(), b.tolist(), strict=True)), tuple(map(tuple, options)))


def solutions(frontier: Sequence[Pair], disagreement: Pair = (0, 0)) -> Solutions:
    """Return the solutions on a frontier, exactly and with all ties.

    Args:
        frontier: Undominated points (A, B).
        disagreement: A's and B's points without an agreement.

    Example:
        >>> solutions([(0, 4), (3, 3), (4, 0)]).nash
        ((3, 3),)
    """
    alone_a, alone_b = disagreement
    gains = {(a, b): (a - alone_a, b - alone_b) for a, b in frontier if a >= alone_a and b >= alone_b}
    top_a, top_b = (max((gain[seat] for gain in gains.values()), default=0) for seat in (0, 1))

    def share(gain: int, top: int) -> Fraction:
        return Fraction(gain, top) if top else Fraction(1)

    return Solutions(
        nash=_best(gains, lambda gain: gain[0] * gain[1]),
        kalai_smorodinsky=_best(gains, lambda gain: min(share(gain[0], top_a), share(gain[1], top_b))),
        egalitarian=_best(gains, min),
        utilitarian=_best({pair: pair for pair in frontier}, sum),
    )


def _best(gains: dict[Pair, Pair], value: Callable[[Pair], Any]) -> tuple[Pair, ...]:
    """Return the points with the largest value."""
    values = {pair: value(gain) for pair, gain in gains.items()}
    top = max(values.values(), default=None)
    return tuple(sorted(pair for pair, found in values.items() if found == top))


def even_compromise(a: Table, b: Table) -> tuple[int, ...]:
    """Return, for each issue, the option at which the smaller of the two seats' shares of the issue is largest.

    A seat's share of an issue is its points above its worst option, divided by the span from worst to best; 1 if all
    are equal. Ties go to the option with the most joint points, then to the first. This splits every issue down the
    middle, which forgoes all gains from trading one issue for another.

    Example:
        >>> even_compromise([[0, 5, 10]], [[8, 4, 0]])
        (1,)
    """
    return tuple(_even_option(row_a, row_b) for row_a, row_b in zip(a, b, strict=True))


def _even_option(a: Sequence[int], b: Sequence[int]) -> int:
    shares = [min(pair) for pair in zip(_shares(a), _shares(b), strict=True)]
    return max(range(len(a)), key=lambda at: (shares[at], a[at] + b[at], -at))


def _shares(row: Sequence[int]) -> list[Fraction]:
    low, high = min(row), max(row)
    return [Fraction(points - low, high - low) if high > low else Fraction(1) for points in row]
