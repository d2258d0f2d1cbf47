"""A seat's match as a chat: what it was told and what it answered, told once each, in order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec.structs import replace

from negolab.catalog import AnyGame
from negolab.events import Forfeited, Rejected, Replied
from negolab.game import Ask, Invalid, Observation, Reply
from negolab.players.endpoint.call import Message
from negolab.players.llm.sentences import sentences
from negolab.record import View

Seen = Observation[Any, Any]
Closing = Callable[[AnyGame, Seen], str]
"""What is added at the end of a turn's first message; called once for each turn, in order."""


def _nothing(told: AnyGame, seen: Seen) -> str:
    return ""


class Told(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Where a chat stands: `settled` messages, then `user`, which asks, and the `answer` to it as far as there is one.

    `seen` is what was told last, and `refused` and `end` are what single-shot messages of this turn end with."""

    settled: tuple[Message, ...] = ()
    user: str = ""
    answer: str | None = None
    turn: int = -1
    attempt: int = 0
    seen: Seen | None = None
    refused: tuple[str, ...] = ()
    end: str = ""


class Chat:
    """The messages for the next call, made from the ask before it: the work of a turn does not grow with the match.

    A turn opens with the game's prompt (what is new since the last one), goes on with a refusal for each rejected
    answer, and is closed by the answer that was accepted. With `whole`, each ask is one message that tells everything.
    `turn` counts the seat's turns from 0, `attempt` its rejections within one: together they name an answer.
    """

    def __init__(self, system: str | None = None, *, whole: bool = False, closing: Closing = _nothing) -> None:
        self._whole = whole
        self._closing = closing
        head: tuple[Message, ...] = () if system is None else (Message("system", system),)
        self._now = self._before = Told(settled=head)

    @property
    def asked(self) -> str:
        """The last message to the model."""
        return self._now.user

    @property
    def turn(self) -> int:
        return self._now.turn

    @property
    def attempt(self) -> int:
        return self._now.attempt

    def ask(self, told: AnyGame, ask: Ask) -> tuple[Message, ...]:
        """The messages that ask for the next answer. The same ask again takes the place of the last, and so does the
        next one where the last was neither answered nor rejected."""
        now, seen, count = self._now, ask.seen, len(ask.rejected)
        same = now.seen is not None and (seen is now.seen or seen == now.seen)
        if same and count == now.attempt:
            self._now = replace(now, answer=None)
        else:
            if now.answer is None and count <= now.attempt:
                now = self._before
            self._before = now
            self._now = self._next(told, ask, now)
        return self._now.settled + (Message("user", self._now.user),)  # noqa: RUF005 -- faster than unpacking

    def say(self, answer: str) -> None:
        """Note what the model answered, in the words that it will see as its own."""
        self._now = replace(self._now, answer=answer)

    def _next(self, told: AnyGame, ask: Ask, now: Told) -> Told:
        count = len(ask.rejected)
        if now.seen is not None and count > now.attempt:
            return self._again(told, ask, now)
        opened = self._open(told, ask, now)
        if now.seen is None and count:
            return self._again(told, ask, replace(opened, attempt=0))
        return opened

    def _open(self, told: AnyGame, ask: Ask, now: Told) -> Told:
        """A new turn."""
        seen, end = ask.seen, self._closing(told, ask.seen)
        begun = replace(now, turn=now.turn + 1, attempt=len(ask.rejected), seen=seen, refused=(), end=end)
        if self._whole:
            return self._everything(told, seen, begun)
        return _telling(begun, _paragraphs(told.prompt(seen, now.seen), end) or sentences(told).due)

    def _again(self, told: AnyGame, ask: Ask, now: Told) -> Told:
        """The same turn after a rejection, and what else has changed."""
        since, seen, rejected = now.seen, ask.seen, ask.rejected[now.attempt :]
        if rejected[-1].kind == "time":
            now = replace(now, answer=None)  # it came too late to be heard
        now = replace(now, attempt=len(ask.rejected), seen=seen)
        reason = " ".join(invalid.reason for invalid in rejected)
        if self._whole:
            refused = now.refused + (_earlier(told, now.answer, reason),)  # noqa: RUF005
            return self._everything(told, seen, replace(now, refused=refused))
        changed = since is not seen and since != seen
        news = told.prompt(seen, since) if changed else ""
        return _telling(now, _paragraphs(sentences(told).refusal(reason), news))

    def _everything(self, told: AnyGame, seen: Seen, now: Told) -> Told:
        user = _paragraphs(told.prompt(seen, None), *now.refused, now.end)
        return replace(now, user=user, answer=None)

    def recall(self, view: View, own: Callable[[Reply], str]) -> None:
        """Become the chat of a player that sat in this seat all the time; `own` gives the model's words of a reply."""
        told = view.told
        seen: Seen | None = None
        rejected: tuple[Invalid, ...] = ()
        before = rejected
        forfeited: Seen | None = None
        for entry in view.entries:
            if isinstance(entry, Observation):
                if forfeited is not None and entry.public != forfeited.public:
                    rejected = ()
                seen, forfeited = entry, None
            elif isinstance(entry, Replied) and seen is not None:
                self.ask(told, Ask(seen, rejected))
                self.say(own(entry.reply))
                before, rejected = rejected, ()
            elif isinstance(entry, Rejected) and seen is not None:
                if entry.wordless:
                    self.ask(told, Ask(seen, rejected))
                    before = rejected
                    if entry.said is not None:
                        self.say(own(entry.said))
                rejected = (*before, entry.invalid)
            elif isinstance(entry, Forfeited):
                forfeited = seen


def _telling(now: Told, text: str) -> Told:
    """Add a message to the model. One that it has not answered is gone on with: many chat templates refuse two
    messages in a row from one side."""
    if now.answer is None or not now.answer.strip():
        return replace(now, user=_paragraphs(now.user, text), answer=None)
    said = (Message("user", now.user), Message("assistant", now.answer))
    return replace(now, settled=now.settled + said, user=text, answer=None)


def _earlier(told: AnyGame, answer: str | None, reason: str) -> str:
    if answer is None or not answer.strip():
        return sentences(told).refusal(reason)
    return sentences(told).earlier(answer, reason)


def _paragraphs(*parts: str) -> str:
    return "\n\n".join([part for part in parts if part.strip()])
