"""The state of a running study as HTML: participants, treatments, matches and errors, and a match as it goes."""

from __future__ import annotations

from typing import get_args

import msgspec

from negolab.analysis.replies import iter_replies
from negolab.formatting import DASH, counted, format_end
from negolab.game import SEATS, End, Invalid, Reply, Seat, observe
from negolab.record import Record, final_state
from negolab.studies.database import TEST
from negolab.studies.metrics import GateNumbers
from negolab.studies.model_seats import Fallback
from negolab.studies.status import Person, Status, TreatmentCount
from negolab_widgets.html import Markup, element, join, pairs, panel, table
from negolab_widgets.picks import pick_button
from negolab_widgets.tables.conversation import ConversationEntry, render_conversation
from negolab_widgets.tables.seats import render_seats

IDLE_LIMIT = 90.0
"""Seconds without a move after which a participant is marked."""

_ACTIVE = ("playing", "waiting")


class MonitorState(Status, frozen=True, kw_only=True):
    """The state of a study and of its pages and matches now."""

    present: tuple[int, ...]
    """Numbers of those whose pages are open."""
    gate: GateNumbers | None = None


def decode_state(plain: object) -> MonitorState | None:
    """Decode the host's answer; None if it serves no study."""
    return msgspec.convert(plain, type=MonitorState) if plain else None


def status_word(person: Person) -> str:
    """Return a participant's status in one word: who has opened the link is more than invited."""
    word = "reading" if person.status == "invited" and person.opened else person.status
    return f"{word}, test" if person.link == TEST else f"{word}, returned" if person.returned else word


def is_over(person: Person) -> bool:
    """Return True if the study is over for this participant."""
    return person.status not in (*_ACTIVE, "invited")


def needs_attention(person: Person, seen: MonitorState) -> bool:
    """Return True for an active participant with an error, no move for long, or a closed page."""
    if person.status not in _ACTIVE:
        return False
    return bool(person.errors) or (person.idle or 0.0) > IDLE_LIMIT or person.number not in seen.present


def sort_people(seen: MonitorState) -> list[Person]:
    """Sort all who have opened their link: who needs attention first, then playing, waiting, reading, ended."""
    return sorted(
        (p for p in seen.people if p.opened or p.status != "invited"), key=lambda person: _sort_key(person, seen)
    )


def _sort_key(person: Person, seen: MonitorState) -> tuple[bool, bool, int, float, int]:
    stage = {"playing": 0, "waiting": 1, "invited": 2}.get(person.status, 3)
    # At work, the longest first; of those who have ended, the last first.
    quiet = person.idle if person.idle is not None else seen.at - person.since
    age = quiet if is_over(person) else -quiet
    return not needs_attention(person, seen), not person.errors, stage, age, person.number


NO_STUDY = "No study is being served: start `negolab serve STUDY.toml`."


