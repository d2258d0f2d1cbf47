"""A sweep's results: from matches to figures, the figures, and downloads."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import ipywidgets as w
import msgspec
import pandas as pd
import pytest
from negolab_widgets import Replay, SweepResults, charts
from negolab_widgets.page import SWEEP
from negolab_widgets.results import download, drawing
from negolab_widgets.results.choices import BOXES, HEAT, LINES, VIOLINS, FigureChoice
from negolab_widgets.results.data import SweepFrame, SweepReader
from negolab_widgets.results.drawing import Drawing
from negolab_widgets.results.matches import Group
from negolab_widgets.results.panels import XAxis, legend_height, padded_range
from negolab_widgets.results.results import open_results_page
from negolab_widgets.results.variables import (
    MAX_OUTCOMES,
    Factor,
    Quantity,
    factors,
    make_factor,
    outcomes,
    summary,
    values,
    without_values,
)

from negolab.analysis import stats, tables
from negolab.analysis.estimates import by_seat
from negolab.analysis.match_frames import read_sweep
from negolab.analysis.observations import SEAT_COLUMNS
from negolab.events import Replied
from negolab.record import final_state
from negolab.sweeps import status
from negolab.sweeps.folder import SweepFolder, read_folder_plan
from negolab.sweeps.plan import SweepCell
from tests.support.command import negolab
from tests.support.sweeps import finish_cells, finished_sweep
from tests.support.tables import below, press, words_of
from tests.widgets.test_charts import FRAMED as HOSTILE
from tests.widgets.test_charts import strings

SCORE = Quantity("score", "score", "measure", "points")
AGREED = Quantity("agreed", "agreed", "result", "%", 0.01, yes_no=True)
VIEWS = (LINES, HEAT, BOXES, VIOLINS)


def played(**columns: Any) -> pd.DataFrame:
    """A frame of matches with these columns, each on a draw of its own by default."""
    n = len(next(iter(columns.values())))
    about = {
        "match": [f"m{i}" for i in range(n)],
        "cell": "c",
        "game": "bargaining",
        "deal": "d",
        "draw": [f"d{i}" for i in range(n)],
        "deterministic": False,
        "chance": True,
        "player_a": "x",
        "player_b": "y",
    }
    return pd.DataFrame({**about, **columns})


def summed(frame: pd.DataFrame, *by: str, outcome: Quantity = SCORE) -> pd.DataFrame:
    made = [make_factor(frame, name) for name in by]
    return summary(values(frame, outcome, made), outcome, made)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> SweepFolder:
    """A finished sweep of 24 cells with three matches each."""
    return finished_sweep(tmp_path_factory.mktemp("sweep"))


@pytest.fixture(scope="module")
def whole(run: SweepFolder) -> SweepFrame:
    return read(run).frame()


def read(run: SweepFolder) -> SweepReader:
    found = SweepReader(run.path)
    for cell in found.unread_cells():
        found.read_cell(cell)
    return found


# Groups as numbers.


def test_a_group_has_the_mean_of_its_matches_with_the_interval_of_stats() -> None:
    (row,) = summed(played(score=[1.0, 2.0, 6.0])).to_dict("records")
    expected = stats.estimate_mean([1.0, 2.0, 6.0])
    assert (row["mean"], row["low"], row["high"]) == (expected.value, expected.low, expected.high)
    assert (row["n"], row["draws"], row["median"]) == (3, 3, 2.0)


def test_matches_on_one_draw_are_taken_together() -> None:
    scores, draws = [float(at // 2) for at in range(24)], [f"d{at // 2}" for at in range(24)]
    (row,) = summed(played(score=scores, draw=draws)).to_dict("records")
    expected = stats.estimate_mean([float(at) for at in range(12)])
    assert (row["low"], row["high"]) == pytest.approx((expected.low, expected.high))
    assert (row["n"], row["draws"]) == (24, 12)
    assert row["basis"] == "n = 24 on 12 draws (as good as 11 independent)"


def test_copies_of_a_game_count_once_and_what_is_known_exactly_has_no_interval() -> None:
    frame = played(score=[1.0, 1.0, 3.0], draw=["d", "d", "e"], deterministic=True)
    (row,) = summed(frame).to_dict("records")
    assert (row["mean"], row["n"], row["draws"]) == (2, 2, 2) and row["low"] < 0
    (row,) = summed(frame.assign(deal=["d", "d", "e"], chance=False)).to_dict("records")
    assert (row["mean"], row["n"], row["draws"]) == (2, 2, 0) and pd.isna(row["low"])


def test_copies_are_left_out_of_the_matches_behind_a_mark_and_counted() -> None:
    frame = played(score=[1.0, 1.0, 3.0], draw=["d", "d", "e"], deterministic=True, match=["1", "2", "3"])
    group = drawing.draw_choice(frame, frame, FigureChoice(SCORE, HEAT, None, None, None), 800, group=Group({}))
    assert "3 matches. 1 is a copy (the same draw, players without chance) and excluded." in group.said
    assert group.numbers is not None and list(group.numbers["match"]) == ["1", "3"]
    assert "2 of 2 matches" in group.table
    boxes = drawing.draw_choice(frame, frame, FigureChoice(SCORE, BOXES, None, None, None), 800)
    assert boxes.figure is not None and "n = 2 matches in all" in str(boxes.figure.layout)


def test_means_without_moves_of_rules_stand_beside_those_of_all_matches() -> None:
    frame = played(score=[1.0, 2.0, 6.0], fallbacks_a=[0, 0, 2], fallbacks_b=[0, 0, 0])
    drawn = drawing.draw_choice(frame, frame, FigureChoice(SCORE, LINES, None, None, None), 800)
    assert drawn.numbers is not None
    (row,) = drawn.numbers.to_dict("records")
    assert (row["mean"], row["n"], row["mean_no_fallback"], row["n_no_fallback"]) == (3.0, 3, 1.5, 2)
    assert "In 1 of these 3 matches a rule made moves" in drawn.said and "mean, no fallback" in drawn.table
    clean = drawing.draw_choice(frame, frame[:2], FigureChoice(SCORE, LINES, None, None, None), 800)
    assert "fallback" not in clean.said + clean.table


def test_yes_or_no_is_a_share_in_percent_with_its_interval() -> None:
    frame = played(agreed=pd.array([True, True, False, None], dtype="boolean"))
    (row,) = summed(frame, outcome=AGREED).to_dict("records")
    expected = stats.estimate_share([True, True, False])
    assert row["n"] == 3 and row["mean"] == pytest.approx(100 * 2 / 3)
    assert (row["low"], row["high"]) == pytest.approx((100 * expected.low, 100 * expected.high))


def test_a_share_over_draws_that_were_played_twice_stays_between_nothing_and_all() -> None:
    frame = played(agreed=[True, True, True, False] * 6, draw=[f"d{at // 2}" for at in range(24)])
    (row,) = summed(frame, outcome=AGREED).to_dict("records")
    assert row["mean"] == 75 and 0 < row["low"] < 75 < row["high"] < 100 and row["draws"] == 12


def test_groups_come_in_the_order_of_their_values_and_only_those_that_are_there() -> None:
    frame = played(score=[1.0, 2.0, 3.0, 4.0], beta=[10, 2, 2, 10], how=["b", "a", "b", "b"])
    found = summed(frame, "beta", "how")
    assert found[["by beta", "by how", "mean"]].to_numpy().tolist() == [[0, 0, 2], [0, 1, 3], [1, 1, 2.5]]


def test_parameters_may_be_called_like_columns_of_a_summary() -> None:
    frame = played(score=[1.0, 2.0], n=[5, 6], mean=["x", "y"], value=[1, 1], deal=[3, 4])
    made = [make_factor(frame, name) for name in ("n", "mean", "value", "deal")]
    found = drawing.as_table(summary(values(frame, SCORE, made), SCORE, made), made)
    assert list(found["n (parameter)"]) == ["5", "6"] and list(found["n"]) == [1, 1]
    assert list(found["mean (parameter)"]) == ["x", "y"] and list(found["mean"]) == [1, 2]


# What tells matches apart, and which are in.


def test_numbers_stand_by_size_and_texts_as_the_plan_has_them() -> None:
    frame = played(beta=[10.0, 0.2, 2.0], how=["mild", "hard", "soft"], mixed=[1, "auto", None])
    assert make_factor(frame, "beta")[2:] == (("0.2", "2", "10"), (0.2, 2, 10))
    assert make_factor(frame, "how", ["soft", "hard"])[2:] == (("soft", "hard", "mild"), None)
    assert set(make_factor(frame, "mixed").texts) == {"1", "auto", "none"}


def test_close_numbers_stay_apart_and_true_is_yes() -> None:
    frame = played(x=[0.12345678, 0.12345679], y=[True, False])
    assert len(make_factor(frame, "x").texts) == 2
    assert make_factor(frame, "y").texts == ("no", "yes")


def test_only_columns_of_several_values_are_factors(whole: SweepFrame) -> None:
    orders = {"how": ["linear", "boulware"]}
    found = factors(whole, orders)
    assert {one.column for one in found} >= {
        "beta",
        "param_rounds",
        "how",
        "player_a",
        "player_b",
        "repeat",
        *SEAT_COLUMNS,
    }
    assert found[0].column == "how" and found[0].texts == ("linear", "boulware")
    assert not {"game", "preset"} & {one.column for one in found}, "all are of one game and preset"


def test_what_is_left_out_is_left_out_by_its_text() -> None:
    frame = played(beta=[0.2, 1.0, 5.0, None], how=["a", "b", "a", "b"])
    assert list(without_values(frame, {"beta": {"1", "none"}, "how": set(), "gone": {"x"}})["beta"]) == [0.2, 5.0]
    assert without_values(frame, {"beta": {"0.2"}, "how": {"b"}})["match"].tolist() == ["m2"]
    assert len(without_values(frame, {})) == 4


# What was reached.


def test_every_number_and_every_yes_or_no_is_an_outcome_with_its_unit(whole: SweepFrame) -> None:
    found = {one.key: one for one in outcomes(whole.frame, whole.parameters.values())}
    assert list(found)[:3] == ["payoff of either seat", "payoff_a", "payoff_b"] and found["payoff_a"].group == "result"
    assert found["payoff_a"].title == "payoff of A (dollars)" and found["payoff_a"].scale == 100
    assert found["agreed"].yes_no and found["agreed"].unit == "% of matches"
    assert found["efficiency"].group == "measure" and found["price_less_spe"].unit == "dollars"
    assert not {"seed", "repeat", "beta", "param_rounds", "how", "match"} & set(found)
    empty = [name for name in whole.frame if whole.frame[name].isna().all()]
    assert empty and not set(empty) & set(found)


def test_games_of_different_units_have_none_together() -> None:
    frame = played(payoff_a=[1, 2], payoff_b=[1, 2]).assign(game=["trading", "bargaining"])
    assert {one.unit for one in outcomes(frame)} == {""}
    assert outcomes(frame.assign(game="a-game-of-yours"))[0].unit == ""


def test_of_either_seat_there_is_a_row_for_each_seat_with_its_player() -> None:
    frame = played(player_a=["x", "x"], player_b=["y", "x"], payoff_a=[1, 2], payoff_b=[3, 4], seat=["mine", "yours"])
    rows = by_seat(frame, ["payoff"], SEAT_COLUMNS)
    assert rows[[*SEAT_COLUMNS, "payoff"]].to_numpy().tolist() == [
        ["A", "x", "y", 1],
        ["A", "x", "x", 2],
        ["B", "y", "x", 3],
        ["B", "x", "x", 4],
    ]
    assert list(rows["seat"]) == ["mine", "yours"] * 2, "a parameter of that name stays"
    either = Quantity("payoff", "payoff", "result", either=True)
    (row,) = summary(values(rows, either, []), either, []).to_dict("records")
    assert (row["mean"], row["n"], row["draws"]) == (2.5, 2, 2)


# Figures.


def choice(view: str, frame: pd.DataFrame, outcome: Quantity = SCORE, *sides: str | None) -> FigureChoice:
    made = [None if name is None else make_factor(frame, name) for name in (*sides, None, None, None)[:3]]
    return FigureChoice(outcome, view, *made)


def drawn(view: str, frame: pd.DataFrame, *sides: str | None, outcome: Quantity = SCORE, width: int = 1000) -> Drawing:
    return drawing.draw_choice(frame, frame, choice(view, frame, outcome, *sides), width)


def figure(view: str, frame: pd.DataFrame, *sides: str | None, **more: Any) -> Any:
    found = drawn(view, frame, *sides, **more).figure
    assert found is not None
    return found


def hostile() -> pd.DataFrame:
    sides = {HOSTILE: [HOSTILE, "b"] * 8, "y": ["c", "c", HOSTILE, "d"] * 4, "z": [1, 2, 3, HOSTILE, *[5] * 4] * 2}
    return played(score=[float(i % 5) for i in range(16)], **sides)


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("width", [340, 1040])
def test_a_figure_is_plain_json_with_titled_axes_and_no_markup_of_a_players_making(view: str, width: int) -> None:
    outcome = Quantity("score", HOSTILE, "measure", HOSTILE)
    made = figure(view, hostile(), HOSTILE, "y", "z", outcome=outcome, width=width)
    bundle = charts.mime(made)
    assert json.loads(json.dumps(bundle, allow_nan=False)) == bundle
    for text in strings(bundle):
        bare = text.replace("<br>", "").replace("<extra></extra>", "")
        assert "<" not in bare and ">" not in bare and "\u202e" not in text
    layout = made.to_plotly_json()["layout"]
    assert layout["xaxis5"]["title"]["text"] and layout["yaxis"]["title"]["text"]
    for trace in made.to_plotly_json()["data"]:
        assert "hovertemplate" not in trace and "texttemplate" not in trace


@pytest.mark.parametrize("view", VIEWS)
def test_each_value_of_the_facet_has_a_panel_under_its_name(view: str) -> None:
    made = figure(view, played(score=[1.0, 2.0, 3.0, 4.0], z=[1, 1, 2, 3]), None, None, "z", width=1000)
    assert [note.text for note in made.layout.annotations if "=" in note.text and "z" in note.text][:3] == [
        f"{charts.plain('z')} = {charts.plain(value)}" for value in (1, 2, 3)
    ]
    narrow = figure(view, played(score=[1.0, 2.0, 3.0, 4.0], z=[1, 1, 2, 3]), None, None, "z", width=340)
    assert narrow.layout.height > 2 * made.layout.height - 200, "below each other where there is no room beside"


def test_means_stand_with_their_intervals_and_are_joined_over_numbers_only() -> None:
    frame = played(score=[1.0, 3.0, 5.0, 9.0], beta=[1, 1, 3, 3], how=["a", "a", "b", "b"])
    (line,) = figure(LINES, frame, "beta").data
    expected = stats.estimate_mean([1.0, 3.0])
    assert list(line.x) == [1, 3] and list(line.y) == [2, 7] and line.mode == "lines+markers"
    assert line.error_y.array[0] == pytest.approx(expected.high - 2)
    assert line.error_y.arrayminus[0] == pytest.approx(2 - expected.low)
    note = figure(LINES, frame, "beta").layout.annotations[0].text
    assert "n = 2 matches on 2 draws each; bars: 95% interval" in note
    assert figure(LINES, frame, "how").data[0].mode == "markers"


def test_series_stand_aside_so_that_none_hides_another() -> None:
    frame = played(score=[1.0] * 4, beta=[1, 2, 1, 2], how=["a", "a", "b", "b"])
    one, two = figure(LINES, frame, "beta", "how").data
    assert one.x[0] < 1 < two.x[0] and two.x[0] - one.x[0] < 0.05
    assert "mean 1" in one.hovertext[0] and one.marker.symbol != two.marker.symbol


def test_an_axis_is_logarithmic_where_numbers_span_much() -> None:
    beta = make_factor(played(beta=[0.1, 1.0, 10.0]), "beta")
    along = XAxis(beta, [0, 1, 2], 500)
    assert along.axis()["type"] == "log" and along.axis()["tickvals"] == [0.1, 1, 10]
    assert along.at(1, 0, 1) == pytest.approx(1)
    assert XAxis(make_factor(played(beta=[1, 2, 3]), "beta"), [0, 1, 2], 500).axis()["type"] == "linear"
    assert "tickvals" not in XAxis(make_factor(played(beta=[1, 2, 300]), "beta"), [0, 1, 2], 40).axis()


def test_all_marks_are_within_the_axis() -> None:
    assert padded_range([1, 3, float("nan")])["range"] == pytest.approx([0.88, 3.12])
    assert padded_range([2])["range"] == pytest.approx([1.8, 2.2]) and padded_range([])["range"][0] < 0
    low, high = figure(LINES, played(score=[1.0, 9.0, 2.0], z=[1, 1, 2]), None, None, "z").layout.yaxis.range
    assert low < stats.estimate_mean([1.0, 9.0]).low and high > stats.estimate_mean([1.0, 9.0]).high


def test_a_field_of_a_heat_map_has_its_mean_and_its_n_and_an_empty_one_nothing() -> None:
    frame = played(score=[1.0, 3.0, 5.0], x=[1, 1, 2], y=["a", "a", "b"])
    made = figure(HEAT, frame, "x", "y")
    assert [list(row) for row in made.data[0].z] == [[2, None], [None, 5]]
    assert [note.text for note in made.layout.annotations if "n = " in note.text][-2:] == [
        "2<br>n = 2",
        "5<br>n = 1",
    ]
    assert made.layout.coloraxis.cmin == 2 and made.layout.coloraxis.cmax == 5
    assert figure(HEAT, frame.assign(score=1.0), "x", "y").layout.coloraxis.cmin < 1


def test_a_narrow_heat_map_says_means_alone_or_nothing_in_its_fields() -> None:
    frame = played(score=[1.0] * 12, x=range(12))
    fields = [note.text for note in figure(HEAT, frame.head(6), "x", width=340).layout.annotations]
    assert fields.count("1") == 6
    assert len(figure(HEAT, frame, "x", width=340).layout.annotations) == 1, "only the note below"


def test_a_distribution_has_all_its_matches_and_many_are_thinned_by_rank() -> None:
    frame = played(score=[float(i) for i in range(3000)], how=["a", "b"] * 1500)
    (box,) = figure(BOXES, frame, "how").data
    assert len(box.y) == 800 and min(box.y) == 0 and max(box.y) == 2999
    (violin,) = figure(VIOLINS, frame.head(10)).data
    assert violin.type == "violin" and list(violin.y) == list(range(10))


def test_a_legend_of_many_names_has_more_lines_on_a_narrow_page() -> None:
    names = ["a rather long name"] * 6
    assert (
        legend_height("player", names, 340) > legend_height("player", names, 1040) >= legend_height("player", [], 1040)
    )


# Cases without a figure, and limits.


def test_what_cannot_be_drawn_is_said() -> None:
    frame = played(score=[1.0, None], agreed=[True, False])
    chosen = choice(LINES, frame)
    said = {
        "have no values": drawing.draw_choice(frame, frame, None, 500),
        "exclude all 2": drawing.draw_choice(frame, frame.head(0), chosen, 500),
        "None of these 1 matches has a value": drawing.draw_choice(frame, frame.tail(1), chosen, 500),
        "has no distribution": drawn(BOXES, frame, outcome=AGREED),
    }
    for words, found in said.items():
        assert found.figure is None and words in found.said


@pytest.mark.parametrize("view", VIEWS)
def test_one_match_alone_is_drawn(view: str) -> None:
    found = drawn(view, played(score=[3.0]))
    assert found.figure is not None and "1 matches" in found.said and "3" in found.table


def test_more_values_than_can_be_told_apart_are_cut_and_that_is_said() -> None:
    frame = played(score=[1.0] * 200, x=[i % 80 for i in range(200)], c=[i % 20 for i in range(200)])
    found = drawn(LINES, frame, "x", "c")
    assert "Only the first 60 of 80 values of x are drawn." in found.said
    assert "Only the first 12 of 20 values of c are drawn." in found.said
    assert len(found.figure.data) == 12  # type: ignore[union-attr]


def test_the_table_says_mean_interval_and_n_and_escapes_what_others_wrote() -> None:
    found = drawn(LINES, hostile(), HOSTILE)
    assert "<a href" not in found.table and "&lt;a href" in found.table
    rows = drawn(BOXES, played(score=[1.0, 3.0], beta=[1, 2]), "beta").table
    assert "lower quartile" in rows and ">from<" not in rows, "one match has no interval"


# Reading.


def test_what_is_read_cell_by_cell_is_what_the_tables_read_of_the_whole(run: SweepFolder, whole: SweepFrame) -> None:
    found = whole.frame.sort_values(["cell", "match"], ignore_index=True)
    keys = ["cell", "match"]
    expected = tables.matches(run.path).merge(tables.measures(run.path), on=keys)
    expected = tables.with_parameters(expected, run.path).sort_values(keys, ignore_index=True)
    shared = [name for name in expected if name in found]
    assert len(shared) == len(expected.columns) and len(found) == 72
    pd.testing.assert_frame_equal(found[shared].convert_dtypes(), expected[shared].convert_dtypes(), check_dtype=False)
    expected_names = {"beta": "beta", "rounds": "param_rounds", "how": "how"}
    assert whole.parameters == expected_names, "rounds is a measure too"


def test_a_cell_is_read_once_and_new_ones_as_they_come(tmp_path: Path) -> None:
    run = finished_sweep(tmp_path, count=3)
    found = read(run)
    assert (found.cells_read, found.matches, found.unread_cells()) == (3, 9, [])
    finish_cells(run, list(read_folder_plan(run.path).cells())[3:5])
    assert len(found.unread_cells()) == 2
    found.read_cell(found.unread_cells()[0])
    assert (found.cells_read, found.matches) == (4, 12)


def test_cells_that_cannot_be_read_are_named_and_those_without_records_counted(tmp_path: Path) -> None:
    run = finished_sweep(tmp_path, count=3)
    bad, blank, good = sorted((run.path / "cells").iterdir())
    (bad / "records.jsonl").write_text("{}\n" * 10_000, "utf-8")
    (blank / "records.jsonl").unlink()
    made = status.read_status(good)
    assert made is not None
    status.write_status(blank, msgspec.structs.replace(made, id=blank.name, records={}))
    found = read(run)
    assert list(found.faults) == [bad.name] and "line 1" in found.faults[bad.name]
    assert (found.cells_read, found.empty_cells, found.matches) == (2, 1, 3) and found.unread_cells() == []
    assert set(found.frame().frame["cell"]) == {good.name}
    shown = drawing.render_reading(found, 24, 0)
    assert "1 cells could not be read" in shown and "1 cells have no records" in shown


def test_no_cell_is_read_through_a_link(tmp_path: Path) -> None:
    run = finished_sweep(tmp_path, count=1)
    run.path.joinpath("cells/elsewhere").symlink_to(tmp_path)
    for reading in (lambda: read_sweep(run.path), SweepReader(run.path).unread_cells):
        with pytest.raises(ValueError, match="elsewhere is a symbolic link"):
            reading()


# The widget.


def sent(results: SweepResults, monkeypatch: pytest.MonkeyPatch) -> list[tuple[dict[str, Any], list[bytes]]]:
    found: list[tuple[dict[str, Any], list[bytes]]] = []
    monkeypatch.setattr(results._download, "send", lambda content, buffers=(): found.append((content, list(buffers))))
    return found


def test_new_cells_come_in_and_no_choice_is_lost(tmp_path: Path) -> None:
    run = finished_sweep(tmp_path, count=12)
    results = SweepResults(run.path)
    assert "36 matches from 12 of 24 cells have been read" in words_of(results)
    choices = results._choices
    choices.outcome.value, choices.view.value, choices.facet.value = "payoff_b", HEAT, "how"
    press(results, "Choose matches")
    (box,) = [part for part in below(results) if isinstance(part, w.Checkbox) and part.description == "0.2"]
    box.value = False
    assert "Without beta 0.2." in words_of(results) and choices.colour.description == "Y axis"
    assert "24 matches." in words_of(results)
    finish_cells(run, list(read_folder_plan(run.path).cells())[12:])
    results.refresh()
    assert "72 matches from 24 of 24 cells have been read" in words_of(results) and "48 matches." in words_of(results)
    assert (choices.outcome.value, choices.view.value, choices.facet.value) == ("payoff_b", HEAT, "how")
    assert "repeat" in dict(choices.facet.options).values(), "there is a second repeat now"
    (box,) = [part for part in below(results) if isinstance(part, w.Checkbox) and part.description == "0.2"]
    assert box.value is False


def test_the_first_parameters_are_shown_once_they_differ(tmp_path: Path) -> None:
    run = finished_sweep(tmp_path, count=1)
    results = SweepResults(run.path)
    assert results._choices.x.value == ""
    finish_cells(run, list(read_folder_plan(run.path).cells())[1:12])
    results.refresh()
    assert (results._choices.x.value, results._choices.colour.value) == ("beta", "param_rounds")


def test_a_mark_leads_to_its_matches_a_match_to_the_step_that_decided_it_and_all_cells_back(run: SweepFolder) -> None:
    results = SweepResults(run.path)
    results._choices.view.value = HEAT
    figure = results._drawn.figure
    assert figure is not None
    results._picks._hear({"picked": figure.data[0].customdata[1][2]})
    assert "Matches of beta 5, rounds 8" in words_of(results) and "12 matches." in words_of(results)
    results._choices.outcome.value = "payoff_a"
    points = results._drawn.figure.data[0]  # type: ignore[union-attr]
    assert "payoff of A (dollars)" in words_of(results) and len(points.customdata) == 12, "another outcome of the same"
    assert list(points.y) == sorted(points.y)
    results._picks._hear({"picked": points.customdata[0]})
    (replay,) = [part for part in below(results) if isinstance(part, Replay)]
    record = replay._record
    assert record is not None and record.payoffs["A"] == 100 * points.y[0]
    reply = replay._cockpit.current.entry
    assert isinstance(reply, Replied)
    assert reply.reply.text == f"{record.game.details(final_state(record))['price'] / 100:.2f}"
    press(results, "All cells")
    assert results._drawn.figure.data[0].type == "heatmap" and Replay not in map(type, below(results))  # type: ignore[union-attr]


def test_the_page_opens_on_the_outcome_that_varies_most_and_offers_eight(run: SweepFolder) -> None:
    results = SweepResults(run.path)
    choices, frame = results._choices, results._played.frame
    few, chosen = [key for _, key in choices.outcome.options], choices.chosen()
    assert chosen is not None
    assert len(few) <= MAX_OUTCOMES and choices.outcome.value == few[0]
    shares = {}
    for key in few:
        column = frame[key].astype(float)
        means = column.groupby([frame[one.column] for one in chosen.by]).transform("mean")
        shares[key] = means.var(ddof=0) / column.var(ddof=0) if column.nunique() > 1 else 0.0
    assert max(shares, key=shares.__getitem__) == few[0]
    choices.every.value = True
    assert set(few) < {key for _, key in choices.outcome.options} and choices.outcome.value == few[0]


def test_yes_or_no_has_its_matches_too(run: SweepFolder) -> None:
    results = SweepResults(run.path)
    results._choices.outcome.value = "agreed"
    results._picks._hear({"picked": "group 0"})
    points, *boxes = results._drawn.figure.data  # type: ignore[union-attr]
    assert not boxes and set(points.y) <= {0, 100} and "yes" in results._drawn.table


def test_a_field_of_the_board_shows_its_matches_in_the_results(run: SweepFolder) -> None:
    board, results = open_results_page(run.path).children
    cell = next(cell for cell in read_folder_plan(run.path).cells() if cell.params["beta"] == 1.0)
    board._pick(cell.id)
    assert board._list.value == cell.id and "Matches of beta 1, rounds 4, how linear" in words_of(results)
    assert "6 matches." in words_of(results), "of both repeats"
    board._pick("no such cell")


def test_a_cell_whose_parameter_is_a_list_is_found_by_it(tmp_path: Path) -> None:
    grid = "[grid]\nbeta = [0.2, 1.0]\nset = [[1, 2], [3, 4]]\n"
    run = finished_sweep(tmp_path, grid)
    results = SweepResults(run.path)
    results.show_cell({"beta": 0.2, "set": [3, 4]})
    assert "Matches of beta 0.2, set [3, 4]" in words_of(results) and "3 matches." in words_of(results)


def test_a_token_that_a_page_made_up_opens_nothing(run: SweepFolder) -> None:
    results = SweepResults(run.path)
    before = results._drawn
    for token in ("", "group", "group x", "group -1", "group 99", "match 10000000", "cell 1", "<b>"):
        for sent in ({"picked": token}, [token]):
            results._picks._hear(sent)
            assert results._drawn is before and results._group is None, sent


def test_seat_and_player_can_be_chosen_of_outcomes_that_either_seat_has(run: SweepFolder) -> None:
    results = SweepResults(run.path)
    choices = results._choices
    assert "(player)" not in dict(choices.x.options).values()
    choices.every.value = True
    choices.outcome.value = "payoff of either seat"
    choices.x.value, choices.colour.value = "(seat)", "(player)"
    assert [one.title for one in choices.chosen().by] == ["seat", "player"]  # type: ignore[union-attr]
    at = [group.words for group in results._drawn.groups].index("seat B, player boulware")
    results._picks._hear({"picked": f"group {at}"})
    shown = results._drawn.numbers
    assert shown is not None and set(shown["(seat)"]) == {"B"} and set(shown["player_b"]) == {"boulware"}
    press(results, "All cells")
    choices.outcome.value = "efficiency"
    assert choices.x.value == ""
    choices.x.value = choices.colour.value = choices.facet.value = "how"
    chosen = choices.chosen()
    assert chosen is not None and [one.column for one in chosen.by] == ["how"], "a factor stands on one side only"
    assert chosen.colour is None and chosen.facet is None


def test_what_is_saved_is_what_is_shown(run: SweepFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    results = SweepResults(run.path)
    found = sent(results, monkeypatch)
    results._filters.excluded["how"] = {"boulware"}
    results._choices.outcome.value = "payoff_a"
    for name in ("Matches as CSV", "Matches as Parquet", "Table as CSV", "Figure as SVG"):
        press(results, name)
    (csv, [rows]), (parquet, [packed]), (table, [numbers]), (picture, []) = found
    matches = pd.read_csv(io.BytesIO(rows))
    assert csv["name"] == "out-matches.csv" and set(matches["how"]) == {"linear"} and len(matches) == 36
    assert len(pd.read_parquet(io.BytesIO(packed))) == 36 and parquet["name"].endswith(".parquet")
    means = pd.read_csv(io.BytesIO(numbers)).set_index(["beta", "rounds"])
    assert table["name"] == "out-payoff_a-beta-param_rounds.csv"
    own = matches[(matches["beta"] == 0.2) & (matches["param_rounds"] == 4)]
    assert means.loc[(0.2, 4), "mean"] == pytest.approx(own["payoff_a"].mean() / 100)
    assert picture["format"] == "svg" and picture["figure"]["data"] and picture["height"] > 200
    printed, shown = picture["figure"]["layout"], results._drawn.figure
    assert printed["paper_bgcolor"] == "#ffffff" and {note["font"]["color"] for note in printed["annotations"]} == {
        printed["font"]["color"]
    }
    assert shown is not None and shown.layout.paper_bgcolor != "#ffffff", "the page stays as it is"


def test_how_a_download_went_is_said_and_strange_words_of_a_browser_change_nothing(run: SweepFolder) -> None:
    results = SweepResults(run.path)
    for said in ({"saved": "a.csv"}, {"failed": "<b>no</b>"}):
        results._download._hear(said)
    assert "&lt;b&gt;no" in results._note.value
    for strange in (None, {}, {"saved": 3}, "x"):
        results._download._hear(strange)
    results._download.set_state({"width": 10**9})
    assert results._download.width == 4000


def test_a_sweep_without_finished_cells_says_so(tmp_path: Path) -> None:
    results = SweepResults(finished_sweep(tmp_path, count=0).path)
    assert "No cell is finished yet" in words_of(results) and results._body.layout.display == "none"


def test_a_folder_that_holds_no_sweep_is_said(tmp_path: Path) -> None:
    assert "not a sweep folder" in words_of(SweepResults(tmp_path))


def test_matches_with_neither_deal_nor_player_names_are_drawn(tmp_path: Path) -> None:
    run = finished_sweep(tmp_path, "repeats = 1\n[fixed]\nbeta = 1.0\n", count=1)
    results = SweepResults(run.path)
    assert results._choices.x.value == "" and "3 matches." in words_of(results)


def test_the_page_shows_board_and_results_or_says_how_to_come_to_a_sweep(
    run: SweepFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(SWEEP, raising=False)
    assert "negolab sweep run" in words_of(open_results_page())
    monkeypatch.setenv(SWEEP, str(run.path))
    assert [type(part).__name__ for part in open_results_page().children] == ["SweepBoard", "SweepResults"]
    assert "Results: out" in words_of(open_results_page(""))


def test_the_command_refuses_a_folder_without_a_sweep_in_one_line(tmp_path: Path) -> None:
    ran = negolab("sweep", "show", str(tmp_path))
    assert ran.returncode == 2 and ran.stdout == "" and len(ran.stderr.splitlines()) == 1
    assert (
        "not written by negolab sweep run or negolab tournament: specify the folder of a sweep or tournament"
        in ran.stderr
    )


def test_a_files_name_says_what_is_in_it_and_nothing_else() -> None:
    side = Factor("param/../x", "x", ("1",))
    name = download.file_name("run", FigureChoice(SCORE, LINES, side, None, None), "csv")
    assert name == "run-score-param-..-x.csv" and "/" not in name


def test_a_cell_that_broke_counts_for_nothing(tmp_path: Path) -> None:
    run = finished_sweep(tmp_path, count=1)
    cell: SweepCell = list(read_folder_plan(run.path).cells())[1]
    attempt, number = run.new_attempt(cell.id)
    status.write_status(attempt, cell.status("failed", number, 1.0, 2.0, worker="here"))
    assert read(run).cells_read == 1
