"""Raw answers of models on disk, so that none is paid twice: one SQLite file that several processes may share.

A call is found again by the SHA-256 of its request: endpoint, model, messages, parameters and repetition as canonical
JSON, which the file also holds.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import threading
import time
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

import msgspec
import platformdirs
import sqlalchemy as sa

from negolab import sqlite
from negolab.match import new_id
from negolab.players.endpoint.call import Answer, Call
from negolab.players.endpoint.failures import RunFailed
from negolab.players.writer import Row, Writer

PLACE = "NEGOLAB_CACHE"
"""The environment variable that names the file."""
OFF = "off"
"""What it says where no answers are kept here."""

SCHEMA = 1
_APPLICATION = 0x6E65676F
"""Stands in the file's head ("nego"), so that another program's database is not taken for ours."""

_PATIENCE = 30
"""Seconds for which another process's transaction is waited for."""

_WHOLE = frozenset({"stop", "tool_calls", "function_call", "end_turn", "eos"})
"""Reasons to stop after which an answer is complete. Any other (`length`, `content_filter`) is a fault of this once."""

_tables = sa.MetaData()
ANSWERS = sa.Table(
    "answers",
    _tables,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("key", sa.Text, nullable=False),  # SHA-256 of `request`, in hex
    # Empty: whoever asks gets this answer. Else the one run that does. What was cut or filtered is no answer for
    # anybody else; but it is part of that run's game, which must go on after a kill as it began.
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
# As text, because the compiled form is looked up on every call and the question is asked before every answer.
_FIND = "SELECT answer, paid_by FROM answers WHERE key = ? AND only_for IN ('', ?) ORDER BY only_for DESC LIMIT 1"


class Paid(NamedTuple):
    """What a run has paid for: US dollars where prices were known, tokens where they were counted, and answers."""

    usd: float
    tokens: int
    calls: int


class Shelf(NamedTuple):
    """What is kept of one model at one endpoint. `own`: answers that are kept for one run alone; `usd` and `tokens` as
    they were paid; times are seconds since the epoch."""

    endpoint: str
    model: str
    answers: int
    own: int
    usd: float
    tokens: int
    first: float
    last: float


def place(environment: Mapping[str, str] = os.environ) -> Path | None:
    """The user's own file: `$NEGOLAB_CACHE`, else `negolab/answers.db` in the system's folder for caches. None where
    the variable says "off": answers are kept elsewhere, as by a sweep's broker."""
    named = environment.get(PLACE)
    if named == OFF:
        return None
    return Path(named).expanduser() if named else platformdirs.user_cache_path("negolab") / "answers.db"


def request(endpoint: str, call: Call) -> bytes:
    """All that tells one call from another, as canonical JSON: no key, no time-out, not when its game began."""
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


class Cache:
    """A file of answers, open for one run (`run`: its id; None: a new one). `ValueError` if there can be no such file.

    An answer that this run has paid for itself comes back as it was; one that another run has paid for has `replayed`
    set. A full or damaged disk while it is kept is `RunFailed`: an answer that cannot be kept would be paid again.
    """

    def __init__(self, file: Path | str | None = None, *, run: str | None = None) -> None:
        if (named := place() if file is None else Path(file)) is None:
            raise ValueError(f"no answers are kept here: {PLACE} is {OFF}")
        self.file = named
        self.run = run or new_id()
        self._engine = _opened(self.file)
        try:
            self._reader: Any = self._engine.raw_connection()
            self._cursor = self._reader.cursor()
            self._cursor.execute("PRAGMA query_only=ON")
        except (sa.exc.SQLAlchemyError, sqlite3.Error) as error:
            raise _unusable(self.file, error) from None
        self._reading = threading.Lock()
        self._writer = Writer(self._engine, ANSWERS, self.file)

    def find(self, endpoint: str, call: Call) -> Answer | None:
        """The answer to this repetition of the call, if it is here."""
        key = hashlib.sha256(request(endpoint, call)).hexdigest()
        try:
            with self._reading:
                found = self._cursor.execute(_FIND, (key, self.run)).fetchone()
        except sqlite3.Error as error:
            raise RunFailed(f"{self.file}: cannot be read: {error}") from None
        return None if found is None else self._read(*found)

    async def keep(self, endpoint: str, call: Call, answer: Answer) -> None:
        """Keep an answer: when this returns it is on the disk, also if the power fails. Of two for one call, other runs
        get the first; a run that has paid for its own gets that."""
        asked = request(endpoint, call)
        usage = answer.usage
        known = usage.input is not None or usage.output is not None
        row: Row = {
            "key": hashlib.sha256(asked).hexdigest(),
            "only_for": "" if answer.finish in _WHOLE else self.run,
            "endpoint": endpoint,
            "model": call.model,
            "request": asked.decode(),
            "answer": _json(answer).decode(),
            "cost": answer.cost,
            "tokens": (usage.input or 0) + (usage.output or 0) if known else None,
            "paid_by": self.run,
            "at": time.time(),
        }
        await self._writer.write(row)

    def spent(self, run: str | None = None) -> Paid:
        """What a run (None: this one) has paid for so far, also in processes that were killed."""
        total = sa.func.total
        paid = sa.select(total(ANSWERS.c.cost), total(ANSWERS.c.tokens), sa.func.count())
        with self._engine.connect().execution_options(reads=True) as connection:
            usd, tokens, calls = connection.execute(paid.where(ANSWERS.c.paid_by == (run or self.run))).one()
        return Paid(usd, int(tokens), calls)

    def stats(self) -> list[Shelf]:
        """What is kept, by endpoint and model."""
        of = ANSWERS.c
        own = sa.func.count().filter(of.only_for != "")
        whose = (of.endpoint, of.model)
        sums = (sa.func.total(of.cost), sa.func.total(of.tokens), sa.func.min(of.at), sa.func.max(of.at))
        with self._engine.connect().execution_options(reads=True) as connection:
            rows = connection.execute(sa.select(*whose, sa.func.count(), own, *sums).group_by(*whose).order_by(*whose))
            return [Shelf(e, m, n, c, usd, int(tokens), *times) for e, m, n, c, usd, tokens, *times in rows]

    def clear(self, older: float = 0) -> int:
        """Forget the answers that are at least `older` seconds old, give back their room, and say how many they were.
        Runs that are not finished will pay for theirs again."""
        with self._engine.begin() as connection:
            gone = connection.execute(ANSWERS.delete().where(ANSWERS.c.at <= time.time() - older)).rowcount
        with closing(self._engine.raw_connection()) as plain:  # outside of a transaction
            plain.cursor().execute("VACUUM")
            plain.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return int(gone)

    def close(self) -> None:
        """Write what waits, and close the file."""
        self._writer.close()
        self._reader.close()
        self._engine.dispose()

    def _read(self, answer: str, paid_by: str) -> Answer:
        try:
            found = _answers.decode(answer)
        except msgspec.DecodeError as error:
            raise RunFailed(f"{self.file}: holds an answer that cannot be read ({error}): move the file away") from None
        return found if paid_by == self.run else msgspec.structs.replace(found, replayed=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()


_answers = msgspec.json.Decoder(Answer)
_encoder = msgspec.json.Encoder(order="deterministic")


def _json(value: Any) -> bytes:
    try:
        return _encoder.encode(value)
    except UnicodeEncodeError:  # a model can write half of a surrogate pair, which is no UTF-8
        plain = json.dumps(msgspec.to_builtins(value), sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        return plain.encode("utf-8", "replace")


def _opened(file: Path) -> sa.Engine:
    """The file with its table, readable for its owner alone."""
    _private(file)
    # Each commit goes to the disk: an answer costs money, and a budget counts what is written here.
    url = sa.URL.create("sqlite+pysqlite", database=str(file.resolve()))
    engine = sqlite.engine(url, _PATIENCE, check_same_thread=False)
    try:
        with engine.begin() as connection:
            _ours(connection, file)
            _tables.create_all(connection)
    except (sa.exc.SQLAlchemyError, sqlite3.Error) as error:
        engine.dispose()
        raise _unusable(file, error) from None
    return engine


def _private(file: Path) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        is_ours = sqlite.private(file)
    except OSError as error:
        raise ValueError(
            f"{file}: cannot keep answers: {error.strerror}; name another file in ${PLACE}, or use --no-cache"
        ) from None
    if not is_ours:
        raise ValueError(f"{file}: is no file of kept answers; move it away, or name another in ${PLACE}")


def _ours(connection: sa.Connection, file: Path) -> None:
    """Mark a new file as ours; `ValueError` for another program's."""
    mark = connection.exec_driver_sql("PRAGMA application_id").scalar()
    schema = connection.exec_driver_sql("PRAGMA user_version").scalar()
    tables = connection.exec_driver_sql("SELECT count(*) FROM sqlite_master").scalar()
    if mark == 0 and not tables:
        connection.exec_driver_sql(f"PRAGMA application_id={_APPLICATION}")
        connection.exec_driver_sql(f"PRAGMA user_version={SCHEMA}")
    elif mark != _APPLICATION:
        raise ValueError(f"{file}: is another program's database; move it away, or name another file in ${PLACE}")
    elif schema != SCHEMA:
        why = f"its schema is {schema}, this negolab reads {SCHEMA}"
        raise ValueError(f"{file}: {why}; move it away, or name another file in ${PLACE}")


def _unusable(file: Path, error: Exception) -> ValueError:
    why = getattr(error, "orig", None) or error
    return ValueError(f"{file}: cannot keep answers: {why}; move it away, or name another file in ${PLACE}")
