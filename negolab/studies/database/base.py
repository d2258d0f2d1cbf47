"""Base class of the database: opening, transactions, the exclusive claim of one host, and notes."""

from __future__ import annotations

import logging
import os
import re
import shutil
import sqlite3
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from time import sleep
from typing import Any, TypeVar

import filelock
import msgspec
import sqlalchemy as sa
from sqlalchemy.engine import Connection
from typing_extensions import override

from negolab._internal.validation import located
from negolab.match import replace_surrogates
from negolab.studies.clock import time
from negolab.studies.database.condition import check_types, check_whole, counts, filed, goes_on, number, stats
from negolab.studies.database.connection import (
    DatabaseClosed,
    connect,
    database_name,
    database_url,
    describe_error,
    forget,
    is_log_whole,
)
from negolab.studies.database.schema import SCHEMA, meta, metadata, notes, participants

log = logging.getLogger("negolab.studies")

_LOCK = 0x6E65676F6C6162
"""Key of PostgreSQL's advisory lock: "negolab" in ASCII."""


Kept = TypeVar("Kept")

_TAKEN = "{}: another negolab host is using it; stop that host first"


class DatabaseInUse(ValueError):
    """Another host has claimed the database."""


class Note(msgspec.Struct, frozen=True):
    """One entry of the log of what happened around the matches."""

    at: float
    """Time in seconds since 1970."""
    kind: str
    """Kind of event, such as "opened" or "error"."""
    actor: str
    """Cause: "participant", "experimenter", "researcher" or "host"."""
    study: str | None = None
    participant: str | None = None
    """Id of the participant."""
    match: str | None = None
    """Id of the match."""
    detail: str = ""


class _Current(threading.local):
    """The transaction or snapshot that this thread is in."""

    connection: Connection | None = None


