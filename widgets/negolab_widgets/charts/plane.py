"""The plane of both payoffs: deals below the frontier, and where matches ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from negolab.analysis import stats
from negolab.formatting import format_significant
from negolab_widgets.charts.chart import HUES, TONE, apply_style, error_bars, new_figure, plain

if TYPE_CHECKING:
    import pandas as pd
    from plotly.graph_objects import Figure


_SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "triangle-down", "star", "hexagon")
_PANEL, _ABOUT = 250, 130
"""Height of a panel, and of what is around them, in pixels."""


def frontiers(
    points: pd.DataFrame,
    curves: pd.DataFrame,
    *,
    axis: str = "payoff of {}",
    reach: tuple[float, float] | None = None,
    curve: str = "frontier",
) -> Figure:
    """Draw mean payoffs below the frontier, a panel per `row` and `column` (columns of both frames).

    Args:
        points: A row per `name` with `a`, `b`, the bounds `a_low`, `a_high`, `b_low`, `b_high` of their intervals
            and `n`.
        curves: Points `a`, `b` of the frontier, in the order of its line.
        axis: Title of an axis with {} for the seat.
        reach: Ends of both axes.
        curve: The frontier's name.
    """
    from plotly.subplots import make_subplots

    rows, columns = (list(dict.fromkeys(curves[name])) or [""] for name in ("row", "column"))
    names = list(dict.fromkeys(points["name"]))
    height = _ABOUT + _PANEL * len(rows)
    figure = make_subplots(
        rows=len(rows),
        cols=len(columns),
        shared_xaxes="all",
        shared_yaxes="all",
        horizontal_spacing=0.03,
        vertical_spacing=20 / height if len(rows) > 1 else 0,
    )
    apply_style(figure, still=True)
    for i, of_row in enumerate(rows):
        for j, of_column in enumerate(columns):
            own, there = _panel(curves, of_row, of_column), _panel(points, of_row, of_column)
            place = {"row": i + 1, "col": j + 1}
            first = i == j == 0
            _add_curve(figure, own, curve, first, place)
            for at, name in enumerate(names):
                _add_point(figure, there[there["name"] == name], name, at, place)
            _title(figure, [of_row, of_column], place)
    _legend(figure, names)
    figure.update_xaxes(title={"text": axis.format("A"), "font": {"size": 13}}, row=len(rows))
    figure.update_yaxes(title={"text": axis.format("B"), "font": {"size": 13}}, col=1)
    figure.update_xaxes(range=reach)
    figure.update_yaxes(range=reach)
    figure.update_layout(height=height, margin={"t": 8, "r": 16})
    return figure


def _panel(frame: pd.DataFrame, row: Any, column: Any) -> pd.DataFrame:
    found: pd.DataFrame = frame[(frame["row"] == row) & (frame["column"] == column)]
    return found


def _title(figure: Figure, parts: list[Any], place: dict[str, int]) -> None:
    """Write a panel's name in its lower left corner, where no deal is worth making."""
    words = "<br>".join(plain(part) for part in parts if part != "")
    corner = {"xref": "x domain", "yref": "y domain", "x": 0.04, "y": 0.05, "xanchor": "left", "yanchor": "bottom"}
    figure.add_annotation(
        text=words, showarrow=False, align="left", font={"color": TONE, "size": 13}, **corner, **place
    )


def _add_curve(figure: Figure, own: pd.DataFrame, name: str, first: bool, place: dict[str, int]) -> None:
    figure.add_scatter(
        x=own["a"].tolist(),
        y=own["b"].tolist(),
        mode="lines",
        line={"color": TONE, "width": 1.5},
        name=plain(name, 60),
        showlegend=first,
        hovertemplate="A %{x:.4g}, B %{y:.4g}<extra></extra>",
        **place,
    )


_BOUNDS = (["a", "a_low", "a_high"], ["b", "b_low", "b_high"])


def _add_point(figure: Figure, own: pd.DataFrame, name: str, at: int, place: dict[str, int]) -> None:
    known, hue = own.dropna(subset=["a", "b"]), HUES[at % len(HUES)]
    figure.add_scatter(
        x=known["a"].tolist(),
        y=known["b"].tolist(),
        mode="markers",
        marker=_marker(at),
        error_x=error_bars(known[_BOUNDS[0]].to_numpy(), hue, width=0),
        error_y=error_bars(known[_BOUNDS[1]].to_numpy(), hue, width=0),
        legendgroup=str(at),
        showlegend=False,
        hovertext=[
            f"{plain(name)}, n = {n}<br>A {_bounds(*of_a)}<br>B {_bounds(*of_b)}"
            for n, of_a, of_b in zip(known["n"], *(known[columns].to_numpy() for columns in _BOUNDS), strict=True)
        ],
        hoverinfo="text",
        **place,
    )


