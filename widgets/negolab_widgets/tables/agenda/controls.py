"""The controls of an agenda: answer the offer that stands, choose an option for every issue, write a message."""

from __future__ import annotations

from collections.abc import Callable

import ipywidgets as w
from typing_extensions import override

from negolab.formatting import format_number
from negolab.game import Invalid, Seat, other
from negolab.games.agenda.reading import option_name
from negolab.games.agenda.rules import Agenda
from negolab.games.agenda.scenario import Issue
from negolab.games.agenda.state import Agreement, Message, Response, Seen, seen_by_author, worth
from negolab.games.agenda.words import WORDS
from negolab.studies.texts import refusal_text, table_texts
from negolab_widgets import charts, html
from negolab_widgets.fields import Segments, Stepper
from negolab_widgets.html import element
from negolab_widgets.tables.agenda import view
from negolab_widgets.tables.controls import (
    ReplyBox,
    Table,
    framed,
    row,
    set_visible,
)
from negolab_widgets.tables.conversation import render_conversation
from negolab_widgets.tables.decision import ACCEPT, COMPOSE, REFUSE, UNSET, name_accept, set_class

MAX_SEGMENTS = 6
"""Options of an issue up to which they stand beside each other; more are in a list."""


class SegmentsInput:
    """An issue whose options stand beside each other."""

    def __init__(self, controls: Table, issue: Issue, at: int, changed: Callable[[], None]) -> None:
        self._issue, self._at = issue, at
        self.widget = Segments(description=issue.name, options=list(issue.options or ()))
        controls.on_change(self.widget, changed)

    @property
    def choice(self) -> int | None:
        # A page may have sent more options than there are.
        value: int = self.widget.value
        return value if 0 <= value < self._issue.size else None

    def put(self, choice: int | None) -> None:
        self.widget.value = -1 if choice is None else choice

    def draw(self, game: Agenda, seen: Seen, *, asked: bool) -> None:
        self.widget.notes = view.option_notes(self._issue, seen, self._at)
        self.widget.marks = view.option_marks(self._issue, seen, self._at)
        self.widget.about = view.importance_text(game, seen, self._at)
        self.widget.disabled = not asked


class ListInput:
    """An issue with more options than can stand beside each other."""

    def __init__(self, controls: Table, issue: Issue, at: int, changed: Callable[[], None]) -> None:
        self._issue, self._at = issue, at
        notes = view.option_notes(issue, controls.seen, at)
        options = [(WORDS.OPTION.format(option=option_name(issue, k), points=note), k) for k, note in enumerate(notes)]
        self._list = w.Dropdown(description=issue.name, options=[(WORDS.CHOOSE, -1), *options])
        self._list.add_class("nl-issue-list")
        controls.on_change(self._list, changed)
        self._facts = w.HTML()
        self.widget = w.VBox([self._list, self._facts])

    @property
    def choice(self) -> int | None:
        value = self._list.value
        return None if value is None or value < 0 else int(value)

    def put(self, choice: int | None) -> None:
        self._list.value = -1 if choice is None else choice

    def draw(self, game: Agenda, seen: Seen, *, asked: bool) -> None:
        marks = view.option_marks(self._issue, seen, self._at)
        offered = [
            WORDS.MARKED.format(mark=mark, option=option_name(self._issue, k)) for k, mark in enumerate(marks) if mark
        ]
        facts = filter(None, (view.importance_text(game, seen, self._at), *offered))
        self._facts.value = element("div", "; ".join(facts), cls="nl-mark")
        self._list.disabled = not asked


