"""Intervals, paired comparisons and regressions, at the 95 % level unless another is given.

Games on the same deal are correlated, and so are those of one participant: `cluster_mean` and `cluster_share` take
them together. Below `FEW_DEALS` deals, an interval is about these deals alone.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    import pandas as pd

LEVEL = 0.95
FEW_DEALS = 10
"""With fewer deals, nothing is said about other deals than those played."""
NAN = float("nan")


class Estimate(NamedTuple):
    """A value with its interval and what it rests on; bounds are NaN where n is too small.

    Attributes:
        value: The estimate.
        low: Lower bound of its interval.
        high: Upper bound.
        n: Number of observations.
        deals: Number of deals that they were made on; None where observations are no games.
    """

    value: float
    low: float
    high: float
    n: int
    deals: int | None = None


def bonferroni_level(count: int) -> float:
    """Return the Bonferroni-adjusted level for `count` simultaneous 95 % intervals (Dunn 1961).

    Holds for any dependence between the intervals.
    """
    return 1 - (1 - LEVEL) / max(count, 1)


def wilson_interval(hits: float, n: float, level: float = LEVEL) -> Estimate:
    """Return the proportion of `hits` in `n` independent trials with its Wilson score interval (Wilson 1927).

    Args:
        hits: Number of successes.
        n: Number of trials; an effective number need not be whole.
        level: Confidence level, from 0 to 1.
    """
    from scipy.special import ndtri

    if not n:
        return Estimate(NAN, NAN, NAN, 0)
    share, z2 = hits / n, float(ndtri((1 + level) / 2)) ** 2
    centre, half = share + z2 / (2 * n), (z2 * (share * (1 - share) / n + z2 / (4 * n * n))) ** 0.5
    low, high = ((centre + side * half) / (1 + z2 / n) for side in (-1, 1))
    # At 0 and 1 the bounds are these, but for rounding.
    return Estimate(share, 0.0 if hits == 0 else low, 1.0 if hits == n else high, round(n))


def mean_interval(values: Sequence[float], level: float = LEVEL) -> Estimate:
    """Return the mean with Student's t interval; assumes independent observations, NaN bounds for fewer than two."""
    import numpy as np
    from scipy.special import stdtrit

    n = len(values)
    if n < 2:
        return Estimate(float(values[0]) if n else NAN, NAN, NAN, n)
    middle = float(np.mean(values))
    half = float(stdtrit(n - 1, (1 + level) / 2)) * float(np.std(values, ddof=1)) / n**0.5
    return Estimate(middle, middle - half, middle + half, n)


# Clusters.

Labels = Sequence[Hashable]
"""The cluster of each observation."""


def cluster_mean(values: Sequence[float], deals: Labels, *others: Labels, level: float = LEVEL) -> Estimate:
    """Return the mean of games with an interval that takes games of one deal together.

    Student's t with clusters - 1 degrees of freedom and the cluster-robust variance with its small-sample factor
    G / (G - 1) (Liang and Zeger 1986), by two clusters as in Cameron, Gelbach and Miller (2011), with the smaller
    number of clusters. With fewer than `FEW_DEALS` deals the games count as independent: the interval is then about
    these deals alone.

    Args:
        values: One value per game.
        deals: The deal of each game.
        others: A second clustering, such as the participant of each game.
        level: Confidence level, from 0 to 1.

    Returns:
        The estimate; `n` counts games, `deals` their deals.
    """
    from scipy.special import stdtrit

    count = len(set(deals))
    if not (labels := _clusterings(deals, others)) or len(values) < 2:
        return mean_interval(values, level)._replace(deals=count)
    variance, groups = _cluster_variance(values, labels)
    middle = sum(values) / len(values)
    half = float(stdtrit(groups - 1, (1 + level) / 2)) * variance**0.5 if groups > 1 else NAN
    return Estimate(middle, middle - half, middle + half, len(values), count)


