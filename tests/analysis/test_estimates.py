"""Estimates by group, comparisons with exact values, and the bargaining and split experiments that use them."""

from __future__ import annotations

from math import isnan
from pathlib import Path
from typing import Any

import nopress
import numpy as np
import pandas as pd
import pytest
import tactics
import truth

from negolab.analysis import comparisons, estimates, observations, stats
from negolab.analysis.estimates import by_seat
from negolab.sweeps.report import run_trial

EXPERIMENTS = Path(__file__).parents[2] / "notebooks" / "experiments"


# Estimates.


def test_simultaneous_intervals_are_wider_and_one_alone_is_not() -> None:
    values = [1.0, 2.0, 4.0]
    assert stats.bonferroni_level(1) == pytest.approx(stats.LEVEL)
    assert stats.bonferroni_level(10) == pytest.approx(0.995)
    alone, of_ten = (stats.estimate_mean(values, level=stats.bonferroni_level(count)) for count in (1, 10))
    assert of_ten.low < alone.low < alone.value == of_ten.value < alone.high < of_ten.high
    hits = [True] * 3 + [False] * 7
    assert stats.estimate_share(hits, level=0.99).low < stats.estimate_share(hits).low


def test_differences_that_nothing_measures_have_no_interval_and_lead_no_report() -> None:
    def clear(ann: list[float], bob: list[float], *, shared: bool = True) -> tuple[str, bool]:
        rows = [("ann", at, value) for at, value in enumerate(ann)]
        rows += [("bob", at + 100 * (not shared), value) for at, value in enumerate(bob)]
        frame = pd.DataFrame(rows, columns=["who", "draw", "value"])
        (found,) = comparisons.find_effects(frame, {"who": ["ann", "bob"]}, ["value"])
        assert found.difference.status == "interval" or isnan(found.difference.low)
        return observations.sample_text(found.difference).partition(": ")[0], found.is_clear

    assert clear([1, 1], [211], shared=False) == ("n = 3 with 1 draw on a side", False)
    assert clear([1], [211]) == ("n = 2 on 1 draw", False)
    told = "the same in all of them; at most"
    assert clear([0] * 3, [1] * 3) == (f"n = 6 on 3 draws, {told} 63% of draws differ (few)", False)
    assert clear([0] * 12, [1] * 12) == (f"n = 24 on 12 draws, {told} 22% of draws differ", True)
    assert clear([5] * 12, [5] * 12)[1] is False
    assert clear([0, 1, 0, 2], [9, 8, 9, 7])[1] is True


def test_simultaneous_intervals_hold_all_at_once_as_often_as_they_say() -> None:
    rng, hits = np.random.default_rng(5), 0
    for _ in range(300):
        samples = rng.normal(size=(8, 12))
        found = [stats.estimate_mean(list(sample), level=stats.bonferroni_level(8)) for sample in samples]
        hits += all(e.low <= 0 <= e.high for e in found)
    assert stats.estimate_share([k < hits for k in range(300)]).high > 0.95 and hits > 0.9 * 300


def test_a_group_has_its_mean_interval_and_n_and_what_is_missing_does_not_count() -> None:
    frame = pd.DataFrame({"kind": ["x", "x", "x", "y"], "payoff": [1.0, 3.0, None, 5.0]})
    found = estimates.group_means(frame, ["kind"], "payoff")
    assert found.kind.tolist() == ["x", "y"] and found.value.tolist() == [2, 5] and found.n.tolist() == [2, 1]
    assert found.low[0] == pytest.approx(2 - 12.706, abs=0.001) and isnan(found.low[1])


def test_a_lead_is_paired_by_draw_and_seat_and_corrected_for_the_number_of_rows() -> None:
    rows = pd.DataFrame(
        [
            {"kind": kind, "player": player, "seat": "A", "draw": draw, "payoff": draw + bonus * (player == "x")}
            for kind, bonus in (("more", 1.0), ("same", 0.0))
            for player in ("x", "y")
            for draw in range(8)
        ]
    )
    found = comparisons.matched_contrasts(rows, "x", "y", "payoff", ["kind"]).set_index("kind")
    assert found.value.to_dict() == {"more": 1, "same": 0} and set(found.n) == {8}
    assert found.holm["more"] == pytest.approx(2 * found.p["more"]) and found.holm["same"] == 1


def test_a_sentence_about_what_was_not_played_is_left_out_and_that_is_said() -> None:
    found = estimates.group_means(pd.DataFrame({"kind": ["x", "x"], "payoff": [1.0, 1.0]}), ["kind"], "payoff")
    there, gone = estimates.estimate_text(found, kind="x"), estimates.estimate_text(found, kind="y")
    assert there == "1"
    assert estimates.join_paragraphs(("Here.", f"x has {there}.")) == "Here. x has 1."
    left = estimates.join_paragraphs(("Here.", f"x has {there}.", f"y has {gone}."), ("There.", f"y has {gone}."))
    assert left.startswith("Here. x has 1.\n\n*") and "There" not in left and left.count("covers only part of") == 1


