"""Assignment of participants to treatments."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from negolab.studies.database.participants import assign, block
from tests.support.assignment import assigned


def test_the_cell_with_the_fewest_sessions_is_next_and_ties_go_to_the_lowest() -> None:
    assert assign([0, 0, 0], [1, 1, 1]) == 0
    assert assign([2, 1, 1], [1, 1, 1]) == 1


def test_a_dropped_session_leaves_the_count_and_a_completed_one_stays() -> None:
    ops = [("start", "a"), ("start", "b"), ("complete", "a"), ("drop", "b"), ("start", "c"), ("start", "d")]
    assert assigned(ops, 2) == {"a": 0, "b": 1, "c": 1, "d": 0}


@pytest.mark.parametrize("seed", [None, 1, 2])
def test_fifty_starts_differ_by_at_most_one_at_any_moment(seed: int | None) -> None:
    cells = list(assigned([("start", str(i)) for i in range(50)], 7, seed=seed).values())
    for end in range(1, 51):
        counts = Counter(cells[:end])
        full = [counts[cell] for cell in range(7)]
        assert max(full) - min(full) <= 1


def test_weights_share_the_sessions_out() -> None:
    cells = assigned([("start", str(i)) for i in range(60)], 3, [1, 2, 3])
    assert Counter(cells.values()) == {0: 10, 1: 20, 2: 30}


def test_a_seed_permutes_each_block_anew_and_reproducibly() -> None:
    ops = [("start", str(i)) for i in range(40)]
    cells = list(assigned(ops, 4, seed=9).values())
    blocks = [tuple(cells[i : i + 4]) for i in range(0, 40, 4)]
    assert blocks == [tuple(block(4, number, 9)) for number in range(10)]
    assert len(set(blocks)) > 3
    assert list(assigned(ops, 4, seed=9).values()) == cells


def test_drops_and_restarts_never_unbalance_the_active_cells() -> None:
    rng = random.Random(1)
    counts = [0] * 5
    for _ in range(500):
        if rng.random() < 0.4 and any(counts):
            counts[rng.choice([i for i, n in enumerate(counts) if n])] -= 1
        else:
            cell = assign(counts, [1] * 5, seed=3)
            assert counts[cell] == min(counts)
            counts[cell] += 1


def test_bad_input_is_named() -> None:
    with pytest.raises(ValueError, match="starts twice"):
        assigned([("start", "a"), ("start", "a")], 2)
    with pytest.raises(ValueError, match="'pause'"):
        assigned([("pause", "a")], 2)
    with pytest.raises(ValueError, match="'b'"):
        assigned([("drop", "b")], 2)
