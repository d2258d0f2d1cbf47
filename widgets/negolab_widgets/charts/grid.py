"""Parts shared by figures of estimates: axes in rows and columns, series of marks with their intervals, and a legend
that names each series once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from negolab.analysis.estimates import row_estimate
from negolab.analysis.observations import sample_text
from negolab.formatting import format_interval, format_significant
from negolab_widgets.charts.chart import HUES, TONE, apply_style, error_bars, plain

if TYPE_CHECKING:
    import pandas as pd
    from plotly.graph_objects import Figure

SHAPES = ("circle", "square", "diamond", "triangle-up", "cross", "x", "pentagon", "star")
"""Symbols of series; combined with the colors, they tell forty series apart."""
DASHES = ("dot", "dash", "dashdot", "longdash")
"""Line styles for known values; those of estimates are solid."""

Place = dict[str, Any]
"""Row and column, as Plotly takes them."""


def new_grid(rows: int, columns: int, *, height: float, gap: float = 0, still: bool = True, **more: Any) -> Figure:
    """Make a figure with axes in rows and columns.

    Args:
        rows, columns: Number of rows and columns; at least one each.
        height: Height in pixels to which `gap` is relative: that of the axes, possibly with their surroundings.
        gap: Space between two rows in pixels.
        still: No zoom.
        more: Further options of `make_subplots`; default: all axes share their ticks.
    """
    from plotly.subplots import make_subplots

    options = {"shared_xaxes": "all", "shared_yaxes": "all", "horizontal_spacing": 0.03, **more}
    options["vertical_spacing"] = gap / height if rows > 1 else 0
    return apply_style(make_subplots(max(rows, 1), max(columns, 1), **options), still=still)


class Grid:
    """A figure with a panel for each value of two columns of its frames.

    Args:
        rows, columns: The column of the frames whose values define the rows (or columns) of panels, with those values;
            a column that a frame lacks splits nothing.
        options: Same as in `new_grid`.
    """

    def __init__(self, rows: tuple[str, Sequence[Any]], columns: tuple[str, Sequence[Any]], **options: Any) -> None:
        self._sides = rows, columns
        self.figure = new_grid(len(rows[1]), len(columns[1]), **options)

    def panels(self) -> Iterator[tuple[Place, tuple[Any, Any]]]:
        """Yield the place of each panel and its two values."""
        (_, rows), (_, columns) = self._sides
        for i, of_row in enumerate(rows, 1):
            for j, of_column in enumerate(columns, 1):
                yield {"row": i, "col": j}, (of_row, of_column)

    def part(self, frame: pd.DataFrame, key: tuple[Any, Any]) -> pd.DataFrame:
        """Return the rows of a frame that belong to a panel."""
        for (column, _), value in zip(self._sides, key, strict=True):
            frame = rows_where(frame, column, value)
        return frame


def rows_where(frame: pd.DataFrame, column: str, value: Any) -> pd.DataFrame:
    """Return the rows with this value; all of them if there is no such column."""
    return frame[frame[column] == value] if column in frame else frame


def distinct(frame: pd.DataFrame, column: str) -> list[Any]:
    """List the distinct values of a column in order."""
    return list(dict.fromkeys(frame[column])) if column in frame else []


def mark_of(at: int, size: float = 8) -> dict[str, Any]:
    """Return the marker for a series, given its number."""
    return {"color": HUES[at % len(HUES)], "symbol": SHAPES[at % len(SHAPES)], "size": size}


def add_estimates(
    figure: Figure,
    at: int,
    x: Iterable[Any],
    y: Iterable[float],
    bars: Mapping[str, Iterable[Sequence[Any]]],
    *,
    line: Mapping[str, Any] | None = None,
    size: float = 8,
    thin: float = 4,
    **more: Any,
) -> None:
    """Draw a series of estimates with its own color and symbol.

    Args:
        figure: The figure.
        at: The series's number.
        x, y: Positions of the marks.
        bars: Estimates (value, low, high) whose intervals are drawn, keyed by `error_x` or `error_y`.
        line: Style of the line that joins the marks (None: no line).
        size: Size of a mark in pixels.
        thin: Width of an interval's end caps in pixels.
        more: Further options of `add_scatter`, such as the name and the hover texts.
    """
    marker = mark_of(at, size)
    intervals = {name: error_bars(estimates, marker["color"], width=thin) for name, estimates in bars.items()}
    joined = (
        {"mode": "markers"} if line is None else {"mode": "lines+markers", "line": {"color": marker["color"], **line}}
    )
    look = {"marker": marker, "legendgroup": str(at), "hoverinfo": "text", **joined, **intervals, **more}
    figure.add_scatter(x=list(x), y=list(y), **look)


def name_once(figure: Figure) -> None:
    """Name a series drawn in several panels in the legend only once, where it is drawn first."""
    named: set[str] = set()
    for trace in figure.data:
        if trace.legendgroup is not None:
            trace.showlegend = trace.legendgroup not in named
            named.add(trace.legendgroup)


def add_words(figure: Figure, text: str, place: Mapping[str, Any], size: int = 13) -> None:
    """Write text on a figure in the color of its axes."""
    figure.add_annotation(text=text, showarrow=False, font={"color": TONE, "size": size}, **place)


def add_known(figure: Figure, x: Sequence[Any], y: Sequence[float], words: str, dash: str, **more: Any) -> None:
    """Draw a line for something known, such as an exact result, alongside the estimates; `words` appear on hover."""
    line = {"color": TONE, "width": 1.5, "dash": dash}
    figure.add_scatter(x=x, y=y, mode="lines", line=line, hovertext=[words] * len(x), hoverinfo="text", **more)


def add_level(figure: Figure, y: float, words: str) -> None:
    """Draw a horizontal line through the whole figure, with words at its right end."""
    figure.add_hline(y, line={"color": TONE, "width": 1})
    add_words(figure, words, {"xref": "paper", "x": 1, "xanchor": "right", "y": y, "yanchor": "bottom"})


def estimate_words(name: str, estimate: Any) -> str:
    """Describe an estimate (a row of a frame) for hover: its value, its interval, and what it is based on."""
    interval = format_interval(estimate.low, estimate.high)
    return f"{name}<br>{format_significant(estimate.value, 5)}{interval}, {sample_text(row_estimate(estimate))}"


def count_text(n: Iterable[int], draws: Iterable[float | None], things: str = "") -> str:
    """Say how many matches are behind each mark and, if known, how many draws; 0 means that nothing was drawn."""
    known = [int(count) for count in draws if count is not None and count == count]
    if known and not any(known):
        return f"n = {range_text(n)} (known exactly: nothing is random)"
    on = f" on {range_text(known)} draw{'' if set(known) == {1} else 's'}" if known else ""
    return f"n = {range_text(n)}{things}{on}"


def bars_text(words: str, low: Iterable[float], draws: Iterable[float | None]) -> str:
    """Describe how intervals are drawn, or say why no mark has one; for exact values, `count_text` says so."""
    if any(bound == bound for bound in low):
        return f"; {words}"
    return "" if {*draws} == {0} else "; no intervals: a single draw, or the same value on all"


def add_basis(figure: Figure, frame: pd.DataFrame, low: str, bars: str, below: int) -> None:
    """Write below a figure what its marks are based on: matches, draws, and intervals with the lower bounds `low`.

    Args:
        figure: The figure.
        frame: A row per mark; without a column `n`, nothing is written.
        low: The column with the lower bounds.
        bars: Words for the intervals.
        below: Distance from the axes in pixels.
    """
    if counts := [count for count in frame.get("n", ()) if count]:
        draws = list(frame.get("draws", ()))
        text = f"{count_text(counts, draws)} per mark{bars_text(f'bars are {plain(bars)}', frame[low], draws)}"
        corner = {"xref": "paper", "yref": "paper", "x": 0, "y": 0, "xanchor": "left", "yanchor": "top"}
        add_words(figure, text, {**corner, "yshift": -below})


def range_text(counts: Iterable[int]) -> str:
    """Format counts as one number or as a range from smallest to largest; "0" for none."""
    known = [int(count) for count in counts]
    low, high = min(known, default=0), max(known, default=0)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def value_text(value: Any) -> str:
    """Format a value of a column as part of a title."""
    return f"{value:g}" if isinstance(value, int | float) and not isinstance(value, bool) else str(value)


def level_words(name: str, level: float) -> str:
    """Describe something known, such as an exact result."""
    return f"{plain(name)}: {format_significant(level, 5)}"
