"""Payment of participants in the database, as notes: earnings as shown, bonuses as written, places given back."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import msgspec
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from negolab.studies.database.base import BaseDatabase, alone, notes_of
from negolab.studies.database.schema import notes
from negolab.studies.payment import Currency, Earnings

EARNINGS = "earnings"
"""Kind of the notes that keep what a participant was shown."""
BONUS, BONUS_FILE, BONUS_WRITTEN = "bonus", "bonus file", "bonus file written"
"""Kinds of the notes on one participant's bonus, on a file that is about to be written, and on one that was."""
RETURNED, REINSTATED = "returned", "reinstated"
"""Kinds of the notes that a panel has taken a participant out of the study, or in again."""


class BonusFile(msgspec.Struct, frozen=True):
    """A file of bonuses: identified by the hash of its content, which is fixed before it is written."""

    sha256: str
    path: str
    delimiter: str
    currency: Currency


class Bonus(msgspec.Struct, frozen=True):
    """Bonus of a participant in smallest units of the currency."""

    amount: int
    file: str
    """Hash of the file that holds it."""
    at: float = 0.0
    """When it was written, in seconds since 1970."""


class Payments(BaseDatabase):
    """Methods of the database for payment."""

    def keep_earnings(self, study: str, participant: str, earned: Earnings) -> None:
        """Store what a participant is shown."""
        detail = msgspec.json.encode(earned).decode()
        self.note(EARNINGS, "host", study=study, participant=participant, detail=detail)

    def kept_earnings(self, participant: str) -> Earnings | None:
        """Return what a participant was shown first; None if nothing yet."""
        mine = sa.and_(notes.c.participant == participant, notes.c.kind == EARNINGS)
        with self._read() as c:
            kept = c.scalar(sa.select(notes.c.detail).where(mine).order_by(notes.c.id).limit(1))
        return None if kept is None else msgspec.json.decode(kept, type=Earnings)

    def shown_earnings(self, study: str) -> dict[str, Earnings]:
        """Return the earnings that participants were shown, by their id."""
        found = self.notes(study, EARNINGS)
        return {str(note.participant): msgspec.json.decode(note.detail, type=Earnings) for note in reversed(found)}

    def returned(self, study: str) -> set[str]:
        """Return the ids of the participants whose places were given back."""
        with self._read() as c:
            return set(map(str, c.scalars(returned_ids(study))))

    def mark_returned(self, study: str, returned: Collection[str], reinstated: Collection[str]) -> list[str]:
        """Store whom a panel has taken out of the study and whom in again.

        Returns:
            Ids of the participants whose places are given back now and were not before.
        """
        with self._write() as c:
            alone(c)
            before = set(map(str, c.scalars(returned_ids(study))))
            out = [id for id in returned if id not in before]
            for kind, ids in ((RETURNED, out), (REINSTATED, [id for id in reinstated if id in before])):
                for id in ids:
                    self._note(c, kind, "researcher", study=study, participant=id)
            return out

    def bonuses(self, study: str) -> dict[str, Bonus]:
        """Return the bonuses that were written to a file, or are about to be, by the participant's id."""
        with self._read() as c:
            return _bonuses(c, study)

    def plan_bonuses(self, study: str, file: BonusFile, amounts: Mapping[str, int]) -> bool:
        """Store a file of bonuses before it is written.

        Args:
            study: Name of the study.
            file: The file.
            amounts: Amounts in smallest units by the participant's id.

        Returns:
            False if one of the participants has a bonus already, or the path a file; then nothing is stored.
        """
        with self._write() as c:
            alone(c)  # two commands at once cannot both write a bonus for somebody
            files = (msgspec.json.decode(note.detail, type=BonusFile) for note in notes_of(c, study, BONUS_FILE))
            if any(id in amounts for id in _bonuses(c, study)) or any(other.path == file.path for other in files):
                return False
            self._note(c, BONUS_FILE, "researcher", study=study, detail=msgspec.json.encode(file).decode())
            for id, amount in amounts.items():
                bonus = msgspec.json.encode(Bonus(amount, file.sha256)).decode()
                self._note(c, BONUS, "researcher", study=study, participant=id, detail=bonus)
            return True

    def bonus_files(self, study: str) -> list[BonusFile]:
        """Return all files of bonuses, oldest first, whether they were written or not."""
        return [msgspec.json.decode(note.detail, type=BonusFile) for note in self.notes(study, BONUS_FILE)]

    def unwritten_bonus_files(self, study: str) -> list[BonusFile]:
        """Return the files of bonuses of which it is not known that they were written, as after a crash."""
        written = {note.detail for note in self.notes(study, BONUS_WRITTEN)}
        return [file for file in self.bonus_files(study) if file.sha256 not in written]

    def confirm_bonuses(self, study: str, file: BonusFile) -> None:
        """Store that a file of bonuses was written."""
        self.note(BONUS_WRITTEN, "researcher", study=study, detail=file.sha256)


def returned_ids(study: str) -> sa.Select[Any]:
    """Select the ids of a study's participants whose places were given back."""
    step = sa.case((notes.c.kind == RETURNED, 1), else_=-1)
    mine = sa.and_(notes.c.study == study, notes.c.kind.in_((RETURNED, REINSTATED)), notes.c.participant.is_not(None))
    return sa.select(notes.c.participant).where(mine).group_by(notes.c.participant).having(sa.func.sum(step) > 0)


def _bonuses(c: Connection, study: str) -> dict[str, Bonus]:
    decoded = ((note, msgspec.json.decode(note.detail, type=Bonus)) for note in notes_of(c, study, BONUS))
    return {str(note.participant): msgspec.structs.replace(bonus, at=note.at) for note, bonus in decoded}
