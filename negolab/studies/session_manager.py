"""Open match sessions: begin them, save their events, resume them from the database, and track time limits."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from negolab.events import Ended, Event
from negolab.game import Observation, Seat
from negolab.llm.endpoint.call import EndpointProvider
from negolab.match import Match
from negolab.protocols import Player
from negolab.record import Record
from negolab.runs.driver import make_player, seat_players
from negolab.runs.plan import derive_seed
from negolab.store import Store
from negolab.studies.config import Delay, Ending, Limits
from negolab.studies.database import Database, StoredMatch
from negolab.studies.host_config import NONE
from negolab.studies.session import MatchSession

log = logging.getLogger("negolab.studies")

FREE, AT_ONCE = Limits(), Delay()
"""No time limit, and no thinking time."""

Endings = Callable[[StoredMatch, Ended], Mapping[str, Ending]]
"""Function that returns the ways of ending, by participant id, that the end of a match brings about."""


class MatchClock:
    """Time limits of one match, measured with `time.monotonic`.

    They start again when the host restarts, so that downtime is never charged to a participant.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._began = time.monotonic()
        self._asked: dict[Seat, tuple[Observation[object, object], float]] = {}

    def look(self, room: MatchSession) -> None:
        """Record since when each seat is asked; a rejected reply does not restart the limit."""
        for seat in room.seat_sessions:
            if not room.match.asks(seat):
                self._asked.pop(seat, None)
            elif (seen := room.match.seen(seat)) != self._asked.get(seat, (None,))[0]:
                self._asked[seat] = (seen, time.monotonic())

    def left(self, seat: Seat) -> tuple[float, str] | None:
        """Return the seconds until a seat's nearest limit and its kind, "reply" or "match"; None: no limit runs."""
        now, ends = time.monotonic(), []
        if self.limits.reply is not None and seat in self._asked:
            ends.append((self._asked[seat][1] + self.limits.reply - now, "reply"))
        if self.limits.match is not None:
            ends.append((self._began + self.limits.match - now, "match"))
        return min(ends) if ends else None


class OpenSession(NamedTuple):
    """A match held in memory: its database entry, session and clock."""

    sat: StoredMatch
    room: MatchSession
    clock: MatchClock


class SessionManager:
    """Open match sessions by id: the running ones, and finished ones that are still shown.

    Set `endings` to the function that ends the study for participants with a match, and `changed` to a callback for
    every change of a match.

    Args:
        database: The database that all events are saved to.
        store: Opens the folder to which finished records are also appended; None: no folder.
        models: Endpoints of language models that may take a seat.
    """

    def __init__(
        self, database: Database, store: Callable[[], Store] | None = None, models: EndpointProvider = NONE
    ) -> None:
        self._database, self._store, self._models = database, store, models
        self.endings: Endings = lambda sat, ended: {}
        self.changed: Callable[[StoredMatch], None] = lambda sat: None
        self._open: dict[str, OpenSession] = {}

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
    ) -> MatchSession:
        """Save a new match and open its session.

        Args:
            match: The match as it was dealt.
            people: The participant's id for each person's seat; None for a person outside any study.
            study: Name of the study; None: free play.
            treatment: Name of the treatment.
            practice: Practice round, from 1; 0 for a real match.
            limits: Time limits.
            delay: Thinking time of automated players.

        Raises:
            ValueError: A player cannot play its seat.
        """
        sat = StoredMatch(match.id, study, treatment, practice, time.time(), None, dict(people))
        players = seat_players(match, self._models, people)
        kept = match.record()
        ended = self.endings(sat, match.ended) if match.ended else {}
        self._database.add(
            kept.header, kept.events, dict(people), study=study, treatment=treatment, practice=practice, endings=ended
        )
        room = MatchSession(match, players, keep=self._keep, delay=_delay(delay))
        if match.ended is not None:
            self._file(kept)
        return self._opened(sat, room, limits)

    def resume(self, sat: StoredMatch, limits: Limits = FREE, delay: Delay = AT_ONCE) -> MatchSession:
        """Return the session of a saved match, reopening it if it is not open.

        Raises:
            KeyError: The database has no such match.
            ValueError: Its record cannot be replayed, or a player cannot play its seat.
        """
        if sat.id in self._open:
            return self._open[sat.id].room
        record = self._database.record(sat.id)
        room = MatchSession.resumed(record, self._players(record, sat.people), keep=self._keep, delay=_delay(delay))
        return self._opened(sat, room, limits)

    def _players(self, record: Record, people: Collection[Seat]) -> dict[Seat, Player]:
        """Make the automated players that a record names."""
        header, game = record.header, record.game
        return {
            seat: make_player(name, game, header.seed or 0, seat, models=self._models, match=header.id)
            for seat, name in header.players.items()
            if seat not in people
        }

    def _opened(self, sat: StoredMatch, room: MatchSession, limits: Limits) -> MatchSession:
        self._open[sat.id] = OpenSession(sat, room, MatchClock(limits))
        room.watch(lambda: self._look(sat))
        room.advance()
        return room

    def close(self, match: str) -> None:
        """Drop a finished match from memory; it stays in the database."""
        self._open.pop(match, None)

    def sweep(self, shown: Callable[[StoredMatch], bool]) -> None:
        """Close finished matches for which `shown` is false; a page that needs one later reopens it."""
        over = [sat for sat, room, _ in self._open.values() if room.match.ended is not None]
        for sat in over:
            if not shown(sat):
                self.close(sat.id)

    def clock(self, match: str) -> MatchClock:
        """Return the clock of an open match; `KeyError` if it is not open."""
        return self._open[match].clock

    def running(self) -> list[OpenSession]:
        """Return the open matches that have not ended."""
        return [at for at in self._open.values() if at.room.match.ended is None]

    def late(self) -> list[tuple[StoredMatch, MatchSession, list[Seat]]]:
        """Return running matches in which a time limit has run out, each with the seats concerned."""
        found = []
        for sat, room, clock in self.running():
            over = [seat for seat in room.seat_sessions if (left := clock.left(seat)) is not None and left[0] <= 0]
            if over:
                found.append((sat, room, over))
        return found

    def nudge(self) -> None:
        """Ask automated players again whose last answer could not be saved."""
        for at in self.running():
            at.room.advance_if_stuck()

    def _look(self, sat: StoredMatch) -> None:
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
        """Append finished records of free play that the folder lacks, as after a crash.

        Raises:
            OSError: The folder cannot be written.
            ValueError: The folder cannot be used for single matches.
        """
        if self._store is not None:
            done = [sat.id for sat in self._database.matches() if sat.ended is not None]
            with self._store() as store:
                there = store.ids()
                for id in done:
                    if id not in there:
                        store.append(self._database.record(id))

    def _file(self, record: Record) -> None:
        """Append a finished record to the folder; after a failure `file_all` does it at the next start."""
        if self._store is None:
            return
        try:
            with self._store() as store:
                store.append(record)
        except (OSError, ValueError):
            log.exception("a finished record could not be written to the folder; the database has it")


def _delay(delay: Delay) -> Callable[[Match], float]:
    """Draw thinking times in seconds from the match's seed and position, so that a restart draws the same."""

    def seconds(match: Match) -> float:
        return delay.seconds(random.Random(derive_seed(match.seed or 0, "delay", len(match.events))))

    return seconds
