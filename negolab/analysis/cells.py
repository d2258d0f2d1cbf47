"""The cells of a sweep, from the status record that each of its attempts left in the sweep's folder.

`cells/<id>/` is a finished cell with its records; `attempts/<id>.<k>/` is what is left of an attempt that was not
finished. Both hold a `cell.json`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pandas as pd
from typing_extensions import override

from negolab import manifest

STATUS = "cell.json"
FIXED = ("id", "state", "seed", "repeat", "seconds", "attempts", "error", "usd")
"""Columns of `frame` that are no parameters."""
Params = Mapping[str, Mapping[str, Any]]
"""Of each cell, its parameters by name."""


class Fault(msgspec.Struct, frozen=True):
    """Why an attempt did not finish, and in which cell of its notebook."""

    kind: str
    text: str = ""
    cell: int | None = None

    @override
    def __str__(self) -> str:
        return f"{self.kind}: {self.text}" + (f" (cell {self.cell})" if self.cell is not None else "")


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """What one attempt at a cell came to. `state` is done, failed, timeout, died or refused (the notebook has no such
    parameter); `seconds` is how long it took, `usd` what its models cost (None: not known)."""

    id: str
    state: str
    params: dict[str, Any] = {}
    seed: int | None = None
    repeat: int | None = None
    seconds: float | None = None
    attempts: int = 1
    error: Fault | None = None
    usd: float | None = None


def is_sweep(path: Path) -> bool:
    """Whether a folder is a sweep's, of which attempts may be running but none be over."""
    return (path / "attempts").is_dir() or any(path.glob(f"cells/*/{STATUS}"))


def finished(path: Path) -> Iterator[tuple[str, Path]]:
    """Id and folder of every finished cell, by id."""
    for file in sorted(path.glob(f"cells/*/{STATUS}")):
        yield _status(file).id, file.parent


def newest(path: Path) -> dict[str, Status]:
    """Id -> status of the newest attempt, by id: the one that finished, else the last that did not. `ValueError` for a
    folder that is no sweep's and for a status that cannot be read."""
    if not is_sweep(path) and "cells" not in manifest.read(path):
        raise ValueError(f"{path} is no folder of a sweep: it has neither cells nor attempts")
    tried = [(_number(file), _status(file)) for file in path.glob(f"attempts/*.*/{STATUS}")]
    found = {status.id: status for _, status in sorted(tried, key=lambda pair: pair[0])}
    found |= {status.id: status for status in map(_status, path.glob(f"cells/*/{STATUS}"))}
    return dict(sorted(found.items()))


def _number(file: Path) -> int:
    """The k of `attempts/<id>.<k>/cell.json`."""
    last = file.parent.name.rpartition(".")[2]
    if not last.isdecimal():
        raise ValueError(f"{file.parent} is no attempt at a cell: its name does not end in .1, .2 or so")
    return int(last)


def _status(file: Path) -> Status:
    try:
        return _decoder.decode(file.read_bytes())
    except (OSError, msgspec.DecodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise ValueError(f"{file} is no status of a cell ({why}): remove its folder to have it run again") from None


_decoder = msgspec.json.Decoder(Status)


def frame(path: Path) -> pd.DataFrame:
    """See `tables.cells`."""
    found = newest(path)
    names = _parameters({cell: status.params for cell, status in found.items()}, FIXED)
    rows = [
        {
            **{column: getattr(status, column) for column in FIXED},
            "error": None if status.error is None else str(status.error),
            **{column: _plain(status.params.get(name)) for name, column in names.items()},
        }
        for status in found.values()
    ]
    return pd.DataFrame(rows, columns=[*FIXED, *names.values()]).astype({"seconds": float, "usd": float})


def with_parameters(data: pd.DataFrame, path: Path) -> pd.DataFrame:
    """See `tables.with_parameters`."""
    return joined(data, {cell: status.params for cell, status in newest(path).items()})[0]


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
