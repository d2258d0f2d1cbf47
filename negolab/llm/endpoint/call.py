"""Calls to a model and their answers: the types that players, endpoints and the cache share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Protocol

import msgspec

Role = Literal["system", "user", "assistant"]


class Message(msgspec.Struct, frozen=True, gc=False):
    """One message of a chat."""

    role: Role
    content: str


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that changes a model's answer, and which repetition of the question it is.

    Attributes:
        params: Further fields of the request body, such as `temperature`, `max_tokens` or `response_format`; neither
            time-outs nor keys.
        repetition: Match, seat, turn and attempt; keeps equal questions of different games independent.
        began: `time.monotonic()` when the game began; older games go first.
        is_readable: Returns True for an answer that makes a move; others are kept for this run alone.
    """

    model: str
    messages: tuple[Message, ...]
    params: dict[str, Any]
    repetition: tuple[str | int, ...]
    began: float = 0.0
    is_readable: Callable[[Answer], bool] = bool


class Usage(msgspec.Struct, frozen=True, gc=False):
    """Tokens of one answer as the endpoint counted them; None: it did not say.

    Tokens that the provider's cache gave (`cached`) or got (`written`) are part of `input`, `reasoning` tokens part of
    `output`. `cost` is what a gateway says that it charges, in US dollars.
    """

    input: int | None = None
    output: int | None = None
    cached: int | None = None
    reasoning: int | None = None
    written: int | None = None
    cost: float | None = None

    def plus(self, other: Usage) -> Usage:
        """Add what another attempt took; None only where neither is known."""
        return Usage(
            *(
                None if one is None and two is None else (one or 0) + (two or 0)
                for one, two in zip(msgspec.structs.astuple(self), msgspec.structs.astuple(other), strict=True)
            )
        )

    @property
    def total(self) -> int | None:
        """Input and output tokens together; None unless the endpoint counted both."""
        return None if self.input is None or self.output is None else self.input + self.output


Ending = Literal["whole", "cut", "filtered", "refused", "rejected", "called", "unknown"]
"""Kinds of reasons to stop: a text that is "called" holds calls of tools; "unknown" is never taken for "whole"."""
_REASONS: dict[Ending, str] = {
    "whole": "stop end_turn eos eos_token stop_sequence",
    "cut": "length max_tokens max_output_tokens model_length model_context_window_exceeded abort incomplete "
    "insufficient_system_resource",
    "filtered": "content_filter content_filtered safety recitation blocklist prohibited_content spii",
    "refused": "refusal",
    "rejected": "rejected",
    "called": "tool_calls function_call tool_use",
}
_ENDINGS: dict[str, Ending] = {reason: ending for ending, reasons in _REASONS.items() for reason in reasons.split()}


def ending_of(finish: str) -> Ending:
    """Return what a reason to stop means, as any service spells it."""
    return _ENDINGS.get(finish.lower(), "unknown")


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """A model's answer, from the response of its endpoint to the cache.

    Attributes:
        text: The text as it was sent, without reasoning that came in a field of its own.
        finish: The endpoint's reason to stop; "length" also where as many tokens came as were allowed, "refusal" where
            the text says that the model will not answer, "rejected" where the service rejected the text.
        logprobs: Log probabilities of the tokens, where they were asked for.
        sent: Further fields of the request that was answered, as this endpoint took them (None: not known).
        request_id: The id in the response headers, else the completion's own.
        usage: Tokens, those of attempts that were paid and lost included.
        cost: US dollars, such attempts included; None where no price is known.
        queued: Seconds of waiting for admission.
        latency: Seconds from sending to the last byte, of the last attempt.
        replayed: The answer comes from the cache, and another run has paid for it.
    """

    text: str
    finish: str
    usage: Usage
    reasoning: str | None = None
    model: str | None = None
    fingerprint: str | None = None
    request_id: str | None = None
    cost: float | None = None
    queued: float = 0.0
    latency: float = 0.0
    attempts: int = 1
    sent: dict[str, Any] | None = None
    logprobs: Any = None
    replayed: bool = False

    @property
    def ending(self) -> Ending:
        """Meaning of its reason to stop."""
        return ending_of(self.finish)


class AnswerStore(Protocol):
    """A cache of answers, so that none is paid twice."""

    def find(self, endpoint: str, call: Call) -> Answer | None:
        """Return the answer to this repetition of the call; `replayed` is set if another run paid for it."""

    async def store(self, endpoint: str, call: Call, answer: Answer) -> None:
        """Store an answer durably before returning."""


class ModelEndpoint(Protocol):
    """An `Endpoint`, or a fake in a test. `url` is its address without credentials."""

    @property
    def url(self) -> str: ...

    async def answer(self, call: Call) -> Answer:
        """Answer a call.

        Raises:
            GameFailed: This game cannot go on; others can.
            RunFailed: No game can go on.
        """


class EndpointProvider(Protocol):
    """`Models`, or a fake in a test: finds endpoints by address and by the variable that holds the key."""

    def endpoint(self, base_url: str | None = None, key: str | None = None) -> ModelEndpoint: ...
