"""Export of records as tables that join: matches, turns, replies, proposals and measures, with a data dictionary.

Records are read once, one match at a time. A table's rows are spooled in parts, so that a column which only later
matches have (a measure or a parameter of another game) needs no second pass.
"""

from __future__ import annotations

import logging
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from negolab._internal.files import atomic_write, check_in_place, replacing
from negolab.analysis import cells, measures
from negolab.analysis.columns import (
    Column,
    Columns,
    Row,
    chunked,
    conform,
    dictionary,
    inferred_schema,
    nullable_frame,
    type_name,
    unified_schema,
    write_csv,
    write_parquet,
    write_table,
)
from negolab.analysis.tables import MATCH, STAKES, TABLES, UNIT
from negolab.catalog import AnyGame, game_id
from negolab.formats import RecordSource
from negolab.record import Record
from negolab.user_code import describe_failure

log = logging.getLogger("negolab.analysis")

CHUNK = 10_000
"""Rows of a table that are kept in memory."""
ENDINGS = ("csv", "parquet")
DICTIONARY, README = "dictionary.csv", "README.txt"
MATCH_TABLES = (*TABLES, "measures")
"""Tables that any source has."""
GAME_PREFIX = "game_"
"""Beginning of the columns of a game's parameters in the table of matches."""


class Exported(NamedTuple):
    """A record to export.

    Attributes:
        keys: What its source knows of the match, by the names of `Tables.keys`.
        record: The record.
        replays: False if words were deleted: then it has no proposals and no measures.
    """

    keys: Row
    record: Record
    replays: bool = True


class Tables(NamedTuple):
    """Everything to export of a run, a sweep or a study.

    Attributes:
        join: Columns that a match's id needs to be unique; they stand in every table.
        keys: Further columns of a match.
        records: The records.
        others: Further tables: their columns and rows.
        sample: Deals a match, as there may be none yet: it gives tables without rows their columns. None: they are not
            written.
    """

    join: Columns
    keys: Columns
    records: Iterable[Exported]
    others: Mapping[str, tuple[Columns, Iterable[Row]]]
    sample: Callable[[], Record] | None = None


def export(source: Tables, folder: Path, endings: Sequence[str]) -> dict[str, int]:
    """Write all tables of a source, `dictionary.csv` and `README.txt` to a folder.

    Args:
        source: What to export.
        folder: An existing folder.
        endings: Of the files: "csv", "parquet" or both.

    Returns:
        Number of rows by table. A table of matches without rows is written only where the source has a `sample`.

    What code of a game cannot compute is left empty, and one line of the log names each cause.

    Raises:
        OSError: A table cannot be written, or the folder was removed, moved or replaced.
    """
    units: dict[str, set[str]] = {UNIT: set(), STAKES: set()}
    failures: Counter[str] = Counter()
    failed: measures.Failed = lambda what, error: failures.update(
        [f"{what}: {describe_failure(error.__cause__ or error)}"]
    )
    opened = folder.stat()
    with tempfile.TemporaryDirectory(prefix=".export-", dir=folder) as place:
        spools = {name: _Spool(Path(place) / name) for name in (*MATCH_TABLES, *source.others)}
        for exported in source.records:
            game = exported.record.game
            units[UNIT].add(game.unit)
            units[STAKES].add(game.stake_unit or game.unit)
            for name, columns, rows in _match_tables(source, exported, failed):
                spools[name].add(rows, columns)
        sampled = set[str]()
        try:
            dealt = [] if source.sample is None else [Exported({}, source.sample())]
            for name, columns, _ in chain.from_iterable(_match_tables(source, each, _ignore) for each in dealt):
                sampled.add(name)
                if not spools[name].count:
                    spools[name].add((), columns)
        except Exception as error:  # of the game's own code
            failed("tables without rows", error)
        for name, (columns, rows) in source.others.items():
            spools[name].add(rows, columns)
        files = {name: [folder / f"{name}.{ending}" for ending in endings] for name in spools}
        counts = {
            name: spool.write(*files[name])
            for name, spool in spools.items()
            if spool.count or name in source.others or name in sampled
        }
        listed = {name: _in_unit(spools[name].typed_columns(), units) for name in counts}
    for what, count in failures.items():
        log.warning("left empty for %s %s: %s", f"{count:,}", "match" if count == 1 else "matches", what)
    write_table(dictionary(listed), folder / DICTIONARY)
    key = [column.name for column in (*source.join, MATCH)]
    atomic_write(folder / README, readme(list(counts), key, endings[0]).encode())
    check_in_place(folder, opened)
    return counts


