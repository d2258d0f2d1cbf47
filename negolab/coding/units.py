"""What coders are given, blind, and what they answered: a file of readings that only grows."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from negolab._internal.files import append, read_bytes
from negolab.analysis.columns import Column, Columns
from negolab.analysis.rows import utterance_rows
from negolab.analysis.table_columns import MATCH
from negolab.analysis.tables import records
from negolab.coding.codebook import Codebook, UnitKind
from negolab.record import Record

FOLDER, FILE = "codes", "readings.ndjson"


class Place(NamedTuple):
    """The place of a unit among the tables; a seat's has no turn, and a match's neither turn nor seat."""

    match: str
    cell: str | None = None
    turn: int | None = None
    seat: str | None = None


class Unit(NamedTuple):
    """What a coder is given at once: nothing here tells player, treatment, values, payoffs or what came later.

    Attributes:
        id: A hash of its place, the same in every sheet.
        text: The words to code.
        before: What was said before, each with whose words they are.
    """

    id: str
    text: str
    before: tuple[str, ...] = ()


def units(source: Path, kind: UnitKind) -> dict[Place, Unit]:
    """Return the units of all records of a source, in the order of its matches.

    Raises:
        FileNotFoundError: There is neither a file nor a folder at `source`.
        ValueError: Nobody said anything, or a record cannot be read.
    """
    found = {place: unit for cell, record in records(source) for place, unit in _units(record, cell, kind)}
    if not found:
        raise ValueError(f"{source}: nobody said anything that could be coded")
    return found


def _units(record: Record, cell: str | None, kind: UnitKind) -> Iterator[tuple[Place, Unit]]:
    said = [(row["turn"], row["seat"], row["text"]) for row in utterance_rows(record)]
    if kind == "utterance":
        for at, (turn, seat, text) in enumerate(said):
            yield _unit(Place(record.id, cell, turn, seat), text, _lines(said[:at], seat, "same"))
    elif kind == "seat":
        for seat in dict.fromkeys(seat for _, seat, _ in said):
            yield _unit(Place(record.id, cell, None, seat), "\n".join(_lines(said, seat, "this")))
    elif said:
        yield _unit(Place(record.id, cell), "\n".join(_lines(said, said[0][1], "first")))


def _unit(place: Place, text: str, before: Iterable[str] = ()) -> tuple[Place, Unit]:
    key = msgspec.json.encode(place)
    return place, Unit(f"u{blake2b(key, digest_size=6).hexdigest()}", text, tuple(before))


def _lines(said: Sequence[tuple[int, str, str]], seat: str, name: str) -> list[str]:
    """Return what was said, each with the name of its speaker: `name` for `seat`, other for the other."""
    return [f"{name if by == seat else 'other'} speaker: {text}" for _, by, text in said]


def drawn_order(found: Iterable[Unit], coder: str) -> list[Unit]:
    """Return units in the order that is drawn for a coder, always the same."""
    return sorted(found, key=lambda unit: blake2b(f"{coder}/{unit.id}".encode(), digest_size=8).digest())


class Reading(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What one coder answered for one unit at one time; without `codes`, that an earlier answer is taken back.

    Attributes:
        book: Name of the codebook.
        coder: Name of the coder.
        place: The unit's place.
        codes: Values by code.
        at: Time of the answer in seconds since the epoch.
        quotes: By code, the words of the text that justify it.
        note: The coder's own remark.
    """

    book: str
    coder: str
    place: Place
    codes: dict[str, int] = {}
    at: float = msgspec.field(default_factory=time.time)
    quotes: dict[str, str] = {}
    note: str = ""


def readings_file(source: Path) -> Path:
    """Return the file of a source's readings; it need not be there."""
    return (source if source.is_dir() else source.parent) / FOLDER / FILE


def keep(source: Path, given: Sequence[Reading]) -> None:
    """Append readings in one write, so that those of several coders at once do not mix."""
    if given:
        file = readings_file(source)
        file.parent.mkdir(exist_ok=True)
        # A line that a kill has torn stays alone.
        append(file, b"\n" + b"\n".join(map(msgspec.json.encode, given)) + b"\n")


def all_readings(source: Path) -> list[Reading]:
    """Return every reading that was ever kept, in the order of keeping; lines that a kill has torn are left out.

    Raises:
        ValueError: The file is longer than any that is read.
    """
    file, found = readings_file(source), list[Reading]()
    for line in read_bytes(file).split(b"\n") if file.is_file() else ():
        try:
            found += [msgspec.json.decode(line, type=Reading)] if line else []
        except ValueError:
            continue
    return found


Readings = dict[str, dict[Place, Reading]]
"""The reading that counts, by coder and place."""


def latest(source: Path, book: str) -> Readings:
    """Return the last reading of each coder and unit under a codebook; what was taken back is none."""
    found: Readings = {}
    for reading in all_readings(source):
        if reading.book == book:
            found.setdefault(reading.coder, {})[reading.place] = reading
    return {
        coder: kept
        for coder, own in found.items()
        if (kept := {place: reading for place, reading in own.items() if reading.codes})
    }


def is_done(book: Codebook, reading: Reading | None) -> bool:
    """Return True if a reading answers every code that a coder is asked for."""
    return reading is not None and book.asked.keys() <= reading.codes.keys()


CODES: Columns = [
    MATCH,
    Column("turn", "integer", "the reply that was coded, as in utterances; empty: a whole seat or match was"),
    Column("seat", "text", "the seat that was coded: A or B; empty: a whole match was"),
    Column("book", "text", "name of the codebook"),
    Column("coder", "text", "who coded: a person, a model, computation or a published corpus"),
    Column("code", "text", "name of the code"),
    Column("value", "integer", "1: yes, 0: no, or the number on the code's scale"),
    Column("quote", "text", "words of the text that justify it"),
    Column("coded", "time", "when it was coded", "UTC"),
]
"""Columns of the table of codes, of which those that count are exported."""


def code_rows(source: Path) -> Iterator[dict[str, Any]]:
    """Yield the columns `CODES`, and `cell`, of each value that counts."""
    for book in dict.fromkeys(reading.book for reading in all_readings(source)):
        for coder, own in latest(source, book).items():
            for place, reading in own.items():
                yield from _code_rows(place, reading, {"book": book, "coder": coder, "coded": reading.at})


def _code_rows(place: Place, reading: Reading, about: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for code, value in reading.codes.items():
        yield {**place._asdict(), **about, "code": code, "value": value, "quote": reading.quotes.get(code)}
