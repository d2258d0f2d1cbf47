"""Simulated studies: how often intervals hold the truth, and how often a study of equals finds a difference.

Each prints what it found; `pytest -s` shows it. `NEGOLAB_STUDIES` sets their number (2,000 for the table of a paper).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from negolab.analysis import comparisons
from negolab.analysis.stats import Estimate, Groups, estimate_difference, estimate_mean, estimate_share

STUDIES = int(os.environ.get("NEGOLAB_STUDIES", "600"))
SLACK = 2.5 * (0.95 * 0.05 / STUDIES) ** 0.5
"""What so few studies may miss by chance."""
REPEATS = 4
Rng = np.random.Generator
Draw = Callable[[Rng, Any], Any]

SHAPES: dict[str, tuple[Draw, float]] = {
    "symmetric": (lambda rng, size: rng.normal(size=size), 0.0),
    "exponential": (lambda rng, size: rng.exponential(size=size), 1.0),
    "lognormal": (lambda rng, size: rng.lognormal(size=size), float(np.exp(0.5))),
}
LEAST = {
    "symmetric": dict.fromkeys((5, 10, 20, 50), 0.935),
    "exponential": {5: 0.875, 10: 0.89, 20: 0.905, 50: 0.91},
    "lognormal": {5: 0.82, 10: 0.855, 20: 0.865, 50: 0.895},
}


def held(draw: Callable[[Rng], Estimate], truth: float, seed: int) -> tuple[float, float]:
    """Return the shares of studies whose interval holds the truth, and that warn of skewed values."""
    rng, inside, warned = np.random.default_rng(seed), 0, 0
    for _ in range(STUDIES):
        e = draw(rng)
        low, high = (e.value, e.value) if e.status == "constant" else (e.low, e.high)
        inside += low - 1e-12 <= truth <= high + 1e-12
        warned += e.skewed
    return inside / STUDIES, warned / STUDIES


def within(rng: Rng, draws: int, draw: Draw, correlation: float) -> Any:
    """Values by draw and repeat: a part `correlation` of the draws' matches share one value."""
    own, shared = draw(rng, (draws, REPEATS)), draw(rng, (draws, 1))
    return np.where(rng.random((draws, REPEATS)) < correlation**0.5, shared, own)


@pytest.mark.parametrize("draws", [5, 10, 20, 50])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_mean_over_draws_is_held_by_its_interval(shape: str, draws: int) -> None:
    draw, truth = SHAPES[shape]
    labels = np.repeat(np.arange(draws), REPEATS).tolist()
    for correlation in (0, 0.7):
        found, warned = held(
            lambda rng, c=correlation: estimate_mean(  # type: ignore[misc]
                within(rng, draws, draw, c).ravel(), Groups(len(labels), labels)
            ),
            truth,
            seed=20,
        )
        print(f"{shape}, {draws} draws, correlation {correlation}: {found:.1%}, warned {warned:.0%}")
        assert found >= LEAST[shape][draws] - SLACK
        assert found <= 0.965 + SLACK or shape != "symmetric"
        if draws == 20 and shape == "symmetric":
            assert warned <= 0.08 + SLACK
        if (draws, shape, correlation) == (20, "lognormal", 0.7):
            assert warned >= 0.8 - SLACK


@pytest.mark.parametrize("p", [0.05, 0.5])
@pytest.mark.parametrize("draws", [5, 20, 50])
def test_a_share_over_draws_is_held_by_its_interval(p: float, draws: int) -> None:
    labels = np.repeat(np.arange(draws), REPEATS).tolist()
    for correlation in (0, 0.7):
        found, _ = held(
            lambda rng, c=correlation: estimate_share(  # type: ignore[misc]
                list(within(rng, draws, lambda rng, size: rng.random(size) < p, c).ravel()), Groups(len(labels), labels)
            ),
            p,
            seed=19,
        )
        print(f"share {p}, {draws} draws, correlation {correlation}: {found:.1%}")
        assert found >= 0.935 - SLACK


@pytest.mark.parametrize("shape", ["symmetric", "lognormal"])
def test_a_contrast_is_held_by_its_interval(shape: str) -> None:
    draw, _ = SHAPES[shape]
    for draws in (5, 20):
        found, _ = held(
            lambda rng, n=draws: estimate_difference(list(draw(rng, n) - draw(rng, n))),  # type: ignore[misc]
            0,
            seed=23,
        )
        print(f"contrast, {shape}, {draws} draws: {found:.1%}")
        assert found >= 0.935 - SLACK and (found <= 0.965 + SLACK or shape != "symmetric")


@pytest.mark.parametrize("people", [20, 60])
def test_a_mean_over_people_and_draws_is_held_by_its_interval(people: int) -> None:
    played = 4
    who = np.repeat(np.arange(people), played)

    def study(rng: Rng) -> Estimate:
        draws = rng.integers(0, 20, people * played)
        values = rng.normal(size=people)[who] + rng.normal(size=20)[draws] + rng.normal(size=len(draws))
        return estimate_mean(values, Groups(len(draws), draws.tolist(), [[one] for one in who.tolist()]))

    found, _ = held(study, 0, seed=21)
    print(f"mean of {people} people, {played} games each on 20 draws: {found:.1%}")
    assert 0.93 - SLACK <= found <= 0.975 + SLACK


def study_of_equals(rng: Rng, players: int = 4, draws: int = 8) -> pd.DataFrame:
    """A study in which all players score alike on average, on the same draws."""
    worth = rng.normal(size=draws)
    rows: list[dict[str, Any]] = [
        {"player": f"p{player}", "seat": "A", "draw": draw, "score": worth[draw] + rng.normal()}
        for player in range(players)
        for draw in range(draws)
    ]
    return pd.DataFrame(rows)


def test_a_study_of_equals_finds_somebody_behind_the_best_in_one_of_twenty() -> None:
    rng, studies, found = np.random.default_rng(22), 200, 0
    for _ in range(studies):
        behind = comparisons.behind_best(study_of_equals(rng), "score", by=())
        found += bool((behind["holm"] < 0.05).any())
    error = (0.05 * 0.95 / studies) ** 0.5
    print(f"studies of equals that find somebody behind the best: {found / studies:.1%}")
    assert found / studies <= 0.05 + 2 * error