def cluster_share(hits: Sequence[bool], deals: Labels, *others: Labels, level: float = LEVEL) -> Estimate:
    """Return the share of games that are hits, with an interval that takes games of one deal together.

    Wilson's interval with the effective number of games n* = p (1 - p) / v, where v is the variance of `cluster_mean`,
    at most the number of games, times (z / t)**2 for the number of clusters (Korn and Graubard 1998; with Wilson's
    interval as in Franco, Little, Louis and Slud 2019). Where all games are alike, v says nothing, and n* is the number
    of clusters. Fewer than `FEW_DEALS` deals are treated as there.

    Args:
        hits: One flag per game.
        deals: The deal of each game.
        others: A second clustering, such as the participant of each game.
        level: Confidence level, from 0 to 1.

    Returns:
        The estimate, from 0 to 1; `n` counts games, `deals` their deals.
    """
    from scipy.special import ndtri, stdtrit

    n, count, found = len(hits), len(set(deals)), sum(map(bool, hits))
    labels = _clusterings(deals, others)
    if not labels or not n:
        return wilson_interval(found, n, level)._replace(deals=count)
    variance, groups = _cluster_variance([float(hit) for hit in hits], labels)
    if groups < 2:
        return Estimate(found / n, NAN, NAN, n, count)
    if groups == n and len(labels) == 1:
        return wilson_interval(found, n, level)._replace(deals=count)
    share, tail = found / n, (1 + level) / 2
    effective = min(n, share * (1 - share) / variance) if variance else groups
    effective *= float(ndtri(tail) / stdtrit(groups - 1, tail)) ** 2
    return wilson_interval(share * effective, effective, level)._replace(value=share, n=n, deals=count)


def _clusterings(deals: Labels, others: Sequence[Labels]) -> list[Labels]:
    """Return the clusterings that count: few deals are no sample of deals."""
    return [*([deals] if len(set(deals)) >= FEW_DEALS else []), *others]


def _cluster_variance(values: Sequence[float], labels: Sequence[Labels]) -> tuple[float, int]:
    """Return the cluster-robust variance of a mean by one or two clusterings, and the smaller number of clusters."""
    import numpy as np

    numbers = np.asarray(values, float)
    rest = numbers - numbers.mean()

    def one_way(codes: Any) -> tuple[float, int]:
        sums = np.bincount(codes, rest)
        groups = len(sums)
        return float(sums @ sums) * groups / max(groups - 1, 1) / len(rest) ** 2, groups

    codes = [_codes(each) for each in labels]
    ways = [one_way(each) for each in codes]
    variance = max(each for each, _ in ways)
    if len(ways) == 2:
        both, _ = one_way(_codes(list(zip(*codes, strict=True))))
        # The sum can fall below either part by chance.
        variance = max(variance, sum(each for each, _ in ways) - both)
    return variance, min(groups for _, groups in ways)


def _codes(labels: Labels) -> list[int]:
    """Number the labels by first appearance."""
    numbers: dict[Hashable, int] = {}
    return [numbers.setdefault(label, len(numbers)) for label in labels]


Statistic = Callable[..., Any]
"""A function of an array along `axis`, such as `numpy.mean` or `numpy.median`."""


def bootstrap_interval(
    values: Sequence[float],
    statistic: Statistic | None = None,
    *,
    method: Literal["BCa", "percentile"] = "BCa",
    resamples: int = 9999,
    seed: int = 0,
) -> Estimate:
    """Return a statistic with its bootstrap interval (Efron and Tibshirani 1993), reproducible by `seed`.

    Assumes independent observations from one distribution of any shape. Below about ten observations the interval is
    too short. Identical values give an interval of width zero.

    Args:
        values: The observations.
        statistic: A function of an array along `axis`; default: the mean.
        method: `BCa` corrects for bias and skewness of smooth statistics; use `percentile` for medians and the like.
        resamples: Number of bootstrap samples.
        seed: Seed of the resampling.

    Returns:
        The estimate; NaN bounds for fewer than two observations.
    """
    import numpy as np
    from scipy import stats

    of = np.mean if statistic is None else statistic
    n = len(values)
    if not n:
        return Estimate(NAN, NAN, NAN, 0)
    data = np.asarray(values, float)
    value = float(of(data, axis=0))
    if n < 2:
        return Estimate(value, NAN, NAN, n)
    if (data == data[0]).all():
        return Estimate(value, value, value, n)
    options: dict[str, Any] = {"n_resamples": resamples, "confidence_level": LEVEL, "method": method}
    interval = stats.bootstrap((data,), of, rng=np.random.default_rng(seed), **options).confidence_interval
    return Estimate(value, float(interval.low), float(interval.high), n)


# Two players on the same deals.


class PairedDifference(NamedTuple):
    """A mean difference with its interval, the number of differences, and the p value of no difference."""

    value: float
    low: float
    high: float
    n: int
    p: float


