"""A cap on money and tokens that applies to what calls actually take, which none of their bounds tells in advance."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from math import isfinite

from negolab.ledger import NOTHING, PICO, Cost, Ledger
from negolab.llm.endpoint.errors import BudgetReached, RunFailed


class Reservation:
    """A call's part of the budget, from before it is sent until `Budget.settle`.

    It may wait for room in another thread's event loop.
    """

    def __init__(self, model: str, cost: Cost, of: tuple[str | int, ...]) -> None:
        self.model, self.cost, self.of = model, cost, of
        self.is_known = False
        """True if answers of the model have shown what calls take; otherwise, this call goes alone."""
        self.granted: asyncio.Future[None] | None = None
        """Set while it waits."""
        self.call: int | None = None
        """Its number in the ledger, once it is granted."""

    def wake(self, error: RunFailed | None) -> None:
        """Grant the reservation, or fail it."""
        if self.granted is not None:
            self.granted.get_loop().call_soon_threadsafe(_resolve, self.granted, error)


def _resolve(granted: asyncio.Future[None], error: RunFailed | None) -> None:
    if not granted.done():
        granted.set_result(None) if error is None else granted.set_exception(error)


SAFETY = 2
"""A call reserves this multiple of the largest call to its model so far."""


class Budget:
    """Keep the accounts of all calls in a run, and cap what they may cost.

    Before each call, twice the most that a call to its model has taken is reserved; after it, the actual cost is
    counted. If the calls in flight leave no room for a call, it waits for them, so that near the end calls go one at a
    time; if it would have no room even if they cost nothing, it raises `BudgetReached`. The first call to a model goes
    alone. So at most one call exceeds the cap, and only if it takes more than twice as much as any before it.

    Args:
        usd: The cap in US dollars (None: no cap on money).
        tokens: The cap in input and output tokens (None: no cap on tokens).
        ledger: The accounts, including what earlier parts of the run have spent (None: new ones, in memory).

    Raises:
        ValueError: A cap is negative or not a number.
    """

    def __init__(self, *, usd: float | None = None, tokens: int | None = None, ledger: Ledger | None = None) -> None:
        for name, value in (("usd", usd), ("tokens", tokens)):
            if value is not None and (isinstance(value, bool) or not (isfinite(value) and value >= 0)):
                raise ValueError(f"{name} must be a number of at least 0, not {value!r}")
        self.usd = usd
        self.tokens = tokens
        self.ledger = ledger or Ledger()
        self.is_capped = usd is not None or tokens is not None
        # Rounded down, so that rounding never raises a cap.
        self._cap = (None if usd is None else int(usd * PICO), None if tokens is None else int(tokens))
        self._reserved, self._calls = NOTHING, 0
        self._is_alone = False
        self._waiting: deque[Reservation] = deque()
        self._lock = threading.RLock()

    @property
    def spent(self) -> Cost:
        """Spending so far; a call of unknown usage is charged like the most expensive call to its model."""
        return self.ledger.total.plus(self.ledger.presumed)

    async def reserve(self, model: str, first: Cost, of: tuple[str | int, ...] = ()) -> Reservation:
        """Reserve part of the budget for a call, waiting while calls in flight leave no room.

        Args:
            model: The model to call; its calls may cost more or less than those to other models.
            first: Estimated cost, used until a call to the model has been answered.
            of: Match, seat, turn and attempt, for the ledger.

        Raises:
            BudgetReached: There is no room even without the calls in flight.
        """
        with self._lock:
            reservation = Reservation(model, first, of)
            if not self._waiting and self._try(reservation):
                return reservation
            granted = reservation.granted = asyncio.get_running_loop().create_future()
            self._waiting.append(reservation)
        try:
            await granted
        except asyncio.CancelledError:
            self._cancel(reservation)
            raise
        return reservation

    def settle(self, reservation: Reservation, took: Cost | None, finish: str = "") -> None:
        """Replace a reservation with what its call took (None: unknown), and grant waiting ones that now fit."""
        with self._lock:
            if self.is_capped:
                self._reserved, self._calls = self._reserved.plus(reservation.cost.times(-1)), self._calls - 1
                self._is_alone = self._is_alone and reservation.is_known
            assert reservation.call is not None
            try:
                self.ledger.end(reservation.call, took, finish)
            except OSError as error:
                raise _unwritable(error) from None
            finally:
                self._resolve_waiting()

    def has_room(self, cost: Cost) -> bool:
        """Return True if `cost` would fit in what is left."""
        total = self.spent.plus(cost)
        return all(
            cap is None or value <= cap for cap, value in zip(self._cap, (total.pico, total.tokens), strict=True)
        )

    def _resolve_waiting(self) -> None:
        """Grant or fail waiting reservations, as far as that is possible now."""
        while self._waiting:
            try:
                if not self._try(self._waiting[0]):
                    return
                self._waiting.popleft().wake(None)
            except RunFailed as error:
                self._waiting.popleft().wake(error)

    def _try(self, reservation: Reservation) -> bool:
        """Hold a reservation if there is room now; raise BudgetReached if there never will be."""
        if self.is_capped:
            if (largest := self.ledger.largest.get(reservation.model)) is not None:
                reservation.cost, reservation.is_known = largest.times(SAFETY), True
            if not self.has_room(reservation.cost):
                raise BudgetReached(self._reached_message(reservation))
            if self._is_alone or (self._calls and not reservation.is_known):
                return False
            if not self.has_room(self._reserved.plus(reservation.cost)):
                return False
            self._is_alone = not reservation.is_known
        try:
            reservation.call = self.ledger.begin(reservation.model, reservation.of, reservation.cost)
        except OSError as error:
            raise _unwritable(error) from None
        if self.is_capped:
            self._reserved, self._calls = self._reserved.plus(reservation.cost), self._calls + 1
        return True

    def _cancel(self, reservation: Reservation) -> None:
        if reservation.call is not None:
            self.settle(reservation, NOTHING, "cancelled")
            return
        with self._lock:
            if reservation in self._waiting:
                self._waiting.remove(reservation)
            self._resolve_waiting()

    def _reached_message(self, reservation: Reservation) -> str:
        """Say what has been spent, and what the next call is expected to take."""
        next_one, spent, parts = reservation.cost, self.spent, []
        if self.usd is not None:
            parts.append(
                f"${spent.usd:.4f} of ${self.usd:.2f} is spent, and the next call may cost ${next_one.usd:.4f}"
            )
        if self.tokens is not None:
            parts.append(
                f"{spent.tokens:,} of {self.tokens:,} tokens are used, and the next call may take {next_one.tokens:,}"
            )
        if self.ledger.largest:
            return f"the budget is used up: {'; '.join(parts)}: raise it and run again"
        return f"the budget is too small to start: {'; '.join(parts)}: raise it, or set a lower max_tokens"


def _unwritable(error: OSError) -> RunFailed:
    """Return the error for a ledger that cannot be written: without it, no cap can be enforced."""
    return RunFailed(f"{error.filename}: spending cannot be recorded: {error.strerror}")
