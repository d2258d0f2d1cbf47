"""An endpoint: calls answered from the cache or by the network, with retries, limits, budget and redacted keys."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, NamedTuple, Protocol

import msgspec
from typing_extensions import override

from negolab.llm.endpoint.budget import Cost
from negolab.llm.endpoint.call import Answer, AnswerStore, Call, Usage
from negolab.llm.endpoint.circuit_breaker import CircuitBreaker
from negolab.llm.endpoint.compatibility import ParameterCompatibility, max_output_tokens, request_body
from negolab.llm.endpoint.completion import parse_completion, short_name
from negolab.llm.endpoint.errors import (
    AttemptFailed,
    BadResponse,
    Forbidden,
    GameFailed,
    RateLimited,
    RunFailed,
    Unreachable,
    UnsupportedParameter,
    raise_for,
)
from negolab.llm.endpoint.keys import BROKER_PATH, Key
from negolab.llm.endpoint.policy import CallPolicy, usage_cost
from negolab.llm.endpoint.prices import PICO, dollars
from negolab.llm.endpoint.queue import CallQueue, QueuedCall

if TYPE_CHECKING:
    from negolab.llm.endpoint.client import Client


SERVER_FIELDS = ("text", "finish", "reasoning", "model", "fingerprint", "request_id")
"""Fields of an answer that the server writes."""
REPETITION = "negolab_repetition"
"""Extra request field for a sweep's broker: to it, equal questions of different games are different calls."""
DEFAULT_OUTPUT_TOKENS = 500
"""Estimated output for a declared token rate, where the call sets no bound."""
BYTES_PER_TOKEN = 3
"""Estimated bytes per input token, for a declared token rate."""
LONG_WAIT = 30.0
"""Seconds from which a wait is reported."""


class PausableTimer(Protocol):
    """A game's timer. Pauses may overlap: it goes on after as many calls of `go` as of `stop`."""

    def stop(self) -> None: ...
    def go(self) -> None: ...


GAME_TIMER: ContextVar[PausableTimer | None] = ContextVar("game_timer", default=None)
"""Timer of the game that makes the call; None where a game's time is not limited."""


@contextmanager
def timer_paused() -> Iterator[None]:
    """Pause the game's timer, so that waiting for an endpoint takes none of its time."""
    timer = GAME_TIMER.get()
    if timer is None:
        yield
        return
    timer.stop()
    try:
        yield
    finally:
        timer.go()


