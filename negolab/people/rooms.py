"""All rooms of a host: each match is kept in the database event by event, and resumed from there."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from negolab.events import Ended, Event
from negolab.game import Observation, Seat
from negolab.match import Match
from negolab.people.database import Database, Sat
from negolab.people.endpoints import NONE
from negolab.people.parts import Delay, Ending, Limits
from negolab.people.room import Room
from negolab.plan import derived
from negolab.play import made, seated
from negolab.players.player import Places, Player
from negolab.record import Record
from negolab.store import Store

log = logging.getLogger("negolab.people")

FREE, AT_ONCE = Limits(), Delay()
"""No time limit; no delay of an answer."""

Endings = Callable[[Sat, Ended], Mapping[str, Ending]]
"""For whom the study ends with a match, and how."""


class Clock:
    """When the limits of one match run out, in seconds of `time.monotonic`. After a restart of the host they begin
    anew: nobody pays for our time."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._began = time.monotonic()
        self._asked: dict[Seat, tuple[Observation[object, object], float]] = {}

    def look(self, room: Room) -> None:
        """Note who is being asked since when; a refused reply does not start the time again."""
        for seat in room.sittings:
            if not room.match.asks(seat):
                self._asked.pop(seat, None)
            elif (seen := room.match.seen(seat)) != self._asked.get(seat, (None,))[0]:
                self._asked[seat] = (seen, time.monotonic())

    def left(self, seat: Seat) -> tuple[float, str] | None:
        """Seconds until the nearest limit of a seat, and which; None: none runs."""
        now, ends = time.monotonic(), []
        if self.limits.reply is not None and seat in self._asked:
            ends.append((self._asked[seat][1] + self.limits.reply - now, "reply"))
        if self.limits.match is not None:
            ends.append((self._began + self.limits.match - now, "match"))
        return min(ends) if ends else None


class Open(NamedTuple):
    """A match that is open: what the database knows of it, its room, and its clock."""

    sat: Sat
    room: Room
    clock: Clock


class Rooms:
    """The running matches, and those that ended a moment ago. `endings` says for whom the study ends with a match;
    `changed` is called after each change of one; finished records are also appended to `store`; language models are
    reached through `models`."""

    def __init__(self, database: Database, store: Callable[[], Store] | None = None, models: Places = NONE) -> None:
        self._database, self._store, self._models = database, store, models
        self.endings: Endings = lambda sat, ended: {}
        self.changed: Callable[[Sat], None] = lambda sat: None
        self._open: dict[str, Open] = {}

    def begin(
        self,
        match: Match,
        people: Mapping[Seat, str | None],
        *,
        study: str | None = None,
        treatment: str | None = None,
        practice: int = 0,
        limits: Limits = FREE,
        delay: Delay = AT_ONCE,
    ) -> Room:
        """Keep a new match and open its room; `people` names the participant (or None) of each person's seat."""
        sat = Sat(match.id, study, treatment, practice, time.time(), None, dict(people))
        players = seated(match, self._models, people)
        kept = match.record()
        ended = self.endings(sat, match.ended) if match.ended else {}
        self._database.add(
            kept.header, kept.events, dict(people), study=study, treatment=treatment, practice=practice, endings=ended
        )
        room = Room(match, players, keep=self._keep, delay=_delay(delay))
        if match.ended is not None:
            self._file(kept)
        return self._opened(sat, room, limits)

    def resume(self, sat: Sat, limits: Limits = FREE, delay: Delay = AT_ONCE) -> Room:
        """The room of a match that the database holds."""
        if sat.id in self._open:
            return self._open[sat.id].room
        record = self._database.record(sat.id)
        room = Room.resumed(record, self._players(record, sat.people), keep=self._keep, delay=_delay(delay))
        return self._opened(sat, room, limits)

    def _players(self, record: Record, people: Collection[Seat]) -> dict[Seat, Player]:
        """The players of the seats where no person sits, by their names in the record."""
        header, game = record.header, record.game
        return {
            seat: made(name, game, header.seed or 0, seat, models=self._models, match=header.id)
            for seat, name in header.players.items()
            if seat not in people
        }

    def _opened(self, sat: Sat, room: Room, limits: Limits) -> Room:
        self._open[sat.id] = Open(sat, room, Clock(limits))
        room.watch(lambda: self._look(sat))
        room.advance()
        return room

    def close(self, match: str) -> None:
        """Forget a finished match; the database keeps it."""
        self._open.pop(match, None)

    def sweep(self, shown: Callable[[Sat], bool]) -> None:
        """Close the rooms of finished matches that nobody's page shows; one that does has it opened again."""
        over = [sat for sat, room, _ in self._open.values() if room.match.ended is not None]
        for sat in over:
            if not shown(sat):
                self.close(sat.id)

    def clock(self, match: str) -> Clock:
        return self._open[match].clock

    def running(self) -> list[Open]:
        """The matches that have not ended."""
        return [at for at in self._open.values() if at.room.match.ended is None]

    def late(self) -> list[tuple[Sat, Room, list[Seat]]]:
        """Running matches with the seats whose time is up."""
        found = []
        for sat, room, clock in self.running():
            over = [seat for seat in room.sittings if (left := clock.left(seat)) is not None and left[0] <= 0]
            if over:
                found.append((sat, room, over))
        return found

    def nudge(self) -> None:
        """Go on where a scripted seat is asked and nobody thinks: its answer could not be kept the last time."""
        for at in self.running():
            at.room.advance_if_stuck()

    def _look(self, sat: Sat) -> None:
        _, room, clock = self._open[sat.id]
        clock.look(room)
        self.changed(sat)

    def _keep(self, match: Match, seq: int, news: Sequence[Event]) -> None:
        last = news[-1]
        sat = self._open[match.id].sat
        self._database.append(match.id, seq, news, self.endings(sat, last) if isinstance(last, Ended) else {})
        if isinstance(last, Ended):
            self._file(self._database.record(match.id))

    def file_all(self) -> None:
        """Write the finished records that the folder lacks: a host that was killed may have left some."""
        if self._store is not None:
            done = [sat.id for sat in self._database.matches() if sat.ended is not None]
            with self._store() as store:
                there = store.ids()
                for id in done:
                    if id not in there:
                        store.append(self._database.record(id))

    def _file(self, record: Record) -> None:
        """Append a finished record to the folder; where that fails it is in the database, and written at a restart."""
        if self._store is None:
            return
        try:
            with self._store() as store:
                store.append(record)
        except (OSError, ValueError):
            log.exception("a finished record could not be written to the folder; the database has it")


def _delay(delay: Delay) -> Callable[[Match], float]:
    """Seconds that an answer takes: drawn from the match's seed, so that a restart draws the same."""

    def seconds(match: Match) -> float:
        return delay.seconds(random.Random(derived(match.seed or 0, "delay", len(match.events))))

    return seconds