class GoodsInput:
    """Goods: how many units the seat gets, the rest being the other's."""

    def __init__(self, controls: Table, issue: Issue, at: int, changed: Callable[[], None]) -> None:
        self._issue, self._at = issue, at
        self._units = Stepper(WORDS.FOR_YOU.format(issue=issue.name), WORDS.OF_FOR_YOU.format(issue=issue.name))
        controls.on_change(self._units, changed)
        self._facts, self._split = w.HTML(), w.HTML()
        self.widget = w.Box([self._facts, self._units, self._split])
        self.widget.add_class("nl-portion")

    @property
    def choice(self) -> int:
        # A page may have sent any number; it is clipped to the units there are when it is drawn.
        return min(int(self._units.value), self._issue.units or 0)

    def put(self, choice: int | None) -> None:
        self._units.value = choice or 0

    def draw(self, game: Agenda, seen: Seen, *, asked: bool) -> None:
        about = view.importance_text(game, seen, self._at)
        self._facts.value = html.join(
            [
                element("div", self._issue.name, cls="nl-strong"),
                element("div", view.unit_text(self._issue, seen, self._at), cls="nl-soft"),
                element("div", about, cls="nl-soft") if about else "",
            ]
        )
        self._units.limit(self._issue.units or 0)
        self._units.disabled = not asked
        self.draw_split(seen)

    def draw_split(self, seen: Seen) -> None:
        """Show who would get how many units, and who was to get them by the last offers."""
        units = self._issue.units or 0
        before = view.offered_units(self._issue, seen, self._at)
        now = element("div", view.format_split(self.choice, units))
        self._split.value = html.join([now, element("div", "; ".join(before), cls="nl-mark") if before else ""])


IssueInput = SegmentsInput | ListInput | GoodsInput


def _issue_input(controls: Table, issue: Issue, at: int, changed: Callable[[], None]) -> IssueInput:
    if issue.units is not None:
        return GoodsInput(controls, issue, at, changed)
    kind = SegmentsInput if issue.size <= MAX_SEGMENTS else ListInput
    return kind(controls, issue, at, changed)


class OfferEditor:
    """An input for every issue, and what the offer would pay.

    Nothing is chosen at first, because an option that stood there would suggest itself. `touched` says that something
    was chosen: a press too many must not offer all goods to the other. `drawn` is called when the sum is drawn anew.
    """

    def __init__(self, controls: Table, game: Agenda, drawn: Callable[[], None]) -> None:
        self._controls, self._game, self._drawn = controls, game, drawn
        self.touched = False
        self.inputs = [_issue_input(controls, issue, at, self._changed) for at, issue in enumerate(game.agenda)]
        self.widget = w.VBox([each.widget for each in self.inputs])
        self.widget.add_class("nl-issues")
        self.sum = w.HTML()

    @property
    def missing(self) -> list[str]:
        """The issues for which nothing is chosen."""
        return [issue.name for issue, each in zip(self._game.agenda, self.inputs, strict=True) if each.choice is None]

    @property
    def offer(self) -> tuple[int, ...] | None:
        """The offer from its author's side; None while issues are missing or nothing was touched."""
        chosen = [each.choice for each in self.inputs]
        found = tuple([number for number in chosen if number is not None])
        return found if self.touched and len(found) == len(chosen) else None

    def put(self, agreement: Agreement | None) -> None:
        """Show an agreement, or nothing."""
        seat = self._controls.seat
        numbers = None if agreement is None else seen_by_author(seat, self._game.agenda, agreement)
        for at, each in enumerate(self.inputs):
            each.put(None if numbers is None else numbers[at])
        self.touched = agreement is not None
        self.draw_sum()

    def draw(self, *, asked: bool) -> None:
        for each in self.inputs:
            each.draw(self._game, self._controls.seen, asked=asked)
        self.draw_sum()

    def draw_sum(self) -> None:
        """Show what the offer would pay."""
        self.sum.value = element("div", *self._sum_parts(), cls="nl-offer-sum")
        self._drawn()

    def _sum_parts(self) -> list[html.Markup]:
        seen, offer = self._controls.seen, self.offer
        if offer is not None:
            agreement = seen_by_author(seen.seat, self._game.agenda, offer)
            theirs = view.last_offers(seen).get(other(seen.seat))
            beside = None if theirs is None else worth(seen.private.points, theirs)
            return [view.render_worth(self._game, seen, agreement, len(seen.public.messages) + 1, beside)]
        missing = self.missing
        if not self.touched or len(missing) == len(self.inputs):
            words = WORDS.CHOOSE_ALL
            if all(isinstance(each, GoodsInput) for each in self.inputs):
                words = WORDS.STEP_UP
            return [element("div", words, cls="nl-soft")]
        so_far = sum(self._points(at, each) for at, each in enumerate(self.inputs))
        return [
            element("div", html.fill(WORDS.SO_FAR, points=element("b", format_number(so_far))), cls="nl-so-far"),
            element("div", WORDS.STILL.format(issues=", ".join(missing)), cls="nl-soft"),
        ]

    def _points(self, at: int, each: IssueInput) -> int:
        """Return the own points of what is chosen for an issue, 0 if nothing is."""
        if each.choice is None:
            return 0
        issue, seat = self._game.agenda[at], self._controls.seat
        (number,) = seen_by_author(seat, (issue,), (each.choice,))
        seen: Seen = self._controls.seen
        return seen.private.points[at][number]

    def _changed(self) -> None:
        self.touched = True
        for each in self.inputs:
            if isinstance(each, GoodsInput):
                each.draw_split(self._controls.seen)
        self.draw_sum()


