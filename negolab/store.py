"""A run's folder of records: appended a game at a time, readable after a crash at any byte."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import filelock
import msgspec

from negolab.record import Record, from_line

FILE = "records.jsonl"
PLAN = "plan.json"
_SYNC_EVERY = 1.0
"""Seconds after which an append is also forced to the disk. A killed process loses nothing that it has written."""


def read(path: str | Path) -> list[Record]:
    """All records of a file, or of every `.jsonl` file below a folder."""
    return list(iterate(path))


def iterate(path: str | Path) -> Iterator[Record]:
    """`read`, a record at a time. A torn last line is dropped with a warning; any other bad line is a `ValueError`
    that names file and line."""
    if path == "":
        raise ValueError("records are read from a file or a folder; the name is empty")
    for file in _files(Path(path)):
        yield from _records(file)


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise FileNotFoundError(f"no records at {path}: neither a file nor a folder")
    return sorted(path.rglob("*.jsonl"))


def _records(file: Path) -> Iterator[Record]:
    with file.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                yield from_line(line)
            except ValueError as error:
                if line.endswith(b"\n"):
                    raise ValueError(f"{file}, line {number}: {error}") from None
                warnings.warn(f"{file}: the last line is torn and was dropped", stacklevel=3)


class Store:
    """One run's folder, open for appending by one process at a time.

    >>> with Store("data/runs/today") as store:
    ...     store.append(match.record())
    """

    def __init__(self, folder: str | Path, *, wait: float = 0) -> None:
        """`wait`: seconds to wait for another process that is writing to the folder."""
        self.folder = Path(folder)
        if self.folder.exists() and not self.folder.is_dir():
            raise ValueError(f"{self.folder} is a file: records are kept in a folder")
        self.folder.mkdir(parents=True, exist_ok=True)
        self.file = self.folder / FILE
        self._lock = filelock.FileLock(self.folder / ".lock", timeout=wait)
        try:
            self._lock.acquire()
        except filelock.Timeout:
            raise ValueError(f"{self.folder} is in use: another process writes to it") from None
        try:
            mend(self.file)
        except BaseException:
            self._lock.release()
            raise
        self._out = os.open(self.file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        self._synced = time.monotonic()

    def append(self, record: Record) -> None:
        """Write one record as one line, by one call. Where there is no room for all of it, none of it stays."""
        line = memoryview(record.to_line())
        size = os.fstat(self._out).st_size
        try:
            while line:
                line = line[os.write(self._out, line) :]
        except OSError:
            os.ftruncate(self._out, size)
            raise
        if time.monotonic() - self._synced > _SYNC_EVERY:
            self._sync()

    def ids(self) -> set[str]:
        """Ids of the games that are there already; `ValueError` names the line that is no record."""
        found = set()
        with self.file.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                try:
                    found.add(_ids.decode(line).header.id)
                except msgspec.DecodeError as error:
                    raise ValueError(f"{self.file}, line {number}: not a record: {error}") from None
        return found

    def claim(self, plan: Any) -> None:
        """Write the plan before the first game; `ValueError` if the folder holds another plan's games. The number of
        games may change, so that a run can grow."""
        path = self.folder / PLAN
        new = msgspec.json.decode(msgspec.json.encode(plan))
        if path.exists():
            old = _plan(path)
            differ = [key for key in new if key != "n" and new[key] != old.get(key)]
            if differ:
                raise ValueError(
                    f"{self.folder} holds another run, of other {', '.join(differ)}: choose another folder"
                )
            new["n"] = max(new["n"], old.get("n", 0))
        elif self.file.stat().st_size:
            raise ValueError(f"{self.folder} holds games without a plan: choose another folder")
        path.with_suffix(".tmp").write_bytes(msgspec.json.format(msgspec.json.encode(new)) + b"\n")
        path.with_suffix(".tmp").replace(path)

    def free(self) -> Self:
        """`ValueError` if the folder holds the games of a plan, which single games would only confuse."""
        if (self.folder / PLAN).exists():
            self.close()
            raise ValueError(f"{self.folder} holds a batch: keep single matches in another folder")
        return self

    def close(self) -> None:
        self._sync()
        os.close(self._out)
        self._lock.release()

    def _sync(self) -> None:
        os.fsync(self._out)
        self._synced = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()


def _plan(path: Path) -> dict[str, Any]:
    try:
        plan = msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise ValueError(f"{path} is no plan of a run ({error}): choose another folder") from None
    return plan


class _Id(msgspec.Struct):
    id: str


class _Head(msgspec.Struct):
    header: _Id


_ids = msgspec.json.Decoder(_Head)


def mend(file: Path) -> None:
    """Make the file end with a whole line: a record that lacks only its line end gets it, a torn one is cut off with a
    warning that names the file. What is neither is left alone: `ValueError`."""
    if not file.exists() or not file.stat().st_size:
        return
    with file.open("rb+") as out:
        last = _last_line(out)
        if last.endswith(b"\n"):
            return
        if _is_json(last):
            out.seek(0, os.SEEK_END)
            out.write(b"\n")
        elif last.startswith(_BEGINS) or _BEGINS.startswith(last):
            warnings.warn(f"{file}: the last line is torn and was cut off", stacklevel=3)
            out.truncate(out.seek(0, os.SEEK_END) - len(last))
        else:
            raise ValueError(f"{file} does not end with a record or the beginning of one: choose another folder")


_BEGINS = b'{"header":'


def _is_json(line: bytes) -> bool:
    try:
        msgspec.json.decode(line)
    except msgspec.DecodeError:
        return False
    return True


def _last_line(file: Any) -> bytes:
    """What follows the last line end but one, found from the back."""
    end = file.seek(0, os.SEEK_END)
    begin, tail = end, b""
    while begin and b"\n" not in tail[:-1]:
        begin = max(0, begin - 65536)
        file.seek(begin)
        tail = file.read(end - begin)
    return bytes(tail[tail[:-1].rfind(b"\n") + 1 :])
