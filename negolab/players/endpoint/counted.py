"""Time that counts: a game with a time limit does not use it up in line for an endpoint."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol


class Stoppable(Protocol):
    """A game's clock. What stops it may overlap: it goes on when each of them said so."""

    def stop(self) -> None: ...
    def go(self) -> None: ...


CLOCK: ContextVar[Stoppable | None] = ContextVar("clock", default=None)
"""The clock of the game for which something is asked; None where time is not limited."""


@contextmanager
def uncounted() -> Iterator[None]:
    """Let what happens inside take no time of the game."""
    clock = CLOCK.get()
    if clock is None:
        yield
        return
    clock.stop()
    try:
        yield
    finally:
        clock.go()
