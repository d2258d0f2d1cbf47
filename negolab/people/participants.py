"""Studies and their participants, as the database keeps them."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Any

import msgspec
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from negolab.people.assign import assign
from negolab.people.ledger import Ledger, alone, storable
from negolab.people.schema import answers, participants, studies

ACTIVE = ("waiting", "playing")
"""A participant who holds a place in a treatment and has not finished."""

COUNTED = (*ACTIVE, "complete")
"""Those who count in the balance of treatments: a drop-out gives its place back."""


class Kept(msgspec.Struct, frozen=True):
    """A study as the database knows it: `secret` signs its links, `salt` goes into hashes of outside ids."""

    id: str
    text: str
    secret: str
    salt: str
    created: float


class Participant(msgspec.Struct, frozen=True):
    """A person of a study. Times are seconds since 1970 (UTC), None: not yet. `status` is `invited`, `waiting`,
    `playing` or a way of ending; `passed` counts the finished matches from which they went on."""

    id: str
    study: str
    number: int
    link: str
    status: str
    treatment: str | None
    created: float
    opened: float | None
    consented: float | None
    consent: str | None
    started: float | None
    ended: float | None
    passed: int
    external: str | None
    lease: str | None


class People(Ledger):
    """The part of a database that is about people."""

    def study(self, id: str, text: str) -> Kept:
        """The study called `id`, made with a secret of its own if it is new; `text` is its file as it stands now."""
        with self._write() as c:
            alone(c)
            row = c.execute(sa.select(studies).where(studies.c.id == id)).one_or_none()
            if row is None:
                kept = Kept(id, text, secrets.token_urlsafe(32), secrets.token_urlsafe(16), self.clock())
                c.execute(studies.insert().values(**msgspec.structs.asdict(kept)))
                return kept
            if row.text != text:
                c.execute(studies.update().where(studies.c.id == id).values(text=text))
                self._note(c, "changed", "researcher", study=id, detail="the study file changed")
            return Kept(**{**row._mapping, "text": text})

    def kept(self, id: str) -> Kept | None:
        """The study called `id`; None: nobody was invited to it yet."""
        with self._read() as c:
            row = c.execute(sa.select(studies).where(studies.c.id == id)).one_or_none()
        return None if row is None else Kept(**row._mapping)

    def studies(self) -> list[str]:
        """The names of all studies, the oldest first."""
        with self._read() as c:
            return list(c.scalars(sa.select(studies.c.id).order_by(studies.c.created)))

    def invite(self, study: str, n: int = 1, *, link: str = "one", external: str | None = None) -> list[Participant]:
        """Add `n` participants, numbered on from those that are there."""
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
            rows = c.execute(sa.select(participants).where(participants.c.id.in_(ids)).order_by(participants.c.number))
            return [Participant(**row._mapping) for row in rows]

    def participant(self, id: str) -> Participant | None:
        with self._read() as c:
            row = c.execute(sa.select(participants).where(participants.c.id == id)).one_or_none()
        return None if row is None else Participant(**row._mapping)

    def participants(self, study: str) -> list[Participant]:
        """All of a study, by number."""
        with self._read() as c:
            rows = c.execute(sa.select(participants).where(participants.c.study == study).order_by("number"))
            return [Participant(**row._mapping) for row in rows]

    def external(self, study: str, hashed: str) -> Participant | None:
        """The participant with this hash of an outside id."""
        with self._read() as c:
            where = sa.and_(participants.c.study == study, participants.c.external == hashed)
            row = c.execute(sa.select(participants).where(where).order_by("number")).first()
        return None if row is None else Participant(**row._mapping)

    def leased(self, study: str, *, lease: str | None = None, kernel: str | None = None) -> Participant | None:
        """The participant who holds a lease, by its whole key or by the kernel it begins with."""
        key = (
            participants.c.lease == lease
            if kernel is None
            else participants.c.lease.startswith(f"{kernel}.", autoescape=True)
        )
        with self._read() as c:
            row = c.execute(sa.select(participants).where(participants.c.study == study, key)).one_or_none()
        return None if row is None else Participant(**row._mapping)

    def change(self, id: str, note: str = "", *, actor: str = "participant", detail: str = "", **values: Any) -> None:
        """Set columns of a participant, with a note of what happened."""
        with self._write() as c:
            c.execute(participants.update().where(participants.c.id == id).values(**values))
            if note:
                study = c.scalar(sa.select(participants.c.study).where(participants.c.id == id))
                self._note(c, note, actor, study=study, participant=id, detail=detail)

    def start(self, id: str, cells: Sequence[tuple[str, float]], *, seed: int | None, fixed: str | None = None) -> str:
        """The Start click: take a place in a treatment (name, weight), and say which. A second one gives the same.
        `fixed` is the treatment of the one who waits already."""
        with self._write() as c:
            study = c.execute(sa.select(participants.c.study).where(participants.c.id == id)).scalar_one()
            _hold(c, study)
            # Read under the lock: of two clicks at once the second must see what the first was given.
            treatment = c.scalar(sa.select(participants.c.treatment).where(participants.c.id == id))
            if treatment is not None:
                return str(treatment)
            chosen = fixed or _least(c, study, cells, seed)
            values = {"treatment": chosen, "status": "waiting", "started": self.clock()}
            c.execute(participants.update().where(participants.c.id == id).values(**values))
            self._note(c, "started", "participant", study=study, participant=id, detail=chosen)
            return chosen

    def answer(self, id: str, given: dict[str, str]) -> None:
        """Keep answers to the study's questions; a later answer to the same question counts."""
        with self._write() as c:
            named = sa.and_(answers.c.participant == id, answers.c.name.in_(given))
            c.execute(answers.delete().where(named))
            rows = [
                {"participant": id, "name": name, "value": storable(value), "at": self.clock()}
                for name, value in given.items()
            ]
            if rows:
                c.execute(answers.insert(), rows)

    def answers(self, id: str) -> dict[str, str]:
        with self._read() as c:
            rows = c.execute(sa.select(answers.c.name, answers.c.value).where(answers.c.participant == id))
            return {row.name: row.value for row in rows}


def _hold(c: Connection, study: str) -> None:
    """Let no other transaction number or place participants of this study until this one ends."""
    c.execute(sa.select(studies.c.id).where(studies.c.id == study).with_for_update())


def _least(c: Connection, study: str, cells: Sequence[tuple[str, float]], seed: int | None) -> str:
    """The treatment whose turn it is: the fewest active and completed for its weight."""
    counted = sa.and_(participants.c.study == study, participants.c.status.in_(COUNTED))
    tally = sa.select(participants.c.treatment, sa.func.count()).where(counted).group_by(participants.c.treatment)
    count = {row[0]: row[1] for row in c.execute(tally)}
    names = [name for name, _ in cells]
    return names[assign([count.get(name, 0) for name in names], [weight for _, weight in cells], seed=seed)]
