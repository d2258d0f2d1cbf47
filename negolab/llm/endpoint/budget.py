"""A cap on money and tokens that holds whatever the calls in flight may still cost.

The sums of a run are written beside its games, never less than what is known, so that they survive a kill.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
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
    (before the first answer: its worst case)."""

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
            except msgspec.DecodeError as error:
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

    def minus(self, other: Cost) -> Cost:
        return Cost(self.pico - other.pico, self.tokens - other.tokens)


def _with_interrupted_calls(prior: Cost, state: BudgetState) -> Cost:
    """Return the cost of earlier parts of the run, calls that were in flight at their end included."""
    lost = Cost(state.flying * state.dear_pico, state.flying * state.dear_tokens)
    return prior.max_with(Cost(state.pico, state.tokens)).plus(lost)


class _Reservation:
    """A call that waits for room in the budget, possibly in another thread's event loop."""

    def __init__(self, worst: Cost, granted: asyncio.Future[None]) -> None:
        self.worst = worst
        self.granted = granted
        self.is_granted = False

    def wake(self, error: BudgetReached | None) -> None:
        """Grant the reservation, or fail it."""
        self.granted.get_loop().call_soon_threadsafe(self._resolve, error)

    def _resolve(self, error: BudgetReached | None) -> None:
        if self.granted.done():
            return
        if error is None:
            self.granted.set_result(None)
        else:
            self.granted.set_exception(error)


class Budget:
    """Cap what all calls of a run may cost.

    Before each call its worst case is reserved, after it the true cost is counted. A call for which the worst cases in
    flight leave no room waits for them; `BudgetReached` when it would have no room even if they cost nothing.

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
        self._dearest: Cost | None = None
        self._waiting: deque[_Reservation] = deque()
        self._lock = threading.Lock()

    @property
    def spent(self) -> float:
        """US dollars so far; lost answers at their worst case, calls in flight at a kill as the dearest one."""
        return dollars(self._spent.pico)

    @property
    def spent_tokens(self) -> int:
        """Tokens so far; lost answers at their worst case."""
        return self._spent.tokens

    async def reserve(self, worst: Cost) -> None:
        """Reserve the worst case of a call until `settle`; wait while calls in flight leave no room.

        Raises:
            BudgetReached: There is no room even without the calls in flight.
        """
        with self._lock:
            self._check_room(worst)
            if not self._waiting and self._fits(worst):
                self._hold(worst)
                return
            reservation = _Reservation(worst, asyncio.get_running_loop().create_future())
            self._waiting.append(reservation)
        try:
            await reservation.granted
        except asyncio.CancelledError:
            self._cancel(reservation)
            raise

    def settle(self, worst: Cost, cost: Cost) -> None:
        """Replace the reservation `worst` of a call by its cost, and grant what waits and fits."""
        with self._lock:
            self._reserved, self._calls = self._reserved.minus(worst), self._calls - 1
            self._spent = self._spent.plus(cost)
            # A cost equal to the worst case is an assumption, not a measurement.
            if cost != worst and cost != Cost():
                self._dearest = cost if self._dearest is None else self._dearest.max_with(cost)
            while self._waiting and self._resolve(self._waiting[0]):
                self._waiting.popleft()

    def _resolve(self, reservation: _Reservation) -> bool:
        """Grant or fail a reservation if that is possible now; False: it goes on waiting."""
        try:
            self._check_room(reservation.worst)
        except BudgetReached as error:
            reservation.wake(error)
            return True
        if not self._fits(reservation.worst):
            return False
        self._hold(reservation.worst)
        reservation.is_granted = True
        reservation.wake(None)
        return True

    def _cancel(self, reservation: _Reservation) -> None:
        if reservation.is_granted:
            self.settle(reservation.worst, Cost())
            return
        with self._lock:
            if reservation in self._waiting:
                self._waiting.remove(reservation)
            while self._waiting and self._resolve(self._waiting[0]):
                self._waiting.popleft()

    def close(self) -> None:
        """Write the true sums; calls still in flight count as after a kill."""
        if self._file is not None:
            self._file.write(BudgetState(*self._spent, self._calls, *(self._dearest or Cost())))

    def _hold(self, worst: Cost) -> None:
        if self._file is not None:
            self._write_ahead(self._file, self._calls + 1, self._dearest or worst)
        self._reserved, self._calls = self._reserved.plus(worst), self._calls + 1

    def _write_ahead(self, file: BudgetFile, calls: int, dearest: Cost) -> None:
        """Make the file cover the sums and the calls in flight, with some margin so that not every call writes it."""
        stored, spent = file.state, self._spent
        is_covered = spent.pico <= stored.pico and spent.tokens <= stored.tokens and calls <= stored.flying
        dear = Cost(stored.dear_pico, stored.dear_tokens)
        if not (is_covered and dearest.max_with(dear) == dear and not self._is_overestimate(dear)):
            dear_ahead = Cost(*(value + value // GROWTH_STEPS for value in dearest))
            spent_ahead = spent.plus(self._margin(spent))
            file.write(BudgetState(*spent_ahead, calls + calls // CALL_STEPS + 1, *dear_ahead))

    def _is_overestimate(self, dear: Cost) -> bool:
        """Return True if the file holds a worst case although answers have shown what calls really cost."""
        return self._dearest is not None and any(d > 2 * now + 2 for d, now in zip(dear, self._dearest, strict=True))

    def _margin(self, spent: Cost) -> Cost:
        """Return what is written ahead: a part of the cap, or of the sum where there is no cap."""
        kinds = zip(self._cap, spent, strict=True)
        return Cost(*(total // GROWTH_STEPS if cap is None else cap // CAP_STEPS for cap, total in kinds))

    def _fits(self, worst: Cost) -> bool:
        return self._is_within_cap(self._spent.plus(self._reserved).plus(worst))

    def _check_room(self, worst: Cost) -> None:
        if not self._is_within_cap(self._spent.plus(worst)):
            raise BudgetReached(self._reached_message(worst))

    def _is_within_cap(self, cost: Cost) -> bool:
        return all(cap is None or value <= cap for cap, value in zip(self._cap, cost, strict=True))

    def _reached_message(self, worst: Cost) -> str:
        parts = []
        if self.usd is not None:
            next_one = dollars(worst.pico)
            parts.append(f"${self.spent:.4f} of ${self.usd:.2f} are spent, the next call could cost ${next_one:.4f}")
        if self.tokens is not None:
            parts.append(
                f"{self.spent_tokens:,} of {self.tokens:,} tokens are used, the next could take {worst.tokens:,}"
            )
        return f"the budget is reached: {'; '.join(parts)}: raise it and run again"
