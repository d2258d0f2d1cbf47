"""A cap on money and tokens that holds whatever the calls in flight may still cost."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from math import isfinite
from typing import NamedTuple

from negolab.players.endpoint.account import Account
from negolab.players.endpoint.failures import BudgetReached
from negolab.players.endpoint.prices import PICO, dollars

STEPS = 100
"""Into so many parts a cap is divided: what is spent is announced a part at a time."""
GROWTH = 10
"""Where there is no cap, what is announced grows by such a part of itself."""


class Worth(NamedTuple):
    """Money, in `PICO`ths of a dollar, and tokens, of input and output together."""

    pico: int = 0
    tokens: int = 0

    def plus(self, other: Worth) -> Worth:
        return Worth(self.pico + other.pico, self.tokens + other.tokens)

    def minus(self, other: Worth) -> Worth:
        return Worth(self.pico - other.pico, self.tokens - other.tokens)


class _Waiting:
    """A call that waits for room; its event loop may run in another thread than the one that makes room."""

    def __init__(self, worst: Worth, turn: asyncio.Future[None]) -> None:
        self.worst = worst
        self.turn = turn
        self.granted = False

    def wake(self, reached: BudgetReached | None) -> None:
        """Let it go on, or tell it that there will be no room."""
        self.turn.get_loop().call_soon_threadsafe(self._answer, reached)

    def _answer(self, reached: BudgetReached | None) -> None:
        if self.turn.done():
            return
        if reached is None:
            self.turn.set_result(None)
        else:
            self.turn.set_exception(reached)


class Budget:
    """What may be spent, in US dollars, in tokens, or both; `spent` and `spent_tokens` were before, in an earlier
    part of the run. With an `account`, what that holds was spent before, and what will be is announced there first.

    Before each call its worst case is reserved, after it what it took is counted. A call for which the worst cases in
    flight leave no room waits for them; `BudgetReached` when it would have no room even if they took nothing.
    """

    def __init__(
        self,
        *,
        usd: float | None = None,
        tokens: int | None = None,
        spent: float = 0.0,
        spent_tokens: int = 0,
        account: Account | None = None,
    ) -> None:
        if usd is None and tokens is None:
            raise ValueError("a budget is in US dollars, in tokens, or both")
        for name, value in (("usd", usd), ("tokens", tokens), ("spent", spent), ("spent_tokens", spent_tokens)):
            if value is not None and (isinstance(value, bool) or not (isfinite(value) and value >= 0)):
                raise ValueError(f"{name} must be a number of at least 0, not {value!r}")
        self.usd = usd
        self.tokens = tokens
        # Rounded to the cap's own disadvantage.
        self._cap = (None if usd is None else int(usd * PICO), None if tokens is None else int(tokens))
        before = (0, 0) if account is None else (account.pico, account.tokens)
        self._spent = Worth(max(-int(-spent * PICO // 1), before[0]), max(int(spent_tokens), before[1]))
        self._account = account
        self._held = Worth()
        self._waiting: deque[_Waiting] = deque()
        self._lock = threading.Lock()

    @property
    def spent(self) -> float:
        """US dollars counted so far; lost answers at their worst case."""
        return dollars(self._spent.pico)

    @property
    def spent_tokens(self) -> int:
        """Tokens counted so far; lost answers at their worst case."""
        return self._spent.tokens

    async def reserve(self, worst: Worth) -> None:
        """Hold the worst case of a call until `settle`."""
        with self._lock:
            self._must_fit(worst)
            if not self._waiting and self._fits(worst):
                self._hold(worst)
                return
            one = _Waiting(worst, asyncio.get_running_loop().create_future())
            self._waiting.append(one)
        try:
            await one.turn
        except asyncio.CancelledError:
            self._take_back(one)
            raise

    def settle(self, worst: Worth, took: Worth) -> None:
        """A call that had reserved `worst` took so much; those who wait look again."""
        with self._lock:
            self._held = self._held.minus(worst)
            self._spent = self._spent.plus(took)
            while self._waiting and self._next(self._waiting[0]):
                self._waiting.popleft()

    def _next(self, one: _Waiting) -> bool:
        """Answer the first who waits, if that is possible now."""
        try:
            self._must_fit(one.worst)
        except BudgetReached as reached:
            one.wake(reached)
            return True
        if not self._fits(one.worst):
            return False
        self._hold(one.worst)
        one.granted = True
        one.wake(None)
        return True

    def _take_back(self, one: _Waiting) -> None:
        """A call that waited is not made after all."""
        if one.granted:
            self.settle(one.worst, Worth())
            return
        with self._lock:
            if one in self._waiting:
                self._waiting.remove(one)
        self.settle(Worth(), Worth())

    def close(self) -> None:
        """Note in the account what was really spent; calls still in flight count at their worst."""
        if self._account is not None:
            self._account.write(*self._spent.plus(self._held))

    def _hold(self, worst: Worth) -> None:
        held = self._held.plus(worst)
        announced = self._spent.plus(held)
        if self._account is not None and not self._account.covers(*announced):
            # Further than needed, so that the disk is not asked for each call.
            self._account.write(*announced.plus(self._ahead(announced)))
        self._held = held

    def _ahead(self, announced: Worth) -> Worth:
        """How much more is announced: a part of the cap, and of what has none a part of what there is already."""
        kinds = zip(self._cap, announced, strict=True)
        return Worth(*(total // GROWTH if cap is None else cap // STEPS for cap, total in kinds))

    def _fits(self, worst: Worth) -> bool:
        return self._below(self._spent.plus(self._held).plus(worst))

    def _must_fit(self, worst: Worth) -> None:
        if not self._below(self._spent.plus(worst)):
            raise BudgetReached(self._reached(worst))

    def _below(self, worth: Worth) -> bool:
        return all(cap is None or value <= cap for cap, value in zip(self._cap, worth, strict=True))

    def _reached(self, worst: Worth) -> str:
        parts = []
        if self.usd is not None:
            next_one = dollars(worst.pico)
            parts.append(f"${self.spent:.4f} of ${self.usd:.2f} are spent, the next call could cost ${next_one:.4f}")
        if self.tokens is not None:
            parts.append(
                f"{self.spent_tokens:,} of {self.tokens:,} tokens are used, the next could take {worst.tokens:,}"
            )
        return f"the budget is reached: {'; '.join(parts)}: raise it and run again"
