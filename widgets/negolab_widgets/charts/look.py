"""One look for all figures: colours, axes, and text that plotly does not read as markup."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from math import isnan
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from negolab.game import Seat

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

COLOURS: dict[Seat, str] = {"A": "#0d8a69", "B": "#c45c00"}
"""The seats' colours: above 4:1 on white and on #14191f, and apart for the colour-blind, as are the symbols."""
SYMBOLS: dict[Seat, str] = {"A": "circle", "B": "square"}
HUES = ("#2f7fc1", "#b8509a", "#8d7a14", "#0d8a69", "#c45c00")
"""Groups of matches, in the order given; no seat is meant by them. As readable as the seats' colours."""
TONE = "#6c7884"
GRID = "rgba(108, 120, 132, 0.25)"
FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, sans-serif'
CLEAR = "rgba(0, 0, 0, 0)"

LONGEST_LABEL, LONGEST_HOVER = 40, 240
_UNSEEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]+")


def plain(text: object, most: int = LONGEST_LABEL) -> str:
    """Text for a label: plotly reads tags and entities in all text. Control and direction characters go, the rest is
    cut to `most` characters in its middle, and its direction is isolated from its surroundings."""
    clean = " ".join(_UNSEEN.sub(" ", str(text)).split())
    return f"\u2068{escape(_shortened(clean, most), quote=False)}\u2069"


def _shortened(text: str, most: int) -> str:
    """The two ends of a long text: names that differ do so at either."""
    if len(text) <= most:
        return text
    tail = most // 3
    return f"{text[: most - 1 - tail]}\N{HORIZONTAL ELLIPSIS}{text[len(text) - tail :]}"


def wrapped(text: str, most: int = LONGEST_HOVER) -> str:
    """Text for a hover box, in short lines."""
    clean = " ".join(_UNSEEN.sub(" ", text).split())
    if len(clean) > most:
        clean = clean[: most - 1] + "\N{HORIZONTAL ELLIPSIS}"
    return "<br>".join(plain(line, most) for line in wrap(clean, 44))


def bars(estimates: Iterable[Sequence[float]], hue: str, *, width: float = 4) -> dict[str, Any]:
    """The intervals of estimates (value, low, high), as plotly's error bars; one that is not known (NaN) has none."""
    ends = [(value - low, high - value) for value, low, high, *_ in estimates]
    return {
        "type": "data",
        "symmetric": False,
        "array": [0 if isnan(up) else up for _, up in ends],
        "arrayminus": [0 if isnan(down) else down for down, _ in ends],
        "color": hue,
        "thickness": 1.5,
        "width": width,
    }


def figure_of(x: str, y: str, *, still: bool = False) -> Figure:
    import plotly.graph_objects as go

    figure = dressed(go.Figure(), still=still)
    figure.update_xaxes(title={"text": x})
    figure.update_yaxes(title={"text": y})
    return figure


def dressed(figure: Figure, *, still: bool) -> Figure:
    """One look for all. `still`: no zoom, so that a finger on a phone scrolls the page."""
    legend = {
        "orientation": "h",
        "x": 0,
        "xanchor": "left",
        "y": 1.02,
        "yanchor": "bottom",
        "font": {"size": 13},
    }
    figure.update_layout(
        template={},
        font={"family": FONT, "size": 13, "color": TONE},
        paper_bgcolor=CLEAR,
        plot_bgcolor=CLEAR,
        margin={"l": 8, "r": 12, "t": 8, "b": 8},
        legend=legend,
        height=320,
        autosize=True,
        hovermode="closest",
        dragmode=False if still else "zoom",
    )
    axis = {
        "automargin": True,
        "gridcolor": GRID,
        "linecolor": GRID,
        "showline": True,
        "zeroline": False,
        "fixedrange": still,
    }
    figure.update_xaxes(**axis, title={"standoff": 8})
    figure.update_yaxes(**axis, title={"standoff": 8})
    return figure
