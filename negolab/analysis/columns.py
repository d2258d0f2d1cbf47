"""Columns of tables (name, type, unit and meaning) for typed frames, files and the data dictionary."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import chain, islice
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from negolab._internal.files import replacing
from negolab.formatting import FORMULA_STARTS

SHEET_ROWS = 1_048_576
"""Maximum number of rows in a spreadsheet's sheet, including the header."""
CELL_LENGTH = 32_767
"""Maximum number of characters in a workbook's cell."""
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
CHUNK = 50_000
"""Number of rows converted to columns at once, and in a Parquet row group."""
MEASURED = 10_000
"""Number of matches measured before they become columns; rows with many measures take several times the memory."""

Type = Literal["text", "integer", "number", "amount", "value", "boolean", "time", "json"]
"""`amount` is a number that frames keep as an integer if all are integers; `value` is a number or text, with the type
that fits all of them (text in files written in one pass); `time` is in seconds since 1970 and becomes UTC."""

_ARROW: dict[Type, pa.DataType] = {
    "text": pa.large_string(),
    "json": pa.large_string(),
    "integer": pa.int64(),
    "number": pa.float64(),
    "amount": pa.null(),  # inferred: integers or floats
    "value": pa.null(),
    "boolean": pa.bool_(),
    "time": pa.timestamp("us", "UTC"),
}

Row = Mapping[str, Any]


class Column(NamedTuple):
    """A column of a table: its name, type, and texts for the data dictionary ("" for none)."""

    name: str
    type: Type
    meaning: str
    unit: str = ""
    formula: str = ""
    source: str = ""


Columns = Sequence[Column]


def typed_frame(rows: Iterable[Row], columns: Columns) -> pd.DataFrame:
    """Build a frame that has all `columns` with their types, even without rows.

    As usual in pandas, integers become floats in a column with missing values; so do integers beyond 64 bits.

    Raises:
        ValueError: A value does not fit its column's type.
    """
    frame: pd.DataFrame = with_numbers(as_table(rows, columns)).to_pandas(split_blocks=True, self_destruct=True)
    return frame


def as_table(rows: Iterable[Row], columns: Columns) -> pa.Table:
    """Build a table that has all `columns`, even without rows."""
    return unify([inferred_schema(columns).empty_table(), *chunked(rows, columns)])


def with_numbers(table: pa.Table) -> pa.Table:
    """Make columns without any values numeric if their types would be inferred."""
    kinds = [(field.name, pa.float64() if field.type == pa.null() else field.type) for field in table.schema]
    return table.cast(pa.schema(kinds))


def to_frame(table: pa.Table) -> pd.DataFrame:
    """Convert a table to a frame; Booleans may have missing values, and columns without any values are numeric."""
    frame: pd.DataFrame = with_numbers(table).to_pandas(types_mapper={pa.bool_(): pd.BooleanDtype()}.get)
    return frame


def inferred_schema(columns: Columns) -> pa.Schema:
    """Return the types of the columns as far as they are declared; those of amounts are null."""
    return pa.schema([(c.name, _ARROW[c.type]) for c in columns])


def file_schema(columns: Columns) -> pa.Schema:
    """Return the types of the columns in a file, where amounts are floats."""
    streamed: dict[Type, Type] = {"amount": "number", "value": "text"}
    return pa.schema([(c.name, _ARROW[streamed.get(c.type, c.type)]) for c in columns])


def chunked(rows: Iterable[Row], columns: Columns) -> Iterator[pa.Table]:
    """Convert rows to tables of at most `CHUNK` rows."""
    rows = iter(rows)
    while chunk := list(islice(rows, CHUNK)):
        yield pa.table({c.name: _column(c, [row.get(c.name) for row in chunk]) for c in columns})


def measure_tables(rows: Iterable[Row], known: Columns) -> Iterator[pa.Table]:
    """Convert rows to tables of at most `MEASURED` rows; anything not among the known columns is a measure."""
    rows, names = iter(rows), {column.name for column in known}
    while some := list(islice(rows, MEASURED)):
        more = dict.fromkeys(name for row in some for name in row if name not in names)
        yield from chunked(some, [*known, *(Column(name, "amount", "") for name in more)])


def _column(column: Column, values: list[Any]) -> pa.Array:
    """Build one column; integers that do not fit become floats, and inferred values of several types become text."""
    if column.type in ("amount", "value"):
        return inferred(values)
    try:
        if column.type == "time":
            values = [None if value is None else round(value * 1e6) for value in values]
        return pa.array(values, _ARROW[column.type])
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as error:
        if column.type == "integer" and not isinstance(error, pa.ArrowTypeError):
            return pa.array([None if value is None else float(value) for value in values], pa.float64())
        raise ValueError(f"column {column.name}: {error}") from None


def inferred(values: list[Any]) -> pa.Array:
    """Build a column whose type follows from its values: numeric, Boolean, or else text."""
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int, float}:
        try:
            return pa.array(values)
        except (pa.ArrowInvalid, OverflowError):
            return pa.array([None if value is None else float(value) for value in values], pa.float64())
    if len(kinds) == 1 and str not in kinds:
        return pa.array(values)
    # For example, a parameter that is a number or a word.
    return pa.array([None if value is None else str(value) for value in values], pa.large_string())


def unified_schema(schemas: Sequence[pa.Schema]) -> pa.Schema:
    """Return one type for each column of all schemas; numbers are widened, and columns that cannot have one type are
    text."""
    kinds: dict[str, pa.DataType] = {}
    for field in (field for schema in schemas for field in schema):
        kinds[field.name] = _common_type(kinds.get(field.name, field.type), field.type)
    return pa.schema(list(kinds.items()))


