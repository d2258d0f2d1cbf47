"""Blinded units for coders, and their answers: sheets for people, and a file of readings that only grows."""

from __future__ import annotations

import io
import lzma
import re
import time
import zlib
from collections.abc import Iterable, Iterator, Sequence
from glob import escape
from hashlib import blake2b
from itertools import accumulate, count
from pathlib import Path
from typing import Annotated, Any, NamedTuple
from zipfile import BadZipFile, ZipFile

import msgspec
import pandas as pd

from negolab._internal.files import MAX_BYTES, append, read_bytes
from negolab._internal.validation import MAX_TIME, check_name, is_json, located, suggest
from negolab.analysis.columns import Column, Columns, write_csv, write_xlsx
from negolab.analysis.rows import utterance_rows
from negolab.analysis.table_columns import MATCH
from negolab.analysis.tables import records
from negolab.coding.codebook import Codebook, UnitKind
from negolab.formats import spreadsheet
from negolab.formatting import counted
from negolab.record import Record, reading

FOLDER, FILE = "codes", "readings.ndjson"
_BEFORE = 50
"""Number of messages shown before an utterance: a match may have thousands."""
_TOGETHER = 20
"""Number of units that all coders get before the next ones."""
_MAX_ROWS, _MAX_COLUMNS, _CELL_BYTES = 1 << 20, 1000, 8
"""Most rows and columns of a workbook to read (Excel has no more rows), and the bytes counted for a cell beyond its
text."""
_MAX_ELEMENTS = 1 << 21
"""Most elements in a workbook's sheet, or in its texts: a cell that we write has three."""
_MAX_OTHERS = 1 << 17
"""Most elements in any other part: a style takes a hundred times its length, and a workbook may call any part its
sheet."""
_ATTRIBUTES = 8
"""Most attributes per element."""
_LONG = 1 << 18
"""Most bytes in a tag with the text after it, and in the head of a part: a cell's text has fewer."""
_SHORT_TAGS = re.compile(rb"(?:[^<]{0,%d}+<)*+[^<]{0,%d}+" % (_LONG, _LONG))
_UNREAD = ("customXml/", "xl/media/", "xl/chartsheets/")
"""Parts of a workbook that contain no cells: queries, pictures and charts."""
_NO_VALUE = re.compile(
    rb"""<(\w+:|)c\b(?![^<>]*?\st=["']str)(?:[^<>]*?\s(r=["'][A-Z]+\d+["']))?+[^<>]*+>"""
    rb"""\s*+<\1f\b(?:[^<>]*+(?<=/)>|[^<>]*+>[^<]*+</\1f\s*+>)"""
    rb"""\s*+(?:<\1v\s*+(?:/>|>\s*+</\1v\s*+>)\s*+)?+</\1c\s*+>"""
)
"""A cell whose formula was never computed, which openpyxl reads as an empty cell; a formula that gives an empty text is
a `str`."""
_FORMULA = "#FORMULA"
_MARKED = rb'<\1c \2 t="str"><\1v>%b</\1v></\1c>' % _FORMULA.encode()
"""The same cell with a text that says so."""
_MAX_TEXT = MAX_BYTES >> 3
"""Most characters in a sheet that we write: a file may need about five bytes for each."""
MOST_CODERS, MOST_CODES = 100, 1000
"""Most coders, and most codes in all codebooks times coders, in a file of readings: all pairs are compared."""


class Place(NamedTuple):
    """The place of a unit among the tables; a seat's has no turn, and a match's neither turn nor seat."""

    match: str
    cell: str | None = None
    turn: int | None = None
    seat: str | None = None


class Unit(NamedTuple):
    """A unit that a coder is given as one: it reveals no player, treatment, values, payoffs or later turns.

    Attributes:
        id: A hash of its place, the same in every sheet.
        text: The words to code.
        before: The messages before it, each with its speaker.
    """

    id: str
    text: str
    before: tuple[str, ...] = ()


