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
    """Everything that changes a model's answer, and which repetition of the question this is.

    Attributes:
        params: Other fields of the request body, such as `temperature`, `max_tokens` or `response_format`, but no
            timeouts or keys.
        repetition: Match, seat, turn and attempt; keeps equal questions in different games independent.
        began: `time.monotonic()` when the game began; older games go first.
        is_readable: Returns True for an answer that makes a move; others are kept for this run only.
    """

    model: str
    messages: tuple[Message, ...]
    params: dict[str, Any]
    repetition: tuple[str | int, ...]
    began: float = 0.0
    is_readable: Callable[[Answer], bool] = bool


class Usage(msgspec.Struct, frozen=True, gc=False):
    """Tokens of one answer, as counted by the endpoint (None: it did not say).

    Tokens read from the provider's cache (`cached`) or written to it (`written`) are part of `input`; `reasoning`
    tokens are part of `output`. `cost` is what a gateway says it charges, in US dollars.
    """

    input: int | None = None
    output: int | None = None
    cached: int | None = None
    reasoning: int | None = None
    written: int | None = None
    cost: float | None = None

    def plus(self, other: Usage) -> Usage:
        """Add the usage of another attempt; a field is None only if it is None in both."""
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
"""Kinds of stop reasons: a "called" text contains tool calls; "unknown" is never taken for "whole"."""
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
    """Return the meaning of a stop reason, however a service spells it."""
    return _ENDINGS.get(finish.lower(), "unknown")


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """A model's answer, from the response of its endpoint to the cache.

    Attributes:
        text: The text as sent, without reasoning that came in a separate field.
        finish: The endpoint's stop reason; "length" also if as many tokens came as were allowed, "refusal" if the text
            says that the model will not answer, "rejected" if the service rejected the text.
        logprobs: Log probabilities of the tokens, if they were requested.
        sent: Other fields of the request that was answered, as this endpoint accepted them (None: not known).
        request_id: The id in the response headers, or else the completion's own.
        usage: Tokens, including those of attempts that were paid for and lost.
        cost: US dollars, including such attempts (None: no price is known).
        queued: Seconds spent waiting for admission.
        latency: Seconds from sending to the last byte, for the last attempt.
        replayed: True if the answer comes from the cache and another run has paid for it.
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
        """The meaning of its stop reason."""
        return ending_of(self.finish)


class AnswerStore(Protocol):
    """A cache of answers, so that none is paid for twice."""

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
            GameFailed: This game cannot continue; others can.
            RunFailed: No game can continue.
        """


class EndpointProvider(Protocol):
    """`Models`, or a fake in a test: finds endpoints by address and by the variable that holds the key."""

    def endpoint(self, base_url: str | None = None, key: str | None = None) -> ModelEndpoint: ...
