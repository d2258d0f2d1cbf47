"""Limits of calls to one model: declared rates per minute, limits learned where none is declared, and pauses after HTTP
429."""

from __future__ import annotations

from math import inf

import msgspec

from negolab.llm.endpoint.policy import Limits

MINUTE = 60.0
MAX_CATCH_UP = 0.25
"""Seconds of a declared rate that may be made up after a delay."""
STRICT_SHARE = 0.992
"""Share of the rate that is used when there is no catching up: calls sent evenly do not arrive quite evenly."""


class RateLimiter:
    """Space units (calls or tokens) evenly at `rate` per second.

    A delay of up to `catch_up` seconds is made up for; a longer one is lost, so that no burst follows a pause. One call
    may cost more units than are left; the next one then waits for them.
    """

    def __init__(self, rate: float = inf, catch_up: float = MAX_CATCH_UP) -> None:
        self.rate = rate
        self.next_at = -inf
        """Clock time from which the next call may start."""
        self._catch_up = catch_up

    @classmethod
    def per_minute(cls, units: float | None) -> RateLimiter:
        """Allow at most `units` in any minute (None: no limit); the catch-up allowance is deducted from the rate."""
        return cls() if units is None else cls(units / (MINUTE + MAX_CATCH_UP))

    def consume(self, now: float, units: float = 1.0) -> None:
        """Count units that start now."""
        if self.rate < inf:
            # The very first unit has no unused time to make up.
            since = now if self.next_at == -inf else max(self.next_at, now - self._catch_up)
            self.next_at = since + units / self.rate

    def disable_catch_up(self) -> None:
        """Stop making up for delays, for an endpoint that takes no two units closer together than its rate allows."""
        if self._catch_up:
            self._catch_up = 0.0
            self.rate *= STRICT_SHARE

    def adjust(self, units: float) -> None:
        """Correct the count by the units used beyond the estimate (negative: fewer were used)."""
        if self.rate < inf:
            self.next_at += units / self.rate


INITIAL_CONCURRENCY = 50
"""Initial number of calls at once; most endpoints take that many."""
UTILISATION_TO_GROW = 0.8
"""A limit grows only if at least this share of it was used."""
CUT_FACTOR = 0.8
COOLDOWN = 1.0
"""Seconds after a cut during which further HTTP 429s belong to the same episode."""
OVERLOAD_SHARE = 0.2
"""Share of calls with HTTP 429 above which limits are cut to the throughput reached."""
GROWTH_SHARE = 0.08
"""Share of calls with HTTP 429 up to which limits grow."""
MAX_ERROR_SHARE = 0.25
"""Share of calls with server errors above which nothing grows."""
MIN_SAMPLE = 20
"""Fewest calls from which a share or a rate can be estimated."""
HALF_WINDOW = 1.0
"""Seconds in each half of the sliding window."""
MIN_RATE = 1.0
"""Calls per second; slower endpoints are respected through the delays that they ask for."""
RATE_DECREASE, RATE_INCREASE = 0.97, 1.0015
"""Factors for each HTTP 429 and each answer. The rate settles where one call in twenty is rejected; an endpoint that
now and then rejects a call for other reasons does not drive it down."""
MAX_NEW_RATE_SHARE = 0.95
"""Largest value at which a new rate starts, as a share of the rate that was too high."""


class CallWindow:
    """Count calls by result over the last one to two seconds."""

    STARTED, SUCCEEDED, RATE_LIMITED, FAILED = range(4)

    def __init__(self) -> None:
        self._half_began = self._first_at = inf
        self._current, self._previous = [0, 0, 0, 0], [0, 0, 0, 0]

    def add(self, result: int, now: float) -> None:
        if now - self._half_began >= HALF_WINDOW:
            self._previous = self._current if now - self._half_began < 2 * HALF_WINDOW else [0, 0, 0, 0]
            self._current = [0, 0, 0, 0]
            self._half_began = now
        elif self._half_began == inf:
            self._half_began = self._first_at = now
        self._current[result] += 1

    def clear(self) -> None:
        self._current, self._previous = [0, 0, 0, 0], [0, 0, 0, 0]

    def count(self, result: int) -> int:
        return self._previous[result] + self._current[result]

    def share(self, result: int) -> float:
        """Return the share of the calls started; 0 if there are too few to tell."""
        started = self.count(self.STARTED)
        return self.count(result) / started if started >= MIN_SAMPLE else 0.0

    def duration(self, now: float) -> float:
        """Return the seconds that the counts cover, at least 0.5."""
        return max(0.5, min(now - self._first_at, now - self._half_began + HALF_WINDOW))

    def is_short(self, now: float) -> bool:
        """Return True while the window is not full, so that rates are rough."""
        return now - self._first_at < 2 * HALF_WINDOW