# Checks.


def test_an_exact_value_is_met_in_its_interval_missed_outside_and_untested_without_one() -> None:
    frame = pd.DataFrame(
        {
            "kind": ["in", "in", "out", "out", "sure", "sure", "off", "off", "one"],
            "payoff": [0.0, 2.0, 0.0, 0.1, 3.0, 3.0, 3.0, 3.0, 1.0],
        }
    )
    exact = {"in": 1.5, "out": 500.0, "sure": 3 + 1e-12, "off": 3.001, "one": 1.0}
    found = estimates.check_exact(frame, ["kind"], {"payoff": "points"}, lambda kind: {"payoff": exact[kind]})
    assert found.set_index("kind").holds.tolist() == [True, False, True, False, pd.NA]
    said = estimates.verdict(found)
    assert said.startswith("**2 of 4 exact values") and "missed: points" in said and "1 have a single match" in said
    table = estimates.check_table(found, ["kind"]).reset_index("n").points
    assert table["sure"] == "3 (3)" and table["off"] == "3 (3.001) MISSED" and table["one"] == "1 (1)"
    assert estimates.verdict(found[found.kind == "in"]).startswith("**All 1 exact values")


def test_what_is_not_known_exactly_is_not_checked() -> None:
    frame = pd.DataFrame({"kind": ["x", "x", "y", "y"], "payoff": [1.0, 2.0, 3.0, 4.0]})
    found = estimates.check_exact(
        frame, ["kind"], {"payoff": "points"}, lambda kind: {"payoff": 1.0} if kind == "x" else {}
    )
    assert found.kind.tolist() == ["x"]


# Tactics.


def matches(gains: dict[tuple[float, float], tuple[float, float]], draws: int = 3) -> pd.DataFrame:
    """Matches of one setting with the same gains (percent) on every draw, by the betas of seller and buyer."""
    return pd.DataFrame(
        [
            {
                "beta_seller": s,
                "beta_buyer": b,
                "zopa": 50,
                "deadline": 4,
                "discount": 1.0,
                "draw": draw,
                "share": 100 * own / (own + theirs),
                "gain_seller": own,
                "gain_buyer": theirs,
                "efficiency": own + theirs,
                "last": 100.0 * (draw == 0),
            }
            for (s, b), (own, theirs) in gains.items()
            for draw in range(draws)
        ]
    )


DILEMMA = {(0.2, 0.2): (20.0, 20.0), (0.2, 5.0): (80.0, 10.0), (5.0, 0.2): (10.0, 80.0), (5.0, 5.0): (45.0, 45.0)}


def test_waiting_is_a_dilemma_where_it_is_the_best_reply_and_worse_for_both() -> None:
    [row] = tactics.dilemmas(matches(DILEMMA)).itertuples()
    assert row.best == "0.2/0.2" and row.stable and row.dilemma and row.better == "neither"
    one_sided = {**DILEMMA, (0.2, 0.2): (70.0, 20.0)}
    [row] = tactics.dilemmas(matches(one_sided)).itertuples()
    assert row.stable and not row.dilemma and row.better == "seller"


def test_the_two_ends_are_estimated_over_the_draws() -> None:
    found = tactics.alike(matches(DILEMMA))
    assert set(found.when) == {"late", "early"} and set(found.n) == {3}
    late = found[found.when == "late"].set_index("measure").value
    assert late["seller's gain (%)"] == 20 and late[tactics.EFFICIENCY] == 40


def test_ties_are_best_replies_too() -> None:
    alike = dict.fromkeys(DILEMMA, (30.0, 30.0))
    assert tactics.mutual_best_replies(matches(alike)) == [(0.2, 0.2), (0.2, 5.0), (5.0, 0.2), (5.0, 5.0)]


def test_holding_out_is_compared_on_the_same_draws_over_all_opponents() -> None:
    found = tactics.holding_out(matches(DILEMMA)).set_index("side")
    assert found.value.to_dict() == {"seller": (20 + 80 - 10 - 45) / 2, "buyer": (20 + 80 - 10 - 45) / 2}
    assert set(found.n) == {3}


def test_prices_are_measured_from_both_points_of_theory() -> None:
    found = tactics.against_theory(matches({(1.0, 1.0): (30.0, 10.0)})).set_index("measure").value
    # Without discounting the last offer takes all: the equilibrium's price is the cost.
    assert tactics.spe_share(4, 1.0) == 0
    assert found[tactics.SHARE] == pytest.approx(75)
    assert found["price above the equilibrium's ($)"] == pytest.approx(0.75 * 50)
    assert found["price above the Nash point's ($)"] == pytest.approx(0.25 * 50)
    assert found["efficiency (%)"] == pytest.approx(40)
    assert found[tactics.LAST] == pytest.approx(100 / 3)


