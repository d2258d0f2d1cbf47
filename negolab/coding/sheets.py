"""Sheets for people: a CSV file or a workbook of units to code, written blind and read back as often as one likes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from negolab._internal.validation import check_name, suggest
from negolab.analysis.columns import write_csv, write_xlsx
from negolab.coding.codebook import Codebook
from negolab.coding.units import FOLDER, Place, Reading, Unit, drawn_order, is_done, keep, latest, units
from negolab.formats.spreadsheet import read_sheet


class Exchange(NamedTuple):
    """The result of reading a coder's sheet: how many units were read anew, how many are coded, and of how many."""

    sheet: Path
    written: int
    read: int
    coded: int
    units: int


def exchange(source: Path, name: str, book: Codebook, coder: str, sheet: Path | None = None) -> Exchange:
    """Read what a coder has filled in, and write what is in no sheet of theirs to a new one.

    A sheet that is there is never written to. Answers are kept in the source's folder, each with its time.

    Args:
        source: Records to code: a file, or the folder of a run or a sweep.
        name: Name of the codebook.
        book: The codebook.
        coder: Name of the coder.
        sheet: The sheet, a .csv or .xlsx file (None: a CSV file in the source's folder).

    Raises:
        ValueError: A cell cannot be read; nothing of its sheet is kept then.
    """
    check_name(coder, "a coder's name")
    if not book.asked:
        raise ValueError(f"{name}: all of its codes are computed: leave out --coder")
    found = units(source, book.unit)
    folder = (source if source.is_dir() else source.parent) / FOLDER
    first = sheet or folder / f"{name}-{coder}.csv"
    if first.suffix not in (".csv", ".xlsx"):
        raise ValueError(f"{first}: a sheet is a .csv or an .xlsx file")
    by_id = {unit.id: place for place, unit in found.items()}
    before = latest(source, name).get(coder, {})
    sheets = [first, *sorted(first.parent.glob(f"{first.stem}-part[0-9]*{first.suffix}"))]
    there = [path for path in sheets if path.exists()]
    listed, filled = set[str](), dict[Place, Reading]()
    for path in there:
        for unit, codes, note in read_codes(path, book):
            if unit not in by_id:
                raise ValueError(f"{path}: row {unit!r:.40} is none of {source}: leave the ids as they were written")
            listed.add(unit)
            place, old = by_id[unit], before.get(by_id[unit])
            if codes and (old is None or (codes, note) != (old.codes, old.note)):
                filled[place] = Reading(book=name, coder=coder, place=place, codes=codes, note=note)
    keep(source, list(filled.values()))
    done = sum(is_done(book, filled.get(place, before.get(place))) for place in found)
    new = [unit for place, unit in found.items() if unit.id not in listed and not is_done(book, before.get(place))]
    path = first if not there else first.with_stem(f"{first.stem}-part{len(there) + 1}")
    if new:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_sheet(path, drawn_order(new, coder), book)
    return Exchange(path if new or not there else there[-1], len(new), len(filled), done, len(found))


def write_sheet(path: Path, rows: Sequence[Unit], book: Codebook) -> None:
    """Write units to a sheet with an empty column for each code; no text in it is evaluated as a formula."""
    frame = pd.DataFrame(
        [{"id": unit.id, "before": "\n".join(unit.before), "text": unit.text} for unit in rows],
        columns=["id", "before", "text", *book.asked, "note"],
    )
    (write_xlsx if path.suffix == ".xlsx" else write_csv)([frame], path)


def read_codes(path: Path, book: Codebook) -> Iterator[tuple[str, dict[str, int], str]]:
    """Yield the id, the codes and the note of each row of a sheet; a row without any mark has no codes.

    In a row with a mark, an empty cell of a yes-or-no code is a no; one of a scale is not answered.

    Raises:
        ValueError: A cell holds no value of its code, or a column is missing; names row and column.
    """
    sheet = _read(path)
    for name in ("id", *book.asked):
        if name not in sheet:
            raise ValueError(f"{path}: the column {name} is missing: {suggest(name, map(str, sheet.columns))}")
    notes = sheet["note"] if "note" in sheet else pd.Series("", sheet.index)
    for row, cells in zip(sheet.index, sheet[["id", *book.asked]].itertuples(index=False), strict=True):
        marks = dict(zip(book.asked, cells[1:], strict=True))
        codes = dict[str, int]()
        if any(marks.values()):
            for name, mark in marks.items():
                try:
                    if mark or book.asked[name].scale is None:
                        codes[name] = book.asked[name].value(mark or "0")
                except ValueError as error:
                    raise ValueError(f"{path}: row {row}: {name}: {error}") from None
            try:
                book.check(codes)
            except ValueError as error:
                raise ValueError(f"{path}: row {row}: {error}") from None
        if cells[0]:
            yield cells[0], codes, notes[row]


def _read(path: Path) -> pd.DataFrame:
    """Read a sheet: every cell as the text that it holds, rows by their numbers in a spreadsheet."""
    if path.suffix == ".csv":
        return read_sheet(path)
    try:
        book = pd.read_excel(path, dtype=str, keep_default_na=False)
    except (ValueError, OSError, KeyError) as error:
        raise ValueError(f"{path}: is no workbook: {error}") from None
    book.index += 2
    return book.map(str.strip)
