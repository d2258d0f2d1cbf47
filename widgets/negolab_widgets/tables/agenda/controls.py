"""The controls of an agenda: answer the offer that stands, choose an option for every issue, write a message."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ipywidgets as w
from msgspec import UNSET
from typing_extensions import override

from negolab.formatting import format_number
from negolab.game import other
from negolab.games.agenda.moves import made, offer_field, option_number, option_value
from negolab.games.agenda.reading import reads_as_token
from negolab.games.agenda.rules import Agenda
from negolab.games.agenda.state import Agreement, Response, Seen, seen_by_author, worth
from negolab.games.agenda.words import WORDS
from negolab.studies.texts import table_texts
from negolab_widgets import html
from negolab_widgets.html import element
from negolab_widgets.layout import column, row, set_visible, show, styled
from negolab_widgets.tables import decision
from negolab_widgets.tables.agenda import view
from negolab_widgets.tables.controls import Table
from negolab_widgets.tables.decision import ACCEPT, COMPOSE, REFUSE, SEND, name_accept, set_class
from negolab_widgets.tables.inputs import Beside, CountInput, GroupInput


class OfferEditor:
    """An input for every issue, and what the offer would pay. `drawn` is called when the sum is drawn anew."""

    def __init__(self, controls: Table, game: Agenda, drawn: Callable[[], None]) -> None:
        self._controls, self._game, self._drawn = controls, game, drawn
        self.fields = GroupInput(controls, "", offer_field(game), self._changed)
        self.widget, self.sum = self.fields.widget, styled(w.HTML(), "nl-sum")

    @property
    def chosen(self) -> list[int | None]:
        """The number chosen for each issue, from the author's side; None where none is."""
        values = zip(self._game.agenda, self.fields.inputs.values(), strict=True)
        return [None if each.value is UNSET else option_number(issue, each.value) for issue, each in values]

    def put(self, agreement: Agreement | None) -> None:
        """Show an agreement, or nothing."""
        agenda = self._game.agenda
        numbers = () if agreement is None else seen_by_author(self._controls.seat, agenda, agreement)
        put = {issue.name: option_value(issue, number) for issue, number in zip(agenda, numbers, strict=False)}
        self.fields.put(put or UNSET)
        self.draw_sum()

    def draw(self, *, asked: bool) -> None:
        self.fields.draw(self.fields.field, asked=asked, each_beside=self._beside)
        self.draw_sum()

    def _beside(self, name: str) -> Beside:
        seen: Seen = self._controls.seen
        at = list(self.fields.inputs).index(name)
        issue, about = self._game.agenda[at], view.importance_text(self._game, seen, at)
        if issue.units is None:
            return Beside([about], view.option_notes(seen, at), view.option_marks(issue, seen, at))
        split = view.format_split(self.chosen[at] or 0, issue.units)
        return Beside([name, view.unit_text(issue, seen, at), about], (), [split, *view.offered_units(issue, seen, at)])

    def draw_sum(self) -> None:
        """Show what the offer would pay."""
        self.sum.value = element("div", *self._sum_parts(), cls="nl-offer-sum")
        self._drawn()

    def _sum_parts(self) -> list[html.Markup]:
        seen, missing, chosen = self._controls.seen, self.fields.missing, self.chosen
        if self.fields.value is not UNSET:
            agreement = seen_by_author(seen.seat, self._game.agenda, tuple(n for n in chosen if n is not None))
            theirs = view.last_offers(seen).get(other(seen.seat))
            beside = None if theirs is None else worth(seen.private.points, theirs)
            return [view.render_worth(self._game, seen, agreement, len(seen.public.messages) + 1, beside)]
        if not self.fields.touched or len(missing) == len(chosen):
            goods = all(issue.units is not None for issue in self._game.agenda)
            return [element("div", WORDS.STEP_UP if goods else WORDS.CHOOSE_ALL, cls="nl-soft")]
        so_far = sum(self._points(at, number) for at, number in enumerate(chosen) if number is not None)
        return [
            element("div", html.fill(WORDS.SO_FAR, points=element("b", format_number(so_far))), cls="nl-so-far"),
            element("div", WORDS.STILL.format(issues=", ".join(missing)), cls="nl-soft"),
        ]

    def _points(self, at: int, number: int) -> int:
        (own,) = seen_by_author(self._controls.seat, (self._game.agenda[at],), (number,))
        points: int = self._controls.seen.private.points[at][own]
        return points

    def _changed(self) -> None:
        for name, each in self.fields.inputs.items():
            if isinstance(each, CountInput):
                each.draw_after(self._beside(name).marks)
        self.draw_sum()


