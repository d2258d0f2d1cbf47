"""Matrices of a tournament: the payoff of the row's player against the column's."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from negolab.analysis import stats
from negolab.analysis.observations import Values, as_sample, sample_text
from negolab_widgets.charts.chart import TONE, apply_style, new_figure, plain

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

Rows = Mapping[str, Mapping[str, Values]]

_SCALE = [[0, "#eef5f2"], [1, "#0a6b52"]]
_DIVERGING = [[0, "#a8431c"], [0.5, "#f6f6f3"], [1, "#0a6b52"]]
"""For values of both signs, light at 0."""
_DARK, _LIGHT, _TURN = "#14191f", "#ffffff", 0.8
"""Ink on light fields, on dark ones, and where on the scale the second is the one that is easier to read."""
_FIELD, _ABOUT = 46, 110
"""Height of a field, and of what is around a matrix, in pixels."""


def tournament(
    rows: Rows,
    *,
    unit: str = "points",
    what: str = "mean payoff of the row",
    row: str = "player",
    column: str = "against",
    scale: float = 1,
) -> Figure:
    """Draw the mean of each pair with half its 95 % interval below it.

    Args:
        rows: Values by row and then by column; pairs that never met stay empty.
        unit: Unit of the values.
        what: Word for a value.
        row, column: Titles of the axes.
        scale: Numbers are divided by it (100: cents in, dollars out).
    """
    met = _cell_means(rows, scale)
    figure = new_figure(f"{plain(column)} ({_counts(met.values())})", plain(row), still=True)
    bar = {"title": {"text": f"{what}<br>({unit})", "font": {"size": 13}}, "thickness": 12, "outlinewidth": 0}
    _add_matrix(figure, rows, met, colorbar=bar)
    figure.update_layout(height=_ABOUT + _FIELD * max(len(rows), 1))
    return figure


def tournaments(
    matrices: Mapping[str, Rows], *, row: str = "player", column: str = "against", across: int = 2
) -> Figure:
    """Draw several measures of one tournament, a matrix each, with n below all.

    Each has its own colours, light at its lowest value, or at 0 where values have both signs.

    Args:
        matrices: Values by title (with its unit), row and column.
        row, column: Titles of the axes.
        across: Matrices beside each other.
    """
    from plotly.subplots import make_subplots

    across = min(across, max(len(matrices), 1))
    down = max(-(-len(matrices) // across), 1)
    most = max((len(rows) for rows in matrices.values()), default=1)
    height = 50 + down * (_ABOUT + _FIELD * most)
    figure = make_subplots(
        rows=down,
        cols=across,
        shared_yaxes="rows",
        horizontal_spacing=0.03,
        vertical_spacing=_ABOUT / height,
        subplot_titles=[plain(title, 80) for title in matrices],
    )
    apply_style(figure, still=True)
    figure.update_annotations(font={"size": 14, "color": TONE})
    everything: list[stats.Estimate] = []
    for at, rows in enumerate(matrices.values()):
        met = _cell_means(rows, 1)
        everything += met.values()
        _add_matrix(figure, rows, met, place=(at // across + 1, at % across + 1), showscale=False)
    figure.update_xaxes(title={"text": plain(column)})
    figure.update_xaxes(title={"text": f"{plain(column)} ({_counts(everything)})"}, row=down)
    figure.update_yaxes(title={"text": plain(row)}, col=1)
    figure.update_layout(height=height, margin={"t": 40})
    return figure


Met = Mapping[tuple[str, str], stats.Estimate]


def _columns(rows: Rows) -> list[str]:
    return list(dict.fromkeys(name for cells in rows.values() for name in cells))


def _cell_means(rows: Rows, scale: float) -> Met:
    return {
        (r, c): estimate
        for r, cells in rows.items()
        for c in _columns(rows)
        if (estimate := as_sample(cells.get(c, ()), scale).mean()).n
    }


def _add_matrix(figure: Figure, rows: Rows, met: Met, place: tuple[int, int] | None = None, **look: object) -> None:
    """Draw the fields of one matrix with their numbers; `place` is its row and column among several."""
    columns = _columns(rows)
    at: dict[str, int] = {} if place is None else {"row": place[0], "col": place[1]}
    low, high = min((e.value for e in met.values()), default=0), max((e.value for e in met.values()), default=0)
    signs, most = low < 0 < high, max(-low, high)
    if signs:
        look = {**look, "zmin": -most, "zmax": most}
    figure.add_heatmap(
        z=[[met[r, c].value if (r, c) in met else None for c in columns] for r in rows],
        hovertext=[[_words(met.get((r, c)), r, c) for c in columns] for r in rows],
        hoverinfo="text",
        hoverongaps=False,
        colorscale=_DIVERGING if signs else _SCALE,
        xgap=2,
        ygap=2,
        **look,
        **at,
    )
    for (r, c), e in met.items():
        depth = abs(e.value) / most if signs else (e.value - low) / ((high - low) or 1)
        ink = _LIGHT if depth > _TURN else _DARK
        font = {"color": ink, "size": 13}
        figure.add_annotation(
            x=columns.index(c), y=list(rows).index(r), text=_cell(e), showarrow=False, font=font, **at
        )
    figure.update_xaxes(
        tickvals=list(range(len(columns))), ticktext=[plain(name, 18) for name in columns], showgrid=False, **at
    )
    figure.update_yaxes(tickvals=list(range(len(rows))), ticktext=[plain(name, 18) for name in rows], **at)
    figure.update_yaxes(autorange="reversed", showgrid=False, **at)


def _cell(e: stats.Estimate) -> str:
    digits = 0 if abs(e.value) >= 100 else 1 if abs(e.value) >= 10 else 2
    half = f"<br>± {(e.high - e.low) / 2:.{digits}f}" if e.low == e.low else ""
    return f"{e.value:.{digits}f}{half}"


def _words(e: stats.Estimate | None, row: str, column: str) -> str:
    if e is None:
        return ""
    interval = f", 95 % interval {e.low:.5g} to {e.high:.5g}" if e.low == e.low else ""
    return f"{plain(row)} against {plain(column)}<br>mean {e.value:.5g}{interval}, {sample_text(e)}"


def _counts(estimates: Collection[stats.Estimate]) -> str:
    """Say how many matches are behind each cell."""
    counts = sorted({e.n for e in estimates})
    if not counts:
        return "n = 0"
    each = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    known = any(e.low == e.low for e in estimates)
    return f"n = {each} per cell{'; ± 95 % interval' if known else ''}"
