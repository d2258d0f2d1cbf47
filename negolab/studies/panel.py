"""A panel's export of its submissions: its form, its lines, and one entry for each person in it."""

from __future__ import annotations

import csv
import io
import re
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import repeat
from pathlib import Path
from typing import NamedTuple

import msgspec
from tqdm import tqdm

from negolab._internal.files import read_text
from negolab.formatting import FORMULA_STARTS
from negolab.studies.authentication import MAX_ID, hash_panel_id

PAID = ("APPROVED", "AWAITING REVIEW")
"""Prolific's words for a submission that is paid."""
RETURNED = ("RETURNED", "TIMED-OUT")
"""Prolific's words for a submission that gives its place back."""
MAX_PEOPLE = 20_000
"""People in an export: hashing an id takes some 15 ms."""
_MANY = 500
"""People for whom progress is shown."""


class PanelFormat(msgspec.Struct, frozen=True):
    """Form of a panel's export, by default Prolific's, and of its file of payments."""

    id_column: str = "Participant id"
    status_column: str = "Status"
    """An empty one: the export has none, and everybody in it is paid."""
    paid: tuple[str, ...] = PAID
    returned: tuple[str, ...] = RETURNED
    delimiter: str = ","
    """Delimiter of the file of payments; that of the export is found in its first line."""


class PanelEntry(NamedTuple):
    """One person in a panel's export: the lines that name them, and their statuses in them."""

    hashed: str
    id: str
    """As it is spelt first."""
    lines: tuple[int, ...]
    statuses: tuple[str, ...]

    def status(self, form: PanelFormat) -> str:
        """Return "paid", "returned" or "other"; of several lines the one that is paid counts, then the returned one."""
        if not form.status_column or any(_is_one(status, form.paid) for status in self.statuses):
            return "paid"
        return "returned" if any(_is_one(status, form.returned) for status in self.statuses) else "other"


def _is_one(status: str, of: Sequence[str]) -> bool:
    """Return True if a status is one of some, whatever its case, hyphens and underscores."""
    return _plain(status) in map(_plain, of)


def _plain(status: str) -> str:
    return status.strip().upper().replace("-", " ").replace("_", " ")


def _unwrapped(cell: str) -> str:
    """Return a cell without blanks around it, and without the `=""` by which spreadsheets are told that it is text."""
    cell = cell.strip(" \t\xa0")
    found = re.fullmatch(r'="([\w.@ -]+)"', cell)
    return found[1] if found else cell


def read_panel(file: Path, form: PanelFormat, salt: str) -> list[PanelEntry]:
    """Read a panel's export, one entry for each hash of an id, however it is spelt, in the order of the file.

    Raises:
        ValueError: The file cannot be read, lacks a column, or has a line without an id or with an unclear one.
    """
    text = read_text(file)
    head = text.split("\n", 1)[0]
    rows: dict[str, list[tuple[int, str]]] = defaultdict(list)
    try:
        delimiter = max(
            ",;\t", key=lambda mark: (form.id_column in next(csv.reader([head], delimiter=mark)), head.count(mark))
        )
        reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
        _check_columns(file, reader.fieldnames or (), form)
        for row in reader:
            if None in row or None in row.values():
                raise ValueError(
                    f"{file}: line {reader.line_num} has more or fewer cells than the first line: put text that "
                    f"contains {delimiter!r} in quotes, or remove the line"
                )
            id = _unwrapped(row[form.id_column] or "")
            status = _unwrapped(row[form.status_column] or "") if form.status_column else ""
            if not id:
                raise ValueError(f"{file}: line {reader.line_num}: {form.id_column!r} is empty: remove the line")
            if id.startswith(FORMULA_STARTS):
                raise ValueError(
                    f"{file}: line {reader.line_num}: {id!r} looks like a formula, which a spreadsheet would "
                    "evaluate: write only the ID"
                )
            if not id.isprintable():
                raise ValueError(f"{file}: line {reader.line_num}: {id!r} has an invisible character: remove it")
            if len(id) > MAX_ID:
                raise ValueError(f"{file}: line {reader.line_num}: an ID has more than {MAX_ID} characters")
            rows[id].append((reader.line_num, status))
            if len(rows) > MAX_PEOPLE:
                raise ValueError(f"{file} has more than {MAX_PEOPLE:,} people: export only this study's participants")
    except csv.Error as error:
        raise ValueError(f"{file}: not a CSV file: {error}") from None
    # Hashing takes its time by design: a hundredth of a second for each id.
    bar = partial(tqdm, desc="reading IDs", total=len(rows), leave=False, disable=None if len(rows) > _MANY else True)
    spelt: dict[str, list[str]] = defaultdict(list)
    with ThreadPoolExecutor() as threads:
        for id, hashed in zip(rows, bar(threads.map(hash_panel_id, rows, repeat(salt))), strict=True):
            spelt[hashed].append(id)
    entries = [
        PanelEntry(hashed, ids[0], *zip(*(row for id in ids for row in rows[id]), strict=True))
        for hashed, ids in spelt.items()
    ]
    _check_statuses(file, entries, form)
    return entries


def _check_statuses(file: Path, entries: Sequence[PanelEntry], form: PanelFormat) -> None:
    """Raise `ValueError` if no line has a status that the researcher named, as where it is misspelt."""
    there = sorted({status for entry in entries for status in entry.statuses})
    for option, named, default in (
        ("--paid-status", form.paid, PAID),
        ("--returned-status", form.returned, RETURNED),
    ):
        for status in named:
            if entries and status not in default and not any(_is_one(other, (status,)) for other in there):
                raise ValueError(
                    f"{option}: no line in {file} has the status {status!r}: choose from {', '.join(there)}"
                )


def _check_columns(file: Path, names: Sequence[str], form: PanelFormat) -> None:
    for column, option in ((form.id_column, "--id-column"), (form.status_column, "--status-column")):
        if column and column not in names:
            listed = ", ".join(names[:8]) or "none"
            raise ValueError(f"{file} has no column {column!r}: set it with {option}; the columns are {listed}")
        if column and names.count(column) > 1:
            raise ValueError(f"{file} has {names.count(column)} columns {column!r}: remove all but one")
