"""One person's seat at a match: controls over the same `Match` that scripts and models play.

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

from negolab.events import Rejected
from negolab.fronts import front
from negolab.game import Observation, Reply, Seat
from negolab.match import Match
from negolab.play import hear
from negolab.players.player import Player
from negolab_widgets import html
from negolab_widgets.tables import plain
from negolab_widgets.tables.plain import Line

log = logging.getLogger("negolab.widgets")
P = ParamSpec("P")

MOST_BUTTONS = 24
"""With more options than this, they become a list to choose from."""

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
        self._front = front(match.game, seat)
        self._heard = 0
        self._pressed = 0.0
        self._lines: list[Line] = []
        self._since: Observation[Any, Any] = match.seen(seat)
        self._unread = True
        self._thinking: asyncio.Task[None] | None = None
        self._build()
        super().__init__(children=self._parts)
        self.layout.grid_gap = "0.75rem"
        self.add_class("nl-page")
        if self._front is None:
            self._rules.value = plain.rules(match.told(seat).prompt(self._since, None))
        self._guarded(self._advance)()

    # What is on the table.

    def _build(self) -> None:
        self._header, self._rules, self._log, self._own = w.HTML(), w.HTML(), w.HTML(), w.HTML()
        self._options = w.Box()
        self._options.add_class("nl-options")
        self._filter = w.Text(
            description="Or find one of your options", continuous_update=False, placeholder="type words, then Enter"
        )
        self._list = w.Select(description="Your options", rows=6)
        # Sent as a whole when the box is left, so that a press on the button cannot come before the last letters.
        self._message = w.Textarea(
            description="Your message", rows=3, placeholder="Write your reply here.", continuous_update=False
        )
        self._send_button = w.Button(description="Send message")
        self._send_button.add_class("nl-primary")
        self._choose_button = w.Button(description="Play the chosen option")
        self._notice, self._result = w.HTML(), w.HTML()
        self._send_button.on_click(lambda _: self._press(self._message.value, "text"))
        self._choose_button.on_click(lambda _: self._press(self._list.value or "", "button"))
        self._filter.observe(lambda _: self._guarded(self._narrow)(), "value")
        choose = w.VBox([self._options, self._filter, self._list, self._choose_button])
        main = w.VBox([self._log, self._result, self._notice, self._message, self._send_button, choose])
        side = w.VBox([self._own])
        main.add_class("nl-main")
        side.add_class("nl-side")
        columns = w.Box([main, side])
        columns.add_class("nl-columns")
        for box in (main, side, choose):
            box.layout.grid_gap = box.layout.gap = "0.75rem"
        self._parts = [w.HTML(html.theme()), self._header, self._rules, columns]

    def _draw(self) -> None:
        match, seat = self._match, self._seat
        told, seen = match.told(seat), match.seen(seat)
        asked, over = match.asks(seat), match.ended is not None
        status = "The match is over." if over else "It is your turn." if asked else "Waiting for the other seat."
        self._header.value = plain.header(self._title, seat, status, yours=asked)
        self._log.value = plain.log(self._lines, monospaced=self._front is not None)
        self._own.value = plain.own(told, seen)
        self._result.layout.display = None if over else "none"
        if match.ended is not None:
            self._result.value = plain.result(told, match.ended, seat, self._kept or "")
        self._offer([told.say(action) for action in told.options(seen)] if asked else [])
        for control in (self._message, self._send_button):
            control.disabled = not asked
            control.layout.display = "none" if over else None

    def _offer(self, options: list[str]) -> None:
        """A button per option, or a list where there are many."""
        self._texts = options
        few = len(options) <= MOST_BUTTONS
        old, self._options.children = self._options.children, [self._button(t) for t in options] if few else []
        for button in old:
            button.close()
        for control in (self._filter, self._list, self._choose_button):
            control.layout.display = "none" if few else None
        self._filter.value = ""
        self._narrow()

    def _button(self, text: str) -> w.Button:
        button = w.Button(description=text if len(text) <= 80 else text[:77] + "...", tooltip=text)
        turn = len(self._match.events)
        button.on_click(lambda _: self._press(text, "button", turn))
        return button

    def _narrow(self) -> None:
        wanted = self._filter.value.lower().split()
        found = [text for text in self._texts if all(word in text.lower() for word in wanted)]
        self._list.options = found
        self._list.value = found[0] if found else None

    # What happens.

    def _press(self, text: str, via: str, turn: int | None = None) -> None:
        """A press in the browser: the second of a double click, or one on a button of an earlier turn, does nothing."""
        now = time.monotonic()
        if now - self._pressed < DOUBLE_CLICK or turn not in (None, len(self._match.events)):
            return
        if not text.strip():
            self._notice.value = self._warn("There is nothing to send yet: write a message or choose an option.")
            return
        if len(text) > LONGEST:
            self._notice.value = self._warn(f"Your message has {len(text)} characters; {LONGEST} are the most.")
            return
        self._guarded(self._say)(text, via)
        self._pressed = time.monotonic()

    def _say(self, text: str, via: str) -> None:
        if not self._match.asks(self._seat):
            self._notice.value = self._warn("It is not your turn.")
            return
        events = self._match.submit(self._seat, Reply(text, via=via))
        rejected = " ".join(e.invalid.reason for e in events if isinstance(e, Rejected) and e.seat == self._seat)
        self._lines.append(Line("you", text))
        if rejected and self._front is None:
            self._lines.append(Line("refused", rejected))
            self._notice.value = self._warn(rejected)
        else:
            self._notice.value = self._warn("")
        if not rejected and via == "text":
            self._message.value = ""
        self._advance()

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
            self._lines += [Line("table", text) for text in texts[self._heard :]]
            self._heard = max(self._heard, len(texts))
            return
        seen = match.seen(seat)
        if not (match.asks(seat) or match.ended is not None) or (seen is self._since and not self._unread):
            return
        if news := match.told(seat).prompt(seen, self._since).strip():
            self._lines.append(Line("table", news))
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
        self._notice.value = self._warn("Something went wrong on our side.")

    def _warn(self, text: str) -> str:
        return html.element("div", html.escape(text), cls="nl-notice", role="alert")