class AgendaTable(Table, view=view):
    """The course of the offers and what was said, beside the offer that stands and the one to make."""

    game: Agenda

    @override
    def build(self) -> None:
        self._ending, self._points = w.HTML(), w.HTML()
        brief, _ = view.known(self.game, self.seen)
        self._build_answer()
        self._build_offer()
        self.offer_typing(text=WORDS.TYPE_REPLY, send=WORDS.SEND_REPLY)
        self.past.children = [*([w.HTML(brief)] if brief else []), self.course, self.said]
        self.composer.children = [self._ending, self._offering, self._points]

    def _build_answer(self) -> None:
        self.accept = self.button(WORDS.ACCEPT, self._answer, "accept", cls=f"nl-primary {ACCEPT}")
        self.reject = self.button(WORDS.REJECT, self._answer, "reject", cls=f"nl-link {REFUSE}")
        self.walk_away = self.ask_first(WORDS.WALK_AWAY, self._answer, "walk away", key=False)

    def _build_offer(self) -> None:
        self.editor = OfferEditor(self, self.game, self._mark_offer)
        self.words = self.message_box(WORDS.MESSAGE_HINT.format(most=f"{self.game.max_chars:,}"))
        set_visible(self.words, self.game.talk)
        self._title = w.HTML()
        self.copy = self.button(WORDS.COPY, self._copy, cls="nl-link")
        clear = self.button(WORDS.CLEAR, self.editor.put, None, cls="nl-link")
        links = row(self.copy, clear)
        title = row(self._title, links, cls="nl-title-row")
        self._editor, self._sum = column(title, self.editor.widget), self.editor.sum
        self._last = w.HTML(element("div", WORDS.LAST_MESSAGE, cls="nl-due"))
        self.offer = self.button(WORDS.MAKE, self._make, cls=f"nl-primary {SEND}")
        self.speak = self.button(WORDS.SPEAK, self._speak, cls=f"nl-link {SEND}")
        self._offering = column(self._editor, self._last, self.notice, self.words, self._sum, cls=COMPOSE)
        self.actions.children = [self.accept, self.offer, self.speak, self.reject, self.walk_away]

    @override
    def draw(self) -> None:
        over = self.seen.public.end is not None
        show(self._ending, self._ending_markup() if over else "")
        show(self._points, view.render_points(self.game, self.seen) if over else "")
        set_visible(self._offering, not over)
        self._draw_answer()
        self._draw_offer()

    def _ending_markup(self) -> html.Markup:
        """Render how the match ended, with the reply that lost it."""
        lost = self.render_lost(self.seen.public.loser)
        return element("div", view.ending(self.game, self.seen), lost, cls="nl-stack")

    def _draw_answer(self) -> None:
        seen = self.seen
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
        self.walk_away.set_question(WORDS.END_WITHOUT.format(points=alone))
        set_visible(self.walk_away, self.game.walk_away and self.asked)

    def _draw_offer(self) -> None:
        incoming, last = self._incoming() is not None, self.game.is_last(self.seen.public)
        title = element("h2", WORDS.INSTEAD if incoming else table_texts.MAKE_AN_OFFER)
        self._title.value = html.join([title, view.render_legend(self.seen)])
        silent = not self.game.talk or (incoming and self.game.answer == "must")
        self.editor.draw(asked=self.asked)
        for control in (self.words, self.offer, self.speak):
            control.disabled = not self.asked
        self.copy.disabled = not self.asked
        set_visible(self.copy, other(self.seat) in view.last_offers(self.seen))
        for part in (self._editor, self._sum, self.offer):
            set_visible(part, not last)
        set_visible(self._last, last)
        set_visible(self.speak, not silent)
        self.offer.description = WORDS.REJECT_AND_MAKE if incoming else WORDS.MAKE
        self.compose = "" if last else WORDS.COUNTEROFFER if incoming else table_texts.MAKE_AN_OFFER

    # What is sent. The options stay, because the next offer begins at one's own last one.

    def _incoming(self) -> Agreement | None:
        public = self.seen.public
        return public.standing if public.to_move == self.seat else None

    def _copy(self) -> None:
        theirs = view.last_offers(self.seen).get(other(self.seat))
        if theirs is not None:
            self.editor.put(theirs)

    def _mark_offer(self) -> None:
        set_class(self.offer, decision.UNSET, self.editor.fields.value is UNSET)

    def _answer(self, reply: Response) -> None:
        self._send(reply, None, self.answer_notice)

    def _make(self) -> None:
        fields = self.editor.fields
        if fields.value is not UNSET:
            self._send("none", fields.value, self.notice)
        elif fields.missing:
            self.refuse(WORDS.NAME_ALL.format(issues=", ".join(fields.missing)), self.notice)
        else:
            self.refuse(WORDS.STEP_FIRST, self.notice)

    def _speak(self) -> None:
        if self.asked and not self.words.value.strip():
            self.refuse(WORDS.NOTHING_TO_SEND, self.notice)
        else:
            self._send("none", None, self.notice)

    def _send(self, reply: str, offer: dict[str, Any] | None, beside: w.HTML) -> None:
        """Send a message with the words of the box; what the game would not take as it is meant is shown, not sent."""
        words = self.words.value if self.game.talk else ""
        if reads_as_token(words):
            self.refuse(WORDS.TOKEN, beside)
        else:
            self.act(made(self.game, reply, offer, words), beside)