def _marker(at: int) -> dict[str, Any]:
    # The first ones are larger, so that they show behind others.
    return {"color": HUES[at % len(HUES)], "symbol": _SYMBOLS[at % len(_SYMBOLS)], "size": max(13 - at, 8)}


def _legend(figure: Figure, names: list[str]) -> None:
    """Name everybody once, also those who made no deal in the first panel."""
    for at, name in enumerate(names):
        figure.add_scatter(
            x=[None], y=[None], mode="markers", marker=_marker(at), name=plain(name), legendgroup=str(at), row=1, col=1
        )


_OUTCOME_SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross")


def outcomes(
    groups: Mapping[str, Sequence[tuple[float, float]]],
    *,
    unit: str = "points",
    what: str = "payoff",
    marks: Mapping[str, tuple[float, float]] | None = None,
    equal: bool = True,
) -> Figure:
    """Draw one dot per match by group, and the mean of each group with its 95 % intervals.

    Args:
        groups: (payoff of A, payoff of B) by group.
        unit: Unit of the payoffs.
        what: Word for a payoff.
        marks: Reference points by name.
        equal: Draw the line on which both have the same.
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
    hue, symbol = HUES[at % len(HUES)], _OUTCOME_SYMBOLS[at % len(_OUTCOME_SYMBOLS)]
    label = f"{plain(name)}, n = {len(pairs)}"
    own = {"legendgroup": str(at)}
    figure.add_scatter(
        x=[a for a, _ in pairs],
        y=[b for _, b in pairs],
        mode="markers",
        marker={"color": hue, "symbol": symbol, "size": 6, "opacity": 0.4},
        name=label,
        hovertemplate="A %{x:.5g}, B %{y:.5g}<extra></extra>",
        **own,
    )
    if len(pairs) < 2:
        return
    a, b = (stats.mean_interval([pair[k] for pair in pairs]) for k in (0, 1))
    of_a, of_b = (_bounds(e.value, e.low, e.high) for e in (a, b))
    words = f"{plain(name)}, mean with 95 % interval<br>A {of_a}<br>B {of_b}"
    figure.add_scatter(
        x=[a.value],
        y=[b.value],
        mode="markers",
        marker={"color": hue, "symbol": symbol, "size": 13, "line": {"color": "#ffffff", "width": 1.5}},
        error_x=error_bars([a], hue),
        error_y=error_bars([b], hue),
        showlegend=False,
        hovertext=[words],
        hoverinfo="text",
        **own,
    )


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


def _bounds(value: float, low: float, high: float) -> str:
    return f"{format_significant(value, 5)} ({format_significant(low, 5)} to {format_significant(high, 5)})"


def anchoring(fit: pd.DataFrame, points: pd.DataFrame, *, unit: str = "points", scale: float = 1) -> Figure:
    """Draw what each seat was paid over what its first proposal claimed, with the fitted line of each seat.

    Args:
        fit: The terms of `proposals.anchoring`.
        points: Its points.
        unit: Unit of the payoffs.
        scale: Numbers are divided by it (100: cents in, dollars out).
    """
    slope = fit.set_index("term").to_dict("index")["first_offer"]
    estimate, low, high = (format_significant(slope[name]) for name in ("estimate", "low", "high"))
    words = f"slope {estimate} [{low}, {high}], {slope['clusters']:.0f} deals"
    figure = new_figure(f"first offer: own payoff if accepted ({unit})<br>{words}", f"own payoff ({unit})")
    for at, (seat, part) in enumerate(points.groupby("seat")):
        hue, x, y = HUES[at % len(HUES)], part["first_offer"] / scale, part["payoff"] / scale
        look = {"color": hue, "symbol": _OUTCOME_SYMBOLS[at % len(_OUTCOME_SYMBOLS)], "size": 6, "opacity": 0.4}
        name = f"seat {seat}, n = {len(part)} on {part['deal'].nunique()} deals"
        figure.add_scatter(x=list(x), y=list(y), mode="markers", marker=look, name=name, legendgroup=str(at))
        ends = [x.min(), x.max()]
        # With a term per seat, the line of a seat goes through the means of its points.
        heights = [y.mean() + slope["estimate"] * (end - x.mean()) for end in ends]
        line = {"color": hue, "width": 2}
        figure.add_scatter(x=ends, y=heights, mode="lines", line=line, showlegend=False, legendgroup=str(at))
    figure.update_layout(height=400)
    return figure
