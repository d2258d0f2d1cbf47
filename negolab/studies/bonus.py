"""Bonuses of a study: a panel's own export is matched with the participants, and the panel's file of payments written.

The panel's ids are hashed here and compared with the hashes in the database. No service is called. Nobody is paid twice
and nobody is lost, whenever the process or the machine stops, and however many run at once:

1. The run takes the lock, a row of the database (`Database.bonus_run`), and holds it until the end. Others wait.
2. The database notes, in one transaction, whom the file pays how much, and the hash of its content. From here on no
   other file can hold them.
3. A line in a file beside the study and one beside the database (`_payment_logs`) notes the same, in case the database
   is restored from an older copy.
4. The file is created, never over another one, written whole and synced.
5. The database notes that it was written.

After a stop between 2 and 5 it is unknown whether the file was written, or even uploaded. The next run writes it again
under the same name and with the same lines, as its hash proves, and says so.
"""

from __future__ import annotations

import csv
import hashlib
import io
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import msgspec
import platformdirs

from negolab._internal.files import append, atomic_write, private_files, read_text
from negolab._internal.validation import located
from negolab.studies.database import BonusFile, Database, Participant
from negolab.studies.database.payments import EARNINGS
from negolab.studies.earnings import computed_earnings
from negolab.studies.endings import ENDINGS
from negolab.studies.panel import PanelEntry, PanelFormat, read_panel
from negolab.studies.payment import Currency, Earnings
from negolab.studies.study_config import Study

_NAMED = 9
"""Lines that are named, at most."""


class Settlement(msgspec.Struct):
    """Result of a run: the lines of the file, and what is to be said about everybody who is not in it."""

    path: Path | None
    """The file; None: nobody is to be paid, so there is none."""
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
        out: New file; None, or one of a run that broke off, which is completed: the next free name beside the study
            file. If nobody is to be paid, no file is written.
        beside: The study file.
        with_fee: Write the whole earnings instead of what is beyond the fee.
        recompute: Pay what the study file says now instead of what participants were shown.

    Raises:
        ValueError: The study does not pay, the export cannot be read, the database lacks bonuses that were written, or
            the file exists or cannot be written.
    """
    if study.payment is None:
        raise ValueError(f"{beside}: add [payment] to pay bonuses")
    entries = _entries(database, study, panel, form)
    with database.bonus_run(study.name):
        known = _known(database, study, entries)
        files = database.bonus_files(study.name)
        _check_amounts(database, study, files)
        resumed = [
            _write(database, study, file, known, panel, _place(file, beside, out), beside, again=True)
            for file in files
            if file.written is None
        ]
        settlement = Settlement(None, study.payment.money, {}, [], resumed=resumed)
        earned = _earned(database, study, recompute, settlement, known)
        _give_back(database, study, entries, known, form, settlement)
        written = database.bonuses(study.name)
        for entry in entries:
            _consider(entry, known.get(entry.id), form, earned, written, with_fee, settlement)
        settlement.said += _missing(database, study, known, earned, panel)
        for log in _payment_logs(database, study, beside):
            if settlement.amounts:
                _check_noted(log, {file.sha256 for file in files})
            _note_others(log, files)
        if settlement.amounts:
            if out is None or out.absolute() in resumed:
                out = _free_name(beside, {file.path for file in files})
            settlement.path = _write_new(database, study, out, settlement, known, form, panel, beside)
    return settlement


def write_again(
    database: Database,
    study: Study,
    panel: Path,
    form: PanelFormat,
    sha256: str,
    *,
    out: Path | None = None,
    beside: Path,
) -> Path:
    """Write a file of bonuses once more, byte for byte, and return its path.

    Args:
        database: The database of the study.
        study: The study.
        panel: An export with the ids in that file, of which the database has only hashes.
        form: Form of the export.
        sha256: Hash of the file, or its beginning.
        out: New file; None: the same one, unless another file is there now.
        beside: The study file.

    Raises:
        ValueError: There is no such file, it was not beside the study file, the export lacks one of its ids, or it
            cannot be written.
    """
    entries = _entries(database, study, panel, form)
    with database.bonus_run(study.name):
        files = [file for file in database.bonus_files(study.name) if file.sha256.startswith(sha256)]
        if len(files) != 1:
            raise ValueError(
                f"--again {sha256}: {len(files)} files have a hash that starts with this: --status lists all files"
            )
        known, path = _known(database, study, entries), out or _place(files[0], beside, None)
        return _write(database, study, files[0], known, panel, path, beside, again=out is None)


def _entries(database: Database, study: Study, panel: Path, form: PanelFormat) -> list[PanelEntry]:
    kept = database.kept(study.name)
    assert kept is not None  # the command line has asked
    return read_panel(panel, form, kept.salt)


def _known(database: Database, study: Study, entries: Sequence[PanelEntry]) -> dict[str, Participant]:
    """Return the participants in a panel's export, by their ids there."""
    people = {person.external: person for person in database.participants(study.name)}
    return {entry.id: people[entry.hashed] for entry in entries if entry.hashed in people}


