"""Time limits for games (paused while a run is paused or an endpoint cannot answer) and for function calls."""

from __future__ import annotations

import asyncio
import signal
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, TypeVar

from negolab.llm.endpoint.endpoint import GAME_TIMER
from negolab.llm.endpoint.errors import GameTimedOut

T = TypeVar("T")
_INTERRUPT_AGAIN = 0.1
"""Seconds after which a function that continues in spite of an interrupt, for example with `except:`, is interrupted
again."""


class CallTimedOut(Exception):
    """A function took longer than its time limit."""


class _Interrupt(BaseException):
    """Raised by the alarm inside the function; not an `Exception`, so that the function's own handlers let it pass."""


def call_within(seconds: float, function: Callable[..., T], *args: Any) -> T:
    """Call a function and interrupt it when its time is up.

    A Python function, or one that sleeps, is interrupted in the main thread of a POSIX system. Elsewhere, and while
    compiled code that does not check for signals is running, the call waits, and a result that comes too late is
    dropped.

    Raises:
        CallTimedOut: It took longer than `seconds`, which must be positive.
    """
    began = time.monotonic()
    if hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread():
        result = _call_with_alarm(seconds, function, *args)
    else:
        result = function(*args)
    if time.monotonic() - began > seconds:
        raise CallTimedOut(f"not done after {seconds:g} s")
    return result


def _call_with_alarm(seconds: float, function: Callable[..., T], *args: Any) -> T:
    def interrupt(*_: object) -> None:
        raise _Interrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        try:
            signal.setitimer(signal.ITIMER_REAL, seconds, _INTERRUPT_AGAIN)
            return function(*args)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except _Interrupt:
        raise CallTimedOut(f"not done after {seconds:g} s") from None
    finally:
        signal.signal(signal.SIGALRM, before)


class MatchTimer:
    """The time left for one game, paused with its run and while an endpoint is unreachable or a call waits."""

    def __init__(self, timeout: asyncio.Timeout) -> None:
        self._timeout = timeout
        self._left = 0.0
        self._pauses = 0
        self.is_over = False
        """True if the game is over; a canceled call may still resume the timer."""

    def stop(self) -> None:
        """Pause."""
        self._pauses += 1
        if self._pauses == 1 and self._is_running() and (when := self._timeout.when()) is not None:
            self._left = when - asyncio.get_running_loop().time()
            self._timeout.reschedule(None)

    def go(self) -> None:
        """End one pause; continue after the last one."""
        self._pauses -= 1
        if self._pauses == 0 and self._is_running():
            self._timeout.reschedule(asyncio.get_running_loop().time() + self._left)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Pause while the context is active."""
        self.stop()
        try:
            yield
        finally:
            self.go()

    def _is_running(self) -> bool:
        return not (self.is_over or self._timeout.expired())


class MatchTimers:
    """Timers of all games being played, `seconds` each from a game's start (None: no limit)."""

    def __init__(self, seconds: float | None) -> None:
        self.seconds = seconds
        self._timers: set[MatchTimer] = set()
        self._is_paused = False

    def scripted_game(self) -> Callable[[], float]:
        """Start the clock for a game played in one go; return a function that returns the seconds left.

        The function raises GameTimedOut when none are left.
        """
        began = time.monotonic()

        def left() -> float:
            assert self.seconds is not None
            if (seconds := began + self.seconds - time.monotonic()) <= 0:
                raise self.timed_out()
            return seconds

        return left

    def timed_out(self) -> GameTimedOut:
        """Return the error for a game that has run out of time."""
        return GameTimedOut(f"the match was not over after {self.seconds:g} s")

    @asynccontextmanager
    async def game(self) -> AsyncIterator[None]:
        """Limit the time of the game played inside; raise GameTimedOut when it is up."""
        if self.seconds is None:
            yield
            return
        try:
            async with asyncio.timeout(self.seconds) as timeout:
                timer = MatchTimer(timeout)
                self._timers.add(timer)
                token = GAME_TIMER.set(timer.paused)
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
            raise self.timed_out() from None

    def set_paused(self, paused: bool) -> None:
        """Pause or resume all timers."""
        if paused != self._is_paused:
            self._is_paused = paused
            for timer in self._timers:
                timer.stop() if paused else timer.go()
