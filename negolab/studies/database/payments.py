"""Payment of participants in the database, as notes: earnings as shown, bonuses as written, places given back."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import msgspec
import sqlalchemy as sa

from negolab.formatting import escape_control
from negolab.studies.database.base import BaseDatabase, alone, log
from negolab.studies.database.schema import meta, notes
from negolab.studies.payment import Currency

LEASE = 60.0
"""Seconds after which a waiting run assumes that the run still holding the lock on a study's bonuses is dead."""

EARNINGS = "earnings"
"""Kind of the notes that keep what a participant was shown."""
BONUS, BONUS_FILE, BONUS_WRITTEN = "bonus", "bonus file", "bonus file written"
"""Kinds of the notes about a participant's bonus, about a file to be written, and about one that was written."""
RETURNED, REINSTATED = "returned", "reinstated"
"""Kinds of the notes that a panel has taken a participant out of the study, or back in."""


class BonusFile(msgspec.Struct, frozen=True, omit_defaults=True):
    """A file of bonuses, identified by the hash of its contents, which are fixed before it is written."""

    sha256: str
    path: str
    delimiter: str
    currency: Currency
    people: int | None = None
    """Number of people it pays; None: an earlier version did not say."""
    written: float | None = None
    """Time at which it was written, in seconds since 1970; None: it is not known whether it was, as after a crash."""


class Bonus(msgspec.Struct, frozen=True):
    """Bonus of a participant in smallest units of the currency."""

    amount: int
    file: str
    """Hash of the file that holds it."""
    at: float = 0.0
    """Time at which it was written, in seconds since 1970."""


class Payments(BaseDatabase):
    """Methods of the database for payment."""

    def returned(self, study: str) -> set[str]:
        """Return the ids of the participants whose places were given back."""
        return {row.participant for row in self._rows(returned_ids(study))}

    def mark_returned(self, study: str, returned: Collection[str], reinstated: Collection[str]) -> list[str]:
        """Store whom a panel has taken out of the study and whom back in.

        Returns:
            Ids of the participants whose places are given back now but were not before.
        """
        with self._write() as c:
            alone(c)
            before = self.returned(study)
            out = [id for id in returned if id not in before]
            for kind, ids in ((RETURNED, out), (REINSTATED, [id for id in reinstated if id in before])):
                for id in ids:
                    self.note(kind, "researcher", study=study, participant=id)
            return out

    def bonuses(self, study: str) -> dict[str, Bonus]:
        """Return the bonuses that were written to a file, or are about to be, by the participant's id."""
        decoded = ((note, self._decoded(BONUS, note.detail, Bonus)) for note in self.notes(study, BONUS))
        return {str(note.participant): msgspec.structs.replace(bonus, at=note.at) for note, bonus in decoded}

    @contextmanager
    def bonus_run(self, study: str) -> Iterator[None]:
        """Hold the lock on a study's bonuses, a row in the database: one run at a time, on all machines.

        Another run waits, and logs for whom. A killed run leaves its row: whoever sees the same row for `LEASE` seconds
        takes over. No clocks are compared, because two machines may disagree.
        """
        row, seen, since = meta.c.name == f"bonus run of {study}", None, 0.0
        me = (
            f"process {os.getpid()} on {platform.node()}, since {time.strftime('%H:%M:%S %Z')}, {time.monotonic_ns():x}"
        )
        while True:
            with self._write() as c:
                alone(c)
                held = c.scalar(sa.select(meta.c.value).where(row))
                if held is None or (held == seen and time.monotonic() - since >= LEASE):
                    c.execute(meta.delete().where(row))
                    c.execute(meta.insert().values(name=f"bonus run of {study}", value=me))
                    break
            if held != seen:
                other = " ".join(escape_control(held.rsplit(",", 1)[0]).split())[:200]
                log.warning("waiting for another run (%s) to end, or for %.0f s if it is dead", other, LEASE)
                seen, since = held, time.monotonic()
            time.sleep(0.1)
        try:
            yield
        finally:
            with self._write() as c:
                c.execute(meta.delete().where(row, meta.c.value == me))

    def plan_bonuses(self, study: str, file: BonusFile, amounts: Mapping[str, int]) -> None:
        """Store a file of bonuses before it is written.

        Args:
            study: Name of the study.
            file: The file.
            amounts: Amounts in smallest units by the participant's id.

        Raises:
            ValueError: One of the participants already has a bonus; nothing is stored.
        """
        with self._write() as c:
            alone(c)  # even a run that lost the lock, or of an older version, gives nobody a second bonus
            if not self.bonuses(study).keys().isdisjoint(amounts):
                raise ValueError("another run has just written one of these bonuses: run the command again")
            self.keep(BONUS_FILE, file, "researcher", study=study)
            for id, amount in amounts.items():
                self.keep(BONUS, Bonus(amount, file.sha256), "researcher", study=study, participant=id)

    def bonus_files(self, study: str) -> list[BonusFile]:
        """Return all files of bonuses, oldest first, whether or not they were written."""
        written = {note.detail: note.at for note in reversed(self.notes(study, BONUS_WRITTEN))}
        files = (self._decoded(BONUS_FILE, note.detail, BonusFile) for note in self.notes(study, BONUS_FILE))
        return [msgspec.structs.replace(file, written=written.get(file.sha256)) for file in files]

    def confirm_bonuses(self, study: str, file: BonusFile) -> None:
        """Store that a file of bonuses was written."""
        self.note(BONUS_WRITTEN, "researcher", study=study, detail=file.sha256)


def returned_ids(study: str) -> sa.Select[Any]:
    """Select the ids of a study's participants whose places were given back."""
    step = sa.case((notes.c.kind == RETURNED, 1), else_=-1)
    mine = sa.and_(notes.c.study == study, notes.c.kind.in_((RETURNED, REINSTATED)), notes.c.participant.is_not(None))
    return sa.select(notes.c.participant).where(mine).group_by(notes.c.participant).having(sa.func.sum(step) > 0)
