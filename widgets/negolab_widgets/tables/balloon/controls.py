"""The controls of balloon: a set to tick, the proposals to answer, the message that carries both."""

from __future__ import annotations

import ipywidgets as w
from typing_extensions import override

from negolab.game import Invalid
from negolab.games.balloon import Balloon
from negolab.games.balloon.state import Names
from negolab.games.balloon.words import WORDS
from negolab.studies.texts import refusal_text, table_texts
from negolab_widgets import html
from negolab_widgets.html import element
from negolab_widgets.tables.balloon import view
from negolab_widgets.tables.balloon.checklist import Checklist
from negolab_widgets.tables.balloon.editor import MessageEditor
from negolab_widgets.tables.balloon.view import ProposalList, conversation_entries, render_value_bars, set_value
from negolab_widgets.tables.controls import (
    ReplyBox,
    Table,
    column,
    framed,
    row,
    set_visible,
)
from negolab_widgets.tables.conversation import render_conversation
from negolab_widgets.tables.decision import ACCEPT, COMPOSE, name_accept

SEARCH_THRESHOLD = 24
"""With more items than this there is a box to find some by name."""


class BalloonTable(Table, view=view):
    """Left the chosen set and its value, right the proposals that stand and the conversation."""

    game: Balloon

    @override
    def build(self) -> None:
        self.compose = WORDS.COMPOSE
        self._ending, self._pictured, self._sums = w.HTML(), w.HTML(), w.HTML()
        self.checklist = self._new_checklist()
        self.proposals = ProposalList(self, agree=self._agree, start=self._start, changed=self._redraw)
        self.message = MessageEditor(self, self.game, lambda: self.checklist.names, lambda: self.proposals.refused)
        self._typed, self._patience = ReplyBox(self, check=self._costs), w.HTML()
        self._talk = w.HTML()
        clear = self.button(WORDS.UNTICK, lambda: self._start(frozenset()), cls="nl-link")
        title = row(w.HTML(element("h2", WORDS.COMPOSE)), clear, cls="nl-title-row")
        self._choosing = framed(title, self._sums, self._finder(), self.checklist, cls=COMPOSE)
        self.accept = self.button(WORDS.AGREE, self._agree_to_latest, cls=f"nl-primary {ACCEPT}")
        self.actions.children = [self.accept]
        self._answering = column(self.proposals.widget, self.message.widget)
        self._typing = self.typed(self._patience, self._typed.widget)
        self.main.children = [self._ending, self._choosing, self._pictured, self._typing]
        self.side.children = [self._answering, self._talk, self.word_for_word()]
        for part in (self.main, self.side):
            part.add_class("nl-even")

    def _new_checklist(self) -> Checklist:
        terms, own = self.seen.public.terms, self.seen.private.importance
        keys = (
            range(len(terms.effort)),
            list(terms.effort.values()),
            [own[name] for name in terms.effort],
            [own[name] / effort for name, effort in terms.effort.items()],
        )
        checklist = Checklist(WORDS.CHOICE, view.item_head(), view.item_cells(self.seen), keys)
        self.on_change(checklist, self._redraw)
        return checklist

    def _finder(self) -> w.Box:
        self.find = w.Text(description=WORDS.FIND, placeholder=WORDS.FIND_HINT)
        self.only = w.Checkbox(description=WORDS.ONLY_TICKED, indent=False)
        for control in (self.find, self.only):
            self.on_change(control, self._find)
        finder = row(self.find, self.only)
        set_visible(finder, len(self.seen.public.terms.effort) > SEARCH_THRESHOLD)
        return finder

    def _find(self) -> None:
        self.checklist.find(self.find.value, ticked=self.only.value)

    def _start(self, names: Names) -> None:
        """Tick exactly these, and show them where only what is ticked is shown."""
        self.checklist.tick(names)
        self._find()

    @override
    def draw(self) -> None:
        over = self.seen.public.end is not None
        self._ending.value = html.join([view.render_ending(self.seen), self.render_lost(self.seen.public.ended_by)])
        self._pictured.value = view.render_items_table(self.seen) if over else ""
        for part in (self._choosing, self._answering, self._typing):
            set_visible(part, not over)
        for part in (self._ending, self._pictured):
            set_visible(part, over)
        marks = view.item_marks(self.seen)
        self.checklist.mark([marks.get(name, "") for name in self.seen.public.terms.effort])
        self.checklist.disabled = over
        self._draw_answer()
        self._typed.draw(asked=self.asked)
        self._patience.value = _patience_text(self.seen.private.patience)
        self._talk.value = html.panel(
            table_texts.SAID, render_conversation(conversation_entries(self.game, self.seen), whole=over)
        )
        self._redraw()

    def _draw_answer(self) -> None:
        latest = view.latest_of_other(self.seen)
        due = self.asked and latest is not None
        self.accept.disabled = not due
        set_visible(self.accept, due)
        self.compose = WORDS.COMPOSE if latest is None else WORDS.COMPOSE_OTHER
        if latest is not None:
            sums = set_value(self.seen, latest)
            gain = -1 if sums.over else sums.points
            name_accept(self.accept, WORDS.AGREE_TO.format(items=view.count_items(sums.count)), gain=gain)

    def _agree_to_latest(self) -> None:
        latest = view.latest_of_other(self.seen)
        if latest is not None:
            self.message.agree(latest, self.answer_notice)

    def _redraw(self) -> None:
        """Redraw what follows from the ticks."""
        chosen = self.checklist.names
        bars = render_value_bars(set_value(self.seen, chosen))
        self._sums.value = html.join([bars, view.render_comparison(self.seen, chosen)])
        self.proposals.draw(chosen, asked=self.asked)
        self.message.draw(asked=self.asked)

    @override
    def clear_input(self) -> None:
        self._typed.clear()
        self.message.clear()
        self.proposals.clear()

    def _agree(self, names: Names) -> None:
        if self.asked and names in self.proposals.refused:
            self.refuse(WORDS.UNTICK_REFUSAL, self.proposals.notice)
        else:
            self.message.agree(names, self.proposals.notice)

    def _costs(self, text: str) -> str:
        """Return why this message would lose the match, "" if it would not or if it is forgiven."""
        read = self.game.parse(text, self.seen)
        lost = isinstance(read, Invalid) and len(read.codes) > self.seen.private.patience
        return refusal_text(self.game, read) if isinstance(read, Invalid) and lost else ""


def _patience_text(left: int) -> str:
    words = WORDS["patience"]
    return element("p", words.get(str(left), words["more"]).format(count=left))
