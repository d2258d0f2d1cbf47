"""One person's seat at a match: a game's table over a `SeatHandle`, in this process or at the host.

Only what the seat may see is ever put into a widget's state. A widget is not a control either: a disabled button can be
pressed and a value rewritten from the browser, so every reply goes through the match, which checks it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

import ipywidgets as w

from negolab.catalog import AnyGame
from negolab.game import other
from negolab.record import SeatOutcome
from negolab.studies.page_state import NotDelivered, SeatHandle, SeatView, TalkEntry
from negolab.studies.texts import format_payoff, match_end, texts
from negolab.texts import are_overridden
from negolab_widgets import html
from negolab_widgets.faults import FaultGuard
from negolab_widgets.html import Markup, element
from negolab_widgets.page import Page
from negolab_widgets.tables import table
from negolab_widgets.tables.controls import ControlsContext, box
from negolab_widgets.tables.conversation import ConversationEntry, render_conversation
from negolab_widgets.tables.decision import Decision, DecisionBar

log = logging.getLogger("negolab.widgets")

DOUBLE_CLICK = 0.4
"""Seconds after a reply in which another press counts as the same one."""


def render_result(game: AnyGame, closing: SeatOutcome, kept: str) -> Markup:
    """Render how the match ended, what the seat was paid, and where the record is."""
    return element(
        "div",
        element("strong", match_end(game, closing.end)),
        element("div", texts.RESULT.format(payoff=format_payoff(game, closing.payoff))),
        element("div", kept, cls="nl-who"),
        cls="nl-result",
        role="status",
    )


class SeatWidget(Page):
    """A person's controls over a seat.

    Args:
        handle: The seat at the match.
        title: The page's title.
        keep: Called once, when the match is over; returns where the record is.
        thinker: The model across the table, where the person may know that it takes its time.
        report: Called with an error for which the table cannot be drawn.
    """

    def __init__(
        self,
        handle: SeatHandle,
        *,
        title: str = "Match",
        keep: Callable[[], str] | None = None,
        thinker: str = "",
        report: Callable[[Exception], None] | None = None,
    ) -> None:
        self._handle, self._seat = handle, handle.seat
        self._title, self._keep, self._opponent_model = title, keep, thinker
        self._record_notice: str | None = None
        self._pause = ""
        self._game = handle.game
        self._table = table(self._game)
        self._pressed = 0.0
        self._sending = False
        self._view = handle.view()
        # A fault's own words could carry what the seat may not see.
        show: Callable[[str], None] = lambda text: self._controls.refuse(text)
        self._guard = FaultGuard("a table", expected=(), show=show)
        self._drawing = FaultGuard("a table", expected=(), show=show, report=report)
        super().__init__(self._build(), self._refuse_press)
        self.add_class(f"nl-seat-{self._seat.lower()}")
        handle.watch(lambda: self._drawing(self._on_change))
        self._drawing(self._update)

    # What is on the table.

    def _build(self) -> list[w.Widget]:
        self._header, self._log, self._result, self._rules = w.HTML(), w.HTML(), w.HTML(), w.HTML()
        self._header.value = element("h1", self._title)
        context = ControlsContext(self._on_reply, self._guard, self._log)
        self._controls = self._table(self._game, self._view.seen, context)
        self._controls.main.add_class("nl-main")
        self._controls.side.add_class("nl-side")
        columns = box(self._controls.main, self._controls.side, cls="nl-columns")
        self._bar = DecisionBar(self._controls.actions, self._controls.answer_notice)
        return [self._header, self._rules, self._result, columns, self._bar]

    def show_pause(self, why: str) -> None:
        """Show in the bar why the match does not go on just now; "" once it does."""
        if why != self._pause:
            self._pause = why
            self._draw_bar(self._view)

    def _on_change(self) -> None:
        # What an own reply changes is drawn once it is known whether it was accepted.
        if not self._sending:
            self._update()

    def _update(self) -> None:
        """Draw the table as it is now."""
        now = self._view = self._handle.view()
        if now.closing is not None and self._record_notice is None:
            self._record_notice = self._save_record()
            self._shield.reveal(".nl-result")
        if now.rules:
            self._rules.value = self._render_rules(now)
        fronted = self._handle.fronted
        talk = [_conversation_entry(entry, fronted) for entry in now.talk]
        self._log.value = render_conversation(talk, monospaced=fronted, whole=now.closing is not None)
        if now.closing is not None:
            self._result.value = render_result(self._game, now.closing, self._record_notice or "")
        self._controls.update(now.seen, asked=now.asked, left=now.left)
        self._draw_bar(now)
        # From here on a press answers what the page shows now.
        self._shield.turn = now.turn
        self._controls.draw_figure()

    def _draw_bar(self, now: SeatView) -> None:
        decision = self._table.decision(self._game, now.seen) if now.closing is None else Decision()
        turn, compose = (now.turn, self._controls.compose) if now.asked else (None, "")
        over = now.closing is not None
        self._bar.draw(self._render_turn(now), decision, turn=turn, over=over, compose=compose)

    def _render_rules(self, now: SeatView) -> Markup:
        """Render the rules for a person, open until the first answer, with the game's own text behind a click."""
        rules = self._table.rules(self._game, now.seen)
        whole = html.details(texts.RULES, html.preformatted(now.rules))
        if not rules:
            return whole
        is_new = now.closing is None and not any(entry.kind == "own" for entry in now.talk)
        goal, *others = rules
        listed = element("ul", *(element("li", rule) for rule in others))
        body = element("div", element("p", goal, cls="nl-strong"), listed, cls="nl-prose-text")
        # Folded, the goal stays in view.
        head = html.join([texts.RULES_IN_SHORT, element("span", goal, cls="nl-goal")])
        # A study with texts of its own shows no prompt: it is written for models, in the game's own language.
        return html.details(head, html.join([body, "" if are_overridden() else whole]), is_open=is_new)

    def _render_turn(self, now: SeatView) -> Markup:
        """Render the seat, how far the match is, and whose turn it is."""
        role = self._table.role
        across = role(self._game, other(self._seat))
        model = self._opponent_model
        waiting = texts.THINKING.format(model=model) if model else texts.WAITING_FOR.format(role=across)
        running = f"{texts.YOUR_TURN} {self._pause}".strip() if now.asked else self._pause or waiting
        status = texts.MATCH_OVER if now.closing else running
        state = "nl-turn" if now.asked else "nl-wait" if now.closing else "nl-wait nl-alive"
        return html.element(
            "div",
            html.element("span", status, cls=state, role="status"),
            html.element("span", texts.YOU_ARE.format(role=role(self._game, self._seat)), cls="nl-seat"),
            html.element("span", self._table.clock(self._game, now.seen)),
            cls="nl-bar",
        )

    # What happens.

    def _on_reply(self, text: str) -> None:
        """Take a reply from the browser, unless it is the second press of a double click."""
        if not self._is_double_click():
            self._submit(text)

    def _refuse_press(self, why: str) -> None:
        if not self._is_double_click():
            self._controls.refuse(why)

    def _is_double_click(self) -> bool:
        return time.monotonic() - self._pressed < DOUBLE_CLICK

    def _submit(self, text: str) -> None:
        self._sending = True
        try:
            refused = self._handle.submit(text, self._view.turn)
        except NotDelivered as error:
            self._controls.refuse(str(error))
            return
        finally:
            self._sending = False
        self._pressed = time.monotonic()
        if refused:
            self._controls.on_rejected(text, refused)
        else:
            self._controls.on_accepted()
        self._drawing(self._update)

    def _save_record(self) -> str:
        """Return where the record is, or that it could not be written: the result is shown either way."""
        try:
            return self._keep() if self._keep is not None else ""
        except Exception:
            log.exception("a record could not be kept")
            return texts.RECORD_FAILED


def _conversation_entry(entry: TalkEntry, fronted: bool) -> ConversationEntry:
    """Convert an entry of the seat's talk into one of the table's conversation."""
    match entry.kind:
        case "own":
            return ConversationEntry(texts.OWN, entry.text, kind="own")
        case "refused":
            return ConversationEntry(texts.NOT_ACCEPTED, entry.text, kind="refused")
        case _:
            return ConversationEntry(texts.MANAGER if fronted else texts.TABLE, entry.text)
