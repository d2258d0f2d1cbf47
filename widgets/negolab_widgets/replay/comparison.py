"""Two branches of a match side by side: how they ended, where their proposals lie, and the moves of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import ipywidgets as w

from negolab.formatting import format_end
from negolab.game import SEATS
from negolab.record import Record, start_state
from negolab_widgets import html
from negolab_widgets.html import Markup
from negolab_widgets.layout import box, framed, set_visible
from negolab_widgets.replay.cards import render_step
from negolab_widgets.replay.plane import course, render_plane, surroundings
from negolab_widgets.replay.record_list import count_replies
from negolab_widgets.replay.steps import Step, record_steps
from negolab_widgets.tables.seats import seat_name


class Comparison:
    """Compare two of several branches."""

    def __init__(self) -> None:
        self._records: dict[str, Record] = {}
        self._sides = [w.Dropdown(description=name) for name in ("Left", "Right")]
        for side in self._sides:
            side.observe(lambda _: self._draw(), "value")
        self._ends, self._side_by_side = w.HTML(), w.HTML()
        title = w.HTML(html.element("h2", "Branches side by side"))
        self.widget = framed(title, box(*self._sides, cls="nl-form"), self._ends, self._side_by_side)
        self.set_branches({})

    def set_branches(self, records: Mapping[str, Record]) -> None:
        """Set the branches by name, the original first; the last one is compared with it at once."""
        self._records = {}
        names = list(records)
        for side, at in zip(self._sides, (0, -1), strict=True):
            side.options = names
            side.value = names[at] if names else None
        self._records = dict(records)
        set_visible(self.widget, len(names) > 1)
        self._draw()

    def _draw(self) -> None:
        chosen = dict.fromkeys(side.value for side in self._sides if side.value in self._records)
        pair = {name: self._records[name] for name in chosen}
        if len(self._records) < 2:
            self._ends.value = self._side_by_side.value = ""
            return
        self._ends.value = _render_ends(pair)
        self._side_by_side.value = _render_side_by_side(pair)


def _render_ends(pair: Mapping[str, Record]) -> Markup:
    """Render one row per branch."""
    rows = []
    for name, record in pair.items():
        game, header = record.game, record.header
        players = " / ".join(header.players.get(seat, "?") for seat in SEATS)
        paid = (game.format_payoff(record.payoffs[seat]) for seat in SEATS)
        rows.append((name, players, format_end(record.end), *paid, count_replies(record)))
    names = [seat_name(game, seat) for seat in SEATS]
    head = ("branch", f"players {' / '.join(names)}", "end", *(f"paid to {name}" for name in names), "replies")
    return html.table(head, rows, "How the branches ended", cls="nl-unbroken")


def common_prefix(one: Record, two: Record) -> int:
    """Count the first events that two records have in common."""
    if start_state(one) != start_state(two):  # as values: a record that was read holds its start as plain data
        return 0
    pairs = zip(one.events[1:], two.events[1:], strict=False)
    return next((i for i, (a, b) in enumerate(pairs, 1) if a != b), min(len(one.events), len(two.events)))


def _render_side_by_side(pair: Mapping[str, Record]) -> Markup:
    """Render the plane of both, and beside it the steps of each after those that they share."""
    records = list(pair.values())
    common = common_prefix(records[0], records[-1]) if len(records) > 1 else 0
    steps = {name: record_steps(record) for name, record in pair.items()}
    shared = sum(step.at <= common for step in next(iter(steps.values())))
    head = html.element("p", f"The first {shared} steps are the same.") if shared else ""
    sides = ("left", "right") if len(pair) > 1 else ("",)
    courses = {side: course(pair[name], steps[name]) for side, name in zip(sides, pair, strict=True)}
    drawn = any(each.points for each in courses.values())
    plane = render_plane(courses, surroundings(records[0])) if drawn else ""
    halves = (
        _render_half(name, at, steps[name], common if len(pair) > 1 else 0, record)
        for at, (name, record) in enumerate(pair.items())
    )
    place = [html.element("div", plane, cls="nl-branches-plane")] if drawn else []
    return html.join([head, html.element("div", *place, *halves, cls="nl-branches")])


def _render_half(name: str, at: int, steps: Sequence[Step], common: int, record: Record) -> Markup:
    cards = (render_step(step, record.game) for step in steps if step.at > common)
    dash = html.element("i", cls=f"nl-key-course nl-key-course-{at}")
    scrolled = {"tabindex": "0", "role": "group", "aria_label": f"Steps of {name}"}
    head = html.element("h2", dash, name)
    return html.element("div", head, html.element("div", *cards, cls="nl-half-steps", **scrolled), cls="nl-half")
