"""Exact gains from trade between two owners of goods. Arguments are vectors with one entry per good."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction


def possible_surplus(a: Sequence[int], b: Sequence[int], p: Sequence[int], q: Sequence[int]) -> int:
    """Return the largest joint gain over all reallocations: each good goes to the seat that values it more.

    Args:
        a: A's values per unit.
        b: B's values per unit.
        p: A's initial holdings.
        q: B's initial holdings.
    """
    return sum(
        max(vb - va, 0) * held_a + max(va - vb, 0) * held_b for va, vb, held_a, held_b in zip(a, b, p, q, strict=True)
    )


def mutual_surplus(a: Sequence[int], b: Sequence[int], p: Sequence[int], q: Sequence[int]) -> Fraction:
    """Return the largest joint gain when neither seat may end below its start, with goods treated as divisible.

    The linear program: maximize sum (b_r - a_r) x_r over net flows -q_r <= x_r <= p_r from A to B, subject to sum a_r
    x_r <= 0 and sum b_r x_r >= 0. Solved greedily by the ratio b_r / a_r, as a continuous knapsack (Dantzig 1957): at
    most one good is split. Values must be positive.
    """
    order = sorted(range(len(a)), key=lambda r: (-Fraction(b[r], a[r]), r))
    to_b = [r for r in order if b[r] > a[r]]
    to_a = [r for r in order if b[r] <= a[r]]
    flow = [Fraction(p[r] if b[r] > a[r] else -q[r]) for r in range(len(a))]
    short_a = sum(a[r] * flow[r] for r in order)
    short_b = -sum(b[r] * flow[r] for r in order)
    if short_a > 0:
        _give_back(flow, reversed(to_b), a, [-n for n in q], short_a)
    elif short_b > 0:
        _give_back(flow, iter(to_a), b, p, short_b)
    return sum(((b[r] - a[r]) * flow[r] for r in order), Fraction(0))


def exchange_frontier(
    a: Sequence[int], b: Sequence[int], p: Sequence[int], q: Sequence[int]
) -> tuple[tuple[int, int], ...]:
    """Return the Pareto frontier of the gains over all reallocations, with goods treated as divisible: its corners in
    rising order of A's gain, to be joined by straight lines. Whole goods reach the corners and points on or below the
    lines.

    From B owning all to A owning all, goods pass to A in falling order of a_r / b_r, as in the Adjusted Winner
    procedure (Brams and Taylor 1996). Values must be positive.
    """
    x = -sum(va * held for va, held in zip(a, p, strict=True))
    y = sum(vb * held for vb, held in zip(b, p, strict=True))
    corners = [(x, y)]
    for r in sorted(range(len(a)), key=lambda r: (-Fraction(a[r], b[r]), r)):
        there = p[r] + q[r]
        if there:
            x, y = x + a[r] * there, y - b[r] * there
            corners.append((x, y))
    return tuple(corners)


def _give_back(
    flow: list[Fraction], goods: Iterator[int], values: Sequence[int], ends: Sequence[int], short: Fraction | int
) -> None:
    """Move the flow of these goods toward their ends until one seat's loss `short`, at its values, is made up."""
    for r in goods:
        room = abs(ends[r] - flow[r]) * values[r]
        moved = min(room, short)
        flow[r] += Fraction(moved if ends[r] > flow[r] else -moved) / values[r]
        short -= moved
        if not short:
            return
