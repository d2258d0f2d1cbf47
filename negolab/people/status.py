"""Who is where in a study, read from the database: for the terminal, the monitor page and the host."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import msgspec

from negolab.people.database import ACTIVE, Database, Note, Participant, Sat
from negolab.people.study import Study

ERROR = "error"
"""The kind of note that is counted as an error."""

_LATEST = 20
"""How many errors are told in words."""


class Person(msgspec.Struct, frozen=True, kw_only=True):
    """One participant. `since`: when they came to their status (seconds since 1970); `idle`: seconds since anything
    happened at the match they are playing, `match`; `practice`: its round, 0 for the real one."""

    number: int
    link: str
    treatment: str | None
    status: str
    opened: bool
    since: float
    idle: float | None = None
    match: str | None = None
    practice: int = 0
    errors: int = 0


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """One treatment: who is at work in it, has completed it, or dropped out of it."""

    name: str
    weight: float
    active: int
    complete: int
    dropped: int


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """A study at the moment `at`. `ended` counts its real matches by how they ended; `errors` are the latest, oldest
    first."""

    study: str
    title: str
    at: float
    people: tuple[Person, ...]
    cells: tuple[Cell, ...]
    running: int
    ended: dict[str, int]
    errors: tuple[str, ...]


def status(database: Database, study: Study) -> Status:
    """How `study` stands now."""
    people = database.participants(study.name)
    matches = database.matches(study.name)
    moved, ends = database.moved(study.name), database.ends(study.name)
    errors = [note for note in database.notes(study.name) if note.kind == ERROR]
    now = database.clock()
    return Status(
        study=study.name,
        title=study.title,
        at=now,
        people=_people(people, matches, moved, errors, now),
        cells=_cells(study, people),
        running=sum(match.ended is None for match in matches),
        ended=dict(Counter(ends[match.id].end for match in matches if match.id in ends and not match.practice)),
        errors=_told(errors[-_LATEST:], people),
    )


def _told(errors: list[Note], people: list[Participant]) -> tuple[str, ...]:
    """Errors in words: whose page or match it was, and what is known."""
    number = {p.id: f"participant {p.number}" for p in people}
    told = []
    for note in errors:
        where = [number.get(note.participant or "", ""), f"match {note.match}" if note.match else ""]
        told.append(f"{', '.join(filter(None, where)) or 'the host'}: {note.detail or 'stopped by a fault'}")
    return tuple(told)


def _people(
    people: Iterable[Participant], matches: list[Sat], moved: dict[str, float], errors: list[Note], now: float
) -> tuple[Person, ...]:
    latest = {who: match for match in matches for who in match.people.values() if who is not None}
    failed = Counter(note.participant for note in errors)
    return tuple(_person(p, latest.get(p.id), moved, failed[p.id], now) for p in people)


def _person(p: Participant, match: Sat | None, moved: dict[str, float], errors: int, now: float) -> Person:
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
    )


def _since(p: Participant, match: Sat | None) -> float:
    """When the participant came to where they are."""
    if p.ended is not None:
        return p.ended
    if p.status == "playing" and match is not None:
        return match.created if match.ended is None else match.ended
    return p.started or p.consented or p.opened or p.created


def _cells(study: Study, people: list[Participant]) -> tuple[Cell, ...]:
    """The treatments of the file in its order, then those that only earlier participants had."""
    weights = dict(study.cells)
    found = dict.fromkeys(p.treatment for p in people if p.treatment is not None)
    return tuple(_cell(name, weights.get(name, 0), people) for name in {**weights, **found})


def _cell(name: str, weight: float, people: list[Participant]) -> Cell:
    states = [p.status for p in people if p.treatment == name]
    active, complete = sum(s in ACTIVE for s in states), states.count("complete")
    return Cell(name=name, weight=weight, active=active, complete=complete, dropped=len(states) - active - complete)
