"""Figures: plain JSON, titled axes, and no markup of a player's making."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Callable
from html import unescape
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from negolab_widgets import charts
from negolab_widgets.charts import Point

from negolab.catalog import load
from negolab.games.split import Proposal
from negolab.laws import playout

HOSTILE = "<a href='javascript:alert(1)'>x</a> <b>&amp;</b> %{x} $y$ \u202eevil\u2069\ud800\x00"
NAMES: dict[Any, str] = {"A": HOSTILE, "B": HOSTILE[::-1]}


def split_rounds(**params: Any) -> Any:
    game = load("split", preset=params.pop("preset", None), quota=0, **params)
    return charts.rounds(playout(game, 3, junk=0).state.public.history, game.items)


FIGURES: dict[str, Callable[[], Any]] = {
    "offers": lambda: charts.offers([(1, "A", 7000), (2, "B", 4200)], lines={HOSTILE: 4000}, rounds=6, names=NAMES),
    "no offers": lambda: charts.offers([]),
    "rounds": split_rounds,
    "rounds of several types": lambda: split_rounds(preset="deal-or-no-deal"),
    "no rounds": lambda: charts.rounds((), ("coins",)),
    "path": lambda: charts.path(
        {HOSTILE: [Point("A", 6, 2, HOSTILE), Point("B", 2, 5)], "other": [Point("A", 6, 2)]},
        [(0, 7), (7, 0)],
        {"deal": (2, 5), HOSTILE: (1, 1), "Nash": None},
        joined=True,
        names=NAMES,
    ),
    "no path": lambda: charts.path({}),
    "payoffs": lambda: charts.payoffs(
        {HOSTILE: [1.0, 2.5, 3.0], "7": [4.0], "none": []}, unit="points", marks={HOSTILE: 2}
    ),
    "tournament": lambda: charts.tournament({HOSTILE: {HOSTILE: [1.0, 2.0], "7": [4.0]}, "none": {"7": []}}),
    "no tournament": lambda: charts.tournament({}),
    "trend": lambda: charts.trend(
        {HOSTILE: {0.5: [1.0, 2.0], 1: [4.0], 2: []}, "none": {}},
        x="beta",
        y="price (dollars)",
        curves={HOSTILE: {0.5: 1, 1: 2}},
        levels={HOSTILE: 3},
    ),
    "outcomes": lambda: charts.outcomes({HOSTILE: [(1, 2), (2, 3)], "one": [(1, 1)], "": []}, marks={HOSTILE: (0, 0)}),
    "no outcomes": lambda: charts.outcomes({}),
    "shares": lambda: charts.shares({HOSTILE: (3, 4), "none": (0, 0)}),
}


@pytest.fixture(params=FIGURES)
def figure(request: pytest.FixtureRequest) -> Any:
    return FIGURES[request.param]()


def strings(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for inner in value.values() for text in strings(inner)]
    if isinstance(value, list | tuple):
        return [text for inner in value for text in strings(inner)]
    return [value] if isinstance(value, str) else []


# Laws.


def test_a_figure_is_one_bundle_of_plain_json(figure: Any) -> None:
    bundle = charts.mime(figure)
    assert list(bundle) == [charts.MIME]
    # NaN is no JSON: a browser would refuse the whole message.
    assert json.loads(json.dumps(bundle, allow_nan=False)) == bundle
    assert bundle[charts.MIME]["config"]["displayModeBar"] is False
    assert not any("http" in text for text in strings(bundle)), "nothing is fetched"


def test_every_axis_with_numbers_is_titled(figure: Any) -> None:
    layout = figure.to_plotly_json()["layout"]
    axes = {name: axis for name, axis in layout.items() if name.startswith(("xaxis", "yaxis"))}
    for name, axis in axes.items():
        shared = axis.get("showticklabels") is False
        assert shared or axis["title"]["text"], name


def test_no_text_of_a_player_is_markup(figure: Any) -> None:
    for text in strings(charts.mime(figure)):
        bare = text.replace("<br>", "").replace("<extra></extra>", "")
        assert "<" not in bare and ">" not in bare
        assert "\u202e" not in text and text.count("\u2068") == text.count("\u2069")


def test_only_the_templates_of_the_house_are_filled_in(figure: Any) -> None:
    for trace in figure.to_plotly_json()["data"]:
        assert "texttemplate" not in trace
        assert HOSTILE[:5] not in trace.get("hovertemplate", "")
        if "hovertext" in trace:
            assert trace["hoverinfo"] == "text" and "hovertemplate" not in trace


@given(text=st.text(max_size=400))
@settings(deadline=None, derandomize=True, database=None)
def test_plain_text_is_short_isolated_and_encodable(text: str) -> None:
    plain = charts.plain(text)
    assert plain[0] == "\u2068" and plain[-1] == "\u2069"
    assert len(unescape(plain)) <= 42
    assert not set("<>\n\r\x00") & set(plain)
    plain.encode()


# Examples.


def test_prices_are_in_dollars_and_the_last_offer_stands() -> None:
    figure = charts.offers([(1, "A", 7000), (2, "B", 4250)], lines={"your cost": 4000}, rounds=6)
    seller, buyer, standing = figure.data
    assert list(seller.y) == [70] and list(buyer.y) == [42.5]
    assert standing.name == "standing offer $42.50" and list(standing.x) == [2]
    assert "your cost" in figure.layout.annotations[0].text
    assert figure.layout.yaxis.range[0] < 40 and figure.layout.yaxis.range[1] > 70
    assert charts.offers([(1, "A", 7000)], deal=True).data[-1].name == "deal $70.00"


def test_a_round_shows_what_was_asked_and_what_was_received() -> None:
    game = load("split", quota=0, rounds=1)
    start = game.deal(random.Random(1))
    end = game.step(start, {"A": Proposal((10,)), "B": Proposal((10,))})
    received, asked, *_ = charts.rounds(end.public.history, game.items).data
    assert list(received.y) == [5] and list(asked.y) == [10]
    assert "asked for 10, received 5 of 10" in received.hovertext[0]


def test_a_path_numbers_proposals_over_both_seats_and_scales_them() -> None:
    figure = charts.path({"": [Point("A", 600, 200), Point("B", 200, 500)]}, marks={"deal": (200, 500)}, scale=100)
    own = {trace.text[0]: (trace.x[0], trace.y[0]) for trace in figure.data if trace.text}
    assert own["1"] == (6, 2) and own["2"] == (2, 5)
    assert figure.layout.xaxis.title.text.startswith("payoff of")


def test_branches_differ_by_their_dashes() -> None:
    points = [Point("A", 6, 2), Point("B", 2, 5)]
    figure = charts.path({"as played": points, "again": points})
    lines = [trace.line.dash for trace in figure.data if trace.mode == "lines"]
    assert lines == ["solid", "dash"]


def test_separate_points_of_a_frontier_are_not_joined() -> None:
    frontier = [(0, 7), (7, 0)]
    assert charts.path({}, frontier).data[0].mode == "markers"
    assert charts.path({}, frontier, joined=True).data[0].mode == "lines"


def test_a_long_frontier_does_not_crowd_out_what_was_proposed() -> None:
    points = [Point("A", 6, 2), Point("B", 2, 5)]
    figure = charts.path({"": points}, [(-900, 900), (900, -900)], {"no deal": (0, 0), "Nash": None}, joined=True)
    low, high = figure.layout.xaxis.range
    assert -2 < low < 0 and 6 < high < 8
    assert charts.path({"": points}, [(0, 7), (7, 0)]).layout.xaxis.range is None


def test_n_stands_beside_each_group_and_many_matches_are_thinned() -> None:
    figure = charts.payoffs({"one": [float(i) for i in range(5000)]})
    assert figure.layout.annotations[0].text.endswith("n = 5000")
    dots, means = figure.data
    assert len(dots.x) <= 400 and (dots.x[0], dots.x[-1]) == (0, 4999)
    assert means.x[0] == pytest.approx(2499.5)


def test_reference_points_stand_in_the_legend_with_their_value() -> None:
    figure = charts.payoffs({"one": [1.0, 2.0]}, marks={"Nash": 52.5})
    [mark] = [trace for trace in figure.data if trace.mode == "lines"]
    assert list(mark.x) == [52.5, 52.5] and "Nash" in mark.name and "52.5" in mark.name


def test_a_tournament_says_mean_interval_and_n_of_each_pair() -> None:
    figure = charts.tournament({"a": {"a": [100, 300], "b": [500]}, "b": {"b": [100]}}, scale=100)
    assert [list(row) for row in figure.data[0].z] == [[2, 5], [None, 1]]
    assert [note.text for note in figure.layout.annotations] == ["2.00<br>± 12.71", "5.00", "1.00"]
    assert "n = 1 to 2 per cell" in figure.layout.xaxis.title.text


def test_a_trend_has_intervals_where_there_are_several_matches() -> None:
    figure = charts.trend({"a": {1: [100, 300], 2: [500]}}, x="x", y="y", curves={"exact": {1: 100}}, scale=100)
    means, curve = figure.data
    assert list(means.y) == [2, 5] and list(curve.y) == [1]
    assert means.error_y.array[0] == pytest.approx(12.706, abs=0.001) and means.error_y.array[1] == 0
    assert means.name.endswith("n = 1 to 2 each")


def test_the_mean_outcome_of_a_group_lies_among_its_matches() -> None:
    line, dots, mean = charts.outcomes({"a": [(0, 2), (4, 6)]}).data
    assert list(line.x) == [0, 6] and list(dots.y) == [2, 6]
    assert (mean.x[0], mean.y[0]) == (2, 4) and mean.error_x.array[0] > 0


def test_players_are_told_apart_by_seat_and_unpaid_matches_are_left_out() -> None:
    frame = pd.DataFrame(
        {"player_a": ["x", "x", None], "payoff_a": [1, None, 3], "player_b": ["x", "y", "y"], "payoff_b": [4, 5, None]}
    )
    assert charts.by_player(frame) == {"? at A": [3], "x at A": [1], "x at B": [4], "y at B": [5]}


def test_a_chart_keeps_its_height_and_leaves_the_figure_alone() -> None:
    figure = charts.offers([(1, "A", 7000)])
    chart = charts.Chart(figure, height=260)
    output, style = chart.outputs
    assert "height: 100%" in style["data"]["text/html"]
    assert output["data"][charts.MIME]["layout"]["height"] == 260
    assert chart.layout.height == "260px" and figure.layout.height == 320
    chart.show(None)
    assert chart.outputs == () and chart.layout.height == "260px"


def test_a_page_without_a_figure_does_not_load_plotly() -> None:
    code = "import negolab_widgets.charts, sys; sys.exit('plotly' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
