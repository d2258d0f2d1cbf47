"""A study at work as HTML: people, treatments, matches and errors."""

from __future__ import annotations

from typing import get_args

from negolab.game import End
from negolab.people.status import Cell, Person
from negolab_widgets.html import Markup, element, join, panel, table
from negolab_widgets.monitor.watched import LONG, Watched, is_over, needs_a_look, ordered, standing

NONE = "No study is served: start `negolab serve STUDY.toml`."

ENDS: dict[End, str] = {
    "AGREED": "agreement",
    "NO_DEAL": "no deal",
    "OUT_OF_TIME": "turns ran out",
    "FORFEIT": "forfeit",
    "ABORTED": "stopped",
}
"""Ways in which a match ends, in a few words."""

_DASH = "\N{EN DASH}"


def duration(seconds: float) -> str:
    """A time span in its largest fitting unit, with one smaller where that matters."""
    whole = max(0, int(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02} s"
    if whole < 86400:
        return f"{whole // 3600} h {whole % 3600 // 60:02} min"
    return f"{whole // 86400} d {whole % 86400 // 3600} h"


def counted(n: int, what: str) -> str:
    """A number with its noun."""
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def people(seen: Watched) -> Markup:
    """Everybody who has opened their link, those who need a look first."""
    shown = ordered(seen)
    opened = sum(p.opened for p in seen.people)
    late = sum(needs_a_look(p, seen) for p in shown)
    have = "has" if opened == 1 else "have"
    said = [
        f"n = {len(seen.people)} invited, {opened} {have} opened the link, {counted(len(seen.present), 'page')} open."
    ]
    said += [f"{late} marked: an error, no move for {LONG:.0f} s, or the page is closed."] if late else []
    head = ("Number", "Treatment", "Status", "Page", "In this status for", "Last move", "Plays", "Errors")
    rows = [_row(person, seen) for person in shown]
    empty = "Nobody has opened a link yet." if seen.people else "Nobody is invited yet: `negolab study links` does it."
    body = table(head, rows, "Participants", cls="nl-watched nl-people nl-long") if rows else element("p", empty)
    return panel("Participants", element("p", " ".join(said)), body) if seen.people else panel("Participants", body)


def _row(person: Person, seen: Watched) -> list[object]:
    number = element("span", person.number, cls="nl-look") if needs_a_look(person, seen) else person.number
    page = "open" if person.number in seen.present else "closed"
    idle = _DASH if person.idle is None else f"{duration(person.idle)} ago"
    plays = _DASH if person.match is None else f"practice {person.practice}" if person.practice else "match"
    if person.match is not None:
        plays = f"{plays} {person.match[:8]}"
    return [
        number,
        person.treatment or _DASH,
        standing(person),
        _DASH if is_over(person) else page,
        duration(seen.at - person.since),
        element("span", idle, cls="nl-due") if (person.idle or 0.0) > LONG else idle,
        plays,
        element("span", person.errors, cls="nl-due") if person.errors else 0,
    ]


def treatments(seen: Watched) -> Markup:
    """Who is where by treatment, and how balanced they are."""
    n = sum(cell.active + cell.complete + cell.dropped for cell in seen.cells)
    head = ("Treatment", "Weight", "Active", "Complete", "Dropped out", "Per weight")
    said = f"n = {n} assigned. Per weight: active and complete, divided by the weight; the next one goes to the lowest."
    return panel("Treatments", element("p", said), table(head, map(_cell, seen.cells), "Treatments", cls="nl-watched"))


def _cell(cell: Cell) -> list[object]:
    held = f"{(cell.active + cell.complete) / cell.weight:.2f}" if cell.weight else "not in the study file now"
    return [cell.name, f"{cell.weight:g}", cell.active, cell.complete, cell.dropped, held]


def matches(seen: Watched) -> Markup:
    """The study's matches, those of practice left out."""
    n = sum(seen.ended.values())
    said = f"{seen.running} running now, practice included. n = {n} ended, practice left out."
    rows = [(ENDS[end], seen.ended[end], f"{seen.ended[end] / n:.0%}") for end in get_args(End) if end in seen.ended]
    body = table(("How it ended", "Matches", "Share"), rows, "Matches by how they ended") if rows else ""
    return panel("Matches", element("p", said), body)


def errors(seen: Watched) -> Markup:
    """The latest errors, newest first."""
    total = sum(person.errors for person in seen.people)
    if not seen.errors:
        return panel("Errors", element("p", "None."))
    items = [element("li", error, dir="auto") for error in reversed(seen.errors)]
    said = f"{max(total, len(items))} in all, the latest {len(items)} here, newest first."
    return panel("Errors", element("p", said), element("ul", *items, cls="nl-errors"))


def whole(seen: Watched | None) -> Markup:
    """The page without its controls."""
    if seen is None:
        return join([element("h1", "Monitor"), element("p", NONE)])
    head = element("div", element("h1", f"Monitor: {seen.title}"), element("p", f"Study {seen.study}"))
    right = element("div", matches(seen), errors(seen), cls="nl-stack")
    beside = element("div", treatments(seen), right, cls="nl-pair")
    return join([head, people(seen), beside])
