"""Folders of records: appended one match at a time, readable after a crash at any byte."""

from __future__ import annotations

import json
import os
import sys
import time
import uuid
import warnings
from collections import Counter
from collections.abc import Callable, Container, Iterator
from contextlib import AbstractContextManager
from mmap import ACCESS_READ, mmap
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import filelock
import msgspec
from typing_extensions import override

from negolab import catalog, user_code
from negolab._internal import manifest
from negolab._internal.files import check_in_place, fsync_folder, open_for_append, replacing
from negolab._internal.validation import is_json
from negolab.catalog import AnyGame
from negolab.record import Record, parse_record

FILE = "records.jsonl"
RETRIED = "retried.ndjson"
"""File of matches that were set aside and played again; it is not read with the records."""
STOPPED = "stopped"
"""Note in a record's header: why the run stopped the match. Absent if the rules ended it."""
REDRAW = "redraw"
"""Note in a stopped record: when the match is played again, its models' cached answers are not used."""
MAX_LINE = 64 << 20
"""Largest number of bytes in a record's line."""
_SYNC_EVERY = 1.0
"""Seconds between fsyncs. A killed process loses nothing that it has written, a power failure at most this much."""


def read(path: str | Path) -> list[Record]:
    """Read all records in a file, or in every `.jsonl` file below a folder.

    Args:
        path: A file or folder.

    Returns:
        The records in order of file names and lines. A torn last line is dropped with a warning.

    Raises:
        FileNotFoundError: There is neither a file nor a folder at `path`.
        ValueError: A line is not a record; the message names the file and the line.
    """
    return list(iter_records(path))


def iter_records(path: str | Path) -> Iterator[Record]:
    """Iterate over the records that `read` returns, without holding all of them in memory."""
    if path == "":
        raise ValueError("the name of the file or folder of records is empty")
    for file in record_files(Path(path)):
        yield from (record for _, record in iter_lines(file, parse_record))


def record_files(path: Path) -> list[Path]:
    """Return the files that `read` reads, in order; raise `FileNotFoundError` if there is nothing at `path`."""
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise FileNotFoundError(f"no records at {path}: neither a file nor a folder")
    return sorted(file for file in path.rglob("*.jsonl") if file.is_file() and not _leads_out(file, path))


def _leads_out(file: Path, folder: Path) -> bool:
    """Return True for a link to a file outside, which whoever made the folder may be trying to get exported."""
    leads_out = file.is_symlink() and not file.resolve().is_relative_to(folder.resolve())
    if leads_out:
        warnings.warn(f"{file} leads outside {folder} and was skipped: to read it, specify its own path", stacklevel=3)
    return leads_out


def find(path: str | Path, id: str) -> Record:
    """Return a match's record by its full id, without parsing those before it.

    Raises:
        FileNotFoundError: There is neither a file nor a folder at `path`.
        ValueError: There is no such record, or its line is not a record.
    """
    words = {id.encode(), msgspec.json.encode(id)[1:-1], json.dumps(id)[1:-1].encode()}  # as we and others write it
    for file in record_files(Path(path)):
        for _, line in iter_lines(file, bytes):
            if any(word in line for word in words) and (record := parse_record(line)).id == id:
                return record
    raise ValueError(f"there is no record {id} in {path}")


def _import_games(folder: Path) -> None:
    """Import the games in a folder of records that come from outside the package, if the user trusts their code."""
    for game, source in user_code.read(folder).items():
        if game.partition(":")[0] in sys.modules or (now := user_code.current(source)) is None:
            continue
        if not user_code.is_trusted(now):
            catalog.untrusted[game] = now.reference
            continue
        catalog.game_module(now.pinned)
        if now.sha256 != source.sha256:
            changed = user_code.describe_change(source, now)
            warnings.warn(f"{changed} has changed since the matches in {folder} were played", stacklevel=4)


Parsed = TypeVar("Parsed")


PART = 1 << 20
"""Smallest number of bytes of a file of records that are processed together; a part ends with a line."""


def file_parts(file: Path) -> Iterator[tuple[int, int]]:
    """Yield the byte offsets at which the parts of a file of records begin and end."""
    size, end = file.stat().st_size, 0
    with file.open("rb") as lines:
        while (begin := end) < size:
            lines.seek(begin + PART)
            lines.readline(MAX_LINE)
            yield begin, (end := min(lines.tell(), size))


