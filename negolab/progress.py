"""How far a run is: its games counted by how they ended, and what is known of its models."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import Any, Literal

import msgspec

from negolab.players.endpoint.failures import RunFailed
from negolab.players.endpoint.models import Models
from negolab.players.player import Places

ALIKE = 10
"""Games that may fail in a row for one reason; then the run stops, because the next thousand would fail as well."""

Stopped = Literal["failed", "timed out"]
"""Why a game has no end of its own; stands in `notes["stopped"]` of its record."""
Phase = Literal["playing", "paused", "stopping", "stopped", "done"]


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """How far a run is. `finished`, `failed` and `timed_out` count all games of the plan, `new` of them those
    played since the run was started this time, in `seconds`. `playing`: games that have begun.

    `message`: what was last told of an endpoint; `failure`: why no game can go on. Of models (else None): `calls` that
    are being answered, calls `waiting` to be sent, US dollars (None: not every price is known).
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
        """Games that will not be played again by themselves."""
        return self.finished + self.failed + self.timed_out

    @property
    def rate(self) -> float:
        """Games a second, of this time."""
        return self.new / self.seconds if self.seconds else 0.0


class Count:
    """Games by how they were stopped (None: they were not); `playing` have begun, `new` were added here."""

    def __init__(self, there: Iterable[str | None]) -> None:
        self._by = Counter(there)
        self.new = self.playing = 0
        self._last, self._row = "", 0

    def add(self, stopped: Stopped | None, reason: str) -> None:
        """One more game is over; `RunFailed` if too many went wrong in a row in the same way."""
        self._by[stopped] += 1
        self.new += 1
        # Numbers in a reason, such as how long a chat was, make it no other reason.
        alike = "" if stopped is None else re.sub(r"\d+", "0", f"{stopped}: {reason}")
        self._row = self._row + 1 if alike == self._last else 1
        self._last = alike
        if stopped is not None and self._row == ALIKE:
            raise RunFailed(f"{ALIKE} games in a row {stopped}, so the run was stopped: {reason}")

    def numbers(self) -> dict[str, int]:
        """As fields of `Progress`."""
        ended = {"finished": self._by[None], "failed": self._by["failed"], "timed_out": self._by["timed out"]}
        return {**ended, "new": self.new, "playing": self.playing}


def of_models(models: Models | Places | None) -> dict[str, Any]:
    """What is known of a run's models, as fields of `Progress`."""
    if not isinstance(models, Models):
        return {}
    budget, traffic, spent = models.budget, models.traffic, models.spent
    limit = None if budget is None else budget.usd
    # A budget in money knows all prices.
    known = None if spent.unpriced else spent.cost
    usd = known if budget is None or limit is None else budget.spent
    return {"calls": traffic.calls, "waiting": traffic.waiting, "usd": usd, "usd_limit": limit}


def silent(models: Models | Places | None) -> bool:
    """Whether an endpoint does not answer at all."""
    return isinstance(models, Models) and models.traffic.silent
