"""Estimates side by side: a column of axes per measure and a line per name, panels over one parameter, and means with
curves of theory beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from negolab.analysis.observations import Sample, Values, as_sample, sample_text
from negolab.formatting import format_interval, format_significant
from negolab_widgets.charts.chart import HUES, TONE, new_figure, plain
from negolab_widgets.charts.grid import (
    DASHES,
    Grid,
    Place,
    add_basis,
    add_estimates,
    add_known,
    add_level,
    add_words,
    count_text,
    distinct,
    estimate_words,
    level_words,
    name_once,
    rows_where,
    value_text,
)

if TYPE_CHECKING:
    import pandas as pd
    from plotly.graph_objects import Figure


_LINE, _ABOUT = 30, 150
"""Height of a name, and of what is not names, in pixels."""
_LETTERS = 100
"""Letters that stand beside each other under the whole figure."""
_SPREAD = 0.36
"""Part of a line over which the marks of its groups are spread."""
_INK = "#c45c00"
_BELOW = 50
"""Pixels of the ticks and the title of an axis."""


def forest(
    frame: pd.DataFrame,
    *,
    row: str = "player",
    marks: Mapping[str, Mapping[str, float]] | None = None,
    ranges: Mapping[str, tuple[float, float]] | None = None,
    bars: str = "95% intervals",
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
    return _draw_forest(frame, row, marks or {}, ranges or {}, bars)


def exact(
    frame: pd.DataFrame,
    *,
    row: str = "players",
    ranges: Mapping[str, tuple[float, float]] | None = None,
    known: str = "known exactly",
    bars: str = "95% intervals",
) -> Figure:
    """Draw a `forest` with a tick at each value of the column `exact`; none where that is missing.

    Args:
        frame: Columns `name`, `measure`, `value`, `low`, `high`, `n`, `exact`, and perhaps `facet`.
        row: Title of the rows where there is no facet.
        ranges: Fixed axes by measure.
        known: Words for the ticks in the legend.
        bars: Words for the intervals.
    """
    return _draw_forest(frame.assign(group=f"mean, {bars}"), row, {}, ranges or {}, bars, known)


def _draw_forest(
    frame: pd.DataFrame,
    row: str,
    marks: Mapping[str, Mapping[str, float]],
    ranges: Mapping[str, tuple[float, float]],
    bars: str,
    known: str | None = None,
) -> Figure:
    """Draw a forest plot; with words for what is `known`, also ticks at the column `exact`."""
    frame = frame.assign(
        **{name: frame[name].map(str) for name in ("facet", "measure", "name", "group") if name in frame}
    )
    facets, measures = distinct(frame, "facet") or [row], distinct(frame, "measure") or ["value"]
    names, groups = distinct(frame, "name"), distinct(frame, "group")
    whole = _LINE * max(len(names), 2) * len(facets) + _ABOUT
    sharing: dict[str, Any] = {
        "shared_xaxes": "columns",
        "shared_yaxes": "rows",
        "horizontal_spacing": 0.1 / len(measures),
    }
    grid = Grid(("facet", facets), ("measure", measures), height=whole, gap=18, **sharing)
    figure = grid.figure
    for place, key in grid.panels():
        here = grid.part(frame, key)
        for number, group in enumerate(groups or [""]):
            aside = _SPREAD * (number / (len(groups) - 1) - 0.5) if len(groups) > 1 else 0
            _add_group(figure, rows_where(here, "group", group), names, group, (number, aside), place)
        _add_marks(figure, marks.get(key[1], {}), len(names), place)
        if known is not None:
            _add_exact(figure, here.dropna(subset=["exact"]), names, known, place)
    name_once(figure)
    for at, facet in enumerate(facets, 1):
        figure.update_yaxes(title={"text": plain(facet), "font": {"size": 13}}, row=at, col=1)
    titles = [wrap(measure, _LETTERS // len(measures)) for measure in measures]
    for at, (measure, lines) in enumerate(zip(measures, titles, strict=True), 1):
        title = {"text": "<br>".join(map(plain, lines)), "font": {"size": 13}}
        drawn = rows_where(frame, "measure", measure), marks.get(measure, {})
        figure.update_xaxes(range=ranges.get(measure) or _axis_range(*drawn), col=at)
        figure.update_xaxes(title=title, row=len(facets), col=at)
    ticks = {"tickvals": list(range(len(names))), "ticktext": [plain(name) for name in names]}
    figure.update_yaxes(range=[len(names) - 0.4, -0.6], showgrid=True, **ticks)
    below = 32 + 18 * max(map(len, titles))
    add_basis(figure, frame, "low", bars, below)
    margin, legend = {"t": 28, "r": 16, "b": below + 26}, {"y": 1 + 16 / (whole - _ABOUT)}
    figure.update_layout(height=whole, margin=margin, showlegend=bool(groups), legend=legend)
    return figure


def _axis_range(part: pd.DataFrame, marks: Mapping[str, float]) -> list[float]:
    """Return an axis that has room for all that is drawn along it."""
    known = [float(value) for name in ("value", "low", "high") for value in part[name].dropna()] + [*marks.values()]
    low, high = min(known, default=0), max(known, default=1)
    room = 0.06 * (high - low) or 1
    return [low - room, high + room]


def _add_group(
    figure: Figure, part: pd.DataFrame, names: list[str], group: str, series: tuple[int, float], place: Place
) -> None:
    """Draw a group by its number, so far aside from the middle of its lines."""
    known, (at, aside) = part.dropna(subset=["value"]), series
    if known.empty:
        return
    of = f", {plain(group)}" if group else ""
    add_estimates(
        figure,
        at,
        known["value"],
        [names.index(name) + aside for name in known["name"]],
        {"error_x": known[["value", "low", "high"]].to_numpy()},
        thin=3,
        name=plain(group),
        hovertext=[estimate_words(f"{plain(estimate.name)}{of}", estimate) for estimate in known.itertuples()],
        **place,
    )


def _add_marks(figure: Figure, marks: Mapping[str, float], lines: int, place: Place) -> None:
    """Draw thin lines through a row of axes, named above the first."""
    for name, x in marks.items():
        add_known(figure, [x, x], [-0.6, lines - 0.4], level_words(name, x), "dot", showlegend=False, **place)
        if place["row"] == 1:
            add_words(figure, plain(name), {"x": x, "y": -0.6, "yanchor": "bottom", **place}, 12)


def _add_exact(figure: Figure, there: pd.DataFrame, names: list[str], known: str, place: Place) -> None:
    if there.empty:
        return
    figure.add_scatter(
        x=there["exact"].tolist(),
        y=[names.index(name) for name in there["name"]],
        mode="markers",
        marker={"symbol": "line-ns", "size": 17, "color": _INK, "line": {"width": 2, "color": _INK}},
        name=plain(known),
        legendgroup="exact",
        hovertext=[level_words(known, value) for value in there["exact"]],
        hoverinfo="text",
        **place,
    )


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
    inside = 250 * max(len(rows), 1)
    grid = Grid((row, rows), (column, columns), height=inside, gap=0.05 * inside)
    figure = grid.figure
    for place, key in grid.panels():
        for at, (name, by) in enumerate((levels or {}).items()):
            if key in by:
                ends, group = [places[0], places[-1]], {"name": plain(name), "legendgroup": plain(name)}
                words, dash = level_words(name, by[key]), DASHES[at % len(DASHES)]
                add_known(figure, ends, [by[key]] * 2, words, dash, **group, **place)
        here = grid.part(frame, key)
        for at, hue in enumerate(hues):
            label = _fill_title(titles[colour], hue)
            _add_line(figure, here[here[colour] == hue].sort_values(x), x, label, at, place)
    name_once(figure)
    _title(figure, [_fill_title(titles[column], value) for value in columns], "x")
    _title(figure, [_fill_title(titles[row], value) for value in rows], "y")
    figure.update_xaxes(
        type="log" if log else None, tickvals=places, ticktext=[plain(value_text(place)) for place in places]
    )
    figure.update_xaxes(title={"text": plain(titles[x], 60)}, row=max(len(rows), 1))
    figure.update_yaxes(title={"text": plain(y, 60)}, col=1)
    figure.update_yaxes(range=reach)
    add_basis(figure, frame, "low", "95% intervals", _BELOW)
    # The legend stands above the titles of the columns.
    figure.update_layout(
        height=172 + inside, margin={"t": 26, "r": 30, "b": _BELOW + 26}, legend={"y": 1 + 26 / (90 + inside)}
    )
    return figure


def _fill_title(title: str, value: Any) -> str:
    return title.replace("{}", value_text(value))


def _title(figure: Figure, words: Sequence[str], side: str) -> None:
    """Write names of the columns above them, or of the rows beside them."""
    for at, text in enumerate(words):
        middle = (at + 0.5) / len(words)
        if side == "x":
            place = {"x": middle, "y": 1, "xanchor": "center", "yanchor": "bottom"}
        else:
            place = {"x": 1, "y": 1 - middle, "xanchor": "left", "yanchor": "middle", "textangle": 90}
        add_words(figure, plain(text), {"xref": "paper", "yref": "paper", **place})


def _add_line(figure: Figure, part: pd.DataFrame, x: str, label: str, at: int, place: Place) -> None:
    known = part.dropna(subset=["value"])
    add_estimates(
        figure,
        at,
        known[x],
        known["value"],
        {"error_y": known[["value", "low", "high"]].to_numpy()},
        line={"width": 1.5},
        size=7,
        thin=3,
        name=plain(label),
        hovertext=[estimate_words(plain(label), estimate) for estimate in known.itertuples()],
        **place,
    )


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
    """Draw the mean of each group at each value of a parameter, with its 95% interval.

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
        look = {"color": hue, "width": 2, "dash": DASHES[at % len(DASHES)]}
        heights = [value / scale for value in curve.values()]
        hover = "%{x:.5g}: %{y:.5g}<extra></extra>"
        figure.add_scatter(x=list(curve), y=heights, mode="lines", line=look, name=plain(name), hovertemplate=hover)
    for name, level in (levels or {}).items():
        add_level(figure, level / scale, f"{plain(name)} {format_significant(level / scale, 5)}")
    figure.update_layout(height=360)
    return figure


def _add_means(figure: Figure, name: str, at: int, samples: Mapping[float, Sample]) -> None:
    cells = {place: sample.mean() for place, sample in samples.items() if sample.values}
    add_estimates(
        figure,
        at,
        cells,
        [e.value for e in cells.values()],
        {"error_y": cells.values()},
        line={"width": 2},
        name=f"{plain(name)}, {count_text((e.n for e in cells.values()), (e.draws for e in cells.values()))} each",
        hovertext=[
            f"{plain(name)} at {format_significant(place, 5)}: {format_significant(e.value, 5)}"
            f"{format_interval(e.low, e.high)}, {sample_text(e)}"
            for place, e in cells.items()
        ],
    )
