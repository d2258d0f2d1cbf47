"""Studies in the database, participants and their progress, and their balanced assignment to a study's cells."""

from __future__ import annotations

import random
import secrets
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from negolab.studies.database.base import BaseDatabase, alone, storable
from negolab.studies.database.payments import returned_ids
from negolab.studies.database.schema import answers, attempts, participants, progress, studies


def assign(counts: Sequence[int], weights: Sequence[float], *, seed: int | None = None) -> int:
    """Return the index of the cell with the fewest sessions relative to its weight.

    Args:
        counts: Active and completed sessions per cell; dropped ones do not count.
        weights: Weight of each cell, above 0.
        seed: Ties go to the first cell in a random order that is drawn anew for each block, so that participants
            cannot predict it. None: ties go to the lowest index.
    """
    loads = [count / weight for count, weight in zip(counts, weights, strict=True)]
    least = min(loads)
    tied = [cell for cell, load in enumerate(loads) if load == least]
    if seed is None or len(tied) == 1:
        return tied[0]
    return next(cell for cell in block(len(counts), int(least), seed) if cell in tied)


def block(cells: int, number: int, seed: int) -> list[int]:
    """Return the order of the `cells` indices in which ties are broken in block `number` (from 0)."""
    order = list(range(cells))
    random.Random(f"{seed}:{number}").shuffle(order)
    return order


ACTIVE = ("waiting", "playing")
"""Status of participants who hold a place in a treatment and have not finished."""

TEST = "test"
"""Kind of link with which researchers try a study: the people who use it meet, balance and count only among
themselves."""

COUNTED = (*ACTIVE, "complete")
"""Status of participants who count in the balance of treatments, unless their panel has taken them out of the study."""


class StoredStudy(msgspec.Struct, frozen=True):
    """Database entry of a study."""

    id: str
    """Name of the study."""
    text: str
    """Text of the study file."""
    secret: str
    """Secret that signs the study's links."""
    salt: str
    """Salt of the hashes of outside panels' ids."""
    created: float
    """Time in seconds since 1970."""


class Participant(msgspec.Struct, frozen=True):
    """Database entry of a participant. Times are in seconds since 1970; None: not yet."""

    id: str
    study: str
    number: int
    """Number in the study, starting at 1."""
    link: str
    """Kind of link: "one" for their own, "open" for the open link, `TEST`."""
    status: str
    """State in the study: "invited", "waiting", "playing" or an ending."""
    treatment: str | None
    created: float
    opened: float | None
    consented: float | None
    consent: str | None
    """Version hash of the consent text that they agreed to."""
    started: float | None
    ended: float | None
    passed: int
    """Number of finished matches that they have continued from."""
    external: str | None
    """Salted hash of an outside panel's id."""
    lease: str | None
    """Lease of their newest page; see `Authenticator`."""

    @property
    def is_test(self) -> bool:
        """True if they came by a test link."""
        return self.link == TEST


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


