"""Cache of models' answers, so that none is paid twice: one SQLite file that several processes may share.

The key of an answer is the SHA-256 of its request: endpoint, model, messages, parameters and repetition as canonical
JSON, which the file also holds.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import sqlite3
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, closing
from itertools import groupby
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

import msgspec
import platformdirs
import sqlalchemy as sa
from typing_extensions import override

from negolab._internal import sqlite
from negolab._internal.files import is_in_place
from negolab.ledger import PICO, TOKENS, Cost
from negolab.llm.endpoint.call import Answer, Call
from negolab.llm.endpoint.errors import RunFailed
from negolab.match import new_id

CACHE_VARIABLE = "NEGOLAB_CACHE"
"""The environment variable that names the file."""
OFF = "off"
"""Its value where this process keeps no answers."""

SCHEMA = 1
_APPLICATION = 0x6E65676F
"""SQLite's application id ("nego"), which marks the file as ours."""

_BUSY_TIMEOUT = 30
"""Seconds to wait for another process's transaction."""

_tables = sa.MetaData()
ANSWERS = sa.Table(
    "answers",
    _tables,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("key", sa.Text, nullable=False),  # SHA-256 of `request`, in hex
    # Empty: for every run; else the id of the only run that gets this answer. What was cut, filtered or unreadable is
    # no answer for others, but part of that run's game, which must go on after a kill as it began.
    sa.Column("only_for", sa.Text, nullable=False),
    sa.Column("endpoint", sa.Text, nullable=False),
    sa.Column("model", sa.Text, nullable=False),
    sa.Column("request", sa.Text, nullable=False),  # canonical JSON
    sa.Column("answer", sa.Text, nullable=False),  # JSON of `Answer`
    sa.Column("cost", sa.Float),  # US dollars; NULL: no price is known
    sa.Column("tokens", sa.Integer),  # in and out; NULL: the endpoint did not say
    sa.Column("paid_by", sa.Text, nullable=False),  # the run's id
    sa.Column("at", sa.Float, nullable=False),  # seconds since the epoch
    sa.UniqueConstraint("key", "only_for"),
    sa.Index("answers_paid_by", "paid_by"),
)
# As text, because they run with every call and SQLAlchemy would look up the compiled forms each time.
_COLUMNS = [column.name for column in ANSWERS.c if not column.primary_key]
_INSERT = f"INSERT OR IGNORE INTO answers ({', '.join(_COLUMNS)}) VALUES (:{', :'.join(_COLUMNS)})"
_FIRST = "SELECT answer, paid_by FROM answers WHERE key = :key AND only_for = :only_for"
_FIND = "SELECT answer, paid_by FROM answers WHERE key = ? AND only_for IN ('', ?) ORDER BY only_for DESC LIMIT 1"


def _total_of(name: str) -> sa.ColumnElement[Any]:
    return sa.func.total(sa.func.json_extract(ANSWERS.c.answer, f"$.usage.{name}"))


_SUMS = (
    sa.func.total(ANSWERS.c.cost),
    sa.func.count(),
    sa.func.count().filter(sa.and_(ANSWERS.c.cost.is_(None), ANSWERS.c.tokens.is_not(None))),
    sa.func.count().filter(sa.and_(ANSWERS.c.cost.is_(None), ANSWERS.c.tokens.is_(None))),
    *map(_total_of, TOKENS),
)


def _cost(usd: float, answers: int, unpriced: int, uncounted: int, *tokens: float) -> Cost:
    counted = dict(zip(TOKENS, map(int, tokens), strict=True))
    counts = {"calls": answers, "answers": answers, "unpriced": unpriced, "uncounted": uncounted}
    return Cost(round(usd * PICO), **counted, **counts)


class CachedModel(NamedTuple):
    """Cached answers of one model at one endpoint: what they cost when they were paid.

    `own` are those for one run only; times are seconds since the epoch.
    """

    endpoint: str
    model: str
    own: int
    first: float
    last: float
    cost: Cost


def default_file(environment: Mapping[str, str] = os.environ) -> Path | None:
    """Return `$NEGOLAB_CACHE`, else `negolab/answers.db` in the user's cache folder; None where it is "off"."""
    name = environment.get(CACHE_VARIABLE)
    if name == OFF:
        return None
    return Path(name).expanduser() if name else platformdirs.user_cache_path("negolab") / "answers.db"


def request_json(endpoint: str, call: Call) -> bytes:
    """Encode all that tells one call from another as canonical JSON: no key, no time-out, no start time."""
    return _json(
        {
            "schema": SCHEMA,
            "endpoint": endpoint,
            "model": call.model,
            "messages": call.messages,
            "params": call.params,
            "repetition": call.repetition,
        }
    )


