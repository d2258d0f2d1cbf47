"""Simulated studies: how often intervals hold the truth, and how often a study of equals finds a difference.

Each prints what it found; `pytest -s` shows it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from negolab.analysis import comparisons, stats

STUDIES = 4000
DEALS = 100


def drawn_deals(rng: np.random.Generator, p: float, correlation: float) -> list[bool]:
    """Draw two games on each deal: with the probability `correlation` the second is a copy of the first."""
    first, second = rng.random(DEALS) < p, rng.random(DEALS) < p
    second = np.where(rng.random(DEALS) < correlation, first, second)
    return [bool(hit) for hit in np.column_stack([first, second]).ravel()]


@pytest.mark.parametrize("correlation", [0, 0.5, 1])
@pytest.mark.parametrize("p", [0.5, 0.8, 0.96])
def test_a_share_of_deals_that_are_played_twice_is_held_by_its_interval(p: float, correlation: float) -> None:
    rng, deals = np.random.default_rng(19), [deal for deal in range(DEALS) for _ in "AB"]
    held = naive = 0
    for _ in range(STUDIES):
        hits = drawn_deals(rng, p, correlation)
        e, independent = stats.cluster_share(hits, deals), stats.wilson_interval(sum(hits), len(hits))
        held += e.low <= p <= e.high
        naive += independent.low <= p <= independent.high
    print(f"p = {p}, correlation {correlation}: {held / STUDIES:.1%} (games as if independent: {naive / STUDIES:.1%})")
    assert 0.92 <= held / STUDIES <= 0.98


@pytest.mark.parametrize("deals", [10, 30, 100])
def test_a_mean_over_deals_is_held_by_its_interval(deals: int) -> None:
    rng, labels = np.random.default_rng(20), [deal for deal in range(deals) for _ in "AB"]
    held = 0
    for _ in range(STUDIES):
        values = rng.normal(size=2 * deals) + np.repeat(rng.normal(size=deals), 2)
        e = stats.cluster_mean(list(values), labels)
        held += e.low <= 0 <= e.high
    print(f"mean of {deals} deals, two games each: {held / STUDIES:.1%}")
    assert 0.93 <= held / STUDIES <= 0.97


@pytest.mark.parametrize("people", [20, 60])
def test_a_mean_over_people_and_deals_is_held_by_its_interval(people: int) -> None:
    rng, played = np.random.default_rng(21), 4
    participants = np.repeat(np.arange(people), played)
    held = 0
    for _ in range(STUDIES):
        deals = rng.integers(0, 20, people * played)
        values = rng.normal(size=people)[participants] + rng.normal(size=20)[deals] + rng.normal(size=len(deals))
        e = stats.cluster_mean(list(values), list(deals), list(participants))
        held += e.low <= 0 <= e.high
    print(f"mean of {people} people, {played} games each on 20 deals: {held / STUDIES:.1%}")
    assert 0.92 <= held / STUDIES <= 0.98


def study_of_equals(rng: np.random.Generator, players: int = 4, deals: int = 8) -> pd.DataFrame:
    """A study in which all players score alike on average, on the same deals."""
    worth = rng.normal(size=deals)
    rows: list[dict[str, Any]] = [
        {"player": f"p{player}", "seat": "A", "deal": deal, "score": worth[deal] + rng.normal()}
        for player in range(players)
        for deal in range(deals)
    ]
    return pd.DataFrame(rows)


def test_a_study_of_equals_finds_somebody_behind_the_best_in_one_of_twenty() -> None:
    rng, studies, found = np.random.default_rng(22), 500, 0
    for _ in range(studies):
        behind = comparisons.behind_best(study_of_equals(rng), "score", by=())
        found += bool((behind["holm"] < 0.05).any())
    error = (0.05 * 0.95 / studies) ** 0.5
    print(f"studies of equals that find somebody behind the best: {found / studies:.1%}")
    assert found / studies <= 0.05 + 2 * error
