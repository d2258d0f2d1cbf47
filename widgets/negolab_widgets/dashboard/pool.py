"""Kernels that have already run a page's cells, so that no visitor waits for one to start."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable
from typing import NamedTuple

LONGEST_PAUSE = 30.0
"""Seconds between tries, at most, when kernels do not start."""


class Warm(NamedTuple):
    """A kernel and the page that it rendered."""

    kernel: str
    html: str


class Pool:
    """Keeps `size` warm kernels, started at most `at_once` at a time: a few soon rather than all of them late."""

    def __init__(
        self,
        heat: Callable[[], Awaitable[Warm]],
        alive: Callable[[str], Awaitable[bool]],
        failed: Callable[[Exception], None],
        size: int,
        at_once: int = 2,
    ) -> None:
        self._heat, self._alive, self._failed, self._size, self._at_once = heat, alive, failed, size, at_once
        self._warm: deque[Warm] = deque()
        self._heating: set[asyncio.Task[None]] = set()
        self._failures = 0
        self._again = 0.0
        self._closed = False

    def __len__(self) -> int:
        return len(self._warm)

    def take(self) -> Warm | None:
        """The kernel that has been warm longest; its successor is started."""
        warm = self._warm.popleft() if self._warm else None
        self.fill()
        return warm

    def fill(self) -> None:
        """Start what is missing; after a failure only when some time has passed."""
        while not self._closed and time.monotonic() >= self._again:
            if len(self._heating) >= self._at_once or len(self._warm) + len(self._heating) >= self._size:
                return
            task = asyncio.ensure_future(self._add())
            self._heating.add(task)
            task.add_done_callback(self._heated)

    async def tidy(self) -> None:
        """Drop kernels that died while they waited, and fill up."""
        for warm in list(self._warm):
            if not await self._alive(warm.kernel) and warm in self._warm:
                self._warm.remove(warm)
        self.fill()

    def close(self) -> None:
        """Start no more."""
        self._closed = True
        for task in self._heating:
            task.cancel()

    async def _add(self) -> None:
        try:
            warm = await self._heat()
        except Exception as error:
            self._failures += 1
            self._again = time.monotonic() + min(LONGEST_PAUSE, 2.0**self._failures)
            self._failed(error)
            return
        self._failures = 0
        self._warm.append(warm)

    def _heated(self, task: asyncio.Task[None]) -> None:
        self._heating.discard(task)
        self.fill()
