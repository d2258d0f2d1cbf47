"""A language model as a player: prompts become a chat, answers become replies in the game's words."""

from __future__ import annotations

import time
from functools import cache, cached_property
from typing import Any

from negolab._internal import clock
from negolab.catalog import AnyGame
from negolab.game import SEATS, Ask, Invalid, Malformed, Reply, Seat
from negolab.llm.chat import Chat
from negolab.llm.endpoint.call import Answer, Call, Ending, EndpointProvider, ModelEndpoint
from negolab.llm.endpoint.compatibility import REPETITION, has_bound, max_output_tokens
from negolab.llm.endpoint.errors import NoAnswer, NoLegalMove, one_line
from negolab.llm.endpoint.policy import BYTES_PER_TOKEN
from negolab.llm.endpoint.services import PLAIN_OUTPUT, model_traits
from negolab.llm.output_modes import (
    ExtractedText,
    FreeText,
    ParaphraseMode,
    SchemaMode,
    extract_reasoning,
    join_reasoning,
    phrase,
)
from negolab.llm.settings import Settings, read_persona
from negolab.match import new_id, replace_surrogates
from negolab.protocols import Scripted
from negolab.record import SeatRecord

_OF_TURN = ("response_format",)
"""Request fields that depend on the turn."""
MAX_REJECTIONS = 20
"""Number of rejected answers in a row that ends a game that would ask forever."""


class LLM:
    """A language model for one seat of one match of any game.

    Calls are ordered by when their players were made: the oldest match goes first.

    Args:
        settings: Model and parameters, as `model_settings` reads them.
        models: Endpoints (None: one shared `Models` of this process).
        match: The match's id. With seat, turn and attempt, it identifies each answer, so that a match resumed after a
            crash finds its answers in the cache; without it, none is found.
        strategy: A scripted player that decides, while the model words the message.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        models: EndpointProvider | None = None,
        match: str = "",
        strategy: Scripted | None = None,
    ) -> None:
        self.settings = settings
        self.match = match or new_id()
        self.began = time.monotonic()
        self.name = f"llm:{settings.model}"
        self.seats: tuple[Seat, ...] = SEATS if strategy is None else strategy.seats
        self.persona = None if settings.persona is None else read_persona(settings.persona)
        self._models = models
        self._parameters = settings.request_fields()
        self._used = with_default_bound(settings.model, self._parameters)
        self._mode = _output_mode(settings, strategy)
        self._chat = self._new_chat()

    def _new_chat(self) -> Chat:
        system = None if self.persona is None else self.persona.text
        settings = self.settings
        return Chat(self._mode, system, single_message=not settings.chat, last=settings.last_exchanges)

    @cached_property
    def endpoint(self) -> ModelEndpoint:
        """The endpoint that answers its calls."""
        models = _shared_models() if self._models is None else self._models
        return models.endpoint(self.settings.base_url, self.settings.key)

    def notes(self) -> dict[str, Any]:
        """Return what a record's header says about it: all that shaped its answers, and no key.

        `parameters` change as answers show what their service takes.
        """
        settings = self.settings
        notes: dict[str, Any] = {
            "model": settings.model,
            "url": self.endpoint.url,
            "form": settings.form,
            "chat": settings.chat,
            "parameters": self._used,
        }
        for name in ("label", "history", "strategy"):
            if (value := getattr(settings, name)) is not None:
                notes[name] = value
        if settings.form == "schema":
            notes["talk"] = settings.talk
        if self.persona is not None:
            notes["persona"] = {"file": self.persona.file, "sha256": self.persona.sha256}
        return notes

    def recall(self, view: SeatRecord) -> None:
        """Take over a seat in a running match: all that the seat saw and said becomes this player's chat."""
        self._chat = self._new_chat()
        self._chat.recall(view, self._mode.model_text)

    def estimate_tokens(self, view: SeatRecord) -> int:
        """Estimate the tokens in a match's last prompt, as this player would have seen it, and in its answer."""
        chat = self._new_chat()
        chat.recall(view, self._mode.model_text)
        size = sum(len(message.content.encode()) for message in chat.messages)
        return size // BYTES_PER_TOKEN + (max_output_tokens(self._used) or 0)

    async def reply(self, told: AnyGame, ask: Ask) -> Reply | Malformed:
        """Ask the model for its next message.

        Returns:
            The reply, or `Malformed` if the answer never became words of the game.

        Raises:
            GameFailed: This game cannot continue, for example after MAX_REJECTIONS rejected answers in a row, or after
                an answer that was not whole, which is never taken for a move or held against the model.
            RunFailed: No game can continue.
        """
        if len(ask.rejected) >= MAX_REJECTIONS:
            raise NoLegalMove(f"{MAX_REJECTIONS} answers in a row were not valid moves: {ask.rejected[-1].reason}")
        asked_at = clock.time()
        call = self._call(told, ask)
        answer = await self.endpoint.answer(call)
        sent = {name: value for name, value in (answer.sent or {}).items() if name not in (*_OF_TURN, REPETITION)}
        if sent and sent != self._used:
            self._used.clear()
            self._used.update(sent)
        reply = self._reply(told, ask, answer, asked_at)
        self._chat.record_answer(self._mode.model_text(reply.reply if isinstance(reply, Malformed) else reply))
        return reply

    def _call(self, told: AnyGame, ask: Ask) -> Call:
        messages = self._chat.next_messages(told, ask)
        return Call(
            model=self.settings.model,
            messages=messages,
            params={**self._parameters, **self._mode.request_fields(told, ask.seen)},
            repetition=(self.match, ask.seen.seat, self._chat.state.turn, self._chat.state.attempt),
            began=self.began,
            is_readable=lambda answer: self._is_readable(told, ask, answer),
        )

    def _reply(self, told: AnyGame, ask: Ask, answer: Answer, asked_at: float) -> Reply | Malformed:
        raw = replace_surrogates(answer.text)
        extracted, game_text = self._read(told, ask, answer)
        if isinstance(game_text, Invalid) and game_text.codes[0] in ("cut", "unfinished"):
            raise self._no_answer(ask, answer, game_text)
        text = extracted.text if isinstance(game_text, Invalid) else game_text
        reasoning = None if answer.reasoning is None else replace_surrogates(answer.reasoning)
        reply = Reply(
            text,
            via="model",
            asked_at=asked_at,
            answered_at=clock.time(),
            model=answer.model,
            reasoning=join_reasoning(reasoning, extracted.reasoning),
            usage=_usage_record(answer) | ({"sent": dict(self._used)} if answer.sent else {}),
            cost=answer.cost,
            request_id=answer.request_id,
            asked=self._chat.state.user,
            raw=None if raw == text else raw,
        )
        return Malformed(reply, game_text) if isinstance(game_text, Invalid) else reply

    def _read(self, told: AnyGame, ask: Ask, answer: Answer) -> tuple[ExtractedText, str | Invalid]:
        """Split off the reasoning of an answer, and translate its text into the game's words."""
        extracted = extract_reasoning(replace_surrogates(answer.text))
        if not extracted.text and answer.reasoning:
            # A server's reasoning parser may have taken the whole answer for reasoning, including its end.
            marked = extract_reasoning(replace_surrogates(answer.reasoning))
            extracted = marked if marked.reasoning else extracted
        error = _finish_error(told, answer, extracted.text)
        return extracted, self._mode.game_text(told, ask, extracted.text, error)

    def _is_readable(self, told: AnyGame, ask: Ask, answer: Answer) -> bool:
        _, text = self._read(told, ask, answer)
        parsed = text if isinstance(text, Invalid) else told.parse(text, ask.seen)
        return not (isinstance(parsed, Invalid) and parsed.kind == "format")

    def _no_answer(self, ask: Ask, answer: Answer, invalid: Invalid) -> NoAnswer:
        room = max_output_tokens(answer.sent or self._parameters)
        limit = f" at {room:,} tokens" if room and invalid.codes[0] == "cut" else ""
        why = f"it was cut off{limit}" if invalid.codes[0] == "cut" else "it ended for an unknown reason"
        said = one_line(answer.text or answer.reasoning or "", 80)
        reason = f"no answer: {why} ({answer.finish}), asked {answer.attempts} times; it began: {said}"
        own = room if has_bound(self._parameters) else None
        return NoAnswer(reason, ask.seen.seat, invalid, answer.attempts, own)


