"""Where deals lie in the plane of both payoffs, below the frontier of what is possible."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from negolab_widgets.charts.look import HUES, TONE, bars, dressed, plain

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
    """A panel per `row` and `column`, columns of both frames. `points` has a row per `name` with `a`, `b`, the bounds
    `a_low`, `a_high`, `b_low`, `b_high` of their intervals and `n`; `curves` the points `a`, `b` of the frontier, in
    the order of its line. `axis` is the title of an axis with {} for the seat, `reach` both axes' ends, `curve` the
    frontier's name."""
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
    dressed(figure, still=True)
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
    """What a panel is of, in its lower left corner, where no deal is worth making."""
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


def _add_point(figure: Figure, own: pd.DataFrame, name: str, at: int, place: dict[str, int]) -> None:
    known, hue = own.dropna(subset=["a", "b"]), HUES[at % len(HUES)]
    figure.add_scatter(
        x=known["a"].tolist(),
        y=known["b"].tolist(),
        mode="markers",
        marker=_look(at),
        error_x=bars(known[["a", "a_low", "a_high"]].to_numpy(), hue, width=0),
        error_y=bars(known[["b", "b_low", "b_high"]].to_numpy(), hue, width=0),
        legendgroup=str(at),
        showlegend=False,
        hovertext=[
            f"{plain(name)}, n = {p.n}<br>A {p.a:.4g} ({p.a_low:.4g} to {p.a_high:.4g})"
            f"<br>B {p.b:.4g} ({p.b_low:.4g} to {p.b_high:.4g})"
            for p in known.itertuples()
        ],
        hoverinfo="text",
        **place,
    )


def _look(at: int) -> dict[str, Any]:
    # The first ones are larger, so that they show behind others.
    return {"color": HUES[at % len(HUES)], "symbol": _SYMBOLS[at % len(_SYMBOLS)], "size": max(13 - at, 8)}


def _legend(figure: Figure, names: list[str]) -> None:
    """Every name once, also of those who made no deal in the first panel."""
    for at, name in enumerate(names):
        figure.add_scatter(
            x=[None], y=[None], mode="markers", marker=_look(at), name=plain(name), legendgroup=str(at), row=1, col=1
        )
