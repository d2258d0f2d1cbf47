"""The frontier of the knapsack, compared with an enumeration of all sets."""

from __future__ import annotations

import itertools
import random

import pytest

from negolab.theory import frontier as frontier_module
from negolab.theory.frontier import best_set, is_undominated, knapsack, max_harmonic_mean


def test_the_frontier_is_that_of_all_sets() -> None:
    rng = random.Random(4)
    for _ in range(150):
        n, top = rng.randint(0, 8), rng.choice((3, 50, 10**30))
        effort = [rng.randint(0, 9) for _ in range(n)]
        a, b = ([rng.randint(0, top) for _ in range(n)] for _ in range(2))
        limit = rng.randint(0, 30)
        subsets = [c for k in range(n + 1) for c in itertools.combinations(range(n), k)]
        within = [c for c in subsets if sum(effort[i] for i in c) <= limit]
        points = {(sum(a[i] for i in c), sum(b[i] for i in c)) for c in within}
        undominated = [p for p in points if not any(q != p and q[0] >= p[0] and q[1] >= p[1] for q in points)]
        frontier = knapsack(effort, a, b, limit)
        assert list(frontier.points) == sorted(undominated)
        for point, taken in zip(frontier.points, frontier.sets, strict=True):
            assert sum(effort[i] for i in taken) <= limit
            assert point == (sum(a[i] for i in taken), sum(b[i] for i in taken))
        assert sum(a[i] for i in best_set(effort, a, limit)) == frontier.max_a


def test_names_come_back_as_they_were_given() -> None:
    effort = {"pen": 10, "ink": 20, "pad": 30}
    frontier = knapsack(effort, {"ink": 3, "pen": 7, "pad": 9}, {"pad": 5, "ink": 12, "pen": 9}, 40)
    assert frontier.points == ((10, 21), (16, 14)) and frontier.sets[-1] == {"pen", "pad"}
    with pytest.raises(ValueError, match="at least 0"):
        knapsack([1], [-1], [1], 1)


def test_single_questions_are_answered_as_the_whole_frontier_does() -> None:
    rng = random.Random(9)
    for _ in range(60):
        n, top = rng.randint(1, 14), rng.choice((2, 30, 1000))
        effort = [rng.randint(1, 60) for _ in range(n)]
        a, b = ([rng.randint(0, top) for _ in range(n)] for _ in range(2))
        b = a if rng.random() < 0.2 else b
        limit = rng.randint(1, sum(effort))
        frontier = knapsack(effort, a, b, limit)
        for x, y in frontier.points:
            assert is_undominated(effort, a, b, limit, (x, y))
            assert not is_undominated(effort, a, b, limit, (x - 1, y))
            assert not is_undominated(effort, a, b, limit, (x, y - 1))
        tops = (frontier.max_a, frontier.max_b)
        if all(tops):
            norms = [(100 * x / tops[0], 100 * y / tops[1]) for x, y in frontier.points]
            assert max_harmonic_mean(effort, a, b, limit, tops) == pytest.approx(
                max(2 * x * y / (x + y) for x, y in norms)
            )


def test_a_search_of_sets_that_nothing_tells_apart_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frontier_module, "MOST_STATES", 10_000)
    # What one seat loses the other gains.
    rng = random.Random(1)
    effort, a = [1] * 100, [rng.randint(1, 2200) for _ in range(100)]
    b = [2200 - worth for worth in a]
    tops = (sum(sorted(a)[50:]), sum(sorted(b)[50:]))
    assert knapsack(effort, a, b, 50) is None
    assert max_harmonic_mean(effort, a, b, 50, tops) is None
    assert is_undominated(effort, a, b, 50, (tops[0] // 2, 110_000 - tops[0] // 2)) is None
    assert sum(a[i] for i in best_set(effort, a, 50)) == tops[0]


def test_three_hundred_items_are_not_too_many() -> None:
    rng = random.Random(2)
    effort, a, b = ([rng.randint(1, 1001) for _ in range(300)] for _ in range(3))
    limit = sum(effort) // 2
    tops = (sum(a[i] for i in best_set(effort, a, limit)), sum(b[i] for i in best_set(effort, b, limit)))
    assert 90 < max_harmonic_mean(effort, a, b, limit, tops) < 100
    both = [x + y for x, y in zip(a, b, strict=True)]
    fair = best_set(effort, both, limit)
    point = (sum(a[i] for i in fair), sum(b[i] for i in fair))
    assert is_undominated(effort, a, b, limit, point)
    assert not is_undominated(effort, a, b, limit, (point[0] - 1, point[1] - 1))
