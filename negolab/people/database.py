"""What people did, kept for good: every event of their matches, who they are to the study, and what happened around.

A committed transaction survives the end of any process. The key (match, seq) of an event makes it impossible to keep
one twice.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import filelock
import msgspec
import sqlalchemy as sa
from sqlalchemy.engine import Connection
from typing_extensions import override

from negolab import record
from negolab.events import Ended, Event, Rejected, Replied
from negolab.game import Seat
from negolab.match import clean
from negolab.people.assign import assign
from negolab.people.connection import connect, forget, location
from negolab.people.schema import SCHEMA, answers, events, matches, meta, metadata, notes, participants, seats, studies
from negolab.record import Header, Record

ACTIVE = ("waiting", "playing")
"""A participant who holds a place in a treatment and has not finished."""

COUNTED = (*ACTIVE, "complete")
"""Those who count in the balance of treatments: a drop-out gives its place back."""

PURGED = "[withdrawn]"
"""What stands for the words of a participant who withdrew."""

_LOCK = 0x6E65676F6C6162
"""The number of PostgreSQL's advisory lock: "negolab"."""


class Kept(msgspec.Struct, frozen=True):
    """A study as the database knows it: `secret` signs its links, `salt` goes into hashes of outside ids."""

    id: str
    text: str
    secret: str
    salt: str
    created: float


class Participant(msgspec.Struct, frozen=True):
    """A person of a study. Times are seconds since 1970 (UTC), None: not yet. `status` is `invited`, `waiting`,
    `playing` or a way of ending; `passed` counts the finished matches from which they went on."""

    id: str
    study: str
    number: int
    link: str
    status: str
    treatment: str | None
    created: float
    opened: float | None
    consented: float | None
    consent: str | None
    started: float | None
    ended: float | None
    passed: int
    external: str | None
    lease: str | None


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


class Note(msgspec.Struct, frozen=True):
    """Something that happened around the matches: `kind`, who did it, and in which words."""

    at: float
    kind: str
    actor: str
    study: str | None = None
    participant: str | None = None
    match: str | None = None
    detail: str = ""


