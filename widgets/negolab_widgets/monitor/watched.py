"""What the host says of a study, in the order in which an experimenter wants to look."""

from __future__ import annotations

import msgspec

from negolab.people.status import Person, Status

LONG = 90.0
"""Seconds without a move after which somebody wants a look."""

_AT_WORK = ("playing", "waiting")


class Watched(Status, frozen=True, kw_only=True):
    """A status, and the numbers of those whose pages are open now."""

    present: tuple[int, ...]


def read(plain: object) -> Watched | None:
    """What the host said; None: it serves no study."""
    return msgspec.convert(plain, type=Watched) if plain else None


def standing(person: Person) -> str:
    """The status in one word: who has opened the link is more than invited."""
    return "reading" if person.status == "invited" and person.opened else person.status


def is_over(person: Person) -> bool:
    """Whether the study is over for somebody."""
    return person.status not in (*_AT_WORK, "invited")


def needs_a_look(person: Person, seen: Watched) -> bool:
    """Somebody at work with an error, without a move for long, or whose page is closed."""
    if person.status not in _AT_WORK:
        return False
    return bool(person.errors) or (person.idle or 0.0) > LONG or person.number not in seen.present


def ordered(seen: Watched) -> list[Person]:
    """All but those who have not come yet: first who needs a look, then who plays, waits, reads, and has ended."""
    return sorted((p for p in seen.people if p.opened or p.status != "invited"), key=lambda person: _rank(person, seen))


def _rank(person: Person, seen: Watched) -> tuple[bool, bool, int, float, int]:
    stage = {"playing": 0, "waiting": 1, "invited": 2}.get(person.status, 3)
    # At work, the longest first; of those who have ended, the last first.
    quiet = person.idle if person.idle is not None else seen.at - person.since
    age = quiet if is_over(person) else -quiet
    return not needs_a_look(person, seen), not person.errors, stage, age, person.number
