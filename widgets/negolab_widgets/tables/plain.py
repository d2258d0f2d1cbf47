"""The table for any game: its prompts as a log, buttons or inputs for each of its moves, and a box to type in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from math import prod
from typing import Any

import ipywidgets as w
import msgspec
from msgspec import UNSET
from typing_extensions import override

from negolab.derived_moves import LISTED
from negolab.game import Invalid
from negolab.moves import Group, Move, Moves
from negolab.studies.texts import table_texts
from negolab_widgets.layout import column, row, show
from negolab_widgets.tables.controls import Table, render_due, render_facts
from negolab_widgets.tables.decision import COMPOSE, SEND
from negolab_widgets.tables.inputs import GroupInput, choices

MAX_BUTTONS = 24
"""Ways to make a move up to which each has a button; of more, each field has an input."""

MAX_RULES, LONGEST_RULE = 7, 220
"""Lines, and characters of each, of a prompt's first paragraph that is shown as the rules in short."""


class MovePanel:
    """One move: a button for each way to make it where these are few, else an input for each field and a button that
    sends them."""

    def __init__(self, table: Table, move: Move, fields: Group) -> None:
        self._table, self.move, self.notice = table, move, table.new_notice()
        self.inputs: GroupInput | None = None
        options = [choices(field) for field in fields.fields.values()]
        if 1 <= prod(map(len, options)) <= MAX_BUTTONS:
            every = (dict(zip(fields.fields, values, strict=True)) for values in product(*options))
            buttons = row(*map(self._button, every), cls="nl-options")
            self.widget = column(buttons, self.notice)
            return
        self.inputs = inputs = GroupInput(table, "", fields, lambda: None)
        inputs.draw(fields, asked=True)
        send = table.button(move.label or move.kind.capitalize(), self._send, inputs, cls=f"nl-primary {SEND}")
        self.widget = column(inputs.widget, send, self.notice)

    def _button(self, filled: Mapping[str, Any]) -> w.Button:
        action = self.move.make(**filled)
        text = action.reason if isinstance(action, Invalid) else self._table.game.say(action)
        short = text if len(text) <= 80 else text[:77] + "..."
        return self._table.button(short, lambda: self._table.act(self.move.make(**filled), self.notice), hint=text)

    def _send(self, inputs: GroupInput) -> None:
        if inputs.value is not UNSET:
            self._table.act(self.move.make(**inputs.value), self.notice)
        elif inputs.missing:
            self._table.refuse(table_texts.FILL_IN.format(fields=", ".join(inputs.missing)), self.notice)
        else:
            self._table.refuse(table_texts.FILL_IN_ONE, self.notice)


def _worded(move: Move) -> Move:
    """Name the choice among a game's options, for which no game has words."""
    if move.kind != LISTED:
        return move
    option = msgspec.structs.replace(move.fields[LISTED], label=table_texts.OPTIONS)
    return msgspec.structs.replace(move, fields={LISTED: option}, label=table_texts.PLAY)


class PlainTable(Table):
    """The inputs of each move; the reply can always be typed."""

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
        self._reply = self.offer_typing().widget
        self._choices, self.panels = column(), list[MovePanel]()
        self._drawn: list[tuple[str, str, Group]] | None = None
        self.compose = table_texts.CHOOSE
        self._composing = column(self._choices, self.notice, self._due)
        self.past.children = [self._own, self.context.log]
        self.composer.children = [self._composing]
        self.composer.add_class(COMPOSE)

    @override
    def draw(self) -> None:
        show(self._own, render_facts(self.game, self.seen) if self.game.facts(self.seen) else "")
        show(self._due, render_due(self._last_try()))
        self._draw_moves()
        # Where a game lists no moves, typing is the way to make one.
        typed = [self._reply] if self.asked and not self.panels else []
        self.composer.children = [self._composing, *typed]

    def _draw_moves(self) -> None:
        """Draw the moves anew if they are others than before: what is being filled in stays."""
        now = self.game.moves(self.seen) if self.asked else Moves(())
        moves = [_worded(move) for move in now.moves]
        drawn = [(move.kind, move.label, Group({**now.before, **move.fields, **now.beside})) for move in moves]
        if drawn != self._drawn:
            self._drawn = drawn
            found = zip(moves, drawn, strict=True)
            self.panels = [MovePanel(self, move, fields) for move, (_, _, fields) in found]
            old, self._choices.children = self._choices.children, [panel.widget for panel in self.panels]
            for widget in old:
                widget.close()
        for panel, move in zip(self.panels, moves, strict=True):
            panel.move = move

    def _last_try(self) -> str:
        """Say what another reply that cannot be used would do; "" while one may still be corrected."""
        then = self.game.describe_forfeit(self.seen) if self.asked and self.left == 0 else ""
        return table_texts.LAST_TRY.format(then=then) if then else ""

    @override
    def clear_input(self) -> None:
        self._drawn = None
