"""Proposals as points in the plane of both payoffs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from negolab.game import SEATS, Seat
from negolab_widgets.charts.look import COLOURS, SYMBOLS, TONE, figure_of, plain, wrapped

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

_DASHES = ("solid", "dash", "dot", "dashdot", "longdash")
_MARKS = {
    "deal": ("star", "bottom center"),
    "disagreement": ("x-thin", "top right"),
    "Nash": ("diamond-open", "middle right"),
    "Kalai-Smorodinsky": ("triangle-up-open", "middle left"),
}
"""Symbols of the usual reference points, and where their names stand: two of them often lie close together."""
_OTHER = ("hexagon-open", "bottom right")


class Point(NamedTuple):
    """What `seat` proposed, by what it would pay A and B, and words for it (plain text, shown on hover)."""

    seat: Seat
    a: float
    b: float
    text: str = ""


def path(
    branches: Mapping[str, Sequence[Point]],
    frontier: Sequence[tuple[float, float]] = (),
    marks: Mapping[str, tuple[float, float] | None] | None = None,
    *,
    joined: bool = False,
    unit: str = "points",
    what: str = "payoff",
    scale: float = 1,
    names: Mapping[Seat, str] | None = None,
) -> Figure:
    """Proposals in order as a path in the plane of both payoffs, one per branch, told apart by dashes.

    `joined`: the frontier is a line, not separate points; what is in view is then what was proposed, not all of the
    line. `marks` are reference points by name, such as `deal`,
    `disagreement`, `Nash`; None is left out. Numbers are divided by `scale` (100: cents in, dollars out).
    """
    titles = names or {"A": "A", "B": "B"}
    figure = figure_of(*(f"{what} of {plain(titles[seat])} ({unit})" for seat in SEATS))
    figure.update_layout(height=400, legend={"itemclick": False, "itemdoubleclick": False})
    plane = _Plane(figure, scale, titles)
    if frontier:
        plane.add_frontier(frontier, joined)
    for at, (branch, points) in enumerate(branches.items()):
        plane.add_branch(branch if len(branches) > 1 else "", points, _DASHES[at % len(_DASHES)])
    for seat in SEATS:
        if any(point.seat == seat for points in branches.values() for point in points):
            plane.add_key(seat)
    for name, pair in (marks or {}).items():
        if pair is not None:
            plane.add_mark(name, pair)
    if joined:
        plane.focus([*(point[1:3] for points in branches.values() for point in points), *(marks or {}).values()])
    return figure


class _Plane(NamedTuple):
    """A figure under construction, with what all its traces share."""

    figure: Figure
    scale: float
    names: Mapping[Seat, str]

    def add(self, pairs: Iterable[tuple[float, float]], **look: Any) -> None:
        xs, ys = [], []
        for a, b in pairs:
            xs.append(a / self.scale)
            ys.append(b / self.scale)
        self.figure.add_scatter(x=xs, y=ys, **look)

    def focus(self, pairs: Iterable[tuple[float, float] | None]) -> None:
        """Show these pairs, with some room, whatever else is drawn; a double click shows everything."""
        shown = [(a / self.scale, b / self.scale) for a, b in filter(None, pairs)]
        if shown:
            self.figure.update_xaxes(range=_around([a for a, _ in shown]))
            self.figure.update_yaxes(range=_around([b for _, b in shown]))

    def add_frontier(self, frontier: Sequence[tuple[float, float]], joined: bool) -> None:
        line = {"mode": "lines", "line": {"color": TONE, "width": 1.5}}
        dots = {"mode": "markers", "marker": {"color": TONE, "size": 4}}
        hover = "frontier: A %{x:.6g}, B %{y:.6g}<extra></extra>"
        self.add(frontier, name="frontier", hovertemplate=hover, **(line if joined else dots))

    def add_branch(self, branch: str, points: Sequence[Point], dash: str) -> None:
        """The line of a branch, then each seat's points on it."""
        line = {"color": TONE, "width": 1, "dash": dash}
        label = plain(branch) if branch else ""
        pairs = [(point.a, point.b) for point in points]
        self.add(pairs, name=label, mode="lines", line=line, hoverinfo="skip", showlegend=bool(branch))
        for seat in SEATS:
            own = [(number, point) for number, point in enumerate(points, 1) if point.seat == seat]
            self.add(
                [(point.a, point.b) for _, point in own],
                mode="markers+text",
                marker={"color": COLOURS[seat], "symbol": SYMBOLS[seat], "size": 9},
                text=[str(number) if _numbered(number, len(points)) else "" for number, _ in own],
                textposition="top center",
                textfont={"size": 13, "color": TONE},
                hovertext=[self.told(number, point, label) for number, point in own],
                hoverinfo="text",
                showlegend=False,
                cliponaxis=False,
            )

    def add_key(self, seat: Seat) -> None:
        """A seat's one entry in the legend over all branches."""
        marker = {"color": COLOURS[seat], "symbol": SYMBOLS[seat], "size": 9}
        self.figure.add_scatter(x=[None], y=[None], mode="markers", marker=marker, name=plain(self.names[seat]))

    def add_mark(self, name: str, pair: tuple[float, float]) -> None:
        symbol, side = _MARKS.get(name, _OTHER)
        self.add(
            [pair],
            mode="markers+text",
            marker={"symbol": symbol, "size": 12, "color": TONE, "line": {"width": 2, "color": TONE}},
            text=[plain(name)],
            textposition=side,
            textfont={"size": 13, "color": TONE},
            hovertext=[f"{plain(name)}: {self.pair(*pair)}"],
            hoverinfo="text",
            showlegend=False,
            cliponaxis=False,
        )

    def pair(self, a: float, b: float) -> str:
        return f"A {a / self.scale:.6g}, B {b / self.scale:.6g}"

    def told(self, number: int, point: Point, branch: str) -> str:
        of = f" ({branch})" if branch else ""
        head = f"{number}. {plain(self.names[point.seat])} proposes{of}<br>{self.pair(point.a, point.b)}"
        return f"{head}<br>{wrapped(point.text)}" if point.text else head


def _around(values: Sequence[float]) -> list[float]:
    room = 0.15 * (max(values) - min(values)) or 1
    return [min(values) - room, max(values) + room]


def _numbered(number: int, count: int) -> bool:
    """Which points carry their number where all would not fit."""
    return count <= 16 or number in (1, count) or number % 5 == 0