def _earned(
    database: Database, study: Study, recompute: bool, settlement: Settlement, known: Mapping[str, Participant]
) -> dict[str, Earnings]:
    """Return the earnings by the participant's id; those that are not what the file says now are named."""
    shown = database.kept_notes(study.name, EARNINGS, Earnings)
    now = computed_earnings(
        study, database.participants(study.name), database.matches(study.name), database.ends(study.name)
    )
    others = {kept.currency.code for kept in shown.values() if kept.currency != settlement.currency}
    if others and not recompute:
        raise ValueError(
            f"participants were shown amounts in {' and '.join(sorted(others))}, but the study file says "
            f"{settlement.currency.code}: restore it, or pay what the file says with --recompute"
        )
    paid = "the file's amount is paid" if recompute else "the amount shown is paid; --recompute pays the other"
    for id, person in known.items():
        one, other = shown.get(person.id), now.get(person.id)
        if one and other and (one.total, one.currency) != (other.total, other.currency):
            settlement.said.append(
                f"{id}: was shown {one.text(one.total)}, but the study file now gives {other.text(other.total)}: {paid}"
            )
    return now if recompute else now | shown


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
        settlement.said.append(f"{len(new)} of the returned participants freed a place in their treatment")


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
        more = f" and {len(entry.lines) - _NAMED:,} more" if len(entry.lines) > _NAMED else ""
        lines = " and ".join(map(str, entry.lines[:_NAMED])) + more
        settlement.said.append(f"{entry.id}: repeated in lines {lines} ({statuses or 'no status'}): counted once")
    if person is None:
        settlement.said.append(f"{entry.id}: unknown: nobody with this ID took part in this study")
    elif person.id in written:
        settlement.earlier += 1
        if state != "paid":
            settlement.said.append(f"{entry.id}: {statuses}, but an earlier run wrote their bonus")
    elif state != "paid":
        settlement.said.append(f"{entry.id}: not paid: the panel says {statuses or 'nothing about their status'}")
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
            why = f"is not in {panel.name}" if person.external else "used a link without a panel ID"
            yield f"participant {person.number}: earned {earned[person.id].text(earned[person.id].total)}, but {why}"


def _payment_logs(database: Database, study: Study, beside: Path) -> list[Path]:
    """Return the files that have a line, of hash and path, for each file of payments of the study, whatever becomes of
    that, of the study file and of the database: one beside either of these. PostgreSQL has no place beside it, so
    one of the user's own serves for the database and its copies."""
    name = f"{study.name}-bonuses.log"
    if database.file:
        kept = database.file.with_name(name)
    else:
        kept = platformdirs.user_data_path("negolab").absolute() / f"{database.id}-{name}"
        with _written(kept.parent, "the log of bonuses needs it: set XDG_DATA_HOME to another folder, for good,"):
            kept.parent.mkdir(parents=True, exist_ok=True)
    return list(dict.fromkeys(log.absolute() for log in (beside.with_name(name), kept)))


@contextmanager
def _written(path: Path, advice: str = "fix that") -> Iterator[None]:
    """Say what cannot be written, and what to do; no payment is lost by that."""
    try:
        yield
    except OSError as error:
        todo = "move it elsewhere" if isinstance(error, FileExistsError) else advice
        raise ValueError(f"{path} cannot be written: {error.strerror}; {todo} and run the command again") from None


def _noted(log: Path) -> dict[str, str]:
    """Return the paths of the files of payments in a log, by their hashes."""
    with located(f"{log} is not a readable log of bonuses: restore it, or move it if it is something else"):
        lines = [line.partition(" ") for line in read_text(log).split("\n")] if log.exists() else []
    return {sha256: path for sha256, _, path in lines if re.fullmatch("[0-9a-f]{64}", sha256)}


def _note_others(log: Path, files: Sequence[BonusFile]) -> None:
    """Note the files that another machine wrote, so that an older copy of the database is noticed here, too."""
    noted = _noted(log)
    with private_files():
        for file in files:
            if file.written is not None and file.sha256 not in noted:
                with _written(log):
                    append(log, _line(file.sha256, file.path))


