"""The figures of a sweep as pure functions of summaries: means with intervals, heat maps and distributions. `width` is
in pixels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from negolab.formatting import format_interval, format_significant
from negolab_widgets.charts.chart import HUES, plain
from negolab_widgets.charts.grid import Place, add_estimates, add_words, bars_text, count_text
from negolab_widgets.results.matches import evenly, group_token, match_token
from negolab_widgets.results.panels import (
    LINE,
    Panels,
    XAxis,
    category_axis,
    legend,
    legend_height,
    padded_range,
    present_codes,
    tick_texts,
    wrap_title,
)
from negolab_widgets.results.variables import BASIS, Factor, Quantity

if TYPE_CHECKING:
    import pandas as pd
    from plotly.graph_objects import Figure

DASHES = ("solid", "dash", "dot", "dashdot")
SCALE = ((0, "rgba(13, 138, 105, 0.04)"), (1, "rgba(13, 138, 105, 0.72)"))
"""Translucent, so that numbers on it are readable on both light and dark pages."""
BAR_TOP = 74
"""Height of the color bar in pixels."""
ALL = "all matches"


class Series(NamedTuple):
    """One color of a figure: its number, the number of colors, and its name."""

    at: int
    many: int
    name: str

    @property
    def hue(self) -> str:
        return HUES[self.at % len(HUES)]


def _series(found: pd.DataFrame, outcome: Quantity, colour: Factor | None) -> list[tuple[Series, pd.DataFrame]]:
    if colour is None:
        return [(Series(0, 1, plain(outcome.words)), found)]
    codes = present_codes(found, colour)
    return [
        (Series(at, len(codes), plain(colour.texts[code])), found[found[colour.key] == code])
        for at, code in enumerate(codes)
    ]


def _legend_room(colour: Factor | None, found: pd.DataFrame, width: int) -> int:
    if colour is None:
        return 12
    return legend_height(colour.title, (colour.texts[code] for code in present_codes(found, colour)), width)


# Means with intervals.


def means(
    found: pd.DataFrame, outcome: Quantity, x: Factor | None, colour: Factor | None, facet: Factor | None, width: int
) -> Figure:
    """Draw means with their 95% intervals, joined by a line if the x axis is numeric."""
    bars = bars_text("bars: 95% interval of the mean", found["low"], found["draws"])
    note = f"{count_text(found['n'], found['draws'], f' {outcome.things}')} each{bars}."
    shown = present_codes(found, facet)
    ticks = tick_texts(x, present_codes(found, x)) if x is None or x.places is None else []
    panels = Panels(facet, shown, note, width=width, height=300, top=_legend_room(colour, found, width), ticks=ticks)
    along = XAxis(x, present_codes(found, x), panels.panel_width)
    for series, own in _series(found, outcome, colour):
        for place, rows in panels.each(own):
            _add_means(panels.figure, rows, x, along, series, place)
    legend(panels.figure, colour)
    ends = [number for name in ("mean", "low", "high") for number in found[name]]
    panels.axes(x.title if x else ALL, outcome.mean, along.axis(), padded_range([0, 100] if outcome.yes_no else ends))
    return panels.figure


def _add_means(
    figure: Figure, rows: pd.DataFrame, x: Factor | None, along: XAxis, series: Series, place: Place
) -> None:
    codes = [int(code) for code in rows[x.key]] if x else [0] * len(rows)
    heads = [f"{series.name}{f', {plain(x.title)} {plain(x.texts[code])}' if x else ''}" for code in codes]
    line = {"width": 2, "dash": DASHES[series.at // len(HUES) % len(DASHES)]}
    add_estimates(
        figure,
        series.at,
        [along.at(code, series.at, series.many) for code in codes],
        rows["mean"],
        {"error_y": rows[["mean", "low", "high"]].to_numpy()},
        line=line if along.numbers else None,
        name=series.name,
        hovertext=[f"{head}<br>{_mean_text(row)}" for head, row in zip(heads, _row_dicts(rows), strict=True)],
        customdata=[group_token(at) for at in rows.index],
        **place,
    )


def _row_dicts(found: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a summary as dictionaries by column, each with its `token`."""
    tokens = map(group_token, found.index)
    rows = zip(found.to_dict("records"), tokens, strict=True)
    return [{**{str(name): value for name, value in row.items()}, "token": token} for row, token in rows]


def _mean_text(row: dict[str, Any]) -> str:
    """Describe a mean in words."""
    interval = format_interval(row["low"], row["high"])
    return f"mean {format_significant(row['mean'], 5)}{interval}, {row[BASIS]}"


# Heat maps.


class HeatAxes(NamedTuple):
    """The two factors of a heat map, and those of their values that occur."""

    x: Factor | None
    y: Factor | None
    across: list[int]
    down: list[int]


