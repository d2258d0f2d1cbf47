"""Intervals, comparisons and regressions: laws, then numbers worked out by hand."""

from __future__ import annotations

from math import isnan
from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import false_discovery_control
from scipy.stats import t as student
from statsmodels.stats.multitest import multipletests

import negolab as nl
from negolab.analysis import models, stats

VALUES = st.lists(st.integers(-50, 50).map(float), min_size=2, max_size=12)
CHANCES = st.lists(st.floats(0, 1), min_size=1, max_size=12)

# Laws.


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_an_interval_of_a_share_holds_the_share_and_stays_between_0_and_1(counted: tuple[int, int]) -> None:
    e = stats.wilson_interval(*counted)
    assert -1e-12 <= e.low <= e.value + 1e-12 and e.value - 1e-12 <= e.high <= 1 + 1e-12


@given(st.integers(1, 200).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_the_interval_of_the_other_share_is_the_mirror_image(counted: tuple[int, int]) -> None:
    hits, n = counted
    e, mirrored = stats.wilson_interval(hits, n), stats.wilson_interval(n - hits, n)
    assert (1 - mirrored.high, 1 - mirrored.low) == pytest.approx((e.low, e.high), abs=1e-9)


@given(VALUES)
def test_a_bootstrap_moves_with_its_values_and_is_the_same_for_a_seed(values: list[float]) -> None:
    one, again = (stats.bootstrap_interval(values, method="percentile", resamples=200) for _ in range(2))
    moved = stats.bootstrap_interval([v + 1000 for v in values], method="percentile", resamples=200)
    assert one == again
    assert one.low - 1e-9 <= one.high
    assert moved[:3] == pytest.approx([bound + 1000 for bound in one[:3]])


@given(VALUES)
def test_a_comparison_turned_round_has_the_opposite_difference_and_the_same_p(values: list[float]) -> None:
    one, turned = stats.paired_test(values), stats.paired_test([-v for v in values])
    assert (turned.value, turned.low, turned.high) == pytest.approx((-one.value, -one.high, -one.low))
    assert turned.p == pytest.approx(one.p)
    assert 0 < one.p <= 1


@given(CHANCES)
def test_a_correction_never_lowers_a_p_and_holm_is_the_stricter(p: list[float]) -> None:
    holm, bh = stats.adjust_p_values(p), stats.adjust_p_values(p, "bh")
    for raw, one, two in zip(p, holm, bh, strict=True):
        assert raw - 1e-12 <= two <= one + 1e-12 <= 1 + 1e-9
    assert bh == pytest.approx(list(false_discovery_control(p)))


@given(CHANCES, st.randoms(use_true_random=False))
def test_a_correction_does_not_depend_on_the_order_of_the_tests(p: list[float], rng: Any) -> None:
    order = list(range(len(p)))
    rng.shuffle(order)
    found = stats.adjust_p_values(p)
    assert stats.adjust_p_values([p[i] for i in order]) == pytest.approx([found[i] for i in order])


def sampled(seed: int, n: int = 60, clusters: int = 20) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    deal = np.arange(n) % clusters
    group = rng.choice(["a", "b"], n)
    y = rng.normal(size=n) + rng.normal(size=clusters)[deal] + (group == "b")
    return pd.DataFrame({"y": y, "group": group, "x": rng.normal(size=n), "deal": deal})


@pytest.mark.parametrize("seed", range(5))
def test_errors_of_clusters_of_one_are_the_robust_ones(seed: int) -> None:
    frame = sampled(seed).assign(deal=range(60))
    found = stats.clustered_regression(frame, "y ~ C(group) + x")
    robust = smf.ols("y ~ C(group) + x", frame).fit(cov_type="HC1", use_t=True)
    half = (found.high - found.low) / 2
    assert list(half / student.ppf(0.975, 59)) == pytest.approx(list(robust.bse))
    assert list(found.estimate) == pytest.approx(list(robust.params))


def test_a_deal_played_twice_alike_counts_once() -> None:
    frame = sampled(1, n=40, clusters=40)
    once, twice = (stats.clustered_regression(f, "y ~ C(group)") for f in (frame, pd.concat([frame, frame])))
    assert list(twice.estimate) == pytest.approx(list(once.estimate))
    # Only the correction for few rows, (n - 1) / (n - k), tells the two apart.
    factor = ((79 / 78) / (39 / 38)) ** 0.5
    assert list(twice.high - twice.low) == pytest.approx(list((once.high - once.low) * factor))
    assert (set(once.n), set(twice.n), set(twice.clusters)) == ({40}, {80}, {40})


# Examples.


def test_the_mean_of_a_bootstrap_is_that_of_students_t_for_normal_values() -> None:
    values = list(np.random.default_rng(3).normal(10, 2, size=200))
    boot, t = stats.bootstrap_interval(values), stats.mean_interval(values)
    assert boot.value == pytest.approx(t.value)
    assert (boot.low, boot.high) == pytest.approx((t.low, t.high), abs=0.05)


def test_a_median_has_an_interval_too() -> None:
    e = stats.bootstrap_interval([1, 2, 3, 4, 100], np.median, method="percentile")
    assert (e.value, e.n) == (3, 5) and 1 <= e.low <= 3 <= e.high <= 100


def test_too_few_values_have_no_interval() -> None:
    for e in (
        stats.bootstrap_interval([]),
        stats.bootstrap_interval([1.5]),
        stats.paired_test([]),
        stats.paired_test([1.5]),
    ):
        assert isnan(e.low) and isnan(e.high)
    assert stats.bootstrap_interval([2, 2, 2])[:4] == (2, 2, 2, 3)
    assert isnan(stats.paired_test([1.5]).p)


def test_the_p_of_few_differences_is_counted_out() -> None:
    assert stats.paired_test([1, 2, 3, 4]).p == pytest.approx(2 / 16)
    assert stats.paired_test([1, 2, -3, 4]).p == pytest.approx(10 / 16)  # sums of 4 or more, or -4 or less, of all 16
    assert stats.paired_test([0, 0, 0]).p == 1


def test_the_p_of_many_differences_is_drawn_by_a_seed() -> None:
    values = list(np.random.default_rng(1).normal(0.6, 1, size=40))
    assert stats.paired_test(values) == stats.paired_test(values)
    assert stats.paired_test(values).p < 0.05


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


def test_a_regression_on_a_group_is_the_difference_of_its_means() -> None:
    frame = sampled(2)
    frame.loc[5, "y"] = None
    found = stats.clustered_regression(frame, "y ~ C(group)").set_index("term")
    means = frame.groupby("group").y.mean()
    assert found.estimate["Intercept"] == pytest.approx(means["a"])
    assert found.estimate["C(group)[T.b]"] == pytest.approx(means["b"] - means["a"])
    assert (set(found.n), set(found.clusters)) == ({59}, {20})
    assert (found.low < found.estimate).all() and (found.estimate < found.high).all()


def test_errors_of_one_cluster_are_refused() -> None:
    with pytest.raises(ValueError, match="clustered by deal: there are 1"):
        stats.clustered_regression(sampled(1).assign(deal=0), "y ~ x")


# Players on the same deals.


def rows(*of: tuple[int, str, str, float | None]) -> pd.DataFrame:
    return pd.DataFrame(of, columns=["deal", "seat", "player", "payoff"])


def test_a_difference_is_taken_in_the_same_seat_of_the_same_deal() -> None:
    frame = rows(
        *((1, "A", "x", 10.0), (1, "B", "y", 1.0), (1, "A", "y", 6.0), (1, "B", "x", 3.0)),
        *((2, "A", "x", 8.0), (2, "B", "y", 2.0)),  # never swapped
        *((3, "A", "x", 5.0), (3, "A", "y", 7.0), (3, "B", "x", None), (3, "B", "y", 9.0)),
    )
    found = stats.paired_differences(frame, "x", "y")
    assert found.to_dict() == {1: 3.0, 3: -2.0}  # (10 - 6 + 3 - 1) / 2, and 5 - 7


def test_what_a_seat_is_worth_cancels_out() -> None:
    frame = rows((1, "A", "x", 9.0), (1, "B", "y", 1.0), (1, "A", "y", 9.0), (1, "B", "x", 1.0))
    assert stats.paired_differences(frame, "x", "y").to_dict() == {1: 0.0}


def test_differences_turned_round_are_the_opposite() -> None:
    game = nl.load("bargaining", preset="one-sided")
    frame = models.seat_frame(nl.batch(game, "boulware", "conceder", n=12, seed=1, swap=True))
    one, two = (stats.paired_differences(frame, *pair) for pair in (("boulware", "conceder"), ("conceder", "boulware")))
    assert len(one) == frame.deal.nunique()
    assert list(one) == [-more for more in two]
