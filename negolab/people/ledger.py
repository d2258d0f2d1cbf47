"""A database that can be opened: its transactions, the one host at work on it, and notes of what happened."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import filelock
import msgspec
import sqlalchemy as sa
from sqlalchemy.engine import Connection
from typing_extensions import override

from negolab.match import clean
from negolab.people.connection import connect, forget, location, ready
from negolab.people.faults import told
from negolab.people.schema import SCHEMA, meta, metadata, notes

_LOCK = 0x6E65676F6C6162
"""The number of PostgreSQL's advisory lock: "negolab"."""


_TAKEN = "{}: another negolab host is at work on it; end that one first"


class Taken(ValueError):
    """Another host is at work on the database."""


class Note(msgspec.Struct, frozen=True):
    """Something that happened around the matches: `kind`, who did it, and in which words."""

    at: float
    kind: str
    actor: str
    study: str | None = None
    participant: str | None = None
    match: str | None = None
    detail: str = ""


class Ledger:
    """One database of people's matches, by path or SQLAlchemy URL. Every method is one transaction."""

    def __init__(self, url: str | Path, *, clock: Callable[[], float] = time.time) -> None:
        self.url = location(url)
        self.clock = clock
        self._engine = connect(self.url)
        self._lock: filelock.FileLock | None = None
        self._session: Connection | None = None
        self._claimed = False
        self._moment: Connection | None = None
        self.owed = False
        """Whether something that was deleted still stands in a file beside the database."""
        try:
            with self._write() as c:
                self._made(c)
        except (sa.exc.DBAPIError, ValueError) as error:
            self.close()
            if isinstance(error, ValueError):
                raise
            raise ValueError(f"{self}: cannot be used: {told(error)}; choose another with --db") from None

    @override
    def __str__(self) -> str:
        if self._engine.dialect.name == "sqlite":
            return str(self.url.database)
        return self.url.render_as_string(hide_password=True)

    def _made(self, c: Connection) -> None:
        """Make the tables of a new database; `ValueError` if the database is not ours to use."""
        alone(c)
        there = set(sa.inspect(c).get_table_names()) & set(metadata.tables)
        if there and not ours(c):
            raise ValueError(f"{self}: holds tables of something else ({min(there)}); choose another with --db")
        metadata.create_all(c)
        found = c.scalar(sa.select(meta.c.value).where(meta.c.name == "schema"))
        if found is None:
            c.execute(meta.insert().values(name="schema", value=str(SCHEMA)))
        elif found != str(SCHEMA):
            raise ValueError(f"{self}: made by another version (schema {found}, this negolab reads {SCHEMA})")

    def close(self) -> None:
        """Let go of the files or connections, and of the claim."""
        self.forget()
        if self._session is not None:
            self._session.close()
        if self._lock is not None:
            self._lock.release()
        self._engine.dispose()

    def forget(self) -> None:
        """Finish deleting what was deleted, if nobody reads it any more; else `owed` stays true."""
        if self.owed:
            self.owed = not forget(self._engine)

    def ready(self) -> bool:
        """Whether the database can be written to now."""
        return ready(self._engine)

    @contextmanager
    def _write(self) -> Iterator[Connection]:
        with self._engine.begin() as connection:
            yield connection

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Let all that this thread reads inside be of one moment."""
        options = {} if self._engine.dialect.name == "sqlite" else {"isolation_level": "REPEATABLE READ"}
        with self._engine.connect().execution_options(reads=True, **options) as connection:
            self._moment = connection
            try:
                yield
            finally:
                self._moment = None

    @contextmanager
    def _read(self) -> Iterator[Connection]:
        if self._moment is not None:
            yield self._moment
            return
        with self._engine.execution_options(reads=True).connect() as connection:
            yield connection

    def claim(self) -> None:
        """Be the one host of this database until `close` or the end of the process; `Taken` if another is."""
        if self._engine.dialect.name == "sqlite":
            self._lock = filelock.FileLock(f"{self.url.database}.lock", timeout=0)
            try:
                self._lock.acquire()
            except filelock.Timeout:
                raise Taken(_TAKEN.format(self)) from None
            return
        self._claimed = True
        self._session = self._engine.connect().execution_options(isolation_level="AUTOCOMMIT")
        if not self._session.scalar(sa.text(f"SELECT pg_try_advisory_lock({_LOCK})")):
            raise Taken(_TAKEN.format(self))

    def hold(self) -> None:
        """Claim anew if the claim was lost: PostgreSQL forgets it at a restart. `Taken` if another host has it now."""
        if not self._claimed:
            return
        # While the database is away there is no session, and the next look claims again.
        session, self._session = self._session, None
        if session is not None and _answers(session):
            self._session = session
        else:
            self.claim()

    def note(self, kind: str, actor: str, **of: Any) -> None:
        """Keep a note: `study`, `participant`, `match`, `detail`."""
        with self._write() as c:
            self._note(c, kind, actor, **of)

    def _note(self, c: Connection, kind: str, actor: str, **of: Any) -> None:
        of["detail"] = storable(of.get("detail", ""))
        c.execute(notes.insert().values(at=self.clock(), kind=kind, actor=actor, **of))

    def notes(self, study: str | None = None) -> list[Note]:
        """The notes of a study, oldest first."""
        chosen = sa.select(notes).order_by(notes.c.id)
        chosen = chosen.where(notes.c.study.is_(None) if study is None else notes.c.study == study)
        with self._read() as c:
            rows = c.execute(chosen).all()
        return [Note(r.at, r.kind, r.actor, r.study, r.participant, r.match, r.detail) for r in rows]


def _answers(session: Connection) -> bool:
    """Whether a connection still stands; one that does not is let go."""
    try:
        session.exec_driver_sql("SELECT 1")
    except sa.exc.DBAPIError:
        session.invalidate()
        session.close()
        return False
    return True


def ours(c: Connection) -> bool:
    """Whether the tables of a database are those of negolab: it says of which version they are."""
    inspector = sa.inspect(c)
    return inspector.has_table(meta.name) and {column["name"] for column in inspector.get_columns(meta.name)} == set(
        meta.c.keys()
    )


def alone(c: Connection) -> None:
    """Let no other transaction make tables or studies until this one ends; SQLite has one writer anyway."""
    if c.dialect.name == "postgresql":
        c.execute(sa.text(f"SELECT pg_advisory_xact_lock({_LOCK + 1})"))


def storable(text: str) -> str:
    """The text without what a database cannot hold: lone surrogates and NUL."""
    return clean(text).replace("\0", "")