def with_default_bound(model: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """Return request fields with the bound on output tokens that a model gets if the user sets none."""
    bound = model_traits(model).output
    return dict(parameters) if bound is None or has_bound(parameters) else {**parameters, "max_tokens": bound}


def _output_mode(settings: Settings, strategy: Scripted | None) -> FreeText:
    if strategy is not None:
        return ParaphraseMode(strategy)
    if settings.form == "schema":
        return SchemaMode(talk=settings.talk, max_tokens=settings.max_tokens or PLAIN_OUTPUT)
    return FreeText()


_ERRORS: dict[Ending, tuple[str, str]] = {
    "cut": ("cut", "cut"),
    "unknown": ("unfinished", "cut"),
    "filtered": ("filtered", "filtered"),
    "refused": ("refused", "declined"),
    "rejected": ("bad_json", "bad_json"),
    "called": ("called", "called"),
}
"""Rejection code for an answer that did not end well, and the name of the phrase that says so."""


def _finish_error(told: AnyGame, answer: Answer, text: str) -> Invalid | None:
    """Reject an answer for how it ended, or because it is empty."""
    empty = None if text.strip() else ("thoughts" if answer.reasoning else "empty", "empty")
    if (found := _ERRORS.get(answer.ending, empty)) is None:
        return None
    code, name = found
    return Invalid((code,), phrase(told, name), "format")


def _usage_record(answer: Answer) -> dict[str, Any]:
    """Return an answer's usage as a record keeps it, without unknown values."""
    tokens = answer.usage
    usage: dict[str, Any] = {
        "input": tokens.input,
        "output": tokens.output,
        "cached": tokens.cached,
        "reasoning": tokens.reasoning,
        "finish": answer.finish,
        "queued": answer.queued,
        "latency": answer.latency,
        "attempts": answer.attempts,
        "fingerprint": answer.fingerprint,
        "replayed": answer.replayed or None,
    }
    return {name: value for name, value in usage.items() if value is not None}


@cache
def _shared_models() -> EndpointProvider:
    """Return the models for all players that were made without any, so that they share limits."""
    from negolab.llm.models import Models

    return Models()
