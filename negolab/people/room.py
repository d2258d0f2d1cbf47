"""A match with people at it: the other seats answer, and every change is kept before anyone sees it."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol

from negolab.catalog import AnyGame
from negolab.events import Event
from negolab.game import SEATS, Reply, Seat
from negolab.match import Match
from negolab.people.sitting import Sitting, Table
from negolab.play import hear
from negolab.players.endpoint.failures import GameFailed, RunFailed
from negolab.players.player import Player, Recalling
from negolab.record import Record

log = logging.getLogger("negolab.people")

FAILED = "the other seat's player failed"
LONGEST = 100_000
"""Characters of a message."""


class Unheard(Exception):
    """Words that did not reach the match: it stands as it stood. The reason is for the person."""


def sendable(text: str) -> None:
    """`Unheard` for words that are none, or too many."""
    if not text.strip():
        raise Unheard("There is nothing to send yet: write a message or choose an option.")
    if len(text) > LONGEST:
        raise Unheard(f"Your message has {len(text)} characters; {LONGEST} are the most.")


class Chair(Protocol):
    """A seat at a match, in this process or through the host: all that a person's controls need."""

    @property
    def seat(self) -> Seat: ...

    @property
    def game(self) -> AnyGame:
        """The game as this seat may know it."""
        ...

    @property
    def fronted(self) -> bool:
        """Whether the game speaks to this seat in fixed texts of its own."""
        ...

    def table(self) -> Table:
        """What stands before the seat now."""
        ...

    def say(self, text: str, turn: int) -> str:
        """Reply as number `turn`; why it was not accepted, "" if it was. `Unheard` if it did not reach the match."""
        ...

    def watch(self, changed: Callable[[], None]) -> None:
        """Have `changed` called whenever something happened at the table."""
        ...


Keep = Callable[[Match, int, Sequence[Event]], None]
"""Called with the match, the number of its events that are kept already, and the new ones."""


class Room:
    """A match, the players of its other seats, and a `Sitting` for each person's seat.

    `keep` writes new events for good; if it raises, the match stands as before. `delay(match)` is how many seconds an
    answer of a scripted player takes. `kept`: how many events of the match are kept already.
    """

    def __init__(
        self,
        match: Match,
        players: Mapping[Seat, Player],
        *,
        keep: Keep | None = None,
        delay: Callable[[Match], float] | None = None,
    ) -> None:
        self.match = match
        self.players = dict(players)
        self.sittings = {seat: Sitting(match, seat) for seat in SEATS if seat not in players}
        self.thinking: asyncio.Future[Any] | None = None
        self._keep, self._delay = keep, delay
        self._watchers: list[Callable[[], None]] = []
        self._kept = len(match.events)
        recall(match, players)
        self._stuck = False

    @classmethod
    def resumed(cls, record: Record, players: Mapping[Seat, Player], **options: Any) -> Room:
        """The room of a match that was kept, each seat with the same history as before."""
        stages = Match.stages(record)
        room = cls(next(stages), players, **options)
        for match in stages:
            room._listen(match.events[room._kept :])
            room._kept = len(match.events)
        recall(room.match, players)
        return room

    def watch(self, changed: Callable[[], None]) -> None:
        """Have `changed` called after every change."""
        self._watchers.append(changed)

    def chair(self, seat: Seat) -> _Chair:
        """A person's seat at this match."""
        return _Chair(self, seat)

    # What a person does.

    def say(self, seat: Seat, text: str, turn: int) -> str:
        """A person's words; why they were not accepted, "" if they were."""
        match, sitting = self.match, self.sittings[seat]
        if not match.asks(seat):
            raise Unheard("The match is over." if match.ended else "It is not your turn.")
        if turn != sitting.turn:
            raise Unheard("The table has changed since. Look again, then answer.")
        sendable(text)
        events = match.submit(seat, Reply(text, via="table"))
        self._settle()
        refused = sitting.refusal(match, events)
        self.advance()
        return refused

    def stop(self, reason: str) -> None:
        """End the match from outside the rules."""
        if self.thinking is not None:
            self.thinking.cancel()
            self.thinking = None
        self.match.abort(reason)
        self._settle()
        self._tell()

    # What the others do.

    def advance(self) -> None:
        """Let the other seats answer as far as they can, then tell who watches."""
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
                hear(self.match, seat, answer)
            except Exception as error:
                self._failed(error)
            self._settle()
        self._tell()

    def advance_if_stuck(self) -> None:
        """`advance`, if another seat is asked and nobody works on its answer."""
        if self.thinking is None and self._next() is not None:
            self._go_on()

    def _next(self) -> tuple[Seat, Player] | None:
        return next(((s, p) for s, p in self.players.items() if self.match.asks(s)), None)

    async def _asked(self, seat: Seat, player: Player, seconds: float) -> Any:
        """Ask a player only when it is to seem to have thought."""
        await asyncio.sleep(seconds)
        answer = player.reply(self.match.told(seat), self.match.pending()[seat])
        return await answer if inspect.isawaitable(answer) else answer

    def _think(self, seat: Seat, answer: Awaitable[Any]) -> None:
        """Wait for an answer that takes its time."""
        self.thinking = asyncio.ensure_future(answer)
        self.thinking.add_done_callback(partial(self._thought, self.match, seat))

    def _thought(self, match: Match, seat: Seat, answer: asyncio.Future[Any]) -> None:
        """Hear an answer, if the match is still the one in which it was asked for."""
        if answer is self.thinking:
            self.thinking = None
        if answer.cancelled():
            return
        try:
            found = answer.result()
            if match is self.match and match.asks(seat):
                hear(match, seat, found)
        except Exception as error:
            self._failed(error)
        self._go_on()

    def _go_on(self) -> None:
        """After an answer that took its time, or that nobody waits for."""
        try:
            self.advance()
            self._stuck = False
        except Exception:
            # The answer could not be kept and is not heard; whoever restarts the room asks again. It is told once.
            if not self._stuck:
                log.exception("a match could not go on")
            self._stuck = True

    def _failed(self, error: Exception) -> None:
        """The other seat's player failed: the match cannot go on, but what was played is kept."""
        if isinstance(error, GameFailed | RunFailed):
            # Words for the researcher: a reason stands in records, and on no seat's screen.
            log.warning("%s: %s", FAILED, error)
            self.match.abort(f"{FAILED}: {error}")
            return
        log.error(FAILED, exc_info=error)
        self.match.abort(FAILED)

    # What everything goes through.

    def _settle(self) -> None:
        """Keep what is new, then let each seat hear of it; nothing stands that could not be kept."""
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
        for sitting in self.sittings.values():
            sitting.heard(self.match, news)

    def _tell(self) -> None:
        for changed in self._watchers:
            changed()


def recall(match: Match, players: Mapping[Seat, Player]) -> None:
    """Let players that sit down at a running match know what their seats saw and said so far."""
    if len(match.events) == 1:
        return
    for seat, player in players.items():
        if isinstance(player, Recalling):
            player.recall(match.record().seen_by(seat))


class _Chair:
    """A seat of a room in this process."""

    def __init__(self, room: Room, seat: Seat) -> None:
        self.seat = seat
        self._room = room

    @property
    def game(self) -> AnyGame:
        return self._room.match.told(self.seat)

    @property
    def fronted(self) -> bool:
        return self._room.sittings[self.seat].fronted

    def table(self) -> Table:
        return self._room.sittings[self.seat].table(self._room.match)

    def say(self, text: str, turn: int) -> str:
        return self._room.say(self.seat, text, turn)

    def watch(self, changed: Callable[[], None]) -> None:
        self._room.watch(changed)
