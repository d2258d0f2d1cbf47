"""How a study stands, as text for a terminal."""

from __future__ import annotations

import sys
from collections import Counter
from datetime import datetime

from negolab.cli.terminal import safe
from negolab.people.database import ACTIVE, Database
from negolab.people.parts import ENDINGS
from negolab.people.status import Cell, Person, Status, status
from negolab.people.study import Study

_CLEAR = "\x1b[H\x1b[2J"
_LONGEST = 40
"""People at work who are listed; more are counted."""


def show(database: Database, study: Study, *, again: bool = False) -> None:
    """Print how the study stands now; `again`: in the place of the last time, where the terminal can."""
    text = "\n".join(lines(status(database, study)))
    if again:
        text = (_CLEAR if sys.stdout.isatty() else "\n") + text
    print(text, flush=True)


def lines(now: Status) -> list[str]:
    """A status as lines of plain text."""
    at = datetime.fromtimestamp(now.at).astimezone()
    working = [person for person in now.people if person.status in ACTIVE]
    return [
        f"{safe(now.title)} ({now.study}), {at:%Y-%m-%d %H:%M:%S}",
        _counted(now),
        "",
        *_cells(now.cells),
        "",
        *_working(working, now.at),
        _matches(now),
        *_errors(now),
    ]


def _counted(now: Status) -> str:
    """How many are in which status, in the order in which one goes through them."""
    count = Counter(person.status for person in now.people)
    reading = sum(person.status == "invited" and person.opened for person in now.people)
    known = ("invited", *ACTIVE, *ENDINGS)
    parts = [f"{count[name]} {name}" for name in known if count[name]]
    if reading:
        parts[0] += f" ({reading} reading)"
    return f"{len(now.people)} participants: {', '.join(parts)}" if parts else "no participants yet"


def _cells(cells: tuple[Cell, ...]) -> list[str]:
    width = max(len("treatment"), *(len(cell.name) for cell in cells))
    head = f"{'treatment':{width}}  weight  active  complete  dropped"
    rows = [f"{c.name:{width}}  {c.weight:6g}  {c.active:6}  {c.complete:8}  {c.dropped:7}" for c in cells]
    return [head, *rows]


def _working(people: list[Person], at: float) -> list[str]:
    if not people:
        return []
    width = max(len("treatment"), *(len(person.treatment or "") for person in people))
    head = f"  no.  {'treatment':{width}}  status    min. there  min. since last move  match"
    rows = [
        f"{p.number:5}  {p.treatment or '':{width}}  {p.status:8}  {(at - p.since) / 60:10.1f}  {_idle(p):>20}  {_match(p)}"  # noqa: E501
        for p in people[:_LONGEST]
    ]
    more = [f"... and {len(people) - _LONGEST} more"] if len(people) > _LONGEST else []
    return [head, *rows, *more, ""]


def _idle(person: Person) -> str:
    return "" if person.idle is None else f"{person.idle / 60:.1f}"


def _match(person: Person) -> str:
    if person.match is None:
        return ""
    return f"{person.match} (practice {person.practice})" if person.practice else person.match


def _matches(now: Status) -> str:
    ends = ", ".join(f"{n} {end}" for end, n in sorted(now.ended.items()))
    over = f"{sum(now.ended.values())} ended ({ends})" if ends else "none ended"
    return f"matches: {now.running} running, {over}"


def _errors(now: Status) -> list[str]:
    return ["", *(f"error: {safe(text)}" for text in now.errors)] if now.errors else ["no errors"]
