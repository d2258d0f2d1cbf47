"""Records from any source, transcripts, and published corpora.

`open_source` reads a file of records, the folder of a run or a sweep, or a folder of published clembench episodes, one
record at a time; `list_source` lists them without reading each.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from negolab import store
from negolab._internal.validation import located
from negolab.events import Ended, Replied
from negolab.formats import clembench
from negolab.game import Seat
from negolab.record import Record, decode_players, decode_raw, parse_record
from negolab.sweeps import status
from negolab.verification import Difference


class ListedRecord(msgspec.Struct, frozen=True, gc=False):
    """A line in a list of records, with the location of the record itself.

    Args:
        id, game, preset, seed, created: Same as in the header.
        a, b: Names of the players; "?" if the header names none.
        end: End of the match; None: it is not over.
        payoff_a, payoff_b: Payoffs in the game's unit; None: nothing was paid.
        replies: Number of replies, including refused ones.
        notes: The header's notes as JSON.
        source: The record, or its file and the position in bytes of its line.
    """

    id: str
    game: str
    preset: str | None
    seed: int | None
    created: str
    a: str
    b: str
    end: str | None
    payoff_a: float | None
    payoff_b: float | None
    replies: int
    notes: bytes
    source: Record | tuple[Path, int]

    def payoff(self, seat: Seat) -> float | None:
        """Return what a seat was paid."""
        return self.payoff_a if seat == "A" else self.payoff_b

    def open(self) -> Record:
        """Read the record.

        Raises:
            ValueError: The line is not a record; the error names the file.
            OSError: Its file is gone.
        """
        if isinstance(self.source, Record):
            return self.source
        file, offset = self.source
        with file.open("rb") as lines:
            lines.seek(offset)
            with located(file):
                return parse_record(lines.readline(store.MAX_LINE))


def list_record(record: Record) -> ListedRecord:
    """List a record that is in memory."""
    header, payoffs = record.header, record.payoffs
    return ListedRecord(
        header.id,
        header.game,
        header.preset,
        header.seed,
        header.created,
        header.players.get("A", "?"),
        header.players.get("B", "?"),
        record.end,
        payoffs["A"],
        payoffs["B"],
        sum(isinstance(event, Replied) for event in record.events),
        msgspec.json.encode(header.notes, enc_hook=str),
        record,
    )


def list_file(file: Path) -> Iterator[ListedRecord]:
    """List the records of a file; errors and warnings are those of `store.read` for lines that are not JSON."""
    for offset, listed in store.iter_lines(file, _parse_line):
        yield msgspec.structs.replace(listed, source=(file, offset))


def _parse_line(line: bytes) -> ListedRecord:
    raw = decode_raw(line)
    head = raw.header
    players = decode_players(bytes(head.players))
    ended = _decode_end(raw.events[-1]) if raw.events and _ENDED(raw.events[-1]) else None
    payoffs = ended.payoffs if ended is not None else {}
    return ListedRecord(
        head.id,
        sys.intern(head.game),
        head.preset and sys.intern(head.preset),
        head.seed,
        head.created,
        players.get("A", "?"),
        players.get("B", "?"),
        ended.end if ended is not None else None,
        payoffs.get("A"),
        payoffs.get("B"),
        sum(_REPLIED(event) is not None for event in raw.events),
        bytes(head.notes),
        (Path(), 0),
    )


_decode_end = msgspec.json.Decoder(Ended).decode
_ENDED, _REPLIED = (re.compile(rb'\s*\{\s*"type"\s*:\s*"%b"' % tag).match for tag in (b"ended", b"replied"))
"""An event's type comes first, possibly with whitespace in a file that somebody has rewritten."""


Kind = Literal["records", "sweep", "clembench"]


class SourceEntry(NamedTuple):
    """A record and where it comes from.

    Attributes:
        record: The record.
        cell: The cell of a sweep that holds the record; ids are unique within a cell. None outside sweeps.
        differences: Differences between a published episode's files and its replay.
    """

    record: Record
    cell: str | None = None
    differences: tuple[Difference, ...] = ()


class Part(NamedTuple):
    """Lines in a file of records, between two byte positions.

    Attributes:
        cell: Same as in `SourceEntry`.
        file: The file.
        start: Position at which the first line begins.
        stop: Position at which the last line ends.
    """

    cell: str | None
    file: Path
    start: int
    stop: int

    def entries(self) -> Iterator[SourceEntry]:
        """Yield the part's records."""
        lines = store.iter_lines(self.file, parse_record, self.start, self.stop)
        return (SourceEntry(record, self.cell) for _, record in lines)


