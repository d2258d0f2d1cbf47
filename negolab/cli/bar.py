"""A run's progress as one line of a terminal."""

from __future__ import annotations

import asyncio
import sys
from types import TracebackType
from typing import Self

from tqdm import tqdm

from negolab.progress import Progress
from negolab.run import Run

_PACE = 0.5
"""Seconds between two looks at calls and costs."""


class Bar:
    """Games, games a second, calls, money; what the run has to say stands above it. Made in the run's event loop."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._said = ""
        before = run.progress.over
        self._bar = tqdm(
            total=run.plan.n, initial=before, unit="game", file=sys.stderr, mininterval=_PACE, disable=None
        )
        self._looking: asyncio.Task[None] | None = None
        run.watch(self._watch)

    def say(self, line: str) -> None:
        """A line of its own, also where there is no bar."""
        tqdm.write(f"negolab: {line}", file=sys.stderr)

    def _watch(self, now: Progress) -> None:
        self._bar.update(now.over - self._bar.n)
        if now.message and now.message != self._said:
            self.say(now.message)
        self._said = now.message

    async def _look(self) -> None:
        while True:
            self._bar.set_postfix_str(postfix(self._run.progress), refresh=False)
            await asyncio.sleep(_PACE)

    def __enter__(self) -> Self:
        self._looking = asyncio.ensure_future(self._look())
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        if self._looking is not None:
            self._looking.cancel()
        self._bar.set_postfix_str(postfix(self._run.progress))
        self._bar.close()


def postfix(now: Progress) -> str:
    """Calls, money, and what went wrong, in a few words."""
    parts = []
    if now.calls is not None:
        parts.append(f"{now.calls} calls" + (f", {now.waiting} waiting" if now.waiting else ""))
    if now.usd is not None:
        parts.append(f"${now.usd:.2f}" + (f" of {now.usd_limit:.2f}" if now.usd_limit is not None else ""))
    elif now.calls is not None:
        parts.append("cost unknown")
    if now.failed or now.timed_out:
        parts.append(f"{now.failed + now.timed_out} failed")
    return ", ".join(parts)
