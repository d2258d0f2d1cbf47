"""Small multiples: one panel per value of a factor, on the same axes, as many beside each other as there is room."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from negolab_widgets.charts.look import TONE, dressed, plain
from negolab_widgets.results.factor import Factor

if TYPE_CHECKING:
    import pandas as pd
    from plotly.graph_objects import Figure

NARROWEST = 300
"""Pixels that a panel needs."""
MOST_COLUMNS = 3
MOST_PANELS = 12
MOST_LINES = 3
"""Of a title."""
LONGEST_TICK = 22
"""Letters of a name along an axis; longer ones are cut."""
LETTER, LINE = 7.2, 19
"""Pixels of a letter and of a line of text, about."""
_HEADING, _GAP, _SIDE, _AXIS = 28, 46, 56, 52
"""Pixels: of a panel's heading, between rows, between columns, of the names below the last row."""

Place = dict[str, int]
"""Row and column, as plotly takes them."""


class Panels:
    """A figure with a panel for each code of the facet; without a facet, one panel. In pixels: `height` is a panel's,
    `top` what stands above all of them, `width` the whole figure's. `note` stands below; `ticks` are the names along
    the x axis, which slant where they are too long to stand beside each other."""

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
        from plotly.subplots import make_subplots

        self.facet, self.codes = facet, list(codes) if facet else [0]
        self._height = height
        self.columns = max(1, min(MOST_COLUMNS, len(self.codes), width // NARROWEST))
        self.rows = -(-len(self.codes) // self.columns)
        self.panel_width = (width - 80 - (self.columns - 1) * _SIDE) // self.columns
        heading = _HEADING if facet else 0
        self._slant = _slanted(ticks, self.panel_width)
        gap = _GAP + self._slant + heading
        self._inside = self.rows * height + (self.rows - 1) * gap
        self.figure: Figure = dressed(
            make_subplots(
                rows=self.rows,
                cols=self.columns,
                vertical_spacing=gap / self._inside if self.rows > 1 else 0,
                horizontal_spacing=_SIDE / width if self.columns > 1 else 0,
            ),
            still=False,
        )
        self.above = 1 + (heading + 4) / self._inside
        lines = wrap(note, max(24, int((width - 120) / LETTER)))
        below = _AXIS + self._slant + LINE * len(lines) + 6
        self.figure.update_layout(
            height=top + heading + self._inside + below, margin={"l": 8, "r": 12, "t": top + heading, "b": below}
        )
        self._head()
        self._note(lines)

    def place(self, code: int) -> Place:
        """Where the panel of a code is."""
        at = self.codes.index(code)
        return {"row": at // self.columns + 1, "col": at % self.columns + 1}

    def each(self, found: pd.DataFrame) -> Iterator[tuple[Place, pd.DataFrame]]:
        """The rows of each panel."""
        for code in self.codes:
            own = found if self.facet is None else found[found[self.facet.key] == code]
            yield self.place(code), own

    def axes(self, x: str, y: str, x_axis: dict[str, Any], y_axis: dict[str, Any]) -> None:
        """The same axes for all panels, titled at the left and at the bottom."""
        title = {"font": {"size": 14}, "standoff": 8}
        self.figure.update_xaxes(tickangle=-45 if self._slant else 0, **x_axis)
        self.figure.update_yaxes(**y_axis)
        for at, code in enumerate(self.codes):
            place = self.place(code)
            if at + self.columns >= len(self.codes):
                self.figure.update_xaxes(title={"text": titled(x, self.panel_width), **title}, **place)
            if place["col"] == 1:
                self.figure.update_yaxes(title={"text": titled(y, self._height), **title}, **place)
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
        where = {"x": 0, "xanchor": "left", "y": 1, "yanchor": "bottom", "yshift": 3, "showarrow": False}
        for code in self.codes if self.facet is not None else ():
            assert self.facet is not None
            text = f"{plain(self.facet.title)} = {plain(self.facet.texts[code])}"
            ends = {"xref": "x domain", "yref": "y domain", "font": {"size": 13, "color": TONE}}
            self.figure.add_annotation(text=text, **where, **ends, **self.place(code))

    def _note(self, lines: Sequence[str]) -> None:
        where = {"xref": "paper", "x": 0, "xanchor": "left", "yref": "paper", "y": 0, "yanchor": "top"}
        font = {"size": 13, "color": TONE}
        text = "<br>".join(plain(line, 400) for line in lines)
        self.figure.add_annotation(
            text=text, showarrow=False, align="left", yshift=-_AXIS - self._slant, font=font, name="note", **where
        )


def _slanted(ticks: Sequence[str], width: int) -> int:
    """Pixels that names need below where they do not fit beside each other; 0 where they do."""
    longest = max((LETTER * min(len(text), LONGEST_TICK) for text in ticks), default=0)
    return int(0.71 * longest) if longest > width / max(len(ticks), 1) - 6 else 0


def titled(text: str, room: int) -> str:
    """A title in as many lines as it needs."""
    return "<br>".join(plain(line, 200) for line in wrap(text, max(12, int(room / (LETTER + 0.6))))[:MOST_LINES])


def keyed(title: str, names: Iterable[str], width: int) -> int:
    """Pixels that a legend needs."""
    line = 16 + LETTER * len(title)
    lines = 1
    for name in names:
        item = 56 + LETTER * len(name)
        if line + item > width - 90:
            line, lines = 16 + LETTER * len(title), lines + 1
        line += item
    return 12 + LINE * lines


def legend(figure: Figure, factor: Factor | None) -> None:
    """Names at the top, in the room that `keyed` counted."""
    figure.update_layout(showlegend=factor is not None)
    if factor is not None:
        title = {"text": f"{plain(factor.title)}  ", "font": {"size": 13}}
        at = {"yref": "container", "y": 1, "yanchor": "top", "tracegroupgap": 0}
        figure.update_layout(legend={"title": title, **at})


def present(found: pd.DataFrame, factor: Factor | None) -> list[int]:
    """Which values of a factor there are, in its order."""
    return [] if factor is None else sorted({int(code) for code in found[factor.key]})


def counted(found: pd.DataFrame, things: str) -> str:
    """How many matches are behind each mark, and how many deals where they are fewer."""
    if found.empty:
        return "n = 0"
    deals = "" if (found["n"] == found["deals"]).all() else f" on {_span(found['deals'])} deals"
    return f"n = {_span(found['n'])} {things}{deals} each"


def _span(counts: pd.Series[Any]) -> str:
    low, high = int(counts.min()), int(counts.max())
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"
