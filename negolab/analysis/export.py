"""Export of records as tables that can be joined: matches, seats, turns, replies, proposals and measures.

Records are read once, one match at a time. A table's rows are spooled in parts, so that a column that only later
matches have (a measure or parameter of another game) needs no second pass.
"""

from __future__ import annotations

import logging
import os
import tempfile
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec
import pyarrow as pa

from negolab._internal import manifest
from negolab._internal.files import atomic_write, check_in_place, read_bytes, write_json
from negolab._internal.validation import suggest
from negolab.analysis import cells, measures
from negolab.analysis.columns import (
    Column,
    Columns,
    Row,
    as_table,
    chunked,
    dictionary,
    inferred_schema,
    write_table,
)
from negolab.analysis.parts import work_on
from negolab.analysis.rows import TABLES, seat_rows
from negolab.analysis.spool import Spool
from negolab.analysis.table_columns import FORMULAS, MATCH, MATCHES, SEAT_COLUMNS, STAKES, UNIT
from negolab.catalog import AnyGame, game_id, parameter_meanings
from negolab.formats import Part, RecordSource
from negolab.game import SEATS
from negolab.record import Record, kept_for_last
from negolab.user_code import describe_failure

log = logging.getLogger("negolab.analysis")

_AT_ONCE = 500
"""Number of matches converted to tables at once."""
ENDINGS = ("csv", "parquet", "xlsx")
DICTIONARY, README, SETTINGS = "dictionary.csv", "README.txt", "settings.json"
MATCH_TABLES = (*TABLES, "measures")
"""Tables that every source has."""
GAME_PREFIX = "game_"
"""Prefix of the columns for a game's parameters in the table of matches."""
_SET = ("preset", "treatment", "settings_a", "settings_b")
"""Columns of matches that, like the game's parameters, go to `SETTINGS` if they never change."""


Conditions = Mapping[str, Mapping[str, str | None]]
"""The values of a tournament's conditions for each player, by the condition's name."""


class Exported(NamedTuple):
    """A record to export.

    Attributes:
        keys: What the source knows about the match, by the names in `Tables.keys`.
        record: The record.
        replays: False if words were deleted; the record then has no proposals, utterances or measures.
        conditions: The conditions of a tournament.
    """

    keys: Row
    record: Record
    replays: bool = True
    conditions: Conditions = MappingProxyType({})


_Read = Callable[[Part], Iterable[Any]]


class Tables(NamedTuple):
    """Everything to export of a run, a sweep or a study.

    Attributes:
        join: Columns needed to make a match's ID unique; they are in every table.
        keys: Further columns of a match.
        records: The records; empty if there are `parts`.
        others: Further tables: their columns and rows.
        sample: Deals a match to give tables without rows their columns, because there may be no matches yet. None: such
            tables are not written.
        parts: Parts of the source, and the function that returns the records of one.
    """

    join: Columns
    keys: Columns
    records: Iterable[Exported]
    others: Mapping[str, tuple[Columns, Iterable[Row]]]
    sample: Callable[[], Record] | None = None
    parts: tuple[Sequence[Part], _Read] = ((), Part.entries)


class _Settings(msgspec.Struct):
    """The part of `SETTINGS` that says what was exported: its path relative to the folder of the tables."""

    source: str = ""


class _Tabulated(NamedTuple):
    """Tables of some matches.

    Attributes:
        tables: Columns and rows by name.
        settings: The values of each setting.
        units: Units of payoffs and of proposals.
        failures: Number of matches, by what could not be computed for them.
    """

    tables: Mapping[str, tuple[Columns, pa.Table]]
    settings: dict[str, set[Any]]
    units: dict[str, set[str]]
    failures: Counter[str]


