"""Admission control for calls to one model: queueing, concurrency, rate limits and back-off after HTTP 429."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Callable
from itertools import count
from math import inf

import msgspec

from negolab.llm.endpoint.policy import Limits
from negolab.llm.endpoint.rate_limiter import AdaptiveLimiter, RateLimiter

MIN_BACKOFF = 0.1
"""Seconds without new calls after an HTTP 429, even if the endpoint asks for less."""
INITIAL_BACKOFF = 0.5
"""Seconds, when a 429 carries no Retry-After; doubled for each further one up to MAX_BACKOFF."""
MAX_BACKOFF = 30.0
MIN_TIMER = 1e-4
"""Seconds: a timer that fires a rounding error too early would be set again for ever."""
GAME_AGE_WEIGHT = 0.1
"""Seconds of waiting that one second of a game's age is worth."""


class QueuedCall(msgspec.Struct, eq=False):
    """A call waiting for admission: when it was enqueued, when its game began, and the tokens it may take."""

    enqueued_at: float
    game_started_at: float
    estimated_tokens: int
    started_at: float = 0.0

    @property
    def priority(self) -> float:
        """Smaller is admitted first: longest waiting, with a small bonus for older games so that all games progress."""
        return self.enqueued_at - GAME_AGE_WEIGHT * max(0.0, self.enqueued_at - self.game_started_at)


class CallQueue:
    """Admit calls to one model within its concurrency and rate limits.

    A caller awaits `acquire`, reports the result with one `record_...` method and always calls `release`; a release
    without a report means that the call was cancelled.
    """

    def __init__(self, limits: Limits, clock: Callable[[], float]) -> None:
        self.running = 0
        self.adaptive = AdaptiveLimiter(limits.at_once)
        self.has_answered = False
        """A good answer came: key, model and parameters are right."""
        self._hold_until = -inf
        self._clock = clock
        self._requests = RateLimiter.per_minute(limits.requests_per_minute)
        self._tokens = RateLimiter.per_minute(limits.tokens_per_minute)
        self._waiting: list[tuple[float, int, asyncio.Future[None], QueuedCall]] = []
        self._order = count()
        self._timer: asyncio.TimerHandle | None = None
        self._rate_limits_in_a_row = 0

    @property
    def waiting(self) -> int:
        """Calls that wait for admission."""
        return sum(not admitted.done() for _, _, admitted, _ in self._waiting)

    async def acquire(self, call: QueuedCall) -> None:
        """Wait for admission."""
        now = self._clock()
        if not self._waiting and self._can_start(now):
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
        """Free the place of a call that is over or cancelled."""
        self.running -= 1
        self._dispatch()

    def record_success(self, call: QueuedCall, tokens: int | None) -> None:
        """Count an answer; `tokens` are those it took, None if the endpoint did not count them."""
        now = self._clock()
        self.has_answered = True
        self._rate_limits_in_a_row = 0
        self.adaptive.record_success(now, now - call.started_at)
        if tokens is not None:
            self._tokens.adjust(tokens - call.estimated_tokens)

    def record_rate_limit(self, call: QueuedCall, retry_after: float | None) -> None:
        """Hold new calls after an HTTP 429 for `retry_after` seconds (None: a delay that grows exponentially)."""
        now = self._clock()
        if retry_after is None:
            retry_after = min(MAX_BACKOFF, INITIAL_BACKOFF * 2**self._rate_limits_in_a_row)
            # Calls that were in flight before the first 429 came back are one event.
            self._rate_limits_in_a_row += now >= self._hold_until
            self._rate_limits_in_a_row = min(self._rate_limits_in_a_row, 16)
        self._hold_until = max(self._hold_until, now + max(MIN_BACKOFF, retry_after))
        self.adaptive.record_rate_limit(now, call.started_at, self.running - 1)
        self._tokens.adjust(-call.estimated_tokens)
        self._requests.disable_catch_up()
        self._tokens.disable_catch_up()

    def record_error(self) -> None:
        """Count a response that is an error of the server or no valid answer."""
        self.adaptive.record_error(self._clock())

    def _can_start(self, now: float) -> bool:
        has_capacity = self.running < int(self.adaptive.concurrency)
        return has_capacity and now >= self._next_start()

    def _next_start(self) -> float:
        rate = self.adaptive.rate
        return max(self._hold_until, self._requests.next_at, self._tokens.next_at, rate.next_at)

    def _start(self, call: QueuedCall, now: float) -> None:
        self.running += 1
        call.started_at = now
        self._requests.consume(now)
        self._tokens.consume(now, call.estimated_tokens)
        self.adaptive.record_start(now, self.running)

    def _dispatch(self) -> None:
        """Admit every call that may start now, and set a timer for the next one."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        waiting = self._waiting
        while waiting:
            if waiting[0][2].done():
                heapq.heappop(waiting)
            elif self._can_start(now := self._clock()):
                _, _, admitted, call = heapq.heappop(waiting)
                self._start(call, now)
                admitted.set_result(None)
            else:
                self._schedule_dispatch(now)
                return

    def _schedule_dispatch(self, now: float) -> None:
        if self.running >= int(self.adaptive.concurrency):
            return
        start = self._next_start()
        if start > now:
            self._timer = asyncio.get_running_loop().call_later(max(MIN_TIMER, start - now), self._dispatch)
