"""Circuit breaker of an endpoint that cannot be reached: calls wait while one at a time probes it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from math import inf

INITIAL_RETRY = 1.0
MAX_RETRY = 30.0
"""Seconds between probes: doubled from the first to the longest."""


class CircuitBreaker:
    """Hold the calls to all models of an endpoint while it is unreachable, and let one at a time probe it.

    `notify` gets one line at each failed probe and one when the endpoint answers again. After `patience` seconds (None:
    never) `failure` is set, and the run has to stop.
    """

    def __init__(
        self,
        url: str,
        clock: Callable[[], float],
        *,
        patience: float | None = None,
        notify: Callable[[str], None] = lambda line: None,
    ) -> None:
        self.is_open = False
        """The endpoint is unreachable."""
        self.failure: str | None = None
        self.next_probe_at = 0.0
        self.last_response_at = -inf
        self.on_change: list[Callable[[], None]] = []
        """Callbacks for queues whose waiting calls may start now."""
        self._url = url
        self._clock = clock
        self._patience = patience
        self._notify = notify
        self._opened_at = 0.0
        self._retry_delay = INITIAL_RETRY
        self._probe: object | None = None
        self._deadline: asyncio.TimerHandle | None = None

    def allows(self, now: float) -> bool:
        """Return True if a call may start now."""
        return not self.is_open or (self._probe is None and now >= self.next_probe_at)

    def record_start(self, call: object) -> None:
        """Note a call that starts; while the breaker is open it is the probe."""
        if self.is_open:
            self._probe = call

    def patience_left(self) -> float | None:
        """Return the seconds that a probe may take; None: no bound, as after `failure`."""
        if not self.is_open or self.failure or self._patience is None:
            return None
        return max(0.05, self._opened_at + self._patience - self._clock())

    def record_response(self) -> None:
        """Close the breaker: the endpoint sent something, be it an error."""
        self.last_response_at = self._clock()
        if not self.is_open:
            return
        self.is_open, self.failure, self._probe, self._retry_delay = False, None, None, INITIAL_RETRY
        self._cancel_deadline()
        self._notify(f"{self._url} answers again after {self._clock() - self._opened_at:.0f} s")
        self._changed()

    def record_unreachable(self, call: object, reason: str) -> None:
        """Open the breaker, or wait longer for the next probe if `call` was the last one."""
        now = self._clock()
        if not self.is_open:
            self.is_open, self._opened_at, self._retry_delay = True, now, INITIAL_RETRY
            self._set_deadline()
        elif self._probe is call:
            self._retry_delay = min(MAX_RETRY, 2 * self._retry_delay)
        else:
            return
        self._probe = None
        self.next_probe_at = now + self._retry_delay
        self._notify(f"{self._url} does not answer ({reason}): waiting; {now - self._opened_at:.0f} s so far")
        self._changed()

    def record_cancelled(self, call: object) -> None:
        """Let the next call probe if `call`, the current probe, ended without a result."""
        if self._probe is call:
            self._probe = None
            self._changed()

    def _changed(self) -> None:
        for callback in list(self.on_change):
            callback()

    def _set_deadline(self) -> None:
        if self._patience is not None:
            self._deadline = asyncio.get_running_loop().call_later(self._patience, self._fail)

    def _cancel_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _fail(self) -> None:
        self.failure = f"{self._url} has not answered for {self._patience:g} s: see that it runs, then start again"
        self._changed()
