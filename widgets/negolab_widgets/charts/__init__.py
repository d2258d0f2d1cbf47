"""Plotly figures from plain data, and `Chart`, the widget that shows one.

Plotly is imported where a figure is made: a page without one does not wait for it. One colour serves text and axes on
light and dark pages; a style sheet may override it. Names and texts of players are made plain here, not by callers.
"""

from __future__ import annotations

from negolab_widgets.charts.chart import CONFIG, MIME, Chart, mime
from negolab_widgets.charts.course import offers, rounds
from negolab_widgets.charts.exact import exact
from negolab_widgets.charts.forest import forest
from negolab_widgets.charts.frontiers import frontiers
from negolab_widgets.charts.look import COLOURS, HUES, SYMBOLS, TONE, plain
from negolab_widgets.charts.many import by_player, payoffs, shares
from negolab_widgets.charts.outcomes import outcomes
from negolab_widgets.charts.panels import panels
from negolab_widgets.charts.paper import paper
from negolab_widgets.charts.plane import Point, path
from negolab_widgets.charts.tournament import tournament, tournaments
from negolab_widgets.charts.trend import trend

__all__ = [
    "COLOURS",
    "CONFIG",
    "HUES",
    "MIME",
    "SYMBOLS",
    "TONE",
    "Chart",
    "Point",
    "by_player",
    "exact",
    "forest",
    "frontiers",
    "mime",
    "offers",
    "outcomes",
    "panels",
    "paper",
    "path",
    "payoffs",
    "plain",
    "rounds",
    "shares",
    "tournament",
    "tournaments",
    "trend",
]
