"""Export of records as tables that join: matches, seats, turns, replies, proposals and measures.

Records are read once, one match at a time. A table's rows are spooled in parts, so that a column which only later
matches have (a measure or a parameter of another game) needs no second pass.
"""

from __future__ import annotations

import logging
import tempfile
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
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
from negolab.analysis.table_columns import FORMULAS, MATCH, MATCHES, SEAT_COLUMNS, STAKES, UNIT
from negolab.analysis.tables import TABLES, seat_rows
from negolab.catalog import AnyGame, game_id
from negolab.formats import RecordSource
from negolab.record import Record, kept_for_last
from negolab.user_code import describe_failure

log = logging.getLogger("negolab.analysis")

CHUNK = 10_000
"""Rows of a table that are kept in memory."""
ENDINGS = ("csv", "parquet")
DICTIONARY, README, SETTINGS = "dictionary.csv", "README.txt", "settings.json"
MATCH_TABLES = (*TABLES, "measures")
"""Tables that any source has."""
GAME_PREFIX = "game_"
"""Beginning of the columns of a game's parameters in the table of matches."""
_SET = ("preset", "settings_a", "settings_b")
"""Columns of matches that go to `SETTINGS`, as parameters of the game do, where they never change."""


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
    """Write all tables of a source, `dictionary.csv`, `settings.json` and `README.txt` to a folder.

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
            for name, rows, key, columns in _match_tables(source, exported, failed):
                spools[name].add(rows, columns, key)
        sampled = set[str]()
        try:
            dealt = [] if source.sample is None else [Exported({}, source.sample())]
            for name, _, key, columns in chain.from_iterable(_match_tables(source, each, _ignore) for each in dealt):
                sampled.add(name)
                if not spools[name].count:
                    spools[name].add((), columns, key)
        except Exception as error:  # of the game's own code
            failed("tables without rows", error)
        for name, (others, rows) in source.others.items():
            spools[name].add(rows, partial(list, others))
        never = spools["matches"].take_constants()
        files = {name: [folder / f"{name}.{ending}" for ending in endings] for name in spools}
        counts = {
            name: spool.write(*files[name])
            for name, spool in spools.items()
            if spool.count or name in source.others or name in sampled
        }
        listed = {name: _in_unit(spools[name].typed_columns(), units) for name in counts}
        listed["settings"] = [column for column, _ in never]
    for what, count in failures.items():
        log.warning("left empty for %s %s: %s", f"{count:,}", "match" if count == 1 else "matches", what)
    write_table(dictionary(listed), folder / DICTIONARY)
    settings = {column.name: value for column, value in never}
    about = {"about": "columns of matches that are the same in all of them", "matches": settings}
    atomic_write(folder / SETTINGS, msgspec.json.format(msgspec.json.encode(about)) + b"\n")
    joined = [column.name for column in (*source.join, MATCH)]
    atomic_write(folder / README, readme(list(counts), joined, endings[0]).encode())
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
    taken = [*(column.name for column in (*MATCHES, *SEAT_COLUMNS)), *measures.GENERAL, *games]
    rows, columns = cells.cell_rows(statuses, taken)
    parameters = columns[len(cells.COLUMNS) :]
    keys = {row["cell"]: {column.name: row[column.name] for column in (cells.CELL, *parameters)} for row in rows}
    found = (Exported(keys.get(entry.cell, {"cell": entry.cell}), entry.record) for entry in source.entries())
    return Tables([cells.CELL], parameters, found, {"cells": (columns, rows)})


def _match_tables(
    source: Tables, exported: Exported, failed: measures.Failed
) -> Iterator[tuple[str, Iterable[Row], Hashable, Callable[[], Columns]]]:
    """Yield the tables of one match: name, rows, and the columns, which are the same where the key is."""
    keys, record, replays = exported
    join = {column.name: keys.get(column.name) for column in source.join}
    found = measures.measure_match(record, failed) if replays else {}
    parameters = _parameters(record.header.params)
    beside: dict[str, Row] = {"matches": {**keys, **parameters}, "seats": keys}
    own: dict[str, Columns] = {"seats": source.keys}
    for name, (columns, rows) in TABLES.items():
        if name == "proposals" and not replays:
            continue
        try:
            made = list(seat_rows(record, found) if name == "seats" else rows(record))
        except Exception as error:  # of the game's own code
            failed(name, error)
            made = []
        if more := beside.get(name, join):
            made = [{**join, **row, **more} for row in made]
        if name == "matches":
            key = record.header.game, *parameters
            yield name, made, key, partial(_match_columns, source, record.game, list(parameters))
        else:
            yield name, made, "", partial(list, [*source.join, *columns, *own.get(name, ())])
    if replays:
        measured = [{**join, "match": record.id, **found}]
        yield "measures", measured, (record.header.game, *found), partial(_measure_columns, source, found, record.game)


def _match_columns(source: Tables, game: AnyGame, parameters: Iterable[str]) -> Columns:
    return [*source.join, *MATCHES, *source.keys, *(_parameter_column(name, game) for name in parameters)]


@kept_for_last
def _parameters(params: dict[str, Any]) -> Row:
    """Return the parameters of a game, each a value of one column; lists and tables are JSON text."""
    return {f"{GAME_PREFIX}{name}": cells.column_value(value) for name, value in params.items()}


def _parameter_column(column: str, game: AnyGame) -> Column:
    name = column.removeprefix(GAME_PREFIX)
    return Column(column, "amount", f"parameter {name} of the game", game.measure_units.get(name, ""))


def _measure_columns(source: Tables, found: Iterable[str], game: AnyGame) -> Columns:
    """Return the columns of a match's measures, with what they mean and their units."""
    described = [_measure_column(name, name.removesuffix("_a").removesuffix("_b"), game) for name in found]
    return [*source.join, MATCH, *described]