def export(source: Tables, folder: Path, endings: Sequence[str], path: Path | None = None) -> dict[str, int]:
    """Write all tables of a source, `dictionary.csv`, `settings.json` and `README.txt` to a folder.

    Args:
        source: What to export.
        folder: An existing folder.
        endings: Endings of the files, from `ENDINGS`.
        path: Where the records are; None if the caller has made sure that the folder has no tables from another source.

    Returns:
        Number of rows by table. A table of matches without rows is written only if the source has a `sample`.

    Values that a game's code cannot compute are left empty, and the log has one line for each cause.

    Raises:
        ValueError: The folder has tables from another source.
        OSError: A table cannot be written, or the folder was removed, moved or replaced.
    """
    name = "" if path is None else os.path.relpath(path.resolve(), folder.resolve())
    if path is not None and (earlier := _exported_source(folder)) not in ("", name):
        raise ValueError(f"{folder} already contains tables of {earlier}: choose another folder with --out")
    units: dict[str, set[str]] = {UNIT: set(), STAKES: set()}
    failures = Counter[str]()
    settings: dict[str, set[Any]] = {}
    opened = folder.stat()
    with tempfile.TemporaryDirectory(prefix=".export-", dir=folder) as place:
        spools = {name: Spool(Path(place) / name) for name in (*MATCH_TABLES, *source.others)}

        def add(found: _Tabulated) -> None:
            # Values that some matches lack are None there.
            before = {None} if spools["matches"].count else set[Any]()
            for name in {**settings, **found.settings}:
                settings[name] = settings.get(name, before) | found.settings.get(name, {None})
            failures.update(found.failures)
            for unit, names in found.units.items():
                units[unit] |= names
            for name, (columns, table) in found.tables.items():
                spools[name].add(table, columns)

        parts, read = source.parts
        columns = source.join, source.keys
        work_on([partial(_tabulate_part, columns, read, part) for part in parts], add, "export", parts)
        records = iter(source.records)
        while some := list(islice(records, _AT_ONCE)):
            add(_tabulate(*columns, some))
        sampled = {} if source.sample is None else _sampled(source, failures)
        for name, (described, table) in sampled.items():
            if not spools[name].count:
                spools[name].add(table, described)
        for name, (others, rows) in source.others.items():
            for table in chunked(rows, others):
                spools[name].add(table, others)
            spools[name].add(inferred_schema(others).empty_table(), others)
        never = spools["matches"].take_columns([name for name, values in settings.items() if len(values) < 2])
        kept = {n: spool for n, spool in spools.items() if spool.count or n in source.others or n in sampled}
        for spool in kept.values():
            spool.flush()
        if "csv" in endings:
            texts = [text for spool in kept.values() for text in spool.texts()]
            work_on(texts, lambda _: None, "csv")
        counts = {name: spool.write(*(folder / f"{name}.{to}" for to in endings)) for name, spool in kept.items()}
        listed = {name: _in_unit(spools[name].typed_columns(), units) for name in counts}
        listed["settings"] = never
    for what, count in failures.items():
        log.warning("left empty for %s %s: %s", f"{count:,}", "match" if count == 1 else "matches", what)
    write_table(dictionary(listed), folder / DICTIONARY)
    same = {column.name: next(iter(settings[column.name]), None) for column in never}
    about = {"about": "columns of matches that are the same in all of them", "source": name, "matches": same}
    write_json(folder / SETTINGS, about)
    joined = [column.name for column in (*source.join, MATCH)]
    atomic_write(folder / README, readme(list(counts), joined, endings[0]).encode())
    check_in_place(folder, opened)
    return counts


def _exported_source(folder: Path) -> str:
    """Return the source whose tables are in a folder; empty if there are none, or the folder does not say."""
    try:
        return msgspec.json.decode(read_bytes(folder / SETTINGS), type=_Settings).source
    except (OSError, ValueError, RecursionError):
        return ""


def parse_endings(to: str) -> tuple[str, ...]:
    """Return the endings named by `--to`, separated by commas; "both" means csv and parquet.

    Raises:
        ValueError: There is no such ending, or the package that writes it is not installed.
    """
    endings = tuple(to.replace("both", "csv,parquet").split(","))
    for ending in endings:
        if ending not in ENDINGS:
            raise ValueError(f"--to {to!r}: {suggest(ending, ENDINGS)}")
    if "xlsx" in endings and find_spec("openpyxl") is None:
        raise ValueError("--to xlsx needs openpyxl: pip install 'negolab[xlsx]'")
    return endings


def _sampled(source: Tables, failures: Counter[str]) -> Mapping[str, tuple[Columns, pa.Table]]:
    """Return the columns of a match that nobody has played, without rows."""
    assert source.sample is not None
    try:
        found = _tabulate(source.join, source.keys, [Exported({}, source.sample())]).tables
    except Exception as error:  # of the game's own code
        failures.update([f"tables without rows: {describe_failure(error)}"])
        return {}
    return {name: (columns, inferred_schema(columns).empty_table()) for name, (columns, _) in found.items()}