class Database:
    """One database of people's matches, by path or SQLAlchemy URL. Every method is one transaction."""

    def __init__(self, url: str | Path, *, clock: Callable[[], float] = time.time) -> None:
        self.url = location(url)
        self.clock = clock
        self._engine = connect(self.url)
        self._lock: filelock.FileLock | None = None
        self._session: Connection | None = None
        with self._write() as c:
            _alone(c)
            metadata.create_all(c)
            found = c.scalar(sa.select(meta.c.value).where(meta.c.name == "schema"))
            if found is None:
                c.execute(meta.insert().values(name="schema", value=str(SCHEMA)))
        if found is not None and found != str(SCHEMA):
            self.close()
            raise ValueError(f"{self}: made by another version (schema {found}, this negolab reads {SCHEMA})")

    @override
    def __str__(self) -> str:
        return self.url.render_as_string(hide_password=True)

    def close(self) -> None:
        """Let go of the files or connections, and of the claim."""
        if self._session is not None:
            self._session.close()
        if self._lock is not None:
            self._lock.release()
        self._engine.dispose()

    @contextmanager
    def _write(self) -> Iterator[Connection]:
        with self._engine.begin() as connection:
            yield connection

    @contextmanager
    def _read(self) -> Iterator[Connection]:
        with self._engine.execution_options(reads=True).connect() as connection:
            yield connection

    def claim(self) -> None:
        """Be the one host of this database until `close` or the end of the process; `ValueError` if another is."""
        taken = ValueError(f"{self}: another negolab host is at work on it; end that one first")
        if self._engine.dialect.name == "sqlite":
            self._lock = filelock.FileLock(f"{self.url.database}.lock", timeout=0)
            try:
                self._lock.acquire()
            except filelock.Timeout:
                raise taken from None
            return
        self._session = self._engine.connect().execution_options(isolation_level="AUTOCOMMIT")
        if not self._session.scalar(sa.text(f"SELECT pg_try_advisory_lock({_LOCK})")):
            raise taken

    # Studies and their participants.

    def study(self, id: str, text: str) -> Kept:
        """The study called `id`, made with a secret of its own if it is new; `text` is its file as it stands now."""
        with self._write() as c:
            _alone(c)
            row = c.execute(sa.select(studies).where(studies.c.id == id)).one_or_none()
            if row is None:
                kept = Kept(id, text, secrets.token_urlsafe(32), secrets.token_urlsafe(16), self.clock())
                c.execute(studies.insert().values(**msgspec.structs.asdict(kept)))
                return kept
            if row.text != text:
                c.execute(studies.update().where(studies.c.id == id).values(text=text))
                self._note(c, "changed", "researcher", study=id, detail="the study file changed")
            return Kept(**{**row._mapping, "text": text})

    def kept(self, id: str) -> Kept | None:
        """The study called `id`; None: nobody was invited to it yet."""
        with self._read() as c:
            row = c.execute(sa.select(studies).where(studies.c.id == id)).one_or_none()
        return None if row is None else Kept(**row._mapping)

    def invite(self, study: str, n: int = 1, *, link: str = "one", external: str | None = None) -> list[Participant]:
        """Add `n` participants, numbered on from those that are there."""
        with self._write() as c:
            _hold(c, study)
            last = c.scalar(sa.select(sa.func.max(participants.c.number)).where(participants.c.study == study)) or 0
            new = [
                {
                    "id": secrets.token_hex(8),
                    "study": study,
                    "number": last + i,
                    "link": link,
                    "status": "invited",
                    "created": self.clock(),
                    "passed": 0,
                    "external": external,
                }
                for i in range(1, n + 1)
            ]
            c.execute(participants.insert(), new)
            ids = [row["id"] for row in new]
            rows = c.execute(sa.select(participants).where(participants.c.id.in_(ids)).order_by(participants.c.number))
            return [Participant(**row._mapping) for row in rows]

    def participant(self, id: str) -> Participant | None:
        with self._read() as c:
            row = c.execute(sa.select(participants).where(participants.c.id == id)).one_or_none()
        return None if row is None else Participant(**row._mapping)

    def participants(self, study: str) -> list[Participant]:
        """All of a study, by number."""
        with self._read() as c:
            rows = c.execute(sa.select(participants).where(participants.c.study == study).order_by("number"))
            return [Participant(**row._mapping) for row in rows]

    def external(self, study: str, hashed: str) -> Participant | None:
        """The participant with this hash of an outside id."""
        with self._read() as c:
            where = sa.and_(participants.c.study == study, participants.c.external == hashed)
            row = c.execute(sa.select(participants).where(where).order_by("number")).first()
        return None if row is None else Participant(**row._mapping)

    def leased(self, study: str, *, lease: str | None = None, kernel: str | None = None) -> Participant | None:
        """The participant who holds a lease, by its whole key or by the kernel it begins with."""
        key = participants.c.lease == lease if kernel is None else participants.c.lease.startswith(f"{kernel}.")
        with self._read() as c:
            row = c.execute(sa.select(participants).where(participants.c.study == study, key)).one_or_none()
        return None if row is None else Participant(**row._mapping)

    def change(self, id: str, note: str = "", *, actor: str = "participant", detail: str = "", **values: Any) -> None:
        """Set columns of a participant, with a note of what happened."""
        with self._write() as c:
            c.execute(participants.update().where(participants.c.id == id).values(**values))
            if note:
                study = c.scalar(sa.select(participants.c.study).where(participants.c.id == id))
                self._note(c, note, actor, study=study, participant=id, detail=detail)

    def start(self, id: str, cells: Sequence[tuple[str, float]], *, seed: int | None, fixed: str | None = None) -> str:
        """The Start click: take a place in a treatment (name, weight), and say which. A second one gives the same.
        `fixed` is the treatment of the one who waits already."""
        with self._write() as c:
            study = c.execute(sa.select(participants.c.study).where(participants.c.id == id)).scalar_one()
            _hold(c, study)
            # Read under the lock: of two clicks at once the second must see what the first was given.
            treatment = c.scalar(sa.select(participants.c.treatment).where(participants.c.id == id))
            if treatment is not None:
                return str(treatment)
            chosen = fixed or _least(c, study, cells, seed)
            values = {"treatment": chosen, "status": "waiting", "started": self.clock()}
            c.execute(participants.update().where(participants.c.id == id).values(**values))
            self._note(c, "started", "participant", study=study, participant=id, detail=chosen)
            return chosen

    def answer(self, id: str, given: dict[str, str]) -> None:
        """Keep answers to the study's questions; a later answer to the same question counts."""
        with self._write() as c:
            named = sa.and_(answers.c.participant == id, answers.c.name.in_(given))
            c.execute(answers.delete().where(named))
            rows = [
                {"participant": id, "name": name, "value": _storable(value), "at": self.clock()}
                for name, value in given.items()
            ]
            if rows:
                c.execute(answers.insert(), rows)

    def answers(self, id: str) -> dict[str, str]:
        with self._read() as c:
            rows = c.execute(sa.select(answers.c.name, answers.c.value).where(answers.c.participant == id))
            return {row.name: row.value for row in rows}

    def withdraw(self, id: str) -> None:
        """A participant leaves, and takes their words along."""
        values = {"status": "withdrawn", "ended": self.clock()}
        with self._write() as c:
            c.execute(participants.update().where(participants.c.id == id).values(**values))
            study = c.scalar(sa.select(participants.c.study).where(participants.c.id == id))
            self._note(c, "withdrawn", "participant", study=study, participant=id)
        self.purge(id)

    def purge(self, id: str) -> None:
        """Delete a participant's words and answers; that they were there stays."""
        with self._write() as c:
            c.execute(answers.delete().where(answers.c.participant == id))
            mine = sa.select(seats.c.match, seats.c.seat).where(seats.c.participant == id)
            for match, seat in c.execute(mine).all():
                _purge(c, match, seat)
        forget(self._engine)

    # Matches.

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
        rows = [{"match": match, "seq": seq + i, "body": _encode(event), "at": now} for i, event in enumerate(told)]
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
            found = [(row.match, _decode(row.body)) for row in c.execute(chosen)]
        return {match: event for match, event in found if isinstance(event, Ended)}

    # What happened around them.

    def note(self, kind: str, actor: str, **of: Any) -> None:
        """Keep a note: `study`, `participant`, `match`, `detail`."""
        with self._write() as c:
            self._note(c, kind, actor, **of)

    def _note(self, c: Connection, kind: str, actor: str, **of: Any) -> None:
        of["detail"] = _storable(of.get("detail", ""))
        c.execute(notes.insert().values(at=self.clock(), kind=kind, actor=actor, **of))

    def notes(self, study: str | None = None) -> list[Note]:
        """The notes of a study, oldest first."""
        chosen = sa.select(notes).order_by(notes.c.id)
        chosen = chosen.where(notes.c.study.is_(None) if study is None else notes.c.study == study)
        with self._read() as c:
            rows = c.execute(chosen).all()
        return [Note(r.at, r.kind, r.actor, r.study, r.participant, r.match, r.detail) for r in rows]