class BaseDatabase:
    """Connection to the database, with transactions and notes.

    Each method runs in a transaction of its own, or in the one in which it is called.

    Opening it makes the tables of a new database. Only the host, which runs matches, must `claim` the database.

    Args:
        url: Path of an SQLite file, or an SQLAlchemy URL of SQLite or PostgreSQL.
        clock: Time in seconds since 1970.
        known: Id of the database that must be there ("": any); None: file and tables are created if there are none.
        last: What it must have at least, as `Database.last` of the one that is opened again.
        host: Mark of the host that opens it again, as `Database.host`: no other may have claimed it since ("": any).

    Raises:
        ValueError: The database cannot be opened, is not supported, or holds tables of something else or of another
            version.
    """

    def __init__(
        self,
        url: str | Path,
        *,
        clock: Callable[[], float] = time,
        known: str | None = None,
        last: Mapping[str, int] | None = None,
        host: str = "",
    ) -> None:
        self.url = database_url(url)
        self.clock = clock
        self._engine = connect(self.url, metadata.tables, create=known is None)
        is_file = self._engine.dialect.name == "sqlite"
        self.file = Path(str(self.url.database)) if is_file else None
        """SQLite's file; None: PostgreSQL."""
        self._seen = stats(self.file)
        self.host, self._mark = "", host
        """Random mark of the host that has claimed it: no copy that went on elsewhere has it."""
        self._filed = ("", False, 0)
        self._looking = threading.Lock()
        self.last = dict(last or {})
        """Number of `writes` of hosts, and of rows by table, that the database is known to have had: an older copy, or
        one whose table is older, has fewer."""
        self._lock: filelock.FileLock | None = None
        self._session: Connection | None = None
        self._claimed = self._closed = False
        self._current = _Current()
        self.owed = False
        """True while SQLite's write-ahead log may still hold deleted text; see `forget`."""
        try:
            with self._write() as c:
                self.id = self._made(c, known)
                """Random id of the database and its copies."""
            self._seen = stats(self.file)
        except (sa.exc.DBAPIError, ValueError) as error:
            self.close()
            if isinstance(error, ValueError):
                raise
            raise ValueError(
                f"{self} cannot be used: {describe_error(error)}; make room if its disk is full, restore a "
                "copy if it is damaged, or choose another database with --db"
            ) from None

    @override
    def __str__(self) -> str:
        return database_name(self.url)

    def _made(self, c: Connection, known: str | None) -> str:
        """Make the tables of a new database, and return its id.

        Raises:
            ValueError: It has tables of something else or of another version, or is not the database that is known.
        """
        alone(c)
        there = set(sa.inspect(c).get_table_names()) & set(metadata.tables)
        if there and not ours(c):
            raise ValueError(
                f"{self} contains another program's tables ({min(there)}); choose another database with --db"
            )
        kept: dict[str, str] = {row.name: row.value for row in c.execute(meta.select())} if there else {}
        if known is not None and (not kept or kept.get("id") != (known or kept.get("id"))):
            raise ValueError(f"{self} is not the database that this host started with; restore that database")
        if self._mark and kept.get("host") != self._mark:
            raise ValueError(f"{self}: another host has used it since; if it is the newest copy, restart this host")
        writes = number(kept.get("writes", "0"), self)
        metadata.create_all(c)
        if self._lacks({"writes": writes, **counts(c)}):
            raise ValueError(f"{self}: the latest saved data is missing; restore the newest copy, or restart the host")
        if there:
            check_types(c, str(self))
        check_whole(c, str(self))
        about = {"schema": str(SCHEMA), "id": uuid.uuid4().hex, "writes": "0", **kept}
        if about["schema"] != str(SCHEMA):
            raise ValueError(f"{self}: made by another version (schema {about['schema']}; this version reads {SCHEMA})")
        if not re.fullmatch("[0-9a-f]{32}", about["id"]):  # it names files
            raise ValueError(f"{self} is not a negolab database: its ID is damaged")
        for name in about.keys() - kept.keys():
            c.execute(meta.insert().values(name=name, value=about[name]))
        return about["id"]

    def close(self) -> None:
        """Close all connections and release the claim; from now on every method raises `DatabaseClosed`."""
        self.owed |= self._is_lost()  # the log of a file that is gone would be read as that of another in its place
        try:
            self.forget()
        except (sqlite3.Error, sa.exc.SQLAlchemyError):
            log.warning(
                "deleted text is still in the log of %s: it will be removed when the database is next opened", self
            )
        self._closed = True
        if self._session is not None:
            self._session.invalidate()  # asks nothing of a server that may be away
            self._session.close()
        if self._lock is not None:
            self._lock.release()
        self._engine.dispose()

    def forget(self) -> None:
        """Remove deleted text from SQLite's log too; `owed` stays true while a reader still needs the old state."""
        if self.owed:
            with self._looking:  # the log is cut by us
                self.owed = not forget(self._engine)
                self._seen = stats(self.file)

    @contextmanager
    def _joined(self, begin: Callable[[], AbstractContextManager[Connection]]) -> Iterator[Connection]:
        """Yield the transaction that this thread is in, or begin one."""
        if self._current.connection is not None:
            yield self._current.connection
            return
        self._check_open()
        with begin() as connection:
            self._current.connection = connection
            try:
                yield connection
            finally:
                self._current.connection = None
        self._check_open()  # what was committed to a file that is gone is not saved

    def _write(self) -> AbstractContextManager[Connection]:
        return self._joined(self._begin)

    @contextmanager
    def _begin(self) -> Iterator[Connection]:
        """Begin a transaction, which is counted for a host: no copy can have more of its writes than it made."""
        with self._engine.begin() as c:
            yield c
            if not self.host:
                return
            writes = int(c.scalar(_COUNT, {"mark": self.host}) or 0)
            self._check_last({"writes": writes - 1})
        self.last["writes"] = max(self.last.get("writes", 0), writes)

    @contextmanager
    def _withdrawing(self) -> Iterator[Connection]:
        """Begin a transaction in which somebody withdraws: what others delete just before or after is missed, too,
        though there are fewer answers."""
        with self._write() as c:
            self._check_last(counts(c))
            yield c
            left = counts(c)
        self.last |= left

    def _lacks(self, now: Mapping[str, int]) -> bool:
        return any(count < self.last.get(name, 0) for name, count in now.items())

    def _check_last(self, now: Mapping[str, int]) -> None:
        """Raise if the database has seen fewer writes of hosts, or has fewer rows, than are known."""
        if self._lacks(now):
            raise sa.exc.OperationalError(None, None, sqlite3.OperationalError("the latest saved data is missing"))

    def _read(self, **options: Any) -> AbstractContextManager[Connection]:
        return self._joined(self._engine.execution_options(reads=True, **options).connect)

    def reading(self) -> AbstractContextManager[object]:
        """Make all reads of this thread inside the context see one snapshot; nothing can be written there."""
        options = {} if self._engine.dialect.name == "sqlite" else {"isolation_level": "REPEATABLE READ"}
        return self._read(**options)

    def _rows(self, chosen: sa.Select[Any]) -> Sequence[Any]:
        """Return the rows of one query."""
        with self._read() as c:
            return c.execute(chosen).all()

    def _check_open(self) -> None:
        if self._closed:
            raise DatabaseClosed
        if self._is_lost():
            raise sa.exc.OperationalError(
                None, None, sqlite3.OperationalError("its file was deleted, replaced or truncated")
            )

    def _is_lost(self) -> bool:
        """Return True if SQLite's file or log was removed, moved, replaced or cut since it was looked at last."""
        with self._looking:
            now = stats(self.file)
            for path, seen in self._seen.items():
                if path not in now or not (goes_on(seen, now[path]) or self._is_forgotten(path, seen, now[path])):
                    return True
            self._seen = now
            return False

    def _is_forgotten(self, path: Path, seen: os.stat_result, now: os.stat_result) -> bool:
        """Return True for a log that SQLite cut, as it does for another process of ours that removes deleted text."""
        if path == self.file or not os.path.samestat(seen, now):
            return False
        for pause in (0, 0.05, 0.2):  # another one may be about to write or to cut it
            sleep(pause)
            if is_log_whole(self._engine, path):
                return True
        return False

    def _is_filed(self, file: Path, pause: float) -> bool:
        """Return False if SQLite's file is not ours by what it holds, or holds less than before, after a pause: while
        the log is copied into it, it may look so."""
        sleep(pause)
        now, before = filed(file, self.host), self._filed
        self._filed = max(now, before)
        return now >= before and now[0] in ("", self.id)

    def check_writable(self) -> None:
        """Commit a write that changes nothing; an error of the database says why it takes none.

        Raises:
            ValueError: SQLite's file has so little room that it may not take the next one.
        """
        if self.file is not None and shutil.disk_usage(self.file.parent).free < 1 << 20:
            raise ValueError(f"{self}: its disk is full: free at least a megabyte on it")
        with self._write() as c:
            c.execute(meta.update().where(meta.c.name == "schema").values(value=str(SCHEMA)))

    def server(self) -> tuple[str, float | None]:
        """Return the database's name with its version, and its time in seconds since 1970 (None: it is ours)."""
        with self._read() as c:
            if c.dialect.name == "sqlite":
                return f"SQLite {c.scalar(sa.text('SELECT sqlite_version()'))}", None
            version = c.scalar(sa.text("SHOW server_version"))
            return f"PostgreSQL {version}", float(c.scalar(sa.text("SELECT extract(epoch FROM clock_timestamp())")))

    def claim(self) -> None:
        """Claim the database for this host until `close` or the end of the process.

        Raises:
            DatabaseInUse: Another host has claimed it.
        """
        if self._engine.dialect.name == "sqlite":
            self._lock = filelock.FileLock(f"{self.url.database}.lock", timeout=0)
            try:
                self._lock.acquire()
            except filelock.Timeout:
                raise DatabaseInUse(_TAKEN.format(self)) from None
        else:
            self._claimed = True
            self._lock_server()
        mark, self.host = self._mark or uuid.uuid4().hex, ""
        with self._write() as c:
            c.execute(meta.delete().where(meta.c.name == "host"))
            c.execute(meta.insert().values(name="host", value=mark))
            if self.file is None:
                c.execute(_CATCH_UP)
        self.host = mark
        self.owed = True
        self.forget()  # the log is written to the file, in which the mark is looked for

    def _lock_server(self) -> None:
        self._session = self._engine.connect().execution_options(isolation_level="AUTOCOMMIT")
        if not self._session.scalar(sa.text(f"SELECT pg_try_advisory_lock({_LOCK})")):
            raise DatabaseInUse(_TAKEN.format(self))

    def hold(self) -> None:
        """Check that SQLite's file and what was saved last are in place, and claim the database again if PostgreSQL's
        connection, and with it the claim, was lost; call it periodically.

        Raises:
            DatabaseInUse: Another host has claimed it meanwhile.
            sqlalchemy.exc.OperationalError: The file was removed, moved, replaced or cut, or it is an older copy.
        """
        with self._read() as c:
            kept: dict[str, str] = {row.name: row.value for row in c.execute(meta.select())}
            rows = counts(c)
        self._check_last({"writes": int(kept.get("writes", 0)), **rows})
        self.last |= rows
        if self.file is not None and not any(self._is_filed(self.file, pause) for pause in (0, 0.05, 0.2)):
            raise sa.exc.OperationalError(None, None, sqlite3.OperationalError("its file was overwritten"))
        if self._claimed:
            # `_session` stays None if that fails during an outage, so that the next call tries again.
            session, self._session = self._session, None
            if session is not None and _answers(session):
                self._session = session
            else:
                self._lock_server()
        if kept.get("host", "") != self.host:
            raise sa.exc.OperationalError(None, None, sqlite3.OperationalError("another copy is in its place"))

    def note(self, kind: str, actor: str, detail: str = "", **of: Any) -> None:
        """Store a note.

        Args:
            kind: Kind of event.
            actor: Cause of it; see `Note`.
            detail: Further words.
            **of: `study`, `participant` and `match`, each optional.
        """
        with self._write() as c:
            c.execute(notes.insert().values(at=self.clock(), kind=kind, actor=actor, detail=storable(detail), **of))

    def keep(self, kind: str, value: object, actor: str = "host", **of: Any) -> None:
        """Keep a value as a note, for `kept_notes`.

        Args:
            kind: Kind of the note.
            value: A text, or anything that msgspec encodes as JSON.
            actor: Cause of it; see `Note`.
            **of: `study`, `participant` and `match`, each optional.
        """
        self.note(kind, actor, value if isinstance(value, str) else msgspec.json.encode(value).decode(), **of)

    def kept_notes(self, study: str, kind: str, type: type[Kept], participant: str | None = None) -> dict[str, Kept]:
        """Return the values that were kept as notes of a kind, the first of each match or participant by its id.

        Args:
            study: Name of the study.
            kind: Kind of the notes.
            type: Type of the values.
            participant: Id of the one participant whose notes are wanted; None: all.
        """
        found = self.notes(study, kind, participant=participant)
        first = {str(note.match or note.participant): note.detail for note in reversed(found)}
        return {id: self._decoded(kind, detail, type) for id, detail in first.items()}

    def _decoded(self, kind: str, detail: str, type: type[Kept]) -> Kept:
        """Decode the detail of a note of this kind; `ValueError` for one that is damaged."""
        with located(f"{self}: a note of kind {kind} is damaged", msgspec.MsgspecError):
            return msgspec.convert(detail, type) if type is str else msgspec.json.decode(detail, type=type)

    def change(
        self,
        id: str,
        note: str = "",
        *,
        actor: str = "participant",
        detail: str = "",
        match: str | None = None,
        **values: Any,
    ) -> None:
        """Set columns of a participant and store a note in one transaction.

        Args:
            id: Id of the participant.
            note: Kind of the note; "": no note.
            actor: Cause of the change; see `Note`.
            detail: Detail of the note.
            match: Id of the match that the note is about.
            **values: New values by column.
        """
        with self._write() as c:
            if values:
                c.execute(participants.update().where(participants.c.id == id).values(**values))
            if note:
                study = c.scalar(sa.select(participants.c.study).where(participants.c.id == id))
                self.note(note, actor, detail, study=study, participant=id, match=match)

    def notes(self, study: str | None = None, *kinds: str, participant: str | None = None) -> list[Note]:
        """Return the notes of a study, oldest first.

        Args:
            study: Name of the study; None: the notes that belong to no study.
            *kinds: Kinds of the notes; none: all.
            participant: Id of the one participant whose notes are wanted; None: all.
        """
        columns = [notes.c[name] for name in Note.__struct_fields__]
        chosen = sa.select(*columns).where(of_study(notes, study)).order_by(notes.c.id)
        if participant is not None:
            chosen = chosen.where(notes.c.participant == participant)
        return [Note(*row) for row in self._rows(chosen.where(notes.c.kind.in_(kinds)) if kinds else chosen)]


