"""Frames for comparisons: seats, pairs on the same deals, group estimates, and the preferences experiment."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import preferences
import pytest

import negolab as nl
from negolab.analysis import measures, stats
from negolab.analysis.comparisons import behind_best, comparison_table, contrast, contrasts, format_p
from negolab.analysis.estimates import (
    Measure,
    by_seat,
    estimate_groups,
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


def test_means_of_draws_differ_by_what_a_comparison_says(barter: Path) -> None:
    rows = by_seat(sweep_matches(barter))
    mean = group_means(rows[rows.player != rows.opponent], ["player"], "gain").set_index("player").value
    found = contrasts(rows, "gain", by=())
    assert len(found)
    assert list(found.value) == pytest.approx([mean[pair.one] - mean[pair.two] for pair in found.itertuples()])


def test_a_matrix_has_the_observations_of_both_seats(barter: Path) -> None:
    rows = by_seat(sweep_matches(barter))
    cells = payoffs_by_opponent(rows, "gain", ["fair-split", "chat", "nobody"])
    assert list(cells["fair-split"]) == ["fair-split", "chat"] and cells["nobody"] == {}
    assert [len(sample.values) for sample in cells["fair-split"].values()] == [12, 24]
    assert set(cells["chat"]["fair-split"].values) == {0}
    joint = payoffs_by_opponent(rows, "joint", ["fair-split"])["fair-split"]["fair-split"]
    assert cells["fair-split"]["fair-split"].values == pytest.approx([value / 2 for value in joint.values])


# Comparisons.


def rows_of(*of: tuple[str, int, str, str, float | None]) -> pd.DataFrame:
    frame = pd.DataFrame(of, columns=["player", "draw", "seat", "opponent", "gain"])
    return frame.assign(match=range(len(frame)))


def test_a_contrast_is_the_mean_difference_on_the_draws_of_both() -> None:
    values = [("a", 1, 5.0), ("b", 1, 2.0), ("a", 2, 6.0), ("b", 2, 5.0), ("a", 3, 90.0)]
    found = contrasts(rows_of(*((name, draw, "A", "z", value) for name, draw, value in values)), "gain", by=())
    assert (found.one[0], found.two[0], found.value[0], found.n[0]) == ("a", "b", 2, 2)
    assert found.holm[0] == found.p[0]


def test_what_a_seat_is_worth_cancels_out() -> None:
    values = [(name, draw, seat, "z", 9.0 if seat == "A" else 1.0) for name in "xy" for draw in (1, 2) for seat in "AB"]
    assert contrasts(rows_of(*values), "gain", by=()).value[0] == 0


def test_a_comparison_that_is_not_balanced_is_refused_by_name() -> None:
    both = [(name, draw, "A", who, 1.0) for name in "ab" for draw in (1, 2) for who in ("y", "z")]
    rows = rows_of(*both)
    with pytest.raises(ValueError, match="b has no match with opponent z"):
        contrasts(rows[(rows.player == "a") | (rows.opponent == "y")], "gain", by=())
    settings = rows.assign(setting=["easy", "hard"] * 4)
    with pytest.raises(ValueError, match="a has no match with setting hard"):
        contrasts(settings[(settings.player == "b") | (settings.setting == "easy")], "gain", by=["setting"])
    apart = rows.assign(draw=rows.player + rows.draw.astype(str))
    with pytest.raises(ValueError, match="there is no draw on which a and b both"):
        contrast(apart, "a", "b", "gain")
    assert contrasts(apart, "gain", by=()).n[0] == 0
    with pytest.raises(ValueError, match="a and b never took the same seat: play each match from both seats"):
        contrast(rows.assign(seat=rows.player.map({"a": "A", "b": "B"})), "a", "b", "gain")


def test_opponents_weigh_equally_however_often_they_were_met() -> None:
    often = [("a", draw, "A", "y", 4.0) for draw in (1, 2) for _ in range(5)]
    rows = rows_of(
        *often, *(("a", d, "A", "z", 0.0) for d in (1, 2)), *(("b", d, "A", o, 1.0) for d in (1, 2) for o in "yz")
    )
    assert contrasts(rows, "gain", by=()).value[0] == 1


def test_the_best_is_chosen_by_the_numbers_that_are_tested() -> None:
    values = {"a": [5.0, 6.0, 7.5], "b": [4.0, 4.5, 6.0]}
    rows = rows_of(*((name, d, "A", "z", value) for name, of in values.items() for d, value in enumerate(of)))
    lone = rows_of(("b", 99, "A", "z", 500.0))  # a draw that only one of them has
    found = behind_best(pd.concat([rows, lone.assign(match=99)]), "gain", by=())
    assert (list(found.best), list(found.player)) == (["a"], ["b"]) and found.value[0] == pytest.approx(4 / 3)


def test_comparisons_are_read_with_their_interval_and_two_digits_of_p() -> None:
    found = pd.DataFrame([{"one": "a", "value": 2.0, "low": -1.0, "high": 5.0, "n": 9, "p": 0.01234, "holm": 0.5}])
    assert comparison_table(found, "more").iloc[0].to_dict() == {
        "one": "a",
        "more": "2 [\N{MINUS SIGN}1, 5]",
        "n": 9,
        "p": "0.012",
        "holm": "0.5",
    }


def test_a_p_has_two_digits_and_none_a_dash() -> None:
    assert (format_p(0.00002), format_p(0.0003), format_p(float("nan"))) == ("< 0.0001", "0.0003", "–")


def test_the_best_score_is_named_with_those_that_differ_from_it_by_chance_alone() -> None:
    scores = {"x": [90.0, 80.0] * 10, "y": [80.0, 89.0] * 10, "z": [10.0, 20.0] * 10}
    rows = [
        {"player": name, "draw": draw, "main": value, "mode": "equal", "items": 6}
        for name, values in scores.items()
        for draw, value in enumerate(values)
    ]
    assert preferences.best_scores(pd.DataFrame(rows)) == ["x", "y"]


# Estimates.


def test_means_and_shares_take_matches_on_one_draw_together() -> None:
    draws = [draw for draw in range(12) for _ in "AB"]
    values = [float(draw + more) for draw in range(12) for more in (-2, 2)]
    frame = pd.DataFrame({"match": range(24), "draw": draws, "g": "g", "x": values})
    found = estimate_groups(frame, {"name": "g"}, [Measure("mean", "x"), Measure("share (%)", "x", "share")])
    assert list(found["n"]) == [24, 24] and list(found["draws"]) == [12, 12]
    assert found["low"][0] == pytest.approx(stats.estimate_mean([float(draw) for draw in range(12)]).low)
    table = estimate_table(found, ["name"])
    assert list(table.columns) == ["mean", "share (%)"] and "n = 24 on 12 draws" in table.loc["g", "mean"]


def test_what_is_not_known_is_said_to_be_unknown() -> None:
    assert format_estimate(stats.estimate_mean([])) == "unknown, n = 0"
    assert format_estimate(stats.estimate_mean([2.5])) == "2.5, n = 1"
    assert format_estimate(stats.estimate_mean([-1.0, 1.0]), n=False) == "0 [\N{MINUS SIGN}12.7, 12.7]"


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
