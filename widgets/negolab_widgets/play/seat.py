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
from negolab_widgets.html import Markup, StableHTML, element
from negolab_widgets.layout import box, column
from negolab_widgets.page import Page
from negolab_widgets.tables import table
from negolab_widgets.tables.controls import ControlsContext
from negolab_widgets.tables.conversation import ConversationEntry, render_conversation
from negolab_widgets.tables.decision import (
    NOT_ON_TURN,
    OVER,
    Decision,
    DecisionCard,
    Shortcuts,
    person_name,
    render_keys,
    set_class,
)

log = logging.getLogger("negolab.widgets")

DOUBLE_CLICK = 0.4
"""Seconds after a reply in which another press counts as the same one."""


def render_result(game: AnyGame, closing: SeatOutcome, kept: str, outcome: str = "") -> Markup:
    """Render how the match ended, by its `outcome` if there is one, what the seat was paid, and where the record is."""
    return element(
        "div",
        element("div", outcome or match_end(game, closing.end)),
        element("strong", texts.RESULT.format(payoff=format_payoff(game, closing.payoff))),
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
        self._pressed, self._has_account = 0.0, False
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
        self._rules, self._log, self._result = w.HTML(), w.HTML(), w.HTML()
        self._header, self._facts, self._keys = StableHTML(), StableHTML(), Shortcuts()
        context = ControlsContext(self._on_reply, self._guard, self._log)
        table = self._controls = self._table(self._game, self._view.seen, context)
        help = column(w.HTML(render_keys()), table.help, cls="nl-help")
        head = box(self._header, self._rules, self._keys, help, cls="nl-head")
        self._card = DecisionCard(self._result, table.composer, table.actions, table.answer_notice)
        self._body = box(self._facts, self._card, table.past, cls="nl-body")
        return [head, self._body]

    def show_end(self, end: w.Widget, plane: w.Widget | None) -> None:
        """Show an account of the end below the result, and what was possible in place of what could be done."""
        outcome = column(self._result, end, cls="nl-outcome")
        self._body.children = [outcome, self._card if plane is None else plane, self._controls.past]
        self._has_account = plane is not None
        if self._record_notice is not None:  # else the record is being kept, and the end drawn next
            self._drawing(self._update)

    def show_pause(self, why: str) -> None:
        """Show why the match does not go on just now; "" once it does."""
        if why != self._pause:
            self._pause = why
            self._draw_card(self._view)

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
            outcome = self._table.outcome(self._game, now.seen) if self._has_account else ""
            self._result.value = render_result(self._game, now.closing, self._record_notice or "", outcome)
        self._controls.update(now.seen, asked=now.asked, left=now.left)
        self._header.value = self._render_header(now)
        self._facts.value = self._render_facts(now)
        self._draw_card(now)
        # From here on a press answers what the page shows now.
        self._shield.turn = now.turn

    def _draw_card(self, now: SeatView) -> None:
        over = now.closing is not None
        decision = Decision() if over else self._table.decision(self._game, now.seen)
        compose = self._controls.compose if now.asked else ""
        self._card.draw(self._render_turn(now), decision, over=over, compose=compose)
        set_class(self._body, "nl-ended", over)
        self._keys.turn = OVER if over else now.turn if now.asked else NOT_ON_TURN

    def _render_header(self, now: SeatView) -> Markup:
        """Render the title, the seat, and how far the match is."""
        role = self._table.role(self._game, self._seat)
        seat = texts.YOU if role.endswith(f" {self._seat}") else texts.YOU_ARE.format(role=role)
        clock = self._table.clock(self._game, now.seen)
        return html.join(
            [
                element("h1", self._title),
                element("span", seat, cls=f"nl-person nl-person-{self._seat.lower()}"),
                element("span", clock, cls="nl-soft"),
            ]
        )

    def _render_facts(self, now: SeatView) -> Markup:
        """Render the goal, and what the seat must have in view."""
        goal = [element("p", rule, cls="nl-strong") for rule in self._table.rules(self._game, now.seen)[:1]]
        facts = (
            element("div", element("dt", name), element("dd", value))
            for name, value in self._table.facts(self._game, now.seen)
        )
        return element("div", *goal, element("dl", *facts), cls="nl-known")

    def _render_rules(self, now: SeatView) -> Markup:
        """Render the rules for a person behind a click, with the game's own text behind another."""
        rules = self._table.rules(self._game, now.seen)
        whole = html.details(texts.RULES, html.preformatted(now.rules))
        goal, *others = rules or (texts.RULES,)
        listed = element("ul", *(element("li", rule) for rule in others)) if others else ""
        # A study with texts of its own shows no prompt: it is written for models, in the game's own language.
        word_for_word = "" if rules and are_overridden() else whole if rules else html.preformatted(now.rules)
        body = element("div", element("h2", goal), listed, word_for_word, cls="nl-pop")
        return html.details(texts.RULES_IN_SHORT, body)

    def _render_turn(self, now: SeatView) -> Markup:
        """Render whose turn it is."""
        across = person_name(self._table.role(self._game, other(self._seat)), other(self._seat))
        model = self._opponent_model
        waiting = texts.THINKING.format(model=model) if model else texts.WAITING_FOR.format(role=across)
        running = f"{texts.YOUR_TURN} {self._pause}".strip() if now.asked else self._pause or waiting
        status = texts.MATCH_OVER if now.closing else running
        state = "nl-turn" if now.asked else "nl-wait" if now.closing else "nl-wait nl-alive"
        return element("div", element("span", status, cls=state, role="status"), cls="nl-bar")

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
            self._sending = False
            # The answer may have told of news, as of an earlier reply that arrived although nobody heard so.
            self._drawing(self._update)
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
            log.exception("a record could not be saved")
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
