"""The plane of both payoffs: deals below the frontier, and where matches ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from negolab.analysis import stats
from negolab.analysis.observations import sample_text
from negolab.formatting import format_interval, format_significant
from negolab_widgets.charts.chart import TONE, new_figure, plain
from negolab_widgets.charts.grid import Grid, Place, add_basis, add_estimates, add_words, distinct, mark_of, name_once

if TYPE_CHECKING:
    import pandas as pd
    from plotly.graph_objects import Figure


_PANEL, _ABOUT = 250, 130
"""Height of a panel, and of what surrounds the panels, in pixels."""


def frontiers(
    points: pd.DataFrame,
    curves: pd.DataFrame,
    *,
    axis: str = "payoff of {}",
    reach: tuple[float, float] | None = None,
    curve: str = "frontier",
) -> Figure:
    """Draw mean payoffs below the frontier, with a panel per `row` and `column` (columns of both frames).

    Args:
        points: A row per `name` with `a`, `b`, the bounds `a_low`, `a_high`, `b_low`, `b_high` of their intervals
            and `n`.
        curves: Points `a`, `b` of the frontier, in the order of its line.
        axis: Title of an axis with {} for the seat.
        reach: Ends of both axes.
        curve: The frontier's name.
    """
    rows, columns = (distinct(curves, name) or [""] for name in ("row", "column"))
    height = _ABOUT + _PANEL * len(rows)
    grid = Grid(("row", rows), ("column", columns), height=height, gap=20)
    figure = grid.figure
    for place, key in grid.panels():
        _add_curve(figure, grid.part(curves, key), curve, place)
        there = grid.part(points, key)
        for at, name in enumerate(distinct(points, "name")):
            _add_point(figure, there[there["name"] == name], name, at, place)
        # The lower-left corner is where no deal is worth making.
        corner = {"xref": "x domain", "yref": "y domain", "x": 0.04, "y": 0.05, "xanchor": "left", "yanchor": "bottom"}
        words = "<br>".join(plain(part) for part in key if part != "")
        add_words(figure, words, {"align": "left", **corner, **place})
    name_once(figure)
    figure.update_xaxes(title={"text": axis.format("A"), "font": {"size": 13}}, row=len(rows))
    figure.update_yaxes(title={"text": axis.format("B"), "font": {"size": 13}}, col=1)
    figure.update_xaxes(range=reach)
    figure.update_yaxes(range=reach)
    add_basis(figure, points, "a_low", "95% intervals", 50)
    figure.update_layout(height=height + 26, margin={"t": 8, "r": 16, "b": 76})
    return figure


def _add_curve(figure: Figure, own: pd.DataFrame, name: str, place: Place) -> None:
    figure.add_scatter(
        x=own["a"].tolist(),
        y=own["b"].tolist(),
        mode="lines",
        line={"color": TONE, "width": 1.5},
        name=plain(name, 60),
        legendgroup="curve",
        hovertemplate="A %{x:.4g}, B %{y:.4g}<extra></extra>",
        **place,
    )


_BOUNDS = (["a", "a_low", "a_high"], ["b", "b_low", "b_high"])


def _add_point(figure: Figure, own: pd.DataFrame, name: str, at: int, place: Place) -> None:
    known = own.dropna(subset=["a", "b"])
    of_a, of_b = (known[columns].to_numpy() for columns in _BOUNDS)
    words = [
        f"{plain(name)}, n = {n:,}<br>A {_mean_text(*a)}<br>B {_mean_text(*b)}"
        for n, a, b in zip(known["n"], of_a, of_b, strict=True)
    ]
    bars = {"error_x": of_a, "error_y": of_b}
    # The first ones are larger, so that they show behind the others.
    look: dict[str, Any] = {"size": max(13 - at, 8), "thin": 0, "name": plain(name), "hovertext": words}
    add_estimates(figure, at, known["a"], known["b"], bars, **look, **place)


def outcomes(
    groups: Mapping[str, Sequence[tuple[float, float]]],
    *,
    unit: str = "points",
    what: str = "payoff",
    marks: Mapping[str, tuple[float, float]] | None = None,
    equal: bool = True,
) -> Figure:
    """Draw one dot per match, by group, and each group's mean with its 95% intervals.

    Args:
        groups: (payoff of A, payoff of B) by group, for independent matches, each with its own draw.
        unit: Unit of the payoffs.
        what: Word for a payoff.
        marks: Reference points by name.
        equal: Draw the line on which both seats get the same.
    """
    figure = new_figure(f"{what} of A ({unit})", f"{what} of B ({unit})")
    if equal:
        ends = [end for pairs in groups.values() for pair in pairs for end in pair]
        line = {"color": TONE, "width": 1, "dash": "dot"}
        span = [min(ends, default=0), max(ends, default=1)]
        figure.add_scatter(x=span, y=span, mode="lines", line=line, name="A = B", hoverinfo="skip")
    for at, (name, pairs) in enumerate(groups.items()):
        _add_group(figure, name, at, pairs)
    for name, (a, b) in (marks or {}).items():
        _add_mark(figure, name, a, b)
    figure.update_layout(height=430)
    return figure


def _add_group(figure: Figure, name: str, at: int, pairs: Sequence[tuple[float, float]]) -> None:
    figure.add_scatter(
        x=[a for a, _ in pairs],
        y=[b for _, b in pairs],
        mode="markers",
        marker={**mark_of(at, 6), "opacity": 0.4},
        name=f"{plain(name)}, n = {len(pairs)}",
        legendgroup=str(at),
        hovertemplate="A %{x:.5g}, B %{y:.5g}<extra></extra>",
    )
    if len(pairs) < 2:
        return
    a, b = (stats.estimate_mean([pair[k] for pair in pairs]) for k in (0, 1))
    of_a, of_b = (_mean_text(e.value, e.low, e.high) for e in (a, b))
    marker = {**mark_of(at, 13), "line": {"color": "#ffffff", "width": 1.5}}
    words = [f"{plain(name)}, means, {sample_text(a)}<br>A {of_a}<br>B {of_b}"]
    look: dict[str, Any] = {"marker": marker, "showlegend": False, "hovertext": words}
    add_estimates(figure, at, [a.value], [b.value], {"error_x": [a], "error_y": [b]}, **look)


def _add_mark(figure: Figure, name: str, a: float, b: float) -> None:
    figure.add_scatter(
        x=[a],
        y=[b],
        mode="markers+text",
        marker={"symbol": "x-thin", "size": 12, "color": TONE, "line": {"width": 2, "color": TONE}},
        text=[plain(name)],
        textposition="top right",
        textfont={"size": 13, "color": TONE},
        showlegend=False,
        hovertext=[f"{plain(name)}: A {format_significant(a, 5)}, B {format_significant(b, 5)}"],
        hoverinfo="text",
        cliponaxis=False,
    )


def _mean_text(value: float, low: float, high: float) -> str:
    return f"{format_significant(value, 5)}{format_interval(low, high)}"


def anchoring(fit: stats.Estimate, points: pd.DataFrame, *, unit: str = "points", scale: float = 1) -> Figure:
    """Plot what each seat was paid against what its first proposal claimed, with a fitted line for each player and
    seat.

    Args:
        fit: The slope that `proposals.anchoring` returns.
        points: The points that it returns.
        unit: Unit of the payoffs.
        scale: Divisor for the numbers (100: cents in, dollars out).
    """
    words = f"slope {format_significant(fit.value)}{format_interval(fit.low, fit.high)}, {sample_text(fit)}"
    figure = new_figure(f"first offer: own payoff if accepted ({unit})<br>{words}", f"own payoff ({unit})")
    for at, ((player, seat), part) in enumerate(points.groupby(["player", "seat"], sort=False)):
        x, y = part["first_offer_payoff"] / scale, part["payoff"] / scale
        look = {**mark_of(at, 6), "opacity": 0.4}
        name = f"{plain(player)} at {seat}, n = {len(part)}"
        figure.add_scatter(x=list(x), y=list(y), mode="markers", marker=look, name=name, legendgroup=str(at))
        ends = [x.min(), x.max()]
        # Because each line has its own intercept, it goes through the means of its points.
        heights = [y.mean() + fit.value * (end - x.mean()) for end in ends]
        line = {"color": look["color"], "width": 2}
        figure.add_scatter(x=ends, y=heights, mode="lines", line=line, showlegend=False, legendgroup=str(at))
    figure.update_layout(height=400)
    return figure