class RetryingCall:
    """Send a call until it is answered, within limits and budget."""

    def __init__(
        self, call: Call, compatibility: ParameterCompatibility, queue: CallQueue, client: Client, policy: CallPolicy
    ) -> None:
        self._call = call
        self._compatibility = compatibility
        self._queue = queue
        self._client = client
        self._policy = policy
        self._price = policy.prices.get(call.model)
        self._loop = asyncio.get_running_loop()
        self._attempts = self._failures = 0
        self._queued = 0.0
        self._lost_pico = 0
        """Cost of attempts without an answer, as `Cost.pico`."""
        now = self._loop.time()
        self._build_request()
        tokens = len(self._body) // BYTES_PER_TOKEN + (max_output_tokens(self._params) or DEFAULT_OUTPUT_TOKENS)
        self._queued_call = QueuedCall(now, call.began or now, tokens)

    def _build_request(self) -> None:
        self._version = self._compatibility.version
        self._params = self._compatibility.translate(self._call)
        self._body = request_body(self._call, self._params)

    async def answer(self) -> Answer:
        """Return the first valid answer; GameFailed and RunFailed as in `ModelEndpoint.answer`."""
        while True:
            try:
                return await self._attempt()
            except (RateLimited, Unreachable):
                continue  # the queue makes it wait
            except UnsupportedParameter as error:
                self._compatibility.learn(error, self._version)
                self._build_request()
            except BadResponse as error:
                await self._back_off(error)

    async def _back_off(self, error: BadResponse) -> None:
        """Wait before the next attempt; GameFailed after the last one."""
        self._failures += 1
        if self._failures >= self._policy.limits.attempts:
            times = f"{self._failures} attempts" if self._failures > 1 else "one attempt"
            raise GameFailed(f"no answer in {times}; the last: {error}") from None
        if error.retry_after >= LONG_WAIT:
            self._policy.notify(f"{self._client.url} is busy: waiting {error.retry_after:.0f} s, as it asks")
        await self._wait(asyncio.sleep(error.retry_after))
        # Waiting longer than the endpoint asks for is our own choice, and takes the game's time.
        await asyncio.sleep(max(0.0, self._policy.retry_delay(self._failures) - error.retry_after))

    async def _attempt(self) -> Answer:
        await self._wait(self._queue.acquire(self._queued_call))
        try:
            budget = self._policy.budget
            if budget is None:
                return (await self._send(Cost()))[0]
            # Until the endpoint has said what an attempt took, the worst case is assumed.
            cost = worst = self._policy.worst_case(self._price, self._params, len(self._body))
            await self._wait(budget.reserve(worst))
            try:
                answer, cost = await self._send(worst)
                return answer
            except AttemptFailed as error:
                cost = Cost() if error.is_free else usage_cost(self._price, error.usage or Usage(), worst)
                raise
            except (GameFailed, RunFailed):
                cost = Cost()
                raise
            finally:
                budget.settle(worst, cost)
        finally:
            self._queue.release(self._queued_call)

    async def _wait(self, admission: Awaitable[None]) -> None:
        began = self._loop.time()
        with timer_paused():
            await admission
        self._queued += self._loop.time() - began

    async def _send(self, worst: Cost) -> tuple[Answer, Cost]:
        """Send once and report the result to queue and counters."""
        self._attempts += 1
        began = self._loop.time()
        try:
            answer = await self._post()
        except AttemptFailed as error:
            raise self._record_failure(error) from None
        except (GameFailed, RunFailed):
            self._queue.record_rejection()
            raise
        latency = self._loop.time() - began
        self._queue.record_success(self._queued_call, answer.usage.total)
        return self._record_answer(answer, latency), usage_cost(self._price, answer.usage, worst)

    async def _post(self) -> Answer:
        response = await self._client.complete(self._body, self._queue.timeout(self._policy.limits.call_seconds))
        try:
            if not 200 <= response.status < 300:
                raise_for(response.status, response.headers, response.body, self._params)
            answer = parse_completion(response.body)
        except Forbidden as error:
            if self._queue.has_succeeded:  # so it is not the key
                raise GameFailed(error.reason) from None
            raise RunFailed(f"{self._client.url}: {error}") from None
        except RunFailed as error:
            raise RunFailed(f"{self._client.url}: {error}") from None
        request_id = short_name(response.headers.get("x-request-id")) or answer.request_id
        return msgspec.structs.replace(answer, request_id=request_id)

    def _record_failure(self, error: AttemptFailed) -> AttemptFailed:
        """Report a failed attempt and return the error to handle: a time-out while other calls were answered is one
        bad response, not an unreachable endpoint."""
        if isinstance(error, Unreachable) and not error.is_free and self._queue.responded_since(self._queued_call):
            error = BadResponse(str(error))
        if isinstance(error, RateLimited):
            self._policy.usage.refused += 1
            delay = self._queue.record_rate_limit(self._queued_call, error.retry_after)
            if delay >= LONG_WAIT:
                self._policy.notify(f"{self._client.url} takes no more calls: waiting {delay:.0f} s, as it asks")
        elif isinstance(error, Unreachable):
            self._queue.record_unreachable(self._queued_call, str(error))
        elif isinstance(error, UnsupportedParameter):
            self._queue.record_rejection()
        else:
            self._queue.record_error()
        if error.usage is not None:
            pico = self._price.cost(error.usage) if self._price else None
            self._lost_pico += pico or 0
            self._policy.usage.record_tokens(error.usage, pico)
        self._policy.usage.lost += not error.is_free and (error.usage is None or error.usage.total is None)
        return error

    def _record_answer(self, answer: Answer, latency: float) -> Answer:
        """Complete an answer with its cost and times, and count it."""
        if self._policy.via_broker:  # it has the prices and the cache, so its figures count
            pico, replayed = None if answer.cost is None else int(answer.cost * PICO), answer.replayed
        else:
            pico, replayed = self._price.cost(answer.usage) if self._price else None, False
        answer = msgspec.structs.replace(
            answer,
            cost=None if pico is None else dollars(pico + self._lost_pico),
            queued=round(self._queued, 6),
            latency=round(latency, 6),
            attempts=self._attempts,
            replayed=replayed,
        )
        if replayed:
            self._policy.usage.record_replay(answer)
        else:
            self._policy.usage.record_answer(answer, pico)
        return answer


