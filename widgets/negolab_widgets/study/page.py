"""The participant's page: one view after the other, as the host says. It holds nothing but what the page states say."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import ipywidgets as w
from ipykernel.connect import get_connection_file
from typing_extensions import override

from negolab import catalog
from negolab.studies.client import HostClient, HostSeat, PageClient, PageReplaced
from negolab.studies.page_state import (
    Closed,
    Consent,
    Instructions,
    MatchResult,
    NotDelivered,
    PageState,
    Playing,
    Questionnaire,
    Quiz,
    Results,
    Waiting,
)
from negolab.studies.texts import texts
from negolab.texts import install
from negolab_widgets import html
from negolab_widgets.faults import RETRY_AFTER, FaultGuard, Given, follow_page, run_in_background
from negolab_widgets.layout import column, framed, row, set_visible, show, warning
from negolab_widgets.page import SEATS, Page
from negolab_widgets.play.countdown import Countdown
from negolab_widgets.play.seat import SeatWidget
from negolab_widgets.study.last_page import CompletionCode, completion_button, render_earnings
from negolab_widgets.study.questions import QuestionField
from negolab_widgets.tables.controls import AskFirst

NOT_SERVED = "This page is for the participants of a study: `negolab serve STUDY.toml` starts one."


class PageView:
    """Base class: a subclass makes its widgets in `build` and brings them up to date in `update`.

    `notice` shows why a click did nothing.

    Args:
        state: The page state; see `update`.
        page: The page at the host, which takes actions.
    """

    def __init__(self, state: Any, page: PageClient) -> None:
        self.state, self.page = state, page
        self.notice = w.HTML(warning(""))
        self.guard = FaultGuard("a study's page", expected=(NotDelivered,), show=self.refuse)
        self.box = column(*self.build())
        self.update(state)

    def shows(self, state: PageState) -> bool:
        """Return True for a newer state of the same page: then the view stays, with all that was entered."""
        same = all(getattr(state, part, None) == getattr(self.state, part, None) for part in ("place", "questions"))
        return same and type(state) is type(self.state)

    def send(self, kind: str, **details: Any) -> None:
        """Send an action to the host; a click on what is not shown any more, as of a double click, does nothing.

        Raises:
            NotDelivered: Nothing was done; the text is the reason.
        """
        if self.shows(self.page.state):
            self.page.act(kind, **details)

    def build(self) -> list[w.Widget]:
        """Make the widgets from `self.state`."""
        raise NotImplementedError

    def update(self, state: Any) -> None:
        """Show a newer state of the same page."""

    def refuse(self, why: str) -> None:
        """Show why nothing was done."""
        self.notice.value = warning(why)

    def heading(self, title: str) -> w.HTML:
        """Render the study's title, the step and the page's title."""
        study = html.element("div", self.state.title, cls="nl-study", dir="auto")
        return w.HTML(html.join([study, step_line(self.state), html.element("h1", title)]))

    def clock(self) -> list[w.Widget]:
        """Return a clock for the page's time limit, if it has one."""
        if self.state.left is None:
            return []
        clock = Countdown(urgent=True, words=texts.TIME_FOR_PAGE, over=texts.TIME_UP)
        clock.start(self.state.left)
        return [clock]

    def opening(self, title: str) -> list[w.Widget]:
        """Render the heading, the clock and the study's text of a page."""
        return [self.heading(title), *self.clock(), *reading_panel(self.state.text)]

    def button(self, text: str, work: Callable[[*Given], object], *given: *Given) -> w.Button:
        """Make the button of the page; why its `work` was not done is shown in the notice."""
        return self.guard.button(text, work, *given, cls="nl-primary")


def step_line(state: PageState) -> str:
    """Render which step of the study a page is."""
    words = texts.STEP_OF if state.steps else texts.STEP
    text = words.format(step=state.step, steps=state.steps) if state.step else ""
    return html.element("div", text, cls="nl-step") if text else ""