def heat_map(
    found: pd.DataFrame, outcome: Quantity, x: Factor | None, y: Factor | None, facet: Factor | None, width: int
) -> Figure:
    """Draw the mean in each field of two factors, with its n where there is room."""
    field = HeatAxes(x, y, present_codes(found, x) or [0], present_codes(found, y) or [0])
    note = f"{count_text(found['n'], found['draws'], f' {outcome.things}')} each; numbers: means."
    height = max(110, 46 * len(field.down))
    title = wrap_title(outcome.mean, width - 130)
    top = BAR_TOP + LINE * title.count("<br>")
    ticks = tick_texts(x, field.across)
    panels = Panels(facet, present_codes(found, facet), note, width=width, height=height, top=top, ticks=ticks)
    each = (panels.panel_width - 60) / len(field.across)
    for place, rows in panels.each(found):
        means = {(_factor_code(row, y), _factor_code(row, x)): row for row in _row_dicts(rows)}
        _add_fields(panels.figure, means, field, place)
        for (v, u), row in means.items() if each >= 32 else ():
            mean = format_significant(row["mean"])
            words = f"{mean}<br>n = {int(row['n']):,}" if each >= 50 else mean
            where = {"x": field.across.index(u), "y": field.down.index(v)}
            add_words(panels.figure, words, {**where, **place}, 12)
    panels.figure.update_layout(coloraxis=_colour_axis(found, title, width, panels.above))
    panels.axes(
        x.title if x else ALL,
        y.title if y else ALL,
        {**category_axis(x, field.across), "showgrid": False, "range": [-0.5, len(field.across) - 0.5]},
        {**category_axis(y, field.down), "showgrid": False, "range": [len(field.down) - 0.5, -0.5]},
    )
    return panels.figure


def _factor_code(row: dict[str, Any], factor: Factor | None) -> int:
    return 0 if factor is None else int(row[factor.key])


def _add_fields(figure: Figure, means: dict[tuple[int, int], dict[str, Any]], field: HeatAxes, place: Place) -> None:
    def hover_text(v: int, u: int) -> str:
        pairs = ((factor, code) for factor, code in ((field.x, u), (field.y, v)) if factor is not None)
        heads = [f"{plain(factor.title)} = {plain(factor.texts[code])}" for factor, code in pairs]
        return "<br>".join([*heads, _mean_text(means[v, u])])

    figure.add_heatmap(
        x=list(range(len(field.across))),
        y=list(range(len(field.down))),
        z=[[means[v, u]["mean"] if (v, u) in means else None for u in field.across] for v in field.down],
        hovertext=[[hover_text(v, u) if (v, u) in means else "" for u in field.across] for v in field.down],
        customdata=[[means[v, u]["token"] if (v, u) in means else None for u in field.across] for v in field.down],
        hoverinfo="text",
        hoverongaps=False,
        coloraxis="coloraxis",
        xgap=2,
        ygap=2,
        **place,
    )


def _colour_axis(found: pd.DataFrame, words: str, width: int, above: float) -> dict[str, Any]:
    low, high = float(found["mean"].min()), float(found["mean"].max())
    ends = {"cmin": low, "cmax": high} if low < high else {"cmin": low - 1, "cmax": low}
    title = {"text": words, "side": "top", "font": {"size": 13}}
    at = [low, (low + high) / 2, high] if low < high else [low]
    ticks = {"tickvals": at, "ticktext": [format_significant(value) for value in at]}
    size = {"orientation": "h", "thickness": 12, "lenmode": "pixels", "len": min(320, width - 190), "outlinewidth": 0}
    where = {"x": 0, "xanchor": "left", "y": above, "yanchor": "bottom", "ypad": 0}
    return {
        **ends,
        "colorscale": [list(step) for step in SCALE],
        "colorbar": {"title": title, **ticks, **size, **where},
    }


# Distributions.


def distributions(
    data: pd.DataFrame,
    outcome: Quantity,
    x: Factor | None,
    colour: Factor | None,
    facet: Factor | None,
    width: int,
    *,
    violin: bool = False,
) -> Figure:
    """Draw a box plot (median and quartiles, whiskers to 1.5 times the interquartile range) or a violin plot per group.

    Matches are drawn as points; if there are many, only points evenly spaced by rank are drawn. `data` is what
    `variables.values` returns.
    """
    shape = "" if violin else "; box: median and quartiles, whiskers to 1.5 times their distance"
    note = f"n = {len(data):,} {outcome.things} in all, each a point{shape}."
    across = present_codes(data, x) or [0]
    top, ticks = _legend_room(colour, data, width), tick_texts(x, across)
    panels = Panels(facet, present_codes(data, facet), note, width=width, height=320, top=top, ticks=ticks)
    for series, own in _series(data, outcome, colour):
        for place, rows in panels.each(own):
            groups = [rows if x is None else rows[rows[x.key] == code] for code in across]
            _add_sample(panels.figure, groups, series, place, violin)
    legend(panels.figure, colour)
    panels.figure.update_layout(boxmode="group", violinmode="group", boxgap=0.3, violingap=0.2)
    ends = {"range": [-0.5, len(across) - 0.5]}
    panels.axes(x.title if x else ALL, outcome.title, {**category_axis(x, across), **ends}, padded_range(data["value"]))
    return panels.figure


def _add_sample(figure: Figure, groups: Sequence[pd.DataFrame], series: Series, place: Place, violin: bool) -> None:
    drawn = [evenly(group) for group in groups]
    look: dict[str, Any] = {
        "x": [at for at, group in enumerate(drawn) for _ in group.index],
        "y": [value for group in drawn for value in group["value"]],
        "customdata": [match_token(row) for group in drawn for row in group.index],
        "name": series.name,
        "legendgroup": str(series.at),
        "offsetgroup": str(series.at),
        "line": {"color": series.hue, "width": 1.5},
        "marker": {"color": series.hue, "size": 4, "opacity": 0.35},
        "fillcolor": "rgba(108, 120, 132, 0.12)",
        "jitter": 0.6,
        "pointpos": 0,
        "hoverinfo": "y",
        **place,
    }
    if violin:
        figure.add_violin(**look, points="all", box={"visible": True, "width": 0.15}, spanmode="hard")
    else:
        figure.add_box(**look, boxpoints="all", whiskerwidth=0.4)
