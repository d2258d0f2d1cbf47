"""What became of a cell of a sweep: its status record, the one thing that says so."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, get_args

import msgspec
from typing_extensions import override

from negolab.disk import written

FILE = "cell.json"
State = Literal["done", "failed", "timeout", "died", "refused"]
"""done: the notebook ran to its end; failed: it raised; timeout: it took longer than a cell may; died: its kernel, or
the worker, ended under it; refused: the notebook has no such parameter."""
BROKEN: tuple[State, ...] = tuple(state for state in get_args(State) if state != "done")
"""States that can be tried again."""


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """What went wrong: the kind of error, its words, and in which cell of the notebook (from 1; None: in none)."""

    kind: str
    text: str
    cell: int | None = None

    @override
    def __str__(self) -> str:
        return f"{self.kind}: {self.text}" + (f" (cell {self.cell})" if self.cell is not None else "")


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """One attempt at a cell, numbered from 1. `began` and `ended` are Unix times, `seconds` what the notebook took,
    `usd` what its models took at list prices, answers that were kept included (None: unknown, or the plan has no
    models)."""

    id: str
    state: State
    params: dict[str, Any]
    repeat: int
    seed: int
    attempts: int
    began: float
    ended: float
    seconds: float
    worker: str
    error: Fault | None = None
    usd: float | None = None


def write(folder: Path, status: Status) -> None:
    """Into the cell's folder, whole or not at all."""
    written(folder / FILE, msgspec.json.format(msgspec.json.encode(status)) + b"\n")


def read(folder: Path) -> Status | None:
    """The status in a cell's folder; None where it never came to one. `ValueError` for a file that is none."""
    file = folder / FILE
    try:
        return msgspec.json.decode(file.read_bytes(), type=Status)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.DecodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise ValueError(f"{file} is no status of a cell ({why}): remove {folder} to have the cell run again") from None
