"""Cells of a sweep as a frame, read from the status files of their attempts in the sweep's folder."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from negolab._internal import manifest
from negolab.analysis.columns import Column, Columns
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
"""Columns of `cell_frame` that are not parameters."""
FIXED = tuple(column.name for column in COLUMNS)
Params = Mapping[str, Mapping[str, Any]]
"""Parameters of each cell: cell id -> name -> value."""


def newest_statuses(path: Path) -> dict[str, CellStatus]:
    """Return the status of each cell's newest attempt, by id: the one that finished, else the last that did not.

    Raises:
        ValueError: The folder is not a sweep's, or a status file cannot be read.
    """
    if not status.is_sweep(path) and "cells" not in manifest.read(path):
        raise ValueError(f"{path} is no folder of a sweep: it has neither cells nor attempts")
    return dict(sorted({**status.read_unsuccessful(path), **status.read_done(path)}.items()))


def cell_frame(path: Path) -> pd.DataFrame:
    """Implement `tables.cells`."""
    found = newest_statuses(path)
    names = _parameters({cell: ended.params for cell, ended in found.items()}, FIXED)
    rows = [
        {
            "cell": ended.id,
            **{column: getattr(ended, column) for column in FIXED[1:]},
            "error": None if ended.error is None else str(ended.error),
            **{column: column_value(ended.params.get(name)) for name, column in names.items()},
        }
        for ended in found.values()
    ]
    return pd.DataFrame(rows, columns=[*FIXED, *names.values()]).astype({"seconds": float, "usd": float})


def with_parameters(data: pd.DataFrame, path: Path) -> pd.DataFrame:
    """Implement `tables.with_parameters`."""
    return join_parameters(data, {cell: ended.params for cell, ended in newest_statuses(path).items()})[0]


def parameters_by_cell(path: Path, taken: Iterable[str]) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """Return the values of a sweep's parameters by cell and column, and the columns, beside those that are `taken`."""
    params = {cell: ended.params for cell, ended in newest_statuses(path).items()}
    names = _parameters(params, tuple(taken))
    return _parameter_values(params, names), list(names.values())


def join_parameters(data: pd.DataFrame, params: Params) -> tuple[pd.DataFrame, dict[str, str]]:
    """Add a column for each parameter to a frame of a sweep.

    Args:
        data: A frame with the column `cell`.
        params: Parameters by cell id.

    Returns:
        The frame with parameters, and the column of each parameter by the parameter's name.

    Raises:
        ValueError: The frame has no column `cell`.
    """
    if "cell" not in data:
        raise ValueError("only a frame of a sweep has cells: this one has no column `cell`")
    names = _parameters(params, tuple(map(str, data)))
    values = _parameter_values(params, names)
    columns = {
        column: data["cell"].map({cell: own[column] for cell, own in values.items()}) for column in names.values()
    }
    return data.assign(**columns), names


def _parameters(params: Params, taken: tuple[str, ...]) -> dict[str, str]:
    """Map each parameter to its column, prefixed with `param_` where the name is taken."""
    names: dict[str, str] = {}
    for name in dict.fromkeys(name for own in params.values() for name in own):
        column = name
        while column in taken or column in names.values():
            column = f"param_{column}"
        names[name] = column
    return names


def _parameter_values(params: Params, names: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """Return the value of each parameter by cell and column."""
    return {
        cell: {column: column_value(own.get(name)) for name, column in names.items()} for cell, own in params.items()
    }


def column_value(value: Any) -> Any:
    """Encode lists and tables as JSON text, so that a frame can be grouped by them."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else value
