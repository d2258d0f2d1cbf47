"""Estimates over one parameter: small multiples by further parameters, and means with curves of theory beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from negolab.analysis.observations import Sample, Values, as_sample, sample_text
from negolab.formatting import format_interval, format_significant
from negolab_widgets.charts.chart import HUES, TONE, apply_style, error_bars, new_figure, plain

if TYPE_CHECKING:
    import pandas as pd
    from plotly.graph_objects import Figure


_SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross")
_DASHES = ("dash", "dot", "dashdot", "longdash")
Panel = tuple[Any, Any]
"""Row and column of a panel, as the frame says them."""


def panels(
    frame: pd.DataFrame,
    *,
    x: str,
    colour: str,
    row: str,
    column: str,
    titles: Mapping[str, str],
    y: str,
    levels: Mapping[str, Mapping[Panel, float]] | None = None,
    reach: tuple[float, float] | None = None,
    log: bool = False,
) -> Figure:
    """Draw a line of estimates per value of `colour`, with intervals, in a panel per `row` and `column`.

    Args:
        frame: A row per estimate with the four columns and `value`, `low`, `high`, `n`.
        x, colour, row, column: Columns of the frame.
        titles: Words for them: with the unit for `x`, and for the others with {} where the value goes.
        y: Title of what is drawn.
        levels: Exact results or reference points by panel, drawn as level lines.
        reach: Ends of the y axis.
        log: Draw `x` on a logarithmic axis.
    """
    rows, columns, hues, places = (sorted(frame[name].unique().tolist()) for name in (row, column, colour, x))
    figure = _grid(max(len(rows), 1), max(len(columns), 1))
    for i, of_row in enumerate(rows):
        for j, of_column in enumerate(columns):
            place = {"row": i + 1, "col": j + 1}
            known = {name: by[of_row, of_column] for name, by in (levels or {}).items() if (of_row, of_column) in by}
            for at, name in enumerate(levels or {}):
                if name in known:
                    _add_level(figure, name, known[name], places, _DASHES[at % len(_DASHES)], place)
            here = frame[(frame[row] == of_row) & (frame[column] == of_column)]
            for at, hue in enumerate(hues):
                label = _fill_title(titles[colour], hue)
                _add_line(figure, here[here[colour] == hue].sort_values(x), x, label, at, place)
    _name_once(figure)
    _title(figure, [_fill_title(titles[column], value) for value in columns], "x")
    _title(figure, [_fill_title(titles[row], value) for value in rows], "y")
    figure.update_xaxes(
        type="log" if log else None, tickvals=places, ticktext=[plain(_format_value(place)) for place in places]
    )
    figure.update_xaxes(title={"text": plain(titles[x], 60)}, row=max(len(rows), 1))
    figure.update_yaxes(title={"text": plain(y, 60)}, col=1)
    figure.update_yaxes(range=reach)
    return figure


def _grid(rows: int, columns: int) -> Figure:
    from plotly.subplots import make_subplots

    spaces = {"horizontal_spacing": 0.03, "vertical_spacing": 0.05}
    figure = apply_style(make_subplots(rows, columns, shared_xaxes="all", shared_yaxes="all", **spaces), still=True)
    figure.update_layout(height=150 + 250 * rows, margin={"t": 26, "r": 30})
    # Above the titles of the columns.
    figure.update_layout(legend={"y": 1 + 26 / (90 + 250 * rows)})
    return figure


def _fill_title(title: str, value: Any) -> str:
    return title.replace("{}", _format_value(value))


def _name_once(figure: Figure) -> None:
    """Name in the legend only once what is drawn in several panels."""
    named: set[str] = set()
    for trace in figure.data:
        trace.showlegend = trace.name not in named
        named.add(trace.name)


def _format_value(value: Any) -> str:
    return f"{value:g}" if isinstance(value, int | float) and not isinstance(value, bool) else str(value)


def _title(figure: Figure, words: Sequence[str], side: str) -> None:
    """Write names of the columns above them, or of the rows beside them."""
    for at, text in enumerate(words):
        middle = (at + 0.5) / len(words)
        if side == "x":
            place = {"x": middle, "y": 1, "xanchor": "center", "yanchor": "bottom"}
        else:
            place = {"x": 1, "y": 1 - middle, "xanchor": "left", "yanchor": "middle", "textangle": 90}
        font = {"color": TONE, "size": 13}
        figure.add_annotation(text=plain(text), showarrow=False, xref="paper", yref="paper", font=font, **place)


def _add_level(
    figure: Figure, name: str, level: float, places: Sequence[float], dash: str, place: dict[str, int]
) -> None:
    figure.add_scatter(
        x=[places[0], places[-1]],
        y=[level, level],
        mode="lines",
        line={"color": TONE, "width": 1.5, "dash": dash},
        name=plain(name),
        legendgroup=plain(name),
        hovertext=[f"{plain(name)}: {format_significant(level, 5)}"] * 2,
        hoverinfo="text",
        **place,
    )


def _add_line(figure: Figure, part: pd.DataFrame, x: str, label: str, at: int, place: dict[str, int]) -> None:
    known, hue = part.dropna(subset=["value"]), HUES[at % len(HUES)]
    figure.add_scatter(
        x=known[x].tolist(),
        y=known["value"].tolist(),
        mode="lines+markers",
        line={"color": hue, "width": 1.5},
        marker={"color": hue, "symbol": _SYMBOLS[at % len(_SYMBOLS)], "size": 7},
        error_y=error_bars(known[["value", "low", "high"]].to_numpy(), hue, width=3),
        name=plain(label),
        legendgroup=plain(label),
        hovertext=[_words(label, estimate) for estimate in known.itertuples()],
        hoverinfo="text",
        **place,
    )


def _words(label: str, estimate: Any) -> str:
    interval = format_interval(estimate.low, estimate.high)
    return f"{plain(label)}<br>{format_significant(estimate.value, 5)}{interval}, n = {estimate.n}"


_TREND_SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross")
_TREND_DASHES = ("dot", "dash", "dashdot", "longdash")


def trend(
    groups: Mapping[str, Mapping[float, Values]],
    *,
    x: str,
    y: str,
    curves: Mapping[str, Mapping[float, float]] | None = None,
    levels: Mapping[str, float] | None = None,
    scale: float = 1,
    log: bool = False,
) -> Figure:
    """Draw the mean of each group at each value of a parameter, with its 95 % interval.

    Args:
        groups: Values by group and parameter.
        x, y: Titles with units.
        curves: Exact results by that parameter.
        levels: Reference points that do not depend on it.
        scale: What is plotted along y is divided by it (100: cents in, dollars out).
        log: Draw the parameter on a logarithmic axis.
    """
    figure = new_figure(x, y)
    if log:
        figure.update_xaxes(type="log", tickvals=sorted({at for cells in groups.values() for at in cells}))
    for at, (name, cells) in enumerate(groups.items()):
        _add_means(figure, name, at, {place: as_sample(values, scale) for place, values in cells.items()})
    for at, (name, curve) in enumerate((curves or {}).items()):
        hue = TONE if groups else HUES[at % len(HUES)]
        look = {"color": hue, "width": 2, "dash": _TREND_DASHES[at % len(_TREND_DASHES)]}
        heights = [value / scale for value in curve.values()]
        hover = "%{x:.5g}: %{y:.5g}<extra></extra>"
        figure.add_scatter(x=list(curve), y=heights, mode="lines", line=look, name=plain(name), hovertemplate=hover)
    for name, level in (levels or {}).items():
        figure.add_hline(level / scale, line={"color": TONE, "width": 1})
        place = {"xref": "paper", "x": 1, "xanchor": "right", "y": level / scale, "yanchor": "bottom"}
        text = f"{plain(name)} {format_significant(level / scale, 5)}"
        figure.add_annotation(text=text, showarrow=False, font={"color": TONE, "size": 13}, **place)
    figure.update_layout(height=360)
    return figure


def _add_means(figure: Figure, name: str, at: int, samples: Mapping[float, Sample]) -> None:
    cells = {place: sample.mean() for place, sample in samples.items() if sample.values}
    estimates = list(cells.values())
    counts = sorted({e.n for e in estimates}) or [0]
    each = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    hue = HUES[at % len(HUES)]
    figure.add_scatter(
        x=list(cells),
        y=[e.value for e in estimates],
        mode="lines+markers",
        line={"color": hue, "width": 2},
        marker={"color": hue, "symbol": _TREND_SYMBOLS[at % len(_TREND_SYMBOLS)], "size": 8},
        error_y=error_bars(estimates, hue),
        name=f"{plain(name)}, n = {each} each",
        hovertext=[
            f"{plain(name)} at {format_significant(place, 5)}: {format_significant(e.value, 5)}"
            + (format_interval(e.low, e.high))
            + f", {sample_text(e)}"
            for place, e in cells.items()
        ],
        hoverinfo="text",
    )
