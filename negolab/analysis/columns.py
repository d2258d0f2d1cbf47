"""Rows as typed columns, a chunk at a time: no more than one chunk of rows are Python objects at any time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

CHUNK = 50_000
"""Rows that are turned into columns at once; also the rows of a Parquet file's row group."""

TEXT, WHOLE, REAL, FLAG = pa.large_string(), pa.int64(), pa.float64(), pa.bool_()
NUMBER = pa.null()
"""Whole or real, as the numbers are; real in Parquet."""

Columns = Mapping[str, pa.DataType]
Row = dict[str, Any]


def frame(rows: Iterable[Row], columns: Columns) -> pd.DataFrame:
    """The rows as a frame that has all columns, also without rows. As ever in pandas, whole numbers become floats in a
    column with gaps; so do those beyond 64 bits."""
    chunks = [pa.table({name: pa.array([], kind) for name, kind in columns.items()}), *_chunks(rows, columns)]
    table = pa.concat_tables(chunks, promote_options="permissive")
    del chunks
    found: pd.DataFrame = table.to_pandas(split_blocks=True, self_destruct=True)
    return found


def to_parquet(rows: Iterable[Row], columns: Columns, out: Path) -> int:
    """Write the rows, a row group at a time, and say how many they were; a file appears when it is whole."""
    schema = pa.schema([(name, REAL if kind == NUMBER else kind) for name, kind in columns.items()])
    draft = out.with_name(f"{out.name}.tmp")
    count = 0
    try:
        with pq.ParquetWriter(draft, schema) as writer:
            for chunk in _chunks(rows, columns):
                writer.write_table(chunk.cast(schema))
                count += len(chunk)
        draft.replace(out)
    finally:
        draft.unlink(missing_ok=True)
    return count


def _chunks(rows: Iterable[Row], columns: Columns) -> Iterator[pa.Table]:
    rows = iter(rows)
    while chunk := list(islice(rows, CHUNK)):
        yield pa.table({name: _column(name, [row.get(name) for row in chunk], kind) for name, kind in columns.items()})


def _column(name: str, values: list[Any], kind: pa.DataType) -> pa.Array:
    try:
        return pa.array(values, None if kind == NUMBER else kind)
    except (pa.ArrowInvalid, OverflowError) as error:
        if kind not in (NUMBER, WHOLE):
            raise ValueError(f"column {name}: {error}") from None
        return pa.array([None if value is None else float(value) for value in values], REAL)
    except pa.ArrowTypeError as error:
        raise ValueError(f"column {name}: {error}") from None
