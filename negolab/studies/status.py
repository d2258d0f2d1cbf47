"""Status of a study, computed from its database for the terminal and the monitor."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime

import msgspec

from negolab.studies.database import ACTIVE, Database, Note, Participant, StoredMatch
from negolab.studies.database.payments import EARNINGS
from negolab.studies.earnings import computed_earnings, paid_earnings
from negolab.studies.model_seats import FALLBACK, Fallback, Pause, describe_use
from negolab.studies.payment import Currency, Earnings
from negolab.studies.study_config import Study

ERROR = "error"
"""Kind of the notes that count as errors."""

_LATEST = 20
"""Number of recent errors that a status describes."""


class Person(msgspec.Struct, frozen=True, kw_only=True):
    """Status of one participant."""

    number: int
    """Number in the study, from 1."""
    link: str
    """Kind of link: "one" for their own, "open" for the open link, "test" for tests."""
    treatment: str | None
    """Name of the treatment; None: not started."""
    status: str
    """State in the study: "invited", "waiting", "playing" or an ending."""
    opened: bool
    """True if they have opened the study."""
    since: float
    """Start of the current status or match, in seconds since 1970."""
    idle: float | None = None
    """Seconds since the last event of the running match; None: no match is running."""
    match: str | None = None
    """Id of the running match."""
    practice: int = 0
    """Practice round of the running match; 0 for a real match, or none."""
    errors: int = 0
    """Number of error notes about them."""
    returned: bool = False
    """True if their panel took them out of the study."""


class TreatmentCount(msgspec.Struct, frozen=True, kw_only=True):
    """Number of participants in one treatment: active, complete, and dropped out or taken out by their panel."""

    name: str
    weight: float
    active: int
    complete: int
    dropped: int
    paid: int = 0
    """Number of participants who earned something, not counting those taken out by their panel."""
    earned: int = 0
    """Their total earnings, in smallest units of `Status.currency`."""


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """Status of a study."""

    study: str
    title: str
    at: float
    """Time of the status, in seconds since 1970."""
    people: tuple[Person, ...]
    """Participants, including those of test links, whom the counts leave out."""
    cells: tuple[TreatmentCount, ...]
    running: int
    """Number of running matches, including practice."""
    ended: dict[str, int]
    """Number of finished real matches by their end, such as "AGREED"."""
    errors: tuple[str, ...]
    """The latest errors in words, oldest first."""
    currency: Currency | None = None
    """Currency of the earnings; None: the study does not pay."""
    fallbacks: dict[str, Fallback] = {}
    """Replacements of language models, by match id."""
    paused: dict[str, Pause] = {}
    """Running matches now waiting for a language model, by match id."""
    models: str = ""
    """Usage of language models so far, in words; "": the study has none."""

    def waits(self) -> list[str]:
        """Say how many matches are now waiting for which language model, and since when."""
        since = defaultdict(list)
        for pause in self.paused.values():
            since[pause.model].append(pause.since)
        return [
            f"{len(times)} {'match' if len(times) == 1 else 'matches'} paused now: {model} has been unreachable since "
            f"{datetime.fromtimestamp(min(times)).astimezone():%Y-%m-%d %H:%M:%S}"
            for model, times in since.items()
        ]

    def replaced(self) -> str:
        """Say in how many matches models were replaced, by whom and why; "" for none."""
        counts = Counter((each.player or "nobody", each.reason) for each in self.fallbacks.values())
        parts = [f"{n} by {player} ({reason})" for (player, reason), n in counts.most_common()]
        return f"models replaced in {len(self.fallbacks)} matches: {'; '.join(parts)}" if parts else ""


def status(database: Database, study: Study) -> Status:
    """Compute the current status of `study`."""
    everybody, every_match = database.participants(study.name), database.matches(study.name)
    people = [person for person in everybody if not person.is_test]
    tests = {person.id for person in everybody if person.is_test}
    matches = [match for match in every_match if tests.isdisjoint(match.people.values())]
    moved, ends = database.moved(study.name), database.ends(study.name)
    errors = database.notes(study.name, ERROR)
    returned, now = database.returned(study.name), database.clock()
    earned = paid_earnings(
        computed_earnings(study, people, matches, ends), database.kept_notes(study.name, EARNINGS, Earnings)
    )
    return Status(
        study=study.name,
        title=study.title,
        at=now,
        people=_people(everybody, every_match, moved, errors, returned, now),
        cells=_counts(study, people, returned, {id: one.total for id, one in earned.items()}),
        running=sum(match.ended is None for match in matches),
        ended=dict(Counter(ends[match.id].end for match in matches if match.id in ends and not match.practice)),
        errors=_describe_errors(errors[-_LATEST:], everybody),
        currency=None if study.payment is None else study.payment.money,
        fallbacks=database.kept_notes(study.name, FALLBACK, Fallback),
        paused=database.pauses(study.name),
        models=_describe_models(database, study),
    )


def _describe_models(database: Database, study: Study) -> str:
    if not any(settings.has_model for settings, _ in study.matches()):
        return ""
    return describe_use(database.model_replies(study.name), study.models.budget)


def _describe_errors(errors: list[Note], people: list[Participant]) -> tuple[str, ...]:
    """Describe error notes, each with the participant and match that it concerns."""
    number = {p.id: f"participant {p.number}" for p in people}

    def describe(note: Note) -> str:
        where = [number.get(note.participant or "", ""), f"match {note.match}" if note.match else ""]
        return f"{', '.join(filter(None, where)) or 'the host'}: {note.detail or 'stopped by a fault'}"

    return tuple(map(describe, errors))


def _people(
    people: Iterable[Participant],
    matches: list[StoredMatch],
    moved: dict[str, float],
    errors: list[Note],
    returned: Collection[str],
    now: float,
) -> tuple[Person, ...]:
    latest = {who: match for match in matches for who in match.participants.values()}
    failed = Counter(note.participant for note in errors)
    return tuple(_person(p, latest.get(p.id), moved, failed[p.id], p.id in returned, now) for p in people)


def _person(
    p: Participant, match: StoredMatch | None, moved: dict[str, float], errors: int, returned: bool, now: float
) -> Person:
    playing = match if p.status == "playing" and match is not None and match.ended is None else None
    return Person(
        number=p.number,
        link=p.link,
        treatment=p.treatment,
        status=p.status,
        opened=p.opened is not None,
        since=_since(p, match),
        idle=None if playing is None else max(0.0, now - moved.get(playing.id, playing.created)),
        match=None if playing is None else playing.id,
        practice=0 if playing is None else playing.practice,
        errors=errors,
        returned=returned,
    )


def _since(p: Participant, match: StoredMatch | None) -> float:
    """Return when a participant's current status or match began, in seconds since 1970."""
    if p.ended is not None:
        return p.ended
    if p.status == "playing" and match is not None:
        return match.created if match.ended is None else match.ended
    return p.started or p.consented or p.opened or p.created


def _counts(
    study: Study, people: list[Participant], returned: Collection[str], earned: Mapping[str, int]
) -> tuple[TreatmentCount, ...]:
    """Count participants by treatment: first the treatments in the file, in order, then those no longer in it."""
    weights = dict(study.cells)
    assigned = dict.fromkeys(p.treatment for p in people if p.treatment is not None)
    return tuple(_count(name, weights.get(name, 0), people, returned, earned) for name in {**weights, **assigned})


def _count(
    name: str, weight: float, people: list[Participant], returned: Collection[str], earned: Mapping[str, int]
) -> TreatmentCount:
    mine = [p for p in people if p.treatment == name]
    here = [p for p in mine if p.id not in returned]
    active, complete = sum(p.status in ACTIVE for p in here), sum(p.status == "complete" for p in here)
    amounts = [earned[p.id] for p in here if earned.get(p.id)]
    return TreatmentCount(
        name=name,
        weight=weight,
        active=active,
        complete=complete,
        dropped=len(mine) - active - complete,
        paid=len(amounts),
        earned=sum(amounts),
    )
