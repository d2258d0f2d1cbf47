"""An event loop whose time passes only by waiting: minutes of limits and pauses are tested in milliseconds, exactly."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class _Skipping(selectors.DefaultSelector):  # type: ignore[misc, valid-type]
    """Where the loop would sleep, its clock is put forward instead."""

    clock: Clockwork

    def select(self, timeout: float | None = None) -> Any:
        ready = super().select(0)
        if not ready and timeout is None:
            raise RuntimeError("nothing will ever happen any more: a call waits for ever")
        if not ready and timeout:
            self.clock.now += timeout
        return ready


class Clockwork(asyncio.SelectorEventLoop):
    """A loop that starts at a round time and skips all waiting."""

    def __init__(self) -> None:
        self.now = 1000.0
        selector = _Skipping()
        selector.clock = self
        super().__init__(selector)

    def time(self) -> float:
        return self.now


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end in skipped time."""
    with asyncio.Runner(loop_factory=Clockwork) as runner:
        return runner.run(work)
