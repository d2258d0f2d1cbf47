"""Frontiers and solutions of agendas, against brute force, and within their bounds of time and memory."""

from __future__ import annotations

import random
import subprocess
import sys
from fractions import Fraction
from itertools import product

import pytest

from negolab.theory.agreements import (
    agreement_points,
    enumerate_agreements,
    even_compromise,
    frontier_of,
    merge_issues,
    solutions,
)

Rows = list[list[int]]


def random_tables(rng: random.Random) -> tuple[Rows, Rows]:
    """Points of two seats over random issues: opposed, alike or independent, often with ties."""
    high = rng.choice((1, 3, 20, 10**6))
    a, b = [], []
    for _ in range(rng.randint(1, 5)):
        row = [rng.randint(-high, high) for _ in range(rng.randint(2, 4))]
        other = [rng.randint(-high, high) for _ in row]
        a.append(row)
        b.append(rng.choice((other, row, [-points for points in row])))
    return a, b


def brute_force(a: Rows, b: Rows) -> list[tuple[tuple[int, int], tuple[int, ...]]]:
    """Every undominated pair by rising a, with the first agreement that reaches it."""
    reached: dict[tuple[int, int], tuple[int, ...]] = {}
    for chosen in product(*(range(len(row)) for row in a)):
        pair = tuple(sum(row[at] for row, at in zip(table, chosen, strict=True)) for table in (a, b))
        reached.setdefault((pair[0], pair[1]), chosen)
    kept = [
        pair
        for pair in reached
        if not any(other != pair and other[0] >= pair[0] and other[1] >= pair[1] for other in reached)
    ]
    return [(pair, reached[pair]) for pair in sorted(kept)]


def test_both_ways_equal_brute_force_on_random_agendas() -> None:
    rng = random.Random(22)
    for _ in range(600):
        a, b = random_tables(rng)
        expected = brute_force(a, b)
        for found in (enumerate_agreements(a, b), merge_issues(a, b)):
            assert list(zip(found.points, found.agreements, strict=True)) == expected


def test_solutions_equal_their_definitions_and_return_every_tie() -> None:
    rng = random.Random(3)
    for _ in range(200):
        a, b = random_tables(rng)
        points = frontier_of(a, b).points
        alone = rng.choice([(0, 0), rng.choice(points)])
        found = solutions(points, alone)
        gains = {p: (p[0] - alone[0], p[1] - alone[1]) for p in points if p[0] >= alone[0] and p[1] >= alone[1]}
        best = max((x * y for x, y in gains.values()), default=None)
        assert list(found.nash) == sorted(p for p, (x, y) in gains.items() if x * y == best)
        least = max((min(gain) for gain in gains.values()), default=None)
        assert list(found.egalitarian) == sorted(p for p, gain in gains.items() if min(gain) == least)
        total = max(map(sum, points))
        assert list(found.utilitarian) == sorted(p for p in points if sum(p) == total)
        tops = [max((gain[seat] for gain in gains.values()), default=0) for seat in (0, 1)]
        shares = {
            p: min(Fraction(g, top) if top else Fraction(1) for g, top in zip(gain, tops, strict=True))
            for p, gain in gains.items()
        }
        assert list(found.kalai_smorodinsky) == sorted(p for p in shares if shares[p] == max(shares.values()))


def test_ties_of_the_nash_product_are_all_returned() -> None:
    assert solutions([(1, 6), (2, 3), (3, 2), (6, 1)]).nash == ((1, 6), (2, 3), (3, 2), (6, 1))
    assert solutions([(1, 1)], (2, 2)).nash == ()


def test_the_even_compromise_splits_every_issue() -> None:
    assert even_compromise([[0, 5, 10], [0, 1]], [[8, 4, 0], [7, 7]]) == (1, 1)


def test_points_are_listed_in_lexicographic_order() -> None:
    assert agreement_points([[0, 1], [0, 10, 20]]).tolist() == [0, 10, 20, 1, 11, 21]


def test_different_shapes_and_huge_points_are_refused() -> None:
    with pytest.raises(ValueError, match="same options"):
        frontier_of([[1, 2]], [[1, 2, 3]])
    with pytest.raises(ValueError, match="below"):
        frontier_of([[1, 2**62]], [[1, 2]])


MEASURED = """
import random, resource
from negolab.theory.agreements import frontier_of, solutions
rng = random.Random(1)
a, b = ([[rng.randint(0, 1000) for _ in range(10)] for _ in range(6)] for _ in range(2))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
solutions(frontier_of(a, b).points, (100, 100))
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""


def test_a_million_agreements_take_under_300_mb() -> None:
    run = subprocess.run([sys.executable, "-c", MEASURED], capture_output=True, text=True, check=True)
    assert float(run.stdout) < 300


@pytest.mark.parametrize("high", [10, 100, 1000])
def test_the_frontier_of_a_thousand_million_agreements_is_found(high: int) -> None:
    rng = random.Random(high)
    a, b = ([[rng.randint(0, high) for _ in range(10)] for _ in range(9)] for _ in range(2))
    assert len(frontier_of(a, b).points) > 1


def test_a_frontier_that_cannot_be_listed_is_refused() -> None:
    powers = [[0, 2**k] for k in range(29)]
    with pytest.raises(ValueError, match="too many points to list"):
        frontier_of(powers, [[-x for x in row] for row in powers])
