"""A sweep's folder: finished cells, attempts that did not become one, and the plan they belong to."""

from __future__ import annotations

import os
import shutil
import time
import uuid
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self

import filelock
import msgspec

from negolab import manifest, status
from negolab.disk import synced
from negolab.status import Status
from negolab.sweep.plan import Cell, Plan
from negolab.version import __version__

CELLS, ATTEMPTS = "cells", "attempts"
LOG = "attempts.ndjson"
"""A line for each attempt that began, and one for each that ended."""
NOTEBOOK = "notebook.ipynb"
"""The notebook as it was run; at the top of a sweep, as it is run in every cell."""
REPORT = "report.ipynb"
"""The notebook that reports on the sweep, if its plan names one."""


class Folder:
    """What stands in a sweep's folder. Workers, on this machine or on others, use it through paths alone."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path).absolute()

    def cell(self, id: str) -> Path:
        """Where a finished cell is."""
        return self.path / CELLS / id

    def tried(self, id: str, number: int) -> Path:
        """Where an attempt is that did not become a finished cell."""
        return self.path / ATTEMPTS / f"{id}.{number}"

    def done(self, known: Mapping[str, Status] = MappingProxyType({})) -> dict[str, Status]:
        """The finished cells. Those that are `known` are not read again: what is published does not change."""
        folders = _folders(self.path / CELLS)
        return {found.id: found for folder in folders if (found := known.get(folder.name) or status.read(folder))}

    def broken(self) -> dict[str, Status]:
        """Of each cell the last attempt that came to a bad end."""
        found: dict[str, Status] = {}
        for folder in _folders(self.path / ATTEMPTS):
            last = status.read(folder)
            if last is not None and (last.id not in found or last.attempts > found[last.id].attempts):
                found[last.id] = last
        return found

    def attempt(self, id: str) -> tuple[Path, int]:
        """A new, empty folder for an attempt, and its number: two workers never get the same."""
        folder = self.path / ATTEMPTS
        folder.mkdir(parents=True, exist_ok=True)
        number = 1 + max((int(name.name.rpartition(".")[2]) for name in folder.glob(f"{_globbed(id)}.*")), default=0)
        while True:
            try:
                (mine := self.tried(id, number)).mkdir()
            except FileExistsError:
                number += 1
            else:
                return mine, number

    def log(self, **line: Any) -> None:
        """One line more in the list of attempts; by one call, so that lines of several workers do not mix."""
        out = os.open(self.path / LOG, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(out, msgspec.json.encode({"at": time.time(), **line}) + b"\n")
        finally:
            os.close(out)

    def publish(self, attempt: Path, id: str) -> bool:
        """Make an attempt the finished cell, in one step; False if another attempt was first, and then it is gone."""
        there = self.cell(id)
        there.parent.mkdir(exist_ok=True)
        try:
            attempt.rename(there)
        except OSError:
            if not there.is_dir():
                raise
            shutil.rmtree(attempt)
            return False
        synced(there.parent)
        return True


class Claim:
    """A sweep's folder in the hands of the one process that drives it."""

    def __init__(self, folder: Folder, plan: Plan, sha256: str) -> None:
        """`ValueError` if another process drives it, or it holds what this plan does not lead to."""
        _no_file(folder.path)
        folder.path.mkdir(parents=True, exist_ok=True)
        self._lock = filelock.FileLock(folder.path / ".lock", timeout=0)
        try:
            self._lock.acquire()
        except filelock.Timeout:
            raise ValueError(f"{folder.path} is in use: another process runs a sweep there") from None
        try:
            self.run = _claimed(folder, plan, sha256)
            _swept(folder)
        except BaseException:
            self._lock.release()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._lock.release()


def _no_file(path: Path) -> None:
    if path.exists() and not path.is_dir():
        raise ValueError(f"{path} is a file: a sweep is kept in a folder")


def fits(folder: Folder, plan: Plan, sha256: str) -> None:
    """`ValueError` if there is something else than cells of this plan and notebook."""
    _no_file(folder.path)
    before = manifest.read(folder.path)
    if not before and any(folder.path.glob("*.jsonl")):
        raise ValueError(f"{folder.path} holds records of something else: choose another folder")
    if before and before.get("notebook") != sha256:
        raise ValueError(
            f"{folder.path} holds cells of another notebook, or of this one as it was: choose another folder"
        )
    ids = {cell.id for cell in plan.cells()}
    if strange := [id for id in folder.done() if id not in ids]:
        few = ", ".join(strange[:2])
        raise ValueError(
            f"{folder.path} holds {len(strange)} cells that this plan does not have ({few}): choose another folder"
        )


def _claimed(folder: Folder, plan: Plan, sha256: str) -> str:
    """Write the manifest; the sweep's own id, drawn when its folder is first used."""
    fits(folder, plan, sha256)
    before = manifest.read(folder.path)
    cells = sum(1 for _ in plan.cells())
    run = str(before.get("run") or uuid.uuid4().hex)
    versions = {name: version(name) for name in ("papermill", "distributed", "ipykernel")}
    about: dict[str, Any] = {
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": {"negolab": __version__, **versions},
    }
    plain = msgspec.to_builtins(plan)
    manifest.write(folder.path, {"run": run, "plan": plain, "players": {}, "notebook": sha256, "cells": cells, **about})
    return run


def _swept(folder: Folder) -> None:
    """Attempts that a crash left without a status are over: nobody but the one who drives begins any."""
    for attempt in _folders(folder.path / ATTEMPTS):
        if status.read(attempt) is None:
            shutil.rmtree(attempt, ignore_errors=True)


def _folders(parent: Path) -> Iterator[Path]:
    return (path for path in sorted(parent.iterdir()) if path.is_dir()) if parent.is_dir() else iter(())


def _globbed(id: str) -> str:
    """An id as a pattern that only it fits."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in id)


def missing(plan: Plan, folder: Folder, retry: frozenset[str]) -> Iterator[Cell]:
    """What is to be run now: cells that were never finished, and of those that came to a bad end the kinds named."""
    done, broken = folder.done(), folder.broken()
    for cell in plan.cells():
        if cell.id not in done and (cell.id not in broken or broken[cell.id].state in retry):
            yield cell