def iter_lines(
    file: Path, parse: Callable[[bytes], Parsed], start: int = 0, stop: int | None = None
) -> Iterator[tuple[int, Parsed]]:
    """Yield the lines of a file of records, parsed, with the byte at which each begins; errors and warnings are those
    of `read`. `start` and `stop` delimit a part."""
    _import_games(file.parent)
    with file.open("rb") as lines:
        before = sum(block.count(b"\n") for block in iter(lambda: lines.read(min(PART, start - lines.tell())), b""))
        offset = start
        for number, line in enumerate(iter(lambda: lines.readline(MAX_LINE), b""), before + 1):
            begin, offset = offset, offset + len(line)
            if stop is not None and begin >= stop:
                return
            if line.isspace():
                continue
            if len(line) == MAX_LINE:
                raise ValueError(f"{file}, line {number} exceeds the maximum of {MAX_LINE >> 20} MiB for a record")
            try:
                yield begin, parse(line)
            except (ValueError, RecursionError) as error:
                if line.endswith(b"\n"):
                    raise ValueError(f"{file}, line {number}: {error}") from None
                warnings.warn(f"{file}: the last line is incomplete and was skipped", stacklevel=3)


class Store(AbstractContextManager["Store"]):
    """A folder of records, open for appending by one process at a time.

    Args:
        folder: The folder; created if it does not exist.
        wait: Seconds to wait for another process that has the folder open.

    Raises:
        ValueError: The folder is in use, is a file, or its records end with something that is not a record.

    Example:
        >>> import tempfile
        >>> import negolab as nl
        >>> folder = tempfile.mkdtemp()
        >>> with nl.Store(folder) as store:
        ...     store.append(nl.Match(nl.load("trading"), seed=7).record())
        >>> len(nl.read(folder))
        1
    """

    def __init__(self, folder: str | Path, *, wait: float = 0) -> None:
        self.folder = Path(folder)
        if self.folder.exists() and not self.folder.is_dir():
            raise ValueError(f"{self.folder} is a file: choose a folder for the records")
        self.folder.mkdir(parents=True, exist_ok=True)
        self.file = self.folder / FILE
        self._lock = filelock.FileLock(self.folder / ".lock", timeout=wait)
        try:
            self._lock.acquire()
        except filelock.Timeout:
            raise ValueError(f"{self.folder} is in use by another process") from None
        self._out = -1
        try:
            self._out = open_for_append(self.file)  # a link's target must not be repaired either
            repair_last_line(self.file)
        except BaseException:
            if self._out >= 0:
                os.close(self._out)
            self._lock.release()
            raise
        self._size = os.fstat(self._out).st_size
        self._run: str | None = None
        self._games: set[str] = set()
        self._synced = time.monotonic()

    def append(self, record: Record) -> None:
        """Append a record as one line; if the disk is full, none of it stays."""
        if record.header.game not in self._games:
            self.note_game(record.game, changed=True)
        self.append_lines(record.to_line())

    def append_lines(self, lines: bytes) -> None:
        """Append the lines of records; if the disk is full, none of them stay.

        Raises:
            OSError: The file was removed, moved or replaced, or cannot be written.
        """
        rest = memoryview(lines)
        opened = os.fstat(self._out)
        check_in_place(self.file, opened, self._size)
        try:
            while rest:
                rest = rest[os.write(self._out, rest) :]
        except OSError as error:
            os.ftruncate(self._out, opened.st_size)
            raise OSError(error.errno, error.strerror, str(self.file)) from None
        self._size = opened.st_size + len(lines)
        if time.monotonic() - self._synced > _SYNC_EVERY:
            self._sync()

    def ids(self) -> set[str]:
        """Return the ids of all stored matches; a `ValueError` names a line that is not a record."""
        return set(self.stopped())

    def stopped(self) -> dict[str, str | None]:
        """Return why the run stopped each stored match, by id (None: the rules ended it)."""
        return {head.id: head.notes.stopped for _, head in _heads(self.file)}

    def set_aside(self, why: Container[str]) -> int:
        """Move the matches that were stopped for one of these reasons to another file, to be played again.

        Returns:
            The number of matches moved. If the process is killed meanwhile, all of them stay.
        """
        gone = 0
        with (
            open(open_for_append(self.folder / RETRIED), "ab") as aside,  # noqa: PTH123
            replacing(self.file) as rest,
            rest.open("wb") as kept,
        ):
            for line, head in _heads(self.file):
                again = head.notes.stopped is not None and head.notes.stopped in why
                (aside if again else kept).write(line)
                gone += again
            for file in (aside, kept):
                file.flush()
                os.fsync(file.fileno())
        os.close(self._out)
        fsync_folder(self.folder)
        self._out = open_for_append(self.file)
        self._size = os.fstat(self._out).st_size
        return gone

    def redraw_counts(self) -> Counter[str]:
        """Count, by match id, how often a match was set aside because of its models' answers."""
        aside = self.folder / RETRIED
        return Counter(head.id for _, head in _heads(aside) if head.notes.redraw) if aside.exists() else Counter()

    def claim(self, plan: Any, players: dict[str, Any] | None = None, *, changed: bool = False, **about: Any) -> None:
        """Write the run's manifest: the plan, the facts about its players and other facts.

        Args:
            plan: The plan; the number of matches may grow when a run is resumed.
            players: Facts by which a player is the same in a resumed run, by the player's name.
            changed: True if the players' code may differ from the code that played the folder's earlier matches.
            **about: Other facts; a resumed run replaces them.

        Raises:
            ValueError: The folder holds a different run; the message says what differs.
        """
        new = msgspec.json.decode(
            msgspec.json.encode({"run": self.run, "plan": plan, "players": players or {}, **about})
        )
        if old := manifest.read(self.folder):
            if differ := manifest.differences(old, new):
                raise ValueError(
                    f"{self.folder} contains another run, which differs in {', '.join(differ)}: choose another folder"
                )
            if not changed and (files := manifest.changed_code(old, new)):
                raise ValueError(
                    f"{' and '.join(files)} has changed since the matches in {self.folder} were played: choose another "
                    "folder, or add --trust to continue with the new version"
                )
            new["plan"]["n"] = max(new["plan"]["n"], old["plan"].get("n", 0))
        elif self.file.stat().st_size:
            raise ValueError(f"{self.folder} contains matches without a manifest: choose another folder")
        manifest.write(self.folder, new)

    def note_game(self, game: AnyGame, *, changed: bool = False) -> None:
        """Note where a game's code came from, so that the folder can be read without naming it again.

        Args:
            game: The game in the matches that follow.
            changed: True if its files may differ from those that played the folder's earlier matches.

        Raises:
            ValueError: Its files differ, and `changed` is False.
        """
        name, source = catalog.game_id(game), catalog.source(game)
        self._games.add(name)
        if source is None:
            return
        known = user_code.read(self.folder)
        if not changed and known.get(name, source) != source:
            raise ValueError(
                f"{user_code.describe_change(known[name], source)} has changed since the matches in {self.folder} were "
                "played: choose another folder, or add --trust to continue with the new version"
            )
        if known.get(name) != source:
            user_code.write(self.folder, {**known, name: source})
        user_code.trust(source)

    @property
    def run(self) -> str:
        """The run's id, drawn when its folder is first used."""
        if self._run is None:
            self._run = manifest.read(self.folder).get("run") or uuid.uuid4().hex
        return self._run

    def for_single_matches(self) -> Self:
        """Return the store for matches outside a plan; raise `ValueError` if the folder holds a run."""
        if (self.folder / manifest.FILE).exists():
            self.close()
            raise ValueError(f"{self.folder} contains a batch: save single matches in another folder")
        return self

    def close(self) -> None:
        """Fsync the records and release the folder; raise `OSError` if they were removed, moved or replaced."""
        try:
            self._sync()
        finally:
            os.close(self._out)
            self._lock.release()

    def _sync(self) -> None:
        check_in_place(self.file, os.fstat(self._out), self._size)
        os.fsync(self._out)
        self._synced = time.monotonic()

    @override
    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()


