"""Means, shares, contrasts and slopes with 95% intervals, in which one independent observation is a draw of chance.

Matches on the same draw depend on each other, and so do those of people who met. An estimate is therefore based on
clusters: its `Groups` are the draws, the groups of people, or both.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from numpy.typing import NDArray

LEVEL = 0.95
FEW_DRAWS = 10
"""With fewer draws than this, a note appears beside an interval."""
NAN = float("nan")
UNBOUNDED = float("-inf"), float("inf")
_SAME = 1e-9
"""Standard error, relative to the largest value, below which values count as the same."""

Status = Literal["none", "exact", "one", "constant", "interval"]
"""State of knowledge: nothing; everything, because nothing was drawn; one draw; the same value in all draws; an
interval."""


class Estimate(NamedTuple):
    """A value with its interval and what it is based on; unknown values are NaN.

    Attributes:
        value: The estimate.
        low: Lower bound of its interval.
        high: Upper bound.
        n: Number of matches; for a contrast, number of draws.
        draws: Number of draws; 0 if nothing was drawn, None if observations are not matches.
        status: What is known about it.
        groups: Number of independent clusters (of draws, or of people who met).
        half: Half the interval's width, before it is cut at the bounds of the outcome.
        skewed: True if the values are too skewed for this interval with so few draws.
        effective: Number of independent matches that would be equally informative.
        p: For a contrast, the p value for no difference.
        left_out: For a contrast, the number of draws on which one of the sides did not play everything.
    """

    value: float
    low: float
    high: float
    n: int
    draws: int | None = None
    status: Status = "interval"
    groups: int = 0
    half: float = NAN
    skewed: bool = False
    effective: float = NAN
    p: float = NAN
    left_out: int = 0

    @property
    def few(self) -> bool:
        """True if there are too few clusters to trust the interval's level."""
        return 0 < self.groups < FEW_DRAWS

    @property
    def differ(self) -> float:
        """If all draws gave the same value, the upper bound on the share of draws that differ (Hanley and Lippman-Hand
        1983)."""
        return float(1 - (1 - LEVEL) ** (1 / self.groups))


def unknown(n: int = 0, value: float = NAN, draws: int | None = None, status: Status = "none") -> Estimate:
    """Return an estimate without an interval."""
    return Estimate(value, NAN, NAN, n, draws, status, draws or 0)


def bonferroni_level(count: int) -> float:
    """Return the Bonferroni-adjusted level for `count` simultaneous 95% intervals (Dunn 1961).

    It holds for any dependence between the intervals.
    """
    return 1 - (1 - LEVEL) / max(count, 1)


# Clusters.

Labels = Sequence[Hashable]
"""The cluster of each observation."""


class Groups:
    """The independent clusters of observations, by draws, by people who met, or by both (two-way).

    Args:
        draws: The draw of each observation; None if each is independent.
        people: The people in each observation, if people played; those who met, directly or through others, are one
            group. If each draw belongs to one group, or each group to one draw, only the larger of the two counts.
    """

    def __init__(self, n: int, draws: Labels | None, people: Sequence[Sequence[Hashable]] | None = None) -> None:
        own = number(range(n) if draws is None else draws)
        self.draws = None if draws is None else len(set(own))
        self._ways = [own]
        if people is not None:
            met = number(_who_met(people))
            both = number(list(zip(own, met, strict=True)))
            if len(set(both)) == len(set(own)):
                self._ways = [met]
            elif len(set(both)) > len(set(met)):
                self._ways = [own, met, both]
        self.codes = min(self._ways[:2], key=lambda codes: len(set(codes)))
        self.count = len(set(self.codes))

    def variance(self, rest: NDArray[Any], parameters: int = 1) -> float:
        """Return the cluster-robust variance of a sum of n residuals or scores, divided by n squared.

        It uses the factor G / (G - 1) of Liang and Zeger (1986) and, for two-way clusters, the method of Cameron,
        Gelbach and Miller (2011), in which the sum can fall below either part by chance. With `parameters` beyond a
        mean, it is multiplied by (n - 1) / (n - k).
        """
        n = len(rest)
        ways = [_one_way(rest, codes) for codes in self._ways]
        found = max(ways[0], ways[1], ways[0] + ways[1] - ways[2]) if len(ways) > 1 else ways[0]
        return found / n**2 * (n - 1) / max(n - parameters, 1)

    def sums(self, rest: NDArray[Any]) -> NDArray[Any]:
        """Return the sum of each cluster."""
        import numpy as np

        return np.bincount(self.codes, rest)


