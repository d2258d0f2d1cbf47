"""Frames for comparisons: seats, pairs on the same deals, group estimates, and the preferences experiment."""

from __future__ import annotations

from math import isnan
from pathlib import Path

import pandas as pd
import preferences
import pytest

import negolab as nl
from negolab.analysis import measures, stats
from negolab.analysis.comparisons import comparison_table, contrasts, format_p, format_p_values
from negolab.analysis.estimates import (
    Measure,
    by_seat,
    estimate_groups,
    estimate_measure,
    estimate_table,
    format_estimate,
    group_means,
    payoffs_by_opponent,
    sweep_matches,
)
from negolab.games.balloon import measures as match_measures
from negolab.sweeps import status
from negolab.sweeps.plan import SweepPlan
from negolab.theory.frontier import knapsack


def write_sweep(folder: Path, plan: SweepPlan, name: str, **fixed: object) -> Path:
    """Write the folder of a sweep whose cells play `name` between the players of their parameters."""
    for cell in plan.cells():
        place = folder / "cells" / cell.id
        place.mkdir(parents=True)
        params = {key: cell.params[key] for key in ("mode", "items") if key in cell.params}
        a, b = cell.params["player"], cell.params.get("opponent", cell.params["player"])
        records = nl.batch(nl.load(name, **params, **fixed), a, b, n=6, seed=cell.seed)
        (place / "records.jsonl").write_bytes(b"".join(record.to_line() for record in records))
        status.write_status(place, cell.status("done", 1, 0.0, 1.0, worker="test"))
    return folder


@pytest.fixture(scope="module")
def barter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    names = ["fair-split", "chat"]
    plan = SweepPlan(notebook="barter.ipynb", grid={"player": names, "opponent": names}, repeats=2)
    return write_sweep(tmp_path_factory.mktemp("barter"), plan, "trading")


@pytest.fixture(scope="module")
def modes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    names = ["conceder", "linear", "stubborn"]
    grid: dict[str, list[object]] = {"mode": ["equal", "inverse"], "items": [6, 8], "player": [*names]}
    return write_sweep(tmp_path_factory.mktemp("modes"), SweepPlan(notebook="preferences.ipynb", grid=grid), "balloon")


# Seats.


def test_each_match_has_a_row_per_seat_with_its_own_numbers(barter: Path) -> None:
    frame = sweep_matches(barter)
    rows = by_seat(frame)
    assert len(frame) == 48 and len(rows) == 96
    assert not rows.columns.duplicated().any()
    one = rows[(rows["match"] == frame["match"][0]) & (rows["seat"] == "B")].iloc[0]
    first = frame.iloc[0]
    assert (one["player"], one["opponent"], one["gain"]) == (first["player_b"], first["player_a"], first["gain_b"])
    assert one["joint"] == first["joint"]


def test_all_cells_of_a_repeat_play_the_same_deals(barter: Path) -> None:
    frame = sweep_matches(barter)
    assert frame["deal"].nunique() == 12
    assert (frame.groupby("deal")["possible"].nunique() == 1).all()


def test_means_of_deals_differ_by_what_a_comparison_says(barter: Path) -> None:
    rows = by_seat(sweep_matches(barter))
    by_deal = rows.groupby(["player", "deal"], as_index=False)[["gain"]].mean()
    mean = group_means(by_deal, ["player"], "gain").set_index("player").value
    found = contrasts(rows, "gain", by=())
    assert len(found)
    assert list(found.value) == pytest.approx([mean[pair.one] - mean[pair.two] for pair in found.itertuples()])


def test_a_matrix_has_a_value_per_deal_and_counts_both_seats(barter: Path) -> None:
    rows = by_seat(sweep_matches(barter))
    cells = payoffs_by_opponent(rows, "gain", ["fair-split", "chat", "nobody"])
    assert list(cells["fair-split"]) == ["fair-split", "chat"] and cells["nobody"] == {}
    assert [len(values) for values in cells["fair-split"].values()] == [12, 12]
    assert cells["chat"]["fair-split"] == [0] * 12
    joint = payoffs_by_opponent(rows, "joint", ["fair-split"])["fair-split"]["fair-split"]
    assert cells["fair-split"]["fair-split"] == pytest.approx([value / 2 for value in joint])


