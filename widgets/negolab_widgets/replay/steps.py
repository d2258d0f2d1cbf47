"""A record as steps to go through: what happened, and what each seat saw then."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

from negolab.catalog import AnyGame
from negolab.events import Dealt, Ended, Event, Forfeited, Rejected, Replied, Stepped
from negolab.game import SEATS, Observation, Seat, observe
from negolab.record import Closing, Record, View, states
from negolab_widgets.closing import WORDS
from negolab_widgets.html import Markup, element, said
from negolab_widgets.replay.exchange import exchange, scrolled

Seen = Observation[Any, Any]
Entry = Event | Closing | Seen


class Step(NamedTuple):
    """One event (or one entry of a seat's view), what the seats saw after it, and how many events of the record have
    happened by then (0 in a seat's view, which does not tell)."""

    entry: Entry
    seen: dict[Seat, Seen]
    at: int = 0


def steps(record: Record) -> list[Step]:
    """A step per event, with what both seats saw: the experimenter's."""
    return [
        Step(event, {seat: observe(state, seat) for seat in SEATS}, at)
        for at, (event, state) in enumerate(zip(record.events, states(record), strict=True), 1)
    ]


def steps_of(view: View) -> list[Step]:
    """A step per entry of one seat's view. What it did and what it saw of that are one step."""
    return list(_of_view(view))


def _of_view(view: View) -> Iterator[Step]:
    seen: Seen | None = None
    before: Entry | None = None
    for entry, after in pairwise([*view.entries, None]):
        if isinstance(entry, Observation):
            seen = entry
            if isinstance(before, Replied):  # the effect of its own words was shown with them
                before = entry
                continue
        if seen is not None and entry is not None:
            effect = after if isinstance(entry, Replied) and isinstance(after, Observation) else seen
            yield Step(entry, {view.seat: effect})
        before = entry


# In words.


def line(step: Step) -> str:
    """A step in one line of plain text, for a list."""
    match step.entry:
        case Dealt():
            return "the deal"
        case Replied(seat, reply):
            return f"{seat}: {_short(reply.text)}"
        case Rejected(seat, invalid):
            return f"{seat} refused: {', '.join(invalid.codes)}"
        case Stepped(seats):
            return f"{' and '.join(seats)}: taken"
        case Forfeited(seat):
            return f"{seat}: allowance used up"
        case Ended(end) | Closing(end):
            return f"the end: {end}"
        case Observation():
            return "the table has changed"


def _short(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= 60 else words[:59] + "\N{HORIZONTAL ELLIPSIS}"


def card(step: Step, game: AnyGame) -> Markup:
    """A step as it is shown: raw words, reasons, tokens and latency."""
    match step.entry:
        case Dealt():
            return _card("The deal", "All chance of the match is drawn.")
        case Replied(seat, reply):
            return _card(f"{seat} replies", scrolled("the reply", reply.text), exchange(reply), seat=seat)
        case Rejected(seat, invalid, wordless, unread):
            what = "is refused" if not wordless else "gives no words in time" if unread is None else "cannot be read"
            codes = element("div", f"{invalid.kind} fault: {', '.join(invalid.codes)}", cls="nl-who")
            came = () if unread is None else (scrolled("the answer", unread.text), exchange(unread))
            return _card(f"{seat} {what}", said(invalid.reason), codes, *came, cls="nl-bad", seat=seat)
        case Stepped(seats):
            plural = "replies take" if len(seats) > 1 else "reply takes"
            return _card(f"The {plural} effect", f"What {' and '.join(seats)} said is accepted.")
        case Forfeited(seat):
            what = "The game does what its rules say for that: a turn lost, a move filled in, or the end."
            return _card(f"{seat} has used up its allowance of invalid replies", what, cls="nl-bad", seat=seat)
        case Ended(end, payoffs, reason):
            paid = [element("div", f"{seat}: {game.paid(payoffs[seat])}") for seat in SEATS]
            return _card(WORDS[end], *paid, element("div", reason or "", cls="nl-who"))
        case Closing(end, payoff):
            return _card(WORDS[end], element("div", f"Paid: {game.paid(payoff)}"))
        case Observation():
            return _card("The table has changed", "Something happened that this seat can see: below is how it stands.")


def _card(title: str, *body: object, cls: str = "", seat: Seat | None = None) -> Markup:
    paper = {"A": "nl-from-a", "B": "nl-from-b", None: "nl-from-master"}[seat]
    classes = f"nl-panel nl-card {cls or paper}"
    return element("div", element("h2", title, cls="nl-heading"), *body, cls=classes)
