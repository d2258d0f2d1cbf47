"""Matches and their events in the database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import sqlalchemy as sa

from negolab import record
from negolab.events import Ended, Event, Replied
from negolab.game import Seat
from negolab.record import Header, Record
from negolab.studies.database.base import BaseDatabase, of_study
from negolab.studies.database.schema import events, matches, participants, progress, seats
from negolab.studies.model_seats import FALLBACK, Fallback


class StoredMatch(msgspec.Struct, frozen=True):
    """Database entry of a match, without its header and events. Times are in seconds since 1970."""

    id: str
    study: str | None
    """Name of the study; None: free play."""
    treatment: str | None
    practice: int
    """Practice round, from 1; 0 for a real match."""
    created: float
    ended: float | None
    """None while the match runs."""
    people: dict[Seat, str | None]
    """Participant's id for each person's seat; None for a person outside any study."""

    @property
    def participants(self) -> dict[Seat, str]:
        """Participant's id by seat, without people outside any study."""
        return {seat: id for seat, id in self.people.items() if id is not None}

    def seat_of(self, participant: str) -> Seat:
        """Return the seat of the participant with this id, who must have one."""
        return next(seat for seat, id in self.people.items() if id == participant)


class Matches(BaseDatabase):
    """Methods of the database for matches and their events."""

    def add(
        self,
        record: Record,
        people: dict[Seat, str | None],
        *,
        study: str | None = None,
        treatment: str | None = None,
        practice: int = 0,
        endings: Mapping[str, str] | None = None,
    ) -> StoredMatch:
        """Save a new match and set its participants' status to "playing".

        Args:
            record: The record of the match so far.
            people: Participant's id for each person's seat; None for a person outside any study.
            study: Name of the study; None: free play.
            treatment: Name of the treatment.
            practice: Practice round, from 1; 0 for a real match.
            endings: As in `append`.
        """
        now, match = self.clock(), record.header.id
        with self._write() as c:
            c.execute(
                matches.insert().values(
                    id=match,
                    study=study,
                    treatment=treatment,
                    practice=practice,
                    header=msgspec.json.encode(record.header).decode(),
                    created=now,
                )
            )
            if rows := [{"match": match, "seat": seat, "participant": who} for seat, who in people.items()]:
                c.execute(seats.insert(), rows)
            ids = [id for id in people.values() if id is not None]
            c.execute(participants.update().where(participants.c.id.in_(ids)).values(status="playing"))
            self.append(match, 0, record.events, endings)
            return self._stored(matches.c.id == match)[0]

    def append(
        self,
        match: str,
        seq: int,
        news: Sequence[Event],
        endings: Mapping[str, str] | None = None,
        fallback: Fallback | None = None,
    ) -> None:
        """Append events to a match and end the study for participants, all in one transaction.

        Args:
            match: Id of the match.
            seq: Number of the first event, from 0.
            news: The events, numbered `seq`, `seq + 1`, ...
            endings: Ways of ending by participant id, for those whose study ends with these events.
            fallback: Why a model failed, if nothing took over for it and the match therefore ends with these events.

        Raises:
            sqlalchemy.exc.IntegrityError: An event with that number exists, or there is no such match.
        """
        now = self.clock()
        last = news[-1] if news else None
        rows = [{"match": match, "seq": seq + i, "body": encode(event), "at": now} for i, event in enumerate(news)]
        with self._withdrawing() if "withdrawn" in (endings or {}).values() else self._write() as c:
            if rows:
                c.execute(events.insert(), rows)
            if isinstance(last, Ended):
                c.execute(matches.update().where(matches.c.id == match).values(ended=now))
            for id, ending in (endings or {}).items():
                why = last.reason if ending == "error" and isinstance(last, Ended) else None
                self.change(id, ending, actor="host", detail=why or "", match=match, status=ending, ended=now)
            if fallback is not None:
                study = c.scalar(sa.select(matches.c.study).where(matches.c.id == match))
                self.keep(FALLBACK, fallback, study=study, match=match)

    def matches(
        self, study: str | None = None, *, participant: str | None = None, running: bool = False
    ) -> list[StoredMatch]:
        """Return matches in the order they began.

        Args:
            study: Name of the study; None: free play.
            participant: Id of a participant, to select their matches.
            running: Select matches that have not ended.
        """
        which = _of(study, participant)
        return self._stored(sa.and_(which, matches.c.ended.is_(None)) if running else which)

    def match(self, id: str) -> StoredMatch | None:
        """Return the entry of one match; None if there is none."""
        return next(iter(self._stored(matches.c.id == id)), None)

    def _stored(self, which: sa.ColumnElement[bool]) -> list[StoredMatch]:
        with self._read() as c:
            rows = c.execute(sa.select(matches).where(which).order_by(matches.c.created, matches.c.id)).all()
            mine = seats.c.match.in_(sa.select(matches.c.id).where(which))
            at = c.execute(sa.select(seats).where(mine).order_by(seats.c.seat)).all()
        people: dict[str, dict[Seat, str | None]] = {row.id: {} for row in rows}
        for row in at:
            people[row.match][row.seat] = row.participant
        return [
            StoredMatch(row.id, row.study, row.treatment, row.practice, row.created, row.ended, people[row.id])
            for row in rows
        ]

    def record(self, match: str) -> Record:
        """Return the record of a match, up to now if it is running; `KeyError` if there is no such match."""
        with self._read() as c:
            header = c.scalar(sa.select(matches.c.header).where(matches.c.id == match))
            bodies = c.scalars(sa.select(events.c.body).where(events.c.match == match).order_by(events.c.seq)).all()
        if header is None:
            raise KeyError(match)
        return record.parse_record(f'{{"header":{header},"events":[{",".join(bodies)}]}}')

    def model_replies(self, study: str | None) -> list[Replied]:
        """Return language models' replies in the matches of a study (None: free play), as far as they were kept."""
        # A model's name is in each of its replies; quotes within a text are escaped.
        names_model = events.c.body.contains('"model":"')
        chosen = sa.select(events.c.body).join(matches).where(of_study(matches, study), names_model)
        found = [decode(row.body) for row in self._rows(chosen)]
        return [event for event in found if isinstance(event, Replied) and event.reply.model is not None]

    def latest(self) -> float:
        """Return the time of the last event or page in any study, in seconds since 1970; 0: there is none."""
        with self._read() as c:
            return max(c.scalar(sa.select(sa.func.max(table.c.at))) or 0.0 for table in (events, progress))

    def first(self, study: str) -> Header | None:
        """Return the header of a study's first match; None if there is none yet."""
        chosen = sa.select(matches.c.header).where(matches.c.study == study)
        rows = self._rows(chosen.order_by(matches.c.created, matches.c.id).limit(1))
        return msgspec.json.decode(rows[0].header, type=Header) if rows else None

    def times(self, match: str) -> list[float]:
        """Return the commit time of each event of a match, in seconds since 1970."""
        return [
            row.at for row in self._rows(sa.select(events.c.at).where(events.c.match == match).order_by(events.c.seq))
        ]

    def moved(self, study: str | None = None) -> dict[str, float]:
        """Return the commit time of the last event in each match of a study (None: free play), by match id."""
        last = sa.select(events.c.match, sa.func.max(events.c.at)).join(matches).group_by(events.c.match)
        return {row[0]: row[1] for row in self._rows(last.where(of_study(matches, study)))}

    def ends(self, study: str | None = None, *, participant: str | None = None) -> dict[str, Ended]:
        """Return the last event of each finished match of a study (None: free play), by match id; only a participant's
        if their id is given."""
        last = sa.select(events.c.match, sa.func.max(events.c.seq).label("seq")).join(matches).group_by(events.c.match)
        of = last.where(matches.c.ended.is_not(None), _of(study, participant)).subquery()
        is_last = sa.and_(of.c.match == events.c.match, of.c.seq == events.c.seq)
        rows = self._rows(sa.select(events.c.match, events.c.body).join(of, is_last))
        lasts = [(row.match, decode(row.body)) for row in rows]
        return {match: event for match, event in lasts if isinstance(event, Ended)}


def _of(study: str | None, participant: str | None) -> sa.ColumnElement[bool]:
    """Return the condition that a match belongs to a study (None: free play), and to a participant if one is given."""
    mine = sa.select(seats.c.match).where(seats.c.participant == participant)
    return sa.and_(of_study(matches, study), sa.true() if participant is None else matches.c.id.in_(mine))


def encode(event: Event) -> str:
    """Encode an event as JSON, as in a record."""
    return record.encode_event(event).decode()


def decode(body: str) -> Event:
    """Decode a stored event; `msgspec.DecodeError` if it is damaged."""
    event: Event = msgspec.json.decode(body, type=Event)
    return event
