"""What people did, kept for good: every event of their matches, who they are to the study, and what happened around.

A committed transaction survives the end of any process. The key (match, seq) of an event makes it impossible to keep
one twice.
"""

from __future__ import annotations

import msgspec
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from negolab.events import Event, Rejected, Replied
from negolab.game import Seat
from negolab.people.ledger import Note
from negolab.people.matches import Matches, Sat, decode, encode
from negolab.people.participants import ACTIVE, COUNTED, Kept, Participant, People
from negolab.people.schema import answers, events, notes, participants, seats

__all__ = ["ACTIVE", "CONSENT", "COUNTED", "Database", "Kept", "Note", "Participant", "Sat"]

CONSENT = "consent"
"""The kind of note that keeps a text of consent: its author may change it later."""

PURGED = "[withdrawn]"
"""What stands for the words of a participant who withdrew."""


class Database(People, Matches):
    """One database of people's matches, by path or SQLAlchemy URL. Every method is one transaction."""

    def withdraw(self, id: str) -> None:
        """A participant leaves, and takes their words along."""
        values = {"status": "withdrawn", "ended": self.clock()}
        with self._write() as c:
            c.execute(participants.update().where(participants.c.id == id).values(**values))
            study = c.scalar(sa.select(participants.c.study).where(participants.c.id == id))
            self._note(c, "withdrawn", "participant", study=study, participant=id)
        self.purge(id)

    def keep_consent(self, study: str, text: str) -> None:
        """Keep a text of consent, if it was not there before."""
        if text and all(note.kind != CONSENT or note.detail != text for note in self.notes(study)):
            self.note(CONSENT, "researcher", study=study, detail=text)

    def purge(self, id: str) -> None:
        """Delete a participant's words and answers; that they were there stays."""
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
    """Replace the words of a seat in the events of a match."""
    for seq, body in c.execute(sa.select(events.c.seq, events.c.body).where(events.c.match == match)).all():
        bare = _bare(decode(body), seat)
        if bare is not None:
            one = sa.and_(events.c.match == match, events.c.seq == seq)
            c.execute(events.update().where(one).values(body=encode(bare)))


def _bare(event: Event, seat: Seat) -> Event | None:
    """An event of `seat` without its words, and without a reason that may quote them; None: it holds none."""
    match event:
        case Replied(who, reply) if who == seat:
            return Replied(seat, msgspec.structs.replace(reply, text=PURGED, reasoning=None))
        case Rejected(who, invalid) if who == seat:
            return msgspec.structs.replace(event, invalid=msgspec.structs.replace(invalid, reason=PURGED))
    return None