def open_tables(source: RecordSource, wanted: Callable[[Record], bool] | None = None) -> Tables:
    """Return the tables of a source of records; for a sweep, with its cells and their parameters.

    Args:
        source: The source.
        wanted: A module-level function that returns True for the records to export (None: all).

    Raises:
        ValueError: A status file of the sweep cannot be read.
    """
    parts = source.parts()
    if parts is None:
        return Tables((), (), (Exported({}, record) for record in source if wanted is None or wanted(record)), {})
    if source.kind != "sweep":
        conditions = manifest.read(source.path).get("conditions", {}) if source.path.is_dir() else {}
        return Tables((), (), (), {}, parts=(parts, partial(_read_part, {}, wanted, conditions=conditions)))
    statuses = cells.newest_statuses(source.path)
    games = (name for ended in statuses.values() for name in ended.params if name.startswith(GAME_PREFIX))
    taken = [*(column.name for column in (*MATCHES, *SEAT_COLUMNS)), *measures.GENERAL, *games]
    rows, columns = cells.cell_rows(statuses, taken)
    parameters = columns[len(cells.COLUMNS) :]
    keys = {row["cell"]: {column.name: row[column.name] for column in (cells.CELL, *parameters)} for row in rows}
    return Tables(
        [cells.CELL], parameters, (), {"cells": (columns, rows)}, parts=(parts, partial(_read_part, keys, wanted))
    )


def _read_part(
    keys: Mapping[str | None, Row],
    wanted: Callable[[Record], bool] | None,
    part: Part,
    conditions: Conditions = MappingProxyType({}),
) -> Iterator[Exported]:
    own = keys.get(part.cell, {"cell": part.cell})
    for entry in part.entries():
        if wanted is None or wanted(entry.record):
            yield Exported(own, entry.record, conditions=conditions)


def _tabulate_part(
    columns: tuple[Columns, Columns], read: Callable[[Part], Iterable[Exported]], part: Part
) -> _Tabulated:
    return _tabulate(*columns, read(part))


def _tabulate(join: Columns, keys: Columns, records: Iterable[Exported]) -> _Tabulated:
    """Return the tables of some matches."""
    units: dict[str, set[str]] = {UNIT: set(), STAKES: set()}
    failures = Counter[str]()
    rows = {name: list[Row]() for name in MATCH_TABLES}
    columns: dict[str, dict[str, Column]] = {}
    known = set[Hashable]()

    def failed(what: str, error: Exception) -> None:
        failures.update([f"{what}: {describe_failure(error.__cause__ or error)}"])

    for exported in records:
        game = exported.record.game
        units[UNIT].add(game.unit)
        units[STAKES].add(game.stake_unit or game.unit)
        for name, made, key, described in _match_tables(join, keys, exported, failed):
            rows[name] += made
            if (name, key) not in known:
                known.add((name, key))
                columns[name] = {**{column.name: column for column in described()}, **columns.get(name, {})}
    ordered = {name: list(found.values()) for name, found in columns.items()}
    tables = {name: (found, as_table(rows[name], found)) for name, found in ordered.items()}
    settings = {
        column.name: {row.get(column.name) for row in rows["matches"]}
        for column in ordered.get("matches", ())
        if _is_setting(column.name)
    }
    return _Tabulated(tables, settings, units, failures)


def _match_tables(
    joined: Columns, known: Columns, exported: Exported, failed: measures.Failed
) -> Iterator[tuple[str, Iterable[Row], Hashable, Callable[[], Columns]]]:
    """Yield the tables of one match: name, rows, key, and columns, which are the same if the key is."""
    keys, record, replays, conditions = exported
    players = {f"_{seat.lower()}": record.header.players[seat] for seat in SEATS} if conditions else {}
    levels = {f"{name}{at}": of.get(player) for name, of in conditions.items() for at, player in players.items()}
    join = {column.name: keys.get(column.name) for column in joined}
    found = measures.measure_match(record, failed) if replays else {}
    parameters = _parameters(record.header.params)
    beside: dict[str, Row] = {"matches": {**keys, **levels, **parameters}, "seats": keys}
    own: dict[str, Columns] = {"seats": [*known, *map(_condition_column, conditions)]}
    for name, (columns, rows) in TABLES.items():
        if name in ("proposals", "rounds", "utterances") and not replays:
            continue
        try:
            made = list(seat_rows(record, found) if name == "seats" else rows(record))
        except Exception as error:  # of the game's own code
            failed(name, error)
            made = []
        if more := beside.get(name, join):
            made = [{**join, **row, **more} for row in made]
        if name == "seats" and conditions:
            made = [{**row, **{each: of.get(row["player"]) for each, of in conditions.items()}} for row in made]
        if name == "matches":
            key = record.header.game, *parameters
            beside_keys = [*known, *map(_condition_column, levels)]
            yield name, made, key, partial(_match_columns, joined, beside_keys, record.game, list(parameters))
        else:
            yield name, made, "", partial(list, [*joined, *columns, *own.get(name, ())])
    if replays:
        measured = [{**join, "match": record.id, **found}]
        yield "measures", measured, (record.header.game, *found), partial(_measure_columns, joined, found, record.game)


