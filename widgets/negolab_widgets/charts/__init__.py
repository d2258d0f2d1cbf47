"""Plotly figures from plain data, and `Chart`, the widget that shows one.

Plotly is imported only when a figure is made, so a page without one does not wait for it. One color serves text and
axes on light and dark pages; a style sheet may override it. Players' names and texts are made plain here, not by
callers.
"""

from __future__ import annotations

from negolab_widgets.charts.chart import COLOURS, CONFIG, HUES, MIME, TONE, Chart, mime, paper, plain
from negolab_widgets.charts.estimates import exact, forest, panels, trend
from negolab_widgets.charts.payoffs import payoffs, shares
from negolab_widgets.charts.plane import anchoring, frontiers, outcomes
from negolab_widgets.charts.tournament import tournament, tournaments

__all__ = [
    "COLOURS",
    "CONFIG",
    "HUES",
    "MIME",
    "TONE",
    "Chart",
    "anchoring",
    "exact",
    "forest",
    "frontiers",
    "mime",
    "outcomes",
    "panels",
    "paper",
    "payoffs",
    "plain",
    "shares",
    "tournament",
    "tournaments",
    "trend",
]