def number(labels: Labels) -> list[int]:
    """Number the labels by first appearance."""
    numbers: dict[Hashable, int] = {}
    return [numbers.setdefault(label, len(numbers)) for label in labels]


def _one_way(rest: NDArray[Any], codes: list[int]) -> float:
    import numpy as np

    sums = np.bincount(codes, rest)
    return float(sums @ sums) * len(sums) / max(len(sums) - 1, 1)


def _who_met(people: Sequence[Sequence[Hashable]]) -> list[Hashable]:
    """Return, for each observation, the first of all people who met, directly or through others."""
    first: dict[Hashable, Hashable] = {}

    def find(one: Hashable) -> Hashable:
        while (before := first.setdefault(one, one)) != one:
            first[one] = one = first.setdefault(before, before)
        return one

    for met in people:
        for one in met[1:]:
            first[find(one)] = find(met[0])
    return [find(met[0]) if met else (None, i) for i, met in enumerate(people)]


# Estimates.


def estimate_mean(
    values: Sequence[float],
    groups: Groups | None = None,
    *,
    bounds: tuple[float, float] = UNBOUNDED,
    level: float = LEVEL,
) -> Estimate:
    """Return the mean of matches with Student's t interval, with clusters - 1 degrees of freedom.

    It is `skewed` if Cochran's rule requires more clusters: more than 25 times the squared skewness of their sums
    (Cochran 1977, Sampling Techniques, 2.15). The absence of a warning proves nothing, because a sample may have missed
    the tail.

    Args:
        values: One value per match.
        groups: Their clusters; None if each is independent.
        bounds: Bounds of the outcome, at which the interval is cut.
        level: Confidence level, from 0 to 1.
    """
    import numpy as np

    n = len(values)
    groups = Groups(n, None) if groups is None else groups
    if not n:
        return unknown(draws=groups.draws)
    numbers = np.asarray(values, float)
    middle = float(numbers.mean())
    if groups.count < 2:
        return unknown(n, middle, groups.draws, "one")._replace(groups=groups.count)
    rest = numbers - middle
    error = groups.variance(rest) ** 0.5
    if error <= _SAME * float(np.abs(numbers).max()):
        return Estimate(middle, NAN, NAN, n, groups.draws, "constant", groups.count)
    half = t_quantile(groups.count - 1, level) * error
    effective = float(rest @ rest) / (n - 1) / error**2
    low, high = max(middle - half, bounds[0]), min(middle + half, bounds[1])
    skewed = _is_skewed(groups.sums(rest))
    return Estimate(middle, low, high, n, groups.draws, "interval", groups.count, half, skewed, effective)


def _is_skewed(sums: NDArray[Any]) -> bool:
    count = len(sums)
    if count < FEW_DRAWS:
        return False
    second, third = float((sums**2).mean()), float((sums**3).mean())
    g1 = (count * (count - 1)) ** 0.5 / (count - 2) * third / second**1.5 if second else 0.0
    return abs(g1) > 1 and count < 25 * g1**2


def estimate_share(hits: Sequence[bool], groups: Groups | None = None, *, level: float = LEVEL) -> Estimate:
    """Return the share of matches that are hits, from 0 to 1, with the interval of Clopper and Pearson (1934).

    It uses the effective number of matches p (1 - p) / v, corrected for the clusters' degrees of freedom, but at most n
    (Korn and Graubard 1998). If all matches are alike, v says nothing, and the number of clusters is used.

    Args:
        hits: One flag per match.
        groups: Their clusters; None if each is independent.
        level: Confidence level, from 0 to 1.
    """
    import numpy as np
    from scipy.special import betaincinv, stdtrit

    n = len(hits)
    groups = Groups(n, None) if groups is None else groups
    if not n:
        return unknown(draws=groups.draws)
    flags = np.asarray(hits, float)
    share, tail = float(flags.mean()), (1 + level) / 2
    if groups.count < 2:
        return unknown(n, share, groups.draws, "one")._replace(groups=groups.count)
    effective = float(n)
    if share in (0, 1):
        effective = float(groups.count)
    elif groups.count < n and (v := groups.variance(flags - share)):
        effective = min(n, share * (1 - share) / v * float(stdtrit(n - 1, tail) / stdtrit(groups.count - 1, tail)) ** 2)
    hit, missed = effective * share, effective * (1 - share)
    low = float(betaincinv(hit, missed + 1, 1 - tail)) if hit else 0.0
    high = float(betaincinv(hit + 1, missed, tail)) if missed else 1.0
    return Estimate(share, low, high, n, groups.draws, "interval", groups.count, effective=effective)


