"""SQLite as things are kept in it here: a private file, durable, one writer after the other."""

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

HEAD = b"SQLite format 3\0"


def private(file: Path) -> bool:
    """Make the file if there is none, for its owner alone; False for one that is something else. `OSError` if it cannot
    be had."""
    os.close(os.open(file, os.O_RDWR | os.O_CREAT, 0o600))
    with file.open("rb") as start:
        head = start.read(len(HEAD))
    return head in (b"", HEAD)


def engine(url: sa.URL, patience: float, settings: Sequence[str] = (), **options: Any) -> sa.Engine:
    """An engine in WAL mode that forces each commit to the disk. `patience`: seconds for which another's transaction is
    waited for. `settings` are pragmas, `options` those of a connection. No error quotes what a statement was given."""
    made = sa.create_engine(url, hide_parameters=True, connect_args={"timeout": patience, **options})
    sa.event.listen(made, "connect", partial(_set, settings, patience))
    sa.event.listen(made, "begin", _begin)
    return made


def _set(settings: Sequence[str], patience: float, connection: Any, _: Any) -> None:
    connection.isolation_level = None  # transactions are begun by `_begin` alone
    cursor = connection.cursor()
    for setting in ("synchronous=FULL", *settings):
        cursor.execute(f"PRAGMA {setting}")
    _ahead(cursor, patience)
    cursor.close()


def _ahead(cursor: Any, patience: float) -> None:
    """WAL mode. Where several open a new file, SQLite refuses all but one at once instead of letting them wait."""
    until = time.monotonic() + patience
    while True:
        try:
            cursor.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
            time.sleep(0.01)


def _begin(connection: Connection) -> None:
    # A writer takes the lock at once: one that reads first and writes later could be refused in between.
    connection.exec_driver_sql("BEGIN" if connection.get_execution_options().get("reads") else "BEGIN IMMEDIATE")
