"""Where people's matches are kept: SQLite in WAL mode with `synchronous=FULL`, or PostgreSQL by URL."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import make_url

from negolab import sqlite

PATIENCE = 5
"""Seconds for which a database is waited for; the event loop of the host stands still that long."""


def location(url: str | Path) -> sa.URL:
    """A path or an SQLAlchemy URL as a URL; `ValueError` for a database that is not supported."""
    text = str(url)
    if "://" not in text:
        return sa.URL.create("sqlite+pysqlite", database=str(Path(text).resolve()))
    try:
        found = make_url(text)
    except sa.exc.ArgumentError:
        raise ValueError("--db is no path and no database URL such as postgresql+psycopg://user@host/name") from None
    if found.drivername in ("postgresql", "postgres"):
        found = found.set(drivername="postgresql+psycopg")
    if found.get_backend_name() not in ("sqlite", "postgresql"):
        raise ValueError(f"--db: {found.get_backend_name()} is not supported; use a path or postgresql+psycopg://...")
    if found.get_backend_name() == "sqlite" and not found.database:
        raise ValueError("--db: SQLite needs a file, such as sqlite:///people.db")
    return found


def connect(url: sa.URL) -> sa.Engine:
    """An engine whose transactions are durable and one after the other; `ValueError` if there is no database."""
    if url.get_backend_name() != "sqlite":
        try:
            engine = sa.create_engine(url, pool_pre_ping=True, hide_parameters=True, connect_args=_patience(url))
            engine.connect().close()
            return engine
        except ModuleNotFoundError as error:
            raise ValueError(f"--db: {error}; install negolab[postgres]") from None
        except sa.exc.OperationalError as error:
            why = str(error.orig).splitlines()[0] if error.orig else "no answer"
            raise ValueError(f"{url.render_as_string(hide_password=True)}: no database there: {why}") from None
    _private(Path(str(url.database)))
    # What is deleted is overwritten: those who withdraw are promised that their words are gone.
    return sqlite.engine(url, PATIENCE, ("foreign_keys=ON", "secure_delete=ON"))


def _patience(url: sa.URL) -> dict[str, Any]:
    """Limits of PostgreSQL's waiting, before those that the URL sets itself."""
    own = url.query.get("options", "")
    limits = f"-c lock_timeout={PATIENCE}s -c statement_timeout={PATIENCE}s"
    waits = {"connect_timeout": PATIENCE, "tcp_user_timeout": PATIENCE * 1000}
    given = {name: value for name, value in waits.items() if name not in url.query}
    return {**given, "options": f"{limits} {own if isinstance(own, str) else ' '.join(own)}".strip()}


def _private(file: Path) -> None:
    """An own file that nobody else may read: it holds the secret that signs links."""
    if not file.parent.is_dir():
        raise ValueError(f"{file}: there is no folder {file.parent}; make it first, or choose another file with --db")
    try:
        is_ours = sqlite.private(file)
    except OSError as error:
        raise ValueError(f"{file}: cannot be a database: {error.strerror}") from None
    if not is_ours:
        raise ValueError(f"{file}: is no SQLite database; choose another file with --db")


def forget(engine: sa.Engine) -> bool:
    """Let nothing stay in a file beside the database that was deleted from it: SQLite's log keeps what it wrote. False
    while somebody still reads what was there before: try again later."""
    if engine.dialect.name != "sqlite":
        return True
    with _at_once(engine) as cursor:
        busy, _, _ = cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    return not busy


def ready(engine: sa.Engine) -> bool:
    """Whether the database can be written to now."""
    try:
        if engine.dialect.name == "sqlite":
            with _at_once(engine) as cursor:
                cursor.execute("BEGIN IMMEDIATE")
                cursor.execute("ROLLBACK")
        else:
            with engine.connect() as connection:
                connection.exec_driver_sql("SELECT 1")
    except (sa.exc.SQLAlchemyError, sqlite3.Error):
        return False
    return True


@contextmanager
def _at_once(engine: sa.Engine) -> Iterator[Any]:
    """A cursor of SQLite that waits for no lock."""
    connection = engine.raw_connection()
    cursor = connection.cursor()
    try:
        cursor.execute("PRAGMA busy_timeout=0")
        yield cursor
    finally:
        cursor.execute(f"PRAGMA busy_timeout={PATIENCE * 1000}")
        connection.close()
