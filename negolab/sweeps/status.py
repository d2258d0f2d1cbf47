"""The status of a cell of a sweep: the file `cell.json` of each attempt."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal, get_args

import msgspec
from typing_extensions import override

from negolab._internal.files import read_bytes, write_json

CELLS, ATTEMPTS = "cells", "attempts"
"""Folders of a sweep: its finished cells by id, and other attempts by id and number."""
FILE = "cell.json"
State = Literal["done", "failed", "timeout", "died", "refused"]
"""done: the notebook ran to its end; failed: it raised an error; timeout: it took longer than allowed; died: its kernel
or worker ended; refused: the notebook lacks a parameter."""
RETRYABLE: tuple[State, ...] = tuple(state for state in get_args(State) if state != "done")
"""States of cells that `--retry` may run again."""


class CellError(msgspec.Struct, frozen=True, kw_only=True):
    """An error: its class, its text and the notebook cell in which it was raised (from 1; None: outside any cell)."""

    kind: str
    text: str
    cell: int | None = None

    @override
    def __str__(self) -> str:
        return f"{self.kind}: {self.text}" + (f" (cell {self.cell})" if self.cell is not None else "")


Count = Annotated[int, msgspec.Meta(ge=0, le=2**53)]


class CellStatus(msgspec.Struct, frozen=True, kw_only=True):
    """One attempt at a cell; attempts are numbered from 1.

    `began` and `ended` are Unix times; `usd` is the cost of its models at list prices, including cached answers (None:
    unknown, or no models); `records` has the size in bytes of each file of records of a finished cell, by its path in
    the cell's folder; `values` has, as JSON, the value that its kernel held for each of `params` after the run (empty:
    not kept, as in earlier versions).
    """

    id: str
    state: State
    params: dict[str, Any]
    repeat: Count
    seed: Count
    attempts: Count
    began: float
    ended: float
    seconds: float
    worker: str
    error: CellError | None = None
    usd: float | None = None
    records: dict[str, int] = {}
    values: dict[str, str] = {}

    def other_values(self) -> str:
        """Say which parameters had other values in its kernel than in the plan; "" if none."""
        planned = {name: json.dumps(self.params.get(name)) for name in self.values}
        return ", ".join(
            f"{name} = {value:.60}, not {planned[name]:.60}"
            for name, value in self.values.items()
            if value != planned[name]
        )


def is_sweep(path: Path) -> bool:
    """Return True for the folder of a sweep, even if no attempt has ended yet."""
    return (path / ATTEMPTS).is_dir() or any(path.glob(f"{CELLS}/*/{FILE}"))


def subfolders(parent: Path) -> Iterator[Path]:
    """Iterate by name over the subfolders of a folder, which may be missing; `ValueError` for a link, which may lead to
    somebody else's records."""
    for path in (parent, *sorted(parent.iterdir())) if parent.is_dir() else ():
        if path.is_symlink():
            raise ValueError(
                f"{path} is a symbolic link, but cells must be stored in the folder itself: delete the link"
            )
        if path.is_dir() and path is not parent:
            yield path


def read_done(sweep: Path, known: Mapping[str, CellStatus] = MappingProxyType({})) -> dict[str, CellStatus]:
    """Read the finished cells by id, except those already `known`: published cells do not change."""
    statuses = (known.get(folder.name) or read_status(folder) for folder in subfolders(sweep / CELLS))
    return {cell.id: cell for cell in statuses if cell is not None}


def read_unsuccessful(sweep: Path) -> dict[str, CellStatus]:
    """Read the last attempt at each cell that ended without success, by id."""
    latest: dict[str, CellStatus] = {}
    for folder in subfolders(sweep / ATTEMPTS):
        attempt = read_status(folder)
        if attempt is not None and (attempt.id not in latest or attempt.attempts > latest[attempt.id].attempts):
            latest[attempt.id] = attempt
    return latest


def read_ended(sweep: Path, known: Mapping[str, CellStatus] = MappingProxyType({})) -> dict[str, CellStatus]:
    """Read the latest status of each cell that has ended, by id: the finished cell's, or else the last attempt's."""
    return {**read_unsuccessful(sweep), **read_done(sweep, known)}


def write_status(folder: Path, status: CellStatus) -> None:
    """Write a status atomically into the cell's folder."""
    write_json(folder / FILE, status)


def read_status(folder: Path) -> CellStatus | None:
    """Read the status in a cell's folder. Return None if there is none; raise ValueError if it cannot be read, or if
    records that it names are gone."""
    file = folder / FILE
    try:
        cell_status = msgspec.json.decode(read_bytes(file), type=CellStatus)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.DecodeError, RecursionError) as error:
        why = getattr(error, "strerror", None) or error
        raise ValueError(
            f"{file} is not a valid cell status file ({why}): delete {folder} to run the cell again"
        ) from None
    for name, size in cell_status.records.items():
        if not (kept := folder / name).is_file() or kept.stat().st_size < size:
            raise ValueError(
                f"{kept} was deleted or truncated after its cell was done: restore it, or delete {folder} to run the "
                "cell again"
            )
    return cell_status
