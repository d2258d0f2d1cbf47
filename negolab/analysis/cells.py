"""The cells of a sweep as a frame, read from the status files of their attempts in the sweep's folder."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from negolab._internal import manifest
from negolab.analysis.columns import Column, Columns, Row
from negolab.sweeps import status
from negolab.sweeps.status import CellStatus

CELL = Column("cell", "text", "id of the cell of the sweep")
COLUMNS: Columns = [
    CELL,
    Column("state", "text", "done, failed, timeout, died or refused"),
    Column("seed", "integer", "seed of the cell"),
    Column("repeat", "integer", "number of the repeat, from 0"),
    Column("seconds", "number", "duration of the newest attempt", "s"),
    Column("attempts", "integer", "number of attempts"),
    Column("error", "text", "kind and text of the error that ended it"),
    Column("usd", "number", "cost of its models at list price", "US dollars"),
]
"""Columns of `tables.cells` that are not parameters."""
Params = Mapping[str, Mapping[str, Any]]
"""Parameters of each cell: cell ID -> name -> value."""


def newest_statuses(path: Path) -> dict[str, CellStatus]:
    """Return the status of each cell's newest attempt, by ID: the one that finished, else the last one that did not.

    Raises:
        ValueError: The folder is not a sweep's folder, or a status file cannot be read.
    """
    if not status.is_sweep(path) and "cells" not in manifest.read(path):
        raise ValueError(f"{path} is not a sweep folder: it has no cells or attempts")
    return dict(sorted(status.read_ended(path).items()))


def cell_rows(statuses: Mapping[str, CellStatus], taken: Iterable[str] = ()) -> tuple[list[Row], Columns]:
    """Return a row per cell, and the columns: `COLUMNS`, then one per parameter, avoiding the names in `taken`."""
    names = _parameters({cell: ended.params for cell, ended in statuses.items()}, taken)
    rows: list[Row] = [
        {
            "cell": ended.id,
            **{column.name: getattr(ended, column.name) for column in COLUMNS[1:]},
            "error": None if ended.error is None else str(ended.error),
            **{column: column_value(ended.params.get(name)) for name, column in names.items()},
        }
        for ended in statuses.values()
    ]
    return rows, [*COLUMNS, *(Column(names[name], "amount", f"parameter {name} of the sweep") for name in names)]


def join_parameters(data: pd.DataFrame, params: Params) -> tuple[pd.DataFrame, dict[str, str]]:
    """Add a column for each parameter to a frame of a sweep.

    Args:
        data: A frame with the column `cell`.
        params: Parameters by cell ID.

    Returns:
        The frame with parameters, and the column of each parameter by the parameter's name.

    Raises:
        ValueError: The frame has no column `cell`.
    """
    if "cell" not in data:
        raise ValueError("this frame has no column `cell`: pass the frame of a sweep")
    names = _parameters(params, map(str, data))
    columns = {
        column: data["cell"].map({cell: column_value(own.get(name)) for cell, own in params.items()})
        for name, column in names.items()
    }
    return data.assign(**columns), names


def _parameters(params: Params, taken: Iterable[str]) -> dict[str, str]:
    """Map each parameter to its column, prefixed with `param_` if the name is taken or is one of `COLUMNS`."""
    used = {*taken, *(column.name for column in COLUMNS)}
    names: dict[str, str] = {}
    for name in dict.fromkeys(name for own in params.values() for name in own):
        column = name
        while column in used:
            column = f"param_{column}"
        names[name] = column
        used.add(column)
    return names


def column_value(value: Any) -> Any:
    """Encode lists and tables as JSON text, so that a frame can be grouped by them."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list | tuple) else value
