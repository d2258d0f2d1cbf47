"""One question to a model and its answer: what players, the scheduler, the cache and the record share."""

from __future__ import annotations

from typing import Any, Literal, Protocol

import msgspec

Role = Literal["system", "user", "assistant"]


class Message(msgspec.Struct, frozen=True, gc=False):
    """One message of a chat."""

    role: Role
    content: str


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """All that changes a model's answer, and which repetition of the question it is.

    `params` are further fields of the request's body, such as `temperature`, `max_tokens`, `response_format`; no
    time-outs, no keys. `repetition` (match, seat, turn, attempt) keeps equal questions of different games independent.
    `began` orders calls: `time.monotonic()` when the game began; the oldest game goes first.
    """

    model: str
    messages: tuple[Message, ...]
    params: dict[str, Any]
    repetition: tuple[str | int, ...]
    began: float = 0.0


class Usage(msgspec.Struct, frozen=True, gc=False):
    """Tokens of one answer, as the endpoint counted them; None: it did not say. `cached` are part of `input`,
    `reasoning` part of `output`."""

    input: int | None = None
    output: int | None = None
    cached: int | None = None
    reasoning: int | None = None

    @property
    def total(self) -> int | None:
        """Tokens of input and output together; None unless the endpoint counted both."""
        return None if self.input is None or self.output is None else self.input + self.output


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What came back. `text` is as it was sent, reasoning apart; `finish` is the endpoint's reason to stop: "stop",
    "length", "content_filter"; "refusal" where the text says that the model will not answer. `cost` is in US dollars,
    None where no price is known, and includes attempts that were paid and lost. `queued` and `latency` are seconds;
    `replayed`: from the cache, nothing was paid."""

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
    replayed: bool = False


class Kept(Protocol):
    """Where answers are kept, so that none is paid twice."""

    def find(self, endpoint: str, call: Call) -> Answer | None:
        """The answer that was kept for this repetition of the call; `replayed` is set if another run paid for it."""
        ...

    async def keep(self, endpoint: str, call: Call, answer: Answer) -> None:
        """Keep an answer; it is on the disk when this returns."""
        ...
