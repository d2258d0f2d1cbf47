"""Time limits of many games, which stand still while nothing can be asked or answered."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from negolab.players.endpoint.counted import CLOCK
from negolab.players.endpoint.failures import GameTimedOut


class Clock:
    """What is left to one game. It stands still while anything holds it: a pause of the run, a silent endpoint, a seat
    that waits in line."""

    def __init__(self, timeout: asyncio.Timeout) -> None:
        self._timeout = timeout
        self._left = 0.0
        self._held = 0
        self.over = False
        """Whether its game is; a seat that was dropped may still tell it to go on."""

    def stop(self) -> None:
        """Stand still."""
        self._held += 1
        if self._held == 1 and self._runs() and (when := self._timeout.when()) is not None:
            self._left = when - asyncio.get_running_loop().time()
            self._timeout.reschedule(None)

    def go(self) -> None:
        """Go on where it stopped, unless something else holds it."""
        self._held -= 1
        if self._held == 0 and self._runs():
            self._timeout.reschedule(asyncio.get_running_loop().time() + self._left)

    def _runs(self) -> bool:
        return not (self.over or self._timeout.expired())


class Clocks:
    """The clocks of all games at play: `seconds` each, from when a game begins; None: no limit."""

    def __init__(self, seconds: float | None) -> None:
        if seconds is not None and not 0 < seconds < float("inf"):
            raise ValueError(f"the time limit of a game must be seconds above 0, not {seconds!r}")
        self.seconds = seconds
        self._clocks: set[Clock] = set()
        self._still = False

    @asynccontextmanager
    async def game(self) -> AsyncIterator[None]:
        """Limit what happens inside, one game; `GameTimedOut` when its clock has run down."""
        if self.seconds is None:
            yield
            return
        try:
            async with asyncio.timeout(self.seconds) as timeout:
                clock = Clock(timeout)
                self._clocks.add(clock)
                before = CLOCK.set(clock)
                if self._still:
                    clock.stop()
                try:
                    yield
                finally:
                    CLOCK.reset(before)
                    clock.over = True
                    self._clocks.discard(clock)
        except TimeoutError:
            if not timeout.expired():
                raise
            raise GameTimedOut(f"the game was not over after {self.seconds:g} s") from None

    def still(self, still: bool) -> None:
        """Stop all clocks, or let them go on."""
        if still != self._still:
            self._still = still
            for clock in self._clocks:
                clock.stop() if still else clock.go()
