"""Which page of their study participants have reached, and their attempts at comprehension questions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import sqlalchemy as sa

from negolab.studies.database.base import BaseDatabase, storable
from negolab.studies.database.schema import attempts, progress


class Reached(NamedTuple):
    """A page that a participant has reached."""

    position: int
    """Number of the page among those of their treatment, from 0."""
    step: str
    """Kind of its step."""
    at: float
    """Time in seconds since 1970."""


class Attempt(NamedTuple):
    """One answer to a comprehension question."""

    name: str
    """Name of the question."""
    attempt: int
    """Number of the attempt, from 1."""
    value: str
    is_right: bool
    at: float
    """Time in seconds since 1970."""


class ProgressTables(BaseDatabase):
    """Methods of the database for the steps of participants."""

    def reached(self, id: str) -> list[Reached]:
        """Return the pages that a participant has reached, in order, without the first."""
        columns = progress.c.position, progress.c.step, progress.c.at
        with self._read() as c:
            rows = c.execute(sa.select(*columns).where(progress.c.participant == id).order_by(progress.c.position))
            return [Reached(*row) for row in rows]

    def advance(self, id: str, position: int, step: str, note: str = "", *, detail: str = "", **values: Any) -> float:
        """Note that a participant has reached a page, and set their columns, in one transaction.

        Args:
            id: Id of the participant.
            position: Number of the page, from 0.
            step: Kind of its step.
            note: Kind of the note; "": no note.
            detail: Detail of the note.
            **values: New values by column.

        Returns:
            The time, in seconds since 1970.
        """
        now = self.clock()
        with self._write() as c:
            c.execute(progress.insert().values(participant=id, position=position, step=step, at=now))
            if values or note:
                self._change(c, id, note, "participant", values=values or {"id": id}, detail=detail)
        return now

    def attempts(self, id: str) -> list[Attempt]:
        """Return a participant's attempts at comprehension questions, in the order of time."""
        columns = [attempts.c[name] for name in Attempt._fields]
        with self._read() as c:
            rows = c.execute(
                sa.select(*columns).where(attempts.c.participant == id).order_by(attempts.c.at, attempts.c.name)
            )
            return [Attempt(row[0], row[1], row[2], bool(row[3]), row[4]) for row in rows]

    def attempt(self, id: str, number: int, answers: Mapping[str, str], right: Mapping[str, bool]) -> None:
        """Store an attempt at comprehension questions.

        Args:
            id: Id of the participant.
            number: Number of the attempt, from 1.
            answers: Answers by name of the question.
            right: True for those that are right, by name of the question.
        """
        rows = [
            {
                "participant": id,
                "name": name,
                "attempt": number,
                "value": storable(value),
                "is_right": int(right[name]),
                "at": self.clock(),
            }
            for name, value in answers.items()
        ]
        with self._write() as c:
            c.execute(attempts.insert(), rows)
