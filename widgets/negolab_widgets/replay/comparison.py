"""Two branches of a match side by side: how they ended, where their proposals lie, and what was said in each."""

from __future__ import annotations

from collections.abc import Mapping

import ipywidgets as w

from negolab.events import Stepped
from negolab.game import SEATS
from negolab.record import Record, start
from negolab_widgets import html
from negolab_widgets.charts import Chart
from negolab_widgets.replay.plane import plane
from negolab_widgets.replay.shelf import UNFINISHED, replies
from negolab_widgets.replay.steps import Step, card, steps
from negolab_widgets.tables.controls import column

MOST = 60
"""Steps that are shown of each branch."""


class Comparison:
    """`put` takes the branches by name, the original first; the last one is compared with it at once."""

    def __init__(self) -> None:
        self._records: dict[str, Record] = {}
        self._sides = [w.Dropdown(description=name) for name in ("Left", "Right")]
        for side in self._sides:
            side.observe(lambda _: self._draw(), "value")
        self._ends, self._said = w.HTML(), w.HTML()
        self._chart = Chart(height=400)
        form = w.Box(self._sides)
        form.add_class("nl-form")
        title = w.HTML(html.element("h2", "Branches side by side"))
        self.widget = column(title, form, self._ends, self._chart, self._said)
        self.widget.add_class("nl-panel")
        self.put({})

    def put(self, records: Mapping[str, Record]) -> None:
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
        self._ends.value = _ends(pair)
        self._chart.show(plane(pair))
        self._said.value = _columns(pair)


def _ends(pair: Mapping[str, Record]) -> html.Markup:
    """One row per branch."""
    rows = []
    for name, record in pair.items():
        game, header = record.game, record.header
        players = " / ".join(header.players.get(seat, "?") for seat in SEATS)
        paid = (game.paid(record.payoffs[seat]) for seat in SEATS)
        rows.append((name, players, record.end or UNFINISHED, *paid, replies(record)))
    head = ("branch", "players A / B", "end", "paid to A", "paid to B", "replies")
    return html.table(head, rows, "How the branches ended", cls="nl-unbroken")


def shared(one: Record, two: Record) -> int:
    """How many first events two records have in common."""
    if start(one) != start(two):  # as values: a record that was read holds its start as plain data
        return 0
    pairs = zip(one.events[1:], two.events[1:], strict=False)
    return next((i for i, (a, b) in enumerate(pairs, 1) if a != b), min(len(one.events), len(two.events)))


def _columns(pair: Mapping[str, Record]) -> html.Markup:
    records = list(pair.values())
    common = shared(records[0], records[-1]) if len(records) > 1 else 0
    head = html.element("p", f"The first {common} steps are the same.") if common else ""
    columns = (
        html.element("div", html.element("h2", name), *_cards(record, _told(record, common)), cls="nl-half")
        for name, record in pair.items()
    )
    return html.join([head, html.element("div", *columns, cls="nl-columns nl-halves")])


def _told(record: Record, common: int) -> list[Step]:
    """The steps from there on that say something: that a reply took effect goes without saying."""
    return [step for step in steps(record)[common:] if not isinstance(step.entry, Stepped)]


def _cards(record: Record, after: list[Step]) -> list[html.Markup]:
    cards = [card(step, record.game) for step in after[:MOST]]
    left = len(after) - MOST
    return [*cards, html.element("p", f"and {left} more steps")] if left > 0 else cards
