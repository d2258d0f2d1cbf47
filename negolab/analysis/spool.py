"""The rows of one table of an export, kept on disk until all of its columns are known."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from negolab._internal.files import replacing
from negolab.analysis.columns import (
    Column,
    Columns,
    conform,
    inferred_schema,
    nullable_frame,
    type_name,
    unified_schema,
    unify,
    with_numbers,
    write_csv,
    write_parquet,
    write_xlsx,
)

CHUNK = 10_000
"""Number of rows of a table kept in memory."""


class Spool:
    """Rows of one table, kept in Parquet parts until all columns are known."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self._folder = folder
        self._columns: dict[str, Column] = {}
        self._tables: list[pa.Table] = []
        self._parts: list[Path] = []
        self.count = 0

    def add(self, table: pa.Table, columns: Columns) -> None:
        """Add rows, which may have more columns than before."""
        for column in columns:
            self._columns.setdefault(column.name, column)
        self._tables.append(table)
        self.count += len(table)
        if sum(map(len, self._tables)) >= CHUNK:
            self.flush()

    def take_columns(self, names: Collection[str]) -> Columns:
        """Remove columns, and return them."""
        self.flush()
        taken = [column for column in self.typed_columns() if column.name in names]
        for name in names:
            del self._columns[name]
        return taken

    def flush(self) -> None:
        """Write the rows kept in memory to a part."""
        if self._tables:
            self._parts.append(self._folder / f"{len(self._parts)}.parquet")
            with replacing(self._parts[-1]) as draft:
                pq.write_table(unify(self._tables), draft)
        self._tables = []

    def texts(self) -> list[Callable[[], None]]:
        """Return functions that each write a part as CSV next to it."""
        schema = self._schema()
        return [partial(_write_text, part, schema, at == 0) for at, part in enumerate(self._parts)]

    def write(self, *files: Path) -> int:
        """Write the table to each file, and return its number of rows."""
        schema = self._schema()
        for file in files:
            if file.suffix == ".csv":
                with replacing(file) as draft, draft.open("wb") as out:
                    for part in self._parts:
                        with part.with_suffix(".csv").open("rb") as text:
                            shutil.copyfileobj(text, out)
                continue
            tables = (conform(pq.read_table(part), schema) for part in self._parts)
            if file.suffix == ".xlsx":
                write_xlsx(map(nullable_frame, tables), file)
            else:
                write_parquet(tables, file)
        return self.count

    def _schema(self) -> pa.Schema:
        """Return one type per column; amounts without any values are numeric."""
        parts = [inferred_schema(list(self._columns.values())), *map(pq.read_schema, self._parts)]
        return with_numbers(unified_schema(parts).empty_table().select([*self._columns])).schema

    def typed_columns(self) -> Columns:
        """Return the columns with the types that their values have."""
        schema = self._schema()
        return [
            column._replace(type=type_name(schema.field(name).type)) if column.type in ("amount", "value") else column
            for name, column in self._columns.items()
        ]


def _write_text(part: Path, schema: pa.Schema, names: bool) -> None:
    """Write a part of a table as CSV next to it."""
    write_csv([nullable_frame(conform(pq.read_table(part), schema))], part.with_suffix(".csv"), names=names)
