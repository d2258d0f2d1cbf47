"""The widget that shows a figure, and the style that all figures share."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from functools import cache
from html import escape
from math import isnan
from typing import TYPE_CHECKING, Any

import ipywidgets as w

from negolab.game import Seat
from negolab_widgets.charts.picture import picture
from negolab_widgets.html import Markup

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


MIME = "application/vnd.plotly.v1+json"
CONFIG = {"displayModeBar": False, "responsive": True, "typesetMath": False}
"""No toolbar, the width of the page, and no `$` in text is taken for math."""


_AREA = ".nl-chart .jp-OutputArea"
_STYLE = f"<style>{_AREA}, {_AREA}-child, {_AREA}-output {{ height: 100%; margin: 0; padding: 0; }}</style>"
"""A figure fills the height of its container, as it does the width; without this, the container has no height."""


class Chart(w.Output):  # type: ignore[misc]
    """A container of fixed height for one figure; nothing on the page moves when the figure changes.

    Args:
        figure: A Plotly figure (None: an empty container).
        height: Height in pixels.
    """

    def __init__(self, figure: Figure | None = None, *, height: int = 320) -> None:
        super().__init__()
        self.layout.height, self.layout.width, self.layout.overflow = f"{height}px", "100%", "hidden"
        self._height = height
        self.add_class("nl-chart")
        self.show(figure)

    def show(self, figure: Figure | None, *, height: int | None = None) -> None:
        """Replace the figure (None: an empty container); a new height, if given, stays in effect."""
        if height is not None and height != self._height:
            self._height = height
            self.layout.height = f"{height}px"
        if figure is None:
            self.outputs: tuple[dict[str, Any], ...] = ()
            return
        # The height is set only in what is sent, so the caller's figure stays unchanged.
        bundle = mime(figure)
        bundle[MIME]["layout"]["height"] = self._height
        self.outputs = (_display(bundle), _display({"text/html": _STYLE}))

    def kept(self) -> Markup:
        """Return a picture of the figure for a saved notebook."""
        return (self.outputs and picture(self.outputs[0]["data"][MIME])) or Markup("")


def mime(figure: Figure) -> dict[str, Any]:
    """Convert a figure to a display bundle of plain JSON, which the page's own Plotly draws without a network."""
    return {MIME: {**json.loads(figure.to_json()), "config": dict(CONFIG)}}


def _display(bundle: dict[str, Any]) -> dict[str, Any]:
    return {"output_type": "display_data", "data": bundle, "metadata": {}}


COLOURS: dict[Seat, str] = {"A": "#0d8a69", "B": "#c45c00"}
"""The seats' colors, with a contrast above 4:1 on white and on #14191f, and distinct for color-blind readers."""
HUES = ("#2f7fc1", "#b8509a", "#8d7a14", "#0d8a69", "#c45c00")
"""Colors for groups of matches, in the order given, not tied to a seat; as readable as the seats' colors."""
TONE = "#6c7884"
GRID = "rgba(108, 120, 132, 0.25)"
FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, sans-serif'
CLEAR = "rgba(0, 0, 0, 0)"

MAX_LABEL = 40
_UNSEEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]+")


def plain(text: object, most: int = MAX_LABEL) -> str:
    """Convert text for a label, because Plotly interprets tags and entities in all text.

    Control and direction characters are removed, the rest is cut in the middle to `most` characters, and its direction
    is isolated from its surroundings.
    """
    clean = " ".join(_UNSEEN.sub(" ", str(text)).split())
    return f"\u2068{escape(shorten(clean, most), quote=False)}\u2069"


def shorten(text: str, most: int) -> str:
    """Keep both ends of a long text, because that is where names differ."""
    if len(text) <= most:
        return text
    tail = most // 3
    return f"{text[: most - 1 - tail]}\N{HORIZONTAL ELLIPSIS}{text[len(text) - tail :]}"


def error_bars(estimates: Iterable[Sequence[Any]], hue: str, *, width: float = 4) -> dict[str, Any]:
    """Convert estimates (value, low, high) to Plotly's error bars; an unknown bound (NaN) has no bar."""
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


def new_figure(x: str, y: str, *, still: bool = False) -> Figure:
    """Make an empty figure with titled axes."""
    import plotly.graph_objects as go

    figure = apply_style(go.Figure(), still=still)
    figure.update_xaxes(title={"text": x})
    figure.update_yaxes(title={"text": y})
    return figure


@cache
def _keep_pictures() -> None:
    """Let Plotly send a static picture along with a figure in a notebook, unless the user chose how figures are
    shown."""
    import plotly.io as pio
    from plotly.io.base_renderers import MimetypeRenderer

    class Picture(MimetypeRenderer):  # type: ignore[misc]
        def to_mimebundle(self, figure: dict[str, Any]) -> dict[str, str]:
            is_ours = figure["layout"].get("font", {}).get("family") == FONT
            drawn = picture(figure) if is_ours else None
            return {} if drawn is None else {"text/html": drawn}

    pio.renderers["negolab"] = Picture()
    if pio.renderers.default == "plotly_mimetype":
        pio.renderers.default += "+negolab"


def apply_style(figure: Figure, *, still: bool) -> Figure:
    """Give a figure the style that all share; if `still`, it cannot be zoomed, so that a finger on a phone scrolls the
    page."""
    _keep_pictures()
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


_INK, _PAPER = "#22272c", "#ffffff"


def paper(figure: Figure) -> Figure:
    """Restyle a figure for print, dark on white with framed axes, and return it."""
    figure.update_layout(paper_bgcolor=_PAPER, plot_bgcolor=_PAPER, font={"color": _INK})
    # Anything with its own color, such as numbers on a dark background, keeps it.
    figure.for_each_annotation(
        lambda note: note.update(font={"color": _INK}) if note.font.color in (None, TONE) else None
    )
    for update in (figure.update_xaxes, figure.update_yaxes):
        update(linecolor=_INK, mirror=True, ticks="outside", tickcolor=_INK)
    return figure
