"""Matches of people and their events, as the database keeps them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from negolab import record
from negolab.events import Ended, Event
from negolab.game import Seat
from negolab.people.ledger import Ledger
from negolab.people.schema import events, matches, participants, seats
from negolab.record import Header, Record


class Sat(msgspec.Struct, frozen=True):
    """A match as the database knows it: of which study, treatment and practice round (0: the real one), and which
    participant sits where (None: no person of the study)."""

    id: str
    study: str | None
    treatment: str | None
    practice: int
    created: float
    ended: float | None
    people: dict[Seat, str | None]


class Matches(Ledger):
    """The part of a database that is about matches."""

    def add(
        self,
        header: Header,
        told: Sequence[Event],
        people: dict[Seat, str | None],
        *,
        study: str | None = None,
        treatment: str | None = None,
        practice: int = 0,
        endings: Mapping[str, str] | None = None,
    ) -> None:
        """Keep a new match; the participants who sit at it are playing from now on. `endings` as in `append`."""
        now = self.clock()
        with self._write() as c:
            row = {"id": header.id, "study": study, "treatment": treatment, "practice": practice, "created": now}
            c.execute(matches.insert().values(**row, header=msgspec.json.encode(header).decode()))
            at = [{"match": header.id, "seat": seat, "participant": who} for seat, who in people.items()]
            if at:
                c.execute(seats.insert(), at)
            who = [w for w in people.values() if w is not None]
            c.execute(participants.update().where(participants.c.id.in_(who)).values(status="playing"))
            self._append(c, header.id, 0, told, now)
            self._end(c, header.id, endings or {}, now)

    def append(self, match: str, seq: int, told: Sequence[Event], endings: Mapping[str, str] | None = None) -> None:
        """Keep events `seq`, `seq + 1`, ... of a match, all or none; `IntegrityError` if one is there. `endings` are
        the participants for whom the study ends with them, and how."""
        now = self.clock()
        with self._write() as c:
            self._append(c, match, seq, told, now)
            self._end(c, match, endings or {}, now)

    def _end(self, c: Connection, match: str, endings: Mapping[str, str], now: float) -> None:
        for who, ending in endings.items():
            c.execute(participants.update().where(participants.c.id == who).values(status=ending, ended=now))
            study = c.scalar(sa.select(participants.c.study).where(participants.c.id == who))
            self._note(c, ending, "host", study=study, participant=who, match=match)

    def _append(self, c: Connection, match: str, seq: int, told: Sequence[Event], now: float) -> None:
        rows = [{"match": match, "seq": seq + i, "body": encode(event), "at": now} for i, event in enumerate(told)]
        if rows:
            c.execute(events.insert(), rows)
        if told and isinstance(told[-1], Ended):
            c.execute(matches.update().where(matches.c.id == match).values(ended=now))

    def matches(self, study: str | None = None, *, participant: str | None = None, running: bool = False) -> list[Sat]:
        """The matches of a study (None: those played without one), in the order in which they began."""
        which = [matches.c.study.is_(None) if study is None else matches.c.study == study]
        if running:
            which.append(matches.c.ended.is_(None))
        if participant is not None:
            which.append(matches.c.id.in_(sa.select(seats.c.match).where(seats.c.participant == participant)))
        return self._sat(sa.and_(*which))

    def match(self, id: str) -> Sat | None:
        """One match."""
        return next(iter(self._sat(matches.c.id == id)), None)

    def _sat(self, which: sa.ColumnElement[bool]) -> list[Sat]:
        with self._read() as c:
            rows = c.execute(sa.select(matches).where(which).order_by(matches.c.created, matches.c.id)).all()
            mine = seats.c.match.in_(sa.select(matches.c.id).where(which))
            at = c.execute(sa.select(seats).where(mine).order_by(seats.c.seat)).all()
        people: dict[str, dict[Seat, str | None]] = {row.id: {} for row in rows}
        for row in at:
            people[row.match][row.seat] = row.participant
        return [
            Sat(row.id, row.study, row.treatment, row.practice, row.created, row.ended, people[row.id]) for row in rows
        ]

    def record(self, match: str) -> Record:
        """A match as a record, as far as it is; `KeyError` if it is not there."""
        with self._read() as c:
            header = c.scalar(sa.select(matches.c.header).where(matches.c.id == match))
            bodies = c.scalars(sa.select(events.c.body).where(events.c.match == match).order_by(events.c.seq)).all()
        if header is None:
            raise KeyError(match)
        return record.from_line(f'{{"header":{header},"events":[{",".join(bodies)}]}}')

    def times(self, match: str) -> list[float]:
        """When each event of a match was committed, in seconds since 1970 (UTC)."""
        with self._read() as c:
            return list(c.scalars(sa.select(events.c.at).where(events.c.match == match).order_by(events.c.seq)))

    def moved(self, study: str | None = None) -> dict[str, float]:
        """When the last event of each match was committed."""
        chosen = sa.select(events.c.match, sa.func.max(events.c.at)).join(matches, matches.c.id == events.c.match)
        chosen = chosen.where(matches.c.study.is_(None) if study is None else matches.c.study == study)
        with self._read() as c:
            return {row[0]: row[1] for row in c.execute(chosen.group_by(events.c.match))}

    def ends(self, study: str | None = None) -> dict[str, Ended]:
        """How each match that is over ended."""
        last = sa.select(events.c.match, sa.func.max(events.c.seq).label("seq")).join(matches).group_by(events.c.match)
        last = last.where(matches.c.ended.is_not(None))
        last = last.where(matches.c.study.is_(None) if study is None else matches.c.study == study)
        of = last.subquery()
        chosen = sa.select(events.c.match, events.c.body)
        chosen = chosen.join(of, sa.and_(of.c.match == events.c.match, of.c.seq == events.c.seq))
        with self._read() as c:
            found = [(row.match, decode(row.body)) for row in c.execute(chosen)]
        return {match: event for match, event in found if isinstance(event, Ended)}


def encode(event: Event) -> str:
    return record.encode_event(event).decode()


def decode(body: str) -> Event:
    event: Event = msgspec.json.decode(body, type=Event)
    return event
