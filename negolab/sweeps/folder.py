"""The folder of a sweep: its plan, finished cells and other attempts; claimed by one driver, readable by anyone."""

from __future__ import annotations

import glob
import shutil
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

import filelock
import msgspec

from negolab import user_code
from negolab._internal import clock, manifest
from negolab._internal.files import append, fsync_folder
from negolab._internal.validation import located
from negolab._internal.version import __version__
from negolab.sweeps import status
from negolab.sweeps.plan import SweepCell, SweepPlan
from negolab.sweeps.status import ATTEMPTS, CELLS, FILE, CellStatus, State

LOG = "attempts.ndjson"
"""Log with one line for the start and one for the end of each attempt."""
NOTEBOOK = "notebook.ipynb"
"""A cell's notebook as it was run; in the sweep's folder, the notebook as all cells run it."""
REPORT = "report.ipynb"
"""The report notebook, if the plan names one."""

PlayerFacts = Mapping[str, Mapping[str, Any]]
"""`source`, `sha256`, `files` and `path` of players, as `code_facts` returns them, and of scenarios, by the string that
names them in a plan."""


class SweepFolder:
    """Read and write a sweep's folder, even from workers on other machines."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path).absolute()

    def cell(self, id: str) -> Path:
        """Return the folder of a finished cell."""
        return self.path / CELLS / id

    def attempt_path(self, id: str, number: int) -> Path:
        """Return the folder of an attempt that is not a finished cell."""
        return self.path / ATTEMPTS / f"{id}.{number}"

    def done(self) -> dict[str, CellStatus]:
        """Read the finished cells by id."""
        return status.read_done(self.path)

    def ended(self) -> dict[str, CellStatus]:
        """Read the latest status of each cell that has ended, by id."""
        return status.read_ended(self.path)

    def new_attempt(self, id: str) -> tuple[Path, int]:
        """Create a folder for an attempt and return it with its number; no two workers get the same one."""
        folder = self.path / ATTEMPTS
        folder.mkdir(exist_ok=True)  # the sweep's folder exists, or is gone
        number = 1 + max((int(path.name.rpartition(".")[2]) for path in folder.glob(f"{glob.escape(id)}.*")), default=0)
        while True:
            try:
                (path := self.attempt_path(id, number)).mkdir()
            except FileExistsError:
                number += 1
            else:
                return path, number

    def log(self, **line: object) -> None:
        """Append a line to the log of attempts."""
        append(self.path / LOG, msgspec.json.encode({"at": clock.time(), **line}) + b"\n")

    def publish(self, attempt: Path, id: str) -> bool:
        """Make an attempt the finished cell by renaming it; if another attempt was first, delete this one and return
        False."""
        path = self.cell(id)
        path.parent.mkdir(exist_ok=True)
        try:
            attempt.rename(path)
        except OSError:
            if not path.is_dir():
                raise
            shutil.rmtree(attempt)
            return False
        fsync_folder(path.parent)
        return True


@contextmanager
def claim_folder(
    folder: SweepFolder, plan: SweepPlan, sha256: str, players: PlayerFacts | None = None, *, trust: bool = False
) -> Iterator[str]:
    """Lock a sweep's folder for the process that drives the sweep, write its manifest and yield the sweep's id.

    Args:
        folder: The sweep's folder.
        plan: The plan.
        sha256: Hash of the notebook.
        players: Facts about the user's own players and scenarios named in the plan, by their names there.
        trust: Continue even if their files have changed.

    Raises:
        ValueError: The folder is in use or holds other cells.
    """
    _check_not_file(folder.path)
    folder.path.mkdir(parents=True, exist_ok=True)
    try:
        lock = filelock.FileLock(folder.path / ".lock", timeout=0).acquire()
    except filelock.Timeout:
        raise ValueError(f"{folder.path} is in use: another process is running a sweep in it") from None
    with lock:
        sweep_id = _write_manifest(folder, plan, sha256, players or {}, trust)
        _remove_interrupted(folder)
        yield sweep_id


def _check_not_file(path: Path) -> None:
    if path.exists() and not path.is_dir():
        raise ValueError(f"{path} is a file: choose a folder for the sweep")


def check_folder(
    folder: SweepFolder, plan: SweepPlan, sha256: str, players: PlayerFacts | None = None, *, trust: bool = False
) -> None:
    """Raise ValueError if the folder holds anything other than cells of this plan, notebook and players."""
    _check_not_file(folder.path)
    stored = manifest.read(folder.path)
    if not stored and any(folder.path.glob("*.jsonl")):
        raise ValueError(f"{folder.path} contains other records: choose another folder")
    if stored and stored.get("notebook") != sha256:
        raise ValueError(f"{folder.path} contains cells from another or an older notebook: choose another folder")
    if stored and not trust and (changed := _changed_code(folder, stored, players or {})):
        raise ValueError(
            f"{' and '.join(changed)} changed after cells in {folder.path} were run: choose another folder, or add "
            "--trust to continue with the new version"
        )
    ids = {cell.id for cell in plan.cells()}
    if unknown := [id for id in folder.done() if id not in ids]:
        few = ", ".join(unknown[:2])
        raise ValueError(
            f"{folder.path} has {len(unknown)} cells that are not in this plan ({few}): choose another folder"
        )


def _changed_code(folder: SweepFolder, stored: dict[str, Any], players: PlayerFacts) -> list[str]:
    """Return the names of the players', scenarios' and games' files that have changed since cells were run."""
    return [*manifest.changed_code(stored, {"players": players}), *_changed_games(folder)]


