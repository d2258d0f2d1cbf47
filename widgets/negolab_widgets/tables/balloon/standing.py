"""The proposals that stand, a row each: to compare, to agree to, to refuse, to start from."""

from __future__ import annotations

from collections.abc import Callable

import ipywidgets as w

from negolab.games.balloon.state import Names, Seen
from negolab_widgets.html import Markup, element
from negolab_widgets.tables.balloon.view import Standing, standing
from negolab_widgets.tables.balloon.worth import figures, named, worth
from negolab_widgets.tables.controls import Controls, framed, row, shown_if

FEW = 4
"""Proposals of each side that are shown at once; a button shows the earlier ones."""


class Row:
    """One proposal. It is made once, so that a redraw takes the focus from none of its buttons."""

    def __init__(
        self, controls: Controls, each: Standing, agree: Callable[[], None], start: Callable[[], None]
    ) -> None:
        self.each = each
        self.look = w.HTML()
        listed = ", ".join(sorted(each.names)[:12]) or "no items"
        self.agree = controls.button("Agree to this", agree, hint=f"Agree to {listed}")
        self.start = controls.button("Start from this", start, hint=f"Tick {listed}")
        self.refuse = w.Checkbox(description="Refuse with my next message", indent=False)
        theirs = each.seat != controls.seat
        actions = [self.agree, self.start, self.refuse] if theirs else [self.start]
        self.widget = w.VBox([self.look, row(*actions)])
        self.widget.add_class("nl-offer")

    def draw(self, seen: Seen, each: Standing, chosen: Names, *, asked: bool) -> None:
        same = element("span", "your ticked set", cls="nl-same") if each.names == chosen else ""
        head = element("div", element("b", each.title), same, cls="nl-offer-head")
        self.look.value = Markup("").join([head, figures(worth(seen, each.names)), named(seen, each.names)])
        self.refuse.disabled = not asked
        self.agree.disabled = not asked or self.refuse.value


class Proposals:
    """All rows. `changed` is called when a refusal is ticked or taken back."""

    def __init__(
        self,
        controls: Controls,
        *,
        agree: Callable[[Names], None],
        start: Callable[[Names], None],
        changed: Callable[[], None],
    ) -> None:
        self._controls, self._agree, self._start, self._changed = controls, agree, start, changed
        self._made: dict[tuple[str, Names], Row] = {}
        self._most = FEW
        self._rows = w.VBox()
        self._rows.add_class("nl-column")
        self._empty = w.HTML(element("div", "No proposal stands yet.", cls="nl-soft"))
        self._more = controls.button("Show earlier proposals", self._show_more, cls="nl-link")
        self.notice = controls.new_notice()
        title = w.HTML(element("h2", "Proposals that stand"))
        self.widget = framed(title, self._empty, self._rows, self._more, self.notice)

    @property
    def refused(self) -> tuple[Names, ...]:
        """What is ticked to be refused with the next message, of what still stands."""
        return tuple(
            each.names
            for each in standing(self._controls.seen)
            if (row := self._made.get((each.seat, each.names))) is not None
            and each.seat != self._controls.seat
            and row.refuse.value
        )

    def draw(self, chosen: Names, *, asked: bool) -> None:
        every = standing(self._controls.seen)
        sides = [[each for each in every if (each.seat == self._controls.seat) is own] for own in (False, True)]
        rows = []
        for each in [each for side in sides for each in side[: self._most]]:
            made = self._row(each)
            made.draw(self._controls.seen, each, chosen, asked=asked)
            rows.append(made.widget)
        if tuple(rows) != self._rows.children:
            self._rows.children = rows
        shown_if(self._empty, not rows)
        shown_if(self._more, max(map(len, sides)) > self._most)

    def clear(self) -> None:
        """Take all refusals back."""
        for made in self._made.values():
            made.refuse.value = False

    def _row(self, each: Standing) -> Row:
        key = (each.seat, each.names)
        if key not in self._made:
            made = Row(self._controls, each, lambda: self._agree(each.names), lambda: self._start(each.names))
            self._controls.on_change(made.refuse, self._changed)
            self._made[key] = made
        return self._made[key]

    def _show_more(self) -> None:
        self._most *= 4
        self._controls.draw()