class AdaptiveLimiter:
    """Learn how many calls at once, and how many per second, one model takes.

    `concurrency` doubles each round until the first cut, grows by a twentieth per round after it, and is cut by a fifth
    once per episode of HTTP 429s. `rate` is unlimited until the first cut; then it is the throughput reached, and grows
    slowly: when answers are quick, whole numbers of calls at once are too coarse to hold a rate. Answers from the cache
    are not counted.
    """

    def __init__(self, max_concurrency: int) -> None:
        self.max_concurrency = max_concurrency
        self.concurrency = float(min(max_concurrency, INITIAL_CONCURRENCY))
        self.rate = RateLimiter(catch_up=0.02)
        self.episodes = 0
        self._window = CallWindow()
        self._cut_at = -inf
        self._reviewed_at = -inf
        self._started = 0
        self._succeeded = 0
        self._peak = 0
        self._latency = 0.0
        self._is_rate_used = False
        """True if the rate was used recently, so that answers raise it."""
        self._is_rate_rough = False
        """True if the rate was measured over too short a time to be trusted; it doubles until a call is rejected."""

    def record_start(self, now: float, running: int) -> None:
        """Count a call that starts; `running` includes it."""
        self._peak = max(self._peak, running)
        self._started += 1
        self._window.add(CallWindow.STARTED, now)
        self.rate.consume(now)

    def record_success(self, now: float, latency: float) -> None:
        """Count an answer that took `latency` seconds, and let limits grow."""
        self._latency += (latency - self._latency) * (0.05 if self._latency else 1.0)
        self._window.add(CallWindow.SUCCEEDED, now)
        self._succeeded += 1
        if self._succeeded >= self.concurrency:
            self._end_round()
        if self.rate.rate < inf:
            self._raise_rate(now)

    def record_error(self, now: float) -> None:
        """Count a server error: many of them stop growth, but cut nothing."""
        self._window.add(CallWindow.FAILED, now)

    def record_rate_limit(self, now: float, started_at: float, running: int) -> None:
        """Lower the rate after an HTTP 429, or cut both limits if many calls are rejected.

        Nothing happens for a call that belongs to an episode that has already led to a cut. `running` counts the others
        in flight.
        """
        if started_at <= self._cut_at or now < self._cut_at + COOLDOWN:
            return
        self._window.add(CallWindow.RATE_LIMITED, now)
        self._is_rate_rough = False
        if self._window.share(CallWindow.RATE_LIMITED) <= OVERLOAD_SHARE:
            self.rate.rate = max(MIN_RATE, self.rate.rate * RATE_DECREASE)
            return
        self.episodes += 1
        self.rate.rate = max(MIN_RATE, self._throughput(now, running))
        self.rate.next_at = max(self.rate.next_at, now)
        self.concurrency = max(1.0, self.concurrency * CUT_FACTOR, self._needed_concurrency())
        self._is_rate_rough = self._window.is_short(now)
        self._window.clear()
        self._cut_at = self._reviewed_at = now
        self._succeeded = self._peak = self._started = 0

    def _throughput(self, now: float, running: int) -> float:
        """Return the rate that got through, but at most a fifth below the known one: a moment in which this process
        stood still looks like a slow endpoint."""
        measured = (self._window.count(CallWindow.SUCCEEDED) + running) / self._window.duration(now)
        rate = self.rate.rate
        return measured if rate == inf else min(max(measured, rate * CUT_FACTOR), rate * MAX_NEW_RATE_SHARE)

    def _may_grow(self) -> bool:
        refused, failed = (self._window.share(result) for result in (CallWindow.RATE_LIMITED, CallWindow.FAILED))
        return refused <= GROWTH_SHARE and failed <= MAX_ERROR_SHARE

    def _needed_concurrency(self) -> float:
        """Return the number of calls at once that the rate needs, with room for slow answers."""
        return min(float(self.max_concurrency), 1.5 * self.rate.rate * self._latency)

    def _end_round(self) -> None:
        if self._peak >= UTILISATION_TO_GROW * self.concurrency and self._may_grow():
            step = max(1.0, self.concurrency / 20) if self.episodes else self.concurrency
            self.concurrency = min(float(self.max_concurrency), self.concurrency + step)
        self._succeeded = self._peak = 0

    def _raise_rate(self, now: float) -> None:
        """Raise a rate that is used; check once a second whether it is."""
        if now - self._reviewed_at >= COOLDOWN:
            is_used = self._started / (now - self._reviewed_at) >= UTILISATION_TO_GROW * self.rate.rate
            self._is_rate_used = is_used and self._may_grow()
            self._reviewed_at, self._started = now, 0
            if self._is_rate_used and self._is_rate_rough:
                self.rate.rate *= 2
        if self._is_rate_used:
            self.rate.rate *= RATE_INCREASE
        self.concurrency = max(self.concurrency, self._needed_concurrency())


