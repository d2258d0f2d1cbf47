"""Where a sweep stands: its plan and what became of each cell so far, read from its folder while it runs or later."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Literal

import msgspec

from negolab import manifest
from negolab.status import FILE, State, Status
from negolab.sweep.folder import ATTEMPTS, Folder
from negolab.sweep.plan import Cell, Plan

Stand = Literal["waiting", "running"] | State
"""What a cell is doing, or how it ended."""
STANDS: tuple[Stand, ...] = ("done", "running", "waiting", "failed", "timeout", "died", "refused")


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """The cells of a plan in its order, and for each that came to an end the newest status."""

    plan: Plan
    cells: tuple[Cell, ...]
    ended: dict[str, Status]
    running: frozenset[str]

    def of(self, cell: Cell) -> Stand:
        """Where one cell stands; one that is tried again is running."""
        status = self.ended.get(cell.id)
        if status is not None and (status.state == "done" or cell.id not in self.running):
            return status.state
        return "running" if cell.id in self.running else "waiting"

    def counts(self) -> Counter[Stand]:
        """How many cells stand where."""
        return Counter(map(self.of, self.cells))


def plan_of(path: str | Path) -> Plan:
    """The plan that a sweep's folder belongs to; `ValueError` for a folder that holds no sweep."""
    folder = Path(path).absolute()
    found = manifest.read(folder)
    if "notebook" not in found:
        raise ValueError(f"{path} holds no sweep: name the folder that negolab sweep run wrote")
    try:
        return msgspec.convert(found["plan"], type=Plan)
    except msgspec.ValidationError as error:
        raise ValueError(f"{folder / manifest.FILE} holds no plan of a sweep: {error}") from None


def read(path: str | Path, before: Standing | None = None) -> Standing:
    """`ValueError` for a folder that holds no sweep. What is known from `before` is not read again. An attempt without
    a status counts as running, also if a crash left it; the next run of the sweep clears it away."""
    folder, plan = Folder(path), plan_of(path)
    attempts = folder.path / ATTEMPTS
    running = {
        one.name.rpartition(".")[0]
        for one in (attempts.iterdir() if attempts.is_dir() else ())
        if one.is_dir() and not (one / FILE).exists()
    }
    same = before is not None and before.plan == plan
    cells = before.cells if before is not None and same else tuple(plan.cells())
    known = {id: one for id, one in before.ended.items() if one.state == "done"} if before is not None else {}
    ended = {**folder.broken(), **folder.done(known)}
    return Standing(plan=plan, cells=cells, ended=ended, running=frozenset(running))
