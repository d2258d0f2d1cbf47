"""What was said in a match, reply by reply."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from negolab.events import Rejected, Replied
from negolab.game import SEATS, Invalid, Reply, Seat, State, observe
from negolab.record import Record, start, states


def said(record: Record) -> Iterator[tuple[Replied | Rejected, Reply | None, Invalid | None]]:
    """What each ask came to: its event, what was answered if anything was, and what was wrong with it."""
    for at, event in enumerate(record.events):
        if isinstance(event, Replied):
            yield event, event.reply, _refusal(record, at)
        elif isinstance(event, Rejected) and event.wordless:
            yield event, event.said, event.invalid


class Accepted(NamedTuple):
    """The reply that is event `at` of its record, as it was read, and the state in which it was said."""

    at: int
    seat: Seat
    text: str
    action: Any
    before: State[Any, Any]


def accepted(record: Record) -> Iterator[Accepted]:
    """Every reply that was a legal action, in order. `ValueError` names the event that cannot be replayed."""
    game = record.game
    told = {seat: game.told(seat) for seat in SEATS}
    before = start(record)
    for at, (event, after) in enumerate(zip(record.events, states(record), strict=True)):
        if isinstance(event, Replied) and _refusal(record, at) is None:
            action = told[event.seat].parse(event.reply.text, observe(before, event.seat))
            if not isinstance(action, Invalid):
                yield Accepted(at, event.seat, event.reply.text, action, before)
        before = after


def _refusal(record: Record, at: int) -> Invalid | None:
    """What was wrong with the words of event `at`. What is rejected without words after them is another answer: the
    other seat's, of a move that both make at once."""
    after = record.events[at + 1] if at + 1 < len(record.events) else None
    return after.invalid if isinstance(after, Rejected) and not after.wordless else None