def reading_panel(text: str) -> list[w.VBox]:
    """Render a text of the study on a panel; none for ""."""
    return [framed(w.HTML(html.prose(text)))] if text else []


class ConsentView(PageView):
    """The text to agree to; who does not take part leaves."""

    @override
    def build(self) -> list[w.Widget]:
        agree = self.button(texts.AGREE, lambda: self.send("consent", agreed=True))
        decline = self.guard.button(texts.DECLINE, lambda: self.send("consent", agreed=False))
        return [*self.opening(texts.CONSENT), row(agree, decline), self.notice]


class QuestionnaireView(PageView):
    """All open questions; the button sends the answers once all of them are valid."""

    @override
    def build(self) -> list[w.Widget]:
        required = sum(question.required for question in self.state.questions)
        some = [w.HTML(html.element("p", texts.SOME_REQUIRED))] if 0 < required < len(self.state.questions) else []
        send = self.button(texts.SEND_ANSWERS, self._submit)
        return [self.heading(texts.QUESTIONS), *self.clock(), *some, self.form(), send, self.notice]

    def form(self) -> w.VBox:
        """Make the fields of the questions."""
        self._fields = [QuestionField(question) for question in self.state.questions]
        return framed(*(field.box for field in self._fields))

    def _submit(self) -> None:
        faults = [field.fault() for field in self._fields]
        for field, fault in zip(self._fields, faults, strict=True):
            field.show_fault(fault)
        count = sum(map(bool, faults))
        if count:
            self.refuse(texts.ONE_WRONG if count == 1 else texts.SEVERAL_WRONG.format(count=count))
        else:
            self.refuse("")
            self.send("answer", answers={field.question.name: field.answer for field in self._fields})


class QuizView(QuestionnaireView):
    """Comprehension questions; after a wrong answer they are asked again: right answers stand there, and with each
    wrong one what is said about it."""

    @override
    def build(self) -> list[w.Widget]:
        left, form = self.state.attempts_left, self.form()
        for field in self._fields:
            field.fill(self.state.right.get(field.question.name, ""))
            field.show_fault(self.state.wrong.get(field.question.name, ""))
        words = "" if left is None else texts.LAST_ATTEMPT if left == 1 else texts.ATTEMPTS_LEFT.format(attempts=left)
        attempts = [w.HTML(html.element("p", words))] if words else []
        check = self.button(texts.CHECK, self._submit)
        self.refuse(texts.SOME_WRONG if self.state.wrong else "")
        return [*self.opening(texts.QUIZ), form, *attempts, check, self.notice]


class InstructionsView(PageView):
    """The instructions and the button that leads on."""

    @override
    def build(self) -> list[w.Widget]:
        go_on = self.button(texts.START if self.state.begins else texts.CONTINUE, self.send, "start")
        begins = [w.HTML(html.element("p", texts.BEGINS))] if self.state.begins else []
        return [*self.opening(texts.INSTRUCTIONS), *begins, go_on, self.notice]


class WaitingView(PageView):
    """The wait for a partner: for how long already, and for how long at most."""

    @override
    def build(self) -> list[w.Widget]:
        self._clock = Countdown(words=texts.WAITED, over=texts.WAIT_OVER)
        waiting = html.element("p", texts.WAITING, cls="nl-strong", role="status")
        text = w.HTML(html.join([waiting, html.element("p", texts.WAITING_HINT)]))
        return [self.heading(texts.PLEASE_WAIT), framed(text, self._clock), self.notice]

    @override
    def update(self, state: Waiting) -> None:
        self._clock.start(state.left, total=state.waited + state.left)


