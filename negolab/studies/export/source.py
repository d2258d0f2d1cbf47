"""The data of an export, read once from the database."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property

import msgspec

from negolab.catalog import AnyGame
from negolab.events import Ended, Replied
from negolab.game import Seat
from negolab.record import Record
from negolab.studies.database import (
    CONSENT,
    PURGED,
    Attempt,
    Bonus,
    Database,
    Note,
    Participant,
    Reached,
    StoredMatch,
)
from negolab.studies.earnings import study_earnings
from negolab.studies.model_seats import DISCLOSURE, FALLBACK, Fallback
from negolab.studies.payment import Earnings
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
    rounds: dict[Seat, int]
    """For each participant, the number of this match, from 1, among their matches that count; empty for practice."""
    disclosure: str = ""
    """Text about who sat across, as shown."""
    fallback: Fallback | None = None
    """The replacement of a model; None: no model was replaced."""

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
        """True if text was deleted because a participant withdrew; the match then cannot be replayed."""
        stayed = {seat for seat, p in self.people.items() if p.status != "withdrawn"}
        if len(stayed) == len(self.people):
            return False
        replies = (event for event in self.record.events if isinstance(event, Replied) and event.seat not in stayed)
        return any(event.reply.text == PURGED for event in replies)


@dataclass(frozen=True)
class Source:
    """All data of a study that an export needs."""

    study: Study
    game: AnyGame
    """The game of the first treatment."""
    participants: list[Participant]
    answers: dict[int, dict[str, str]]
    """Answers by the participant's number and the question's name; empty if the study has no questions."""
    matches: list[Played]
    reached: dict[int, list[Reached]]
    """Pages reached, by the participant's number."""
    attempts: dict[int, list[Attempt]]
    """Attempts at comprehension questions, by the participant's number."""
    consents: list[Note]
    """All versions of the consent text, oldest first."""
    earnings: dict[str, Earnings]
    """Earnings, by participant id, of everybody for whom the study is over; empty if it does not pay."""
    bonuses: dict[str, Bonus]
    """Bonuses in files for a panel, by the participant's id."""
    returned: set[str]
    """Ids of participants whom their panel took out of the study."""


def source(database: Database, study: Study, *, test: bool = False) -> Source:
    """Read the data of a study in one snapshot of the database; running matches are included up to now.

    Matches and people of test links are left out; with `test`, all others are.
    """
    with database.reading():  # participants may act between two queries
        participants = [person for person in database.participants(study.name) if person.is_test == test]
        ids = {person.id for person in participants}
        told = database.kept_notes(study.name, DISCLOSURE, str)
        fallbacks = database.kept_notes(study.name, FALLBACK, Fallback)
        matches = [match for match in database.matches(study.name) if not ids.isdisjoint(match.people.values())]
        rounds = _rounds(matches)
        return Source(
            study=study,
            game=study.loaded(study.treatments[0]),
            participants=participants,
            answers={p.number: database.answers(p.id) for p in participants} if study.asked() else {},
            reached={p.number: database.reached(p.id) for p in participants},
            attempts={p.number: database.attempts(p.id) for p in participants},
            matches=[
                _played(
                    database, stored, participants, rounds[stored.id], told.get(stored.id, ""), fallbacks.get(stored.id)
                )
                for stored in matches
            ],
            consents=database.notes(study.name, CONSENT),
            earnings=study_earnings(database, study),
            bonuses=database.bonuses(study.name),
            returned=database.returned(study.name),
        )


def _rounds(matches: list[StoredMatch]) -> dict[str, dict[Seat, int]]:
    """Number the matches that count for each of their participants, by match id and seat."""
    counts: Counter[str] = Counter()
    rounds: dict[str, dict[Seat, int]] = {}
    for stored in matches:
        people = {} if stored.practice else stored.participants
        counts.update(people.values())
        rounds[stored.id] = {seat: counts[id] for seat, id in people.items()}
    return rounds


def _played(
    database: Database,
    stored: StoredMatch,
    participants: list[Participant],
    rounds: dict[Seat, int],
    told: str,
    fallback: Fallback | None,
) -> Played:
    record = database.record(stored.id)
    # So that records.jsonl alone distinguishes treatments and practice.
    notes = {**record.header.notes, "study": stored.study, "treatment": stored.treatment, "practice": stored.practice}
    header = msgspec.structs.replace(record.header, notes=notes)
    people = {seat: p for p in participants for seat, id in stored.people.items() if id == p.id}
    return Played(stored, Record(header, record.events), database.times(stored.id), people, rounds, told, fallback)
