"""Time limits: of a game, paused while a run is paused or an endpoint cannot answer, and of a function call."""

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
"""Seconds after which a function that goes on in spite of an interrupt, as by `except:`, is interrupted again."""


class CallTimedOut(Exception):
    """A function took longer than its time limit."""


class _Interrupt(BaseException):
    """Raised by the alarm inside of the function; no `Exception`, so that the function's own handlers let it pass."""


def call_within(seconds: float, function: Callable[..., T], *args: Any) -> T:
    """Call a function, which is interrupted when its time is over.

    A function in Python, or one that sleeps, is interrupted in the main thread of a POSIX system. Elsewhere, and while
    compiled code runs that does not look at signals, it is waited for, and what it returns too late is dropped.

    Raises:
        CallTimedOut: It took longer than `seconds`, above 0.
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

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Pause while the context runs."""
        self.stop()
        try:
            yield
        finally:
            self.go()

    def _is_running(self) -> bool:
        return not (self.is_over or self._timeout.expired())


class MatchTimers:
    """Timers of all games at play, `seconds` each from a game's start (None: no limit)."""

    def __init__(self, seconds: float | None) -> None:
        self.seconds = seconds
        self._timers: set[MatchTimer] = set()
        self._is_paused = False

    def scripted_game(self) -> Callable[[], float]:
        """Begin the time of a game that is played at one go; return a function that returns the seconds left.

        It raises GameTimedOut when none are.
        """
        began = time.monotonic()

        def left() -> float:
            assert self.seconds is not None
            if (seconds := began + self.seconds - time.monotonic()) <= 0:
                raise self.timed_out()
            return seconds

        return left

    def timed_out(self) -> GameTimedOut:
        """Return the error of a game whose time is used up."""
        return GameTimedOut(f"the match was not over after {self.seconds:g} s")

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
        """Pause all timers, or let them go on."""
        if paused != self._is_paused:
            self._is_paused = paused
            for timer in self._timers:
                timer.stop() if paused else timer.go()