# Comparisons.


def test_a_contrast_is_the_mean_difference_on_the_deals_of_both() -> None:
    values = [("a", 1, 5.0), ("b", 1, 2.0), ("a", 2, 6.0), ("b", 2, 5.0), ("a", 3, 90.0), ("c", 3, 1.0)]
    rows = pd.DataFrame(values, columns=["player", "deal", "gain"]).assign(seat="A")
    found = contrasts(rows, "gain", ["a", "b", "c"], by=()).set_index(["one", "two"])
    assert (found.loc[("a", "b"), "value"], found.loc[("a", "b"), "n"]) == (2, 2)
    assert found.loc[("a", "c"), "n"] == 1 and isnan(found.loc[("b", "c"), "value"])
    assert found.loc[("a", "b"), "holm"] == found.loc[("a", "b"), "p"], "the others were no tests"


def test_a_player_that_misses_a_setting_is_not_compared_over_all() -> None:
    values = [("a", "easy", 1, 90.0), ("b", "easy", 2, 90.0), ("b", "hard", 3, 40.0)]
    rows = pd.DataFrame(values, columns=["player", "setting", "deal", "gain"]).assign(seat="A")
    with pytest.raises(ValueError, match="a did not play setting hard"):
        contrasts(rows, "gain", by=["setting"])
    assert len(contrasts(rows[rows.setting == "easy"], "gain", by=["setting"])) == 1


def test_comparisons_are_read_with_their_interval_and_two_digits_of_p() -> None:
    found = pd.DataFrame([{"one": "a", "value": 2.0, "low": -1.0, "high": 5.0, "n": 9, "p": 0.01234, "holm": 0.5}])
    assert comparison_table(found, "more").iloc[0].to_dict() == {
        "one": "a",
        "more": "2 [\N{MINUS SIGN}1, 5]",
        "n": 9,
        "p": "0.012",
        "holm": "0.5",
    }


def test_a_p_at_the_floor_of_random_signs_is_told_as_a_bound_and_a_fixed_difference_has_none() -> None:
    assert (format_p(0.0002), format_p(0.0003), format_p(float("nan"))) == ("≤ 0.0002", "0.0003", "–")
    assert format_p(0.002, tests=10) == "≤ 0.002"
    found = pd.DataFrame({"low": [1.0, 2.5], "high": [3.0, 2.5], "p": [0.0002, 0.0002], "holm": [0.0004, 0.0004]})
    assert format_p_values(found) == ["≤ 0.0004", "–"] and format_p_values(found, "p") == ["≤ 0.0002", "–"]


def test_the_best_score_is_named_with_those_that_differ_from_it_by_chance_alone() -> None:
    scores = {"x": [90.0, 80.0] * 10, "y": [80.0, 89.0] * 10, "z": [10.0, 20.0] * 10}
    rows = [
        {"player": name, "deal": deal, "main": value, "mode": "equal", "items": 6}
        for name, values in scores.items()
        for deal, value in enumerate(values)
    ]
    assert preferences.best_scores(pd.DataFrame(rows)) == ["x", "y"]


# Estimates.


def test_means_and_shares_take_games_of_one_deal_together() -> None:
    deals = [deal for deal in range(12) for _ in "AB"]
    values = [float(deal + game) for deal in range(12) for game in (-2, 2)]
    frame = pd.DataFrame({"match": range(24), "deal": deals, "g": "g", "x": values})
    found = estimate_groups(frame, {"name": "g"}, [Measure("mean", "x"), Measure("share (%)", "x", "share")])
    assert list(found["n"]) == [24, 24] and list(found["deals"]) == [12, 12]
    assert found["low"][0] == pytest.approx(stats.mean_interval([float(deal) for deal in range(12)]).low)
    table = estimate_table(found, ["name"])
    assert list(table.columns) == ["mean", "share (%)"] and table.loc["g", "mean"].endswith("n = 24 on 12 deals")


