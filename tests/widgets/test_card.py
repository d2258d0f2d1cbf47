"""The card of a game in a notebook, and what saved notebooks keep of widgets and figures."""

from __future__ import annotations

import base64
import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from negolab_widgets import charts
from negolab_widgets.card import Card, render_card, sliders
from negolab_widgets.charts.picture import picture
from negolab_widgets.display import match as show_match
from negolab_widgets.display import run as show_run

import negolab as nl
from negolab.catalog import game_names
from tests.conftest import ROOT


def drawings(html: str) -> list[str]:
    """Decode the images of a piece of HTML."""
    return [base64.b64decode(code).decode() for code in re.findall(r'src="data:image/svg\+xml;base64,([^"]+)"', html)]


@pytest.mark.parametrize("game", game_names())
def test_a_game_is_a_card_with_its_sides_and_its_figure(game: str) -> None:
    text = render_card(nl.load(game))
    assert "Keeps private:" in text
    assert f"nl.load(&#34;{game}&#34;" in text
    about, figure = drawings(text)
    assert "<svg" in about
    assert "--nl-a-ink" in figure


@pytest.mark.parametrize("game", game_names())
def test_each_of_two_sliders_redraws_the_figure_and_writes_its_code(game: str) -> None:
    card = Card(nl.load(game))
    assert len(card._sliders) == 2
    for path, slider in card._sliders.items():
        before = card._figure.value
        slider.value = slider.max if slider.value == 0 else 0
        assert card._figure.value != before
        assert f"{path.partition('.')[0]}=" in card._code.value


def test_a_price_below_the_cost_leaves_nothing_to_gain() -> None:
    card = Card(nl.load("bargaining"))
    cost = card._sliders["seller_costs.*"]
    assert "even price $52.50" in card._figure.value
    cost.value = cost.values.index(7000)
    assert "No price pays both" in card._figure.value
    cost.value = cost.values.index(3000)
    assert "A deal gains $35.00 together" in card._figure.value


def test_what_is_private_follows_from_what_the_rules_can_redraw() -> None:
    one_sided, exact = (render_card(nl.load("bargaining", preset=name)) for name in ("one-sided", "exact"))
    private = re.compile(r"<b>Keeps private: </b>([^<]*)")
    assert private.findall(one_sided) == ["your cost $30.00", "nothing"]
    assert private.findall(exact) == ["nothing", "nothing"]
    assert private.findall(render_card(nl.load("split", preset="trust-and-split")))[1].startswith("your hand")


def test_a_game_of_a_users_own_has_a_card_without_figure_and_sliders() -> None:
    own = nl.load(str(ROOT / "tests" / "support" / "games" / "picnic.py"))
    card = Card(own)
    assert not card._sliders
    assert not [*sliders(own)]
    assert "Change this" not in render_card(own)
    assert "Keeps private:" in render_card(own)


def test_a_change_that_the_rules_refuse_is_shown_with_the_reason() -> None:
    card = Card(nl.load("bargaining", preset="one-sided"))
    cost = card._sliders["seller_costs.*"]
    assert "must contain" not in card._code.value
    cost.value = cost.values.index(4500)
    assert "buyer_told" in card._code.value and "must contain the true numbers" in card._code.value


def test_what_a_card_writes_can_be_run() -> None:
    for name in game_names():
        card = Card(nl.load(name))
        for slider in card._sliders.values():
            slider.value += 1 if slider.value < slider.max else -1
        if code := re.search(r"<code>(.*)</code>", card._code.value):
            assert isinstance(eval(unescape(code[1])), nl.Game)


def test_a_served_page_sends_no_picture_beside_the_widget(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[Any] = []
    monkeypatch.setattr("negolab_widgets.page.display", lambda shown, **_: sent.append(shown))
    card = Card(nl.load("split"))
    card._ipython_display_()
    assert [type(one).__name__ for one in sent] == ["HTML", "dict"]
    monkeypatch.setenv("NEGOLAB_SERVED", "1")
    card._ipython_display_()
    assert [type(one).__name__ for one in sent[2:]] == ["dict"]


def test_exploring_shows_the_same_card_at_full_size() -> None:
    card = nl.explore("trading")
    assert isinstance(card, Card)
    assert "nl-large" in card.children[2]._dom_classes


def test_a_page_keeps_what_it_shows(tmp_path: Path) -> None:
    match = nl.Match(nl.load("bargaining"), seed=1)
    assert "nl.play(match, players)" in show_match(match)
    nl.play(match, {seat: nl.player("linear", match.game) for seat in "AB"})
    assert "nl.replay(match)" in show_match(match)
    assert "Record of bargaining" in nl.replay(match).kept()
    run = nl.run("trading", "greedy-honest", "random-legal", n=2, out=tmp_path)
    assert "tables.matches(run.records())" in show_run(run)


FIGURES: dict[str, Any] = {
    "payoffs": lambda: charts.payoffs({"fair & <b>": [1, 2, 3], "greedy": [2, 3, 5]}, marks={"best": 4}),
    "shares": lambda: charts.shares({"a": (3, 10), "b": (7, 10)}),
    "outcomes": lambda: charts.outcomes({"a": [(1, 2), (2, 3)], "b": [(3, 1)]}, marks={"no deal": (0, 0)}),
    "tournament": lambda: charts.tournament({a: {b: [1, 2, 3] for b in "xy"} for a in "xy"}),
    "trend": lambda: charts.trend({"a": {0.1: [1, 2], 1: [2, 3], 10: [4, 5]}}, x="beta", y="payoff", log=True),
}


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_has_a_picture_without_a_script(name: str) -> None:
    figure = FIGURES[name]()
    (drawn,) = drawings(picture(figure.to_dict()) or "")
    assert "<path" in drawn
    assert "<script" not in drawn
    for axis in (figure.layout.xaxis, figure.layout.yaxis):
        for words in re.split(r"<br>", axis.title.text or ""):
            assert re.sub("[\u2066-\u2069]", "", words) in drawn.replace("&gt;", ">")


def test_a_mark_of_a_picture_is_where_its_value_is() -> None:
    (drawn,) = drawings(picture(charts.trend({"a": {1: [10, 10], 2: [30, 30]}}, x="x", y="y").to_dict()) or "")
    ticks = {float(words): float(y) for y, words in re.findall(r'y="([\d.]+)" text-anchor="end">([\d.]+)<', drawn)}
    heights = [float(y) for y in re.findall(r"translate\([\d.]+ ([\d.]+)\)", drawn)]
    assert heights[-2:] == [pytest.approx(ticks[value] - 4, abs=0.2) for value in (10, 30)]


def test_a_figure_of_somebody_elses_has_no_picture_of_ours() -> None:
    import plotly.graph_objects as go
    import plotly.io as pio

    charts.payoffs({"a": [1, 2]})
    shown = pio.renderers["negolab"]
    assert shown.to_mimebundle(go.Figure(go.Scatter(x=[1], y=[2])).to_dict()) == {}
    assert "text/html" in shown.to_mimebundle(charts.payoffs({"a": [1, 2]}).to_dict())
    assert picture(go.Figure(go.Pie(values=[1])).to_dict()) is None
