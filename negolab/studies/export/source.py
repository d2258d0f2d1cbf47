"""The data of an export, read once from the database."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import msgspec

from negolab.events import Ended, Replied
from negolab.game import Seat
from negolab.record import Record
from negolab.studies.database import CONSENT, PURGED, Database, Note, Participant, StoredMatch
from negolab.studies.study_config import Study


@dataclass(frozen=True)
class Played:
    """A match with its record and participants."""

    stored: StoredMatch
    record: Record
    times: list[float]
    """Commit time of each event, in seconds since 1970."""
    people: dict[Seat, Participant]
    """Participants by seat."""

    @property
    def numbers(self) -> dict[Seat, int]:
        """Numbers of the participants by seat."""
        return {seat: p.number for seat, p in self.people.items()}

    @property
    def finished(self) -> bool:
        """True if the match ended by the rules; a stopped match has a reason."""
        last = self.record.events[-1]
        return isinstance(last, Ended) and last.reason is None

    @cached_property
    def purged(self) -> bool:
        """True if text was deleted because its author withdrew; the match cannot be replayed then."""
        left = {seat for seat, p in self.people.items() if p.status == "withdrawn"}
        replies = (event for event in self.record.events if isinstance(event, Replied) and event.seat in left)
        return any(event.reply.text == PURGED for event in replies)


@dataclass(frozen=True)
class Source:
    """All data of a study that an export needs."""

    study: Study
    unit: str
    """Unit of payoffs."""
    participants: list[Participant]
    answers: dict[int, dict[str, str]]
    """Answers by the participant's number and the question's name; empty if the study has no questions."""
    matches: list[Played]
    consents: list[Note]
    """All versions of the consent text, oldest first."""


def source(database: Database, study: Study) -> Source:
    """Read the data of a study in one snapshot of the database; running matches are included up to now."""
    with database.reading():  # participants may act between two queries
        return _source(database, study)


def _source(database: Database, study: Study) -> Source:
    participants = database.participants(study.name)
    return Source(
        study=study,
        unit=study.loaded(study.treatments[0]).unit,
        participants=participants,
        answers={p.number: database.answers(p.id) for p in participants} if study.questions else {},
        matches=[_played(database, stored, participants) for stored in database.matches(study.name)],
        consents=[note for note in database.notes(study.name) if note.kind == CONSENT],
    )


def _played(database: Database, stored: StoredMatch, participants: list[Participant]) -> Played:
    record = database.record(stored.id)
    # So that records.jsonl alone tells treatments and practice apart.
    notes = {**record.header.notes, "study": stored.study, "treatment": stored.treatment, "practice": stored.practice}
    header = msgspec.structs.replace(record.header, notes=notes)
    people = {seat: p for p in participants for seat, id in stored.people.items() if id == p.id}
    return Played(stored, Record(header, record.events), database.times(stored.id), people)
