"""Which matches are in: for each factor the values that count, as boxes to tick."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import ipywidgets as w

from negolab_widgets.html import element
from negolab_widgets.results.factor import SEATED, Factor
from negolab_widgets.tables.controls import column, framed, row, shown_if

MOST_BOXES = 12
"""Values of a factor that have a box each; more are a list."""


class Filters:
    """`out` are the values that are left out, by column: what comes later is in. `changed()` is called when they
    change."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self._shown: tuple[Factor, ...] = ()
        self.out: dict[str, set[str]] = {}
        self._boxes = w.Box()
        self._boxes.add_class("nl-form")
        self._panel = framed(self._boxes)
        shown_if(self._panel, False)
        self._open = w.Button(description="Choose matches")
        self._open.on_click(lambda _: shown_if(self._panel, self._panel.layout.display == "none"))
        self.widget = column(self._open, self._panel)

    def offer(self, factors: Sequence[Factor]) -> None:
        """The factors there are now."""
        wanted = tuple(factor for factor in factors if factor.column not in SEATED)
        if wanted != self._shown:
            self._shown = wanted
            self._boxes.children = [self._of(factor) for factor in wanted]
            shown_if(self._open, bool(wanted))

    def told(self) -> str:
        """What is left out, in words; "" for nothing."""
        titles = {factor.column: factor.title for factor in self._shown}
        said = [
            f"{titles[column]} {', '.join(sorted(values))}"
            for column, values in self.out.items()
            if values and column in titles
        ]
        return f"Without {'; '.join(said)}." if said else ""

    def _of(self, factor: Factor) -> w.Widget:
        out = self.out.setdefault(factor.column, set())
        if len(factor.texts) > MOST_BOXES:
            return self._list(factor, out)
        boxes = [self._box(factor, text, text not in out) for text in factor.texts]
        line = row(*boxes)
        line.add_class("nl-ticks")
        return column(w.HTML(element("h2", factor.title)), line)

    def _box(self, factor: Factor, text: str, ticked: bool) -> w.Checkbox:
        box = w.Checkbox(description=text, value=ticked, indent=False)

        def tick(change: Any) -> None:
            (self.out[factor.column].discard if change["new"] else self.out[factor.column].add)(text)
            self._changed()

        box.observe(tick, "value")
        return box

    def _list(self, factor: Factor, out: set[str]) -> w.SelectMultiple:
        kept = [text for text in factor.texts if text not in out]
        many = w.SelectMultiple(description=factor.title, options=list(factor.texts), value=kept, rows=8)

        def choose(change: Any) -> None:
            self.out[factor.column] = set(factor.texts) - set(change["new"])
            self._changed()

        many.observe(choose, "value")
        return many