def units(source: Path, kind: UnitKind) -> dict[Place, Unit]:
    """Return the units in all records of a source, in the order of its matches.

    Raises:
        FileNotFoundError: There is neither a file nor a folder at `source`.
        ValueError: Nobody said anything, or a record cannot be read.
    """
    found = {place: unit for cell, record in records(source) for place, unit in _units(record, cell, kind)}
    if not found:
        raise ValueError(f"{source}: there are no messages to code")
    return found


def _units(record: Record, cell: str | None, kind: UnitKind) -> Iterator[tuple[Place, Unit]]:
    with reading(record):
        said = [(row["turn"], row["seat"], row["text"]) for row in utterance_rows(record)]
    if kind == "utterance":
        named = {seat: _lines(said, seat, "same") for seat in {seat for _, seat, _ in said}}
        for at, (turn, seat, text) in enumerate(said):
            yield _unit(Place(record.id, cell, turn, seat), text, named[seat][max(0, at - _BEFORE) : at])
    elif kind == "seat":
        for seat in dict.fromkeys(seat for _, seat, _ in said):
            yield _unit(Place(record.id, cell, None, seat), "\n".join(_lines(said, seat, "this")))
    elif said:
        yield _unit(Place(record.id, cell), "\n".join(_lines(said, said[0][1], "first")))


def _unit(place: Place, text: str, before: Iterable[str] = ()) -> tuple[Place, Unit]:
    key = msgspec.json.encode(place)
    return place, Unit(f"u{blake2b(key, digest_size=6).hexdigest()}", text, tuple(before))


def _lines(said: Sequence[tuple[int, str, str]], seat: str, name: str) -> list[str]:
    """Return what was said, each message with the name of its speaker: `name` for `seat`, other for the other."""
    return [f"{name if by == seat else 'other'} speaker: {text}" for _, by, text in said]


def drawn_order(found: Iterable[Unit], coder: str) -> list[Unit]:
    """Return units in the order drawn for a coder, which is always the same.

    The order is drawn within groups of twenty, which are the same for all coders, so that those who code only some
    units have most of them in common.
    """

    def drawn(by: str, units: Iterable[Unit]) -> list[Unit]:
        return sorted(units, key=lambda unit: blake2b(f"{by}/{unit.id}".encode(), digest_size=8).digest())

    shared = drawn("", found)
    return [unit for at in range(0, len(shared), _TOGETHER) for unit in drawn(coder, shared[at : at + _TOGETHER])]


