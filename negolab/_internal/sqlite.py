"""SQLite databases of the project: private files, durable commits, one writer at a time."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

MAGIC = b"SQLite format 3\0"


def create_private(file: Path) -> bool:
    """Create the file, readable by its owner only, if there is none; False if it exists and is no SQLite database.
    `OSError` if it cannot be opened."""
    os.close(os.open(file, os.O_RDWR | os.O_CREAT, 0o600))
    with file.open("rb") as start:
        head = start.read(len(MAGIC))
    return head in (b"", MAGIC)


def create_engine(url: sa.URL, patience: float, settings: Sequence[str] = (), **options: Any) -> sa.Engine:
    """Create an engine in WAL mode that fsyncs each commit. `patience`: seconds to wait for another writer. `settings`
    are pragmas, `options` those of a connection. Errors never quote the parameters of a statement."""
    engine = sa.create_engine(url, hide_parameters=True, connect_args={"timeout": patience, **options})
    sa.event.listen(engine, "connect", partial(_configure, settings, patience))
    sa.event.listen(engine, "begin", _begin)
    return engine


def _configure(settings: Sequence[str], patience: float, connection: Any, _: Any) -> None:
    connection.isolation_level = None  # transactions are begun by `_begin` alone
    cursor = connection.cursor()
    for setting in ("synchronous=FULL", *settings):
        cursor.execute(f"PRAGMA {setting}")
    _enable_wal(cursor, patience)
    cursor.close()


def _enable_wal(cursor: Any, patience: float) -> None:
    """Switch to WAL mode, retrying: of several that open a new file, SQLite refuses all but one without waiting."""
    deadline = time.monotonic() + patience
    while True:
        try:
            cursor.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def _begin(connection: Connection) -> None:
    # A writer takes the lock at once: one that reads first and writes later could be refused in between.
    connection.exec_driver_sql("BEGIN" if connection.get_execution_options().get("reads") else "BEGIN IMMEDIATE")
