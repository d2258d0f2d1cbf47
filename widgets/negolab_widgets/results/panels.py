"""Small multiples (one panel per value of a factor, on the same axes) and the axes of figures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from math import isfinite, log10
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from negolab_widgets.charts.chart import plain
from negolab_widgets.charts.grid import Place, add_words, name_once, new_grid
from negolab_widgets.results.variables import Factor

if TYPE_CHECKING:
    import pandas as pd
    from plotly.graph_objects import Figure


MIN_PANEL = 300
"""Pixels that a panel needs."""
MAX_COLUMNS = 3
MAX_PANELS = 12
MAX_LINES = 3
"""Lines of a title."""
MAX_TICK = 22
"""Letters of a name along an axis; longer ones are cut."""
LETTER, LINE = 7.2, 19
"""Approximate pixels of a letter and of a line of text."""
_HEADING, _GAP, _SIDE, _AXIS = 28, 46, 56, 52
"""Pixels: of a panel's heading, between rows, between columns, of the names below the last row."""


class Panels:
    """A figure with a panel for each code of the facet; without a facet, one panel.

    Args:
        facet: The factor that parts the panels.
        codes: Its values.
        note: The text below the figure.
        width: Pixels of the whole figure.
        height: Pixels of a panel.
        top: Pixels above all panels.
        ticks: Names along the x axis, which slant where they are too long to stand beside each other.
    """

    def __init__(
        self,
        facet: Factor | None,
        codes: Sequence[int],
        note: str,
        *,
        width: int,
        height: int,
        top: int = 12,
        ticks: Sequence[str] = (),
    ) -> None:
        self.facet, self.codes = facet, list(codes) if facet else [0]
        self._height = height
        self.columns = max(1, min(MAX_COLUMNS, len(self.codes), width // MIN_PANEL))
        self.rows = -(-len(self.codes) // self.columns)
        self.panel_width = (width - 80 - (self.columns - 1) * _SIDE) // self.columns
        heading = _HEADING if facet else 0
        self._slant = _slant_room(ticks, self.panel_width)
        gap = _GAP + self._slant + heading
        self._inside = self.rows * height + (self.rows - 1) * gap
        apart: dict[str, Any] = {"shared_xaxes": False, "shared_yaxes": False, "horizontal_spacing": _SIDE / width}
        self.figure: Figure = new_grid(self.rows, self.columns, height=self._inside, gap=gap, still=False, **apart)
        self.above = 1 + (heading + 4) / self._inside
        lines = wrap(note, max(24, int((width - 120) / LETTER)))
        below = _AXIS + self._slant + LINE * len(lines) + 6
        self.figure.update_layout(
            height=top + heading + self._inside + below, margin={"l": 8, "r": 12, "t": top + heading, "b": below}
        )
        self._head()
        self._note(lines)

    def place(self, code: int) -> Place:
        """Return where the panel of a code is."""
        at = self.codes.index(code)
        return {"row": at // self.columns + 1, "col": at % self.columns + 1}

    def each(self, found: pd.DataFrame) -> Iterator[tuple[Place, pd.DataFrame]]:
        """Iterate over the panels with their rows."""
        for code in self.codes:
            own = found if self.facet is None else found[found[self.facet.key] == code]
            yield self.place(code), own

    def axes(self, x: str, y: str, x_axis: dict[str, Any], y_axis: dict[str, Any]) -> None:
        """Set the same axes for all panels, titled at the left and at the bottom."""
        title = {"font": {"size": 14}, "standoff": 8}
        self.figure.update_xaxes(tickangle=-45 if self._slant else 0, **x_axis)
        self.figure.update_yaxes(**y_axis)
        for at, code in enumerate(self.codes):
            place = self.place(code)
            if at + self.columns >= len(self.codes):
                self.figure.update_xaxes(title={"text": wrap_title(x, self.panel_width), **title}, **place)
            if place["col"] == 1:
                self.figure.update_yaxes(title={"text": wrap_title(y, self._height), **title}, **place)
            else:
                self.figure.update_yaxes(showticklabels=False, **place)
            if at:  # zooming one zooms all
                self.figure.update_xaxes(matches="x", **place)
                self.figure.update_yaxes(matches="y", **place)
        for empty in range(len(self.codes), self.rows * self.columns):
            place = {"row": self.rows, "col": empty % self.columns + 1}
            self.figure.update_xaxes(visible=False, **place)
            self.figure.update_yaxes(visible=False, **place)

    def _head(self) -> None:
        where = {
            "xref": "x domain",
            "x": 0,
            "xanchor": "left",
            "yref": "y domain",
            "y": 1,
            "yanchor": "bottom",
            "yshift": 3,
        }
        for code in self.codes if self.facet is not None else ():
            assert self.facet is not None
            text = f"{plain(self.facet.title)} = {plain(self.facet.texts[code])}"
            add_words(self.figure, text, {**where, **self.place(code)})

    def _note(self, lines: Sequence[str]) -> None:
        where = {"xref": "paper", "x": 0, "xanchor": "left", "yref": "paper", "y": 0, "yanchor": "top"}
        text = "<br>".join(plain(line, 400) for line in lines)
        add_words(self.figure, text, {**where, "align": "left", "yshift": -_AXIS - self._slant, "name": "note"})


def _slant_room(ticks: Sequence[str], width: int) -> int:
    """Return the pixels that slanted names need; 0 where names fit beside each other."""
    longest = max((LETTER * min(len(text), MAX_TICK) for text in ticks), default=0)
    return int(0.71 * longest) if longest > width / max(len(ticks), 1) - 6 else 0


def wrap_title(text: str, room: int) -> str:
    """Break a title into as many lines as it needs."""
    return "<br>".join(plain(line, 200) for line in wrap(text, max(12, int(room / (LETTER + 0.6))))[:MAX_LINES])


def legend_height(title: str, names: Iterable[str], width: int) -> int:
    """Return the pixels that a legend needs."""
    line = 16 + LETTER * len(title)
    lines = 1
    for name in names:
        item = 56 + LETTER * len(name)
        if line + item > width - 90:
            line, lines = 16 + LETTER * len(title), lines + 1
        line += item
    return 12 + LINE * lines


def legend(figure: Figure, factor: Factor | None) -> None:
    """Put a legend at the top, in the room that `legend_height` counted."""
    name_once(figure)
    figure.update_layout(showlegend=factor is not None)
    if factor is not None:
        title = {"text": f"{plain(factor.title)}  ", "font": {"size": 13}}
        at = {"yref": "container", "y": 1, "yanchor": "top", "tracegroupgap": 0}
        figure.update_layout(legend={"title": title, **at})


def present_codes(found: pd.DataFrame, factor: Factor | None) -> list[int]:
    """List which values of a factor there are, in its order."""
    return [] if factor is None else sorted({int(code) for code in found[factor.key]})


SERIES_OFFSET = 0.012
"""Part of an axis by which marks of two series stand apart, so that one does not hide the other."""
LOG_RATIO = 25
"""An axis is logarithmic if its last number is that many times its first."""


class XAxis:
    """The x axis: at the numbers of a factor that has numbers, else one place per name.

    Marks of different series stand a little apart.
    """

    def __init__(self, x: Factor | None, shown: Sequence[int], width: int) -> None:
        self._x, self._shown, self._width = x, list(shown) or [0], width
        self.numbers = x.places if x is not None else None
        self._places = [self.numbers[code] for code in self._shown] if self.numbers else []
        self.log = bool(self._places) and self._places[0] > 0 and self._places[-1] / self._places[0] >= LOG_RATIO
        self._scaled = [log10(place) if self.log else place for place in self._places]

    def at(self, code: int, series: int, many: int) -> float:
        """Return where a mark of series `series` of `many` stands."""
        aside = series - (many - 1) / 2
        if not self.numbers:
            return self._shown.index(code) + aside * min(0.14, 0.6 / many)
        place = self._scaled[self._shown.index(code)] + aside * min(SERIES_OFFSET, 0.08 / many) * self._length()
        return float(10**place) if self.log else place

    def axis(self) -> dict[str, Any]:
        """Return the axis as plotly takes it."""
        if not self.numbers:
            return {**category_axis(self._x, self._shown), "range": [-0.5, len(self._shown) - 0.5]}
        room = 0.07 * self._length()
        ends = {"range": [self._scaled[0] - room, self._scaled[-1] + room]}
        return {"type": "log" if self.log else "linear", **ends, **(self._ticks() if self._apart() else {})}

    def _ticks(self) -> dict[str, Any]:
        return {"tickvals": self._places, "ticktext": list(map(plain, tick_texts(self._x, self._shown)))}

    def _length(self) -> float:
        return (self._scaled[-1] - self._scaled[0]) or 1

    def _apart(self) -> bool:
        """Return True if ticks at the numbers themselves can be read."""
        gaps = [b - a for a, b in pairwise(self._scaled)]
        return not gaps or min(gaps) / self._length() * self._width >= 26


def tick_texts(factor: Factor | None, shown: Sequence[int]) -> list[str]:
    """List the names of an axis that has a place for each value."""
    return [factor.texts[code] for code in shown] if factor else []


def category_axis(factor: Factor | None, shown: Sequence[int]) -> dict[str, Any]:
    """Return an axis with a named place for each value."""
    if factor is None:
        return {"showticklabels": False, "showgrid": False}
    texts = [plain(factor.texts[code], MAX_TICK) for code in shown]
    return {"tickvals": list(range(len(texts))), "ticktext": texts}


def padded_range(numbers: Iterable[float]) -> dict[str, Any]:
    """Return an axis from the least to the largest of these numbers, with some room."""
    there = [number for number in numbers if isfinite(number)]
    low, high = min(there, default=0.0), max(there, default=1.0)
    room = 0.06 * (high - low) or abs(high) * 0.1 or 0.5
    return {"range": [low - room, high + room]}