class PlayingView(PageView):
    """A match at its table, below the round, the clock and the button to go on.

    The table stays as long as the match is the same, so that nothing a participant writes is lost.
    """

    @override
    def build(self) -> list[w.Widget]:
        self._label = w.HTML()
        self._clock = Countdown(urgent=True, over=texts.TIME_UP)
        self._next = self.button("", self.send, "next")
        # A game's own last words may sound as if nothing more were to be done.
        self._over = w.HTML(html.element("span", texts.NEXT_STEP))
        self._strip = row(self._label, self._clock, self._over, self._next, cls="nl-strip")
        self._table = SeatWidget(HostSeat(self.page), title=self.state.title, report=self.page.report)
        return [self._strip, self.notice, *reading_panel(self.state.disclosure), self._table]

    @override
    def refuse(self, why: str) -> None:
        super().refuse(why)
        set_visible(self.notice, bool(why))

    @override
    def update(self, state: Playing) -> None:
        set_visible(self.notice, False)
        self._table.show_pause(texts.PAUSED if state.paused else "")
        badge = html.element("span", state.label, cls="nl-badge") if state.label else ""
        self._label.value = html.join([step_line(state), badge])
        self._next.description = texts.CONTINUE if state.can_continue else ""
        if state.left is not None:
            self._clock.start(state.left, words=texts["time_left_for"].get(state.limit, texts.TIME_LEFT))
        set_visible(self._label, bool(state.label or state.step))
        set_visible(self._clock, state.left is not None)
        set_visible(self._over, state.can_continue)
        set_visible(self._next, state.can_continue)
        set_visible(self._strip, bool(state.label or state.step) or state.can_continue or state.left is not None)


class ResultsView(PageView):
    """The participant's matches so far, with what they paid."""

    @override
    def build(self) -> list[w.Widget]:
        go_on = self.button(texts.CONTINUE, self.send, "next")
        results = framed(w.HTML(results_table(self.state.matches)))
        return [*self.opening(texts.RESULTS), results, go_on, self.notice]


def results_table(matches: Sequence[MatchResult]) -> str:
    """Render a participant's matches: how each ended, and what it paid them."""
    if not matches:
        return html.element("p", texts.NO_RESULTS)
    rows = (
        (
            texts.RESULT_PRACTICE.format(round=match.practice) if match.practice else match.number,
            match.end,
            match.payoff,
        )
        for match in matches
    )
    return html.table(list(texts["result_columns"].values()), rows, texts.RESULTS, cls="nl-own-results")


class ClosedView(PageView):
    """The end, the completion code, the link back to the panel, and the earnings."""

    @override
    def build(self) -> list[w.Widget]:
        state, title = self.state, w.HTML(html.element("h2", texts.COMPLETION_CODE))
        code = [title, CompletionCode(code=state.code, words=texts["copy_code"])] if state.code else []
        link = [completion_button(state.link)] if state.link else []
        earned = [] if state.earnings is None else [w.HTML(render_earnings(state.earnings))]
        return [self.heading(texts.END), *reading_panel(state.text), *code, *link, *earned]


VIEWS: dict[type[PageState], type[PageView]] = {
    Consent: ConsentView,
    Questionnaire: QuestionnaireView,
    Quiz: QuizView,
    Results: ResultsView,
    Instructions: InstructionsView,
    Waiting: WaitingView,
    Playing: PlayingView,
    Closed: ClosedView,
}


