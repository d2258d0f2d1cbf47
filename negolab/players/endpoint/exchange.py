"""One call until it is answered: its attempts, what they took, how long they waited."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TYPE_CHECKING

from negolab.players.endpoint.budget import Worth
from negolab.players.endpoint.call import Answer, Call, Usage
from negolab.players.endpoint.completion import Completion, read, word
from negolab.players.endpoint.counted import uncounted
from negolab.players.endpoint.dialect import Dialect, body, most_output
from negolab.players.endpoint.failures import GameFailed, RunFailed
from negolab.players.endpoint.lane import Lane, Pass
from negolab.players.endpoint.prices import PICO, dollars
from negolab.players.endpoint.terms import Terms, worth
from negolab.players.endpoint.trouble import Broken, Forbidden, Limited, Silent, Trouble, Unsuited, raise_for

if TYPE_CHECKING:
    from negolab.players.endpoint.client import Client

UNBOUND = 500
"""Tokens that an answer is taken to have, for a declared rate, where the call sets no bound."""
BYTES = 3
"""Bytes that a token of input is taken to have, for a declared rate."""
LONG = 30.0
"""A wait of so many seconds is told."""


class Exchange:
    """Sends a call, again where that helps, and returns its answer. `GameFailed` and `RunFailed` as `Place` says."""

    def __init__(self, call: Call, dialect: Dialect, lane: Lane, client: Client, terms: Terms) -> None:
        self._call = call
        self._dialect = dialect
        self._lane = lane
        self._client = client
        self._terms = terms
        self._price = terms.prices.of(call.model)
        self._loop = asyncio.get_running_loop()
        self._attempts = self._broken = 0
        self._queued = 0.0
        self._lost = 0
        """What attempts without an answer took as the endpoint says, in money as `Worth.pico`."""
        now = self._loop.time()
        self._word()
        tokens = len(self._body) // BYTES + (most_output(self._params) or UNBOUND)
        self._pass = Pass(now, call.began or now, tokens)

    def _word(self) -> None:
        """Write the request as the model takes it."""
        self._version = self._dialect.version
        self._params = self._dialect.params(self._call)
        self._body = body(self._call, self._params)

    async def answer(self) -> Answer:
        while True:
            try:
                return await self._attempt()
            except (Limited, Silent):
                continue  # the lane makes it wait
            except Unsuited as refused:
                self._dialect.learn(refused, self._version)
                self._word()
            except Broken as trouble:
                await self._after(trouble)

    async def _after(self, trouble: Broken) -> None:
        """Wait for the next attempt; `GameFailed` after the last one."""
        self._broken += 1
        if self._broken >= self._terms.limits.attempts:
            times = f"{self._broken} attempts" if self._broken > 1 else "one attempt"
            raise GameFailed(f"no answer in {times}; the last: {trouble}") from None
        if trouble.wait >= LONG:
            self._terms.told(f"{self._client.url} is busy: waiting {trouble.wait:.0f} s, as it asks")
        await self._in_line(asyncio.sleep(trouble.wait))
        # What is waited beyond that is our own care, and the game's time.
        await asyncio.sleep(max(0.0, self._terms.pause(self._broken) - trouble.wait))

    async def _attempt(self) -> Answer:
        await self._in_line(self._lane.enter(self._pass))
        try:
            budget = self._terms.budget
            if budget is None:
                return (await self._sent(Worth()))[0]
            # Until the endpoint has said what an attempt took, the worst is assumed.
            took = worst = self._terms.worst(self._price, self._params, len(self._body))
            await self._in_line(budget.reserve(worst))
            try:
                answer, took = await self._sent(worst)
                return answer
            except Trouble as trouble:
                took = self._taken(trouble, worst)
                raise
            except (GameFailed, RunFailed):
                took = Worth()
                raise
            finally:
                budget.settle(worst, took)
        finally:
            self._lane.leave(self._pass)

    async def _in_line(self, turn: Awaitable[None]) -> None:
        asked = self._loop.time()
        with uncounted():
            await turn
        self._queued += self._loop.time() - asked

    async def _sent(self, worst: Worth) -> tuple[Answer, Worth]:
        """Send once; tell lane and sums how it went."""
        self._attempts += 1
        began = self._loop.time()
        try:
            completion, request_id = await self._received()
        except Trouble as trouble:
            raise self._noted(trouble) from None
        except (GameFailed, RunFailed):
            self._lane.heard()
            raise
        latency = self._loop.time() - began
        self._lane.answered(self._pass, completion.usage.total)
        return self._answer(completion, request_id, latency), worth(self._price, completion.usage, worst)

    async def _received(self) -> tuple[Completion, str | None]:
        came = await self._client.complete(self._body, self._lane.seconds(self._terms.limits.call_seconds))
        try:
            if not 200 <= came.status < 300:
                raise_for(came.status, came.headers, came.body, self._params)
            return read(came.body), word(came.headers.get("x-request-id"))
        except Forbidden as failed:
            if self._lane.served:  # so it is not the key
                raise GameFailed(failed.said) from None
            raise RunFailed(f"{self._client.url}: {failed}") from None
        except RunFailed as failed:
            raise RunFailed(f"{self._client.url}: {failed}") from None

    def _noted(self, trouble: Trouble) -> Trouble:
        """Tell the lane; an answer that did not come in time while others came is one call's trouble, not silence."""
        if isinstance(trouble, Silent) and not trouble.free and self._lane.heard_since(self._pass):
            trouble = Broken(str(trouble))
        if isinstance(trouble, Limited):
            self._terms.tally.refused += 1
            wait = self._lane.refused(self._pass, trouble.wait)
            if wait >= LONG:
                self._terms.told(f"{self._client.url} takes no more calls: waiting {wait:.0f} s, as it asks")
        elif isinstance(trouble, Silent):
            self._lane.silent(self._pass, str(trouble))
        elif isinstance(trouble, Unsuited):
            self._lane.heard()
        else:
            self._lane.broken()
        self._count(trouble)
        return trouble

    def _count(self, trouble: Trouble) -> None:
        """Sum what a lost attempt took, as far as the endpoint said."""
        if trouble.paid is not None:
            cost = self._price.of(trouble.paid) if self._price else None
            self._lost += cost or 0
            self._terms.tally.failed(trouble.paid, cost)
        self._terms.tally.lost += not trouble.free and (trouble.paid is None or trouble.paid.total is None)

    def _taken(self, trouble: Trouble, worst: Worth) -> Worth:
        """What a lost attempt takes from the budget: what the endpoint counted, else the worst case, unless nothing
        can have been paid."""
        if trouble.free:
            return Worth()
        return worth(self._price, trouble.paid or Usage(), worst)

    def _answer(self, completion: Completion, request_id: str | None, latency: float) -> Answer:
        cost, replayed = self._price.of(completion.usage) if self._price else None, False
        if self._terms.brokered:  # which knows better: it has the prices, and the answers that are kept
            said = completion.paid
            cost, replayed = None if said.cost is None else int(said.cost * PICO), said.replayed
        answer = Answer(
            text=completion.text,
            finish=completion.finish,
            usage=completion.usage,
            reasoning=completion.reasoning,
            model=completion.model,
            fingerprint=completion.fingerprint,
            request_id=request_id or completion.id,
            cost=None if cost is None else dollars(cost + self._lost),
            queued=round(self._queued, 6),
            latency=round(latency, 6),
            attempts=self._attempts,
            replayed=replayed,
        )
        if replayed:
            self._terms.tally.replay(answer)
        else:
            self._terms.tally.answered(answer, cost)
        return answer