def _alone(c: Connection) -> None:
    """Let no other transaction make tables or studies until this one ends; SQLite has one writer anyway."""
    if c.dialect.name == "postgresql":
        c.execute(sa.text(f"SELECT pg_advisory_xact_lock({_LOCK + 1})"))


def _storable(text: str) -> str:
    """The text without what a database cannot hold: lone surrogates and NUL."""
    return clean(text).replace("\0", "")


def _hold(c: Connection, study: str) -> None:
    """Let no other transaction number or place participants of this study until this one ends."""
    c.execute(sa.select(studies.c.id).where(studies.c.id == study).with_for_update())


def _least(c: Connection, study: str, cells: Sequence[tuple[str, float]], seed: int | None) -> str:
    """The treatment whose turn it is: the fewest active and completed for its weight."""
    counted = sa.and_(participants.c.study == study, participants.c.status.in_(COUNTED))
    tally = sa.select(participants.c.treatment, sa.func.count()).where(counted).group_by(participants.c.treatment)
    count = {row[0]: row[1] for row in c.execute(tally)}
    names = [name for name, _ in cells]
    return names[assign([count.get(name, 0) for name in names], [weight for _, weight in cells], seed=seed)]


def _purge(c: Connection, match: str, seat: Seat) -> None:
    """Replace the words of a seat in the events of a match."""
    for seq, body in c.execute(sa.select(events.c.seq, events.c.body).where(events.c.match == match)).all():
        bare = _bare(_decode(body), seat)
        if bare is not None:
            one = sa.and_(events.c.match == match, events.c.seq == seq)
            c.execute(events.update().where(one).values(body=_encode(bare)))


def _bare(event: Event, seat: Seat) -> Event | None:
    """An event of `seat` without its words, and without a reason that may quote them; None: it holds none."""
    match event:
        case Replied(who, reply) if who == seat:
            return Replied(seat, msgspec.structs.replace(reply, text=PURGED, reasoning=None))
        case Rejected(who, invalid) if who == seat:
            return msgspec.structs.replace(event, invalid=msgspec.structs.replace(invalid, reason=PURGED))
    return None


def _encode(event: Event) -> str:
    return record.encode_event(event).decode()


def _decode(body: str) -> Event:
    event: Event = msgspec.json.decode(body, type=Event)
    return event