class Cache(AbstractContextManager["Cache"]):
    """A file of answers, open for one run.

    An answer that this run has paid for comes back as it was; one that another run has paid for has `replayed` set.

    Args:
        file: The SQLite file (None: `default_file()`).
        run: The run's id (None: a new one).

    Raises:
        ValueError: The file cannot be opened, is no cache, or NEGOLAB_CACHE is "off".
    """

    def __init__(self, file: Path | str | None = None, *, run: str | None = None) -> None:
        if (path := default_file() if file is None else Path(file)) is None:
            raise ValueError(f"no answers are kept: {CACHE_VARIABLE} is {OFF}")
        self.file = path
        self.run = run or new_id()
        self._engine = _open_database(self.file)
        self._opened = self.file.stat()
        try:
            self._connections = [self._engine.raw_connection() for _ in range(2)]
            self._reader, self._writer = (connection.cursor() for connection in self._connections)
        except (sa.exc.SQLAlchemyError, sqlite3.Error) as error:
            raise _unusable(self.file, error) from None
        self._reading, self._writing = threading.Lock(), ThreadPoolExecutor(1, "negolab-answers")

    def find(self, endpoint: str, call: Call) -> Answer | None:
        """Return the answer to this repetition of the call; None if there is none."""
        key = hashlib.sha256(request_json(endpoint, call)).hexdigest()
        try:
            with self._reading:
                row = self._reader.execute(_FIND, (key, self.run)).fetchone()
        except sqlite3.Error as error:
            raise RunFailed(f"{self.file} cannot be read: {error}") from None
        return None if row is None else self._decode(*row)

    async def store(self, endpoint: str, call: Call, answer: Answer) -> None:
        """Store an answer before returning: a killed process loses none, a power failure perhaps the last ones.

        Of two answers to one call, other runs get the first.

        Raises:
            RunFailed: The disk is full or damaged; an answer that is not stored would be paid again.
        """
        request = request_json(endpoint, call)
        usage = answer.usage
        is_counted = usage.input is not None or usage.output is not None
        row = {
            "key": hashlib.sha256(request).hexdigest(),
            "only_for": "" if answer.ending == "whole" and call.is_readable(answer) else self.run,
            "endpoint": endpoint,
            "model": call.model,
            "request": request.decode(),
            "answer": _json(answer).decode(),
            "cost": answer.cost,
            "tokens": (usage.input or 0) + (usage.output or 0) if is_counted else None,
            "paid_by": self.run,
            "at": time.time(),
        }
        # In a thread, as another process may hold the file for a while; also if the caller is cancelled meanwhile.
        await asyncio.shield(asyncio.wrap_future(self._writing.submit(self._insert, row)))

    def _insert(self, row: dict[str, Any]) -> None:
        try:
            if not self._writer.execute(_INSERT, row).rowcount:
                first = self._writer.execute(_FIRST, row).fetchone()
                if first != (row["answer"], row["paid_by"]):
                    # Another run's was stored first, and this run has gone on with its own.
                    self._writer.execute(_INSERT, {**row, "only_for": self.run})
        except sqlite3.Error as error:
            raise RunFailed(f"{self.file}: an answer could not be saved: {error}") from None
        if not is_in_place(self.file, self._opened) or not self.file.stat().st_size:
            raise RunFailed(f"{self.file} was deleted, replaced or emptied while answers were being saved there")

    def paid(self, run: str | None = None) -> Cost:
        """Sum up the answers that a run (None: this one) has paid for, whose folder has no ledger yet."""
        with self._engine.connect().execution_options(reads=True) as connection:
            sums = sa.select(*_SUMS).where(ANSWERS.c.paid_by == (run or self.run))
            return _cost(*connection.execute(sums).one())

    def stats(self) -> list[CachedModel]:
        """Summarise the answers by endpoint and model."""
        columns = ANSWERS.c
        own = sa.func.count().filter(columns.only_for != "")
        group = (columns.endpoint, columns.model)
        head = (*group, own, sa.func.min(columns.at), sa.func.max(columns.at))
        with self._engine.connect().execution_options(reads=True) as connection:
            rows = connection.execute(sa.select(*head, *_SUMS).group_by(*group).order_by(*group))
            return [CachedModel._make((*row[: len(head)], _cost(*row[len(head) :]))) for row in rows]

    def calls(self, plan: str) -> Iterator[dict[str, Any]]:
        """Yield the calls of a plan's matches, whose ids begin with `plan`, as this run has them.

        Of each: `match`, `seat`, `turn`, `attempt`, `at` (seconds since the epoch), `endpoint`, the body of the
        `request` as it was sent, as far as that is known, and the `answer`.
        """
        begin = f'%"repetition":["{plan}%'
        mine = sa.and_(ANSWERS.c.request.like(begin), ANSWERS.c.only_for.in_(["", self.run]))
        rows = sa.select(ANSWERS).where(mine).order_by(ANSWERS.c.key, ANSWERS.c.only_for.desc())
        with self._engine.connect().execution_options(reads=True) as connection:
            for _, (row, *_) in groupby(connection.execute(rows), key=lambda row: row.key):
                asked, answer = msgspec.json.decode(row.request), self._decode(row.answer, row.paid_by)
                where = dict(zip(("match", "seat", "turn", "attempt"), asked["repetition"], strict=False))
                request = {"model": row.model, "messages": asked["messages"], **(answer.sent or asked["params"])}
                yield {**where, "at": row.at, "endpoint": row.endpoint, "request": request, "answer": answer}

    def clear(self, older: float = 0) -> int:
        """Delete answers at least `older` seconds old, free their disk space and return their number.

        Unfinished runs will pay for theirs again.
        """
        with self._engine.begin() as connection:
            deleted = connection.execute(ANSWERS.delete().where(ANSWERS.c.at <= time.time() - older)).rowcount
        with closing(self._engine.raw_connection()) as raw:  # outside of a transaction
            raw.cursor().execute("VACUUM")
            raw.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return int(deleted)

    def close(self) -> None:
        """Write what waits and close the file."""
        self._writing.shutdown()
        for connection in self._connections:
            connection.close()
        self._engine.dispose()

    def _decode(self, text: str, paid_by: str) -> Answer:
        try:
            answer = _decoder.decode(text)
        except msgspec.DecodeError as error:
            raise RunFailed(f"{self.file} contains an unreadable answer ({error}): move the file elsewhere") from None
        return answer if paid_by == self.run else msgspec.structs.replace(answer, replayed=True)

    @override
    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()