class AgendaTable(Table):
    """Left what the seat was told, the offer that stands and the one to make; right what was said and the course of the
    offers."""

    role = staticmethod(view.role)
    clock = staticmethod(view.clock)
    rules = staticmethod(view.rules)
    decision = staticmethod(view.decision)
    render = staticmethod(view.render)

    game: Agenda

    @override
    def build(self) -> None:
        self._brief, self._ending, self._talk, self._points = w.HTML(), w.HTML(), w.HTML(), w.HTML()
        self._build_answer()
        self._build_offer()
        self._chart, self._drawn = charts.Chart(height=260), 0
        self._course = framed(w.HTML(element("h2", WORDS.COURSE)), self._chart)
        self._typed = ReplyBox(self, text=WORDS.TYPE_REPLY, send=WORDS.SEND_REPLY)
        self._typing, words = self.typed(self._typed.widget), self.word_for_word()
        self.main.children = [
            self._ending,
            self._brief,
            self._answering,
            self._offering,
            self._points,
            self._typing,
        ]
        self.side.children = [self._talk, self._course, words]

    def _build_answer(self) -> None:
        self._standing = w.HTML()
        self.accept = self.button(WORDS.ACCEPT, lambda: self._answer("accept"), cls="nl-primary")
        self.reject = self.button(WORDS.REJECT, lambda: self._answer("reject"))
        self.accept.add_class(ACCEPT)
        self.reject.add_class(REFUSE)
        self.walk_away = self.ask_first(WORDS.WALK_AWAY, lambda: self._answer("walk away"), key=False)
        self.actions.children = [self.accept, self.reject]
        self._answering = framed(self._standing)

    def _build_offer(self) -> None:
        self.composer = OfferEditor(self, self.game, lambda: set_class(self.offer, UNSET, self.composer.offer is None))
        self.words = self.message_box(WORDS.MESSAGE_HINT.format(most=f"{self.game.max_chars:,}"))
        set_visible(self.words, self.game.talk)
        self._title = w.HTML()
        self.copy = self.button(WORDS.COPY, self._copy, cls="nl-link")
        clear = self.button(WORDS.CLEAR, lambda: self.composer.put(None), cls="nl-link")
        links = row(self.copy, clear)
        title = row(self._title, links)
        title.add_class("nl-title-row")
        self._editor = w.VBox([title, self.composer.widget, self.composer.sum])
        self._editor.add_class("nl-column")
        self._last = w.HTML(element("div", WORDS.LAST_MESSAGE, cls="nl-due"))
        self.offer = self.button(WORDS.MAKE, self._make, cls="nl-primary")
        self.speak = self.button(WORDS.SPEAK, self._speak)
        self._offering = framed(
            self._editor, self._last, self.words, row(self.offer, self.speak), self.notice, self.walk_away
        )
        self._offering.add_class(COMPOSE)

    @override
    def draw(self) -> None:
        over = self.seen.public.end is not None
        self._brief.value = view.render_brief(self.game, self.seen)
        self._ending.value = self._ending_markup()
        self._talk.value = html.panel(
            table_texts.SAID, render_conversation(view.conversation_entries(self.game, self.seen), whole=over)
        )
        self._points.value = view.render_points(self.game, self.seen) if over else ""
        for part in (self._ending, self._points):
            set_visible(part, over)
        for part in (self._answering, self._offering, self._typing):
            set_visible(part, not over)
        self._draw_answer()
        self._draw_offer()
        self._typed.draw(asked=self.asked)

    def _ending_markup(self) -> html.Markup:
        """Render how the match ended, with the reply that lost it."""
        lost = self.render_lost(self.seen.public.loser)
        return element("div", view.render_ending(self.game, self.seen), lost, cls="nl-stack")

    def _draw_answer(self) -> None:
        seen = self.seen
        title = element("h2", view.standing_title(self.game, seen))
        body = view.render_standing(self.game, seen) if seen.public.end is None else ""
        self._standing.value = element("div", title, body, cls="nl-stack nl-standing-offer")
        standing = self._incoming()
        due = self.asked and standing is not None
        for button in (self.accept, self.reject):
            button.disabled = not due
            set_visible(button, due)
        if standing is not None:
            gain = worth(seen.private.points, standing) - seen.private.reservation
            name_accept(self.accept, WORDS.ACCEPT, gain=gain)
        alone = view.format_points(seen.private.reservation)
        self.walk_away.button.disabled = not self.asked
        self.walk_away.question = WORDS.END_WITHOUT.format(points=alone)
        set_visible(self.walk_away, self.game.walk_away and self.asked)

    def _draw_offer(self) -> None:
        incoming, last = self._incoming() is not None, self.game.is_last(self.seen.public)
        title = element("h2", WORDS.INSTEAD if incoming else table_texts.MAKE_AN_OFFER)
        self._title.value = html.join([title, view.render_legend(self.seen)])
        silent = not self.game.talk or (incoming and self.game.answer == "must")
        self.composer.draw(asked=self.asked)
        for control in (self.words, self.offer, self.speak):
            control.disabled = not self.asked
        self.copy.disabled = not self.asked
        set_visible(self.copy, other(self.seat) in view.last_offers(self.seen))
        set_visible(self._editor, not last)
        set_visible(self.offer, not last)
        set_visible(self._last, last)
        set_visible(self.speak, not silent)
        self.offer.description = WORDS.REJECT_AND_MAKE if incoming else WORDS.MAKE
        self.compose = "" if last else WORDS.COUNTEROFFER if incoming else table_texts.MAKE_AN_OFFER

    @override
    def draw_figure(self) -> None:
        """Redraw only after another offer or the end."""
        public, own = self.seen.public, self.seen.private
        made = [(n, e.seat, e.offer) for n, e in enumerate(public.messages, 1) if e.offer is not None]
        set_visible(self._course, bool(made))
        state = len(made) + (public.end is not None) * (self.game.turns + 1)
        if state == self._drawn or not made:
            return
        self._drawn = state
        names: dict[Seat, str] = {self.seat: WORDS.YOUR_OFFERS, other(self.seat): WORDS.THEIR_OFFERS}
        figure = charts.worths(
            [(number, seat, worth(own.points, offer)) for number, seat, offer in made],
            names=names,
            lines={WORDS.NO_DEAL_LINE: own.reservation},
            deal=public.end == "agreed",
        )
        self._chart.show(figure)

    @override
    def clear_input(self) -> None:
        # The options stay: the next offer begins at one's own last one.
        self._typed.clear()
        self.words.value = ""

    # What is sent.

    def _incoming(self) -> Agreement | None:
        public = self.seen.public
        return public.standing if public.to_move == self.seat else None

    def _copy(self) -> None:
        theirs = view.last_offers(self.seen).get(other(self.seat))
        if theirs is not None:
            self.composer.put(theirs)

    def _answer(self, reply: Response) -> None:
        self._send(reply, None, self.answer_notice)

    def _make(self) -> None:
        offer = self.composer.offer
        if offer is not None:
            self._send(None, offer, self.notice)
        elif missing := self.composer.missing:
            self.refuse(WORDS.NAME_ALL.format(issues=", ".join(missing)), self.notice)
        else:
            self.refuse(WORDS.STEP_FIRST, self.notice)

    def _speak(self) -> None:
        if self.asked and not self.words.value.strip():
            self.refuse(WORDS.NOTHING_TO_SEND, self.notice)
        else:
            self._send(None, None, self.notice)

    def _send(self, reply: Response | None, offer: tuple[int, ...] | None, beside: w.HTML) -> None:
        """Send a message with the words of the box; what the game would not take as it is meant is shown, not sent."""
        words = " ".join(self.words.value.split()) if self.game.talk else ""
        try:
            action = Message(reply, offer, words)
        except ValueError:
            self.refuse(WORDS.TOKEN, beside)
            return
        text = self.game.say(action)
        read = self.game.parse(text, self.seen)
        if not self.asked or read == action:
            self.say(text, beside)
        else:
            self.refuse(refusal_text(self.game, read) if isinstance(read, Invalid) else WORDS.NOT_AS_MEANT, beside)
