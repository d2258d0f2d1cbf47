"""Intervals, paired comparisons and regressions, at the 95 % level unless another is given.

Games on the same deal are correlated, so an observation is a deal, not a game.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    import pandas as pd

LEVEL = 0.95


class Estimate(NamedTuple):
    """A value with its interval and the number of observations; bounds are NaN where n is too small."""

    value: float
    low: float
    high: float
    n: int


def bonferroni_level(count: int) -> float:
    """Return the Bonferroni-adjusted level for `count` simultaneous 95 % intervals (Dunn 1961).

    Holds for any dependence between the intervals.
    """
    return 1 - (1 - LEVEL) / max(count, 1)


def wilson_interval(hits: int, n: int, level: float = LEVEL) -> Estimate:
    """Return the proportion of `hits` in `n` independent trials with its Wilson score interval (Wilson 1927)."""
    from scipy import stats  # half a second to import

    if not n:
        return Estimate(float("nan"), float("nan"), float("nan"), 0)
    interval = stats.binomtest(hits, n).proportion_ci(level, method="wilson")
    return Estimate(hits / n, float(interval.low), float(interval.high), n)


def mean_interval(values: Sequence[float], level: float = LEVEL) -> Estimate:
    """Return the mean with Student's t interval; assumes independent observations, NaN bounds for fewer than two."""
    import numpy as np
    from scipy import stats

    n = len(values)
    if n < 2:
        return Estimate(float(values[0]) if n else float("nan"), float("nan"), float("nan"), n)
    middle = float(np.mean(values))
    half = float(stats.t.ppf((1 + level) / 2, n - 1)) * float(np.std(values, ddof=1)) / n**0.5
    return Estimate(middle, middle - half, middle + half, n)


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
        return Estimate(float("nan"), float("nan"), float("nan"), 0)
    data = np.asarray(values, float)
    value = float(of(data, axis=0))
    if n < 2:
        return Estimate(value, float("nan"), float("nan"), n)
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


def paired_differences(frame: pd.DataFrame, one: str, two: str, column: str = "payoff") -> pd.Series[float]:
    """Return, per deal, by how much `one` exceeds `two` in `column` in the same seat of the same deal.

    Comparing within seat and deal cancels what these are worth. The two players may have met each other with seats
    swapped, or the same other opponents; keep only the rows of the opponents that should count.

    Args:
        frame: A row per match and seat with `deal`, `seat` and `player`, such as `models.seat_frame` returns.
        one: The first player.
        two: The player whose values are subtracted.
        column: The column to compare.

    Returns:
        A difference per deal that both played, the mean over the seats that both took; indexed by deal.
    """
    known = frame.dropna(subset=[column]).astype({column: float})
    own, base = (known[known.player == name].groupby(["deal", "seat"])[column].mean() for name in (one, two))
    more = (own - base).dropna()
    return more.groupby("deal").mean()


def paired_test(differences: Sequence[float], *, resamples: int = 9999, seed: int = 0) -> PairedDifference:
    """Test whether the mean of `differences` is zero, by a permutation test of signs (Fisher 1935).

    The p value is two-sided, exact up to 13 differences and from seeded random sign flips beyond. It assumes only that,
    without an effect, each difference is as likely with the other sign. The interval is Student's t and assumes
    independent deals and an approximately normal mean.

    Args:
        differences: One difference per deal.
        resamples: Number of random sign flips.
        seed: Seed of the sign flips.

    Returns:
        Mean, interval, n and p; NaN bounds and p for fewer than two differences.
    """
    import numpy as np
    from scipy import stats

    estimate = mean_interval(differences)
    if estimate.n < 2:
        return PairedDifference(*estimate, float("nan"))
    test = stats.permutation_test(
        (np.asarray(differences, float),),
        np.mean,
        permutation_type="samples",
        n_resamples=resamples,
        rng=np.random.default_rng(seed),
    )
    return PairedDifference(*estimate, float(test.pvalue))


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
    from statsmodels.stats.multitest import multipletests

    names = {"holm": "holm", "bh": "fdr_bh"}
    if method not in names:
        raise ValueError(f"method must be holm or bh, not {method!r}")
    tested = [i for i, value in enumerate(p) if value == value]
    found = [float("nan")] * len(p)
    if tested:
        for i, value in zip(tested, multipletests([p[i] for i in tested], method=names[method])[1], strict=True):
            found[i] = float(value)
    return found


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
