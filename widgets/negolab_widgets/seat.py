"""One person's seat at a match: a game's table over the same `Match` that scripts and models play.

Only what the seat may see is ever put into a widget's state. A widget is not a control either: a disabled button can
be pressed and a value rewritten from the browser, so every reply goes through the match, which checks it.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import time
from collections.abc import Callable, Mapping
from typing import Any, ParamSpec

import ipywidgets as w

from negolab.events import Event, Rejected
from negolab.fronts import front
from negolab.game import Observation, Reply, Seat, other
from negolab.match import Match
from negolab.play import hear
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

LONGEST = 100_000
"""Characters of a message."""


class HumanSeat(w.VBox):  # type: ignore[misc]
    """A person at `seat`; `others` answer for the other seats. `keep(match)` is called once, when the match is over,
    and says where the record is."""

    def __init__(
        self,
        match: Match,
        seat: Seat,
        others: Mapping[Seat, Player],
        *,
        title: str = "Match",
        keep: Callable[[Match], str] | None = None,
    ) -> None:
        self._match, self._seat, self._others = match, seat, dict(others)
        self._title, self._keep = title, keep
        self._kept: str | None = None
        self._table = table(match.game)
        self._front = front(match.game, seat)
        self._heard = 0
        self._pressed = 0.0
        self._lines: list[Said] = []
        self._since: Observation[Any, Any] = match.seen(seat)
        self._unread = True
        self._thinking: asyncio.Task[None] | None = None
        super().__init__(children=self._parts())
        self.add_class("nl-page")
        self._guarded(self._advance)()

    # What is on the table.

    def _parts(self) -> list[w.Widget]:
        told, seen = self._match.told(self._seat), self._match.seen(self._seat)
        self._header, self._log, self._result = w.HTML(), w.HTML(), w.HTML()
        self._controls = self._table.Controls(told, seen, Desk(self._press, self._guarded, self._log))
        self._rules = w.HTML()
        if self._front is None:
            self._fold_rules(told.prompt(seen, None))
        self._controls.main.add_class("nl-main")
        self._controls.side.add_class("nl-side")
        columns = w.Box([self._controls.main, self._controls.side])
        columns.add_class("nl-columns")
        return [*head(), self._header, self._rules, self._result, columns]

    def _fold_rules(self, text: str) -> None:
        self._rules.value = html.folded("Rules, as you were given them", html.said(text))

    def _draw(self) -> None:
        match, seat = self._match, self._seat
        told, seen, asked = match.told(seat), match.seen(seat), match.asks(seat)
        self._header.value = self._bar(told, seen, asked=asked)
        self._log.value = talk(self._lines, monospaced=self._front is not None, whole=match.ended is not None)
        if match.ended is not None:
            self._result.value = closing.result(told, match.ended, seat, self._kept or "")
        left = match.pending()[seat].retries_left if asked else None
        self._controls.update(seen, asked=asked, left=left)

    def _bar(self, told: Any, seen: Observation[Any, Any], *, asked: bool) -> str:
        """The game, the seat, how far the match is, and whose turn it is."""
        away = self._table.role(told, other(self._seat))
        waiting = f"Waiting for {away}."
        status = "The match is over." if self._match.ended else "It is your turn." if asked else waiting
        return html.element(
            "div",
            html.element("h1", self._title),
            html.element("span", f"You are {self._table.role(told, self._seat)}."),
            html.element("span", self._table.clock(told, seen)),
            html.element("span", status, cls="nl-turn" if asked else "nl-wait", role="status"),
            cls="nl-bar",
        )

    # What happens.

    def _press(self, text: str) -> None:
        """A reply from the browser: the second of a double click does nothing."""
        if time.monotonic() - self._pressed < DOUBLE_CLICK:
            return
        if not self._match.asks(self._seat):
            self._controls.refuse("The match is over." if self._match.ended else "It is not your turn.")
            return
        if not text.strip():
            self._controls.refuse("There is nothing to send yet: write a message or choose an option.")
            return
        if len(text) > LONGEST:
            self._controls.refuse(f"Your message has {len(text)} characters; {LONGEST} are the most.")
            return
        self._say(text)
        self._pressed = time.monotonic()

    def _say(self, text: str) -> None:
        events = self._match.submit(self._seat, Reply(text, via="table"))
        self._lines.append(Said("you", text, kind="own"))
        refused = self._refusal(events)
        if refused:
            self._lines += [] if self._front else [Said("not accepted", refused, kind="refused")]
            self._controls.rejected(text, refused)
        else:
            self._controls.accepted()
        self._advance()

    def _refusal(self, events: list[Event]) -> str:
        """Why a reply was not accepted, in the words of the front where there is one; "" if it was."""
        reasons = [e.invalid.reason for e in events if isinstance(e, Rejected) and e.seat == self._seat]
        return self._front(self._match.events)[-1] if reasons and self._front else " ".join(reasons)

    def _advance(self) -> None:
        """Let the others answer as far as they can, then draw."""
        while (waiting := self._next()) is not None:
            seat, player = waiting
            try:
                answer = player.reply(self._match.told(seat), self._match.pending()[seat])
                if inspect.isawaitable(answer):
                    self._thinking = asyncio.ensure_future(self._wait(seat, answer))
                    break
                hear(self._match, seat, answer)
            except Exception:
                self._stop()
        self._read()
        if self._match.ended is not None and self._kept is None:
            self._kept = self._kept_as()
        self._draw()

    def _kept_as(self) -> str:
        """Where the record is, or that it could not be written: the result stands there either way."""
        try:
            return self._keep(self._match) if self._keep is not None else ""
        except Exception:
            log.exception("a record could not be kept")
            return "The record could not be written yet; it is tried again when you leave this match."

    def _next(self) -> tuple[Seat, Player] | None:
        return next(((s, p) for s, p in self._others.items() if self._match.asks(s)), None)

    async def _wait(self, seat: Seat, answer: Any) -> None:
        try:
            hear(self._match, seat, await answer)
        except Exception:
            self._stop()
        self._guarded(self._advance)()

    def _read(self) -> None:
        """Put what became visible into the log, when the seat is asked or the match is over."""
        match, seat = self._match, self._seat
        if self._front is not None:
            texts = self._front(match.events) if match.asks(seat) or match.ended is not None else []
            if texts and not self._heard:
                self._fold_rules(texts[0])
            self._lines += [Said("the manager", text) for text in texts[self._heard :]]
            self._heard = max(self._heard, len(texts))
            return
        seen = match.seen(seat)
        if not (match.asks(seat) or match.ended is not None) or (seen is self._since and not self._unread):
            return
        if news := match.told(seat).prompt(seen, self._since).strip():
            self._lines.append(Said("the table", news))
        self._since, self._unread = seen, False

    # Faults.

    def _guarded(self, work: Callable[P, None]) -> Callable[P, None]:
        """A callback that shows one plain sentence on failure: a traceback could carry what the seat may not see."""

        def run(*args: P.args, **kwargs: P.kwargs) -> None:
            try:
                work(*args, **kwargs)
            except Exception:
                self._failed()

        return run

    def _stop(self) -> None:
        """The other seat's player failed: the match cannot go on, but what was played is kept."""
        log.exception("the other seat's player failed")
        self._match.abort("the other seat's player failed")

    def _failed(self) -> None:
        log.exception("a table failed")
        self._controls.refuse("Something went wrong on our side.")
