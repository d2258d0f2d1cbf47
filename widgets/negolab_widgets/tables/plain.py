"""The table for any game: its prompts as a log, its options as buttons, and a box to type in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ipywidgets as w
from typing_extensions import override

from negolab.studies.texts import table_texts
from negolab_widgets import html
from negolab_widgets.tables.controls import Collapsible, ReplyBox, Table, column, render_facts, row, set_visible
from negolab_widgets.tables.decision import COMPOSE

MAX_BUTTONS = 24
"""With more options than this they become a list to choose from."""

MAX_RULES, LONGEST_RULE = 7, 220
"""Lines, and characters of each, of a prompt's first paragraph that is shown as the rules in short."""


class PlainTable(Table):
    """A button per option, or a searchable list where there are many; the reply can always be typed."""

    @staticmethod
    @override
    def rules(game: Any, seen: Any) -> Sequence[str]:
        paragraph, ends, _ = game.prompt(seen, None).strip().partition("\n\n")
        lines = [line.strip() for line in paragraph.splitlines()]
        short = len(lines) <= MAX_RULES and all(len(line) <= LONGEST_RULE for line in lines)
        return lines if ends and short else ()

    @override
    def build(self) -> None:
        self._own, self._due = w.HTML(), w.HTML()
        self._typed = ReplyBox(self)
        self._typing = Collapsible(self, table_texts.TYPED, self._typed.widget)
        self._options = row()
        self._options.add_class("nl-options")
        self._filter = w.Text(description=table_texts.FIND, continuous_update=False, placeholder=table_texts.FIND_HINT)
        self._list = w.Select(description=table_texts.OPTIONS, rows=6)
        self._choose = self.button(table_texts.PLAY, lambda: self.say(self._list.value or ""))
        self._texts: list[str] = []
        self.on_change(self._filter, self._narrow)
        self.compose = table_texts.CHOOSE
        choices = column(self._options, self._filter, self._list, self._choose, self.notice, self._due)
        choices.add_class(COMPOSE)
        self.main.children = [self.context.log, choices, self._typing.widget]
        self.side.children = [self._own]

    @override
    def draw(self) -> None:
        self._own.value = render_facts(self.game, self.seen)
        self._due.value = html.element("div", self._last_try(), cls="nl-due")
        set_visible(self._due, bool(self._last_try()))
        self._typed.draw(asked=self.asked)
        set_visible(self._typing.widget, bool(self.game.turn(self.seen.public)))
        self._texts = [self.game.say(a) for a in self.game.options(self.seen)] if self.asked else []
        if self.asked and not self._texts:
            self._typing.open()
        few = len(self._texts) <= MAX_BUTTONS
        old, self._options.children = self._options.children, [self._button(t) for t in self._texts] if few else []
        for button in old:
            button.close()
        for control in (self._filter, self._list, self._choose):
            set_visible(control, not few)
        self._filter.value = ""
        self._narrow()

    def _last_try(self) -> str:
        """Say what another reply that cannot be used would do; "" while one may still be corrected."""
        then = self.game.describe_forfeit(self.seen) if self.asked and self.left == 0 else ""
        return table_texts.LAST_TRY.format(then=then) if then else ""

    @override
    def clear_input(self) -> None:
        self._typed.clear()

    def _button(self, text: str) -> w.Button:
        return self.button(text if len(text) <= 80 else text[:77] + "...", lambda: self.say(text), hint=text)

    def _narrow(self) -> None:
        wanted = self._filter.value.lower().split()
        found = [text for text in self._texts if all(word in text.lower() for word in wanted)]
        self._list.options = found
        self._list.value = found[0] if found else None
