"""A cap on money and tokens that holds whatever the calls in flight may still cost."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from math import isfinite
from typing import NamedTuple

from negolab.players.endpoint.account import Account, Noted
from negolab.players.endpoint.failures import BudgetReached
from negolab.players.endpoint.prices import PICO, dollars

STEPS = 100
"""Into so many parts a cap is divided: what is spent is announced a part at a time."""
GROWTH = 10
"""Where there is no cap, what is announced grows by such a part of itself."""
STEP_OF_CALLS = 8
"""By such a part more calls are announced than are in flight."""


class Worth(NamedTuple):
    """Money, in `PICO`ths of a dollar, and tokens, of input and output together."""

    pico: int = 0
    tokens: int = 0

    def plus(self, other: Worth) -> Worth:
        return Worth(self.pico + other.pico, self.tokens + other.tokens)

    def most(self, other: Worth) -> Worth:
        """The larger of each."""
        return Worth(max(self.pico, other.pico), max(self.tokens, other.tokens))

    def minus(self, other: Worth) -> Worth:
        return Worth(self.pico - other.pico, self.tokens - other.tokens)


def _before(known: Worth, noted: Noted) -> Worth:
    """What an earlier part of the run took: what is known of it, and what was in flight when it ended."""
    lost = Worth(noted.flying * noted.dear_pico, noted.flying * noted.dear_tokens)
    return known.most(Worth(noted.pico, noted.tokens)).plus(lost)


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
    part of the run. With an `account`, what that holds was spent before, and is noted there before the next call.

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
        known = Worth(-int(-spent * PICO // 1), int(spent_tokens))
        self._spent = known if account is None else _before(known, account.noted)
        self._account = account
        self._held, self._calls = Worth(), 0
        self._dearest: Worth | None = None
        self._waiting: deque[_Waiting] = deque()
        self._lock = threading.Lock()

    @property
    def spent(self) -> float:
        """US dollars counted so far; lost answers at their worst case, those of a kill as the dearest that came."""
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
            self._held, self._calls = self._held.minus(worst), self._calls - 1
            self._spent = self._spent.plus(took)
            # What took the worst case is not known to have taken it.
            if took != worst and took != Worth():
                self._dearest = took if self._dearest is None else self._dearest.most(took)
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
            while self._waiting and self._next(self._waiting[0]):
                self._waiting.popleft()

    def close(self) -> None:
        """Note in the account what was really spent; calls still in flight count as after a kill."""
        if self._account is not None:
            self._account.write(self._now(self._spent, self._calls, self._dearest or Worth()))

    def _hold(self, worst: Worth) -> None:
        if self._account is not None:
            self._note(self._account, self._calls + 1, self._dearest or worst)
        self._held, self._calls = self._held.plus(worst), self._calls + 1

    def _note(self, account: Account, calls: int, dearest: Worth) -> None:
        """See that the account covers what was spent and what will be in flight; further than needed, so that the disk
        is not asked for each call."""
        there, spent = account.noted, self._spent
        covered = spent.pico <= there.pico and spent.tokens <= there.tokens and calls <= there.flying
        dear = Worth(there.dear_pico, there.dear_tokens)
        if not (covered and dearest.most(dear) == dear and not self._doubled(dear)):
            ahead = Worth(*(value + value // GROWTH for value in dearest))
            account.write(self._now(spent.plus(self._ahead(spent)), calls + calls // STEP_OF_CALLS + 1, ahead))

    def _doubled(self, dear: Worth) -> bool:
        """Whether the account still holds a worst case where an answer has shown what calls really take."""
        return self._dearest is not None and any(d > 2 * now + 2 for d, now in zip(dear, self._dearest, strict=True))

    @staticmethod
    def _now(spent: Worth, calls: int, dearest: Worth) -> Noted:
        return Noted(*spent, calls, *dearest)

    def _ahead(self, spent: Worth) -> Worth:
        """How much more is noted: a part of the cap, and of what has none a part of what there is already."""
        kinds = zip(self._cap, spent, strict=True)
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
