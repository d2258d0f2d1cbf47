"""How often an address or a visitor may ask for something."""

from __future__ import annotations

import time
from collections.abc import Callable


class Buckets:
    """A bucket of tokens per key: `burst` at once, after that `rate` a second. The keys not seen longest are forgotten,
    so that a flood from many addresses fills no memory."""

    def __init__(
        self, rate: float, burst: float, most: int = 10_000, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._rate, self._burst, self._most, self._clock = rate, burst, most, clock
        self._left: dict[str, tuple[float, float]] = {}

    def take(self, key: str) -> float:
        """Take one token: 0, or the seconds until there will be one (then none is taken)."""
        now = self._clock()
        left = self._now(key, now)
        wait = max(0.0, (1 - left) / self._rate)
        self._keep(key, left if wait else left - 1, now)
        return wait

    def give_back(self, key: str) -> None:
        """Return a token that was taken for something that turned out well."""
        now = self._clock()
        self._keep(key, min(self._burst, self._now(key, now) + 1), now)

    def __len__(self) -> int:
        return len(self._left)

    def _now(self, key: str, now: float) -> float:
        left, then = self._left.pop(key, (self._burst, now))
        return min(self._burst, left + (now - then) * self._rate)

    def _keep(self, key: str, left: float, now: float) -> None:
        self._left[key] = (left, now)
        if len(self._left) > self._most:
            del self._left[next(iter(self._left))]