class StudyPage(Page):
    """A participant's page, blank until `show` gives it somebody's `PageClient`."""

    def __init__(self) -> None:
        self._page: PageClient | None = None
        self._drawn: PageState | None = None
        self._view: PageView | None = None
        report: Callable[[Exception], None] = lambda error: self._page.report(error) if self._page else None
        self._guard = FaultGuard("a study's page", expected=(), show=self._show_fault, report=report)
        self._banner, self._body = w.HTML(), column()
        self._loading = w.HTML()
        super().__init__([self._banner, self._body], self._refuse_press)
        self.add_class("nl-from-top")
        self._body.children = [self._loading]
        self.show_loading()

    def _refuse_press(self, why: str) -> None:
        if self._view is not None:
            self._view.refuse(why)

    def show_loading(self) -> None:
        """Ask for a moment's patience; a warm kernel does it again once it has the study's own texts."""
        self._loading.value = html.element("p", texts.LOADING, role="status")

    def show(self, of: PageClient) -> None:
        """Show what the host says, and follow it."""
        self._page = of
        self._leaving = AskFirst(texts.LEAVE, texts.LEAVE_QUESTION, texts.LEAVE_YES, texts.LEAVE_NO, self._leave)
        set_visible(self._leaving, False)
        self._shield.set_texts()
        self.children: tuple[w.Widget, ...] = (*self.children, self._leaving)
        of.watch(lambda: self._guard(self._on_change))
        self._guard(self._on_change)

    def show_error(self, why: str) -> None:
        """Show above all else why the page does not go on just now; "" clears it."""
        show(self._banner, html.element("div", why, cls="nl-banner", role="alert") if why else "")

    def _show_fault(self, fault: str) -> None:
        self.show_error(fault or (self._page.error if self._page is not None else ""))

    # What is shown.

    def _on_change(self) -> None:
        assert self._page is not None
        self.show_error(self._page.error)
        if self._page.replaced:
            self._show_replaced()
            return
        # An old state is not drawn again when only the connection has changed: its clock would start anew. A table that
        # cannot be drawn leads to another state at once.
        while (state := self._page.state) is not self._drawn:
            self._draw(self._page, state)
            self._drawn = state

    def _draw(self, of: PageClient, state: PageState) -> None:
        """Update the view that is shown, or replace it by another."""
        view = self._view
        if view is not None and view.shows(state):
            view.update(state)
        else:
            before, view = self._body.children, VIEWS[type(state)](state, of)
            view.box.add_class(f"nl-at-{state.__struct_config__.tag}")
            self._view, self._body.children = view, [view.box]
            self._leaving.reset()
            _close_widgets(*before)
            self._shield.focus()
        set_visible(self._leaving, state.may_leave)

    def _show_replaced(self) -> None:
        """Remove the view: a newer page has taken over, and only the sentence that says so stays."""
        before, self._view, self._body.children = self._body.children, None, []
        set_visible(self._leaving, False)
        _close_widgets(*before)

    def _leave(self) -> None:
        if (view := self._view) is not None:
            view.guard(partial(view.send, "leave"))


def _close_widgets(*widgets: w.Widget) -> None:
    """Close widgets that are shown no more, to free the kernel's memory."""
    for widget in widgets:
        _close_widgets(*getattr(widget, "children", ()))
        for part in ("layout", "style"):
            if isinstance(inner := getattr(widget, part, None), w.Widget):
                inner.close()
        widget.close()


def open_study_page() -> StudyPage:
    """Return the page of the participant whom this kernel is given to, perhaps long after it was started."""
    shown = StudyPage()
    if socket := os.environ.get(SEATS):
        run_in_background(lambda: run_page(shown, HostClient(socket), kernel_id()))
    else:
        shown.show_error(NOT_SERVED)
    return shown


def kernel_id() -> str:
    """Return this kernel's id, which the server knows too, from the name of its connection file."""
    return Path(get_connection_file()).stem.removeprefix("kernel-")


async def run_page(shown: StudyPage, host: HostClient, kernel: str) -> None:
    """Wait for a participant, then show what the host says until another page takes over."""
    guard = FaultGuard("a study's page", expected=(NotDelivered,), show=shown.show_error)
    with guard:
        lease, module, own = await host.arrival(kernel)
        install(own)
        shown.show_loading()
        if module is not None:
            catalog.game_module(module)  # the researcher's own game: the host says which file
        page = await _open_page(shown, host, lease)
        shown.show(page)
        await follow_page(page, guard)


async def _open_page(shown: StudyPage, host: HostClient, lease: str) -> PageClient:
    """Open the page as soon as the host answers."""
    while True:
        try:
            return PageClient(host, lease)
        except PageReplaced:
            raise
        except NotDelivered as error:
            shown.show_error(str(error))
            await asyncio.sleep(RETRY_AFTER)
