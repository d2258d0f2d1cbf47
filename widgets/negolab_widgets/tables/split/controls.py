"""The controls of split: talk, then say what to keep."""

from __future__ import annotations

import ipywidgets as w
from typing_extensions import override

from negolab.game import Invalid
from negolab.games.split.position import Proposal
from negolab.games.split.rules import Split
from negolab_widgets import charts, html
from negolab_widgets.html import element
from negolab_widgets.tables import controls
from negolab_widgets.tables.controls import framed, row, shown_if
from negolab_widgets.tables.folding import Folding
from negolab_widgets.tables.split import view
from negolab_widgets.tables.split.asking import Share
from negolab_widgets.tables.split.speaking import Speech
from negolab_widgets.tables.split.view import Filed
from negolab_widgets.tables.split.worth import kept
from negolab_widgets.tables.talk import talk
from negolab_widgets.tables.typed import Typed


class Controls(controls.Controls):
    """The talk of the round beside the share to ask for; below, how the rounds went."""

    game: Split

    @override
    def build(self) -> None:
        self._round = self.seen.public.round
        self._meant: object = None
        self._filed: Filed | None = None
        self._ending, self._standing = w.HTML(), w.HTML()
        self._build_talk()
        self._build_ask()
        self._build_past()
        self._typed = Typed(self, text="Your reply with its tags", send="Send reply")
        self._typing = Folding(self, "a box to type the reply yourself", self._typed.widget).widget
        words = Folding(self, "all messages word for word", self.desk.log).widget
        asking = (self._waiting, self._asking)
        if self.game.quota:
            self.main.children = [self._ending, self._standing, self._talking, self._typing]
            self.side.children = [*asking, self._past, words]
        else:
            self.main.children = [self._ending, *asking, self._typing]
            self.side.children = [self._standing, self._past, words]
        for part in (self.main, self.side):
            part.add_class("nl-even")

    def _build_talk(self) -> None:
        self._chat = w.HTML()
        self.speech = Speech(self, self.game)
        self._talking = framed(self._chat, self.speech.widget)
        self._talking.add_class("nl-chat")

    def _build_ask(self) -> None:
        self._title, self._hand, self._waiting = w.HTML(), w.HTML(), w.HTML()
        self.share = Share(self, self.game, self._chosen)
        self.ask = self.button("", self._ask, cls="nl-primary")
        self.no_deal = self.button("Propose no deal", lambda: self._propose(Proposal(None)))
        shown_if(self.no_deal, self.game.rule == "exact")
        self._asking = framed(
            self._title, self._hand, self.share.widget, self.share.sum, self.notice, row(self.ask, self.no_deal)
        )

    def _build_past(self) -> None:
        self._chart = charts.Chart(height=160 + 80 * len(self.game.items))
        self._drawn = 0
        self._table = w.HTML()
        self._past = framed(w.HTML(element("h2", "Rounds")), self._chart, self._table)

    @override
    def draw(self) -> None:
        public = self.seen.public
        over = public.phase == "over"
        if public.round != self._round:
            self._round, self._filed = public.round, None
            self.share.clear()
        self._ending.value = view.ending(self.seen)
        self._standing.value = view.standing(self.game, self.seen)
        shown_if(self._ending, over)
        shown_if(self._typing, not over)
        self._draw_talk(over)
        self._draw_ask(over)
        self._draw_past()
        self._typed.draw(asked=self.asked)

    def _draw_talk(self, over: bool) -> None:
        heading = element("h2", view.chat_title(self.seen))
        self._chat.value = html.join([heading, talk(view.entries(self.seen), whole=self.seen.public.phase == "over")])
        self.speech.draw(asked=self.asked)
        shown_if(self.speech.widget, not over)

    def _draw_ask(self, over: bool) -> None:
        own = self._own_proposal()
        due = self.asked and self.seen.public.phase == "split"
        self._waiting.value = view.filed(self.game, own)
        shown_if(self._waiting, own is not None)
        shown_if(self._asking, not (over or own is not None))
        words = "" if due else ", after the talk" if self.seen.public.phase == "talk" else ""
        self._title.value = element("h2", f"What you keep in round {self.seen.public.round}{words}")
        self._hand.value = view.hand(self.seen)
        shown_if(self._hand, bool(self._hand.value))
        self.share.draw(enabled=not over and own is None)
        self.ask.disabled = self.no_deal.disabled = not due
        self._name_ask()

    def _own_proposal(self) -> Filed | None:
        """The own proposal that waits: a match shows it only once it is stepped, so what was sent is kept here."""
        public = self.seen.public
        if public.phase != "split" or self.asked:
            return None
        return Filed(self.seen.private.ask) if self.seat not in public.on_turn else self._filed

    def _draw_past(self) -> None:
        """Drawn again only after another round: a figure costs more than all else."""
        history = self.seen.public.history
        shown_if(self._past, bool(history))
        if len(history) != self._drawn:
            self._drawn = len(history)
            self._table.value = view.round_table(self.game, self.seen)
            self._chart.show(charts.rounds(history, self.game.items))

    @override
    def taken(self) -> None:
        self._typed.clear()
        self.speech.clear()
        if isinstance(self._meant, Proposal):
            self._filed = Filed(self._meant.keep)
        self._meant = None

    @override
    def say(self, text: str, beside: w.HTML | None = None) -> None:
        self._meant = self.game.parse(text, self.seen)
        super().say(text, beside)

    # What is sent.

    def _chosen(self) -> None:
        self.share.draw_sum()
        self._name_ask()

    def _name_ask(self) -> None:
        words = f"Keep {kept(self.game, self.share.keep)}" if self._may_ask() else "Choose what you keep"
        self.ask.description = words

    def _may_ask(self) -> bool:
        return self.share.chosen or not any(self.seen.public.stock)

    def _ask(self) -> None:
        due = self.asked and self.seen.public.phase == "split"
        if due and not self._may_ask():
            words = "Choose what you keep first; to keep nothing, move one up and back to 0."
            self.refuse(words, self.notice)
        else:
            self._propose(Proposal(self.share.keep))

    def _propose(self, proposal: Proposal) -> None:
        text = self.game.say(proposal)
        if self.asked and (fault := self._fault(proposal, text)):
            self.refuse(fault, self.notice)
        else:
            self.say(text, self.notice)

    def _fault(self, proposal: Proposal, text: str) -> str:
        """Why the game would not take this as it is meant; "" if it would."""
        if self.seen.public.phase != "split":
            return "Proposals are due after the talk of this round."
        read = self.game.parse(text, self.seen)
        if isinstance(read, Invalid):
            return read.reason
        return "" if read == proposal else "This cannot be proposed."
