"""Intervals for the numbers that are shown, comparisons and regressions. All are at the 95 % level
unless another is given.

Games on one deal are alike, so what counts as one observation is a deal, not a game.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    import pandas as pd

LEVEL = 0.95


class Estimate(NamedTuple):
    """A value with its interval and the number of observations behind it; NaN bounds where n is too small."""

    value: float
    low: float
    high: float
    n: int


def simultaneous(count: int) -> float:
    """The level for each of `count` intervals that are to hold all at once at the 95 % level (Bonferroni; Dunn 1961),
    whatever they have to do with each other."""
    return 1 - (1 - LEVEL) / max(count, 1)


def share(hits: int, n: int, level: float = LEVEL) -> Estimate:
    """A proportion with its Wilson score interval (Wilson 1927); `hits` of `n` independent trials."""
    from scipy import stats  # half a second to import

    if not n:
        return Estimate(float("nan"), float("nan"), float("nan"), 0)
    interval = stats.binomtest(hits, n).proportion_ci(level, method="wilson")
    return Estimate(hits / n, float(interval.low), float(interval.high), n)


def mean(values: Sequence[float], level: float = LEVEL) -> Estimate:
    """A mean with Student's t interval; assumes independent observations."""
    import numpy as np
    from scipy import stats

    n = len(values)
    if n < 2:
        return Estimate(float(values[0]) if n else float("nan"), float("nan"), float("nan"), n)
    middle = float(np.mean(values))
    half = float(stats.t.ppf((1 + level) / 2, n - 1)) * float(np.std(values, ddof=1)) / n**0.5
    return Estimate(middle, middle - half, middle + half, n)


Statistic = Callable[..., Any]
"""Of an array of values, along `axis`: `numpy.mean`, `numpy.median`, ..."""


def bootstrap(
    values: Sequence[float],
    statistic: Statistic | None = None,
    *,
    method: Literal["BCa", "percentile"] = "BCa",
    resamples: int = 9999,
    seed: int = 0,
) -> Estimate:
    """A statistic (default: the mean) with its bootstrap interval (Efron and Tibshirani 1993), the same for one seed.

    Assumes independent observations from one distribution of any shape, and enough of them to stand for it: below ten
    or so the interval is too short. `BCa` corrects for bias and skewness, for smooth statistics; `percentile` is for
    medians and the like. Values that are all alike give an interval of no width.
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


class Paired(NamedTuple):
    """A mean difference with its interval, the number of differences, and the p of no difference at all."""

    value: float
    low: float
    high: float
    n: int
    p: float


def differences(frame: pd.DataFrame, one: str, two: str, column: str = "payoff") -> pd.Series[float]:
    """Per deal, how much more `one` has in `column` than `two` in the same seat of the same deal, the mean over the
    seats that both took; by deal, without deals that only one of them played.

    `frame` has a row per match and seat with `deal`, `seat` and `player`, such as `models.seats` gives. Both may have
    played each other with seats swapped, or others that are the same for both; keep only rows of the opponents that
    count. What a seat and a deal are worth cancels out.
    """
    known = frame.dropna(subset=[column]).astype({column: float})
    own, base = (known[known.player == name].groupby(["deal", "seat"])[column].mean() for name in (one, two))
    more = (own - base).dropna()
    return more.groupby("deal").mean()


def paired(differences: Sequence[float], *, resamples: int = 9999, seed: int = 0) -> Paired:
    """The mean of differences, one per deal, with Student's t interval and the two-sided p of a permutation test of
    signs (Fisher 1935): exact up to 13 differences, from seeded random signs beyond.

    The interval assumes independent deals and a mean that is about normal. The p assumes only that each deal's
    difference would be as likely with the other sign if there were none between the two. NaN for fewer than two.
    """
    import numpy as np
    from scipy import stats

    estimate = mean(differences)
    if estimate.n < 2:
        return Paired(*estimate, float("nan"))
    test = stats.permutation_test(
        (np.asarray(differences, float),),
        np.mean,
        permutation_type="samples",
        n_resamples=resamples,
        rng=np.random.default_rng(seed),
    )
    return Paired(*estimate, float(test.pvalue))


def corrected(p: Sequence[float], method: Literal["holm", "bh"] = "holm") -> list[float]:
    """The p of several tests, corrected for their number, in the same order. NaN (no test) stays NaN and counts not.

    `holm` (Holm 1979) keeps the chance of any false finding below the level, whatever the tests have to do with each
    other. `bh` (Benjamini and Hochberg 1995) keeps the expected share of false findings below it, for tests that are
    independent or positively dependent.
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


def regression(frame: pd.DataFrame, formula: str, cluster: str = "deal") -> pd.DataFrame:
    """Least squares with errors clustered by deal: a row per term with `term, estimate, low, high, p, n, clusters`.

    `formula` is R's, over columns of the frame: `"payoff ~ C(player) + C(seat)"`. Rows that lack a value are left out.
    Assumes that the outcome is linear in the terms and that clusters are independent; within one, errors may depend on
    each other in any way (Liang and Zeger 1986). Intervals and p are Student's t with clusters - 1 degrees of freedom;
    they are too small for few clusters (below 30 or so), and `ValueError` for fewer than two.
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