def _ignore(what: str, error: Exception) -> None:
    """Take no note of a measure that raises on a match that nobody has played."""


def open_tables(source: RecordSource) -> Tables:
    """Return the tables of a source of records; of a sweep, with its cells and their parameters.

    Raises:
        ValueError: A status file of the sweep cannot be read.
    """
    if source.kind != "sweep":
        return Tables((), (), (Exported({}, record) for record in source), {})
    statuses = cells.newest_statuses(source.path)
    games = (name for ended in statuses.values() for name in ended.params if name.startswith(GAME_PREFIX))
    taken = [*(column.name for column in TABLES["matches"].columns), *measures.GENERAL, *games]
    rows, columns = cells.cell_rows(statuses, taken)
    parameters = columns[len(cells.COLUMNS) :]
    keys = {row["cell"]: {column.name: row[column.name] for column in (cells.CELL, *parameters)} for row in rows}
    found = (Exported(keys.get(entry.cell, {"cell": entry.cell}), entry.record) for entry in source.entries())
    return Tables([cells.CELL], parameters, found, {"cells": (columns, rows)})


def _match_tables(
    source: Tables, exported: Exported, failed: measures.Failed
) -> Iterator[tuple[str, Columns, Iterable[Row]]]:
    """Yield the tables of one match: name, columns and rows."""
    keys, record, replays = exported
    join = {column.name: keys.get(column.name) for column in source.join}
    for name, (columns, rows) in TABLES.items():
        if name == "matches":
            parameters = _parameters(record)
            described = [_parameter_column(parameter, record.game) for parameter in parameters]
            own = [{**row, **keys, **parameters} for row in rows(record)]
            yield name, [*source.join, *columns, *source.keys, *described], own
        elif replays or name != "proposals":
            try:
                own = [{**join, **row} for row in rows(record)]
            except Exception as error:  # of the game's own code, which only proposals ask
                failed(name, error)
                own = []
            yield name, [*source.join, *columns], own
    if replays:
        found = measures.measure_match(record, failed)
        own = [{**join, "match": record.id, **found}]
        yield "measures", [*source.join, MATCH, *_measure_columns(found, record.game)], own


def _parameters(record: Record) -> Row:
    """Return the parameters of the match's game, each a value of one column; lists and tables are JSON text."""
    return {f"{GAME_PREFIX}{name}": cells.column_value(value) for name, value in record.header.params.items()}


def _parameter_column(column: str, game: AnyGame) -> Column:
    name = column.removeprefix(GAME_PREFIX)
    return Column(column, "amount", f"parameter {name} of the game", game.measure_units.get(name, ""))


def _measure_columns(found: Mapping[str, Any], game: AnyGame) -> Columns:
    """Return the columns of a match's measures, with what they mean and their units."""
    return [_measure_column(name, name.removesuffix("_a").removesuffix("_b"), game) for name in found]


def _measure_column(name: str, base: str, game: AnyGame) -> Column:
    stakes = (game.stake_unit or game.unit) if base in measures.COUNTED_IN_STAKES else ""
    unit = game.measure_units.get(name) or game.measure_units.get(base) or stakes
    own = measures.meaning(game, name) or f"measure of {game_id(game)}: negolab guide {game_id(game)}"
    seat = f", of seat {name[-1].upper()}" if name != base else ""
    return Column(name, "amount", f"{measures.MEANINGS.get(base, own)}{seat}", unit)


def _in_unit(columns: Columns, units: Mapping[str, set[str]]) -> Columns:
    """Name the units of payoffs and of proposals where all matches have the same."""
    known = {name: found.copy().pop() for name, found in units.items() if len(found) == 1}
    return [column._replace(unit=known.get(column.unit, column.unit)) for column in columns]