def estimate_difference(differences: Sequence[float], *, left_out: int = 0) -> Estimate:
    """Return the mean of one difference per draw, with Student's t interval and the p value for no difference.

    p is below 0.05 if and only if the interval excludes 0. A constant difference has the p of a sign test, 2**(1 - n).

    Args:
        differences: One difference per draw.
        left_out: Number of draws not included.
    """
    from scipy.special import stdtr

    found = estimate_mean(differences, Groups(len(differences), range(len(differences))))
    p = NAN
    if found.status == "constant":
        p = 2.0 ** (1 - found.n) if found.value else 1.0
    elif found.status == "interval":
        error = found.half / t_quantile(found.n - 1)
        p = 2 * float(stdtr(found.n - 1, -abs(found.value) / error))
    return found._replace(p=p, left_out=left_out)


def t_quantile(df: int, level: float = LEVEL) -> float:
    """Return the quantile of Student's t to which an interval of this level extends on either side."""
    from scipy.special import stdtrit

    return float(stdtrit(df, (1 + level) / 2))


def estimate_slope(
    values: Sequence[float], x: Sequence[float], strata: Labels, draws: Labels, *, level: float = LEVEL
) -> Estimate:
    """Return the least-squares slope of values on `x`, with an intercept for each stratum and clusters of draws.

    Args:
        values: One value per observation.
        x: The variable that they may depend on.
        strata: What is held fixed, such as the player and seat of each observation.
        draws: The draw of each observation.
        level: Confidence level, from 0 to 1.

    Raises:
        ValueError: `x` does not vary within any stratum.
    """
    import numpy as np

    codes, groups, n = number(strata), Groups(len(values), draws), len(values)
    inside = np.bincount(codes)[codes] if n else np.zeros(0)
    around, up = (
        np.asarray(of, float) - np.bincount(codes, np.asarray(of, float))[codes] / inside if n else inside
        for of in (x, values)
    )
    spread = float(around @ around)
    if spread <= _SAME**2 * float(np.square(np.asarray(x, float)).sum()):
        raise ValueError("the slope is undefined: x does not vary within any player and seat")
    slope = float(around @ up) / spread
    if groups.count < 2:
        return unknown(n, slope, groups.draws, "one")
    scores = around * (up - slope * around)
    half = t_quantile(groups.count - 1, level) * groups.variance(scores, 1 + len(set(codes))) ** 0.5 * n / spread
    return Estimate(slope, slope - half, slope + half, n, groups.draws, "interval", groups.count, half)


# Multiple tests.


def adjust_p_values(p: Sequence[float], method: Literal["holm", "bh"] = "holm") -> list[float]:
    """Return the p values of several tests, corrected for their number, in the same order.

    Args:
        p: The p values; NaN (no test) stays NaN and is not counted.
        method: `holm` (Holm 1979) bounds the probability of any false finding, for any dependence between tests. `bh`
            (Benjamini and Hochberg 1995) bounds the expected share of false findings, for tests that are independent or
            positively dependent.

    Raises:
        ValueError: Unknown method.
    """
    import numpy as np

    if method not in ("holm", "bh"):
        raise ValueError(f"method must be holm or bh, not {method!r}")
    found = np.array([*p], float)
    order = np.argsort(found)[: np.count_nonzero(~np.isnan(found))]  # NaN comes last
    ranked, ranks = found[order], np.arange(1, len(order) + 1)
    # Not with statsmodels, which runs the garbage collector each time; that takes a second if much is loaded.
    if method == "holm":
        corrected = np.maximum.accumulate(ranked * ranks[::-1])
    else:
        corrected = np.minimum.accumulate((ranked * len(order) / ranks)[::-1])[::-1]
    found[order] = np.minimum(corrected, 1)
    return [float(each) for each in found]
