"""Bonuses of a study: a panel's own export is matched with the participants, and the panel's file of payments written.

The panel's ids are hashed here and compared with the hashes in the database. No service is called. Nobody is paid twice
and nobody is lost, whenever the process or the machine stops:

1. The database notes, in one transaction, whom the file pays how much, and the hash of its content. From here on no
   other file can hold them.
2. The file is written under its final name in one step (`atomic_write`).
3. The database notes that it was written.

After a stop between 1 and 3 it is unknown whether the file was written, or even uploaded. The next run writes it again
under the same name and with the same lines, as its hash proves, and says so.
"""

from __future__ import annotations

import csv
import hashlib
import io
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import NamedTuple

import msgspec

from negolab._internal.files import atomic_write, private_files
from negolab._internal.validation import read_text
from negolab.studies.authentication import hash_panel_id
from negolab.studies.database import BonusFile, Database, Participant
from negolab.studies.earnings import computed_earnings, study_earnings
from negolab.studies.endings import ENDINGS
from negolab.studies.payment import Currency, Earnings
from negolab.studies.study_config import Study

PAID = ("APPROVED", "AWAITING REVIEW")
"""Prolific's words for a submission that is paid."""
RETURNED = ("RETURNED", "TIMED-OUT")
"""Prolific's words for a submission that gives its place back."""


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
    """One id in a panel's export: the lines that name it, and its statuses in them."""

    id: str
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


def read_panel(file: Path, form: PanelFormat) -> list[PanelEntry]:
    """Read a panel's export, one entry for each id in the order of the file.

    Raises:
        ValueError: The file cannot be read, lacks a column, or has a line without an id.
    """
    text = read_text(file)
    head = text.split("\n", 1)[0]
    delimiter = max(",;\t", key=head.count)
    found: dict[str, list[tuple[int, str]]] = defaultdict(list)
    try:
        reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
        _check_columns(file, reader.fieldnames or (), form)
        for row in reader:
            id = (row[form.id_column] or "").strip()
            status = (row[form.status_column] or "").strip() if form.status_column else ""
            if not id:
                raise ValueError(f"{file}: line {reader.line_num}: {form.id_column!r} is empty")
            found[id].append((reader.line_num, status))
    except csv.Error as error:
        raise ValueError(f"{file}: is no CSV file: {error}") from None
    entries = [PanelEntry(id, *zip(*rows, strict=True)) for id, rows in found.items()]
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
                raise ValueError(f"{option}: no line of {file} has the status {status!r}: there are {', '.join(there)}")


def _check_columns(file: Path, names: Sequence[str], form: PanelFormat) -> None:
    for column, option in ((form.id_column, "--id-column"), (form.status_column, "--status-column")):
        if column and column not in names:
            listed = ", ".join(names[:8]) or "none"
            raise ValueError(f"{file}: has no column {column!r}: name it with {option}; the columns are {listed}")


class Settlement(msgspec.Struct):
    """Result of a run: the lines of the file, and what is to be said about everybody who is not in it."""

    path: Path
    currency: Currency
    amounts: dict[str, int]
    """Amounts in smallest units by the panel's ids."""
    said: list[str]
    """One line for each id or participant that needs attention."""
    earlier: int = 0
    """Number of ids whose bonus an earlier run wrote."""
    nothing: int = 0
    """Number of ids to which nothing is due beyond the fee."""
    incomplete: int = 0
    """Number of ids in the file who did not complete the study: for them no fee was counted."""
    resumed: list[Path] = []
    """Files of earlier runs that broke off, which are complete now."""


