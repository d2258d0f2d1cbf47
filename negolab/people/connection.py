"""Where people's matches are kept: SQLite in WAL mode with `synchronous=FULL`, or PostgreSQL by URL."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, make_url


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
            engine = sa.create_engine(url, pool_pre_ping=True)
            engine.connect().close()
            return engine
        except ModuleNotFoundError as error:
            raise ValueError(f"--db: {error}; install negolab[postgres]") from None
        except sa.exc.OperationalError as error:
            why = str(error.orig).splitlines()[0] if error.orig else "no answer"
            raise ValueError(f"{url.render_as_string(hide_password=True)}: no database there: {why}") from None
    _private(Path(str(url.database)))
    engine = sa.create_engine(url, connect_args={"timeout": 20})
    sa.event.listen(engine, "connect", _settings)
    sa.event.listen(engine, "begin", _begin)
    return engine


def _private(file: Path) -> None:
    """An own file that nobody else may read: it holds the secret that signs links."""
    file.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.close(os.open(file, os.O_RDWR | os.O_CREAT, 0o600))
    except OSError as error:
        raise ValueError(f"{file}: cannot be a database: {error.strerror}") from None
    with file.open("rb") as start:
        if (head := start.read(16)) and head != b"SQLite format 3\0":
            raise ValueError(f"{file}: is no SQLite database; choose another file with --db")


def _settings(connection: Any, _: Any) -> None:
    connection.isolation_level = None  # transactions are begun by `_begin` alone
    cursor = connection.cursor()
    # What is deleted is overwritten: those who withdraw are promised that their words are gone.
    for setting in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "secure_delete=ON"):
        cursor.execute(f"PRAGMA {setting}")
    cursor.close()


def _begin(connection: Connection) -> None:
    # A writer takes the lock at once: one that reads first and writes later could be refused in between.
    connection.exec_driver_sql("BEGIN" if connection.get_execution_options().get("reads") else "BEGIN IMMEDIATE")


def forget(engine: sa.Engine) -> None:
    """Let nothing stay in a file beside the database that was deleted from it: SQLite's log keeps what it wrote."""
    if engine.dialect.name == "sqlite":
        connection = engine.raw_connection()
        try:
            connection.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)")
        finally:
            connection.close()
