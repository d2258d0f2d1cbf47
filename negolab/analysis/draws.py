"""What chance dealt in a sweep of `truth.ipynb`, against the chances."""

from __future__ import annotations

import os
from collections.abc import Iterator
from fractions import Fraction

import pandas as pd

from negolab.analysis import stats, tables
from negolab.analysis.checks import held
from negolab.games.split.position import Draw, Schedule
from negolab.record import start
from negolab.theory import division

Place = str | os.PathLike[str]
_UNITS = 10


def draws(path: Place) -> pd.DataFrame:
    """One row per round that was dealt: `variant`, both values, and both hands where there are any. All cells of a
    variant and repeat play the same deals, so that only one of them is read."""
    cells = tables.cells(path)
    done = cells[cells["state"] == "done"].drop_duplicates(["variant", "repeat"])
    variants = dict(zip(done["id"], done["variant"], strict=True))
    return pd.DataFrame(_draws(path, variants), columns=["variant", "value_a", "value_b", "hand_a", "hand_b"])


def _draws(path: Place, variants: dict[str, str]) -> Iterator[list[object]]:
    for cell, record in tables.records(path):
        if cell in variants:
            schedule = start(record).hidden
            assert isinstance(schedule, Schedule)
            yield from ([variants[cell], *_drawn(drawn)] for drawn in schedule.rounds)


def _drawn(drawn: Draw) -> list[object]:
    hands = [None, None] if drawn.hands is None else [drawn.hands["A"], drawn.hands["B"]]
    return [drawn.values["A"][0], drawn.values["B"][0], *hands]


def checked_draws(dealt: pd.DataFrame, others: int = 0) -> pd.DataFrame:
    """Chances of the deals against what was dealt, as `checked`: who has the higher value, each hand, ties, and the
    mean of the largest joint points. `n` counts rounds."""
    level = stats.simultaneous(CHANCES + others)
    rows = [
        [variant, measure, float(exact), *estimate]
        for variant, part in dealt.groupby("variant", sort=False)
        for measure, exact, estimate in _chances(str(variant), part, level)
    ]
    found = pd.DataFrame(rows, columns=["variant", "measure", "exact", *stats.Estimate._fields])
    return held(found)


CHANCES = 7
"""What `checked_draws` looks at, in both variants."""


def _chances(variant: str, part: pd.DataFrame, level: float) -> Iterator[tuple[str, Fraction, stats.Estimate]]:
    def share(flags: pd.Series[bool]) -> stats.Estimate:
        e = stats.share(int(flags.sum()), len(flags), level)
        return stats.Estimate(100 * e.value, 100 * e.low, 100 * e.high, e.n)

    a, b = part["value_a"], part["value_b"]
    if variant == "classic":
        yield "values tie (% of rounds)", Fraction(100, 20), share(a == b)
        best = [float(_UNITS * max(pair)) for pair in zip(a, b, strict=True)]
        yield (
            "largest joint points",
            division.joint(division.to_the_higher, _UNITS, division.uniform()),
            stats.mean(best, level),
        )
        yield "value of A (points per coin)", Fraction(21, 2), stats.mean([float(value) for value in a], level)
    else:
        yield "A has the high value (% of rounds)", Fraction(50), share(a > b)
        for hand in ("rock", "paper", "scissors"):
            yield f"A holds {hand} (% of rounds)", Fraction(100, 3), share(part["hand_a"] == hand)