def test_the_share_at_the_equilibrium_depends_on_deadline_and_discount_alone() -> None:
    # (1 - d**4) / (1 + d) for four rounds that the seller opens.
    assert tactics.spe_share(4, 0.9) == pytest.approx(100 * (1 - 0.9**4) / 1.9)
    assert tactics.spe_share(3, 1.0) == 100


# The studies, as a trial plays them.


@pytest.fixture(scope="module")
def played() -> dict[str, Path]:
    return {name: run_trial(EXPERIMENTS / name / "plan.toml") for name in ("tactics", "truth", "nopress")}


@pytest.mark.long
def test_the_study_of_tactics_pairs_its_deals_and_measures_them_as_the_game_does(played: dict[str, Path]) -> None:
    from negolab.analysis.estimates import sweep_matches as games

    frame, whole = tactics.outcomes(played["tactics"]), games(played["tactics"])
    assert frame.groupby(["beta_seller", "beta_buyer", *tactics.SETTING]).draw.agg(tuple).nunique() == 1
    assert frame.share.tolist() == pytest.approx((100 * whole.surplus_share_a).tolist())
    assert frame.efficiency.tolist() == pytest.approx((100 * whole.efficiency).tolist())
    assert (frame["last"] > 0).tolist() == whole.last_round_deal.astype(bool).tolist()
    above = (frame.share - 50) * frame.zopa / 100
    assert above.tolist() == pytest.approx((whole.price_less_nash / 100).tolist(), abs=0.006)
    spe = [tactics.spe_share(row.deadline, row.discount) for row in frame.itertuples()]
    assert ((frame.share - spe) * frame.zopa / 100).tolist() == pytest.approx(
        (whole.price_less_spe / 100).tolist(), abs=0.006
    )


@pytest.mark.long
def test_a_match_without_a_deal_counts_as_no_gain(played: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    whole = tactics.tables.matches(played["tactics"])
    whole.loc[0, "end"] = "REJECTED"
    monkeypatch.setattr(tactics.tables, "matches", lambda _: whole)
    found = tactics.outcomes(played["tactics"])
    assert len(found) == len(whole) and found.agreed.tolist() == [False, *[True] * (len(whole) - 1)]
    assert found.loc[0, ["gain_seller", "gain_buyer", "efficiency"]].tolist() == [0, 0, 0]
    assert isnan(found.loc[0, "share"]) and isnan(found.loc[0, "last"])


def test_a_tactic_is_without_effect_where_it_changes_no_price() -> None:
    gains = {(s, b): (40.0 + s, 60.0 - s) for s in (0.2, 5.0) for b in (0.2, 5.0)}
    assert tactics.without_effect(matches(gains), "buyer") == [(50, 4)]
    assert tactics.without_effect(matches(gains), "seller") == []


@pytest.mark.long
def test_the_study_of_truth_meets_what_is_known_exactly(played: dict[str, Path]) -> None:
    frame = truth.outcomes(played["truth"])
    alike = frame[frame.a == frame.b]
    known = estimates.check_exact(alike, ["variant", "a"], truth.MEASURES, truth.with_its_like, others=truth.CHANCES)
    dealt = truth.checked_draws(truth.draws(played["truth"]), others=len(known))
    assert len(known) == 16 and len(dealt) == truth.CHANCES
    assert known.holds.all() and dealt.holds.all()
    assert list(dict.fromkeys(frame.variant)) == ["trust-and-split", "classic"]
    figure = truth.kinds(frame, known, "liar")
    assert list(dict.fromkeys(figure.name)) == ["truthful with its like", "liar with its like", "liar with truthful"]
    assert figure.groupby("name").exact.count().to_dict() == {
        "truthful with its like": 4,
        "liar with its like": 4,
        "liar with truthful": 0,
    }
    rows = by_seat(frame)
    honest = rows[rows.player == "truthful"].truth.astype(float)
    assert (honest == 1).all()


@pytest.mark.long
def test_the_study_without_talk_meets_what_is_known_exactly(played: dict[str, Path]) -> None:
    frame = nopress.outcomes(played["nopress"])
    by = ["roles", "a", "b", "param_rounds"]
    found = estimates.check_exact(frame, by, nopress.MEASURES, nopress.without_a_word)
    assert len(found) == 4 * len(frame.drop_duplicates(by)) and found.holds.all()


def test_a_player_that_is_not_known_exactly_has_no_exact_value() -> None:
    known: dict[str, Any] = truth.with_its_like("classic", "random")
    assert known == {} == truth.with_its_like("no-press", "greedy")
