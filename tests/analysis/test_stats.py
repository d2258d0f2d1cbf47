"""Means, shares, contrasts, slopes and corrections: laws, then numbers worked out another way."""

from __future__ import annotations

from math import isnan
from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, false_discovery_control, ttest_1samp
from scipy.stats import t as student
from statsmodels.stats.multitest import multipletests

from negolab.analysis import stats
from negolab.analysis.stats import Groups, estimate_difference, estimate_mean, estimate_share, estimate_slope

VALUES = st.lists(st.integers(-50, 50).map(float), min_size=2, max_size=12)
CHANCES = st.lists(st.floats(0, 1), min_size=1, max_size=12)
COUNTED = st.integers(2, 200).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


def share(hits: int, n: int, draws: list[int] | None = None) -> stats.Estimate:
    return estimate_share([k < hits for k in range(n)], Groups(n, draws))


def clustered(seed: int) -> tuple[list[float], list[int], list[int]]:
    rng = np.random.default_rng(seed)
    draws, people = rng.integers(0, 25, 120), rng.integers(0, 30, 120)
    values = rng.normal(size=25)[draws] + rng.normal(size=30)[people] + rng.normal(size=120)
    return [float(v) for v in values], [int(d) for d in draws], [int(p) for p in people]


# Laws.


@given(COUNTED)
def test_the_interval_of_a_share_holds_it_and_mirrors_that_of_the_other_share(counted: tuple[int, int]) -> None:
    hits, n = counted
    e, mirrored = share(hits, n), share(n - hits, n)
    assert 0 <= e.low <= e.value <= e.high <= 1
    assert (1 - mirrored.high, 1 - mirrored.low) == pytest.approx((e.low, e.high), abs=1e-9)


@given(VALUES, st.integers(1, 4))
def test_matches_that_repeat_their_draw_add_nothing(values: list[float], times: int) -> None:
    n = len(values)
    once, more = (estimate_mean(values * k, Groups(n * k, [*range(n)] * k)) for k in (1, times))
    assert more[:3] == pytest.approx(once[:3], nan_ok=True)
    assert (more.n, more.draws, more.status) == (times * n, n, once.status)


@given(VALUES)
def test_a_comparison_turned_round_has_the_opposite_difference_and_the_same_p(values: list[float]) -> None:
    one, turned = estimate_difference(values), estimate_difference([-v for v in values])
    assert (turned.value, turned.low, turned.high) == pytest.approx((-one.value, -one.high, -one.low), nan_ok=True)
    assert turned.p == pytest.approx(one.p) and 0 < one.p <= 1


@given(VALUES)
def test_p_is_below_five_percent_exactly_where_the_interval_excludes_0(values: list[float]) -> None:
    e = estimate_difference(values)
    if e.status == "interval":
        assert (e.p < 0.05) == (e.low > 0 or e.high < 0)


@given(CHANCES, st.randoms(use_true_random=False))
def test_a_correction_never_lowers_a_p_and_knows_no_order(p: list[float], rng: Any) -> None:
    holm, bh = stats.adjust_p_values(p), stats.adjust_p_values(p, "bh")
    for raw, one, two in zip(p, holm, bh, strict=True):
        assert raw - 1e-12 <= two <= one + 1e-12 <= 1 + 1e-9
    assert bh == pytest.approx(list(false_discovery_control(p)))
    order = list(range(len(p)))
    rng.shuffle(order)
    assert stats.adjust_p_values([p[i] for i in order]) == pytest.approx([holm[i] for i in order])


# Against other implementations.


@pytest.mark.parametrize(("hits", "n"), [(0, 7), (3, 10), (10, 10), (41, 200)])
def test_a_share_of_independent_matches_is_that_of_the_binomial_test(hits: int, n: int) -> None:
    interval = binomtest(hits, n).proportion_ci(method="exact")
    assert share(hits, n)[:3] == pytest.approx((hits / n, interval.low, interval.high))


@pytest.mark.parametrize("seed", range(3))
def test_the_variance_of_a_mean_is_that_of_a_regression_on_nothing(seed: int) -> None:
    values, draws, people = clustered(seed)
    one = sm.OLS(values, np.ones(120)).fit(cov_type="cluster", cov_kwds={"groups": draws}, use_t=True)
    e = estimate_mean(values, Groups(120, draws))
    assert (e.low, e.high) == pytest.approx(tuple(one.conf_int()[0]))
    both = np.column_stack([draws, people])
    two = sm.OLS(values, np.ones(120)).fit(cov_type="cluster", cov_kwds={"groups": both}, use_t=True)
    assert estimate_mean(values, Groups(120, draws, [[p] for p in people])).half == pytest.approx(
        float(two.bse[0]) * abs(float(student.ppf(0.975, 24))), rel=0.02
    )


