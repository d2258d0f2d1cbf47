"""The cells of a sweep, from the status record that each of its attempts left in the sweep's folder.

`cells/<id>/` is a finished cell with its records; `attempts/<id>.<k>/` is what is left of an attempt that was not
finished. Both hold a `cell.json`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from negolab import manifest, status
from negolab.status import Status

FIXED = ("id", "state", "seed", "repeat", "seconds", "attempts", "error", "usd")
"""Columns of `frame` that are no parameters."""
Params = Mapping[str, Mapping[str, Any]]
"""Of each cell, its parameters by name."""


def is_sweep(path: Path) -> bool:
    """Whether a folder is a sweep's, of which attempts may be running but none be over."""
    return (path / "attempts").is_dir() or any(path.glob(f"cells/*/{status.FILE}"))


def finished(path: Path) -> Iterator[tuple[str, Path]]:
    """Id and folder of every finished cell, by id."""
    for folder, found in _statuses(path, "cells/*"):
        yield found.id, folder


def newest(path: Path) -> dict[str, Status]:
    """Id -> status of the newest attempt, by id: the one that finished, else the last that did not. `ValueError` for a
    folder that is no sweep's and for a status that cannot be read."""
    if not is_sweep(path) and "cells" not in manifest.read(path):
        raise ValueError(f"{path} is no folder of a sweep: it has neither cells nor attempts")
    tried = sorted((found for _, found in _statuses(path, "attempts/*.*")), key=lambda found: found.attempts)
    ended = {found.id: found for found in [*tried, *(found for _, found in _statuses(path, "cells/*"))]}
    return dict(sorted(ended.items()))


def _statuses(path: Path, folders: str) -> Iterator[tuple[Path, Status]]:
    """The folders with a status, by name."""
    for file in sorted(path.glob(f"{folders}/{status.FILE}")):
        if (found := status.read(file.parent)) is not None:
            yield file.parent, found


def frame(path: Path) -> pd.DataFrame:
    """See `tables.cells`."""
    found = newest(path)
    names = _parameters({cell: ended.params for cell, ended in found.items()}, FIXED)
    rows = [
        {
            **{column: getattr(ended, column) for column in FIXED},
            "error": None if ended.error is None else str(ended.error),
            **{column: _plain(ended.params.get(name)) for name, column in names.items()},
        }
        for ended in found.values()
    ]
    return pd.DataFrame(rows, columns=[*FIXED, *names.values()]).astype({"seconds": float, "usd": float})


def with_parameters(data: pd.DataFrame, path: Path) -> pd.DataFrame:
    """See `tables.with_parameters`."""
    return joined(data, {cell: ended.params for cell, ended in newest(path).items()})[0]


def joined(data: pd.DataFrame, params: Params) -> tuple[pd.DataFrame, dict[str, str]]:
    """A frame of a sweep with a column for each parameter, and the name of each parameter's column."""
    if "cell" not in data:
        raise ValueError("only a frame of a sweep has cells: this one has no column `cell`")
    names = _parameters(params, tuple(map(str, data)))
    columns = {
        column: data["cell"].map({cell: _plain(own.get(name)) for cell, own in params.items()})
        for name, column in names.items()
    }
    return data.assign(**columns), names


def _parameters(params: Params, taken: tuple[str, ...]) -> dict[str, str]:
    """Parameter -> its column."""
    names: dict[str, str] = {}
    for name in dict.fromkeys(name for own in params.values() for name in own):
        column = name
        while column in taken or column in names.values():
            column = f"param_{column}"
        names[name] = column
    return names


def _plain(value: Any) -> Any:
    """A parameter as a cell of a frame: what has parts as JSON, so that one can group by it."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else value
