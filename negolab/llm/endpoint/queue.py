"""Admission control for calls to one model: they queue until its limits let them start."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Callable
from itertools import count
from math import inf

from negolab.llm.endpoint.policy import Limits
from negolab.llm.endpoint.rate_limiter import CallLimits, QueuedCall

MIN_TIMER = 1e-4
"""Seconds; a timer that fires too early by a rounding error would be set again forever."""


class CallQueue:
    """Admit calls to one model within its concurrency and rate limits.

    A caller awaits `acquire`, reports the result with one `record_...` method and always calls `release`; a release
    without a report means that the call was canceled.
    """

    def __init__(self, limits: Limits, clock: Callable[[], float]) -> None:
        self.running = 0
        self.limits = CallLimits(limits)
        self.has_answered = False
        """True once a good answer has shown that the key, model and parameters are right."""
        self._clock = clock
        self._waiting: list[tuple[float, int, asyncio.Future[None], QueuedCall]] = []
        self._order = count()
        self._timer: asyncio.TimerHandle | None = None

    @property
    def waiting(self) -> int:
        """Number of calls waiting for admission."""
        return sum(not admitted.done() for _, _, admitted, _ in self._waiting)

    async def acquire(self, call: QueuedCall) -> None:
        """Wait for admission."""
        now = self._clock()
        if not self._waiting and self.limits.next_start(self.running) <= now:
            self._start(call, now)
            return
        admitted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting, (call.priority, next(self._order), admitted, call))
        self._dispatch()
        try:
            await admitted
        except asyncio.CancelledError:
            if admitted.done() and not admitted.cancelled():
                self.release()
            raise

    def release(self) -> None:
        """Free the slot of a call that has ended or was canceled."""
        self.running -= 1
        self._dispatch()

    def record_success(self, call: QueuedCall, tokens: int | None) -> None:
        """Count an answer that took `tokens` (None: the endpoint did not count them)."""
        self.has_answered = True
        self.limits.record_success(call, self._clock(), tokens)

    def record_rate_limit(self, call: QueuedCall, retry_after: float | None) -> None:
        """Hold new calls after an HTTP 429 for `retry_after` seconds (None: a delay that grows exponentially)."""
        self.limits.record_rate_limit(call, self._clock(), self.running, retry_after)

    def record_error(self) -> None:
        """Count a response that is a server error or not a valid answer."""
        self.limits.adaptive.record_error(self._clock())

    def _start(self, call: QueuedCall, now: float) -> None:
        self.running += 1
        self.limits.record_start(call, now, self.running)

    def _dispatch(self) -> None:
        """Admit every call that may start now, and set a timer for the next one."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        waiting = self._waiting
        while waiting:
            if waiting[0][2].done():
                heapq.heappop(waiting)
            elif (start := self.limits.next_start(self.running)) <= (now := self._clock()):
                _, _, admitted, call = heapq.heappop(waiting)
                self._start(call, now)
                admitted.set_result(None)
            else:
                if start < inf:
                    wait = max(MIN_TIMER, start - now)
                    self._timer = asyncio.get_running_loop().call_later(wait, self._dispatch)
                return
