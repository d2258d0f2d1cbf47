"""An endpoint: calls answered from the cache or over the network, with retries, limits, a budget and redacted keys."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from contextvars import ContextVar
from functools import cache as cached
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import msgspec
from typing_extensions import override

from negolab._internal.validation import is_json
from negolab.ledger import NOTHING, Cost
from negolab.llm.endpoint.availability import Availability, format_duration
from negolab.llm.endpoint.call import Answer, AnswerStore, Call, Usage
from negolab.llm.endpoint.compatibility import (
    OUTPUT_NAMES,
    REPETITION,
    ParameterCompatibility,
    max_output_tokens,
    request_body,
)
from negolab.llm.endpoint.completion import parse_completion, short_name
from negolab.llm.endpoint.errors import (
    AttemptFailed,
    BadResponse,
    GameFailed,
    Overloaded,
    RateLimited,
    RefusedParameter,
    RejectedAnswer,
    RequestRefused,
    RunFailed,
    raise_for,
)
from negolab.llm.endpoint.keys import BROKER_PATH, Key
from negolab.llm.endpoint.policy import BYTES_PER_TOKEN, CallPolicy
from negolab.llm.endpoint.prices import Bill
from negolab.llm.endpoint.queue import CallQueue
from negolab.llm.endpoint.rate_limiter import QueuedCall

if TYPE_CHECKING:
    from negolab.llm.endpoint.client import Client


SERVER_FIELDS = ("text", "finish", "reasoning", "model", "fingerprint", "request_id")
"""Fields of an answer that the server writes."""
DEFAULT_OUTPUT_TOKENS = 500
"""Estimated output for a declared token rate, if the call sets no bound."""
TEMPLATE_TOKENS = 10_000
"""Input tokens that a service may add on its own, such as its own system prompt."""

T = TypeVar("T")


GAME_TIMER: ContextVar[Callable[[], AbstractContextManager[None]]] = ContextVar("game_timer", default=nullcontext)
"""Pauses the timer of the game that makes the call; a game without a time limit has nothing to pause."""


def timer_paused() -> AbstractContextManager[None]:
    """Pause the game's timer, so that waiting for an endpoint takes none of its time; pauses may overlap."""
    return GAME_TIMER.get()()


MAX_CUTS = 2
"""Number of answers cut short after which one is returned as is, unless the model is given more room."""


class CutShort(AttemptFailed):
    """An answer was not whole; the model is asked again, with more room if possible."""