def _match_columns(join: Columns, keys: Columns, game: AnyGame, parameters: Iterable[str]) -> Columns:
    meanings = parameter_meanings(game)
    return [*join, *MATCHES, *keys, *(_parameter_column(name, game, meanings) for name in parameters)]


def _condition_column(name: str) -> Column:
    return Column(name, "text", "condition of the player in a tournament; empty: a player without conditions")


@kept_for_last
def _parameters(params: dict[str, Any]) -> Row:
    """Return the parameters of a game, each as a value for one column; lists and tables are JSON text."""
    return {f"{GAME_PREFIX}{name}": cells.column_value(value) for name, value in params.items()}


def _parameter_column(column: str, game: AnyGame, meanings: Mapping[str, str]) -> Column:
    name = column.removeprefix(GAME_PREFIX)
    meaning = f"parameter of the game: {meanings[name]}" if name in meanings else f"parameter {name} of the game"
    return Column(column, "amount", meaning, game.measure_units.get(name, ""))


def _measure_columns(join: Columns, found: Iterable[str], game: AnyGame) -> Columns:
    """Return the columns of a match's measures, with their meanings and units."""
    described = [_measure_column(name, name.removesuffix("_a").removesuffix("_b"), game) for name in found]
    return [*join, MATCH, *described]


def _measure_column(name: str, base: str, game: AnyGame) -> Column:
    stakes = (game.stake_unit or game.unit) if base in measures.COUNTED_IN_STAKES else ""
    unit = game.measure_units.get(name) or game.measure_units.get(base) or stakes
    own = measures.meaning(game, name) or measures.meaning(game, base) or f"measure of {game_id(game)}"
    seat = f", of seat {name[-1].upper()}" if name != base else ""
    steps = ("count", "Hindriks, Jonker and Tykhonov 2007") if base.endswith("_steps") else ("", "")
    return Column(name, "amount", f"{measures.MEANINGS.get(base, own)}{seat}", unit, *FORMULAS.get(base, steps))


def _in_unit(columns: Columns, units: Mapping[str, set[str]]) -> Columns:
    """Name the units of payoffs and of proposals if they are the same in all matches."""
    known = {name: found.copy().pop() for name, found in units.items() if len(found) == 1}
    return [column._replace(unit=known.get(column.unit, column.unit)) for column in columns]


def _is_setting(column: str) -> bool:
    return column in _SET or column.startswith(GAME_PREFIX)


def readme(tables: list[str], key: list[str], to: str) -> str:
    """Return a few lines each for pandas, R and DuckDB that compute the mean efficiency of matches by end.

    Args:
        tables: The tables that were written.
        key: The columns that join them.
        to: Ending of the files.
    """
    words = "" if to == "parquet" else ', keep_default_na=False, na_values=[""]'
    pandas = {"csv": "read_csv", "xlsx": "read_excel"}.get(to, "read_parquet")
    reads = {"csv": ("read.csv", ', na.strings = ""'), "xlsx": ("readxl::read_excel", "")}
    r, empty = reads.get(to, ("arrow::read_parquet", ""))
    columns = ", ".join(f'"{name}"' for name in key)
    using = ", ".join(key)
    return f"""Tables: {", ".join(f"{name}.{to}" for name in tables)}; dictionary.csv explains their columns,
and settings.json has what is the same in all matches (the game's parameters). seats has a row per match and seat.
Rows of one match have the same {" and ".join(key)} in all of them; empty fields are unknown or do not apply.
The lines below join matches with their measures, and average the efficiency of the matches of each end.
For an interval, cluster the matches by draw: those on the same draw are not independent.
If somebody wrote "None", "NA" or "null", these lines keep the word.

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
