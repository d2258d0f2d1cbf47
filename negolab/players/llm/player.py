"""A language model at the table: it is told what its seat is told, and its answer is heard as the game's words."""

from __future__ import annotations

import time
from functools import cache, cached_property
from typing import Any

from negolab.catalog import AnyGame
from negolab.game import SEATS, Ask, Invalid, Malformed, Reply, Seat
from negolab.match import clean, new_id
from negolab.players.endpoint.call import Answer, Call
from negolab.players.endpoint.failures import NoMove
from negolab.players.llm.chat import Chat
from negolab.players.llm.filling import Filling
from negolab.players.llm.manner import Free
from negolab.players.llm.persona import persona
from negolab.players.llm.sentences import sentences
from negolab.players.llm.settings import Settings
from negolab.players.llm.thinking import joined, spoken
from negolab.players.llm.wording import Wording
from negolab.players.player import Place, Places, Scripted
from negolab.record import View

MOST_REFUSED = 20
"""Answers in a row that may be refused, where the game itself would ask for ever."""


class LLM:
    """One player for all games, for one seat of one match.

    `match` is the match's id: with seat, turn and attempt it names each answer, so that a match that goes on after a
    crash finds its answers again. Without one no answer is ever found again. Calls are ordered by when their player
    was made: the oldest match goes first. `strategy` decides in its place, and it finds the words.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        models: Places | None = None,
        match: str = "",
        strategy: Scripted | None = None,
    ) -> None:
        self.settings = settings
        self.match = match or new_id()
        self.began = time.monotonic()
        self.name = f"llm:{settings.model}"
        self.seats: tuple[Seat, ...] = SEATS if strategy is None else strategy.seats
        self.persona = None if settings.persona is None else persona(settings.persona)
        self._models = models
        self._sent = settings.sent()
        self._manner = _manner(settings, strategy)
        self._chat = self._new_chat()

    def _new_chat(self) -> Chat:
        system = None if self.persona is None else self.persona.text
        return Chat(system, whole=not self.settings.chat, closing=self._manner.closing)

    @cached_property
    def place(self) -> Place:
        """Where its model is reached."""
        models = _shared_models() if self._models is None else self._models
        return models.at(self.settings.base_url, self.settings.key)

    def notes(self) -> dict[str, Any]:
        """What a record's header says of it: all that shaped its answers, and no key."""
        given = self.settings
        shown: dict[str, Any] = {"model": given.model, "url": self.place.url, "form": given.form, "chat": given.chat}
        shown["parameters"] = self._sent
        if given.form == "schema":
            shown["talk"] = given.talk
        if given.strategy is not None:
            shown["strategy"] = given.strategy
        if self.persona is not None:
            shown["persona"] = {"file": self.persona.file, "sha256": self.persona.sha256}
        return shown

    def recall(self, view: View) -> None:
        """Take over a seat: know what it saw and said as if one had sat there all the time. What others said in its
        seat are its own words then."""
        self._chat = self._new_chat()
        self._chat.recall(view, self._manner.own)

    async def reply(self, told: AnyGame, ask: Ask) -> Reply | Malformed:
        """The answer, `Malformed` if it never became words of the game. `GameFailed` and `RunFailed` pass through."""
        if len(ask.rejected) >= MOST_REFUSED:
            raise NoMove(f"{MOST_REFUSED} answers in a row were no move of the game: {ask.rejected[-1].reason}")
        asked_at = time.time()
        answer = await self.place.answer(self._call(told, ask))
        heard = self._heard(told, ask, answer, asked_at)
        self._chat.say(self._manner.own(heard.reply if isinstance(heard, Malformed) else heard))
        return heard

    def _call(self, told: AnyGame, ask: Ask) -> Call:
        messages = self._chat.ask(told, ask)
        return Call(
            model=self.settings.model,
            messages=messages,
            params={**self._sent, **self._manner.body(told, ask.seen)},
            repetition=(self.match, ask.seen.seat, self._chat.turn, self._chat.attempt),
            began=self.began,
        )

    def _heard(self, told: AnyGame, ask: Ask, answer: Answer, asked_at: float) -> Reply | Malformed:
        raw = clean(answer.text)
        said = spoken(raw)
        words = self._manner.words(told, ask, said.text, _fault(told, answer.finish, said.text))
        text = said.text if isinstance(words, Invalid) else words
        thought = None if answer.reasoning is None else clean(answer.reasoning)
        reply = Reply(
            text,
            via="model",
            asked_at=asked_at,
            answered_at=time.time(),
            model=answer.model,
            reasoning=joined(thought, said.thought),
            usage=_usage(answer),
            cost=answer.cost,
            request_id=answer.request_id,
            asked=self._chat.asked,
            raw=None if raw == text else raw,
        )
        return Malformed(reply, words) if isinstance(words, Invalid) else reply


def _manner(settings: Settings, strategy: Scripted | None) -> Free:
    if strategy is not None:
        return Wording(strategy)
    if settings.form == "schema":
        return Filling(talk=settings.talk, max_tokens=settings.max_tokens)
    return Free()


def _fault(told: AnyGame, finish: str, text: str) -> Invalid | None:
    """Why an answer cannot be heard at all, whatever it says."""
    words = sentences(told)
    if finish == "content_filter":
        return Invalid(("filtered",), words.filtered, "format")
    if finish == "refusal":
        return Invalid(("refused",), words.declined, "format")
    if finish == "length":
        return Invalid(("cut",), words.cut, "format")
    return None if text.strip() else Invalid(("empty",), words.empty, "format")


def _usage(answer: Answer) -> dict[str, Any]:
    """What the answer took, without what is not known."""
    used = answer.usage
    shown: dict[str, Any] = {
        "input": used.input,
        "output": used.output,
        "cached": used.cached,
        "reasoning": used.reasoning,
        "finish": answer.finish,
        "queued": answer.queued,
        "latency": answer.latency,
        "attempts": answer.attempts,
        "fingerprint": answer.fingerprint,
        "replayed": answer.replayed or None,
    }
    return {name: value for name, value in shown.items() if value is not None}


@cache
def _shared_models() -> Places:
    """The endpoints of players that were made without any: one scheduler for all of them."""
    from negolab.players.endpoint.models import Models

    return Models()
