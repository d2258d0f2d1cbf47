"""Intervals for the numbers that are shown. All are at the 95 % level."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

LEVEL = 0.95


class Estimate(NamedTuple):
    """A value with its interval and the number of observations behind it; NaN bounds where n is too small."""

    value: float
    low: float
    high: float
    n: int


def share(hits: int, n: int) -> Estimate:
    """A proportion with its Wilson score interval (Wilson 1927); `hits` of `n` independent trials."""
    from scipy import stats  # half a second to import

    if not n:
        return Estimate(float("nan"), float("nan"), float("nan"), 0)
    interval = stats.binomtest(hits, n).proportion_ci(LEVEL, method="wilson")
    return Estimate(hits / n, float(interval.low), float(interval.high), n)


def mean(values: Sequence[float]) -> Estimate:
    """A mean with Student's t interval; assumes independent observations."""
    import numpy as np
    from scipy import stats

    n = len(values)
    if n < 2:
        return Estimate(float(values[0]) if n else float("nan"), float("nan"), float("nan"), n)
    middle = float(np.mean(values))
    half = float(stats.t.ppf((1 + LEVEL) / 2, n - 1)) * float(np.std(values, ddof=1)) / n**0.5
    return Estimate(middle, middle - half, middle + half, n)