def paired_differences(
    frame: pd.DataFrame, one: str, two: str, column: str = "payoff", on: Literal["deal", "draw"] = "deal"
) -> pd.Series[float]:
    """Return, per deal, by how much `one` exceeds `two` in `column` in the same seat of the same deal.

    Comparing within seat and deal cancels what these are worth. The two players may have met each other with seats
    swapped, or the same other opponents; opponents count by their games, so keep only the rows of those that both met.

    Args:
        frame: A row per match and seat with `deal`, `seat` and `player`, such as `models.seat_frame` returns.
        one: The first player.
        two: The player whose values are subtracted.
        column: The column to compare.
        on: `draw` pairs treatments, whose deals differ in parameters, on the same chance.

    Returns:
        A difference per deal (or draw) that both played, the mean over the seats that both took; indexed by it.
    """
    known = frame.dropna(subset=[column]).astype({column: float})
    own, base = (known[known.player == name].groupby([on, "seat"])[column].mean() for name in (one, two))
    more = (own - base).dropna()
    return more.groupby(on).mean()


def paired_test(differences: Sequence[float], *, resamples: int = 9999, seed: int = 0) -> PairedDifference:
    """Test whether the mean of `differences` is zero, by a permutation test of signs (Fisher 1935).

    The p value is two-sided, exact up to 13 differences and from seeded random sign flips beyond; with n differences it
    cannot be below 2 / 2**n. It assumes only that, without an effect, each difference is as likely with the other sign.
    The interval is Student's t and assumes independent deals and an approximately normal mean, so that with few deals
    the two may disagree.

    Args:
        differences: One difference per deal.
        resamples: Number of random sign flips.
        seed: Seed of the sign flips.

    Returns:
        Mean, interval, n and p; NaN bounds and p for fewer than two differences.
    """
    import numpy as np
    from scipy import stats

    value, low, high, n, _ = mean_interval(differences)
    if n < 2:
        return PairedDifference(value, low, high, n, NAN)
    test = stats.permutation_test(
        (np.asarray(differences, float),),
        np.mean,
        permutation_type="samples",
        n_resamples=resamples,
        rng=np.random.default_rng(seed),
    )
    return PairedDifference(value, low, high, n, float(test.pvalue))


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
    from scipy.stats import false_discovery_control

    if method not in ("holm", "bh"):
        raise ValueError(f"method must be holm or bh, not {method!r}")
    tested = [i for i, value in enumerate(p) if value == value]
    raw = [p[i] for i in tested]
    adjusted = _holm(raw) if method == "holm" or not raw else [float(value) for value in false_discovery_control(raw)]
    found = [NAN] * len(p)
    for i, value in zip(tested, adjusted, strict=True):
        found[i] = value
    return found


def _holm(p: Sequence[float]) -> list[float]:
    """Multiply the smallest p by the number of tests, the next by one less, and so on; none falls below one before."""
    adjusted, largest = [0.0] * len(p), 0.0
    for rank, i in enumerate(sorted(range(len(p)), key=lambda i: p[i])):
        largest = max(largest, min(1.0, (len(p) - rank) * p[i]))
        adjusted[i] = largest
    return adjusted


# Regression.


def clustered_regression(frame: pd.DataFrame, formula: str, cluster: str = "deal") -> pd.DataFrame:
    """Fit least squares with standard errors clustered by deal.

    Assumes that the outcome is linear in the terms and that clusters are independent; errors within a cluster may
    depend on each other in any way (Liang and Zeger 1986). Intervals and p values are Student's t with clusters - 1
    degrees of freedom; below about 30 clusters they are too small.

    Args:
        frame: A row per observation; rows that lack a value are left out.
        formula: A formula as in R over columns of the frame, such as `"payoff ~ C(player) + C(seat)"`.
        cluster: The column that names the cluster.

    Returns:
        A row per term: `term`, `estimate`, `low`, `high`, `p`, `n` observations and `clusters`.

    Raises:
        ValueError: Fewer than two clusters.
    """
    import pandas as pd
    import statsmodels.formula.api as smf

    rows = frame.dropna(subset=[cluster]).reset_index(drop=True)
    model = smf.ols(formula, rows)
    groups = pd.factorize(rows.loc[model.data.row_labels, cluster])[0]
    clusters = len(set(groups))
    if clusters < 2:
        raise ValueError(f"errors cannot be clustered by {cluster}: there are {clusters} of them, and it takes two")
    fit = model.fit(cov_type="cluster", cov_kwds={"groups": groups}, use_t=True)
    interval = fit.conf_int(1 - LEVEL)
    return pd.DataFrame(
        {
            "term": list(fit.params.index),
            "estimate": fit.params.to_numpy(),
            "low": interval[0].to_numpy(),
            "high": interval[1].to_numpy(),
            "p": fit.pvalues.to_numpy(),
            "n": int(fit.nobs),
            "clusters": clusters,
        }
    )