def _changed_games(folder: SweepFolder) -> list[str]:
    """Return the names of games' files that have changed since a finished cell played them."""
    used = {
        source.pinned: source
        for file in (folder.path / CELLS).rglob(user_code.FILE)
        for source in user_code.read(file.parent).values()
    }
    now = ((then, user_code.current(then)) for then in used.values())
    changed = {user_code.describe_change(then, code) for then, code in now if code and code.sha256 != then.sha256}
    return sorted(changed)


def _write_manifest(folder: SweepFolder, plan: SweepPlan, sha256: str, players: PlayerFacts, trust: bool) -> str:
    """Write the manifest and return the sweep's id, which is drawn when its folder is first used."""
    check_folder(folder, plan, sha256, players, trust=trust)
    sweep_id = str(manifest.read(folder.path).get("run") or uuid.uuid4().hex)
    versions = {name: version(name) for name in ("papermill", "distributed", "ipykernel")}
    fields = {
        "run": sweep_id,
        "plan": msgspec.to_builtins(plan),
        "players": players,
        "notebook": sha256,
        "cells": plan.count,
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": {"negolab": __version__, **versions},
    }
    manifest.write(folder.path, fields)
    return sweep_id


def _remove_interrupted(folder: SweepFolder) -> None:
    """Delete attempts that a crash left without a status; only the driver starts attempts, so none is running."""
    for attempt in status.subfolders(folder.path / ATTEMPTS):
        if status.read_status(attempt) is None and not attempt.parent.is_symlink():  # it may be anybody's folder
            shutil.rmtree(attempt, ignore_errors=True)


def missing_cells(plan: SweepPlan, ended: Mapping[str, CellStatus], retry: frozenset[str]) -> list[SweepCell]:
    """Return the cells to run now: those that have not ended, and unsuccessful ones whose state is in `retry`."""
    return [cell for cell in plan.cells() if cell.id not in ended or ended[cell.id].state in retry]


CellState = Literal["waiting", "running"] | State
"""State of a cell: not yet ended, or how it ended."""
CELL_STATES: tuple[CellState, ...] = ("done", "running", "waiting", "failed", "timeout", "died", "refused")


class SweepStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The cells of a sweep's plan, and the latest status of those that have ended."""

    plan: SweepPlan
    cells: tuple[SweepCell, ...]
    ended: dict[str, CellStatus]
    running: frozenset[str]

    def state(self, cell: SweepCell) -> CellState:
        """Return the state of a cell; one that is being retried is running."""
        status = self.ended.get(cell.id)
        if status is not None and (status.state == "done" or cell.id not in self.running):
            return status.state
        return "running" if cell.id in self.running else "waiting"

    def counts(self) -> Counter[CellState]:
        """Count the cells by state."""
        return Counter(map(self.state, self.cells))


def read_folder_plan(path: str | Path) -> SweepPlan:
    """Read the plan of a sweep's folder; ValueError for a folder that holds no sweep."""
    folder = Path(path).absolute()
    fields = manifest.read(folder)
    if "notebook" not in fields:
        raise ValueError(f"{path} is not a sweep folder: choose a folder written by negolab sweep run")
    with located(f"{folder / manifest.FILE} has no sweep plan", msgspec.ValidationError):
        return msgspec.convert(fields["plan"], type=SweepPlan)


def read_sweep_status(path: str | Path, before: SweepStatus | None = None) -> SweepStatus:
    """Read the status of a sweep, without rereading the finished cells in `before`.

    An attempt without a status counts as running, even if a crash left it behind; the sweep's next run deletes it.

    Raises:
        ValueError: The folder holds no sweep.
    """
    folder, plan = SweepFolder(path), read_folder_plan(path)
    attempts = folder.path / ATTEMPTS
    running = {
        attempt.name.rpartition(".")[0]
        for attempt in (attempts.iterdir() if attempts.is_dir() else ())
        if attempt.is_dir() and not (attempt / FILE).exists()
    }
    cells = before.cells if before is not None and before.plan == plan else tuple(plan.cells())
    ended_before = {} if before is None else before.ended
    done_before = {id: cell for id, cell in ended_before.items() if cell.state == "done"}
    ended = status.read_ended(folder.path, done_before)
    return SweepStatus(plan=plan, cells=cells, ended=ended, running=frozenset(running))
