"""One person's seat at a match: a game's table over a `SeatHandle`, in this process or at the host.

Only what the seat may see is ever put into a widget's state. A widget is not a control either: a disabled button can be
pressed and a value rewritten from the browser, so every reply goes through the match, which checks it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping

import ipywidgets as w

from negolab.catalog import AnyGame
from negolab.game import End, Seat, other
from negolab.match import Match
from negolab.protocols import Player
from negolab.record import SeatOutcome
from negolab.studies.session import MatchSession, NotDelivered, SeatHandle, SeatView
from negolab.studies.session import TalkEntry as Heard
from negolab_widgets import html
from negolab_widgets.faults import FaultGuard
from negolab_widgets.html import Markup, element
from negolab_widgets.page import page_head
from negolab_widgets.tables import table
from negolab_widgets.tables.controls import ControlsContext
from negolab_widgets.tables.conversation import ConversationEntry, render_conversation

log = logging.getLogger("negolab.widgets")

DOUBLE_CLICK = 0.4
"""Seconds after a reply in which another press counts as the same one."""

END_TEXTS: dict[End, str] = {
    "AGREED": "It ended in agreement.",
    "NO_DEAL": "It ended without a deal.",
    "OUT_OF_TIME": "The turns ran out without a deal.",
    "FORFEIT": "It ended by a forfeit.",
    "ABORTED": "The match was stopped.",
}


def render_result(game: AnyGame, closing: SeatOutcome, kept: str) -> Markup:
    """Render how the match ended, what the seat was paid, and where the record is."""
    return element(
        "div",
        element("strong", END_TEXTS[closing.end]),
        element("div", f"Your result: {game.format_payoff(closing.payoff)}."),
        element("div", kept, cls="nl-who"),
        cls="nl-result",
        role="status",
    )


class SeatWidget(w.VBox):  # type: ignore[misc]
    """A person's controls over a seat.

    Args:
        chair: The seat at the match.
        title: The page's title.
        keep: Called once, when the match is over; returns where the record is.
        thinker: The model across the table, where the person may know that it takes its time.
    """

    def __init__(
        self, chair: SeatHandle, *, title: str = "Match", keep: Callable[[], str] | None = None, thinker: str = ""
    ) -> None:
        self._chair, self._seat = chair, chair.seat
        self._title, self._keep, self._opponent_model = title, keep, thinker
        self._record_notice: str | None = None
        self._game = chair.game
        self._table_module = table(self._game)
        self._pressed = 0.0
        self._sending = False
        self._view = chair.table()
        # A fault's own words could carry what the seat may not see.
        self._guard = FaultGuard("a table", expected=(), show=lambda text: self._controls.refuse(text))
        super().__init__(children=self._build())
        self.add_class("nl-page")
        chair.watch(lambda: self._guard(self._on_change))
        self._guard(self._update)

    # What is on the table.

    def _build(self) -> list[w.Widget]:
        self._header, self._log, self._result, self._rules = w.HTML(), w.HTML(), w.HTML(), w.HTML()
        context = ControlsContext(self._on_reply, self._guard, self._log)
        self._controls = self._table_module.Controls(self._game, self._view.seen, context)
        self._controls.main.add_class("nl-main")
        self._controls.side.add_class("nl-side")
        columns = w.Box([self._controls.main, self._controls.side])
        columns.add_class("nl-columns")
        return [*page_head(), self._header, self._rules, self._result, columns]

    def _on_change(self) -> None:
        # What an own reply changes is drawn once it is known whether it was accepted.
        if not self._sending:
            self._update()

    def _update(self) -> None:
        """Draw the table as it is now."""
        now = self._view = self._chair.table()
        if now.closing is not None and self._record_notice is None:
            self._record_notice = self._save_record()
        if now.rules and not self._rules.value:
            self._rules.value = html.details("Rules, as you were given them", html.preformatted(now.rules))
        self._header.value = self._render_header(now)
        whole = now.closing is not None
        self._log.value = render_conversation([_conversation_entry(said, self._chair.fronted) for said in now.said],
                               monospaced=self._chair.fronted, whole=whole)  # fmt: skip
        if now.closing is not None:
            self._result.value = render_result(self._game, now.closing, self._record_notice or "")
        self._controls.update(now.seen, asked=now.asked, left=now.left)

    def _render_header(self, now: SeatView) -> str:
        """Render the game, the seat, how far the match is, and whose turn it is."""
        role = self._table_module.role
        across = role(self._game, other(self._seat))
        waiting = f"{self._opponent_model} is thinking." if self._opponent_model else f"Waiting for {across}."
        status = "The match is over." if now.closing else "It is your turn." if now.asked else waiting
        state = "nl-turn" if now.asked else "nl-wait" if now.closing else "nl-wait nl-alive"
        return html.element(
            "div",
            html.element("h1", self._title),
            html.element("span", f"You are {role(self._game, self._seat)}."),
            html.element("span", self._table_module.clock(self._game, now.seen)),
            html.element("span", status, cls=state, role="status"),
            cls="nl-bar",
        )

    # What happens.

    def _on_reply(self, text: str) -> None:
        """Take a reply from the browser, unless it is the second press of a double click."""
        if time.monotonic() - self._pressed < DOUBLE_CLICK:
            return
        self._submit(text)

    def _submit(self, text: str) -> None:
        self._sending = True
        try:
            refused = self._chair.say(text, self._view.turn)
        except NotDelivered as why:
            self._controls.refuse(str(why))
            return
        finally:
            self._sending = False
        self._pressed = time.monotonic()
        if refused:
            self._controls.on_rejected(text, refused)
        else:
            self._controls.on_accepted()
        self._update()

    def _save_record(self) -> str:
        """Return where the record is, or that it could not be written: the result is shown either way."""
        try:
            return self._keep() if self._keep is not None else ""
        except Exception:
            log.exception("a record could not be kept")
            return "The record could not be written yet; it is tried again when you leave this match."


class HumanSeat(SeatWidget):
    """A person's seat at a match in this process.

    Args:
        match: The match.
        seat: The person's seat.
        others: The players of the other seats.
        title: The page's title.
        keep: Called once with the match, when it is over; returns where the record is.
        thinker: The model across the table, where the person may know that it takes its time.
    """

    def __init__(
        self,
        match: Match,
        seat: Seat,
        others: Mapping[Seat, Player],
        *,
        title: str = "Match",
        keep: Callable[[Match], str] | None = None,
        thinker: str = "",
    ) -> None:
        self._match = match
        self._room = MatchSession(match, others)
        self._room.advance()
        kept = None if keep is None else lambda: keep(match)
        super().__init__(self._room.chair(seat), title=title, keep=kept, thinker=thinker)


def _conversation_entry(said: Heard, fronted: bool) -> ConversationEntry:
    """Convert an entry of the host's talk into one of the table's conversation."""
    match said.kind:
        case "own":
            return ConversationEntry("you", said.text, kind="own")
        case "refused":
            return ConversationEntry("not accepted", said.text, kind="refused")
        case _:
            return ConversationEntry("the manager" if fronted else "the table", said.text)