class _Spool:
    """Rows of one table, kept in Parquet parts until all columns are known."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self._folder = folder
        self._columns: dict[str, Column] = {}
        self._rows: list[Row] = []
        self._parts: list[Path] = []
        self.count = 0

    def add(self, rows: Iterable[Row], columns: Columns) -> None:
        """Add rows with these columns, which may be more than before."""
        for column in columns:
            self._columns.setdefault(column.name, column)
        for row in rows:
            self._rows.append(row)
            self.count += 1
            if len(self._rows) >= CHUNK:
                self._flush()

    def _flush(self) -> None:
        for table in chunked(self._rows, list(self._columns.values())):
            self._parts.append(self._folder / f"{len(self._parts)}.parquet")
            with replacing(self._parts[-1]) as draft:
                pq.write_table(table, draft)
        self._rows.clear()

    def write(self, *files: Path) -> int:
        """Write the table to each file and return its number of rows."""
        self._flush()
        schema = self._schema()
        for file in files:
            parts = (conform(pq.read_table(part), schema) for part in self._parts)
            tables = chain(parts, [schema.empty_table()] if not self._parts else [])
            if file.suffix == ".csv":
                write_csv(map(nullable_frame, tables), file)
            else:
                write_parquet(tables, file)
        return self.count

    def _schema(self) -> pa.Schema:
        """Return one type per column; amounts without any value are numbers."""
        parts = [inferred_schema(list(self._columns.values())), *map(pq.read_schema, self._parts)]
        kinds = {field.name: field.type for field in unified_schema(parts)}
        number = pa.float64()
        return pa.schema([(name, number if kinds[name] == pa.null() else kinds[name]) for name in self._columns])

    def typed_columns(self) -> Columns:
        """Return the columns with the types that their values have."""
        schema = self._schema()
        return [
            column._replace(type=type_name(schema.field(name).type)) if column.type == "amount" else column
            for name, column in self._columns.items()
        ]


def readme(tables: list[str], key: list[str], to: str) -> str:
    """Return three lines each for pandas, R and DuckDB: the mean efficiency of matches by end.

    Args:
        tables: The tables that there are.
        key: The columns that join them.
        to: Ending of the files.
    """
    pandas = "read_csv" if to == "csv" else "read_parquet"
    r = "read.csv" if to == "csv" else "arrow::read_parquet"
    columns = ", ".join(f'"{name}"' for name in key)
    using = ", ".join(key)
    return f"""Tables: {", ".join(f"{name}.{to}" for name in tables)}; what their columns mean stands in dictionary.csv.
Rows of one match have the same {" and ".join(key)} in all of them; empty fields are unknown or do not apply.
The lines below join matches with their measures, and average the efficiency of the matches of each end.
For an interval, take the matches with the same draw together: they are not independent.

pandas
    import pandas as pd
    both = pd.{pandas}("matches.{to}").merge(pd.{pandas}("measures.{to}"), on=[{columns}])
    print(both.groupby("end").efficiency.agg(["mean", "count"]))

R
    matches <- {r}("matches.{to}"); measures <- {r}("measures.{to}")
    both <- merge(matches, measures, by = c({columns}))
    aggregate(efficiency ~ end, data = both, FUN = mean)

DuckDB
    CREATE TABLE matches AS FROM 'matches.{to}'; CREATE TABLE measures AS FROM 'measures.{to}';
    SELECT "end", avg(efficiency), count(*) FROM matches JOIN measures USING ({using})
    GROUP BY "end";
"""


def describe_rows(rows: Mapping[str, int]) -> str:
    """Say how many rows each table has.

    >>> describe_rows({"matches": 1, "turns": 1200, "replies": 1})
    '1 match, 1,200 turns, 1 reply'
    """
    singular = {"matches": "match", "replies": "reply"}
    names = {name: singular.get(name, name.removesuffix("s")) if count == 1 else name for name, count in rows.items()}
    return ", ".join(f"{count:,} {names[name]}" for name, count in rows.items())