MIN_BACKOFF = 0.1
"""Seconds without new calls after an HTTP 429, even if the endpoint asks for less."""
INITIAL_BACKOFF = 0.5
"""Seconds, when a 429 carries no Retry-After; doubled for each further one up to MAX_BACKOFF."""
MAX_BACKOFF = 30.0
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
        """The smallest is admitted first: the longest wait, with a small bonus for older games, so that all games
        progress."""
        return self.enqueued_at - GAME_AGE_WEIGHT * max(0.0, self.enqueued_at - self.game_started_at)


class CallLimits:
    """Tell when the next call to one model may start, by its declared rates, learned limits and pauses after HTTP
    429."""

    def __init__(self, limits: Limits) -> None:
        self.adaptive = AdaptiveLimiter(limits.at_once)
        self._requests = RateLimiter.per_minute(limits.requests_per_minute)
        self._tokens = RateLimiter.per_minute(limits.tokens_per_minute)
        self._hold_until = -inf
        self._rate_limits_in_a_row = 0

    def next_start(self, running: int) -> float:
        """Return the time from which the next call may start; infinite while the maximum number is running."""
        if running >= int(self.adaptive.concurrency):
            return inf
        rates = (self._requests, self._tokens, self.adaptive.rate)
        return max(self._hold_until, *(rate.next_at for rate in rates))

    def record_start(self, call: QueuedCall, now: float, running: int) -> None:
        """Count a call that starts; `running` includes it."""
        call.started_at = now
        self._requests.consume(now)
        self._tokens.consume(now, call.estimated_tokens)
        self.adaptive.record_start(now, running)

    def record_success(self, call: QueuedCall, now: float, tokens: int | None) -> None:
        """Count an answer that took `tokens` (None: the endpoint did not count them)."""
        self._rate_limits_in_a_row = 0
        self.adaptive.record_success(now, now - call.started_at)
        if tokens is not None:
            self._tokens.adjust(tokens - call.estimated_tokens)

    def record_rate_limit(self, call: QueuedCall, now: float, running: int, retry_after: float | None) -> None:
        """Hold new calls for `retry_after` seconds (None: a delay that grows exponentially); `running` includes the
        call that was refused."""
        if retry_after is None:
            retry_after = min(MAX_BACKOFF, INITIAL_BACKOFF * 2**self._rate_limits_in_a_row)
            # Calls that were in flight before the first 429 came back count as one event.
            self._rate_limits_in_a_row += now >= self._hold_until
            self._rate_limits_in_a_row = min(self._rate_limits_in_a_row, 16)
        self._hold_until = max(self._hold_until, now + max(MIN_BACKOFF, retry_after))
        self.adaptive.record_rate_limit(now, call.started_at, running - 1)
        self._tokens.adjust(-call.estimated_tokens)
        self._requests.disable_catch_up()
        self._tokens.disable_catch_up()
