"""A seat's match as a chat: prompts and answers as messages, each sent once and in order."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from msgspec.structs import replace

from negolab.catalog import AnyGame
from negolab.events import Forfeited, Rejected, Replied
from negolab.game import Ask, Invalid, Observation, Reply, Seen
from negolab.llm.endpoint.call import Message
from negolab.llm.output_modes import FreeText, phrase
from negolab.record import SeatRecord


class ChatState(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The messages so far: `settled` ones, then the `user` message, and its `answer` if there is one.

    `seen` is the last observation in them; `rejections` and `suffix` end the single-shot messages of this turn.
    """

    settled: tuple[Message, ...] = ()
    user: str = ""
    answer: str | None = None
    turn: int = -1
    attempt: int = 0
    seen: Seen | None = None
    rejections: tuple[str, ...] = ()
    suffix: str = ""


class Chat:
    """Build each call's messages from those of the previous call: a turn's work does not grow with the match.

    A turn opens with the game's prompt (what is new since the last one), continues with the reason for each rejected
    answer, and ends with the accepted answer. `turn` counts the seat's turns from 0, and `attempt` the rejections
    within a turn: together they identify an answer.

    Args:
        mode: Writes the prompts and the end of a turn's first message.
        system: The system message (None: none).
        single_message: Send everything in one message per call instead of a chat.
        last: Number of last exchanges to send after the opening one (None: all).
    """

    def __init__(
        self, mode: FreeText, system: str | None = None, *, single_message: bool = False, last: int | None = None
    ) -> None:
        self._mode = mode
        self._single_message = single_message
        head: tuple[Message, ...] = () if system is None else (Message("system", system),)
        self.state = self._previous = ChatState(settled=head)
        self._last, self._opening = last, len(head) + 2

    def next_messages(self, told: AnyGame, ask: Ask) -> tuple[Message, ...]:
        """Return the messages that ask for the next answer.

        A repeated ask replaces the last one; so does the next ask if the last was neither answered nor rejected.
        """
        state, seen, count = self.state, ask.seen, len(ask.rejected)
        is_same = state.seen is not None and (seen is state.seen or seen == state.seen)
        if is_same and count == state.attempt:
            self.state = replace(state, answer=None)
        else:
            if state.answer is None and count <= state.attempt:
                state = self._previous
            self._previous = state
            self.state = self._next(told, ask, state)
        return self.messages

    @property
    def messages(self) -> tuple[Message, ...]:
        """The messages that ask for an answer."""
        settled = self.state.settled
        if self._last is not None:
            settled = settled[: self._opening] + settled[self._opening :][-2 * self._last :]
        return settled + (Message("user", self.state.user),)  # noqa: RUF005 -- faster than unpacking

    def record_answer(self, answer: str) -> None:
        """Add the model's answer, in the text that it will see as its own."""
        self.state = replace(self.state, answer=answer)

    def _next(self, told: AnyGame, ask: Ask, state: ChatState) -> ChatState:
        count = len(ask.rejected)
        if state.seen is not None and count > state.attempt:
            return self._add_rejection(told, ask, state)
        opened = self._open_turn(told, ask, state)
        if state.seen is None and count:
            return self._add_rejection(told, ask, replace(opened, attempt=0))
        return opened

    def _open_turn(self, told: AnyGame, ask: Ask, state: ChatState) -> ChatState:
        seen, suffix = ask.seen, self._mode.turn_suffix(told, ask.seen)
        opened = replace(state, turn=state.turn + 1, attempt=len(ask.rejected), seen=seen, rejections=(), suffix=suffix)
        if self._single_message:
            return self._tell_everything(told, seen, opened)
        return _append_user(
            opened, _paragraphs(self._mode.prompt(told, seen, state.seen), suffix) or phrase(told, "due")
        )

    def _add_rejection(self, told: AnyGame, ask: Ask, state: ChatState) -> ChatState:
        """Continue the same turn after a rejection, and report what else has changed."""
        since, seen, rejected = state.seen, ask.seen, ask.rejected[state.attempt :]
        if rejected[-1].kind == "time":
            state = replace(state, answer=None)  # it came too late to count
        state = replace(state, attempt=len(ask.rejected), seen=seen)
        reason = " ".join(invalid.reason for invalid in rejected)
        if self._single_message:
            rejections = state.rejections + (_quote_rejected(told, state.answer, reason),)  # noqa: RUF005
            return self._tell_everything(told, seen, replace(state, rejections=rejections))
        is_changed = since is not seen and since != seen
        news = self._mode.prompt(told, seen, since) if is_changed else ""
        return _append_user(state, _paragraphs(phrase(told, "refused", reason=reason), news))

    def _tell_everything(self, told: AnyGame, seen: Seen, state: ChatState) -> ChatState:
        user = _paragraphs(self._mode.prompt(told, seen, None), *state.rejections, state.suffix)
        return replace(state, user=user, answer=None)

    def recall(self, view: SeatRecord, model_text: Callable[[Reply], str]) -> None:
        """Become the chat of a player that had this seat from the start; `model_text` returns the answer in a reply."""
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
                self.next_messages(told, Ask(seen, rejected))
                self.record_answer(model_text(entry.reply))
                before, rejected = rejected, ()
            elif isinstance(entry, Rejected) and seen is not None:
                if entry.wordless:
                    self.next_messages(told, Ask(seen, rejected))
                    before = rejected
                    if entry.said is not None:
                        self.record_answer(model_text(entry.said))
                rejected = (*before, entry.invalid)
            elif isinstance(entry, Forfeited):
                forfeited = seen


def _append_user(state: ChatState, text: str) -> ChatState:
    """Add a message to the model; extend an unanswered one, because many chat templates reject two in a row."""
    if state.answer is None or not state.answer.strip():
        return replace(state, user=_paragraphs(state.user, text), answer=None)
    exchange = (Message("user", state.user), Message("assistant", state.answer))
    return replace(state, settled=state.settled + exchange, user=text, answer=None)


def _quote_rejected(told: AnyGame, answer: str | None, reason: str) -> str:
    if answer is None or not answer.strip():
        return phrase(told, "refused", reason=reason)
    return phrase(told, "said", answer=answer, reason=reason)


def _paragraphs(*parts: str) -> str:
    return "\n\n".join([part for part in parts if part.strip()])
