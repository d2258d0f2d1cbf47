"""Figures: plain JSON, titled axes, and no markup from players."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from html import unescape
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from negolab_widgets import charts
from negolab_widgets.tables.timeline import Timeline

from negolab.analysis.observations import Sample
from negolab.formatting import format_money

HOSTILE = "<a href='javascript:alert(1)'>x</a> <b>&amp;</b> %{x} $y$ \u202eevil\u2069\ud800\x00"
FRAMED = HOSTILE.replace("\ud800", "")
"""Frames and records hold no half characters."""

ESTIMATES: list[dict[str, Any]] = [
    {"beta": 0.5, "value": 1.0, "low": 0.5, "high": 1.5, "n": 7, "exact": 1.25},
    {"beta": 2.0, "value": 2.0, "low": float("nan"), "high": float("nan"), "n": 1, "exact": float("nan")},
]
for row in ESTIMATES:
    row.update(dict.fromkeys(("name", "facet", "measure"), FRAMED))


def forest() -> pd.DataFrame:
    """Two measures of two players, one value missing and one without an interval."""
    columns = ["facet", "group", "name", "measure", "value", "low", "high", "n"]
    nan = float("nan")
    rows = [
        (FRAMED, FRAMED, FRAMED, "score (%)", 90.0, 80.0, 95.0, 20),
        (FRAMED, FRAMED, "7", "score (%)", 50.0, nan, nan, 1),
        (FRAMED, FRAMED, FRAMED, FRAMED, nan, nan, nan, 0),
        (FRAMED, "other", FRAMED, FRAMED, 3.0, 2.0, 4.0, 20),
    ]
    return pd.DataFrame(rows, columns=columns)


def deals() -> pd.DataFrame:
    nan = float("nan")
    known = {"a": 80, "a_low": 79, "a_high": 81, "b": 70, "b_low": nan, "b_high": nan, "n": 3}
    return pd.DataFrame([{"row": FRAMED, "column": "", "name": name, **known} for name in (FRAMED, "7")])


def frontier() -> pd.DataFrame:
    return pd.DataFrame([{"row": FRAMED, "column": "", "a": a, "b": 100 - a} for a in (0, 50, 100)])


FIGURES: dict[str, Callable[[], Any]] = {
    "payoffs": lambda: charts.payoffs(
        {HOSTILE: [1.0, 2.5, 3.0], "7": [4.0], "none": []}, unit="points", marks={HOSTILE: 2}
    ),
    "tournament": lambda: charts.tournament({HOSTILE: {HOSTILE: [1.0, 2.0], "7": [4.0]}, "none": {"7": []}}),
    "tournaments": lambda: charts.tournaments({HOSTILE: {HOSTILE: {HOSTILE: [1.0, 2.0], "7": [4.0]}}, "none": {}}),
    "no tournaments": lambda: charts.tournaments({}),
    "forest": lambda: charts.forest(forest(), row=HOSTILE, marks={"score (%)": {HOSTILE: 100}}),
    "no forest": lambda: charts.forest(forest()[:0]),
    "frontiers": lambda: charts.frontiers(deals(), frontier(), curve=HOSTILE),
    "no frontiers": lambda: charts.frontiers(deals()[:0], frontier()[:0]),
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
    "panels": lambda: charts.panels(
        pd.DataFrame(ESTIMATES),
        x="beta",
        colour="name",
        row="facet",
        column="measure",
        y=HOSTILE,
        titles={"beta": HOSTILE, "name": "{} " + HOSTILE.replace("{", ""), "facet": "{}", "measure": "of {}"},
        levels={HOSTILE: {(FRAMED, FRAMED): 1.5}},
        log=True,
    ),
    "no panels": lambda: charts.panels(
        pd.DataFrame(ESTIMATES)[:0],
        x="beta",
        colour="name",
        row="facet",
        column="measure",
        y="y",
        titles={"beta": "beta", "name": "{}", "facet": "{}", "measure": "{}"},
    ),
    "exact": lambda: charts.exact(pd.DataFrame(ESTIMATES), known=HOSTILE, bars=FRAMED),
    "exact without facets": lambda: charts.paper(charts.exact(pd.DataFrame(ESTIMATES)[:1].drop(columns="facet"))),
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
def test_plain_text_is_short_isolated_and_encodable(text: str) -> None:
    plain = charts.plain(text)
    assert plain[0] == "\u2068" and plain[-1] == "\u2069"
    assert len(unescape(plain)) <= 42
    assert not set("<>\n\r\x00") & set(plain)
    plain.encode()


# Examples.


def offers_drawn(rows: Any, **more: Any) -> str:
    words = {"lines": {"Your cost <b>": 4000.0}, "amount": format_money, "tick": "${}", "scale": 100, **more}
    return str(Timeline("A", "Offers", rows, "round", theirs="buyer", **words).render())


def test_offers_are_steps_with_a_mark_for_each_and_words_for_the_last() -> None:
    drawn = offers_drawn([(1, "A", 7000), (2, "B", 4250), (3, "A", 6000)], now="{amount} stands")
    assert drawn.count("nl-step-a") == 2 and "nl-step-b" not in drawn
    assert "nl-step" not in offers_drawn([(1, "A", 7000), (3, "A", 6000)], steps=False)
    assert drawn.count('"nl-mark-a"') == 2 and drawn.count('"nl-mark-b"') == 1
    assert "$60.00 stands" in drawn and drawn.count("nl-now-mark") == 1
    assert "<desc>round 1, You: $70.00; round 2, Buyer: $42.50; round 3, You: $60.00</desc>" in drawn
    assert "Your cost &lt;b&gt; $40.00" in drawn and "<b>" not in drawn


@pytest.mark.parametrize("values", [[0.0], [2.4, 2.4000000000000004], [1e18, 1e18], [-5.0, 5.0], [1e-9, 1e9]])
def test_any_offers_are_drawn_inside_their_place(values: list[float]) -> None:
    drawn = offers_drawn([(number * 1000, "B", value) for number, value in enumerate(values, 1)])
    places = [float(place) for place in re.findall(r'="(-?[0-9.]+)%"', drawn)]
    assert places and all(0 <= place <= 100 for place in places)
    assert len(re.findall("<text", drawn)) < 40


def test_n_stands_beside_each_group_and_many_matches_are_thinned() -> None:
    figure = charts.payoffs({"one": [float(i) for i in range(5000)]})
    assert figure.layout.annotations[0].text.endswith("n = 5,000")
    dots, means = figure.data
    assert len(dots.x) <= 400 and (dots.x[0], dots.x[-1]) == (0, 4999)
    assert means.x[0] == pytest.approx(2499.5)


def test_reference_points_stand_in_the_legend_with_their_value() -> None:
    figure = charts.payoffs({"one": [1.0, 2.0]}, marks={"Nash": 52.5})
    [mark] = [trace for trace in figure.data if trace.mode == "lines"]
    assert list(mark.x) == [52.5, 52.5] and "Nash" in mark.name and "52.5" in mark.name


def test_a_tournament_says_mean_interval_and_n_of_each_pair() -> None:
    figure = charts.tournament({"a": {"a": [100, 300], "b": [500]}, "b": {"b": [100]}}, scale=100)
    assert [note.text for note in figure.layout.annotations] == ["2.00<br>± 12.71", "5.00", "1.00"]
    assert figure.data[0].z[1][0] is None, "they never met"
    assert "n = 1 to 2 per cell" in figure.layout.xaxis.title.text


def test_what_overlaps_looks_alike_and_the_colour_bar_says_what_is_neutral() -> None:
    apart, like = [9.0, 9.1, 8.9], [4.0, 6.5, 5.0]
    figure = charts.tournament({"a": {"a": apart, "b": like}, "b": {"a": [2.0, 2.1, 1.9], "b": [3.0, 7.0, 6.0]}})
    (high, one), (low, two) = figure.data[0].z
    reference = (figure.data[0].zmin + figure.data[0].zmax) / 2
    assert one == two == pytest.approx(reference) == pytest.approx((9 + 31 / 6 + 2 + 16 / 3) / 4)
    assert low == pytest.approx(2) and high == pytest.approx(9)
    title = figure.layout.title.text
    assert "light: like the mean, 5.38" in title and "in its interval" in title


def test_values_of_both_signs_are_compared_with_nothing_won() -> None:
    figure = charts.tournament({"a": {"b": [3.0, 3.1]}, "b": {"a": [-3.0, -3.1]}})
    assert figure.data[0].zmin == -figure.data[0].zmax and "light: like 0" in figure.layout.title.text
    assert "\N{MINUS SIGN}3.05" in figure.layout.annotations[1].text


def test_without_chance_a_field_is_coloured_by_what_is_known_exactly() -> None:
    figure = charts.tournament({"a": {"a": [1.0], "b": [2.0]}})
    assert list(figure.data[0].z[0]) == [1, 2] and "interval" not in figure.layout.title.text
    fixed = Sample([4.0], ["d"], exact=True)
    assert charts.tournament({"a": {"a": fixed, "b": [1.0, 1.5], "c": [2.0]}}).data[0].z[0][0] == 4


def test_each_matrix_of_several_has_its_own_fields_and_n_stands_below() -> None:
    one = {"a": {"a": [1.0, 3.0], "b": [5.0, 5.0]}, "b": {"a": [0.0, 0.0], "b": [1.0, 1.0]}}
    figure = charts.tournaments({"gain": one, "trades": one})
    assert [trace.z[0][1] for trace in figure.data] == [5, 5]
    assert [note.text for note in figure.layout.annotations].count("2.00<br>± 12.71") == 2
    assert "n = 2 per cell" in figure.layout.xaxis2.title.text
    assert "light: like the mean, 2" in figure.layout.annotations[0].text


def test_a_forest_draws_what_is_known_with_its_interval_and_says_n() -> None:
    figure = charts.forest(forest(), marks={"score (%)": {"best": 100}})
    first = figure.data[0]
    assert (
        list(first.x) == [90, 50] and list(first.error_x.array) == [5, 0] and list(first.error_x.arrayminus) == [10, 0]
    )
    assert "95% interval 80 to 95, n = 20" in first.hovertext[0] and "interval" not in first.hovertext[1]
    notes = [note.text for note in figure.layout.annotations]
    assert f"n = 1 to 20 per mark; bars are {charts.plain('95% intervals')}" in notes and charts.plain("best") in notes
    assert figure.layout.xaxis.range[1] > 100 and figure.layout.xaxis.range[0] < 50


def test_deals_lie_in_their_panel_below_its_frontier() -> None:
    figure = charts.frontiers(deals(), frontier(), axis="payoff of {} (%)")
    line, first, *_ = figure.data
    assert list(line.x) == [0, 50, 100] and line.mode == "lines"
    assert list(first.x) == [80] and list(first.error_x.array) == [1] and list(first.error_y.array) == [0]
    assert figure.layout.xaxis.title.text == "payoff of A (%)"


def test_a_trend_has_intervals_where_there_are_several_matches() -> None:
    figure = charts.trend({"a": {1: [100, 300], 2: [500]}}, x="x", y="y", curves={"exact": {1: 100}}, scale=100)
    means, curve = figure.data
    assert list(means.y) == [2, 5] and list(curve.y) == [1]
    assert means.error_y.array[0] == pytest.approx(12.706, abs=0.001) and means.error_y.array[1] == 0
    assert means.name.endswith("n = 1 to 2 each")


def estimates(**columns: list[Any]) -> pd.DataFrame:
    many = len(next(iter(columns.values())))
    frame = pd.DataFrame({"value": [1.0] * many, "low": [0.5] * many, "high": [2.0] * many, "n": [5] * many})
    return frame.assign(**columns)


def test_panels_have_a_line_per_colour_and_the_level_of_their_own_panel() -> None:
    frame = estimates(x=[1, 2, 1, 2], hue=["a", "a", "b", "b"], row=[1, 1, 1, 1], column=[3, 3, 5, 5])
    titles = {"x": "x", "hue": "{}", "row": "row {}", "column": "column {}"}
    levels = {"known": {(1, 3): 0.25, (1, 5): 0.75}}
    axes = {"x": "x", "colour": "hue", "row": "row", "column": "column", "y": "y"}
    figure = charts.panels(frame, titles=titles, levels=levels, **axes)
    *heads, basis = [unescape(note.text).strip("\u2068\u2069") for note in figure.layout.annotations]
    assert heads == ["column 3", "column 5", "row 1"]
    assert basis.startswith("n = 5 per mark; bars are") and "95% intervals" in basis
    lines = [trace for trace in figure.data if len(trace.x) and trace.mode == "lines+markers"]
    assert [(trace.xaxis, list(trace.x)) for trace in lines] == [("x", [1, 2]), ("x2", [1, 2])]
    assert list(lines[0].error_y.array) == [1, 1] and list(lines[0].error_y.arrayminus) == [0.5, 0.5]
    known = [trace for trace in figure.data if trace.mode == "lines"]
    assert [(trace.xaxis, trace.y[0]) for trace in known] == [("x", 0.25), ("x2", 0.75)]


def test_every_colour_stands_in_the_legend_once_even_if_the_first_panel_lacks_it() -> None:
    frame = estimates(x=[1, 1, 1], hue=["a", "b", "a"], row=[1, 1, 2], column=[3, 5, 3])
    titles = {"x": "x", "hue": "{}", "row": "{}", "column": "{}"}
    axes = {"x": "x", "colour": "hue", "row": "row", "column": "column", "y": "y"}
    figure = charts.panels(frame, titles=titles, **axes)
    shown = [unescape(trace.name) for trace in figure.data if trace.showlegend]
    assert sorted(name.strip("\u2068\u2069") for name in shown) == ["a", "b"]


def test_an_exact_value_is_a_tick_at_the_height_of_its_estimate() -> None:
    frame = estimates(name=["a", "b", "c"], measure=["m"] * 3, exact=[1.5, float("nan"), 0.75])
    [ticks] = [trace for trace in charts.exact(frame).data if trace.marker.symbol == "line-ns"]
    assert list(ticks.x) == [1.5, 0.75] and list(ticks.y) == [0, 2]


def test_a_figure_for_print_is_dark_on_white_but_for_numbers_on_a_dark_ground() -> None:
    figure = charts.paper(charts.tournament({"a": {"a": [1.0, 9.0], "b": [9.0, 9.0]}}))
    assert figure.layout.paper_bgcolor == figure.layout.plot_bgcolor == "#ffffff"
    low, high = (note.font.color for note in figure.layout.annotations)
    assert low != high == "#ffffff"


def test_the_mean_outcome_of_a_group_lies_among_its_matches() -> None:
    line, dots, mean = charts.outcomes({"a": [(0, 2), (4, 6)]}).data
    assert list(line.x) == [0, 6] and list(dots.y) == [2, 6]
    assert (mean.x[0], mean.y[0]) == (2, 4) and mean.error_x.array[0] > 0


def test_a_chart_keeps_its_height_and_leaves_the_figure_alone() -> None:
    figure = charts.payoffs({"one": [1.0]})
    chart = charts.Chart(figure, height=260)
    output, style = chart.outputs
    assert "height: 100%" in style["data"]["text/html"]
    assert output["data"][charts.MIME]["layout"]["height"] == 260
    assert chart.layout.height == "260px" and figure.layout.height != 260
    chart.show(None)
    assert chart.outputs == () and chart.layout.height == "260px"
