"""A scripted player decides and the model words it."""

from __future__ import annotations

from string import Template
from typing import Any

from typing_extensions import override

from negolab.catalog import AnyGame
from negolab.game import Ask, Invalid
from negolab.players.forms import form_of
from negolab.players.llm.manner import Free, Seen
from negolab.players.llm.sentences import sentences
from negolab.players.player import Scripted

TRIES = 2
"""Rejections after which the game's own words are said, where the game would ask for ever."""


class Wording(Free):
    """What the model writes must make the move that was decided, else it is asked again. Where no try is left, the
    move is said in the game's own words (`Reply.raw` keeps the model's): wording never costs a seat its match."""

    def __init__(self, strategy: Scripted) -> None:
        self._strategy = strategy
        self._decided: Any = None
        self._words = ""

    @override
    def closing(self, told: AnyGame, seen: Seen) -> str:
        self._decided = self._strategy.reply(told, Ask(seen))
        self._words = told.say(self._decided)
        return Template(sentences(told).decided).safe_substitute(words=self._words)

    @override
    def words(self, told: AnyGame, ask: Ask, text: str, fault: Invalid | None) -> str | Invalid:
        found = fault or self._strayed(told, ask.seen, text)
        if found is None:
            return text
        left = TRIES - len(ask.rejected) if ask.retries_left is None else ask.retries_left
        return found if left > 0 else self._words

    def _strayed(self, told: AnyGame, seen: Seen, text: str) -> Invalid | None:
        """What is wrong with a text that does not make the move that was decided."""
        said = told.parse(text, seen)
        if isinstance(said, Invalid):
            return Invalid(said.codes, said.reason, said.kind)
        if form_of(told).same(told, seen, self._decided, said):
            return None
        reason = Template(sentences(told).strayed).safe_substitute(words=self._words)
        return Invalid(("other_move",), reason, "format")