class RecordSource:
    """Records, read one at a time, in the order of their files.

    In a sweep, the finished cells are read. A folder without a `.jsonl` file is taken to hold published clembench
    episodes.

    Args:
        path: A file of records, the folder of a run or sweep, or a folder of published episodes.

    Attributes:
        path: The path.
        kind: "records", "sweep" or "clembench".

    Raises:
        FileNotFoundError: There is neither a file nor a folder at `path`.
        ValueError: `path` is empty; during reading, a line is not a record (the error names file and line).
    """

    def __init__(self, path: Path | str) -> None:
        if path == "":
            raise ValueError("the name of the file or folder of records is empty")
        self.path = Path(path)
        if not self.path.exists():
            raise FileNotFoundError(f"no records at {path}: neither a file nor a folder")
        self.kind: Kind = _kind(self.path)
        self._left_out: list[clembench.LeftOut] = []

    def __iter__(self) -> Iterator[Record]:
        return (entry.record for entry in self.entries())

    def entries(self) -> Iterator[SourceEntry]:
        """Yield each record with its cell and its differences from published files."""
        if self.kind == "clembench":
            yield from self._episodes()
        else:
            for cell, file in _record_files(self.path, self.kind):
                yield from (SourceEntry(record, cell) for record in store.iter_records(file))

    def parts(self) -> list[Part] | None:
        """Return parts that can be processed separately, in order; None for published episodes."""
        if self.kind == "clembench":
            return None
        files = _record_files(self.path, self.kind)
        return [Part(cell, file, *place) for cell, file in files for place in store.file_parts(file)]

    def _episodes(self) -> Iterator[SourceEntry]:
        self._left_out.clear()
        for found in clembench.read_tree(self.path):
            if isinstance(found, clembench.LeftOut):
                self._left_out.append(found)
            else:
                yield SourceEntry(found, None, clembench.episode_differences(found))

    @property
    def left_out(self) -> tuple[str, ...]:
        """A sentence for each kind of episode without a record among those read so far: other games, crashed models."""
        return clembench.count_left_out(self._left_out)

    @property
    def why_empty(self) -> str:
        """The sentence for a source in which no record was found."""
        reasons = {
            "records": "neither .jsonl files nor folders with an instance.json",
            "sweep": "no finished cell wrote any",
            "clembench": "; ".join(self.left_out),
        }
        return f"there are no records in {self.path}: {reasons[self.kind]}"


def _kind(path: Path) -> Kind:
    if not path.is_dir():
        return "records"
    if status.is_sweep(path):
        return "sweep"
    if next(path.rglob("*.jsonl"), None) is None and next(clembench.episode_folders(path), None) is not None:
        return "clembench"
    return "records"


def _record_files(path: Path, kind: Kind) -> Iterator[tuple[str | None, Path]]:
    """Yield the files of records, each with the sweep cell that contains it."""
    if kind != "sweep":
        yield from ((_cell_around(file, path), file) for file in store.record_files(path))
        return
    for folder in status.subfolders(path / status.CELLS):
        if (cell := status.read_status(folder)) is not None:
            yield from ((cell.id, records) for records in store.record_files(folder))


def _cell_around(file: Path, root: Path) -> str | None:
    """Return the path of the cell that contains a file, if `root` contains sweeps among other things."""
    inside = (folder for folder in file.parents if root in folder.parents)
    return next((str(folder.relative_to(root)) for folder in inside if (folder / status.FILE).is_file()), None)


def open_source(path: Path | str) -> RecordSource:
    """Open records from any source, to be read one at a time; see `RecordSource`."""
    return RecordSource(path)


class Listing(NamedTuple):
    """Records in the order of their files, and a sentence for each problem found while listing them."""

    records: tuple[ListedRecord, ...]
    troubles: tuple[str, ...] = ()


def list_source(path: Path | str) -> Listing:
    """List all records in a source; each is read when opened.

    Args:
        path: Same as for `open_source`.

    Returns:
        The list. `troubles` names published episodes' differences from their files, counts what was left out, and
        mentions a torn last line; everything else is listed.

    Raises:
        FileNotFoundError: There is neither a file nor a folder at `path`.
        ValueError: There are no records, or a line is not the JSON of a record; the error names file and line.
    """
    source = open_source(path)
    differ: list[str] = []
    with warnings.catch_warnings(record=True) as torn:
        warnings.simplefilter("always")
        records = tuple(_listed(source, differ))
    if not records and not source.left_out:
        raise ValueError(source.why_empty)
    return Listing(records, (*differ, *source.left_out, *(str(each.message) for each in torn)))


def _listed(source: RecordSource, differ: list[str]) -> Iterator[ListedRecord]:
    """Yield the lines of the list; add published episodes' differences to `differ`."""
    if source.kind != "clembench":
        for _, file in _record_files(source.path, source.kind):
            yield from list_file(file)
        return
    for entry in source.entries():
        differ += (f"{entry.record.id}: {each.text}" for each in entry.differences)
        yield list_record(entry.record)