def unify(tables: Iterable[pa.Table]) -> pa.Table:
    """Concatenate tables whose columns differ; a column is empty where a table lacks it."""
    parts = list(tables)
    schema = unified_schema([part.schema for part in parts])
    return pa.concat_tables([schema.empty_table(), *(conform(part, schema) for part in parts)])


def _common_type(one: pa.DataType, two: pa.DataType) -> pa.DataType:
    if one == two:
        return one
    fields = [pa.schema([("x", kind)]) for kind in (one, two)]
    try:
        return pa.unify_schemas(fields, promote_options="permissive").field("x").type
    except pa.ArrowTypeError:
        return pa.large_string()


def conform(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Convert a part to the types of the whole table; columns that it lacks are empty."""
    missing = [field for field in schema if field.name not in table.column_names]
    for field in missing:
        table = table.append_column(field, pa.nulls(len(table), field.type))
    return table.select(schema.names).cast(schema)


def type_name(kind: pa.DataType) -> Type:
    """Return the type of a column whose values were inferred."""
    if pa.types.is_boolean(kind):
        return "boolean"
    return "integer" if pa.types.is_integer(kind) else "number" if pa.types.is_floating(kind) else "text"


def nullable_frame(table: pa.Table) -> pd.DataFrame:
    """Convert a table to a frame whose integers and flags keep their types in columns with missing values."""
    kinds = {
        pa.int64(): pd.Int64Dtype(),
        pa.float64(): pd.Float64Dtype(),
        pa.bool_(): pd.BooleanDtype(),
        pa.large_string(): pd.StringDtype(),
    }
    frame: pd.DataFrame = table.to_pandas(types_mapper=kinds.get)
    return frame


def write_parquet(tables: Iterable[pa.Table], path: Path) -> None:
    """Write tables with the same schema to a file, one row group each, which pandas reads like a `nullable_frame`."""
    first = next(rest := iter(tables))
    about = pa.Table.from_pandas(nullable_frame(first.slice(0, 0)), preserve_index=False).schema.metadata
    schema = first.schema.with_metadata(about)
    with replacing(path) as draft, pq.ParquetWriter(draft, schema) as writer:
        for table in chain([first], rest):
            writer.write_table(table.replace_schema_metadata(schema.metadata))


def write_table(frame: pd.DataFrame, path: Path) -> None:
    """Write a frame as Parquet if `path` ends in `.parquet`, else as CSV with `write_csv`."""
    if path.suffix == ".parquet":
        frame.to_parquet(path, index=False)
    else:
        write_csv([frame], path)


def write_csv(frames: Iterable[pd.DataFrame], path: Path, *, names: bool = True) -> None:
    """Write frames with the same columns to one CSV file, with their names in the first row.

    A leading apostrophe keeps text that begins like a formula from being evaluated, even in column names; numbers are
    unchanged.
    """
    with replacing(path) as draft, draft.open("w", encoding="utf-8", newline="") as file:
        for at, frame in enumerate(frames):
            # With RFC 4180 line endings, pandas also quotes a lone carriage return, which would otherwise end the row.
            escape_formulas(frame).to_csv(file, index=False, header=names and at == 0, lineterminator="\r\n")


def write_xlsx(frames: Iterable[pd.DataFrame], path: Path) -> None:
    """Write frames with the same columns to a workbook with one sheet; text is escaped as in `write_csv`, and times are
    UTC.

    Raises:
        ValueError: There are too many rows for a sheet, or too much text for a cell, which openpyxl would cut.
    """
    from openpyxl import Workbook

    book, rows = Workbook(write_only=True), 0
    with closing(book.create_sheet()) as sheet:
        for at, frame in enumerate(frames):
            safe = escape_formulas(frame)
            if at == 0:
                sheet.append([_cell(name) for name in safe.columns])
            _check_room(safe, rows := rows + len(safe), path)
            for row in safe.itertuples(index=False):
                sheet.append([_cell(value) for value in row])
    with replacing(path) as draft:
        book.save(draft)


def _check_room(frame: pd.DataFrame, rows: int, path: Path) -> None:
    if rows >= SHEET_ROWS:
        raise ValueError(f"{path.name}: a sheet can have at most {SHEET_ROWS:,} rows: choose --to csv or --to parquet")
    longest = max((len(cell) for name in frame for cell in frame[name] if isinstance(cell, str)), default=0)
    if longest > CELL_LENGTH:
        raise ValueError(
            f"{path.name}: a cell of a workbook can contain {CELL_LENGTH:,} characters, but one here would have "
            f"{longest:,}: choose CSV"
        )


def _cell(value: Any) -> Any:
    """Return a value that a workbook's cell can hold, without control characters, and times without their zone."""
    if pd.isna(value):
        return None
    if isinstance(value, pd.Timestamp):
        return value.tz_localize(None)
    return _CONTROL.sub("\ufffd", value) if isinstance(value, str) else value


def escape_formulas(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame in which a spreadsheet evaluates nothing."""
    safe = frame.rename(columns=_escape_formulas)
    for name in safe.select_dtypes(["string", "object", "category"]):
        safe[name] = safe[name].map(_escape_formulas, na_action="ignore")
    return safe


def _escape_formulas(cell: Any) -> Any:
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(FORMULA_STARTS) else cell


def dictionary(tables: Mapping[str, Columns]) -> pd.DataFrame:
    """Build the data dictionary, with a row for each column of each table."""
    return pd.DataFrame(
        [
            {"table": table, "column": c.name, "type": "number" if c.type == "amount" else c.type, "unit": c.unit,
             "meaning": c.meaning, "formula": c.formula, "source": c.source}
            for table, columns in tables.items()
            for c in columns
        ]
    )  # fmt: skip
