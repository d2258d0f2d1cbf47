"""A thread that writes rows for event loops: all that waits is one transaction, and shares one sync of the disk."""

from __future__ import annotations

import asyncio
import queue
import sqlite3
import threading
import time
from pathlib import Path
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.dialects import sqlite

from negolab.players.endpoint.failures import RunFailed

Row = dict[str, Any]
LINGER = 0.004
"""Seconds for which the first row of a transaction waits for others: a sync of the disk for each would be dear."""
_MOST = 500
"""Rows of one transaction; more would let those who wait, wait long."""


class _Waiting(NamedTuple):
    row: Row
    loop: asyncio.AbstractEventLoop
    done: asyncio.Future[None]


class Writer:
    """Writes rows of `key`, `only_for`, `answer`, `paid_by` and more into `table`; a row that is there stays."""

    def __init__(self, engine: sa.Engine, table: sa.Table, file: Path) -> None:
        self._engine, self._table, self._file = engine, table, file
        # Compiled once and given to the driver as it is: to SQLAlchemy, rows take longer than they take to be written.
        insert, named = table.insert().prefix_with("OR IGNORE"), sqlite.dialect(paramstyle="named")
        columns = [column.name for column in table.c if not column.primary_key]
        self._insert = str(insert.compile(dialect=named, column_keys=columns))
        self._queue: queue.SimpleQueue[_Waiting | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    async def write(self, row: Row) -> None:
        """Write a row; on the disk when this returns. Whoever is cancelled while it waits has its row written too."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="negolab-answers", daemon=True)
            self._thread.start()
        loop = asyncio.get_running_loop()
        waiting = _Waiting(row, loop, loop.create_future())
        self._queue.put(waiting)
        await waiting.done

    def close(self) -> None:
        """Write what waits, then stop."""
        if self._thread is not None:
            self._queue.put(None)
            self._thread.join()
            self._thread = None

    def _work(self) -> None:
        while True:
            group, ended = self._group()
            if group:
                _wake(group, self._written([one.row for one in group]))
            if ended:
                return

    def _group(self) -> tuple[list[_Waiting], bool]:
        """All that comes within a moment, at least one; True after the last."""
        group: list[_Waiting] = []
        one = self._queue.get()
        if one is not None and self._queue.qsize() < _MOST:
            time.sleep(LINGER)
        while one is not None:
            group.append(one)
            if len(group) == _MOST or self._queue.empty():
                return group, False
            one = self._queue.get()
        return group, True

    def _written(self, rows: list[Row]) -> RunFailed | None:
        """Write rows in one transaction; what went wrong, if anything did."""
        try:
            with self._engine.begin() as connection:
                if connection.exec_driver_sql(self._insert, rows).rowcount < len(rows):
                    for row in rows:
                        self._beside(connection, row)
        except (sa.exc.SQLAlchemyError, sqlite3.Error) as error:
            return RunFailed(f"{self._file}: an answer could not be kept: {getattr(error, 'orig', None) or error}")
        return None

    def _beside(self, connection: sa.Connection, row: Row) -> None:
        """Where another run's answer was there first, this one was paid for all the same, and its run went on with it:
        it is kept for that run."""
        of = self._table.c
        same = sa.select(of.answer, of.paid_by).where(of.key == row["key"], of.only_for == row["only_for"])
        if connection.execute(same).one() != (row["answer"], row["paid_by"]):
            connection.exec_driver_sql(self._insert, {**row, "only_for": row["paid_by"]})


def _wake(group: list[_Waiting], failure: RunFailed | None) -> None:
    """Tell each event loop, by one call, that its rows are written."""
    by_loop: dict[asyncio.AbstractEventLoop, list[asyncio.Future[None]]] = {}
    for one in group:
        by_loop.setdefault(one.loop, []).append(one.done)
    for loop, futures in by_loop.items():
        try:
            loop.call_soon_threadsafe(_settle, futures, failure)
        except RuntimeError:  # the loop is closed: nobody waits there any more
            continue


def _settle(futures: list[asyncio.Future[None]], failure: RunFailed | None) -> None:
    for future in futures:
        if future.done():
            continue
        if failure is None:
            future.set_result(None)
        else:
            future.set_exception(RunFailed(str(failure)))
