"""Connections to the database, SQLite in WAL mode with `synchronous=FULL` or PostgreSQL by URL, and their errors.

Errors are described in words that are safe to store and print, and an outage is logged once.
"""

from __future__ import annotations

import logging
import sqlite3
import time
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import make_url
from typing_extensions import override

from negolab._internal import clock, sqlite
from negolab.studies.faults import locate_fault

PATIENCE = 5
"""Timeout of the database in seconds; short, as the host's event loop is blocked meanwhile."""


def database_url(url: str | Path) -> sa.URL:
    """Convert a path or an SQLAlchemy URL to a URL; `ValueError` if it is invalid or the database not supported."""
    text = str(url)
    if "://" not in text:
        file = Path(text).absolute()
        return sa.URL.create("sqlite+pysqlite", database=str(file.parent.resolve() / file.name))
    try:
        parsed = make_url(text)
    except (sa.exc.ArgumentError, ValueError):  # a port that is no number
        raise ValueError("--db must be a path or a database URL such as postgresql+psycopg://user@host/name") from None
    if "@" in (parsed.host or ""):
        raise ValueError("--db: write each @ in a password as %40")
    if parsed.drivername in ("postgresql", "postgres"):
        parsed = parsed.set(drivername="postgresql+psycopg")
    if parsed.drivername not in ("sqlite", "sqlite+pysqlite", "postgresql+psycopg"):
        raise ValueError(f"--db: {parsed.drivername} is not supported; use a path or postgresql+psycopg://...")
    if parsed.get_backend_name() == "sqlite" and not parsed.database:
        raise ValueError("--db: SQLite needs a file, such as sqlite:///people.db")
    return parsed


def database_name(url: sa.URL) -> str:
    """Return the file or the address of a database, without a password."""
    if url.get_backend_name() == "sqlite":
        return str(url.database)
    shown = {name: value for name, value in url.query.items() if name in ("host", "port", "dbname", "sslmode")}
    return url.set(query=shown).render_as_string(hide_password=True)


def connect(url: sa.URL, tables: Collection[str], create: bool = True) -> sa.Engine:
    """Create an engine with durable commits; a new SQLite file is readable by its owner only.

    Args:
        url: The database.
        tables: Names of the tables of a database that is ours.
        create: Create SQLite's file if there is none.

    Raises:
        ValueError: The database cannot be reached, the file is no database, or the PostgreSQL driver is missing.
    """
    if url.get_backend_name() != "sqlite":
        try:
            engine = sa.create_engine(url, pool_pre_ping=True, hide_parameters=True, connect_args=_patience(url))
            engine.connect().close()
            return engine
        except ModuleNotFoundError as error:
            raise ValueError(f"--db: {error}; install negolab[postgres]") from None
        except (sa.exc.OperationalError, sa.exc.ProgrammingError) as error:
            why = str(error.orig).splitlines()[0] if error.orig else "no answer"
            raise ValueError(f"{database_name(url)}: no database at this address: {why}") from None
    _private(Path(str(url.database)), create, tables)
    # `secure_delete` overwrites deleted data: those who withdraw are promised that their text is gone.
    return sqlite.create_engine(url, PATIENCE, ("foreign_keys=ON", "secure_delete=ON"))


def _patience(url: sa.URL) -> dict[str, Any]:
    """Return PostgreSQL's connection arguments: durable commits and default timeouts; settings of the URL take
    precedence."""
    own = url.query.get("options", "")
    # What a page shows was saved, whatever the server is set to.
    limits = f"-c synchronous_commit=on -c lock_timeout={PATIENCE}s -c statement_timeout={PATIENCE}s"
    timeouts = {"connect_timeout": PATIENCE, "tcp_user_timeout": PATIENCE * 1000}
    unset = {name: value for name, value in timeouts.items() if name not in url.query}
    return {**unset, "options": f"{limits} {own if isinstance(own, str) else ' '.join(own)}".strip()}


def _private(file: Path, create: bool, tables: Collection[str]) -> None:
    """Open the file, or create it readable by its owner only, as it holds the secret that signs links; `ValueError` on
    failure."""
    if not file.parent.is_dir():
        raise ValueError(f"{file}: folder {file.parent} does not exist; create it, or choose another file with --db")
    try:
        is_ours = sqlite.open_private(file, create)
    except OSError as error:
        raise ValueError(f"{file} cannot be used as a database: {error.strerror}") from None
    if not is_ours:
        raise ValueError(f"{file} is not a SQLite database; choose another file with --db")
    try:
        sqlite.check_tables(file, tables)
    except ValueError as error:
        raise ValueError(f"{file}: {error}; choose another file with --db") from None