class ParticipantTables(BaseDatabase):
    """Methods of the database for studies and participants."""

    def study(self, id: str, text: str) -> StoredStudy:
        """Return a study, adding it with a new secret and salt if it is missing; store and note a changed text.

        Args:
            id: Name of the study.
            text: Current text of the study file.
        """
        with self._write() as c:
            alone(c)
            row = c.execute(sa.select(studies).where(studies.c.id == id)).one_or_none()
            if row is None:
                new = StoredStudy(id, text, secrets.token_urlsafe(32), secrets.token_urlsafe(16), self.clock())
                c.execute(studies.insert().values(**msgspec.structs.asdict(new)))
                return new
            if row.text != text:
                c.execute(studies.update().where(studies.c.id == id).values(text=text))
                self.note("changed", "researcher", study=id, detail="the study file changed")
            return StoredStudy(**{**row._mapping, "text": text})

    def kept(self, id: str) -> StoredStudy | None:
        """Return the study called `id`; None if the database has none."""
        found = self._rows(sa.select(studies).where(studies.c.id == id))
        return StoredStudy(**found[0]._mapping) if found else None

    def studies(self) -> list[str]:
        """Return the names of all studies, oldest first."""
        return [row.id for row in self._rows(sa.select(studies.c.id).order_by(studies.c.created))]

    def invite(self, study: str, n: int = 1, *, link: str = "one", external: str | None = None) -> list[Participant]:
        """Add participants to a study, continuing the numbers of the existing ones.

        Args:
            study: Name of the study.
            n: Number of new participants.
            link: Kind of link: "one" for personal links, "open" for the open link, `TEST`.
            external: Salted hash of an outside panel's id.

        Returns:
            The new participants, by number.
        """
        with self._write() as c:
            _hold(c, study)
            last = c.scalar(sa.select(sa.func.max(participants.c.number)).where(participants.c.study == study)) or 0
            new = [
                {
                    "id": secrets.token_hex(8),
                    "study": study,
                    "number": last + i,
                    "link": link,
                    "status": "invited",
                    "created": self.clock(),
                    "passed": 0,
                    "external": external,
                }
                for i in range(1, n + 1)
            ]
            c.execute(participants.insert(), new)
            ids = [row["id"] for row in new]
            return self._participants(participants.c.id.in_(ids))

    def participant(self, id: str) -> Participant:
        """Return the participant with an id; `KeyError` if there is none."""
        found = self._participants(participants.c.id == id)
        if not found:
            raise KeyError(id)
        return found[0]

    def _participants(self, *where: sa.ColumnElement[bool]) -> list[Participant]:
        return [
            Participant(**row._mapping) for row in self._rows(sa.select(participants).where(*where).order_by("number"))
        ]

    def participants(self, study: str) -> list[Participant]:
        """Return all participants of a study, by number."""
        return self._participants(participants.c.study == study)

    def external(self, study: str, hashed: str) -> Participant | None:
        """Return the participant with this salted hash of an outside panel's id; None if there is none."""
        return next(iter(self._participants(participants.c.study == study, participants.c.external == hashed)), None)

    def leased(self, study: str, *, lease: str | None = None, kernel: str | None = None) -> Participant | None:
        """Find the participant who holds a lease, by the whole `lease` or by the `kernel` that it begins with."""
        column = participants.c.lease
        holds = column == lease if kernel is None else column.startswith(f"{kernel}.", autoescape=True)
        return next(iter(self._participants(participants.c.study == study, holds)), None)

    def start(self, id: str, cells: Sequence[tuple[str, float]], *, seed: int | None, fixed: str | None = None) -> str:
        """Assign a participant to a treatment and set their status to "waiting"; repeating this changes nothing.

        Args:
            id: Id of the participant.
            cells: Name and weight of every treatment.
            seed: Seed that breaks ties; see `assign`.
            fixed: Treatment to assign regardless of balance (None: the one that balance requires).

        Returns:
            Name of the participant's treatment.

        Raises:
            sqlalchemy.exc.NoResultFound: There is no such participant.
        """
        with self._write() as c:
            study, link = c.execute(
                sa.select(participants.c.study, participants.c.link).where(participants.c.id == id)
            ).one()
            _hold(c, study)
            # Read under the lock: the second of two simultaneous clicks must see the treatment of the first.
            treatment = c.scalar(sa.select(participants.c.treatment).where(participants.c.id == id))
            if treatment is not None:
                return str(treatment)
            chosen = fixed or _smallest_cell(c, study, cells, seed, link == TEST)
            self.change(id, "started", detail=chosen, treatment=chosen, status="waiting", started=self.clock())
            return chosen

    def answer(self, id: str, values: dict[str, str]) -> None:
        """Store answers to the study's questions, replacing earlier answers to the same ones.

        Args:
            id: Id of the participant.
            values: Answers by name of the question.
        """
        with self._write() as c:
            named = sa.and_(answers.c.participant == id, answers.c.name.in_(values))
            c.execute(answers.delete().where(named))
            rows = [
                {"participant": id, "name": name, "value": storable(value), "at": self.clock()}
                for name, value in values.items()
            ]
            if rows:
                c.execute(answers.insert(), rows)

    def answers(self, id: str) -> dict[str, str]:
        """Return a participant's answers by name of the question."""
        chosen = sa.select(answers.c.name, answers.c.value).where(answers.c.participant == id)
        return {row.name: row.value for row in self._rows(chosen)}

    def reached(self, id: str) -> list[Reached]:
        """Return the pages that a participant has reached, in order, without the first."""
        chosen = sa.select(progress.c.position, progress.c.step, progress.c.at).where(progress.c.participant == id)
        return [Reached(*row) for row in self._rows(chosen.order_by(progress.c.position))]

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
            self.change(id, note, detail=detail, **values)
        return now

    def attempts(self, id: str) -> list[Attempt]:
        """Return a participant's attempts at comprehension questions, in order of time."""
        chosen = sa.select(*(attempts.c[name] for name in Attempt._fields)).where(attempts.c.participant == id)
        rows = self._rows(chosen.order_by(attempts.c.at, attempts.c.name))
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


def _hold(c: Connection, study: str) -> None:
    """Lock the numbering and assignment of a study's participants until the transaction ends."""
    c.execute(sa.select(studies.c.id).where(studies.c.id == study).with_for_update())


def _smallest_cell(
    c: Connection, study: str, cells: Sequence[tuple[str, float]], seed: int | None, is_test: bool
) -> str:
    """Return the treatment with the fewest active and completed participants relative to its weight."""
    here = participants.c.id.not_in(returned_ids(study))
    alike = (participants.c.link == TEST) == sa.literal(is_test)
    counted = sa.and_(participants.c.study == study, participants.c.status.in_(COUNTED), here, alike)
    tally = sa.select(participants.c.treatment, sa.func.count()).where(counted).group_by(participants.c.treatment)
    count = {row[0]: row[1] for row in c.execute(tally)}
    names = [name for name, _ in cells]
    return names[assign([count.get(name, 0) for name in names], [weight for _, weight in cells], seed=seed)]
