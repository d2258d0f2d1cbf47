"""The database of studies on SQLite or PostgreSQL: matches event by event, participants, answers and notes."""

from __future__ import annotations

import msgspec
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from negolab.events import Event, Rejected, Replied
from negolab.game import Seat
from negolab.studies.database.base import Note
from negolab.studies.database.matches import Matches, StoredMatch, decode, encode
from negolab.studies.database.participants import ACTIVE, COUNTED, Participant, ParticipantTables, StoredStudy
from negolab.studies.database.schema import answers, events, notes, seats

__all__ = ["ACTIVE", "CONSENT", "COUNTED", "Database", "Note", "Participant", "StoredMatch", "StoredStudy"]

CONSENT = "consent"
"""Kind of the notes that store consent texts; a study file may change its text later."""

PURGED = "[withdrawn]"
"""Replacement for deleted text of a participant who withdrew."""


class Database(ParticipantTables, Matches):
    """The database of studies and of free play. Every method runs in transactions of its own; see `BaseDatabase`."""

    def withdraw(self, id: str) -> None:
        """Mark a participant as withdrawn, then delete their text (`purge`).

        Args:
            id: Id of the participant.
        """
        values = {"status": "withdrawn", "ended": self.clock()}
        with self._write() as c:
            self._change(c, id, "withdrawn", "participant", values=values)
        self.purge(id)

    def keep_consent(self, study: str, text: str) -> None:
        """Store a version of a study's consent text, unless it is empty or stored already.

        Args:
            study: Name of the study.
            text: The consent text.
        """
        if text and all(note.kind != CONSENT or note.detail != text for note in self.notes(study)):
            self.note(CONSENT, "researcher", study=study, detail=text)

    def purge(self, id: str) -> None:
        """Delete a participant's answers and all text they wrote; the events stay, with `PURGED` in its place.

        Details of error notes about them are replaced too. The text also disappears from SQLite's log as soon as no
        reader needs it; until then `owed` is true.

        Args:
            id: Id of the participant.
        """
        with self._write() as c:
            c.execute(answers.delete().where(answers.c.participant == id))
            mine = sa.select(seats.c.match, seats.c.seat).where(seats.c.participant == id)
            for match, seat in c.execute(mine).all():
                _purge(c, match, seat)
            faulty = sa.and_(notes.c.participant == id, notes.c.kind == "error")
            c.execute(notes.update().where(faulty).values(detail=PURGED))
        self.owed = True
        self.forget()


def _purge(c: Connection, match: str, seat: Seat) -> None:
    """Delete the text of a seat from the events of a match."""
    for seq, body in c.execute(sa.select(events.c.seq, events.c.body).where(events.c.match == match)).all():
        bare = _bare(decode(body), seat)
        if bare is not None:
            one = sa.and_(events.c.match == match, events.c.seq == seq)
            c.execute(events.update().where(one).values(body=encode(bare)))


def _bare(event: Event, seat: Seat) -> Event | None:
    """Return an event of `seat` without its text and without a reason that may quote it; None if it has neither."""
    match event:
        case Replied(who, reply) if who == seat:
            return Replied(seat, msgspec.structs.replace(reply, text=PURGED, reasoning=None))
        case Rejected(who, invalid) if who == seat:
            return msgspec.structs.replace(event, invalid=msgspec.structs.replace(invalid, reason=PURGED))
    return None
