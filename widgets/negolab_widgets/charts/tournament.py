"""Everyone against everyone: what the row earned against the column."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from negolab.analysis import stats
from negolab_widgets.charts.look import figure_of, plain

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

Rows = Mapping[str, Mapping[str, Sequence[float]]]

_SCALE = [[0, "#eef5f2"], [1, "#0d8a69"]]
_DARK, _LIGHT = "#14191f", "#ffffff"


def tournament(
    rows: Rows,
    *,
    unit: str = "points",
    what: str = "mean payoff of the row",
    row: str = "player",
    column: str = "against",
    scale: float = 1,
) -> Figure:
    """The mean of each pair, by row and then by column, with half its 95 % interval below it. Pairs that never met stay
    empty; numbers are divided by `scale` (100: cents in, dollars out)."""
    columns = list(dict.fromkeys(name for cells in rows.values() for name in cells))
    met = {
        (r, c): stats.mean([value / scale for value in cells[c]])
        for r, cells in rows.items()
        for c in columns
        if cells.get(c)
    }
    figure = figure_of(f"{plain(column)} ({_counts(met.values())})", plain(row), still=True)
    values = [[met[r, c].value if (r, c) in met else None for c in columns] for r in rows]
    words = [[_words(met.get((r, c)), r, c) for c in columns] for r in rows]
    bar = {"title": {"text": f"{what}<br>({unit})", "font": {"size": 13}}, "thickness": 12, "outlinewidth": 0}
    figure.add_heatmap(
        z=values, colorscale=_SCALE, colorbar=bar, xgap=2, ygap=2, hovertext=words, hoverinfo="text", hoverongaps=False
    )
    low, high = min((e.value for e in met.values()), default=0), max((e.value for e in met.values()), default=0)
    for y, r in enumerate(rows):
        for x, c in enumerate(columns):
            if (e := met.get((r, c))) is not None:
                ink = _LIGHT if e.value - low > 0.55 * (high - low) else _DARK
                figure.add_annotation(x=x, y=y, text=_cell(e), showarrow=False, font={"color": ink, "size": 13})
    figure.update_xaxes(tickvals=list(range(len(columns))), ticktext=[plain(name, 18) for name in columns])
    figure.update_yaxes(tickvals=list(range(len(rows))), ticktext=[plain(name, 18) for name in rows])
    figure.update_yaxes(autorange="reversed", showgrid=False)
    figure.update_xaxes(showgrid=False)
    figure.update_layout(height=110 + 46 * max(len(rows), 1))
    return figure


def _cell(e: stats.Estimate) -> str:
    digits = 0 if abs(e.value) >= 100 else 1 if abs(e.value) >= 10 else 2
    half = f"<br>± {(e.high - e.low) / 2:.{digits}f}" if e.n > 1 else ""
    return f"{e.value:.{digits}f}{half}"


def _words(e: stats.Estimate | None, row: str, column: str) -> str:
    if e is None:
        return ""
    interval = f", 95 % interval {e.low:.5g} to {e.high:.5g}" if e.n > 1 else ""
    return f"{plain(row)} against {plain(column)}<br>mean {e.value:.5g}{interval}, n = {e.n}"


def _counts(estimates: Iterable[stats.Estimate]) -> str:
    """How many matches stand behind each cell."""
    counts = sorted({e.n for e in estimates})
    if not counts:
        return "n = 0"
    each = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    return f"n = {each} per cell{'; ± 95 % interval' if counts[-1] > 1 else ''}"
