"""A run's folder of records: appended a game at a time, readable after a crash at any byte."""

from __future__ import annotations

import os
import time
import uuid
import warnings
from collections import Counter
from collections.abc import Container, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import filelock
import msgspec

from negolab import manifest
from negolab.disk import synced
from negolab.record import Record, from_line

FILE = "records.jsonl"
RETRIED = "retried.ndjson"
"""Records of games that were played again; not among the records that are read."""
STOPPED = "stopped"
"""In the notes of a record: why its game has no end of its own. Absent where the rules ended it."""
REDRAW = "redraw"
"""In the notes of a record that was stopped: played again, its models are asked for other answers than those kept."""
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
    return sorted(file for file in path.rglob("*.jsonl") if file.is_file())


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
        self._out = _appending(self.file)
        self._run: str | None = None
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
        return set(self.stopped())

    def stopped(self) -> dict[str, str | None]:
        """Ids of the games that are there already, and why each has no end of its own (None: it has one)."""
        return {head.id: head.notes.stopped for _, head in self._heads()}

    def _heads(self) -> Iterator[tuple[bytes, _Header]]:
        with self.file.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                try:
                    yield line, _heads.decode(line).header
                except msgspec.DecodeError as error:
                    raise ValueError(f"{self.file}, line {number}: not a record: {error}") from None

    def set_aside(self, why: Container[str]) -> int:
        """Move the games that were stopped for one of these reasons to another file, so that they can be played again,
        and say how many they were. A process that is killed meanwhile leaves all of them here."""
        rest, gone = self.file.with_suffix(".tmp"), 0
        with rest.open("wb") as kept, (self.folder / RETRIED).open("ab") as aside:
            for line, head in self._heads():
                again = head.notes.stopped is not None and head.notes.stopped in why
                (aside if again else kept).write(line)
                gone += again
            for file in (aside, kept):
                file.flush()
                os.fsync(file.fileno())
        os.close(self._out)
        rest.replace(self.file)
        synced(self.folder)
        self._out = _appending(self.file)
        return gone

    def redrawn(self) -> Counter[str]:
        """Ids of games that were set aside because of what models answered, and how often."""
        aside = self.folder / RETRIED
        if not aside.exists():
            return Counter()
        with aside.open("rb") as lines:
            heads = [_heads.decode(line).header for line in lines if line.endswith(b"\n")]
        return Counter(head.id for head in heads if head.notes.redraw)

    def claim(self, plan: Any, players: dict[str, Any] | None = None, **about: Any) -> None:
        """Write the manifest before the first game: the plan, what its players are, and what is worth knowing besides.
        `ValueError` says what differs if the folder holds another run's games. The number of games may change, so that
        a run can grow; so may `about`, of which the newest stands there."""
        new = msgspec.json.decode(
            msgspec.json.encode({"run": self.run, "plan": plan, "players": players or {}, **about})
        )
        if old := manifest.read(self.folder):
            if differ := manifest.differences(old, new):
                raise ValueError(
                    f"{self.folder} holds another run, which differs in {', '.join(differ)}: choose another folder"
                )
            new["plan"]["n"] = max(new["plan"]["n"], old["plan"].get("n", 0))
        elif self.file.stat().st_size:
            raise ValueError(f"{self.folder} holds games without a manifest: choose another folder")
        manifest.write(self.folder, new)

    @property
    def run(self) -> str:
        """The run's own id, drawn when its folder is first used."""
        if self._run is None:
            self._run = manifest.read(self.folder).get("run") or uuid.uuid4().hex
        return self._run

    def free(self) -> Self:
        """`ValueError` if the folder holds the games of a plan, which single games would only confuse."""
        if (self.folder / manifest.FILE).exists():
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


def _appending(file: Path) -> int:
    return os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)


class _Notes(msgspec.Struct, frozen=True):
    stopped: str | None = None
    redraw: bool = False


class _Header(msgspec.Struct):
    id: str
    notes: _Notes = _Notes()


class _Head(msgspec.Struct):
    header: _Header


_heads = msgspec.json.Decoder(_Head)


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
