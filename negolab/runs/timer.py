"""Time limits of games, paused while a run is paused or an endpoint cannot answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from negolab.llm.endpoint.endpoint import GAME_TIMER
from negolab.llm.endpoint.errors import GameTimedOut


class MatchTimer:
    """The time left to one game; paused with its run, while an endpoint is unreachable or a call waits."""

    def __init__(self, timeout: asyncio.Timeout) -> None:
        self._timeout = timeout
        self._left = 0.0
        self._pauses = 0
        self.is_over = False
        """The game is over; a cancelled call may still let the timer go on."""

    def stop(self) -> None:
        """Pause."""
        self._pauses += 1
        if self._pauses == 1 and self._is_running() and (when := self._timeout.when()) is not None:
            self._left = when - asyncio.get_running_loop().time()
            self._timeout.reschedule(None)

    def go(self) -> None:
        """End one pause; go on after the last one."""
        self._pauses -= 1
        if self._pauses == 0 and self._is_running():
            self._timeout.reschedule(asyncio.get_running_loop().time() + self._left)

    def _is_running(self) -> bool:
        return not (self.is_over or self._timeout.expired())


class MatchTimers:
    """Timers of all games at play, `seconds` each from a game's start (None: no limit)."""

    def __init__(self, seconds: float | None) -> None:
        if seconds is not None and not 0 < seconds < float("inf"):
            raise ValueError(f"the time limit of a game must be seconds above 0, not {seconds!r}")
        self.seconds = seconds
        self._timers: set[MatchTimer] = set()
        self._is_paused = False

    @asynccontextmanager
    async def game(self) -> AsyncIterator[None]:
        """Limit the time of the game inside; GameTimedOut when it is used up."""
        if self.seconds is None:
            yield
            return
        try:
            async with asyncio.timeout(self.seconds) as timeout:
                timer = MatchTimer(timeout)
                self._timers.add(timer)
                token = GAME_TIMER.set(timer)
                if self._is_paused:
                    timer.stop()
                try:
                    yield
                finally:
                    GAME_TIMER.reset(token)
                    timer.is_over = True
                    self._timers.discard(timer)
        except TimeoutError:
            if not timeout.expired():
                raise
            raise GameTimedOut(f"the game was not over after {self.seconds:g} s") from None

    def set_paused(self, paused: bool) -> None:
        """Pause all timers, or let them go on."""
        if paused != self._is_paused:
            self._is_paused = paused
            for timer in self._timers:
                timer.stop() if paused else timer.go()
