"""The time by which the host of a study goes: this machine's (see `_internal.clock`), unless a trial sets it."""

from __future__ import annotations

import time as machine
from collections.abc import Iterator
from contextlib import contextmanager

from negolab._internal import clock

FIRST = 1000.0
"""First reading of a manual clock: long after 0, which stands for never."""


class ManualClock:
    """A clock that stands still until it is advanced."""

    def __init__(self) -> None:
        self.began = clock.time()
        self.passed = 0.0
        """Seconds since it was made."""

    def advance(self, seconds: float) -> None:
        """Let seconds pass."""
        self.passed += seconds


_manual: ManualClock | None = None


def time() -> float:
    """Return the time in seconds since 1970."""
    return clock.time() if _manual is None else _manual.began + _manual.passed


def wall_time() -> float:
    """Return what this machine's clock says now, which may be earlier than `time` if it was ahead once."""
    return machine.time() if _manual is None else time()


def monotonic() -> float:
    """Return the seconds since an arbitrary moment."""
    return machine.monotonic() if _manual is None else FIRST + _manual.passed


@contextmanager
def manual_clock() -> Iterator[ManualClock]:
    """Make the host in this process go by a manual clock until the block ends."""
    global _manual
    _manual = ManualClock()
    try:
        yield _manual
    finally:
        _manual = None