def settle(
    database: Database,
    study: Study,
    panel: Path,
    form: PanelFormat,
    *,
    out: Path | None = None,
    beside: Path,
    with_fee: bool = False,
    recompute: bool = False,
) -> Settlement:
    """Write the bonuses that are due, and give back the places of those whom the panel has taken out.

    Args:
        database: The database of the study.
        study: The study, with a `[payment]`.
        panel: The panel's export.
        form: Its form.
        out: New file; None, or a file that an earlier run took: the next free name beside the study file.
        beside: The study file.
        with_fee: Write the whole earnings instead of what is beyond the fee.
        recompute: Pay what the study file says now instead of what participants were shown.

    Raises:
        ValueError: The study does not pay, the export cannot be read, or the file exists or cannot be written.
    """
    if study.payment is None:
        raise ValueError(f"{beside}: has no [payment]: write one to pay bonuses")
    if out is not None and out.exists():
        raise ValueError(f"{out} is there already and was left alone: choose another file with --out")
    kept = database.kept(study.name)
    assert kept is not None  # the command line has asked
    entries = read_panel(panel, form)
    people = {p.external: p for p in database.participants(study.name) if p.external is not None}
    known = {e.id: p for e in entries if (p := people.get(hash_panel_id(e.id, kept.salt))) is not None}
    resumed = _resume(database, study, {p.id: id for id, p in known.items()}, panel)
    taken = {file.path for file in database.bonus_files(study.name)}
    path = out if out is not None and str(out.absolute()) not in taken else _free_name(beside, taken)
    settlement = Settlement(path, study.payment.money, {}, [], resumed=resumed)
    earned = _earned(database, study, recompute, settlement, known)
    _give_back(database, study, entries, known, form, settlement)
    written = database.bonuses(study.name)
    for entry in entries:
        _consider(entry, known.get(entry.id), form, earned, written, with_fee, settlement)
    settlement.said += _missing(database, study, known, earned, panel)
    _write(database, study, settlement, {known[id].id: amount for id, amount in settlement.amounts.items()}, form)
    return settlement


def _earned(
    database: Database, study: Study, recompute: bool, settlement: Settlement, known: Mapping[str, Participant]
) -> dict[str, Earnings]:
    """Return the earnings by the participant's id; those that are not what the file says now are named."""
    shown = study_earnings(database, study)
    now = computed_earnings(
        study, database.participants(study.name), database.matches(study.name), database.ends(study.name)
    )
    paid = "paid is what the file says" if recompute else "paid is what they were shown; --recompute pays the other"
    for id, person in known.items():
        one, other = shown.get(person.id), now.get(person.id)
        if one is not None and other is not None and one.total != other.total:
            settlement.said.append(
                f"{id}: was shown {one.text(one.total)}, by the file now {other.text(other.total)}: {paid}"
            )
    return now if recompute else shown


def _give_back(
    database: Database,
    study: Study,
    entries: Sequence[PanelEntry],
    known: Mapping[str, Participant],
    form: PanelFormat,
    settlement: Settlement,
) -> None:
    states = {known[entry.id].id: entry.status(form) for entry in entries if entry.id in known}
    returned = [id for id, state in states.items() if state == "returned"]
    new = database.mark_returned(study.name, returned, [id for id, state in states.items() if state == "paid"])
    if new:
        settlement.said.append(f"{len(new)} of the returned gave a place in their treatment back now")


def _consider(
    entry: PanelEntry,
    person: Participant | None,
    form: PanelFormat,
    earned: Mapping[str, Earnings],
    written: Mapping[str, object],
    with_fee: bool,
    settlement: Settlement,
) -> None:
    """Put what is due to an id into the settlement, or say why nothing is."""
    state, statuses = entry.status(form), ", ".join(dict.fromkeys(entry.statuses))
    if len(entry.lines) > 1:
        lines = " and ".join(map(str, entry.lines))
        settlement.said.append(f"{entry.id}: repeated in lines {lines} ({statuses or 'no status'}): counted once")
    if person is None:
        settlement.said.append(f"{entry.id}: unknown: nobody came to this study with this id")
    elif person.id in written:
        settlement.earlier += 1
        if state != "paid":
            settlement.said.append(f"{entry.id}: {statuses}, but an earlier run wrote their bonus")
    elif state != "paid":
        settlement.said.append(f"{entry.id}: not paid: the panel says {statuses or 'nothing of their status'}")
    elif person.status not in ENDINGS:
        settlement.said.append(f"{entry.id}: not paid: has not finished ({person.status})")
    elif due := earned[person.id].total if with_fee else earned[person.id].bonus:
        settlement.amounts[entry.id] = due
        settlement.incomplete += person.status != "complete"
    else:
        settlement.nothing += 1