def forget(engine: sa.Engine) -> bool:
    """Truncate SQLite's write-ahead log, which still holds deleted data.

    Returns:
        False while a reader still needs the log, so that it must be tried again later; always True for PostgreSQL.
    """
    if engine.dialect.name != "sqlite":
        return True
    connection = engine.raw_connection()
    cursor = connection.cursor()
    try:
        cursor.execute("PRAGMA busy_timeout=0")  # does not wait for locks
        busy, _, _ = cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        return not busy
    finally:
        cursor.execute(f"PRAGMA busy_timeout={PATIENCE * 1000}")
        connection.close()


def is_log_whole(engine: sa.Engine, log: Path) -> bool:
    """Return True if SQLite's write-ahead log has as many pages as SQLite counts in it: if it was cut, SQLite did so,
    in whatever process, after it had copied all of it into the file."""
    connection = engine.raw_connection()
    try:
        cursor = connection.cursor()
        size = int(cursor.execute("PRAGMA page_size").fetchone()[0])
        # Of the log's index only SQLite may be asked: closing that file ourselves would release SQLite's locks on it.
        pages = int(cursor.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()[1])
        # After a head of 32 bytes, each page has one of 24. No number (-1): another process copies the log just now.
        return pages == 0 or (pages > 0 and log.stat().st_size >= 32 + pages * (24 + size))
    except (OSError, sqlite3.Error):
        return False
    finally:
        connection.close()


class DatabaseClosed(Exception):
    """The database was closed because of an outage: what still holds it must not go on."""


_AWAY = (DatabaseClosed, sqlite3.OperationalError, sa.exc.OperationalError, sa.exc.InterfaceError, sa.exc.TimeoutError)
_AWAY_CODES = ("25006", "42P01", "42501", "3F000", "58", "XX")
"""PostgreSQL's codes, or their beginnings, of a server that takes no writes, such as a standby, of a table or schema
that is gone or no longer allowed, and of damage."""


def is_unreachable(error: BaseException | None) -> bool:
    """Return True for an operational error of the database, such as an unreachable, locked, full or read-only one."""
    if not isinstance(error, sa.exc.DBAPIError):
        return isinstance(error, _AWAY)
    code = getattr(error.orig, "sqlstate", None) or ""
    return isinstance(error, _AWAY) or error.connection_invalidated or code.startswith(_AWAY_CODES)


def describe_error(error: BaseException) -> str:
    """Describe an error in one line that quotes nobody.

    The message of an arbitrary exception may quote a participant, so its place in the code is given instead.
    """
    kind = type(error).__name__
    if isinstance(error, sa.exc.DBAPIError):
        lines = str(error.orig).splitlines()  # further lines of PostgreSQL's message quote values
        return f"{kind}: {lines[0] if lines else 'no answer'}"[:300]
    if isinstance(error, OSError) and error.strerror:
        return f"{kind}: {error.strerror}"
    return locate_fault(error)


_BETWEEN_NOTICES = 60.0
"""Seconds between two lines of the log about one outage, each with another reason."""


class DatabaseOutage(logging.Filter):
    """An outage of the database: since when and why.

    As a filter of `log` it learns of each error that is logged; instead of those of an outage there is one line when
    it begins, and one when it is over.

    Args:
        log: The logger.
        name: File or address of the database.
        began: Called when an outage begins.
    """

    def __init__(self, log: logging.Logger, name: str, began: Callable[[], None]) -> None:
        super().__init__()
        self.since: float | None = None
        """Start of the outage in seconds since 1970; None: there is none."""
        self._why, self._said_at = "", 0.0
        self._log, self._name, self._began = log, name, began
        log.addFilter(self)

    @override
    def __str__(self) -> str:
        at = time.strftime("%H:%M:%S", time.localtime(self.since))
        return f"waiting for the database since {at} ({self._name}: {self._why.removeprefix(f'{self._name}: ')})"

    @override
    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if isinstance(record.exc_info, tuple) else None
        if error is None or not is_unreachable(error):
            return True
        if not isinstance(error, DatabaseClosed):
            self.begin(describe_error(error))
        return False

    def begin(self, why: str) -> None:
        """Record an outage, or another reason for which it goes on."""
        is_first, is_news = self.since is None, why != self._why
        self._why = why
        if is_first:
            self.since = clock.time()
            self._began()
        if is_first or (is_news and time.monotonic() - self._said_at > _BETWEEN_NOTICES):
            self._said_at = time.monotonic()
            self._log.warning("%s: pages show a notice and will continue automatically", self)

    def back(self) -> None:
        """Record the end of the outage, if there was one."""
        if self.since is not None:
            self._log.warning("the database is back: this host waited for %.0f s", clock.time() - self.since)
            self.since = None

    def close(self) -> None:
        """Remove the filter from its logger."""
        self._log.removeFilter(self)