class Reading(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One coder's answer for one unit at one time; without `codes`, it withdraws an earlier answer.

    Attributes:
        book: Name of the codebook.
        coder: Name of the coder.
        place: The unit's place.
        codes: Values by code.
        at: Time of the answer in seconds since the epoch.
        quotes: For each code, the words in the text that justify it.
    """

    book: str
    coder: str
    place: Place
    codes: dict[str, Annotated[int, msgspec.Meta(ge=-(2**53), le=2**53)]] = {}
    at: Annotated[float, msgspec.Meta(ge=0, lt=MAX_TIME)] = msgspec.field(default_factory=time.time)
    quotes: dict[str, str] = {}


def readings_file(source: Path) -> Path:
    """Return the file of a source's readings, which need not exist; raise ValueError if a link leads elsewhere."""
    file = (source if source.is_dir() else source.parent) / FOLDER / FILE
    if link := next((path for path in (file.parent, file) if path.is_symlink()), None):
        raise ValueError(f"{link} is a symbolic link, but codes must be stored in the folder itself: delete the link")
    return file


def keep(source: Path, given: Sequence[Reading]) -> None:
    """Append readings in one write, so that simultaneous coders' readings do not mix."""
    if given:
        file = readings_file(source)
        file.parent.mkdir(exist_ok=True)
        # A line torn by a kill remains a line of its own.
        data = b"\n" + b"\n".join(map(msgspec.json.encode, given)) + b"\n"
        check_room(source, len(data))
        append(file, data)


def check_room(source: Path, more: int) -> None:
    """Raise `ValueError` if `more` bytes would make the file of readings too long to be read again."""
    file = readings_file(source)
    if file.is_file() and file.stat().st_size + more > MAX_BYTES:
        raise ValueError(f"{file} is full, at the maximum of {MAX_BYTES >> 20} MiB: code a copy of the records")


def check_kept(source: Path, kept: Iterable[Reading]) -> None:
    """Raise `ValueError` if stored readings are missing from the file, which only grows."""
    lost = set(map(msgspec.json.encode, kept)) - set(map(msgspec.json.encode, all_readings(source)))
    if lost:
        raise ValueError(
            f"{readings_file(source)} was deleted or replaced while it was being written: "
            f"{counted(len(lost), 'reading')} are lost: restore the old file, or start again"
        )


def all_readings(source: Path, adding: tuple[str, str, Codebook] | None = None) -> list[Reading]:
    """Return every reading ever stored, in the order of storing, without lines torn by a kill.

    Args:
        source: Records, or the folder of a run or a sweep.
        adding: The coder about to add readings, with the codebook's name and the codebook.

    Raises:
        ValueError: A line is not a reading, the file is a link, or it names (or would name) too many coders or codes.
    """
    file = readings_file(source)
    lines = read_bytes(file).split(b"\n") if file.is_file() else ()
    found = [_reading(file, number, line) for number, line in enumerate(lines, 1) if is_json(line)]
    coders = {reading.coder for reading in found}
    codes = {(reading.book, code) for reading in found for code in reading.codes}
    if adding:
        coder, name, book = adding
        coders.add(coder)
        codes.update((name, code) for code in book.codes)
    if len(coders) > MOST_CODERS or len(coders) * len(codes) > MOST_CODES:
        named = f"{len(coders):,} coders and {len(codes):,} codes"
        raise ValueError(
            f"{file}: {named} exceed the maximum of {MOST_CODERS} coders, or of {MOST_CODES:,} for coders times codes: "
            "code a copy of the records"
        )
    return found


def _reading(file: Path, number: int, line: bytes) -> Reading:
    try:
        return msgspec.json.decode(line, type=Reading)
    except msgspec.ValidationError as error:
        raise ValueError(f"{file}: line {number} is not a reading ({error}): correct or delete it") from None


def counting(source: Path) -> list[Reading]:
    """Return the last reading for each coder, codebook and unit, except those withdrawn."""
    last = {(reading.book, reading.coder, reading.place): reading for reading in all_readings(source)}
    return [reading for reading in last.values() if reading.codes]


Readings = dict[str, dict[Place, Reading]]
"""The reading that counts, by coder and place."""


def latest(source: Path, book: str) -> Readings:
    """Return the readings that count under a codebook."""
    found: Readings = {}
    for one in counting(source):
        if one.book == book:
            found.setdefault(one.coder, {})[one.place] = one
    return found


# Sheets.


def exchange(source: Path, name: str, book: Codebook, coder: str, sheet: Path | None = None) -> list[str]:
    """Read what a coder has filled in, and write units not yet in any of the coder's sheets to a new one.

    An existing sheet is never written to. Answers are stored in the source's folder, each with its time.

    Args:
        source: Records to code: a file, or the folder of a run or a sweep.
        name: Name of the codebook.
        book: The codebook.
        coder: Name of the coder.
        sheet: The sheet, a .csv or .xlsx file (None: a CSV file in the source's folder).

    Returns:
        Sentences for the coder: what was read, and what was written.

    Raises:
        ValueError: A cell cannot be read, or the file of readings has no room; nothing from the sheet is then stored.
    """
    check_name(coder, "a coder's name")
    if re.search(r"-part\d*$", coder):
        raise ValueError(
            f"{coder!r}: a coder's name cannot end in -part or -part and a number, which are reserved for sheets"
        )
    all_readings(source, (coder, name, book))
    found, before = units(source, book.unit), latest(source, name).get(coder, {})
    first = sheet or readings_file(source).with_name(f"{name}-{coder}.csv")
    if first.suffix not in (".csv", ".xlsx"):
        raise ValueError(f"{first}: a sheet must be a .csv or .xlsx file")
    parts = first.parent.glob(f"{escape(first.stem)}-part[0-9]*{first.suffix}")
    # A link in the source's folder to a file elsewhere is somebody else's; one that the user names is not.
    there = [path for path in (first, *sorted(parts)) if path.exists() and (sheet or not path.is_symlink())]
    read: dict[str, tuple[dict[str, int], Path]] = {}
    for path in there:
        for unit, codes in read_sheet(path, book):
            if codes != read.setdefault(unit, (codes, path))[0]:
                raise ValueError(f"{path}: row {unit!r:.40} appears twice with different codes: delete one")
    if strange := read.keys() - {unit.id for unit in found.values()}:
        raise ValueError(f"{read[min(strange)][1]}: row {min(strange)!r:.40} is not in {source}: leave IDs unchanged")
    listed = {place: read[unit.id][0] for place, unit in found.items() if unit.id in read}
    old = {place: reading.codes for place, reading in before.items()}
    given = {place: codes for place, codes in listed.items() if codes and codes != old.get(place)}
    keep(source, [Reading(book=name, coder=coder, place=place, codes=codes) for place, codes in given.items()])
    done = [place for place in found if book.codes.keys() <= {**old, **given}.get(place, {}).keys()]
    said = [f"{coder}: {len(given):,} new or changed; {len(done):,} of {len(found):,} are coded"]
    if new := [unit for place, unit in found.items() if place not in listed and place not in done]:
        paths = (first.with_stem(f"{first.stem}-part{number}" if number > 1 else first.stem) for number in count(1))
        path = next(path for path in paths if not path.exists())
        path.parent.mkdir(parents=True, exist_ok=True)
        rows = _fitting(drawn_order(new, coder), book)
        write_sheet(path, rows, book)
        said.append(f"{path} was written: fill in its {len(rows):,} rows and run this command again")
    return said


def _fitting(rows: Sequence[Unit], book: Codebook) -> list[Unit]:
    """Return as many of the first rows as can be read back from a filled-in sheet; the others go in the next sheet."""
    lengths = accumulate(sum(map(len, (unit.text, *unit.before))) for unit in rows)
    most = _MAX_ELEMENTS // (3 * (3 + len(book.codes)) + 1)
    return [unit for unit, length in zip(rows[:most], lengths, strict=False) if length <= _MAX_TEXT] or [rows[0]]


def write_sheet(path: Path, rows: Sequence[Unit], book: Codebook) -> None:
    """Write units to a sheet with an empty column for each code; no text in it is evaluated as a formula."""
    frame = pd.DataFrame(
        [{"id": unit.id, "before": "\n".join(unit.before), "text": unit.text} for unit in rows],
        columns=["id", "before", "text", *book.codes],
    )
    (write_xlsx if path.suffix == ".xlsx" else write_csv)([frame], path)


def read_sheet(path: Path, book: Codebook) -> Iterator[tuple[str, dict[str, int]]]:
    """Yield the id and the codes of each row in a sheet; a row without any mark has no codes.

    In a row with a mark, an empty cell for a yes-or-no code is a no; one for a scale is unanswered.

    Raises:
        ValueError: A cell does not hold a value of its code, or a column is missing; the error names row and column.
    """
    if path.suffix == ".csv":
        sheet = spreadsheet.read_sheet(path)
    else:
        sheet = _read_xlsx(path)
    sheet = sheet[(sheet != "").any(axis=1)]  # programs add empty rows
    columns = [*map(str, sheet.columns)]
    for name in ("id", *book.codes):
        if columns.count(name) != 1:
            fault = "present twice: delete one of them" if name in columns else f"missing: {suggest(name, columns)}"
            raise ValueError(f"{path}: the column {name} is {fault}")
    for row, cells in zip(sheet.index, sheet[["id", *book.codes]].to_dict("records"), strict=True):
        marks = {name: str(cells[name]) for name in book.codes}
        with located(f"{path}: row {row}"):
            codes = book.read(marks) if any(marks.values()) else {}
        yield cells["id"], codes


def _read_xlsx(path: Path) -> pd.DataFrame:
    """Read the first sheet of a workbook as text, with rows by number; leave out empty rows, because one distant cell
    would create millions of them."""
    from openpyxl import load_workbook

    packing = (BadZipFile, zlib.error, lzma.LZMAError, OSError, EOFError)
    kinds = (*packing, RuntimeError, LookupError, ArithmeticError, AttributeError, ValueError, TypeError, SyntaxError)
    data = io.BytesIO(read_bytes(path))
    with located(f"{path} cannot be read as a workbook", kinds):
        with ZipFile(data) as packed, ZipFile(checked := io.BytesIO(), "w") as kept:
            parts = [part for part in packed.infolist() if not part.filename.startswith(_UNREAD)]
            if sum(part.file_size for part in parts) > MAX_BYTES:
                raise ValueError(f"it exceeds the maximum of {MAX_BYTES >> 20} MiB when unpacked")
            for part in parts:
                _check_part(part.filename, xml := packed.read(part))
                kept.writestr(part.filename, _NO_VALUE.sub(_MARKED, xml))
        sheet = load_workbook(checked, read_only=True, data_only=True, keep_links=False).worksheets[0]
        found: dict[int, list[str]] = {}
        left = MAX_BYTES  # cells may share one text, which is short when compressed
        for number, cells in enumerate(sheet.iter_rows(max_row=_MAX_ROWS, max_col=_width(sheet), values_only=True), 1):
            if cells.count(None) < len(cells):
                found[number] = ["" if cell is None else str(cell).strip() for cell in cells]
                if _FORMULA in found[number]:
                    raise ValueError(f"row {number} has a formula without a value: replace formulas by their values")
                if (left := left - sum(map(len, found[number])) - _CELL_BYTES * len(cells)) < 0:
                    raise ValueError(f"it exceeds the maximum of {MAX_BYTES >> 20} MiB of text")
    head, *body = [*found.values()] or [[]]
    return pd.DataFrame(body, [*found][1:], head)


def _check_part(name: str, xml: bytes) -> None:
    """Raise `ValueError` if a part of a workbook would take minutes, as a small, repetitive file may."""
    most = _MAX_ELEMENTS if name.startswith(("xl/worksheets/", "xl/sharedStrings.")) else _MAX_OTHERS
    if xml.count(b"<") - xml.count(b"</") > most or xml.count(b"=") > _ATTRIBUTES * most:
        raise ValueError(f"its {name} has more than {most:,} elements: copy its cells to a .csv file")
    if name.startswith("xl/workbook") and b"http://purl.oclc.org/ooxml/" in xml:
        raise ValueError("it is in the format Strict Open XML: save it as an ordinary Excel workbook or as a .csv file")
    # With each piece that it is given, the parser rereads what it has of a tag or comment.
    is_xml = xml.lstrip(b"\xef\xbb\xbf\xfe\xff\0 \t\r\n").startswith(b"<")
    head = xml.find(b"?>", max(0, xml.rfind(b"<?")))
    if is_xml and (b"\0" in xml or b"<!" in xml or head > _LONG or not _SHORT_TAGS.fullmatch(xml)):
        raise ValueError(f"its {name} has an unexpected tag or comment: copy its cells to a .csv file")


def _width(sheet: Any) -> int:
    """Return the number of cells in the header, one of the first rows; empty cells far outside it do not count."""
    rows = sheet.iter_rows(max_row=_MAX_COLUMNS, max_col=_MAX_COLUMNS, values_only=True)
    head = next((cells for cells in rows if any(cell is not None for cell in cells)), (None,))
    return max((at for at, cell in enumerate(head, 1) if cell is not None), default=1)


# Codes as a table.

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
"""Columns of the table of codes; only the codes that count are exported."""


def code_rows(source: Path) -> Iterator[dict[str, Any]]:
    """Yield the columns `CODES`, and `cell`, for each value that counts."""
    for one in counting(source):
        about = {"book": one.book, "coder": one.coder, "coded": one.at}
        for code, value in one.codes.items():
            yield {**one.place._asdict(), **about, "code": code, "value": value, "quote": one.quotes.get(code)}