def _missing(
    database: Database, study: Study, known: Mapping[str, Participant], earned: Mapping[str, Earnings], panel: Path
) -> Iterator[str]:
    """Name those who finished and are not in the export, by their numbers, as the database has no ids."""
    here = {person.id for person in known.values()}
    for person in database.participants(study.name):
        if person.id in earned and earned[person.id].total and person.id not in here and not person.is_test:
            why = f"is not in {panel.name}" if person.external else "came by a link without a panel's id"
            yield f"participant {person.number}: earned {earned[person.id].text(earned[person.id].total)}, but {why}"


def _free_name(beside: Path, taken: Collection[str]) -> Path:
    """Return the next free name of a file of payments beside the study file, never one that an earlier run took."""
    names = (beside.with_name(f"{beside.stem}-bonus-{number}.csv") for number in count(len(taken) + 1))
    return next(path for path in names if not path.exists() and str(path.absolute()) not in taken)


def _content(amounts: Mapping[str, int], currency: Currency, delimiter: str) -> bytes:
    """Return the content of a file of payments: the panel's id and the amount in each line, sorted, without a head."""
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\n")
    writer.writerows((id, currency.plain(amount)) for id, amount in sorted(amounts.items()))
    return text.getvalue().encode()


def _write(
    database: Database, study: Study, settlement: Settlement, amounts: Mapping[str, int], form: PanelFormat
) -> None:
    content = _content(settlement.amounts, settlement.currency, form.delimiter)
    _check_writable(settlement.path)
    if not amounts:
        _store(settlement.path, content)
        return
    sha256 = hashlib.sha256(content).hexdigest()
    file = BonusFile(sha256, str(settlement.path.absolute()), form.delimiter, settlement.currency)
    if not database.plan_bonuses(study.name, file, amounts):
        raise ValueError("another run has written one of these bonuses, or this file, at this moment: run it again")
    _store(settlement.path, content)
    database.confirm_bonuses(study.name, file)


def _resume(database: Database, study: Study, ids: Mapping[str, str], panel: Path) -> list[Path]:
    """Make the files again of which it is not known that they were written; `ValueError` if that cannot be done."""
    done = []
    for file in database.unwritten_bonus_files(study.name):
        path, bonuses = Path(file.path), database.bonuses(study.name)
        mine = {id: bonus.amount for id, bonus in bonuses.items() if bonus.file == file.sha256}
        amounts = {ids[id]: amount for id, amount in mine.items() if id in ids}
        content = _content(amounts, file.currency, file.delimiter)
        if hashlib.sha256(content).hexdigest() != file.sha256:
            raise ValueError(
                f"{panel}: lacks ids of {path}, whose run broke off before it was known to be written: "
                "repeat that run with the same export, or a newer one of the same study at the panel"
            )
        _store(path, content)
        database.confirm_bonuses(study.name, file)
        done.append(path)
    return done


def _check_writable(path: Path) -> None:
    """Raise `ValueError` early for a folder that is not there, before anything is noted as written."""
    if not path.absolute().parent.is_dir():
        raise ValueError(f"{path}: there is no folder {path.parent}; make it first, or choose another file with --out")


def _store(path: Path, content: bytes) -> None:
    try:
        with private_files():
            atomic_write(path, content)
    except OSError as error:
        raise ValueError(f"{path}: cannot be written: {error.strerror}; run it again once it can") from None
