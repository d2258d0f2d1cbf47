"""A cap on money and tokens that holds for what calls truly take, which no bound of theirs tells beforehand.

The sums of a run are written beside its games, never less than what is known, so that they survive a kill.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from functools import reduce
from math import isfinite
from pathlib import Path
from typing import NamedTuple

import msgspec

from negolab._internal.files import atomic_write
from negolab.llm.endpoint.errors import BudgetReached, RunFailed
from negolab.llm.endpoint.prices import PICO, dollars

FILE = "spent.json"


class BudgetState(msgspec.Struct, frozen=True):
    """The content of the file: what answers cost, rounded up; the most calls in flight; and the dearest call so far
    (before the first answer: what it was estimated at)."""

    pico: int = 0
    tokens: int = 0
    flying: int = 0
    dear_pico: int = 0
    dear_tokens: int = 0


class BudgetFile:
    """The file of one run.

    After a kill, each call in flight is assumed to have cost as much as the dearest one that was answered; a run that
    ends writes the true sums.
    """

    def __init__(self, folder: Path) -> None:
        self._file = folder / FILE
        self.state = BudgetState()
        if self._file.exists():
            try:
                self.state = msgspec.json.decode(self._file.read_bytes(), type=BudgetState)
            except (msgspec.DecodeError, RecursionError) as error:
                raise ValueError(f"{self._file}: does not say what was spent ({error}): move it away") from None

    def write(self, state: BudgetState) -> None:
        """Write durably; RunFailed if that is not possible, because then no cap could be kept."""
        try:
            atomic_write(self._file, msgspec.json.encode(state) + b"\n")
        except OSError as error:
            raise RunFailed(f"{self._file}: what is spent cannot be noted: {error.strerror}") from None
        self.state = state


CAP_STEPS = 100
"""Parts of a cap: spending is written ahead one part at a time."""
GROWTH_STEPS = 10
"""Without a cap, what is written ahead is this part of the sum."""
CALL_STEPS = 8
"""Calls written ahead are this part of those in flight."""


class Cost(NamedTuple):
    """Money in `PICO`ths of a dollar, and input and output tokens together."""

    pico: int = 0
    tokens: int = 0

    def plus(self, other: Cost) -> Cost:
        return Cost(self.pico + other.pico, self.tokens + other.tokens)

    def max_with(self, other: Cost) -> Cost:
        """Return the larger of each."""
        return Cost(max(self.pico, other.pico), max(self.tokens, other.tokens))

    def times(self, factor: int) -> Cost:
        return Cost(self.pico * factor, self.tokens * factor)

    def minus(self, other: Cost) -> Cost:
        return Cost(self.pico - other.pico, self.tokens - other.tokens)


def _with_interrupted_calls(prior: Cost, state: BudgetState) -> Cost:
    """Return the cost of earlier parts of the run, calls that were in flight at their end included."""
    lost = Cost(state.flying * state.dear_pico, state.flying * state.dear_tokens)
    return prior.max_with(Cost(state.pico, state.tokens)).plus(lost)


class Reservation:
    """A call's part of the budget, from before it is sent until `Budget.settle`.

    It may wait for room in another thread's event loop.
    """

    def __init__(self, model: str, cost: Cost, loop: asyncio.AbstractEventLoop) -> None:
        self.model = model
        self.cost = cost
        self.is_known = False
        """Answers of the model have shown what calls take; else this one goes alone."""
        self.granted: asyncio.Future[None] = loop.create_future()
        self.is_granted = False

    def wake(self, error: BudgetReached | None) -> None:
        """Grant the reservation, or fail it."""
        self.granted.get_loop().call_soon_threadsafe(self._resolve, error)

    def _resolve(self, error: BudgetReached | None) -> None:
        if not self.granted.done():
            self.granted.set_result(None) if error is None else self.granted.set_exception(error)


SAFETY = 2
"""A call reserves this multiple of the largest one of its model so far."""


class Budget:
    """Cap what all calls of a run may cost.

    Before each call twice the most that a call of its model has taken is reserved, after it the true cost is counted.
    A call for which those in flight leave no room waits for them, so that near the end calls go one at a time;
    `BudgetReached` when it would have no room even if they cost nothing. The first call of a model goes alone. So the
    cap is passed by at most one call, and only by one that takes more than twice any before it.

    Args:
        usd: The cap in US dollars (None: no cap in money).
        tokens: The cap in input and output tokens (None: no cap in tokens).
        prior_usd: US dollars of earlier parts of the run.
        prior_tokens: Tokens of earlier parts of the run.
        file: Where the sums are kept; what it holds was spent before.

    Raises:
        ValueError: Neither cap is given, or a number is below 0.
    """

    def __init__(
        self,
        *,
        usd: float | None = None,
        tokens: int | None = None,
        prior_usd: float = 0.0,
        prior_tokens: int = 0,
        file: BudgetFile | None = None,
    ) -> None:
        if usd is None and tokens is None:
            raise ValueError("a budget is in US dollars, in tokens, or both")
        for name, value in (("usd", usd), ("tokens", tokens), ("prior_usd", prior_usd), ("prior_tokens", prior_tokens)):
            if value is not None and (isinstance(value, bool) or not (isfinite(value) and value >= 0)):
                raise ValueError(f"{name} must be a number of at least 0, not {value!r}")
        self.usd = usd
        self.tokens = tokens
        # Rounded to the cap's own disadvantage.
        self._cap = (None if usd is None else int(usd * PICO), None if tokens is None else int(tokens))
        prior = Cost(-int(-prior_usd * PICO // 1), int(prior_tokens))
        self._spent = prior if file is None else _with_interrupted_calls(prior, file.state)
        self._file = file
        self._reserved, self._calls = Cost(), 0
        self._is_alone = False
        """The call in flight is the first of its model."""
        self._largest: dict[str, Cost] = {}
        self._waiting: deque[Reservation] = deque()
        self._lock = threading.Lock()

    @property
    def spent(self) -> float:
        """US dollars so far; lost answers as they were reserved, calls in flight at a kill as the dearest one."""
        return dollars(self._spent.pico)

    @property
    def spent_tokens(self) -> int:
        """Tokens so far; lost answers as they were reserved."""
        return self._spent.tokens

    async def reserve(self, model: str, first: Cost) -> Reservation:
        """Reserve a part for a call, and wait while calls in flight leave no room.

        Args:
            model: The model that is called; its calls may differ from those of other models.
            first: Estimate of the cost while no call of the model has been answered.

        Raises:
            BudgetReached: There is no room even without the calls in flight.
        """
        with self._lock:
            reservation = Reservation(model, first, asyncio.get_running_loop())
            if not self._waiting and self._try(reservation):
                return reservation
            self._waiting.append(reservation)
        try:
            await reservation.granted
        except asyncio.CancelledError:
            self._cancel(reservation)
            raise
        return reservation

    def settle(self, reservation: Reservation, cost: Cost | None) -> None:
        """Replace a reservation by the cost of its call (None: unknown), and grant what waits and fits."""
        with self._lock:
            self._reserved, self._calls = self._reserved.minus(reservation.cost), self._calls - 1
            self._is_alone = self._is_alone and reservation.is_known
            self._spent = self._spent.plus(reservation.cost if cost is None else cost)
            if cost is not None and cost != Cost():
                model = reservation.model
                self._largest[model] = self._largest.get(model, Cost()).max_with(cost)
            self._resolve_waiting()

    def _resolve_waiting(self) -> None:
        """Grant or fail what waits, as far as that is possible now."""
        while self._waiting:
            try:
                if not self._try(self._waiting[0]):
                    return
                self._waiting.popleft().wake(None)
            except BudgetReached as error:
                self._waiting.popleft().wake(error)

    def _try(self, reservation: Reservation) -> bool:
        """Hold a reservation if there is room now; BudgetReached if there never will be."""
        if (largest := self._largest.get(reservation.model)) is not None:
            reservation.cost, reservation.is_known = largest.times(SAFETY), True
        if not self._is_within_cap(self._spent.plus(reservation.cost)):
            raise BudgetReached(self._reached_message(reservation))
        if self._is_alone or (self._calls and not reservation.is_known):
            return False
        if not self._is_within_cap(self._spent.plus(self._reserved).plus(reservation.cost)):
            return False
        if self._file is not None:
            self._write_ahead(self._file, self._calls + 1, self._dearest or reservation.cost)
        self._reserved, self._calls = self._reserved.plus(reservation.cost), self._calls + 1
        self._is_alone = not reservation.is_known
        reservation.is_granted = True
        return True

    def _cancel(self, reservation: Reservation) -> None:
        if reservation.is_granted:
            self.settle(reservation, Cost())
            return
        with self._lock:
            if reservation in self._waiting:
                self._waiting.remove(reservation)
            self._resolve_waiting()

    def close(self) -> None:
        """Write the true sums; calls still in flight count as after a kill."""
        if self._file is not None:
            self._file.write(BudgetState(*self._spent, self._calls, *(self._dearest or Cost())))

    @property
    def _dearest(self) -> Cost | None:
        """The largest call of any model so far."""
        return reduce(Cost.max_with, self._largest.values()) if self._largest else None

    def _write_ahead(self, file: BudgetFile, calls: int, dearest: Cost) -> None:
        """Make the file cover the sums and the calls in flight, with some margin so that not every call writes it."""
        stored, spent = file.state, self._spent
        is_covered = spent.pico <= stored.pico and spent.tokens <= stored.tokens and calls <= stored.flying
        dear = Cost(stored.dear_pico, stored.dear_tokens)
        if not (is_covered and dearest.max_with(dear) == dear):
            dear_ahead = Cost(*(value + value // GROWTH_STEPS for value in dearest))
            spent_ahead = spent.plus(self._margin(spent))
            file.write(BudgetState(*spent_ahead, calls + calls // CALL_STEPS + 1, *dear_ahead))

    def _margin(self, spent: Cost) -> Cost:
        """Return what is written ahead: a part of the cap, or of the sum where there is no cap."""
        kinds = zip(self._cap, spent, strict=True)
        return Cost(*(total // GROWTH_STEPS if cap is None else cap // CAP_STEPS for cap, total in kinds))

    def _is_within_cap(self, cost: Cost) -> bool:
        return all(cap is None or value <= cap for cap, value in zip(self._cap, cost, strict=True))

    def _reached_message(self, reservation: Reservation) -> str:
        """Say what is spent, and what the next call is expected to take."""
        next_one, parts = reservation.cost, []
        if self.usd is not None:
            parts.append(
                f"${self.spent:.4f} of ${self.usd:.2f} are spent, the next call may cost ${dollars(next_one.pico):.4f}"
            )
        if self.tokens is not None:
            parts.append(
                f"{self.spent_tokens:,} of {self.tokens:,} tokens are used, the next call may take {next_one.tokens:,}"
            )
        if self._largest:
            return f"the budget is reached: {'; '.join(parts)}: raise it and run again"
        return f"the budget is too small to begin: {'; '.join(parts)}: raise it, or set a lower max_tokens"
