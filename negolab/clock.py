"""Time limits of many games, which stand still while nothing can be asked or answered."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from negolab.catalog import AnyGame
from negolab.game import Ask, Malformed, Reply
from negolab.players.endpoint.failures import GameTimedOut
from negolab.players.player import Player


class Clock:
    """What is left to one game. Without a limit it does nothing."""

    def __init__(self, timeout: asyncio.Timeout | None) -> None:
        self._timeout = timeout
        self._left: float | None = None

    def give_back(self, seconds: float) -> None:
        """Let a wait that was not the game's own not count."""
        if self._timeout is not None and (when := self._timeout.when()) is not None:
            self._timeout.reschedule(when + seconds)
        elif self._left is not None:
            self._left += seconds

    def stop(self) -> None:
        """Stand still."""
        if self._timeout is not None and (when := self._timeout.when()) is not None:
            self._left = when - asyncio.get_running_loop().time()
            self._timeout.reschedule(None)

    def go(self) -> None:
        """Go on where it stopped."""
        if self._timeout is not None and self._left is not None:
            self._timeout.reschedule(asyncio.get_running_loop().time() + self._left)
            self._left = None


class Clocks:
    """The clocks of all games at play: `seconds` each, from when a game begins; None: no limit."""

    def __init__(self, seconds: float | None) -> None:
        if seconds is not None and not 0 < seconds < float("inf"):
            raise ValueError(f"the time limit of a game must be seconds above 0, not {seconds!r}")
        self.seconds = seconds
        self._clocks: set[Clock] = set()
        self._still = False

    @asynccontextmanager
    async def game(self) -> AsyncIterator[Clock]:
        """One game's clock; `GameTimedOut` when it has run down."""
        if self.seconds is None:
            yield Clock(None)
            return
        try:
            async with asyncio.timeout(self.seconds) as timeout:
                clock = Clock(timeout)
                self._clocks.add(clock)
                if self._still:
                    clock.stop()
                try:
                    yield clock
                finally:
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


class Seated:
    """A player in a run: waits while that is paused; time it spent in a queue does not count against its game."""

    def __init__(self, who: Player, is_open: asyncio.Event, clock: Clock) -> None:
        self._who, self._open, self._clock = who, is_open, clock

    async def reply(self, told: AnyGame, ask: Ask) -> Any:
        await self._open.wait()
        reply = self._who.reply(told, ask)
        if inspect.isawaitable(reply):
            reply = await reply
        said = reply.reply if isinstance(reply, Malformed) else reply
        usage = said.usage if isinstance(said, Reply) else None
        if usage and usage.get("queued"):
            self._clock.give_back(usage["queued"])
        return reply
