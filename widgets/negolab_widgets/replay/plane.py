"""The proposals of matches in the plane of both payoffs, with what theory says about it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from negolab.analysis.proposals import proposals
from negolab.game import SEATS
from negolab.record import Record, start
from negolab.theory.solutions import nash_point
from negolab_widgets.amounts import scale
from negolab_widgets.charts import Point, path
from negolab_widgets.html import Markup, table

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


def plane(branches: Mapping[str, Record]) -> Figure | None:
    """The path of proposals of each branch; None where the game tells no stakes. All branches share one start."""
    points = {name: [Point(p.seat, p.a, p.b, p.text) for p in proposals(record)] for name, record in branches.items()}
    if not any(points.values()):
        return None
    first = next(iter(branches.values()))
    game, dealt = first.game, start(first)
    # Where every round pays by itself, the frontier of the first round says nothing of the points so far.
    adds_up = game.pays_as_it_goes and getattr(game, "rounds", 1) > 1
    frontier = () if adds_up else game.frontier(dealt)
    disagreement = game.disagreement(dealt)
    corner = (disagreement["A"], disagreement["B"])
    marks = {"no deal": corner, "Nash": nash_point(frontier, corner, game.divisible) if frontier else None}
    by, unit = scale(game)
    what = "payoff so far" if adds_up else "payoff"
    return path(points, frontier, marks, joined=game.divisible, unit=game.stake_unit or unit, what=what, scale=by)


def stakes_told(record: Record) -> Markup:
    """The same as a table: each proposal with its step, and what it would pay A and B."""
    game = record.game
    by, unit = scale(game)
    rows = [
        (n, f"step {p.at + 1}", f"seat {p.seat}", f"{p.a / by:,.6g}", f"{p.b / by:,.6g}")
        for n, p in enumerate(proposals(record), 1)
    ]
    head = ("proposal", "at", "by", *(f"would pay {seat} ({game.stake_unit or unit})" for seat in SEATS))
    return table(head, rows, "What each proposal would pay", cls="nl-long")
