"""Two branches of a match side by side: how they ended, where their proposals lie, and what was said in each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import ipywidgets as w

from negolab.analysis.replies import proposals
from negolab.events import Stepped
from negolab.game import SEATS
from negolab.money import display_unit
from negolab.record import Record, start_state
from negolab.theory.solutions import nash_point
from negolab_widgets import html
from negolab_widgets.charts import Chart, Point, path
from negolab_widgets.html import Markup, table
from negolab_widgets.replay.record_list import UNFINISHED, count_replies
from negolab_widgets.replay.scrubber import Step, record_steps, render_step
from negolab_widgets.tables.controls import column

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


def proposal_figure(branches: Mapping[str, Record]) -> Figure | None:
    """Draw each branch's proposals in the plane of both payoffs; None where the game has no stakes. All branches share
    one start."""
    points = {name: [Point(p.seat, p.a, p.b, p.text) for p in proposals(record)] for name, record in branches.items()}
    if not any(points.values()):
        return None
    first = next(iter(branches.values()))
    game, dealt = first.game, start_state(first)
    # Where every round pays by itself, the frontier of the first round says nothing of the points so far.
    adds_up = game.pays_as_it_goes and getattr(game, "rounds", 1) > 1
    frontier = () if adds_up else game.frontier(dealt)
    disagreement = game.disagreement(dealt)
    corner = (disagreement["A"], disagreement["B"])
    marks = {"no deal": corner, "Nash": nash_point(frontier, corner, game.divisible) if frontier else None}
    unit, by = display_unit(game.unit)
    what = "payoff so far" if adds_up else "payoff"
    return path(points, frontier, marks, joined=game.divisible, unit=game.stake_unit or unit, what=what, scale=by)


def proposal_table(record: Record) -> Markup:
    """Render the same as a table: each proposal with its step, and what it would pay A and B."""
    game = record.game
    unit, by = display_unit(game.unit)
    rows = [
        (n, f"step {p.at + 1}", f"seat {p.seat}", f"{p.a / by:,.6g}", f"{p.b / by:,.6g}")
        for n, p in enumerate(proposals(record), 1)
    ]
    head = ("proposal", "at", "by", *(f"would pay {seat} ({game.stake_unit or unit})" for seat in SEATS))
    return table(head, rows, "What each proposal would pay", cls="nl-long")


MAX_STEPS = 60
"""Steps that are shown of each branch."""


class Comparison:
    """Compare two of several branches."""

    def __init__(self) -> None:
        self._records: dict[str, Record] = {}
        self._sides = [w.Dropdown(description=name) for name in ("Left", "Right")]
        for side in self._sides:
            side.observe(lambda _: self._draw(), "value")
        self._ends, self._side_by_side = w.HTML(), w.HTML()
        self._chart = Chart(height=400)
        form = w.Box(self._sides)
        form.add_class("nl-form")
        title = w.HTML(html.element("h2", "Branches side by side"))
        self.widget = column(title, form, self._ends, self._chart, self._side_by_side)
        self.widget.add_class("nl-panel")
        self.set_branches({})

    def set_branches(self, records: Mapping[str, Record]) -> None:
        """Set the branches by name, the original first; the last one is compared with it at once."""
        self._records = {}
        names = list(records)
        for side, at in zip(self._sides, (0, -1), strict=True):
            side.options = names
            side.value = names[at] if names else None
        self._records = dict(records)
        self.widget.layout.display = None if len(names) > 1 else "none"
        self._draw()

    def _draw(self) -> None:
        chosen = dict.fromkeys(side.value for side in self._sides if side.value in self._records)
        pair = {name: self._records[name] for name in chosen}
        if len(self._records) < 2:
            return
        self._ends.value = _render_ends(pair)
        self._chart.show(proposal_figure(pair))
        self._side_by_side.value = _render_side_by_side(pair)


def _render_ends(pair: Mapping[str, Record]) -> html.Markup:
    """Render one row per branch."""
    rows = []
    for name, record in pair.items():
        game, header = record.game, record.header
        players = " / ".join(header.players.get(seat, "?") for seat in SEATS)
        paid = (game.format_payoff(record.payoffs[seat]) for seat in SEATS)
        rows.append((name, players, record.end or UNFINISHED, *paid, count_replies(record)))
    head = ("branch", "players A / B", "end", "paid to A", "paid to B", "replies")
    return html.table(head, rows, "How the branches ended", cls="nl-unbroken")


def common_prefix(one: Record, two: Record) -> int:
    """Count the first events that two records have in common."""
    if start_state(one) != start_state(two):  # as values: a record that was read holds its start as plain data
        return 0
    pairs = zip(one.events[1:], two.events[1:], strict=False)
    return next((i for i, (a, b) in enumerate(pairs, 1) if a != b), min(len(one.events), len(two.events)))


def _render_side_by_side(pair: Mapping[str, Record]) -> html.Markup:
    records = list(pair.values())
    common = common_prefix(records[0], records[-1]) if len(records) > 1 else 0
    head = html.element("p", f"The first {common} steps are the same.") if common else ""
    columns = (
        html.element(
            "div", html.element("h2", name), *_render_steps(record, _telling_steps(record, common)), cls="nl-half"
        )
        for name, record in pair.items()
    )
    return html.join([head, html.element("div", *columns, cls="nl-columns nl-halves")])


def _telling_steps(record: Record, common: int) -> list[Step]:
    """Return the steps after the common ones, without those that only say that a reply took effect."""
    return [step for step in record_steps(record)[common:] if not isinstance(step.entry, Stepped)]


def _render_steps(record: Record, after: list[Step]) -> list[html.Markup]:
    cards = [render_step(step, record.game) for step in after[:MAX_STEPS]]
    left = len(after) - MAX_STEPS
    return [*cards, html.element("p", f"and {left} more steps")] if left > 0 else cards