class _LoopResources:
    """Resources of an endpoint in one event loop: connections, a circuit breaker, and a queue for each model."""

    def __init__(self, url: str, client: Client, policy: CallPolicy) -> None:
        clock = asyncio.get_running_loop().time
        self.client = client
        self.queues: dict[str, CallQueue] = {}
        self.breaker = CircuitBreaker(url, clock, patience=policy.limits.patience, notify=policy.notify)
        self._limits = policy.limits
        self._clock = clock

    def queue(self, model: str) -> CallQueue:
        queue = self.queues.get(model)
        if queue is None:
            queue = self.queues[model] = CallQueue(self._limits, self.breaker, self._clock)
        return queue


class Traffic(NamedTuple):
    """Calls in flight, calls that wait for admission, and whether an endpoint cannot be reached."""

    calls: int
    waiting: int
    unreachable: bool


class Endpoint:
    """Answer calls at one base URL. Made by `Models.endpoint`; connections belong to the event loop that uses them."""

    def __init__(self, url: str, key: Key, policy: CallPolicy, cache: AnswerStore | None) -> None:
        self.url = url
        self._key = key
        self._policy = policy.for_broker() if url.endswith(BROKER_PATH) else policy
        self._cache = cache
        self._compatibility: dict[str, ParameterCompatibility] = {}
        self._loops: dict[asyncio.AbstractEventLoop, _LoopResources] = {}

    @override
    def __repr__(self) -> str:
        return f"Endpoint({self.url!r})"

    async def answer(self, call: Call) -> Answer:
        """Return the cached answer, or a new one once it is stored."""
        cache = self._cache
        if cache is not None and (cached := cache.find(self.url, call)) is not None:
            self._policy.usage.record_replay(cached)
            return cached
        answer = await self._ask(call)
        if cache is not None:
            await cache.store(self.url, call, answer)
        return answer

    def traffic(self) -> Traffic:
        """Return the current traffic of all event loops."""
        queues = [queue for loop in self._loops.values() for queue in loop.queues.values()]
        calls, waiting = sum(queue.running for queue in queues), sum(queue.waiting for queue in queues)
        return Traffic(calls, waiting, any(loop.breaker.is_open for loop in self._loops.values()))

    async def list_models(self) -> list[str]:
        """Return the names of the models that the endpoint lists; RunFailed if it lists none."""
        try:
            return list(map(self._key.redact, await (await self._resources()).client.list_models()))
        except RunFailed as error:
            raise RunFailed(self._key.redact_error(str(error))) from None

    async def close(self) -> None:
        """Close the connections of this event loop."""
        resources = self._loops.pop(asyncio.get_running_loop(), None)
        if resources is not None:
            from negolab.llm.endpoint.client import close_client

            await close_client(resources.client)

    async def _ask(self, call: Call) -> Answer:
        resources = self._loops.get(asyncio.get_running_loop()) or await self._resources()
        try:
            return self._redacted(await self._retrying(call, resources).answer())
        except (GameFailed, RunFailed) as error:
            raise type(error)(self._key.redact_error(str(error))) from None

    def _redacted(self, answer: Answer) -> Answer:
        """Remove the key from an answer: a server may repeat it, also in a header."""
        values = {name: getattr(answer, name) or "" for name in SERVER_FIELDS}
        redacted = {name: clean for name, value in values.items() if (clean := self._key.redact(value)) != value}
        return msgspec.structs.replace(answer, **redacted) if redacted else answer

    def _retrying(self, call: Call, resources: _LoopResources) -> RetryingCall:
        """Prepare a call; RunFailed for one that cannot be sent at all."""
        if self._policy.via_broker:
            call = msgspec.structs.replace(call, params={**call.params, REPETITION: call.repetition})
        try:
            self._policy.check(call.model, call.params)
            queue = resources.queue(call.model)
            return RetryingCall(call, self._compatible(call.model), queue, resources.client, self._policy)
        except (ValueError, TypeError) as error:
            raise RunFailed(f"a call to {call.model} cannot be sent: {error}") from None

    def _compatible(self, model: str) -> ParameterCompatibility:
        compatibility = self._compatibility.get(model)
        if compatibility is None:
            compatibility = self._compatibility[model] = ParameterCompatibility(model, self._policy.notify)
        return compatibility

    async def _resources(self) -> _LoopResources:
        loop = asyncio.get_running_loop()
        resources = self._loops.get(loop)
        if resources is None:
            from negolab.llm.endpoint.client import open_client

            self._loops = {other: used for other, used in self._loops.items() if not other.is_closed()}
            client = await open_client(self.url, self._key)
            resources = self._loops[loop] = _LoopResources(self.url, client, self._policy)
        return resources
