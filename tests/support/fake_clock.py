"""An event loop with a fake clock: minutes of rate limits and pauses are tested in milliseconds, exactly."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

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


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end on the fake clock."""
    with asyncio.Runner(loop_factory=FakeClockLoop) as runner:
        return runner.run(work)