def _measure_column(name: str, base: str, game: AnyGame) -> Column:
    stakes = (game.stake_unit or game.unit) if base in measures.COUNTED_IN_STAKES else ""
    unit = game.measure_units.get(name) or game.measure_units.get(base) or stakes
    own = measures.meaning(game, name) or f"measure of {game_id(game)}: negolab guide {game_id(game)}"
    seat = f", of seat {name[-1].upper()}" if name != base else ""
    steps = ("count", "Hindriks, Jonker and Tykhonov 2007") if base.endswith("_steps") else ("", "")
    return Column(name, "amount", f"{measures.MEANINGS.get(base, own)}{seat}", unit, *FORMULAS.get(base, steps))


def _in_unit(columns: Columns, units: Mapping[str, set[str]]) -> Columns:
    """Name the units of payoffs and of proposals where all matches have the same."""
    known = {name: found.copy().pop() for name, found in units.items() if len(found) == 1}
    return [column._replace(unit=known.get(column.unit, column.unit)) for column in columns]


def _is_setting(column: str) -> bool:
    return column in _SET or column.startswith(GAME_PREFIX)


class _Spool:
    """Rows of one table, kept in Parquet parts until all columns are known."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self._folder = folder
        self._columns: dict[str, Column] = {}
        self._known = set[Hashable]()
        self._constants: dict[str, Any] | None = None
        self._rows: list[Row] = []
        self._parts: list[Path] = []
        self.count = 0

    def add(self, rows: Iterable[Row], columns: Callable[[], Columns], key: Hashable = None) -> None:
        """Add rows; their columns, which may be more than before, are asked for once for each key."""
        if key not in self._known:
            self._known.add(key)
            for column in columns():
                self._columns.setdefault(column.name, column)
        for row in rows:
            self._rows.append(row)
            self.count += 1
            self._note(row)
            if len(self._rows) >= CHUNK:
                self._flush()

    def _note(self, row: Row) -> None:
        """Leave out the settings that this row changes."""
        if self._constants is None:
            self._constants = {name: row.get(name) for name in self._columns if _is_setting(name)}
        elif changed := [name for name, value in self._constants.items() if row.get(name) != value]:
            for name in changed:
                del self._constants[name]

    def take_constants(self) -> list[tuple[Column, Any]]:
        """Take out the settings that have the same value in all rows, and return them with it."""
        self._flush()
        typed = {column.name: column for column in self.typed_columns()}
        constants = self._constants or {}
        for name in constants:
            del self._columns[name]
        return [(typed[name], value) for name, value in constants.items()]

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
            column._replace(type=type_name(schema.field(name).type)) if column.type in ("amount", "value") else column
            for name, column in self._columns.items()
        ]


def readme(tables: list[str], key: list[str], to: str) -> str:
    """Return some lines each for pandas, R and DuckDB: the mean efficiency of matches by end.

    Args:
        tables: The tables that there are.
        key: The columns that join them.
        to: Ending of the files.
    """
    words = ', keep_default_na=False, na_values=[""]' if to == "csv" else ""
    pandas = "read_csv" if to == "csv" else "read_parquet"
    r, empty = ("read.csv", ', na.strings = ""') if to == "csv" else ("arrow::read_parquet", "")
    columns = ", ".join(f'"{name}"' for name in key)
    using = ", ".join(key)
    return f"""Tables: {", ".join(f"{name}.{to}" for name in tables)}; what their columns mean stands in dictionary.csv,
and what is the same in all matches (the game's parameters) in settings.json. seats has a row per match and seat.
Rows of one match have the same {" and ".join(key)} in all of them; empty fields are unknown or do not apply.
The lines below join matches with their measures, and average the efficiency of the matches of each end.
For an interval, take the matches with the same draw together: they are not independent.
Where somebody wrote "None", "NA" or "null", these lines read the word and not an empty field.

pandas
    import pandas as pd
    matches, measures = (pd.{pandas}(f"{{name}}.{to}"{words}) for name in ("matches", "measures"))
    both = matches.merge(measures, on=[{columns}])
    print(both.groupby("end").efficiency.agg(["mean", "count"]))

R
    matches <- {r}("matches.{to}"{empty}); measures <- {r}("measures.{to}"{empty})
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
