"""The project's SQLite databases: private files, durable commits, one writer at a time."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Collection, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from negolab._internal.files import open_itself

MAGIC = b"SQLite format 3\0"


def open_private(file: Path, create: bool = True) -> bool:
    """Open the file, or create it readable only by its owner; return False if it is not an SQLite database, or is empty
    and not to be created. Raise `OSError` if it cannot be opened, is a link, or does not exist."""
    os.close(open_itself(file, os.O_RDWR | (os.O_CREAT if create else 0), 0o600))
    with file.open("rb") as start:
        head = start.read(len(MAGIC))
    return head == MAGIC or (create and not head)


def check_tables(file: Path, ours: Collection[str]) -> None:
    """Check a file before a connection changes its header or adds tables.

    Raises:
        ValueError: It is damaged, has tables but none of `ours`, or has views or triggers, which ours never have.
    """
    try:
        with closing(sqlite3.connect(f"file:{quote(str(file.resolve()))}?mode=ro", uri=True)) as connection:
            found = connection.execute("SELECT type, name FROM sqlite_master").fetchall()
    except sqlite3.Error as error:
        raise ValueError(f"cannot be read: {error}") from None
    if found and not any(name in ours for _, name in found):
        raise ValueError("belongs to another program")
    for kind, name in found:
        if kind in ("view", "trigger"):
            raise ValueError(f"has the {kind} {name!r}, which is not negolab's")


def create_engine(url: sa.URL, patience: float, settings: Sequence[str] = (), **options: Any) -> sa.Engine:
    """Create an engine in WAL mode that fsyncs each commit. `patience` is the seconds to wait for another writer;
    `settings` are pragmas, and `options` those of a connection. Errors never quote a statement's parameters. Not a
    connection but `open_private` creates the file."""
    url = url.set(database=f"file:{quote(str(url.database))}").update_query_dict({"uri": "true", "mode": "rw"})
    engine = sa.create_engine(url, hide_parameters=True, connect_args={"timeout": patience, **options})
    sa.event.listen(engine, "connect", partial(_configure, settings, patience))
    sa.event.listen(engine, "begin", _begin)
    return engine


def _configure(settings: Sequence[str], patience: float, connection: Any, _: Any) -> None:
    connection.isolation_level = None  # only `_begin` begins transactions
    cursor = connection.cursor()
    for setting in ("synchronous=FULL", "trusted_schema=OFF", *settings):
        cursor.execute(f"PRAGMA {setting}")
    _enable_wal(cursor, patience)
    cursor.close()


def _enable_wal(cursor: Any, patience: float) -> None:
    """Switch to WAL mode, retrying: if several processes open a new file, SQLite refuses all but one without
    waiting."""
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
    # A writer takes the lock immediately; one that reads first and writes later could be refused in between.
    connection.exec_driver_sql("BEGIN" if connection.get_execution_options().get("reads") else "BEGIN IMMEDIATE")
