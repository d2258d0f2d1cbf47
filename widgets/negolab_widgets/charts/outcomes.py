"""Where matches ended in the plane of both payoffs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from negolab.analysis import stats
from negolab_widgets.charts.look import HUES, TONE, bars, figure_of, plain

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

_SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross")


def outcomes(
    groups: Mapping[str, Sequence[tuple[float, float]]],
    *,
    unit: str = "points",
    what: str = "payoff",
    marks: Mapping[str, tuple[float, float]] | None = None,
    equal: bool = True,
) -> Figure:
    """One dot per match, (A, B), by group, and the mean of each group with its 95 % intervals. `marks` are reference
    points by name; `equal` draws the line on which both have the same."""
    figure = figure_of(f"{what} of A ({unit})", f"{what} of B ({unit})")
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
    hue, symbol = HUES[at % len(HUES)], _SYMBOLS[at % len(_SYMBOLS)]
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
    a, b = (stats.mean([pair[k] for pair in pairs]) for k in (0, 1))
    words = f"{plain(name)}, mean with 95 % interval<br>A {_interval(a)}<br>B {_interval(b)}"
    figure.add_scatter(
        x=[a.value],
        y=[b.value],
        mode="markers",
        marker={"color": hue, "symbol": symbol, "size": 13, "line": {"color": "#ffffff", "width": 1.5}},
        error_x=bars([a], hue),
        error_y=bars([b], hue),
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
        hovertext=[f"{plain(name)}: A {a:.5g}, B {b:.5g}"],
        hoverinfo="text",
        cliponaxis=False,
    )


def _interval(e: stats.Estimate) -> str:
    return f"{e.value:.5g} ({e.low:.5g} to {e.high:.5g})"
