"""Records as tidy frames: one row per match, per reply, per proposal, or per cell of a sweep.

Paths are read one match at a time: a frame needs memory for its columns, and a Parquet file for one row group.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Literal

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from negolab._internal.files import replacing
from negolab.analysis import cells as sweep
from negolab.analysis import measures as measured
from negolab.analysis.columns import (
    Columns,
    chunked,
    file_schema,
    measure_tables,
    to_frame,
    typed_frame,
    unify,
    write_table,
)
from negolab.analysis.parts import work_on
from negolab.analysis.rows import TABLES, Row
from negolab.analysis.table_columns import MATCH
from negolab.formats import Part, open_source
from negolab.record import Record
from negolab.sweeps.status import is_sweep

__all__ = [
    "cells",
    "matches",
    "measures",
    "proposals",
    "replies",
    "rounds",
    "seats",
    "to_parquet",
    "turns",
    "utterances",
    "with_parameters",
    "write_table",
]

Place = str | os.PathLike[str]
Source = Iterable[Record] | Place
"""Records, or a path, as in `formats.open_source`: a file, or the folder of a run, a sweep or published episodes."""


def matches(source: Source) -> pd.DataFrame:
    """Return one row per match: IDs, game, players, end, payoffs, and counts of replies by seat.

    Args:
        source: Records, or a path to them.

    Returns:
        The columns `MATCHES`, with `cell` after `match` in a sweep; `*_a` and `*_b` are for the seats. Payoffs are in
        the game's unit (cents in bargaining).

    Raises:
        FileNotFoundError: There is neither a file nor a folder at `source`.
        ValueError: A line is not a record; the message names the file and line.
    """
    return _frame(source, "matches")


def seats(source: Source) -> pd.DataFrame:
    """Return one row per match and seat: role, player, own value, payoff, gain, first offer, faults and a model's cost;
    each match is replayed.

    Args:
        source: Records, or a path to them.

    Returns:
        The columns `SEAT_COLUMNS`, with `cell` after `match` in a sweep.

    Raises:
        FileNotFoundError: There is neither a file nor a folder at `source`.
        ValueError: A line is not a record, or a record cannot be replayed.
    """
    return _frame(source, "seats")


def turns(source: Source) -> pd.DataFrame:
    """Return one row per reply, in order.

    Args:
        source: Records, or a path to them.

    Returns:
        The columns `TURNS`, with `cell` after `match` in a sweep.

    Raises:
        FileNotFoundError: There is neither a file nor a folder at `source`.
        ValueError: A line is not a record; the message names the file and line.
    """
    return _frame(source, "turns")


def replies(source: Source) -> pd.DataFrame:
    """Return one row per answer of a language model, including those without usable text.

    Args:
        source: Records, or a path to them.

    Returns:
        The columns `REPLIES`, with `cell` after `match` in a sweep; `latency` is that of the endpoint only.

    Raises:
        FileNotFoundError: There is neither a file nor a folder at `source`.
        ValueError: A line is not a record; the message names the file and line.
    """
    return _frame(source, "replies")


def proposals(source: Source) -> pd.DataFrame:
    """Return one row per proposal in an accepted reply, with what it would have paid both; each match is replayed.

    Args:
        source: Records, or a path to them.

    Returns:
        The columns `PROPOSALS`, with `cell` after `match` in a sweep; empty for games without proposals.

    Raises:
        FileNotFoundError: There is neither a file nor a folder at `source`.
        ValueError: A line is not a record, or a record cannot be replayed.
    """
    return _frame(source, "proposals")


def rounds(source: Source) -> pd.DataFrame:
    """Return one row per finished round of games played in rounds, such as split; each match is replayed.

    Args:
        source: Records, or a path to them.

    Returns:
        The columns `ROUNDS`, with `cell` after `match` in a sweep; empty for games without rounds. Amounts divided,
        values, amounts asked for and amounts received are JSON text by item.

    Raises:
        FileNotFoundError: There is neither a file nor a folder at `source`.
        ValueError: A line is not a record, or a record cannot be replayed.
    """
    return _frame(source, "rounds")


def utterances(source: Source) -> pd.DataFrame:
    """Return one row per utterance (the talk in an accepted reply), with what its author knew; each match is replayed.

    Args:
        source: Records, or a path to them.

    Returns:
        The columns `UTTERANCES`, with `cell` after `match` in a sweep; empty for games without talk.

    Raises:
        FileNotFoundError: There is neither a file nor a folder at `source`.
        ValueError: A line is not a record, or a record cannot be replayed.
    """
    return _frame(source, "utterances")


def cells(path: Place) -> pd.DataFrame:
    """Return one row per cell in a sweep's folder, by ID, for its newest attempt.

    Args:
        path: The folder of a sweep.

    Returns:
        Columns `cell` (its ID), `state` (done, failed, timeout, died, refused), `seed`, `repeat`, `seconds`, `attempts`
        (their number), `error` (kind and text), `usd` (cost in US dollars), and one column per parameter, with its own
        name, prefixed with `param_` if that is taken. Lists and tables are JSON text.

    Raises:
        ValueError: The folder is not a sweep's folder, or a status file cannot be read.
    """
    rows, columns = sweep.cell_rows(sweep.newest_statuses(Path(path)))
    return pd.DataFrame(rows, columns=[column.name for column in columns]).astype({"seconds": float, "usd": float})


def with_parameters(frame: pd.DataFrame, path: Place) -> pd.DataFrame:
    """Add a column for each parameter of the rows' cells to a frame of a sweep.

    Args:
        frame: A frame with the column `cell`.
        path: The folder of the sweep.

    Returns:
        The frame with parameters; `param_` is prefixed to a name that the frame already has or that is a column of
        `cells`.

    Raises:
        ValueError: The frame has no column `cell`, the folder is not a sweep's folder, or a status file cannot be read.
    """
    statuses = sweep.newest_statuses(Path(path))
    return sweep.join_parameters(frame, {cell: ended.params for cell, ended in statuses.items()})[0]


Name = Literal["matches", "seats", "turns", "replies", "proposals", "rounds", "utterances"]


def to_parquet(source: Source, out: Place, table: Name = "turns") -> int:
    """Write a table directly to a Parquet file, for runs that are too large for a frame, and return its number of rows.

    The file is written next to `out` and renamed once complete.

    Args:
        source: Records, or a path to them.
        out: The file to write, in which payoffs are floats, and own values and first offers are text.
        table: "matches", "seats", "turns", "replies", "proposals", "rounds" or "utterances".

    Raises:
        FileNotFoundError: There is neither a file nor a folder at `source`.
        ValueError: There is no such table, or a line is not a record.
    """
    rows, columns = _table(source, table)
    schema, count = file_schema(columns), 0
    with replacing(Path(out)) as draft, pq.ParquetWriter(draft, schema) as writer:
        for chunk in chunked(rows, columns):
            writer.write_table(chunk.cast(schema))
            count += len(chunk)
    return count


def measures(source: Source) -> pd.DataFrame:
    """Return one row per match with all measures of `analysis.measures.measure_match`; each match is replayed.

    Args:
        source: Records, or a path to them.

    Returns:
        `match`, `cell` in a sweep, and one column per measure, empty in rows for games that do not have it. Match IDs
        are unique only within a cell, so join frames of a sweep by both columns.

    Raises:
        FileNotFoundError: There is neither a file nor a folder at `source`.
        ValueError: A line is not a record, or a record cannot be replayed.
    """
    names = ["match", "cell"] if _is_sweep(source) else ["match"]
    found, parts = list[pa.Table](), _parts(source)
    if parts is None:
        found.append(_measured(records(source)))
    else:
        work_on([partial(_measure_part, part) for part in parts], found.append, "measures", parts)
    table = to_frame(unify(found))
    return table.reindex(columns=[*names, *table.columns.drop(["match", "cell"], errors="ignore")])


def _parts(source: Source) -> list[Part] | None:
    """Return the parts of a source that is a path; None if there are none."""
    return open_source(os.fspath(source)).parts() if isinstance(source, str | os.PathLike) else None


def _measure_part(part: Part) -> pa.Table:
    return _measured((entry.cell, entry.record) for entry in part.entries())


def _measured(found: Iterable[tuple[str | None, Record]]) -> pa.Table:
    rows = ({"match": record.id, "cell": cell, **measured.measure_match(record)} for cell, record in found)
    return unify(measure_tables(rows, [MATCH, sweep.CELL]))


def _frame(source: Source, table: Name) -> pd.DataFrame:
    return typed_frame(*_table(source, table))


def _table(source: Source, name: Name) -> tuple[Iterator[Row], Columns]:
    """Return the rows of a table and its columns."""
    if name not in TABLES:
        raise ValueError(f"no table {name!r}: choose from {', '.join(TABLES)}")
    columns, rows = TABLES[name]
    if not _is_sweep(source):
        return (row for _, record in records(source) for row in rows(record)), columns
    found = ({**row, "cell": cell} for cell, record in records(source) for row in rows(record))
    return found, [columns[0], sweep.CELL, *columns[1:]]


def _is_sweep(source: Source) -> bool:
    return isinstance(source, str | os.PathLike) and source != "" and is_sweep(Path(source))


def records(source: Source) -> Iterator[tuple[str | None, Record]]:
    """Yield each record with the ID of its cell (None if the source is not a sweep), one at a time."""
    if not isinstance(source, str | os.PathLike):
        yield from ((None, record) for record in source)
    else:
        yield from ((entry.cell, entry.record) for entry in open_source(os.fspath(source)).entries())
