"""Small multiples: how a number moves with one parameter, by a second in colour, in panels by a third and a fourth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from negolab_widgets.charts.look import HUES, TONE, bars, dressed, plain

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
    """A line of estimates per value of `colour`, with their intervals, in a panel per `row` and `column`.

    `frame` has these columns and `value`, `low`, `high`, `n`, a row per estimate. `titles` are words for them: with the
    unit for `x`, and for the others with {} where the value goes. `y` is the title of what is drawn, `reach` its ends.
    `levels` are exact results or reference points by panel, drawn as level lines. `log`: `x` on a logarithmic axis.
    """
    rows, columns, hues, places = (_kinds(frame, name) for name in (row, column, colour, x))
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
                label = _filled(titles[colour], hue)
                _add_line(figure, here[here[colour] == hue].sort_values(x), x, label, at, place)
    _name_once(figure)
    _title(figure, [_filled(titles[column], value) for value in columns], "x")
    _title(figure, [_filled(titles[row], value) for value in rows], "y")
    figure.update_xaxes(type="log" if log else None, tickvals=places, ticktext=[_said(place) for place in places])
    figure.update_xaxes(title={"text": plain(titles[x], 60)}, row=max(len(rows), 1))
    figure.update_yaxes(title={"text": plain(y, 60)}, col=1)
    figure.update_yaxes(range=reach)
    return figure


def _grid(rows: int, columns: int) -> Figure:
    from plotly.subplots import make_subplots

    spaces = {"horizontal_spacing": 0.03, "vertical_spacing": 0.05}
    figure = dressed(make_subplots(rows, columns, shared_xaxes="all", shared_yaxes="all", **spaces), still=True)
    figure.update_layout(height=150 + 250 * rows, margin={"t": 26, "r": 30})
    # Above the titles of the columns.
    figure.update_layout(legend={"y": 1 + 26 / (90 + 250 * rows)})
    return figure


def _filled(title: str, value: Any) -> str:
    return title.replace("{}", _said(value))


def _name_once(figure: Figure) -> None:
    """What is drawn in several panels stands in the legend once."""
    named: set[str] = set()
    for trace in figure.data:
        trace.showlegend = trace.name not in named
        named.add(trace.name)


def _kinds(frame: pd.DataFrame, column: str) -> list[Any]:
    return sorted(frame[column].unique().tolist())


def _said(value: Any) -> str:
    return f"{value:g}" if isinstance(value, int | float) and not isinstance(value, bool) else str(value)


def _title(figure: Figure, words: Sequence[str], side: str) -> None:
    """Names of the columns above them, or of the rows beside them."""
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
        hovertext=[f"{plain(name)}: {level:.4g}"] * 2,
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
        error_y=bars(known[["value", "low", "high"]].to_numpy(), hue, width=3),
        name=plain(label),
        legendgroup=plain(label),
        hovertext=[_words(label, estimate) for estimate in known.itertuples()],
        hoverinfo="text",
        **place,
    )


def _words(label: str, estimate: Any) -> str:
    interval = f", 95 % interval {estimate.low:.4g} to {estimate.high:.4g}" if estimate.low == estimate.low else ""
    return f"{plain(label)}<br>{estimate.value:.4g}{interval}, n = {estimate.n}"