_OTHER = meta.alias()
_COUNT = (
    meta.update()
    .where(meta.c.name == "writes", sa.exists().where(_OTHER.c.name == "host", _OTHER.c.value == sa.bindparam("mark")))
    .values(value=sa.cast(sa.cast(meta.c.value, sa.BigInteger) + 1, sa.Text))
    .returning(meta.c.value)
)


_SEQUENCE = "pg_get_serial_sequence('notes', 'id')"
# After a restore of its rows alone, PostgreSQL would number new notes like old ones.
_CATCH_UP = sa.text(
    f"SELECT setval({_SEQUENCE}, max(id)) FROM notes "
    f"HAVING max(id) > coalesce(pg_sequence_last_value({_SEQUENCE}::regclass), 0)"
)


def of_study(table: sa.Table, study: str | None) -> sa.ColumnElement[bool]:
    """Return the condition that a row belongs to a study; None: to no study, that is, to free play."""
    return table.c.study.is_(None) if study is None else table.c.study == study


def _answers(session: Connection) -> bool:
    """Return True if a connection still works; discard it otherwise."""
    try:
        session.exec_driver_sql("SELECT 1")
    except sa.exc.DBAPIError:
        session.invalidate()
        session.close()
        return False
    return True


def ours(c: Connection) -> bool:
    """Return True if the tables are negolab's, judged by the columns of `meta`."""
    inspector = sa.inspect(c)
    return inspector.has_table(meta.name) and {column["name"] for column in inspector.get_columns(meta.name)} == set(
        meta.c.keys()
    )


def alone(c: Connection) -> None:
    """Lock the creation of tables and studies until the transaction ends; SQLite has one writer anyway."""
    if c.dialect.name == "postgresql":
        c.execute(sa.text(f"SELECT pg_advisory_xact_lock({_LOCK + 1})"))


def storable(text: str) -> str:
    """Replace lone surrogates and remove NUL characters, which databases cannot store."""
    return replace_surrogates(text).replace("\0", "")
