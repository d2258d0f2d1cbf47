"""One person's seat at a match: a game's table over a `Chair`, in this process or through the host.

Only what the seat may see is ever put into a widget's state. A widget is not a control either: a disabled button can
be pressed and a value rewritten from the browser, so every reply goes through the match, which checks it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from typing import ParamSpec

import ipywidgets as w

from negolab.game import Seat, other
from negolab.match import Match
from negolab.people.room import Chair, Room, Unheard
from negolab.people.sitting import Said as Heard
from negolab.people.sitting import Table
from negolab.players.player import Player
from negolab_widgets import closing, html
from negolab_widgets.page import head
from negolab_widgets.tables import table
from negolab_widgets.tables.controls import Desk
from negolab_widgets.tables.talk import Said, talk

log = logging.getLogger("negolab.widgets")
P = ParamSpec("P")

DOUBLE_CLICK = 0.4
"""Seconds after a reply in which another press is the same one."""


class Seated(w.VBox):  # type: ignore[misc]
    """A person's controls over `chair`. `keep()` is called once, when the match is over, and says where the record
    is; `thinker` names who is across, where the person may know that it takes its time."""

    def __init__(
        self, chair: Chair, *, title: str = "Match", keep: Callable[[], str] | None = None, thinker: str = ""
    ) -> None:
        self._chair, self._seat = chair, chair.seat
        self._title, self._keep, self._thinker = title, keep, thinker
        self._kept: str | None = None
        self._drawn = chair.game
        self._look = table(self._drawn)
        self._pressed = 0.0
        self._saying = False
        self._now = chair.table()
        super().__init__(children=self._parts())
        self.add_class("nl-page")
        chair.watch(self._guarded(self._changed))
        self._guarded(self._update)()

    # What is on the table.

    def _parts(self) -> list[w.Widget]:
        self._header, self._log, self._result, self._rules = w.HTML(), w.HTML(), w.HTML(), w.HTML()
        desk = Desk(self._press, self._guarded, self._log)
        self._controls = self._look.Controls(self._drawn, self._now.seen, desk)
        self._controls.main.add_class("nl-main")
        self._controls.side.add_class("nl-side")
        columns = w.Box([self._controls.main, self._controls.side])
        columns.add_class("nl-columns")
        return [*head(), self._header, self._rules, self._result, columns]

    def _changed(self) -> None:
        # What an own reply changes is drawn once it is known whether it was accepted.
        if not self._saying:
            self._update()

    def _update(self) -> None:
        """Draw what stands before the seat now."""
        now = self._now = self._chair.table()
        if now.closing is not None and self._kept is None:
            self._kept = self._kept_as()
        if now.rules and not self._rules.value:
            self._rules.value = html.folded("Rules, as you were given them", html.said(now.rules))
        self._header.value = self._bar(now)
        whole = now.closing is not None
        self._log.value = talk([_entry(said, self._chair.fronted) for said in now.said],
                               monospaced=self._chair.fronted, whole=whole)  # fmt: skip
        if now.closing is not None:
            self._result.value = closing.result(self._drawn, now.closing, self._kept or "")
        self._controls.update(now.seen, asked=now.asked, left=now.left)

    def _bar(self, now: Table) -> str:
        """The game, the seat, how far the match is, and whose turn it is."""
        role = self._look.role
        across = role(self._drawn, other(self._seat))
        waiting = f"{self._thinker} is thinking." if self._thinker else f"Waiting for {across}."
        status = "The match is over." if now.closing else "It is your turn." if now.asked else waiting
        state = "nl-turn" if now.asked else "nl-wait" if now.closing else "nl-wait nl-alive"
        return html.element(
            "div",
            html.element("h1", self._title),
            html.element("span", f"You are {role(self._drawn, self._seat)}."),
            html.element("span", self._look.clock(self._drawn, now.seen)),
            html.element("span", status, cls=state, role="status"),
            cls="nl-bar",
        )

    # What happens.

    def _press(self, text: str) -> None:
        """A reply from the browser: the second of a double click does nothing."""
        if time.monotonic() - self._pressed < DOUBLE_CLICK:
            return
        self._say(text)

    def _say(self, text: str) -> None:
        self._saying = True
        try:
            refused = self._chair.say(text, self._now.turn)
        except Unheard as why:
            self._controls.refuse(str(why))
            return
        finally:
            self._saying = False
        self._pressed = time.monotonic()
        if refused:
            self._controls.rejected(text, refused)
        else:
            self._controls.accepted()
        self._update()

    def _kept_as(self) -> str:
        """Where the record is, or that it could not be written: the result stands there either way."""
        try:
            return self._keep() if self._keep is not None else ""
        except Exception:
            log.exception("a record could not be kept")
            return "The record could not be written yet; it is tried again when you leave this match."

    # Faults.

    def _guarded(self, work: Callable[P, None]) -> Callable[P, None]:
        """A callback that shows one plain sentence on failure: a traceback could carry what the seat may not see."""

        def run(*args: P.args, **kwargs: P.kwargs) -> None:
            try:
                work(*args, **kwargs)
            except Exception:
                log.exception("a table failed")
                self._controls.refuse("Something went wrong on our side.")

        return run


class HumanSeat(Seated):
    """A person at `seat` of a match in this process; `others` answer for the other seats. `keep(match)` is called
    once, when the match is over, and says where the record is."""

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
        self._room = Room(match, others)
        self._room.advance()
        kept = None if keep is None else lambda: keep(match)
        super().__init__(self._room.chair(seat), title=title, keep=kept, thinker=thinker)


def _entry(said: Heard, fronted: bool) -> Said:
    """An entry of the talk as it is shown."""
    match said.kind:
        case "own":
            return Said("you", said.text, kind="own")
        case "refused":
            return Said("not accepted", said.text, kind="refused")
        case _:
            return Said("the manager" if fronted else "the table", said.text)
