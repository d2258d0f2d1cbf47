"""An endpoint that does not answer at all: everything waits, one call after the other tries, and all go on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from math import inf

FIRST = 1.0
LONGEST = 30.0
"""Seconds between tries: doubled from the first to the longest."""


class Outage:
    """Whether an endpoint is silent, for all of its models. While it is, `admits` lets one call at a time try.

    `told` hears one line at each failed try and one at the end. After `patience` seconds (None: never) `lost` is set,
    and the run has to stop.
    """

    def __init__(
        self,
        url: str,
        clock: Callable[[], float],
        *,
        patience: float | None = None,
        told: Callable[[str], None] = lambda line: None,
    ) -> None:
        self.down = False
        self.lost: str | None = None
        self.next_try = 0.0
        self.heard_at = -inf
        """When the endpoint last said anything."""
        self.changed: list[Callable[[], None]] = []
        """Called when waiting calls should look again."""
        self._url = url
        self._clock = clock
        self._patience = patience
        self._told = told
        self._began = 0.0
        self._wait = FIRST
        self._trying: object | None = None
        self._deadline: asyncio.TimerHandle | None = None

    def admits(self, now: float) -> bool:
        """Whether a call may go now."""
        return not self.down or (self._trying is None and now >= self.next_try)

    def sent(self, who: object) -> None:
        """This call goes; while the endpoint is silent it is the one that tries."""
        if self.down:
            self._trying = who

    def left(self) -> float | None:
        """Seconds of patience that are left to a call that tries; None: no bound, as when patience is over."""
        if not self.down or self.lost or self._patience is None:
            return None
        return max(0.05, self._began + self._patience - self._clock())

    def answered(self) -> None:
        """The endpoint said something, be it an error."""
        self.heard_at = self._clock()
        if not self.down:
            return
        self.down, self.lost, self._trying, self._wait = False, None, None, FIRST
        self._stop_clock()
        self._told(f"{self._url} answers again after {self._clock() - self._began:.0f} s")
        self._look()

    def silent(self, who: object, why: str) -> None:
        """A call could not reach the endpoint, or nothing at all came back."""
        now = self._clock()
        if not self.down:
            self.down, self._began, self._wait = True, now, FIRST
            self._start_clock()
        elif self._trying is who:
            self._wait = min(LONGEST, 2 * self._wait)
        else:
            return
        self._trying = None
        self.next_try = now + self._wait
        self._told(f"{self._url} does not answer ({why}): waiting; {now - self._began:.0f} s so far")
        self._look()

    def gave_up(self, who: object) -> None:
        """The call that tried was taken back: the next one may try."""
        if self._trying is who:
            self._trying = None
            self._look()

    def _look(self) -> None:
        for look in list(self.changed):
            look()

    def _start_clock(self) -> None:
        if self._patience is not None:
            self._deadline = asyncio.get_running_loop().call_later(self._patience, self._lose)

    def _stop_clock(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _lose(self) -> None:
        self.lost = f"{self._url} has not answered for {self._patience:g} s: see that it runs, then start again"
        self._look()
