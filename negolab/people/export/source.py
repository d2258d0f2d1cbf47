"""What the tables of an export are made of, read once from the database."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import msgspec

from negolab.events import Ended, Replied
from negolab.game import Seat
from negolab.people.database import CONSENT, PURGED, Database, Note, Participant, Sat
from negolab.people.study import Study
from negolab.record import Record


@dataclass(frozen=True)
class Played:
    """A match with its record and the moments at which its events were kept."""

    sat: Sat
    record: Record
    times: list[float]
    people: dict[Seat, Participant]
    """The participants at it, by seat."""

    @property
    def numbers(self) -> dict[Seat, int]:
        """The participants' numbers by seat."""
        return {seat: p.number for seat, p in self.people.items()}

    @property
    def finished(self) -> bool:
        """Whether the rules ended it; what was stopped has a reason."""
        last = self.record.events[-1]
        return isinstance(last, Ended) and last.reason is None

    @cached_property
    def purged(self) -> bool:
        """Whether words of it are gone because who wrote them withdrew; it cannot be replayed then."""
        left = {seat for seat, p in self.people.items() if p.status == "withdrawn"}
        said = [event for event in self.record.events if isinstance(event, Replied) and event.seat in left]
        return any(event.reply.text == PURGED for event in said)


@dataclass(frozen=True)
class Source:
    """All of a study that an export tells."""

    study: Study
    unit: str
    participants: list[Participant]
    answers: dict[int, dict[str, str]]
    matches: list[Played]
    measures: dict[str, str]
    """The unit of each of the game's measures that has one."""
    consents: list[Note]
    """Every consent text that people were shown, oldest first."""


def source(database: Database, study: Study) -> Source:
    """Read a study from the database; a running match is told as far as it is."""
    with database.reading():  # somebody may start between two questions
        return _source(database, study)


def _source(database: Database, study: Study) -> Source:
    people = database.participants(study.name)
    known, game = {p.id: p for p in people}, study.loaded(study.treatments[0])
    return Source(
        study=study,
        unit=game.unit,
        measures=dict(game.measure_units),
        participants=people,
        answers={p.number: database.answers(p.id) for p in people} if study.questions else {},
        matches=[_played(database, sat, known) for sat in database.matches(study.name)],
        consents=[note for note in database.notes(study.name) if note.kind == CONSENT],
    )


def _played(database: Database, sat: Sat, known: dict[str, Participant]) -> Played:
    record = database.record(sat.id)
    # So that who reads the records alone can tell treatments and practice apart.
    notes = {**record.header.notes, "study": sat.study, "treatment": sat.treatment, "practice": sat.practice}
    header = msgspec.structs.replace(record.header, notes=notes)
    at = {seat: known[who] for seat, who in sat.people.items() if who is not None}
    return Played(sat, Record(header, record.events), database.times(sat.id), at)
