"""The static picture of a Plotly figure that a saved notebook keeps: SVG of the elements that our charts use, without
Plotly's script. It is an image inside HTML, which code hosts and untrusted notebooks also show."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, partial
from html import unescape
from importlib.resources import files
from itertools import pairwise
from math import log10
from typing import TYPE_CHECKING, Any

from negolab_widgets.axis import Axis
from negolab_widgets.html import Markup, image

if TYPE_CHECKING:
    from jinja2 import Template

Plain = Mapping[str, Any]
_KINDS = {"scatter", "bar", "heatmap"}
WIDTH, _LETTER, _LINE = 700, 6.6, 17
"""In pixels: width of a picture, width of a letter, and height of a line."""
_LOOK = {
    "ink": "#6c7884",
    "thin": {"color": "#6c788440", "width": 1},
    "dashes": {"dot": "2 4", "dash": "7 4", "dashdot": "7 3 2 3", "longdash": "12 4"},
    "outlines": {
        "circle": "M-1 0A1 1 0 1 1 1 0A1 1 0 1 1-1 0",
        "square": "M-1-1H1V1H-1z",
        "diamond": "M0-1.3L1.3 0 0 1.3-1.3 0z",
        "triangle-up": "M0-1.2L1.1.8H-1.1z",
        "cross": "M-.4-1H.4V-.4H1V.4H.4V1H-.4V.4H-1V-.4H-.4z",
        "x": "M-1-.5L-.5-1 0-.5.5-1 1-.5.5 0 1 .5.5 1 0 .5-.5 1-1 .5-.5 0z",
        "x-thin": "M-1-1L1 1M1-1L-1 1",
        "line-ew": "M-1 0H1",
        "star": "M0-1.4L.4-.4 1.4-.4.6.3.9 1.2 0 .7-.9 1.2-.6.3-1.4-.4-.4-.4z",
        "pentagon": "M0-1.2L1.15-.37.7 1H-.7L-1.15-.37z",
    },
}


@cache
def _template() -> Template:
    """Return the template of the drawing, which lays it out; this module supplies positions and scales."""
    from jinja2 import Environment

    text = files("negolab_widgets").joinpath("charts/picture.svg.j2").read_text("utf-8")
    return Environment(autoescape=True).from_string(text)


def picture(figure: Plain) -> Markup | None:
    """Draw a figure, given as plain data, as an image; None if it has elements that our charts do not use."""
    traces, layout = figure["data"], figure["layout"]
    is_packed = any(isinstance(trace.get(name), Mapping) for trace in traces for name in "xyz")
    if is_packed or not {trace["type"] for trace in traces} <= _KINDS:
        return None
    height, legend = layout.get("height") or 320, [*_legend(traces, layout)]
    edges = _edges(layout, height, legend)
    names = dict.fromkeys((trace.get("xaxis") or "x", trace.get("yaxis") or "y") for trace in traces) or {
        ("x", "y"): None
    }
    told = {name: layout[f"{name[0]}axis{name[1:]}"] for pair in names for name in pair}
    axes = {name: _axis(name, told[name], traces, edges) for name in told}
    drawn = _template().render(
        **_LOOK,
        traces=traces,
        layout=layout,
        legend=legend,
        axes=axes,
        width=WIDTH,
        height=height,
        panels=[[(axes[name], told[name]) for name in pair] for pair in names],
        spot=partial(_spot, axes, edges),
        places=_places,
        joints=_joints,
        blend=_blend,
        lines=_lines,
        title=_title,
        plain=_words,
        at=lambda of, k: of[k] if isinstance(of, list | tuple) else of,
    )
    words = " and ".join(" ".join(_title(axis)) for axis in reversed(told.values()) if _title(axis))
    return image(drawn, f"Figure: {words}")


def _lines(text: str | None) -> list[str]:
    """Split a Plotly text into its lines, without tags and direction marks."""
    parts = re.split(r"<br ?/?>", text or "")
    return [unescape(re.sub(r"<[^>]+>|[\u2066-\u2069]", "", part)) for part in parts if part]


def _words(text: str | None) -> str:
    return " ".join(_lines(text))


def _title(of: Plain) -> list[str]:
    return _lines(of.get("title", {}).get("text"))


Edges = tuple[float, float, float, float]
"""Left, right, bottom and top of the area of all axes."""


def _edges(layout: Plain, height: float, legend: Sequence[tuple[Plain, float, int]]) -> Edges:
    beside, margin = layout["yaxis"], layout.get("margin", {})
    longest = max(len(_words(text)) for text in ["1,000", *beside.get("ticktext", ())])
    left = 14 + _LINE * bool(_title(beside)) + longest * _LETTER * beside.get("showticklabels", True)
    top = max(margin.get("t", 8), 10 + _LINE * (max((row for *_, row in legend), default=-1) + 1))
    return left, WIDTH - 16, height - max(margin.get("b", 8), 30 + _LINE * len(_title(layout["xaxis"]))), top


def _axis(name: str, told: Plain, traces: Sequence[Plain], edges: Edges) -> Axis:
    """Return an axis, such as `x2`, with the ends given or those of what is drawn on it."""
    letter, is_log = name[0], told.get("type") == "log"
    own = [trace for trace in traces if (trace.get(f"{letter}axis") or letter) == name]
    reached = [log10(value) if is_log else value for trace in own for value in _reach(trace, letter)]
    low, high = min(reached, default=0), max(reached, default=1)
    room = 0 if any(trace["type"] == "heatmap" for trace in own) else 0.06 * (high - low) or 1
    low, high = told.get("range") or (low - room, high + room)
    first, last = edges[:2] if letter == "x" else edges[2:]
    start, end = (first + (last - first) * share for share in told.get("domain") or (0, 1))
    named = [*zip(told.get("tickvals", ()), map(_words, told.get("ticktext", ())), strict=False)]
    if told.get("autorange") == "reversed":
        low, high = high, low
    return Axis(low, high, start, end, is_log, named)


def _reach(trace: Plain, letter: str) -> Iterator[float]:
    """Yield a trace's values on an axis, including the ends of its intervals and the base of its bars."""
    if trace["type"] == "heatmap":
        yield from (-0.5, len(trace["z"] if letter == "y" else trace["z"][0]) - 0.5)
        return
    values, bars = trace[letter], trace.get(f"error_{letter}", {})
    none = [0] * len(values)
    for value, more, less in zip(values, bars.get("array", none), bars.get("arrayminus", none), strict=True):
        if value is not None:
            yield from (value - less, value + more)
    if trace["type"] == "bar" and letter == ("x" if trace.get("orientation") == "h" else "y"):
        yield 0