def format_duration(seconds: float) -> str:
    """Format a time span in its largest fitting unit, with one smaller where that matters."""
    whole = max(0, int(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02} s"
    if whole < 86400:
        return f"{whole // 3600} h {whole % 3600 // 60:02} min"
    return f"{whole // 86400} d {whole % 86400 // 3600} h"


def render_people(seen: MonitorState) -> Markup:
    """Render everybody who has opened their link, those who need attention first."""
    shown = sort_people(seen)
    people = [p for p in seen.people if p.link != TEST]
    opened = sum(p.opened for p in people)
    late = sum(needs_attention(p, seen) for p in shown)
    have = "has" if opened == 1 else "have"
    summary = (
        f"n = {len(people)} invited, {opened} {have} opened the link, {counted(len(seen.present), 'page')} open.",
        f"{late} marked: an error, no move for {IDLE_LIMIT:.0f} s, or the page is closed." if late else "",
    )
    head = ("Number", "Treatment", "Status", "Page", "In this status for", "Last move", "Plays", "Errors", "Action")
    rows = [_person_row(person, seen) for person in shown]
    empty = (
        "Nobody has opened a link yet."
        if seen.people
        else "Nobody has been invited yet: invite people with `negolab study links`."
    )
    body = table(head, rows, "Participants", cls="nl-watched nl-people nl-long") if rows else element("p", empty)
    words = element("p", " ".join(filter(None, summary))) if seen.people else ""
    return panel("Participants", words, body, _render_unopened(seen))


MAX_UNOPENED = 50
"""Participants who have not opened their link that are listed."""


def _render_unopened(seen: MonitorState) -> Markup:
    """Render who has not opened their link and may still be ended."""
    numbers = [p.number for p in seen.people if p.status == "invited" and not p.opened]
    if not numbers:
        return Markup("")
    lines = [
        element(
            "li",
            element("span", f"Participant {number} has not opened the link."),
            end_button(number, f"End participant {number}\N{HORIZONTAL ELLIPSIS}"),
        )
        for number in numbers[:MAX_UNOPENED]
    ]
    left = len(numbers) - MAX_UNOPENED
    more = element("p", f"{left} more {'has' if left == 1 else 'have'} not opened it.") if left > 0 else ""
    return join([element("ul", *lines, cls="nl-unopened"), more])


def _person_row(person: Person, seen: MonitorState) -> list[object]:
    number = element("span", person.number, cls="nl-look") if needs_attention(person, seen) else person.number
    page = "open" if person.number in seen.present else "closed"
    return [
        number,
        person.treatment or DASH,
        status_word(person),
        DASH if is_over(person) else page,
        format_duration(seen.at - person.since),
        _last_move(person, seen),
        DASH if person.match is None else _watch_button(person, person.match),
        element("span", person.errors, cls="nl-due") if person.errors else 0,
        DASH if is_over(person) else end_button(person.number, "End\N{HORIZONTAL ELLIPSIS}"),
    ]


def _last_move(person: Person, seen: MonitorState) -> object:
    """Render when a participant's match went on last, or for how long it has waited for a language model."""
    if (pause := seen.paused.get(person.match or "")) is not None:
        return element("span", f"waits for the model, {format_duration(seen.at - pause.since)}", cls="nl-due")
    idle = DASH if person.idle is None else f"{format_duration(person.idle)} ago"
    return element("span", idle, cls="nl-due") if (person.idle or 0.0) > IDLE_LIMIT else idle


def _watch_button(person: Person, match: str) -> Markup:
    """Build the button that shows a participant's running match."""
    words = f"{f'practice {person.practice}' if person.practice else 'match'} {match[:8]}"
    return pick_button(f"watch {match}", words, name=f"{words}: watch the match of participant {person.number}")


def end_button(number: int, words: str) -> Markup:
    """Build the button that asks to end the study for a participant."""
    return pick_button(f"end {number}", words, name=f"{words}: end the study for participant {number}")


def render_treatments(seen: MonitorState) -> Markup:
    """Render who is where by treatment, and how balanced the treatments are."""
    n = sum(cell.active + cell.complete + cell.dropped for cell in seen.cells)
    earned = () if seen.currency is None else ("Earned (n)",)
    head = ("Treatment", "Weight", "Active", "Complete", "Dropped out", "Per weight", *earned)
    rows = [_treatment_row(cell, seen) for cell in seen.cells]
    summary = (
        f"n = {n} assigned. Per weight: active and complete, divided by the weight; the next one goes to the lowest."
    )
    return panel(
        "Treatments",
        element("p", summary),
        table(head, rows, "Treatments", cls="nl-watched"),
    )


def _treatment_row(cell: TreatmentCount, seen: MonitorState) -> list[object]:
    held = f"{(cell.active + cell.complete) / cell.weight:.2f}" if cell.weight else "no longer in the study file"
    earned = [] if seen.currency is None else [f"{seen.currency.text(cell.earned)} ({cell.paid})"]
    return [cell.name, f"{cell.weight:g}", cell.active, cell.complete, cell.dropped, held, *earned]


def render_matches(seen: MonitorState) -> Markup:
    """Render how the study's matches ended, excluding practice."""
    n = sum(seen.ended.values())
    waits = f" ({len(seen.paused)} waiting for a language model)" if seen.paused else ""
    summary = f"{seen.running} running now{waits}, practice included. n = {n} ended, excluding practice."
    rows = [
        (format_end(end), seen.ended[end], f"{100 * seen.ended[end] / n:.0f}%")
        for end in get_args(End)
        if end in seen.ended
    ]
    body = table(("How it ended", "Matches", "Share"), rows, "Matches by how they ended") if rows else ""
    models = [element("p", text, dir="auto") for text in (*seen.waits(), seen.models, seen.replaced()) if text]
    return panel("Matches", element("p", summary), body, *models)


def render_errors(seen: MonitorState) -> Markup:
    """Render the latest errors, newest first."""
    total = sum(person.errors for person in seen.people)
    if not seen.errors:
        return panel("Errors", element("p", "None."))
    items = [element("li", error, dir="auto") for error in reversed(seen.errors)]
    summary = f"{max(total, len(items))} in all, the latest {len(items)} shown, newest first."
    return panel("Errors", element("p", summary), element("ul", *items, cls="nl-errors"))


def render_server(gate: GateNumbers | None) -> Markup:
    """Render what the participants' server carries, and what it refused."""
    if gate is None:
        return panel("Server", element("p", "Nothing is known about it yet."))
    rows = [
        ("Kernels in use", f"{gate.kernels} of {gate.max_kernels}"),
        ("Kernels kept warm", gate.warm),
        ("Waiting for a kernel", gate.queue),
        ("Open connections", gate.connections),
        *((f"Refused: {REFUSALS.get(reason, f'status {reason}')}", f"{n:,}") for reason, n in gate.refused.items()),
    ]
    return panel("Server", table(("At the participants' server", "Number"), rows, "Server"))


REFUSALS = {
    "403": "not open to them",
    "404": "no such page",
    "429": "too many requests",
    "503": "host or database unavailable",
    "traffic": "a page sent too much",
    "slow page": "a page read too slowly",
    "computing": "a page had its kernel compute too much",
}
"""Reasons of refused requests in a few words."""


def render_top(seen: MonitorState | None) -> Markup:
    """Render the page above what is opened from it: the study and its participants."""
    if seen is None:
        return join([element("h1", "Monitor"), element("p", NO_STUDY)])
    head = element("div", element("h1", f"Monitor: {seen.title}"), element("p", f"Study {seen.study}"))
    return join([head, render_people(seen)])


def render_rest(seen: MonitorState | None) -> Markup:
    """Render the page below: treatments, server, matches and errors."""
    if seen is None:
        return Markup("")
    left = render_server(seen.gate)
    right = element("div", render_matches(seen), render_errors(seen), cls="nl-stack")
    return join([render_treatments(seen), element("div", left, right, cls="nl-pair")])


# A running match.


def render_watched(record: Record, fallback: Fallback | None = None) -> Markup:
    """Render a match so far, to the researcher: both seats' tables show what the other may not see."""
    game, state = record.game, final_state(record)
    told = {f"player {seat}": name for seat, name in record.header.players.items()}
    if fallback is not None:
        told[f"seat {fallback.seat} taken over by"] = f"{fallback.player or 'nobody'} ({fallback.reason})"
    facts = pairs([("game", record.header.game), *told.items(), ("state", format_end(record.end))])
    said = [_conversation_entry(event.seat, reply, invalid) for event, reply, invalid in iter_replies(record)]
    title = element("h2", f"Match {record.id[:8]}, as it goes", cls="nl-heading nl-watching")
    seats = render_seats(game, {seat: observe(state, seat) for seat in SEATS})
    return join([title, facts, render_conversation(said), seats])


def _conversation_entry(seat: Seat, reply: Reply | None, invalid: Invalid | None) -> ConversationEntry:
    words = "" if reply is None else reply.text
    if invalid is not None:
        return ConversationEntry(seat, words, f"not accepted: {', '.join(invalid.codes)}", "refused")
    return ConversationEntry(seat, words, kind="own" if seat == "B" else "other")
