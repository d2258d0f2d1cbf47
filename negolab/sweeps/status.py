"""The status of a cell of a sweep: the file `cell.json` of each attempt."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, get_args

import msgspec
from typing_extensions import override

from negolab._internal.files import atomic_write

FILE = "cell.json"
State = Literal["done", "failed", "timeout", "died", "refused"]
"""done: the notebook ran to its end; failed: it raised an error; timeout: it took longer than allowed; died: its kernel
or worker ended; refused: the notebook has no such parameter."""
RETRYABLE: tuple[State, ...] = tuple(state for state in get_args(State) if state != "done")
"""States of cells that `--retry` may run again."""


class CellError(msgspec.Struct, frozen=True, kw_only=True):
    """An error: its class, its text and the notebook cell in which it was raised (from 1; None: in none)."""

    kind: str
    text: str
    cell: int | None = None

    @override
    def __str__(self) -> str:
        return f"{self.kind}: {self.text}" + (f" (cell {self.cell})" if self.cell is not None else "")


class CellStatus(msgspec.Struct, frozen=True, kw_only=True):
    """One attempt at a cell; attempts are numbered from 1.

    `began` and `ended` are Unix times; `usd` is the cost of its models at list prices, cached answers included (None:
    unknown, or no models).
    """

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
    error: CellError | None = None
    usd: float | None = None


def is_sweep(path: Path) -> bool:
    """Return True for the folder of a sweep, even if no attempt has ended yet."""
    return (path / "attempts").is_dir() or any(path.glob(f"cells/*/{FILE}"))


def write_status(folder: Path, status: CellStatus) -> None:
    """Write a status atomically into the cell's folder."""
    atomic_write(folder / FILE, msgspec.json.format(msgspec.json.encode(status)) + b"\n")


def read_status(folder: Path) -> CellStatus | None:
    """Read the status in a cell's folder; None where there is none, ValueError where it cannot be read."""
    file = folder / FILE
    try:
        return msgspec.json.decode(b"" if file.is_fifo() else file.read_bytes(), type=CellStatus)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.DecodeError, RecursionError) as error:
        why = getattr(error, "strerror", None) or error
        raise ValueError(f"{file} is no status of a cell ({why}): remove {folder} to have the cell run again") from None
