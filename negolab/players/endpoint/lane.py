"""The way to one model: who goes next, how many at once, and not before when."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Callable
from itertools import count
from math import inf

import msgspec

from negolab.players.endpoint.adaptive import Adaptive
from negolab.players.endpoint.failures import RunFailed
from negolab.players.endpoint.limits import Limits
from negolab.players.endpoint.outage import Outage
from negolab.players.endpoint.pace import Pace

FLOOR = 0.1
"""Seconds to wait at least after a refusal, however soon the endpoint wants to be asked again."""
UNSAID = 0.5
LONGEST_UNSAID = 30.0
"""Seconds to wait after refusals that do not say how long: doubled from the first to the longest."""
LEAST = 1e-4
"""Seconds that a clock is set for at least: one that rings a rounding error too early would ring for ever."""
AGE = 0.1
"""What a second of its game's age is worth to a call, in seconds of waiting."""


class Pass(msgspec.Struct, eq=False):
    """One call on its way: when it was asked for, when its game began, and the tokens it may take."""

    asked: float
    began: float
    tokens: int
    sent_at: float = 0.0

    @property
    def rank(self) -> float:
        """Smaller goes first: the call that waited longest, and of equals the older game's. A game's age weighs little,
        so that with many games at once each of them moves on."""
        return self.asked - AGE * max(0.0, self.asked - self.began)


class Lane:
    """Lets calls to one model pass. `enter` waits for a place, `leave` gives it back and says how the call went."""

    def __init__(self, limits: Limits, outage: Outage, clock: Callable[[], float]) -> None:
        self.running = 0
        self.adaptive = Adaptive(limits.at_once)
        self.not_before = -inf
        self.served = False
        """Whether it ever brought an answer: address, key and model are right."""
        self._outage = outage
        self._clock = clock
        self._requests = Pace.a_minute(limits.requests_per_minute)
        self._tokens = Pace.a_minute(limits.tokens_per_minute)
        self._waiting: list[tuple[float, int, asyncio.Future[None], Pass]] = []
        self._order = count()
        self._timer: asyncio.TimerHandle | None = None
        self._refusals = 0
        outage.changed.append(self._look)

    @property
    def waiting(self) -> int:
        """Calls that want to pass."""
        return sum(not turn.done() for _, _, turn, _ in self._waiting)

    # Passing.

    async def enter(self, going: Pass) -> None:
        """Wait for a place. `RunFailed` when patience with a silent endpoint is over."""
        now = self._clock()
        if not self._waiting and self._free(now):
            self._send(going, now)
            return
        if self._outage.lost:
            raise RunFailed(self._outage.lost)
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting, (going.rank, next(self._order), turn, going))
        self._look()
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled() and turn.exception() is None:
                self.leave(going)
            raise

    def _free(self, now: float) -> bool:
        return self.running < int(self.adaptive.limit) and now >= self._opens() and self._outage.admits(now)

    def _opens(self) -> float:
        """From when on the next call may go, as far as time goes."""
        return max(self.not_before, self._requests.opens, self._tokens.opens, self.adaptive.pace.opens)

    def _send(self, going: Pass, now: float) -> None:
        self.running += 1
        going.sent_at = now
        self._requests.take(now)
        self._tokens.take(now, going.tokens)
        self.adaptive.sent(now, self.running)
        self._outage.sent(going)

    # Leaving.

    def leave(self, going: Pass) -> None:
        """The place is free again. What came of the call is said before, by one of those below; if nothing is, it was
        taken back."""
        self._outage.gave_up(going)
        self.running -= 1
        self._look()

    def answered(self, going: Pass, tokens: int | None) -> None:
        """An answer came; `tokens` are what it took, if the endpoint said so."""
        now = self._clock()
        self.served = True
        self._refusals = 0
        self.adaptive.answered(now, now - going.sent_at)
        if tokens is not None:
            self._tokens.correct(tokens - going.tokens)
        self._outage.answered()

    def refused(self, going: Pass, wait: float | None) -> float:
        """Too many calls: nobody goes before `wait` seconds (None: it did not say) are over. The seconds in force."""
        now = self._clock()
        if wait is None:
            wait = min(LONGEST_UNSAID, UNSAID * 2**self._refusals)
            # Those that were sent before anybody knew are one refusal.
            self._refusals += now >= self.not_before
            self._refusals = min(self._refusals, 16)
        wait = max(FLOOR, wait)
        self.not_before = max(self.not_before, now + wait)
        self.adaptive.refused(now, going.sent_at, self.running - 1)
        self._tokens.correct(-going.tokens)
        self._requests.strict()
        self._tokens.strict()
        self._outage.answered()
        return wait

    def broken(self) -> None:
        """Something came back, but no answer."""
        self.adaptive.broken(self._clock())
        self._outage.answered()

    def heard(self) -> None:
        """The endpoint refused one call for good; that says nothing about how many it takes."""
        self._outage.answered()

    def silent(self, going: Pass, why: str) -> None:
        """The endpoint cannot be reached, or nothing at all came back from it."""
        self._outage.silent(going, why)

    def heard_since(self, going: Pass) -> bool:
        """Whether the endpoint has said anything to anybody since this call was sent."""
        return self._outage.heard_at > going.sent_at

    def seconds(self, limit: float) -> float:
        """The time that a call may take now."""
        left = self._outage.left()
        return limit if left is None else min(limit, left)

    # Looking who may go.

    def _look(self) -> None:
        """Let go who may; set the clock for the next one."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        waiting = self._waiting
        while waiting:
            if waiting[0][2].done():
                heapq.heappop(waiting)
            elif self._outage.lost:
                heapq.heappop(waiting)[2].set_exception(RunFailed(self._outage.lost))
            elif self._free(now := self._clock()):
                _, _, turn, going = heapq.heappop(waiting)
                self._send(going, now)
                turn.set_result(None)
            else:
                self._set_clock(now)
                return

    def _set_clock(self, now: float) -> None:
        if self.running >= int(self.adaptive.limit):
            return
        opens = self._opens()
        if self._outage.down:
            opens = max(opens, self._outage.next_try)
        if opens > now:
            self._timer = asyncio.get_running_loop().call_later(max(LEAST, opens - now), self._look)