class _Notes(msgspec.Struct, frozen=True):
    stopped: str | None = None
    redraw: bool = False


class _Header(msgspec.Struct):
    id: str
    notes: _Notes = _Notes()


class _HeaderOnly(msgspec.Struct):
    header: _Header


_header_decoder = msgspec.json.Decoder(_HeaderOnly)


def _heads(file: Path) -> Iterator[tuple[bytes, _Header]]:
    """Yield the whole lines of a file, each with the parts of its header that are needed."""
    with file.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            try:
                if line.endswith(b"\n"):
                    yield line, _header_decoder.decode(line).header
            except (msgspec.DecodeError, RecursionError) as error:
                raise ValueError(f"{file}, line {number}: not a record: {error}") from None


def repair_last_line(file: Path) -> None:
    """Repair the end of a file: complete a missing line ending, or cut off a torn record with a warning. Raise
    `ValueError` and leave the file alone if the last line is neither."""
    if not file.exists() or not file.stat().st_size:
        return
    with file.open("rb+") as out:
        last = _last_line(out)
        if last.endswith(b"\n"):
            return
        if is_json(last):
            out.seek(0, os.SEEK_END)
            out.write(b"\n")
        elif last.startswith(_RECORD_PREFIX) or _RECORD_PREFIX.startswith(last):
            warnings.warn(f"{file}: the last line is incomplete and was removed", stacklevel=3)
            out.truncate(out.seek(0, os.SEEK_END) - len(last))
        else:
            raise ValueError(f"{file} does not end with a record or the beginning of one: choose another folder")


_RECORD_PREFIX = b'{"header":'


def _last_line(file: Any) -> bytes:
    """Read the last line of a file that is not empty."""
    with mmap(file.fileno(), 0, access=ACCESS_READ) as data:
        return data[data.rfind(b"\n", 0, len(data) - 1) + 1 :]