def _line(sha256: str, path: object) -> bytes:
    """Write a line of a log; one that a power failure has torn stays alone."""
    return f"\n{sha256} {' '.join(str(path).split())}\n".encode()


def _check_noted(log: Path, written: Collection[str]) -> None:
    """Raise `ValueError` if a file of payments was written which this database does not know, as when it was restored
    from a copy: whom it pays would be paid again."""
    for sha256, path in _noted(log).items():
        if sha256 not in written:
            raise ValueError(
                f"{log}: this database did not write {path}: it is an older copy or a different database, so the "
                f"same people would be paid again; restore the newest database, or move {log.name} elsewhere and "
                "delete from the panel's export whom that file paid"
            )


def _check_amounts(database: Database, study: Study, files: Sequence[BonusFile]) -> None:
    """Raise `ValueError` if the database has a file of payments but not all whom it pays: they would be paid again."""
    people, bonuses = database.participants(study.name), database.bonuses(study.name)
    paid = Counter(bonuses[person.id].file for person in people if person.id in bonuses)
    for file in files:
        if paid[file.sha256] < (file.people or 1):
            raise ValueError(
                f"{database} lists {file.path} but has only {paid[file.sha256]} of its bonuses, so the same people "
                "would be paid again; restore a complete copy"
            )


def _place(file: BonusFile, beside: Path, out: Path | None) -> Path:
    """Return the path of a file to be completed. A database from elsewhere may name any file of the machine, so only
    one beside the study file counts, or the one that is asked for now."""
    path, own = Path(file.path), rf"{re.escape(beside.stem)}-bonus-\d+\.csv"
    is_ours = path.parent == beside.absolute().parent and re.fullmatch(own, path.name)
    if not is_ours and path != (out and out.absolute()):
        raise ValueError(
            f"{path}: its run was interrupted, and it is not next to {beside}: specify its location with "
            f"--again {file.sha256[:12]} --out FILE"
        )
    return path


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


def _write_new(
    database: Database,
    study: Study,
    path: Path,
    settlement: Settlement,
    known: Mapping[str, Participant],
    form: PanelFormat,
    panel: Path,
    beside: Path,
) -> Path:
    """Note in the database whom a new file pays how much, and write it; `ValueError` if that cannot be done."""
    if path.exists() or not path.absolute().parent.is_dir():
        raise ValueError(
            f"{path}: {'already exists' if path.exists() else f'there is no folder {path.parent}'}; "
            "choose another file with --out"
        )
    if path.absolute() in _payment_logs(database, study, beside):
        raise ValueError(f"{path} is for the log of bonuses: choose another file with --out")
    sha256 = hashlib.sha256(_content(settlement.amounts, settlement.currency, form.delimiter)).hexdigest()
    people = len(settlement.amounts)
    file = BonusFile(sha256, str(path.absolute()), form.delimiter, settlement.currency, people)
    database.plan_bonuses(study.name, file, {known[id].id: due for id, due in settlement.amounts.items()})
    return _write(database, study, file, known, panel, path, beside)


def _write(
    database: Database,
    study: Study,
    file: BonusFile,
    known: Mapping[str, Participant],
    panel: Path,
    path: Path,
    beside: Path,
    *,
    again: bool = False,
) -> Path:
    """Write a file as it was planned, and note that it was written; `ValueError` if that cannot be done."""
    ids = {person.id: id for id, person in known.items()}
    mine = {id: bonus.amount for id, bonus in database.bonuses(study.name).items() if bonus.file == file.sha256}
    content = _content({ids[id]: due for id, due in mine.items() if id in ids}, file.currency, file.delimiter)
    if hashlib.sha256(content).hexdigest() != file.sha256:
        raise ValueError(
            f"{panel}: IDs of {file.path}{'' if file.written else ', whose run was interrupted,'} are missing: the "
            "database stores only hashed IDs, so use the same export or a newer one of this study from the panel"
        )
    _store(path, content, _payment_logs(database, study, beside), again)
    database.confirm_bonuses(study.name, file)
    return path


def _store(path: Path, content: bytes, logs: Sequence[Path], again: bool) -> None:
    """Note a file and create it. `again`: what a run that broke off left of it may be there, but never another file."""
    line = _line(hashlib.sha256(content).hexdigest(), path.absolute())
    with private_files():
        for log in logs:
            with _written(log):
                append(log, line)
        with _written(path):
            is_left = again and path.is_file() and content.startswith(path.read_bytes())
            atomic_write(path, content, new=not is_left)
