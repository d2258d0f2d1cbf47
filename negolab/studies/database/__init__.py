"""The database of studies on SQLite or PostgreSQL: matches event by event, participants, answers and notes."""

from __future__ import annotations

from collections.abc import Collection

import msgspec
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from negolab.events import Ended, Event, Rejected, Replied
from negolab.game import Reply, Seat
from negolab.studies.database.base import Note
from negolab.studies.database.matches import Matches, StoredMatch, decode, encode
from negolab.studies.database.participants import (
    ACTIVE,
    COUNTED,
    TEST,
    Attempt,
    Participant,
    ParticipantTables,
    Reached,
    StoredStudy,
)
from negolab.studies.database.payments import Bonus, BonusFile, Payments
from negolab.studies.database.schema import answers, attempts, events, notes, seats
from negolab.studies.model_seats import FALLBACK, PAUSE, Fallback, Pause

__all__ = [
    "ACTIVE",
    "CONSENT",
    "COUNTED",
    "TEST",
    "Attempt",
    "Bonus",
    "BonusFile",
    "Database",
    "Note",
    "Participant",
    "Reached",
    "StoredMatch",
    "StoredStudy",
]

CONSENT = "consent"
"""Kind of the notes that store consent texts; a study file may change its text later."""

PURGED = "[withdrawn]"
"""Replacement for the deleted text of a participant who withdrew, and of a player who may quote them."""


class Database(ParticipantTables, Matches, Payments):
    """The database of studies and of free play. See `BaseDatabase` for transactions."""

    def withdraw(self, id: str) -> None:
        """Mark a participant as withdrawn, then delete their text (`purge`).

        Args:
            id: Id of the participant.
        """
        with self._withdrawing():
            self.change(id, "withdrawn", status="withdrawn", ended=self.clock())
        self.purge(id)

    def pauses(self, study: str) -> dict[str, Pause]:
        """Return the pauses of running matches known to be waiting for a model, by match id."""
        last = {str(note.match): Pause(note.detail, note.at) for note in self.notes(study, PAUSE)}
        waiting = {match: pause for match, pause in last.items() if pause.model}
        running = {stored.id for stored in self.matches(study, running=True)} if waiting else set()
        return {match: pause for match, pause in waiting.items() if match in running}

    def keep_consent(self, study: str, text: str) -> None:
        """Store a version of a study's consent text, unless it is empty or stored already.

        Args:
            study: Name of the study.
            text: The consent text.
        """
        if text and all(note.detail != text for note in self.notes(study, CONSENT)):
            self.note(CONSENT, "researcher", study=study, detail=text)

    def purge(self, id: str) -> None:
        """Delete a participant's answers, all text they wrote and all text that may quote it.

        The events stay, with `PURGED` in place of text. In a match against a player, this includes the player's text,
        and what a language model was sent and thought; another person's text stays. The details of error notes about
        the participant, and why a model was replaced, are deleted too. The text also disappears from SQLite's log as
        soon as no reader needs it; until then `owed` is true.

        Args:
            id: Id of the participant.
        """
        with self._write() as c:
            for words in (answers, attempts):
                c.execute(words.delete().where(words.c.participant == id))
            for match in c.scalars(sa.select(seats.c.match).where(seats.c.participant == id)).all():
                _purge(c, match, id)
            faulty = sa.and_(notes.c.participant == id, notes.c.kind == "error")
            c.execute(notes.update().where(faulty).values(detail=PURGED))
        self.owed = True
        self.forget()


def _purge(c: Connection, match: str, id: str) -> None:
    """Delete a participant's text from a match, and all text that may quote it."""
    taken = c.execute(sa.select(seats.c.seat, seats.c.participant).where(seats.c.match == match)).all()
    others = {row.seat for row in taken if row.participant != id}
    for seq, body in c.execute(sa.select(events.c.seq, events.c.body).where(events.c.match == match)).all():
        if (bare := _bare(decode(body), others)) is not None:
            one = sa.and_(events.c.match == match, events.c.seq == seq)
            c.execute(events.update().where(one).values(body=encode(bare)))
    replaced = sa.and_(notes.c.match == match, notes.c.kind == FALLBACK)
    for note, detail in c.execute(sa.select(notes.c.id, notes.c.detail).where(replaced)).all():
        fallback = msgspec.structs.replace(msgspec.json.decode(detail, type=Fallback), reason=PURGED)
        c.execute(notes.update().where(notes.c.id == note).values(detail=msgspec.json.encode(fallback).decode()))


def _bare(event: Event, others: Collection[Seat]) -> Event | None:
    """Return an event without its text and reasons, or None if it has none; what other people's seats said stays."""
    match event:
        case Replied(seat, reply) if seat not in others:
            return Replied(seat, _wordless(reply))
        case Rejected(seat, invalid, said=said) if seat not in others:
            bare = msgspec.structs.replace(invalid, reason=PURGED)
            return msgspec.structs.replace(event, invalid=bare, said=None if said is None else _wordless(said))
        case Ended(reason=str(reason)):  # a player's error follows the colon
            return msgspec.structs.replace(event, reason=reason.partition(": ")[0])
    return None


def _wordless(reply: Reply) -> Reply:
    return msgspec.structs.replace(reply, text=PURGED, reasoning=None, asked=None, raw=None)