def _legend(traces: Sequence[Plain], layout: Plain) -> Iterator[tuple[Plain, float, int]]:
    """Yield each trace that the legend names, with its position and row."""
    x, row = 8.0, 0
    for trace in traces if layout.get("showlegend", len(traces) > 1) else ():
        if trace.get("name") and trace.get("showlegend", True):
            width = 42 + _LETTER * len(_words(trace["name"]))
            x, row = (8.0, row + 1) if x > 8 and x + width > WIDTH else (x, row)
            yield trace, x, row
            x += width


def _spot(axes: Mapping[str, Axis], edges: Edges, of: Plain, end: str = "x") -> float:
    """Return the position of an annotation or shape: a value on an axis, or a fraction of it or of the whole."""
    name, _, is_share = (of.get(f"{end[0]}ref") or end[0]).partition(" ")
    axis = axes.get(name) or Axis(0, 1, *(edges[:2] if end[0] == "x" else edges[2:]))
    return axis.start + (axis.end - axis.start) * of[end] if is_share else axis.place(of[end])


def _places(trace: Plain, x: Axis, y: Axis) -> list[tuple[int, float, float]]:
    pairs = enumerate(zip(trace["x"], trace["y"], strict=True))
    return [(k, x.place(a), y.place(b)) for k, (a, b) in pairs if None not in (a, b)]


def _joints(trace: Plain, x: Axis, y: Axis) -> list[tuple[float, ...]]:
    return [(*start, *end[1:]) for start, end in pairwise(_places(trace, x, y))]


def _blend(trace: Plain, value: float) -> str:
    """Return the color of a value on a matrix's scale, which runs from its smallest value through the middle to its
    largest."""
    share = (value - trace["zmin"]) / ((trace["zmax"] - trace["zmin"]) or 1) * 2
    colours = [colour for _, colour in trace["colorscale"]][int(share >= 1) :]
    return f"color-mix(in srgb, {colours[1]} {100 * min(max(share - (share >= 1), 0), 1):.0f}%, {colours[0]})"
