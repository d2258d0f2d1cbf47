"""Event loops with clocks of their own: one skips all waiting, so that minutes of rate limits and pauses are tested in
milliseconds, exactly; one is fast, so that a server is out of order for a fraction of the time."""

from __future__ import annotations

import asyncio
import selectors
import time
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from typing_extensions import override

T = TypeVar("T")


class _SkippingSelector(selectors.DefaultSelector):  # type: ignore[misc, valid-type]
    """Advance the loop's clock instead of sleeping."""

    clock: FakeClockLoop

    def select(self, timeout: float | None = None) -> Any:
        ready = super().select(0)
        if not ready and timeout is None:
            raise RuntimeError("deadlock: nothing is scheduled and a call waits for ever")
        if not ready and timeout:
            self.clock.now += timeout
        return ready


class FakeClockLoop(asyncio.SelectorEventLoop):
    """A loop whose clock starts at 1000 s and skips all waiting."""

    def __init__(self) -> None:
        self.now = 1000.0
        selector = _SkippingSelector()
        selector.clock = self
        super().__init__(selector)

    def time(self) -> float:
        return self.now


class FastClockLoop(asyncio.SelectorEventLoop):
    """A loop whose clock goes `speed` times as fast as that of the servers it talks to."""

    def __init__(self, speed: float) -> None:
        self._speed, self._start = speed, time.monotonic()
        selector = _FastSelector()
        selector.speed = speed
        super().__init__(selector)

    @override
    def time(self) -> float:
        return self._start + self._speed * (time.monotonic() - self._start)


class _FastSelector(selectors.DefaultSelector):  # type: ignore[misc, valid-type]
    """Wait for a fraction of the time."""

    speed: float

    def select(self, timeout: float | None = None) -> Any:
        return super().select(timeout and timeout / self.speed)


@contextmanager
def fast_clock(speed: float) -> Iterator[None]:
    """Give `asyncio.run` a loop with a fast clock until the block ends."""

    class Policy(asyncio.DefaultEventLoopPolicy):
        @override
        def new_event_loop(self) -> asyncio.AbstractEventLoop:
            return FastClockLoop(speed)

    before = asyncio.get_event_loop_policy()
    asyncio.set_event_loop_policy(Policy())
    try:
        yield
    finally:
        asyncio.set_event_loop_policy(before)


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end on the fake clock."""
    with asyncio.Runner(loop_factory=FakeClockLoop) as runner:
        return runner.run(work)
