"""Progress of a run: games counted by how they ended, and the traffic and cost of its models."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import Any, Literal

import msgspec

from negolab.llm.endpoint.call import EndpointProvider
from negolab.llm.endpoint.errors import RunFailed
from negolab.llm.models import Models

MAX_SAME_FAILURES = 10
"""Number of games in a row that may fail for the same reason before the run stops."""

StopReason = Literal["failed", "timed out"]
"""Reason why a game was aborted, kept in `notes["stopped"]` of its record."""
Phase = Literal["playing", "paused", "stopping", "stopped", "done"]


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """Progress of a run.

    Attributes:
        games: Games of the plan.
        finished, failed, timed_out: Games that are over, by how they ended.
        new: Games that ended since the run was last started.
        playing: Games that have begun.
        seconds: Duration since the run was last started.
        message: The latest notification about an endpoint.
        failure: Reason why no game can continue.
        calls, waiting: Calls in flight, and calls waiting for admission (None: no models).
        usd: US dollars so far (None: no models, or a price is unknown).
        usd_limit: The budget in US dollars.
    """

    games: int
    finished: int
    failed: int
    timed_out: int
    new: int
    playing: int
    seconds: float
    phase: Phase
    message: str = ""
    failure: str | None = None
    calls: int | None = None
    waiting: int | None = None
    usd: float | None = None
    usd_limit: float | None = None

    @property
    def over(self) -> int:
        """Games that are over."""
        return self.finished + self.failed + self.timed_out

    @property
    def rate(self) -> float:
        """Games per second since the run was last started."""
        return self.new / self.seconds if self.seconds else 0.0


class MatchCounter:
    """Count games by stop reason (None: finished), and stop a run whose games all fail in the same way."""

    def __init__(self, stopped: Iterable[str | None]) -> None:
        self._by_reason = Counter(stopped)
        self.new = 0
        self._last, self._row = "", 0

    def add(self, stopped: StopReason | None, reason: str) -> None:
        """Count a game that is over; raise RunFailed after MAX_SAME_FAILURES in a row."""
        self._by_reason[stopped] += 1
        self.new += 1
        # Reasons that differ only in numbers, such as the length of a chat, count as one.
        reason_key = "" if stopped is None else re.sub(r"\d+", "0", f"{stopped}: {reason}")
        self._row = self._row + 1 if reason_key == self._last else 1
        self._last = reason_key
        if stopped is not None and self._row == MAX_SAME_FAILURES:
            raise RunFailed(f"{MAX_SAME_FAILURES} matches in a row {stopped}, so the run was stopped: {reason}")

    def numbers(self) -> dict[str, int]:
        """Return the counts as fields of `Progress`."""
        count = self._by_reason
        ended = {"finished": count[None], "failed": count["failed"], "timed_out": count["timed out"]}
        return {**ended, "new": self.new}


def model_progress(models: Models | EndpointProvider | None) -> dict[str, Any]:
    """Return traffic and cost of a run's models as fields of `Progress`."""
    if not isinstance(models, Models):
        return {}
    budget, traffic, usage = models.policy.budget, models.traffic, models.usage
    # With a budget in dollars, all prices are known.
    known = usage.usd if budget.usd is None else budget.spent.usd
    usd = None if usage.unpriced and budget.usd is None else known
    return {"calls": traffic.calls, "waiting": traffic.waiting, "usd": usd, "usd_limit": budget.usd}


def is_waited_for(models: Models | EndpointProvider | None) -> bool:
    """Return True if the run is waiting for an endpoint of these models that is not answering."""
    return isinstance(models, Models) and models.traffic.is_waited_for
