"""Sessions of matches with people: a match, its automated players, and the conversation of each person's seat.

Every change is saved before anyone sees it.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, Literal, Protocol

import msgspec

from negolab.catalog import AnyGame, text_front
from negolab.events import Event, Rejected, Replied
from negolab.game import SEATS, Observation, Reply, Seat, other
from negolab.llm.endpoint.errors import GameFailed, RunFailed
from negolab.match import Match
from negolab.protocols import Player, ResumablePlayer
from negolab.record import Record, SeatOutcome
from negolab.runs.driver import submit_reply

PERSON = "person"
"""Name that a record gives to a person's seat."""
LEFT, STOPPED = "left by the person", "stopped by the person"
"""Reasons that records give for matches and branches that a person stopped."""


class TalkEntry(msgspec.Struct, frozen=True):
    """One entry of a seat's conversation: a reply (`own`), a text of the game (`told`), or a refusal (`refused`)."""

    kind: Literal["own", "told", "refused"]
    text: str


class SeatView(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that is sent to a seat's screen."""

    seen: Observation[Any, Any]
    asked: bool
    """True if the seat is asked for a reply now."""
    left: int | None
    """Retries left after invalid replies; None: unlimited, or the seat is not asked."""
    said: tuple[TalkEntry, ...]
    rules: str
    """The rules as the seat was given them."""
    closing: SeatOutcome | None
    """Outcome of the match; None while it runs."""
    turn: int
    """Number of replies that the seat has given."""


class SeatSession:
    """Conversation and rules of one person's seat, built from the match's events.

    Feed it the events reply by reply: a live match and a replayed one then give the same conversation.
    """

    def __init__(self, match: Match, seat: Seat) -> None:
        self.seat = seat
        # Fixed texts call the opponent a machine, so they do not fit a match between two people.
        person = match.players.get(other(seat)) == PERSON
        self._front = None if person else text_front(match.game, seat)
        self._said: list[TalkEntry] = []
        self._rules = "" if self._front else match.told(seat).prompt(match.seen(seat), None)
        self._texts = 0
        self._since = match.seen(seat)
        self._unread = True
        self.turn = 0
        self._read(match, self._since)

    @property
    def fronted(self) -> bool:
        """True if the game provides fixed texts for this seat."""
        return self._front is not None

    def heard(self, match: Match, events: Sequence[Event]) -> None:
        """Add new events of `match` to the conversation."""
        for event in events:
            match event:
                case Replied(seat, reply) if seat == self.seat:
                    self._said.append(TalkEntry("own", reply.text))
                    self.turn += 1
                case Rejected(seat, invalid) if seat == self.seat and not self._front:
                    self._said.append(TalkEntry("refused", invalid.reason))
        self._read(match, match.seen(self.seat))

    def _read(self, match: Match, seen: Observation[Any, Any]) -> None:
        """Add newly visible information to the conversation, if the seat is asked or the match is over."""
        if not (match.asks(self.seat) or match.ended is not None):
            return
        if self._front is not None:
            texts = self._front(match.events)
            self._rules = self._rules or (texts[0] if texts else "")
            self._said += [TalkEntry("told", text) for text in texts[self._texts :]]
            self._texts = len(texts)
        elif self._unread or seen != self._since:
            if news := match.told(self.seat).prompt(seen, self._since).strip():
                self._said.append(TalkEntry("told", news))
            self._since, self._unread = seen, False

    def refusal(self, match: Match, events: Sequence[Event]) -> str:
        """Return the reason for which `events` reject the seat's reply, in the game's fixed text if it has any.

        "" if the reply was accepted.
        """
        reasons = [e.invalid.reason for e in events if isinstance(e, Rejected) and e.seat == self.seat]
        return self._front(match.events)[-1] if reasons and self._front else " ".join(reasons)

    def table(self, match: Match) -> SeatView:
        """Return the seat's current view."""
        ended, asked = match.ended, match.asks(self.seat)
        return SeatView(
            seen=match.seen(self.seat),
            asked=asked,
            left=match.pending()[self.seat].retries_left if asked else None,
            said=tuple(self._said),
            rules=self._rules,
            closing=None if ended is None else SeatOutcome(ended.end, ended.payoffs[self.seat]),
            turn=self.turn,
        )


log = logging.getLogger("negolab.studies")

FAILED = "the other seat's player failed"
LONGEST = 100_000
"""Largest number of characters of a message."""


class NotDelivered(Exception):
    """A message or action was not carried out and the match is unchanged. The text is shown to the person."""


def check_message(text: str) -> None:
    """Raise `NotDelivered` if `text` is blank or longer than `LONGEST` characters."""
    if not text.strip():
        raise NotDelivered("There is nothing to send yet: write a message or choose an option.")
    if len(text) > LONGEST:
        raise NotDelivered(f"Your message has {len(text)} characters; {LONGEST} are the most.")


class SeatHandle(Protocol):
    """A person's seat at a match, in this process or at the host: the interface that controls are built on."""

    @property
    def seat(self) -> Seat: ...

    @property
    def game(self) -> AnyGame:
        """The game without the parameters that are hidden from this seat."""
        ...

    @property
    def fronted(self) -> bool:
        """True if the game provides fixed texts for this seat."""
        ...

    def table(self) -> SeatView:
        """Return the seat's current view."""
        ...

    def say(self, text: str, turn: int) -> str:
        """Submit a reply.

        Args:
            text: Text of the reply.
            turn: `SeatView.turn` of the view that the person answers; guards against outdated pages.

        Returns:
            The reason for which the game rejected the reply; "" if it was accepted.

        Raises:
            NotDelivered: The reply did not reach the match.
        """
        ...

    def watch(self, changed: Callable[[], None]) -> None:
        """Register a callback that is called after every change of the seat's view."""
        ...


SaveEvents = Callable[[Match, int, Sequence[Event]], None]
"""Function that saves events: called with the match, the number of events saved before, and the new events."""


class MatchSession:
    """A match, its automated players, and a `SeatSession` for each person's seat.

    Args:
        match: The match. Events that it holds already count as saved.
        players: Automated players by seat; every other seat is a person's.
        keep: Saves new events durably; if it raises, the match returns to its last saved state. None: saves nothing.
        delay: Seconds that a player's next answer is held back; None: no delay.
    """

    def __init__(
        self,
        match: Match,
        players: Mapping[Seat, Player],
        *,
        keep: SaveEvents | None = None,
        delay: Callable[[Match], float] | None = None,
    ) -> None:
        self.match = match
        self.players = dict(players)
        self.seat_sessions = {seat: SeatSession(match, seat) for seat in SEATS if seat not in players}
        self.thinking: asyncio.Future[Any] | None = None
        self._keep, self._delay = keep, delay
        self._watchers: list[Callable[[], None]] = []
        self._kept = len(match.events)
        resume_players(match, players)
        self._stuck = False

    @classmethod
    def resumed(cls, record: Record, players: Mapping[Seat, Player], **options: Any) -> MatchSession:
        """Rebuild the session of a saved match; each seat has the same conversation as before.

        Args:
            record: Record of the match, finished or not.
            players: Automated players by seat.
            **options: Keyword arguments of the constructor.

        Raises:
            ValueError: The record's game is not known, or its events are not legal.
        """
        stages = Match.replay_stages(record)
        room = cls(next(stages), players, **options)
        for match in stages:
            room._listen(match.events[room._kept :])
            room._kept = len(match.events)
        resume_players(room.match, players)
        return room

    def watch(self, changed: Callable[[], None]) -> None:
        """Register a callback that is called after every change."""
        self._watchers.append(changed)

    def chair(self, seat: Seat) -> _LocalSeat:
        """Return a handle of a person's seat."""
        return _LocalSeat(self, seat)

    # Actions of people.

    def say(self, seat: Seat, text: str, turn: int) -> str:
        """Submit a person's reply, then let the automated players answer.

        Args:
            seat: Seat of the person.
            text: Text of the reply.
            turn: Number of replies that the person's page knows of; must be the seat's current one.

        Returns:
            The reason for which the game rejected the reply; "" if it was accepted.

        Raises:
            NotDelivered: The match is over, the seat is not asked, the page is outdated, or the text is blank or too
                long.
        """
        match, sitting = self.match, self.seat_sessions[seat]
        if not match.asks(seat):
            raise NotDelivered("The match is over." if match.ended else "It is not your turn.")
        if turn != sitting.turn:
            raise NotDelivered("The table has changed since. Look again, then answer.")
        check_message(text)
        events = match.submit(seat, Reply(text, via="table"))
        self._settle()
        refused = sitting.refusal(match, events)
        self.advance()
        return refused

    def stop(self, reason: str) -> None:
        """Abort the match, cancelling an answer that is under way; `reason` is recorded."""
        if self.thinking is not None:
            self.thinking.cancel()
            self.thinking = None
        self.match.abort(reason)
        self._settle()
        self._tell()

    # Answers of automated players.

    def advance(self) -> None:
        """Ask automated players until it is a person's turn or an answer takes time, then notify the watchers."""
        self._settle()
        while self.thinking is None and (waiting := self._next()) is not None:
            seat, player = waiting
            seconds = self._delay(self.match) if self._delay is not None else 0
            if seconds > 0:
                self._think(seat, self._asked(seat, player, seconds))
                break
            try:
                answer = player.reply(self.match.told(seat), self.match.pending()[seat])
                if inspect.isawaitable(answer):
                    self._think(seat, answer)
                    break
                submit_reply(self.match, seat, answer)
            except Exception as error:
                self._failed(error)
            self._settle()
        self._tell()

    def advance_if_stuck(self) -> None:
        """Call `advance` if an automated player is asked and no answer is under way; errors are logged once."""
        if self.thinking is None and self._next() is not None:
            self._go_on()

    def _next(self) -> tuple[Seat, Player] | None:
        return next(((s, p) for s, p in self.players.items() if self.match.asks(s)), None)

    async def _asked(self, seat: Seat, player: Player, seconds: float) -> Any:
        """Ask a player after a simulated thinking time."""
        await asyncio.sleep(seconds)
        answer = player.reply(self.match.told(seat), self.match.pending()[seat])
        return await answer if inspect.isawaitable(answer) else answer

    def _think(self, seat: Seat, answer: Awaitable[Any]) -> None:
        """Track an asynchronous answer as `thinking`."""
        self.thinking = asyncio.ensure_future(answer)
        self.thinking.add_done_callback(partial(self._thought, self.match, seat))

    def _thought(self, match: Match, seat: Seat, answer: asyncio.Future[Any]) -> None:
        """Submit a finished answer, unless the match was rolled back or ended since the question."""
        if answer is self.thinking:
            self.thinking = None
        if answer.cancelled():
            return
        try:
            found = answer.result()
            if match is self.match and match.asks(seat):
                submit_reply(match, seat, found)
        except Exception as error:
            self._failed(error)
        self._go_on()

    def _go_on(self) -> None:
        """Advance outside a caller's request, where nobody could handle an exception."""
        try:
            self.advance()
            self._stuck = False
        except Exception:
            # The answer could not be saved and was dropped; the next `advance_if_stuck` asks again. Logged once.
            if not self._stuck:
                log.exception("a match could not go on")
            self._stuck = True

    def _failed(self, error: Exception) -> None:
        """Abort the match after an error of an automated player; the events so far stay."""
        if isinstance(error, GameFailed | RunFailed):
            # The text is meant for the researcher: reasons go into records, never to a seat's screen.
            log.warning("%s: %s", FAILED, error)
            self.match.abort(f"{FAILED}: {error}")
            return
        log.error(FAILED, exc_info=error)
        self.match.abort(FAILED)

    def _settle(self) -> None:
        """Save new events, then pass them to each seat; if saving fails, roll the match back and raise."""
        match = self.match
        news = match.events[self._kept :]
        if not news:
            return
        if self._keep is not None:
            try:
                self._keep(match, self._kept, news)
            except BaseException:
                self.match = Match.replay(match.record(), self._kept)
                raise
        self._kept = len(match.events)
        self._listen(news)

    def _listen(self, news: Sequence[Event]) -> None:
        for sitting in self.seat_sessions.values():
            sitting.heard(self.match, news)

    def _tell(self) -> None:
        for changed in self._watchers:
            changed()


def resume_players(match: Match, players: Mapping[Seat, Player]) -> None:
    """Give players that take over a running match what their seats have seen and said so far."""
    if len(match.events) == 1:
        return
    for seat, player in players.items():
        if isinstance(player, ResumablePlayer):
            player.recall(match.record().seen_by(seat))


class _LocalSeat:
    """A seat of a session in this process: a `SeatHandle`."""

    def __init__(self, room: MatchSession, seat: Seat) -> None:
        self.seat = seat
        self._room = room

    @property
    def game(self) -> AnyGame:
        return self._room.match.told(self.seat)

    @property
    def fronted(self) -> bool:
        return self._room.seat_sessions[self.seat].fronted

    def table(self) -> SeatView:
        return self._room.seat_sessions[self.seat].table(self._room.match)

    def say(self, text: str, turn: int) -> str:
        return self._room.say(self.seat, text, turn)

    def watch(self, changed: Callable[[], None]) -> None:
        self._room.watch(changed)
