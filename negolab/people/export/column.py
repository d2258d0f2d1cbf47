"""What a column of an exported table is: its name, type, unit and meaning."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple

import pandas as pd
from pandas.api.types import pandas_dtype

Type = Literal["text", "integer", "number", "boolean", "time", "json"]

_DTYPES: dict[Type, str] = {
    "text": "string",
    "json": "string",
    "integer": "Int64",
    "number": "Float64",
    "boolean": "boolean",
    "time": "datetime64[us, UTC]",
}


class Column(NamedTuple):
    """One column. Times are UTC; `unit` is empty for what is not counted in any."""

    name: str
    type: Type
    meaning: str
    unit: str = ""


def _microseconds(seconds: float) -> int:
    return round(seconds * 1e6)


def frame(columns: Iterable[Column], rows: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """Rows as a frame of exactly these columns, each of its type; times come as seconds since 1970."""
    columns = list(columns)
    made = pd.DataFrame(list(rows), columns=[column.name for column in columns], dtype="object")
    for column in columns:
        cells = made[column.name]
        if column.type == "time":
            cells = pd.to_datetime(cells.map(_microseconds, na_action="ignore"), unit="us", utc=True)
        made[column.name] = cells.astype(pandas_dtype(_DTYPES[column.type]))
    return made
