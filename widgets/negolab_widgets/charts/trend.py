"""How a number moves with a parameter: means of matches, and curves of theory beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from negolab.analysis import stats
from negolab_widgets.charts.look import HUES, TONE, bars, figure_of, plain

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

_SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross")
_DASHES = ("dot", "dash", "dashdot", "longdash")


def trend(
    groups: Mapping[str, Mapping[float, Sequence[float]]],
    *,
    x: str,
    y: str,
    curves: Mapping[str, Mapping[float, float]] | None = None,
    levels: Mapping[str, float] | None = None,
    scale: float = 1,
    log: bool = False,
) -> Figure:
    """The mean of each group at each value of a parameter, with its 95 % interval. `curves` are exact results by that
    parameter, `levels` reference points that do not depend on it. `x` and `y` are titles with units; what is plotted
    along y is divided by `scale` (100: cents in, dollars out). `log`: the parameter on a logarithmic axis."""
    figure = figure_of(x, y)
    if log:
        figure.update_xaxes(type="log", tickvals=sorted({at for cells in groups.values() for at in cells}))
    for at, (name, cells) in enumerate(groups.items()):
        _add_means(figure, name, at, {place: [v / scale for v in values] for place, values in cells.items() if values})
    for at, (name, curve) in enumerate((curves or {}).items()):
        hue = TONE if groups else HUES[at % len(HUES)]
        look = {"color": hue, "width": 2, "dash": _DASHES[at % len(_DASHES)]}
        heights = [value / scale for value in curve.values()]
        hover = "%{x:.5g}: %{y:.5g}<extra></extra>"
        figure.add_scatter(x=list(curve), y=heights, mode="lines", line=look, name=plain(name), hovertemplate=hover)
    for name, level in (levels or {}).items():
        figure.add_hline(level / scale, line={"color": TONE, "width": 1})
        place = {"xref": "paper", "x": 1, "xanchor": "right", "y": level / scale, "yanchor": "bottom"}
        text = f"{plain(name)} {level / scale:.5g}"
        figure.add_annotation(text=text, showarrow=False, font={"color": TONE, "size": 13}, **place)
    figure.update_layout(height=360)
    return figure


def _add_means(figure: Figure, name: str, at: int, cells: Mapping[float, Sequence[float]]) -> None:
    estimates = [stats.mean(values) for values in cells.values()]
    counts = sorted({e.n for e in estimates}) or [0]
    each = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    hue = HUES[at % len(HUES)]
    figure.add_scatter(
        x=list(cells),
        y=[e.value for e in estimates],
        mode="lines+markers",
        line={"color": hue, "width": 2},
        marker={"color": hue, "symbol": _SYMBOLS[at % len(_SYMBOLS)], "size": 8},
        error_y=bars(estimates, hue),
        name=f"{plain(name)}, n = {each} each",
        hovertext=[
            f"{plain(name)} at {place:.5g}: {e.value:.5g}"
            + (f", 95 % interval {e.low:.5g} to {e.high:.5g}" if e.n > 1 else "")
            + f", n = {e.n}"
            for place, e in zip(cells, estimates, strict=True)
        ],
        hoverinfo="text",
    )
