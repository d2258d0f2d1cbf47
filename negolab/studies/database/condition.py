"""The condition of a database that may have been changed by others: its file, what that holds, and its values."""

from __future__ import annotations

import os
import re
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from negolab._internal.validation import MAX_TIME
from negolab.game import SEATS
from negolab.studies.database.schema import (
    answers,
    attempts,
    events,
    matches,
    metadata,
    notes,
    participants,
    progress,
    seats,
    studies,
)


def number(text: str, name: object) -> int:
    """Return the number of writes that a text of the table `meta` holds; `ValueError` names the database."""
    if not re.fullmatch("[0-9]{1,15}", text):
        raise ValueError(f"{name}: its table meta is damaged: restore a copy of the database")
    return int(text)


def stats(file: Path | None) -> dict[Path, os.stat_result]:
    """Return the states of SQLite's file and of its log, of those that are there."""
    found = {}
    for path in () if file is None else (file, file.with_name(f"{file.name}-wal")):
        with suppress(OSError):
            found[path] = path.stat()
    return found


def goes_on(seen: os.stat_result, now: os.stat_result) -> bool:
    """Return True for the same file, and no less of it: SQLite never cuts its file, and its log only in `forget`, of
    this process or of another."""
    return os.path.samestat(seen, now) and now.st_size >= seen.st_size


def filed(file: Path, host: str) -> tuple[str, bool, int]:
    """Return the id that SQLite's file holds by itself, without its log, if it has this host's mark, and the number of
    writes; ("", False, 0): it holds none."""
    try:
        with closing(sqlite3.connect(f"file:{quote(str(file))}?mode=ro&immutable=1", uri=True)) as c:
            kept = dict(c.execute("SELECT name, value FROM meta"))
        return str(kept.get("id", "")), kept.get("host") == host, int(kept.get("writes", 0))
    except (sqlite3.DatabaseError, TypeError, ValueError):
        return "", False, 0


_GROWING = (
    *(table.c[0] for table in (studies, participants, matches, seats, events, progress, notes)),
    *(participants.c[name] for name in ("opened", "consented", "started", "ended")),
    matches.c.ended,
)
_IS_WITHDRAWN = participants.c.status == "withdrawn"
_WORDS = (answers, attempts)
"""Tables from which the rows of those who withdraw are removed."""
_WITHDRAWN = "withdrawn"
_PASSED = sa.func.coalesce(sa.func.sum(participants.c.passed), 0)
_COUNTS = sa.select(
    *(sa.select(sa.func.count(one)).scalar_subquery().label(str(one)) for one in _GROWING),
    sa.select(sa.cast(_PASSED, sa.BigInteger)).scalar_subquery().label(str(participants.c.passed)),
    sa.select(sa.func.count()).where(_IS_WITHDRAWN).scalar_subquery().label(_WITHDRAWN),
    *(
        sa.select(sa.func.count())
        .select_from(words.join(participants))
        .where(~_IS_WITHDRAWN)
        .scalar_subquery()
        .label(words.name)
        for words in _WORDS
    ),
)


def counts(c: Connection) -> dict[str, int]:
    """Return what only grows: the numbers of rows, of times that are set, and of finished matches.

    Answers grow only until somebody withdraws, so each number of people who did so has counts of its own.
    """
    found = dict(c.execute(_COUNTS).mappings().one())
    for words in _WORDS:
        found[f"{words.name} with {found[_WITHDRAWN]} withdrawn"] = found.pop(words.name)
    return found


_STORED = {int: ("integer",), float: ("real", "integer"), str: ("text",)}


def check_types(c: Connection, name: str) -> None:
    """Raise `ValueError` for a value that is not of its column's type, as SQLite takes any, or for no usable time."""
    is_loose = c.dialect.name == "sqlite"
    for table in metadata.sorted_tables:
        odd = [
            *(sa.func.typeof(one).not_in(_stored(one)) for one in table.columns if is_loose),
            *(~one.between(0, MAX_TIME) for one in table.columns if one.type.python_type is float),
            *(one.not_in(SEATS) for one in table.columns if one.name == "seat"),
        ]
        if c.scalar(sa.select(sa.literal(True)).select_from(table).where(sa.or_(sa.false(), *odd)).limit(1)):
            raise ValueError(f"{name}: its table {table.name} is damaged: restore a copy of the database")


def check_whole(c: Connection, name: str) -> None:
    """Raise `ValueError` if rows are missing that others name, as where a single table was restored."""
    keys = [(key.column, key.parent) for table in metadata.sorted_tables for key in table.foreign_keys]
    for there, by in [*keys, (events.c.match, matches.c.id)]:
        _check_none(c, sa.select(by).where(by.is_not(None), ~sa.exists().where(there == by)), name, there.table)
    seq = events.c.seq
    gap = sa.or_(sa.func.min(seq) != 0, sa.func.max(seq) + 1 != sa.func.count())
    _check_none(c, sa.select(events.c.match).group_by(events.c.match).having(gap), name, events)


def _check_none(c: Connection, lost: sa.Select[Any], name: str, table: sa.FromClause) -> None:
    if c.scalar(lost.limit(1)) is not None:
        raise ValueError(f"{name}: rows are missing from its table {table}: restore a copy of the database")


def _stored(column: sa.Column[Any]) -> tuple[str, ...]:
    return (*_STORED[column.type.python_type], *(["null"] if column.nullable else []))