_decoder = msgspec.json.Decoder(Answer)
_encoder = msgspec.json.Encoder(order="deterministic")


def _json(value: Any) -> bytes:
    try:
        return _encoder.encode(value)
    except UnicodeEncodeError:  # a model can write lone surrogates, which are no UTF-8
        plain = json.dumps(msgspec.to_builtins(value), sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        return plain.encode("utf-8", "replace")


def _open_database(file: Path) -> sa.Engine:
    """Open the file with its table, readable for its owner only."""
    _create_private(file)
    url = sa.URL.create("sqlite+pysqlite", database=str(file.resolve()))
    # Without an fsync for each answer: what a killed process has committed is kept all the same.
    engine = sqlite.create_engine(url, _BUSY_TIMEOUT, ["synchronous=NORMAL"], check_same_thread=False)
    try:
        with engine.begin() as connection:
            _check_ownership(connection, file)
            _tables.create_all(connection)
    except (sa.exc.SQLAlchemyError, sqlite3.Error) as error:
        engine.dispose()
        raise _unusable(file, error) from None
    return engine


def _create_private(file: Path) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        is_ours = sqlite.open_private(file)
    except OSError as error:
        raise ValueError(
            f"{file} cannot store answers: {error.strerror}; set ${CACHE_VARIABLE} to another file, or use --no-cache"
        ) from None
    if not is_ours:
        raise ValueError(f"{file}: not a cache of answers; move it elsewhere, or set ${CACHE_VARIABLE} to another file")
    try:
        sqlite.check_tables(file, _tables.tables)
    except ValueError as error:
        raise _unusable(file, error) from None


def _check_ownership(connection: sa.Connection, file: Path) -> None:
    """Mark a new file as ours; ValueError for another program's."""
    mark = connection.exec_driver_sql("PRAGMA application_id").scalar()
    schema = connection.exec_driver_sql("PRAGMA user_version").scalar()
    tables = connection.exec_driver_sql("SELECT count(*) FROM sqlite_master").scalar()
    if mark == 0 and not tables:
        connection.exec_driver_sql(f"PRAGMA application_id={_APPLICATION}")
        connection.exec_driver_sql(f"PRAGMA user_version={SCHEMA}")
    elif mark != _APPLICATION:
        raise ValueError(
            f"{file}: belongs to another program; move it elsewhere, or set ${CACHE_VARIABLE} to another file"
        )
    elif schema != SCHEMA:
        why = f"its schema is {schema}; this version reads {SCHEMA}"
        raise ValueError(f"{file}: {why}; move it elsewhere, or set ${CACHE_VARIABLE} to another file")


def _unusable(file: Path, error: Exception) -> ValueError:
    why = getattr(error, "orig", None) or error
    return ValueError(
        f"{file} cannot store answers: {why}; move it elsewhere, or set ${CACHE_VARIABLE} to another file"
    )
