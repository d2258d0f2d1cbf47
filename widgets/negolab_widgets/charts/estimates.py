"""Estimates side by side, and beside what is known exactly: a column of axes per measure, a line per name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from negolab.formatting import format_interval, format_significant
from negolab_widgets.charts.chart import HUES, TONE, apply_style, error_bars, plain

if TYPE_CHECKING:
    import pandas as pd
    from plotly.graph_objects import Figure


_SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross")
_LINE, _ABOUT = 30, 150
"""Height of a name, and of what is not names, in pixels."""
_LETTERS = 100
"""Letters that stand beside each other under the whole figure."""
_SPREAD = 0.36
"""Part of a line over which the marks of its groups are spread."""


def forest(
    frame: pd.DataFrame,
    *,
    row: str = "player",
    marks: Mapping[str, Mapping[str, float]] | None = None,
    ranges: Mapping[str, tuple[float, float]] | None = None,
    bars: str = "95 % intervals",
) -> Figure:
    """Draw estimates with their intervals as a forest plot; n stands below the figure.

    Args:
        frame: A row per estimate: `name` (a line), `measure` (a column of axes; its title, with the unit), `value`,
            `low`, `high`, `n`, and perhaps `group` (a colour and symbol) and `facet` (a row of axes, titled by it).
            Unknown values and bounds are left out.
        row: Title of the rows where there is no facet.
        marks: Exact results or bounds by measure and name, drawn through all rows of axes.
        ranges: Fixed axes by measure.
        bars: Words for the intervals.
    """
    from plotly.subplots import make_subplots

    facets, measures = _distinct(frame, "facet"), _distinct(frame, "measure") or ["value"]
    names, groups = _distinct(frame, "name"), _distinct(frame, "group")
    facets = facets or [row]
    height = _LINE * max(len(names), 2)
    whole = height * len(facets) + _ABOUT
    figure = make_subplots(
        rows=len(facets),
        cols=len(measures),
        shared_xaxes="columns",
        shared_yaxes="rows",
        horizontal_spacing=0.1 / len(measures),
        vertical_spacing=18 / whole if len(facets) > 1 else 0,
    )
    apply_style(figure, still=True)
    for at, facet in enumerate(facets):
        for by, measure in enumerate(measures):
            here = _rows_where(_rows_where(frame, "measure", measure), "facet", facet)
            for number, group in enumerate(groups or [""]):
                _add_group(figure, _rows_where(here, "group", group), names, groups, number, (at + 1, by + 1))
            _add_marks(figure, (marks or {}).get(measure, {}), len(names), (at + 1, by + 1), first=at == 0)
        figure.update_yaxes(title={"text": plain(facet), "font": {"size": 13}}, row=at + 1, col=1)
    titles = [wrap(measure, _LETTERS // len(measures)) for measure in measures]
    for by, (measure, lines) in enumerate(zip(measures, titles, strict=True)):
        title = {"text": "<br>".join(map(plain, lines)), "font": {"size": 13}}
        drawn = _rows_where(frame, "measure", measure), (marks or {}).get(measure, {})
        figure.update_xaxes(range=(ranges or {}).get(measure) or _axis_range(*drawn), col=by + 1)
        figure.update_xaxes(title=title, row=len(facets), col=by + 1)
    ticks = {"tickvals": list(range(len(names))), "ticktext": [plain(name) for name in names]}
    figure.update_yaxes(range=[len(names) - 0.4, -0.6], showgrid=True, **ticks)
    below = 32 + 18 * max(map(len, titles))
    _add_caption(figure, frame.get("n", ()), bars, below)
    figure.update_layout(height=whole, margin={"t": 28, "r": 16, "b": below + 26}, showlegend=bool(groups))
    figure.update_layout(legend={"y": 1 + 16 / (whole - _ABOUT)})
    return figure


def _distinct(frame: pd.DataFrame, column: str) -> list[str]:
    """List the values of a column in their order."""
    return [str(value) for value in dict.fromkeys(frame[column])] if column in frame else []


def _axis_range(part: pd.DataFrame, marks: Mapping[str, float]) -> list[float]:
    """Return an axis that has room for all that is drawn along it."""
    known = [float(value) for name in ("value", "low", "high") for value in part[name].dropna()] + [*marks.values()]
    low, high = min(known, default=0), max(known, default=1)
    room = 0.06 * (high - low) or 1
    return [low - room, high + room]


def _rows_where(frame: pd.DataFrame, column: str, value: str) -> pd.DataFrame:
    return frame[frame[column].astype(str) == value] if column in frame else frame


def _add_group(
    figure: Figure, part: pd.DataFrame, names: list[str], groups: list[str], number: int, place: tuple[int, int]
) -> None:
    known = part.dropna(subset=["value"])
    if known.empty:
        return
    group = groups[number] if groups else ""
    hue = HUES[number % len(HUES)]
    aside = _SPREAD * (number / (len(groups) - 1) - 0.5) if len(groups) > 1 else 0
    figure.add_scatter(
        x=known["value"].tolist(),
        y=[names.index(str(name)) + aside for name in known["name"]],
        mode="markers",
        marker={"color": hue, "symbol": _SYMBOLS[number % len(_SYMBOLS)], "size": 8},
        error_x=error_bars(known[["value", "low", "high"]].to_numpy(), hue, width=3),
        name=plain(group),
        legendgroup=str(number),
        showlegend=place == (1, 1),
        hovertext=[_words(estimate, group) for estimate in known.itertuples()],
        hoverinfo="text",
        row=place[0],
        col=place[1],
    )


def _words(estimate: Any, group: str) -> str:
    interval = format_interval(estimate.low, estimate.high)
    of = f", {plain(group)}" if group else ""
    return f"{plain(estimate.name)}{of}<br>{format_significant(estimate.value, 5)}{interval}, n = {estimate.n}"


def _add_marks(figure: Figure, marks: Mapping[str, float], lines: int, place: tuple[int, int], *, first: bool) -> None:
    """Draw thin lines through a row of axes, named above the first."""
    for name, x in marks.items():
        line = {"color": TONE, "width": 1.5, "dash": "dot"}
        label = f"{plain(name)}: {format_significant(x, 5)}"
        figure.add_scatter(
            x=[x, x],
            y=[-0.6, lines - 0.4],
            mode="lines",
            line=line,
            showlegend=False,
            hovertext=[label] * 2,
            hoverinfo="text",
            row=place[0],
            col=place[1],
        )
        if first:
            figure.add_annotation(
                x=x,
                y=-0.6,
                text=plain(name),
                showarrow=False,
                yanchor="bottom",
                font={"color": TONE, "size": 12},
                row=place[0],
                col=place[1],
            )


def _add_caption(figure: Figure, counts: Iterable[int], bars: str, below: int) -> None:
    """Write how many observations are behind a mark, `below` pixels below the axes."""
    known = sorted({int(count) for count in counts if count})
    if not known:
        return
    each = f"{known[0]}" if len(known) == 1 else f"{known[0]} to {known[-1]}"
    text = f"n = {each} per mark; bars are {plain(bars)}"
    place = {"xref": "paper", "yref": "paper", "x": 0, "y": 0, "xanchor": "left", "yanchor": "top", "yshift": -below}
    figure.add_annotation(text=text, showarrow=False, font={"color": TONE, "size": 13}, **place)


_INK = "#c45c00"


def exact(
    frame: pd.DataFrame,
    *,
    row: str = "players",
    ranges: Mapping[str, tuple[float, float]] | None = None,
    known: str = "known exactly",
    bars: str = "95 % intervals",
) -> Figure:
    """Draw a `forest` with a tick at each value of the column `exact`; none where that is missing.

    Args:
        frame: Columns `name`, `measure`, `value`, `low`, `high`, `n`, `exact`, and perhaps `facet`.
        row: Title of the rows where there is no facet.
        ranges: Fixed axes by measure.
        known: Words for the ticks in the legend.
        bars: Words for the intervals.
    """
    figure = forest(frame.assign(group=f"mean, {bars}"), row=row, ranges=ranges, bars=bars)
    facets, measures, names = (
        list(dict.fromkeys(map(str, frame[column]))) if column in frame else [""]
        for column in ("facet", "measure", "name")
    )
    there = frame.dropna(subset=["exact"])
    shown = False
    for at, facet in enumerate(facets):
        for by, measure in enumerate(measures):
            here = there[there["measure"].astype(str) == measure]
            if "facet" in here:
                here = here[here["facet"].astype(str) == facet]
            if here.empty:
                continue
            figure.add_scatter(
                x=here["exact"].tolist(),
                y=[names.index(str(name)) for name in here["name"]],
                mode="markers",
                marker={"symbol": "line-ns", "size": 17, "color": _INK, "line": {"width": 2, "color": _INK}},
                name=plain(known),
                legendgroup="exact",
                showlegend=not shown,
                hovertext=[f"{plain(known)}: {format_significant(value, 5)}" for value in here["exact"]],
                hoverinfo="text",
                row=at + 1,
                col=by + 1,
            )
            shown = True
    return figure
