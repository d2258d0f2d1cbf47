"""The matches of a folder of records with their measures, as one table stored next to the records.

Measures replay every match, so they are computed only once: a sweep's cell stores them in `FILE` when it is finished.
The file names the version of negolab, the records, and the code of the user's own games that it was made from; if these
have changed, it is rebuilt.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from negolab import store, user_code
from negolab._internal.files import replacing
from negolab._internal.version import __version__
from negolab.analysis.columns import inferred_schema, measure_tables, unify
from negolab.analysis.measures import measure_match
from negolab.analysis.parts import work_on
from negolab.analysis.rows import has_agreed, matched
from negolab.analysis.table_columns import MATCHES
from negolab.formats import Part, open_source
from negolab.record import Record
from negolab.sweeps import status

FILE = "matches.parquet"
"""File in a folder of records that contains its matches with their measures."""
_MADE_FROM = b"negolab.made_from"
"""Key in the file's metadata for what it was made from."""
_NONE = inferred_schema(MATCHES).empty_table()


def read_matches(folder: Path) -> pa.Table:
    """Return a row per match in a folder of records: the columns of `tables.matches`, `agreed`, and all measures.

    Reads the table stored next to the records if it was made from them; otherwise, measures every match and stores the
    table.

    Raises:
        ValueError: A line is not a record, or a record cannot be replayed.
    """
    made_from = _made_from(folder)
    found = _read_kept(folder / FILE, made_from)
    return _kept(folder, _measure_parts(folder), made_from) if found is None else found


def measure_folder(folder: Path, records: Iterator[Record]) -> pa.Table:
    """Measure the records of a folder and store the table next to them; raises the same errors as `read_matches`."""
    return _kept(folder, _measured(records), _made_from(folder))


def _measure_parts(folder: Path) -> list[pa.Table]:
    parts, found = open_source(folder).parts() or (), list[pa.Table]()
    work_on([partial(_measure_part, part) for part in parts], found.append, "measures", parts)
    return found


def _measure_part(part: Part) -> pa.Table:
    return unify([_NONE, *_measured(entry.record for entry in part.entries())])


def _kept(folder: Path, tables: Iterable[pa.Table], made_from: bytes) -> pa.Table:
    found = unify([_NONE, *tables])
    # In a folder owned by others, or on a full disk, it is measured again the next time.
    with suppress(OSError), replacing(folder / FILE) as draft:
        pq.write_table(found.replace_schema_metadata({_MADE_FROM: made_from}), draft)
    return found


def read_cell(folder: Path) -> pa.Table:
    """Return the matches of a finished cell of a sweep, with its ID in the column `cell`."""
    found = read_matches(folder)
    return found.add_column(1, "cell", pa.repeat(pa.scalar(folder.name, pa.large_string()), len(found)))


def read_sweep(path: Path) -> pa.Table:
    """Return the matches of all finished cells in a sweep's folder."""
    none = _NONE.add_column(1, "cell", pa.array([], pa.large_string()))
    finished = (cell for cell in status.subfolders(path / status.CELLS) if (cell / status.FILE).exists())
    return unify([none, *map(read_cell, finished)])


def _made_from(folder: Path) -> bytes:
    """Describe everything that a folder's table depends on, and where it was made: nobody can set a file's `st_ctime`,
    so a table in a folder from elsewhere is never trusted or unpacked."""
    files = [(file, file.stat()) for file in store.record_files(folder)]
    records = [
        (str(file.relative_to(folder)), stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns) for file, stat in files
    ]
    sources = {
        game: now and now.sha256
        for place in sorted({file.parent for file, _ in files})
        for game, source in user_code.read(place).items()
        for now in [user_code.current(source)]
    }
    return msgspec.json.encode([__version__, records, sources])


def _read_kept(file: Path, made_from: bytes) -> pa.Table | None:
    if not file.is_file():
        return None
    try:
        kept = pq.ParquetFile(file)
        is_current = (kept.schema_arrow.metadata or {}).get(_MADE_FROM) == made_from
        return kept.read() if is_current else None
    except (OSError, pa.ArrowException):  # it was cut short
        return None


def _measured(records: Iterable[Record]) -> Iterator[pa.Table]:
    """Measure records and yield them as tables."""
    return measure_tables(map(_row, records), MATCHES)


def _row(record: Record) -> dict[str, Any]:
    return {**measure_match(record), **matched(record), "agreed": has_agreed(matched(record))}