class RetryingCall:
    """Send a call until it is answered, within limits and budget.

    An answer is passed to `keep` before it enters the ledger: one that was paid for but not kept would be paid for
    again.
    """

    def __init__(
        self,
        call: Call,
        compatibility: ParameterCompatibility,
        resources: _LoopResources,
        policy: CallPolicy,
        key: Key,
        keep: Callable[[Answer], Awaitable[Answer]],
    ) -> None:
        self._call = call
        self._key, self._keep = key, keep
        self._compatibility = compatibility
        self._queue = resources.queues[call.model]
        self._availability = resources.availability
        self._client = resources.client
        self._policy = policy
        self._bill = Bill(None if policy.via_broker else policy.price(call.model), via_broker=policy.via_broker)
        self._loop = asyncio.get_running_loop()
        self._attempts = self._failures = self._cuts = 0
        self._overloaded_since: float | None = None
        self._queued = 0.0
        now = self._loop.time()
        self._build_request()
        tokens = len(self._body) // BYTES_PER_TOKEN + (max_output_tokens(self._params) or DEFAULT_OUTPUT_TOKENS)
        self._queued_call = QueuedCall(now, call.began or now, tokens)

    def _build_request(self) -> None:
        self._params = self._compatibility.translate(self._call)
        self._body = request_body(self._call, self._params)

    async def answer(self) -> Answer:
        """Return the first valid answer; raise GameFailed and RunFailed as `ModelEndpoint.answer` does."""
        while True:
            try:
                return await self._attempt()
            except RateLimited:
                continue  # the queue makes it wait
            except CutShort:
                self._build_request()
            except RefusedParameter as error:
                self._adapt(error)
            except Overloaded as error:
                await self._wait_out(error)
            except BadResponse as error:
                await self._back_off(error)

    def _adapt(self, error: RefusedParameter) -> None:
        """Switch to other parameters; those that another call has learned meanwhile take precedence."""
        if self._compatibility.translate(self._call) == self._params:
            if self._queue.has_answered:
                raise RequestRefused(str(error)) from None
            self._compatibility.learn(error, self._call)
        self._build_request()

    async def _wait_out(self, error: Overloaded) -> None:
        """Wait until the endpoint may answer; raise GameFailed if it answers every call but this one."""
        self._failures += 1
        now = self._loop.time()
        self._overloaded_since = now if self._overloaded_since is None else self._overloaded_since
        if self._availability.is_patience_over(self._overloaded_since):
            raise GameFailed(f"no answer in {format_duration(now - self._overloaded_since)}; last: {error}") from None
        await self._wait(asyncio.sleep(max(error.retry_after or 0.0, self._policy.retry_delay(self._failures))))

    async def _back_off(self, error: BadResponse) -> None:
        """Wait, on the game's time, before the next attempt; raise GameFailed after the last one."""
        self._failures += 1
        if self._failures >= self._policy.limits.attempts:
            times = f"{self._failures} attempts" if self._failures > 1 else "one attempt"
            raise GameFailed(f"no answer in {times}; last: {error}") from None
        await asyncio.sleep(self._policy.retry_delay(self._failures))

    async def _attempt(self) -> Answer:
        await self._wait(self._queue.acquire(self._queued_call))
        with ExitStack() as slot:
            slot.callback(self._queue.release)
            return await self._send_within_budget(slot)

    async def _send_within_budget(self, slot: ExitStack) -> Answer:
        """Reserve part of the budget, send once, and record in the ledger what that took."""
        budget, call = self._policy.budget, self._call
        usage = Usage(len(self._body) // BYTES_PER_TOKEN, max_output_tokens(self._params) or 0)
        reservation = await self._wait(budget.reserve(call.model, self._bill.estimate(usage), call.repetition))
        took: Cost | None = None  # until the endpoint has said what the attempt took
        finish = "dropped"
        try:
            answer = await self._send()
            slot.close()  # the next call need not wait until this answer is kept
            answer, took = self._bill.answered(answer)
            finish = answer.finish
            return await self._keep(answer)
        except AttemptFailed as error:
            took, finish = self._bill.lost(error), type(error).__name__  # its words may quote people
            raise
        except (GameFailed, RunFailed) as error:
            took, finish = took or NOTHING, type(error).__name__
            raise
        finally:
            budget.settle(reservation, took, finish)

    async def _wait(self, admission: Awaitable[T]) -> T:
        began = self._loop.time()
        with timer_paused():
            admitted = await admission
        self._queued += self._loop.time() - began
        return admitted

    async def _send(self) -> Answer:
        """Send once, and report the result (an error without the key) to the queue and availability."""
        self._attempts += 1
        began = self._loop.time()
        try:
            answer = await self._post()
            self._check_whole(answer)
        except (AttemptFailed, GameFailed, RunFailed) as error:
            error.args = (self._key.redact_error(str(error)),)
            self._record_failure(error)
            raise
        self._queue.record_success(self._queued_call, answer.usage.total)
        self._availability.record_answer()
        self._compatibility.note_prompt(self._call, answer.usage.input)
        latency = self._loop.time() - began
        return msgspec.structs.replace(
            answer,
            queued=round(self._queued, 6),
            latency=round(latency, 6),
            attempts=self._attempts,
            sent=answer.sent or self._params,
        )

    async def _post(self) -> Answer:
        response = await self._client.complete(self._body, self._policy.limits.call_seconds)
        try:
            if not 200 <= response.status < 300:
                raise_for(*response, (*self._params, *OUTPUT_NAMES))
            answer = self._marked_if_full(parse_completion(response.body))
        except RejectedAnswer as rejected:
            answer = Answer(text=str(rejected), finish="rejected", usage=Usage())
        except RunFailed as error:
            raise RunFailed(f"{self._client.url}: {error}") from None
        except RequestRefused as error:
            if self._queue.has_answered:
                raise
            # Nothing has shown yet that the key, model and parameters are right.
            raise RunFailed(f"{self._client.url}: {error}") from None
        request_id = short_name(response.headers.get("x-request-id")) or answer.request_id
        # No token is shorter than a byte.
        usage = answer.usage if (answer.usage.input or 0) <= len(self._body) + TEMPLATE_TOKENS else Usage()
        own = {} if self._policy.via_broker else {"cost": None, "replayed": False, "sent": None}
        return msgspec.structs.replace(answer, request_id=request_id, usage=usage, **own)

    def _marked_if_full(self, answer: Answer) -> Answer:
        """Return an answer marked as cut if it took all the tokens it could, whatever its service says."""
        is_full = answer.ending == "whole" and answer.usage.output == (max_output_tokens(self._params) or -1)
        return msgspec.structs.replace(answer, finish="length") if is_full else answer

    def _check_whole(self, answer: Answer) -> None:
        """Raise CutShort for an answer that was cut, or may have been, and should be requested again."""
        ending = answer.ending
        if ending not in ("cut", "unknown") or ("response_format" in self._params and is_json(answer.text)):
            return
        self._cuts += 1
        if ending == "unknown":
            self._compatibility.note_reason(answer.finish)
        else:
            reasons = bool(answer.usage.reasoning or answer.reasoning) or not answer.text.strip()
            self._compatibility.learn_cut(self._call, reasons=reasons)
        if self._cuts < MAX_CUTS or self._compatibility.translate(self._call) != self._params:
            raise CutShort("the answer was incomplete", usage=answer.usage)

    def _record_failure(self, error: Exception) -> None:
        """Report a failed attempt."""
        if isinstance(error, RateLimited):
            self._queue.record_rate_limit(self._queued_call, error.retry_after)
        elif isinstance(error, Overloaded | BadResponse):
            self._queue.record_error()
        if isinstance(error, RateLimited | Overloaded):
            self._availability.record_failure(error)


class _LoopResources:
    """Resources of an endpoint in one event loop: connections, availability, and a queue for each model."""

    def __init__(self, url: str, client: Client, policy: CallPolicy) -> None:
        clock = asyncio.get_running_loop().time
        self.client = client
        self.queues = defaultdict[str, CallQueue](lambda: CallQueue(policy.limits, clock))
        self.availability = Availability(url, policy.limits.patience, clock, policy.notify, policy.after_patience)


class Traffic(NamedTuple):
    """Calls in flight, calls waiting for admission, and whether calls wait for an endpoint that is not answering."""

    calls: int
    waiting: int
    is_waited_for: bool


class Endpoint:
    """Answer calls at one base URL. Made by `Models.endpoint`; connections belong to the event loop that uses them."""

    def __init__(self, url: str, key: Key, policy: CallPolicy, cache: AnswerStore | None) -> None:
        self.url = url
        self._key = key
        self._policy = policy.for_broker() if url.endswith(BROKER_PATH) else policy
        self._cache = cache
        self._compatible = cached(lambda model: ParameterCompatibility(model, self._policy.notify))
        self._loops: dict[asyncio.AbstractEventLoop, _LoopResources] = {}

    @override
    def __repr__(self) -> str:
        return f"Endpoint({self.url!r})"

    @property
    def via_broker(self) -> bool:
        """True if the address is that of a sweep's broker."""
        return self._policy.via_broker

    async def answer(self, call: Call) -> Answer:
        """Return the cached answer, or a new one once it is stored."""
        cache = self._cache
        if cache is not None and (cached := cache.find(self.url, call)) is not None:
            if cached.replayed:
                self._policy.budget.ledger.add(Cost.of_replayed(cached.cost))
            return cached
        return await self._retrying(call, await self._resources()).answer()

    def traffic(self) -> Traffic:
        """Return the current traffic of all event loops."""
        queues = [queue for loop in self._loops.values() for queue in loop.queues.values()]
        is_waited_for = any(loop.availability.is_waited_for for loop in self._loops.values())
        return Traffic(sum(queue.running for queue in queues), sum(queue.waiting for queue in queues), is_waited_for)

    async def list_models(self) -> dict[str, int | None]:
        """Return the models that the endpoint lists, each with its context window in tokens, if that is reported.

        Raises:
            RunFailed: The endpoint lists none.
        """
        try:
            listed = await (await self._resources()).client.list_models()
            return {self._key.redact(name): window for name, window in listed.items()}
        except RunFailed as error:
            raise RunFailed(self._key.redact_error(str(error))) from None

    async def close(self) -> None:
        """Close the connections of this event loop."""
        resources = self._loops.pop(asyncio.get_running_loop(), None)
        if resources is not None:
            await resources.client.close()

    async def _keep(self, call: Call, answer: Answer) -> Answer:
        """Return an answer without the key, once it is stored: a server may repeat the key, even in a header."""
        values = {name: getattr(answer, name) or "" for name in SERVER_FIELDS}
        redacted = {name: clean for name, value in values.items() if (clean := self._key.redact(value)) != value}
        answer = msgspec.structs.replace(answer, **redacted) if redacted else answer
        if self._cache is not None:
            await self._cache.store(self.url, call, answer)
        return answer

    def _retrying(self, call: Call, resources: _LoopResources) -> RetryingCall:
        """Prepare a call; raise RunFailed for one that cannot be sent at all."""
        keep = partial(self._keep, call)
        if self._policy.via_broker:
            call = msgspec.structs.replace(call, params={**call.params, REPETITION: call.repetition})
        try:
            self._policy.check(call.model)
            return RetryingCall(call, self._compatible(call.model), resources, self._policy, self._key, keep)
        except (ValueError, TypeError) as error:
            raise RunFailed(f"a call to {call.model} cannot be sent: {error}") from None

    async def _resources(self) -> _LoopResources:
        loop = asyncio.get_running_loop()
        resources = self._loops.get(loop)
        if resources is None:
            from negolab.llm.endpoint.client import open_client

            self._loops = {other: used for other, used in self._loops.items() if not other.is_closed()}
            client = await open_client(self.url, self._key)
            resources = self._loops[loop] = _LoopResources(self.url, client, self._policy)
        return resources