def test_a_bootstrap_interval_stays_within_what_there_is() -> None:
    frame = pd.DataFrame({"match": range(20), "deal": range(20), "x": [0.0] * 19 + [1.0]})
    found = estimate_measure(frame, Measure("", "x", "bootstrap"))
    assert 0 <= found.low < found.value == 0.05 < found.high <= 1
    assert estimate_measure(frame, Measure("", "x")).low < 0


def test_what_is_not_known_is_said_to_be_unknown() -> None:
    assert format_estimate(stats.mean_interval([])) == "unknown, n = 0"
    assert format_estimate(stats.mean_interval([2.5])) == "2.5, n = 1"
    assert format_estimate(stats.mean_interval([-1.0, 1.0]), n=False) == "0 [\N{MINUS SIGN}12.7, 12.7]"


# Preferences.


def test_matches_come_by_preferences_items_and_the_score_of_their_player(modes: Path) -> None:
    frame = preferences.played(modes)
    assert list(dict.fromkeys(frame["mode"])) == ["equal", "inverse"]
    assert list(dict.fromkeys(frame["row"])) == ["6 items", "8 items"]
    means = frame.groupby("player")["main"].mean().sort_values(ascending=False)
    assert list(dict.fromkeys(frame["player"])) == list(means.index)
    equal = frame[frame["mode"] == "equal"]
    assert (equal["main"] == 100).all() and (equal["norm_distance"] == 0).all()
    assert preferences.possible(frame)["equal preferences"] == pytest.approx(100)


def test_a_mean_frontier_falls_from_the_best_of_b_to_the_best_of_a(modes: Path) -> None:
    found = preferences.frontiers(modes)
    assert len(found.groupby(["row", "column"])) == 4
    for (_, column), line in found.groupby(["row", "column"], sort=False):
        assert line["b"].iloc[0] == 100 and line["a"].iloc[-1] == 100 and line["b"].is_monotonic_decreasing
        assert (line["b"].iloc[-2] == 100) == (column == "equal preferences")


def test_players_who_seldom_agree_are_not_in_the_plane(modes: Path) -> None:
    frame = preferences.played(modes)
    share = frame.groupby(["column", "row", "player"])["agreed"].mean()
    assert len(preferences.plane(frame)) == (share >= 0.5).sum() < len(share)


def test_scores_are_compared_on_the_same_deals(modes: Path) -> None:
    frame = preferences.played(modes)
    lost = preferences.by_mode(frame).set_index("player")
    means = frame.groupby(["player", "mode"])["main"].mean()
    assert lost.loc["linear", "value"] == pytest.approx(means["linear", "inverse"] - means["linear", "equal"])
    (row,) = preferences.by_pace(frame[frame["mode"] == "inverse"]).itertuples()
    assert (row.one, row.two) == ("linear", "conceder") and row.messages > 0
    assert preferences.by_pace(frame[frame["player"] == "stubborn"]).empty


# Balloon.


def test_reach_is_the_most_that_b_can_have() -> None:
    record = nl.batch(nl.load("balloon", items=8), "linear", "linear", n=1, seed=4)[0]
    state = nl.record.start_state(record)
    a, b = (state.private[seat].importance for seat in ("A", "B"))
    frontier = knapsack(state.public.terms.effort, a, b, state.public.terms.limit)
    (found,) = match_measures.frontier_in_percent(record, [50.0]) or ()
    points = [100 * y / frontier.max_b for x, y in frontier.points if 2 * x >= frontier.max_a]
    assert found == max(points)


def test_a_deal_is_at_distance_0_exactly_if_it_is_pareto() -> None:
    records = nl.batch(nl.load("balloon", items=10), "conceder", "linear", n=20, seed=2)
    seen = set()
    for record in records:
        own = match_measures.measures(record)
        assert own["pareto"] == (own["norm_distance"] == 0)
        seen.add(own["pareto"])
        state, points = nl.record.final_state(record), measures.concession(record)
        most = {seat: own[f"norm_{seat.lower()}"] / 100 for seat in ("A", "B")}
        if points["A"] is not None and most["A"]:
            top = measures.gains(record)["A"] / most["A"]
            assert own["norm_concession_a"] == pytest.approx(100 * points["A"] / top), state
    assert seen == {True, False}