@pytest.mark.parametrize("seed", range(3))
def test_a_slope_is_that_of_a_regression_with_an_intercept_for_each_stratum(seed: int) -> None:
    y, draws, strata = clustered(seed)
    x = [value + of for value, of in zip(clustered(seed + 9)[0], strata, strict=True)]
    data = pd.DataFrame({"y": y, "x": x, "s": [f"s{of % 4}" for of in strata]})
    fit = smf.ols("y ~ x + C(s)", data).fit(cov_type="cluster", cov_kwds={"groups": draws}, use_t=True)
    e = estimate_slope(y, x, list(data["s"]), draws)
    assert (e.value, e.low, e.high) == pytest.approx((fit.params["x"], *fit.conf_int().loc["x"]))


def test_a_contrast_has_the_p_of_a_paired_t_test() -> None:
    values = [float(value) for value in np.random.default_rng(1).normal(0.6, 1, size=40)]
    assert estimate_difference(values).p == pytest.approx(float(ttest_1samp(values, 0).pvalue))


# Examples.


def test_people_who_met_through_others_are_one_group() -> None:
    met = [["ann", "ben"], ["cem", "dora"], ["ben", "cem"], ["eve", "finn"]]
    assert Groups(4, [1, 1, 2, 2], met).count == 2
    alone = estimate_mean([1.0, 2.0, 3.0, 5.0], Groups(4, [1, 2, 3, 4], [*met[:3], ["dora", "ann"]]))
    assert (alone.status, alone.draws, alone.groups) == ("one", 4, 1) and isnan(alone.low)


def test_what_never_differs_is_no_interval_but_a_bound_on_how_often_it_may() -> None:
    e = estimate_mean([45.0] * 14, Groups(14, range(14)))
    assert e.status == "constant" and isnan(e.low) and e.differ == pytest.approx(1 - 0.05 ** (1 / 14))
    assert estimate_difference([3.0] * 12).p == 2**-11 and estimate_difference([0.0] * 12).p == 1


def test_too_few_values_have_no_interval() -> None:
    assert (estimate_mean([]).status, estimate_mean([1.5], Groups(1, [1])).status) == ("none", "one")
    assert isnan(estimate_difference([1.5]).p) and isnan(estimate_mean([1.5]).low)


def test_values_too_skewed_for_so_few_draws_are_called_so() -> None:
    assert estimate_mean([0.0] * 19 + [51.6], Groups(20, range(20))).skewed
    assert not estimate_mean([float(k % 2) for k in range(20)], Groups(20, range(20))).skewed


def test_an_interval_is_cut_at_the_bounds_of_its_outcome() -> None:
    e = estimate_mean([0.99, 0.98, 0.6, 1.0, 0.97], Groups(5, range(5)), bounds=(0, 1))
    assert e.high == 1 < e.value + e.half and e.few


def test_a_slope_without_variation_is_refused() -> None:
    with pytest.raises(ValueError, match="x does not vary"):
        estimate_slope([1.0, 2.0, 3.0, 4.0], [5.0, 5.0, 7.0, 7.0], ["a", "a", "b", "b"], [1, 2, 1, 2])


def test_holm_and_benjamini_hochberg_by_hand() -> None:
    p = [0.01, 0.04, float("nan"), 0.03]
    assert stats.adjust_p_values(p)[:2] == pytest.approx([0.03, 0.06])
    assert stats.adjust_p_values(p)[3] == pytest.approx(0.06)
    assert isnan(stats.adjust_p_values(p)[2])
    assert stats.adjust_p_values([0.01, 0.04, 0.03], "bh") == pytest.approx([0.03, 0.04, 0.04])
    assert stats.adjust_p_values([]) == []
    many = [float(value) for value in np.random.default_rng(2).random(30) ** 3]
    assert stats.adjust_p_values(many) == pytest.approx(list(multipletests(many, method="holm")[1]))
    with pytest.raises(ValueError, match="holm or bh"):
        stats.adjust_p_values([0.1], "none")  # type: ignore[arg-type]
