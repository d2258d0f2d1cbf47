"""Simulated studies: how often intervals hold the truth, and how often a study of equals finds a difference.

Each prints what it found; `pytest -s` shows it. `NEGOLAB_STUDIES` sets their number (2,000 for the table of a paper).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest

from negolab.analysis import comparisons
from negolab.analysis.observations import frame_sample
from negolab.analysis.planning import plan
from negolab.analysis.ranking import rank
from negolab.analysis.stats import Estimate, Groups, estimate_difference, estimate_mean, estimate_share, t_quantile

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


def matches(rng: Rng, draws: int, cells: int) -> pd.DataFrame:
    """A match of each cell on each draw; a draw's matches share a part of their value."""
    shared = np.repeat(rng.normal(size=draws), cells)
    at = {"draw": np.repeat(np.arange(draws), cells), "cell": np.tile(np.arange(cells), draws)}
    return pd.DataFrame({**at, "match": range(draws * cells), "score": shared + rng.normal(size=draws * cells)})


def pooled(rng: Rng, draws: int) -> pd.DataFrame:
    """Five settings that share their draws."""
    return matches(rng, draws, 5)


def recurring(rng: Rng, draws: int) -> pd.DataFrame:
    """Six starts that recur: a draw is one of them, and more than its start differs."""
    found = matches(rng, draws, REPEATS)
    start = rng.integers(0, 6, draws)[found["draw"]]
    return found.assign(deal=start, score=found["score"] + np.linspace(-1, 1, 6)[start])


def stopped(rng: Rng, draws: int) -> pd.DataFrame:
    """Three in ten matches have no result."""
    found = matches(rng, draws, REPEATS)
    return found.assign(stopped=["failed" if lost else None for lost in rng.random(len(found)) < 0.3])


@pytest.mark.parametrize("draws", [10, 20, 50])
@pytest.mark.parametrize("study", [pooled, recurring, stopped])
def test_a_mean_of_matches_is_held_by_its_interval(study: Callable[[Rng, int], pd.DataFrame], draws: int) -> None:
    found, _ = held(lambda rng: frame_sample(study(rng, draws), "score").mean(), 0, seed=24)
    print(f"{study.__name__}, {draws} draws: {found:.1%}")
    assert 0.935 - SLACK <= found <= 0.965 + SLACK


ENTRANTS = list("abcdef")
RANKED = int(os.environ.get("NEGOLAB_STUDIES", "200"))
"""Simulated tournaments of a kind."""


def tournament(rng: Rng, strengths: Sequence[float], draws: int, *, repeats: int, circle: float) -> pd.DataFrame:
    """All pairings in both seats on the same draws.

    `circle` is what an entrant wins against the next one of a circle, and loses against the one before.
    """
    pairs = [(one, two) for one in range(6) for two in range(6) if one != two]
    one, two = np.array([pair for pair in pairs for _ in range(repeats * draws)]).T
    draw = np.tile(np.repeat(np.arange(draws), repeats), len(pairs))
    turn = circle * (((two - one) % 6 == 1) * 1.0 - ((one - two) % 6 == 1))
    own = rng.normal(size=(6, draws))  # how well the draw suits an entrant
    sides = []
    for seat, player, other, sign in (("A", one, two, 1), ("B", two, one, -1)):
        score = rng.normal(size=draws)[draw] + np.array(strengths)[player] + own[player, draw] + sign * turn
        names = [np.array(ENTRANTS)[at] for at in (player, other)]
        sides.append({"seat": seat, "player": names[0], "opponent": names[1], "score": score})
    noisy = [{**side, "draw": draw, "score": side["score"] + rng.normal(size=len(draw))} for side in sides]
    return pd.concat([pd.DataFrame(side) for side in noisy], ignore_index=True)


SPREAD = (-1.0, -0.6, -0.2, 0.2, 0.6, 1.0)


@pytest.mark.parametrize("draws", [10, 20])
@pytest.mark.parametrize(("strengths", "circle", "least"), [((0.0,) * 6, 0.0, 0.935), (SPREAD, 1.0, 0.98)])
def test_ranks_and_strengths_of_a_tournament_hold(
    strengths: Sequence[float], circle: float, least: float, draws: int
) -> None:
    rng, slack = np.random.default_rng(25), 2.5 * (0.95 * 0.05 / RANKED) ** 0.5
    ranks, inside = 0, 0
    for study in range(RANKED):
        rows = tournament(rng, strengths, draws, repeats=1 + study % 2, circle=circle)
        found = rank(rows, "score", ENTRANTS)
        assert found.ranks is not None
        above = [1 + sum(other > own for other in strengths) for own in strengths]
        below = [sum(other >= own for other in strengths) for own in strengths]
        spans = zip(found.ranks.values(), above, below, strict=True)
        ranks += all(low <= first and high >= last for (low, high), first, last in spans)
        inside += sum(abs(found.strength[e] - own) <= found.half[e] for e, own in zip(ENTRANTS, strengths, strict=True))
    print(f"{draws} draws, strengths {strengths}: ranks {ranks / RANKED:.1%}, strengths {inside / RANKED / 6:.1%}")
    assert ranks / RANKED >= least - slack
    assert 0.935 - slack <= inside / RANKED / 6 <= 0.965 + slack


def test_a_study_that_is_planned_finds_its_effect_as_often_as_planned() -> None:
    asked = plan(0.6, 0.8, s_between=1.3)
    rng, studies = np.random.default_rng(26), 20_000
    apart = 0.6 + rng.normal(size=(studies, asked.draws)) * 1.3
    t = apart.mean(axis=1) / (apart.std(axis=1, ddof=1) / asked.draws**0.5)
    found = float((np.abs(t) > t_quantile(asked.draws - 1)).mean())
    print(f"{asked.draws} draws planned for 80%: {found:.1%}")
    assert found == pytest.approx(asked.power, abs=0.01)


def study_of_equals(rng: Rng) -> pd.DataFrame:
    """A study in which four players score alike on average, on the same eight draws."""
    worth = rng.normal(size=8)
    rows: list[dict[str, Any]] = [
        {"player": f"p{player}", "seat": "A", "draw": draw, "score": worth[draw] + rng.normal()}
        for player in range(4)
        for draw in range(8)
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
