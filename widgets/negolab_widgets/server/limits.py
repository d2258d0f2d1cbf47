"""Limits of what an address or a visitor may use: token buckets, budgets in bytes, a quota per address."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection
from contextlib import ExitStack
from dataclasses import dataclass, field
from weakref import WeakValueDictionary


class TokenBuckets:
    """Token buckets per key, forgetting the least recently seen: a flood from many addresses fills no memory.

    Args:
        rate: Tokens a second.
        burst: Tokens at once.
        most: Keys.
        clock: Returns the time in seconds.
    """

    def __init__(
        self, rate: float, burst: float, most: int = 10_000, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._rate, self._burst, self._most, self._clock = rate, burst, most, clock
        self._left: dict[str, tuple[float, float]] = {}

    def take(self, key: str, tokens: float = 1, patience: float = 0.0) -> float:
        """Take tokens, of those to come too, and return the seconds until they are there; take none if that is longer
        than `patience`."""
        now = self._clock()
        left = self._refill(key, now)
        wait = max(0.0, (tokens - left) / self._rate)
        self._store(key, left - tokens if wait <= patience else left, now)
        return wait

    def give_back(self, key: str) -> None:
        """Return a token that was taken for something that turned out well."""
        now = self._clock()
        self._store(key, min(self._burst, self._refill(key, now) + 1), now)

    def _refill(self, key: str, now: float) -> float:
        left, then = self._left.pop(key, (self._burst, now))
        return min(self._burst, left + (now - then) * self._rate)

    def _store(self, key: str, left: float, now: float) -> None:
        self._left[key] = (left, now)
        if len(self._left) > self._most:
            del self._left[next(iter(self._left))]


AT_ONCE = 4
"""Requests of one visitor, or of one address without a good cookie, that are worked on at the same time."""


TURN_SECONDS = 2.0
"""Seconds after which the next request's turn comes although the answer, such as a file, is still being read."""


class Turns:
    """Work on a few requests of each key at a time, so that a crowd of connections delays nobody else's next answer.

    Others wait in the order in which they came. A key whose last request is over takes no memory.
    """

    def __init__(self, at_once: int = AT_ONCE, seconds: float = TURN_SECONDS) -> None:
        self._at_once, self._seconds = at_once, seconds
        self._turns: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()

    async def take(self, key: str) -> ExitStack:
        """Wait for a turn, which ends when it is closed, or by itself after some seconds."""
        semaphore, turn = self._turns.setdefault(key, asyncio.Semaphore(self._at_once)), ExitStack()
        await semaphore.acquire()
        turn.callback(semaphore.release)
        turn.callback(asyncio.get_running_loop().call_later(self._seconds, turn.close).cancel)
        return turn


KIB, MIB = 1 << 10, 1 << 20
FRAME_COST = KIB
"""Bytes that a frame counts besides its own: its way through the gate and the kernel."""
STATES_COST = 128 * KIB
"""Bytes that a request for the state of all widgets counts besides its own: a kernel answers it with all it has."""
SOCKET_COST = 32 * KIB
"""Bytes that a new websocket counts."""


@dataclass(frozen=True)
class Traffic:
    """Budgets per visitor, over all its websockets and kernels, in bytes: what comes from a page, and what goes to it.

    A page of ours opens with some 200 KiB coming and 1 MiB going, and then sends a few KiB for each reply.
    """

    incoming: TokenBuckets = field(default_factory=lambda: TokenBuckets(rate=64 * KIB, burst=2 * MIB))
    outgoing: TokenBuckets = field(default_factory=lambda: TokenBuckets(rate=MIB, burst=16 * MIB))

    @classmethod
    def wide(cls) -> Traffic:
        """Return budgets for the researcher, who looks at everything on the same machine."""
        return cls(TokenBuckets(rate=64 * MIB, burst=64 * MIB), TokenBuckets(rate=512 * MIB, burst=2048 * MIB))


class AddressQuota:
    """Limit how many visitors of the open link have a place at the same time from one address."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._from: dict[str, str] = {}

    def full(self, visitor: str, address: str, places: Collection[str]) -> bool:
        """Return True if the visitor must wait until another one from there is gone; `places`: who has a place now."""
        self._from = {who: where for who, where in self._from.items() if who in places}
        if visitor in places:
            return False
        if sum(where == address for where in self._from.values()) >= self._most:
            return True
        self._from[visitor] = address
        return False
