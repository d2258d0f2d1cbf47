"""What was proposed in a match, and what each proposal would have paid both sides."""

from __future__ import annotations

from typing import NamedTuple

from negolab.events import Rejected, Replied
from negolab.game import SEATS, Invalid, Seat, observe
from negolab.record import Record, start, states


class Proposal(NamedTuple):
    """A proposal of `seat` in the reply that is event `at` of its record, and what it would pay A and B."""

    at: int
    seat: Seat
    text: str
    a: float
    b: float


def proposals(record: Record) -> tuple[Proposal, ...]:
    """Every proposal of the accepted replies, in order, by `Game.stakes`; () for games that have none. `ValueError`
    names the event that cannot be replayed."""
    game = record.game
    told = {seat: game.told(seat) for seat in SEATS}
    before = start(record)
    found: list[Proposal] = []
    for at, (event, after) in enumerate(zip(record.events, states(record), strict=True)):
        if isinstance(event, Replied) and not _rejected(record, at):
            action = told[event.seat].parse(event.reply.text, observe(before, event.seat))
            if not isinstance(action, Invalid):
                stakes = game.stakes(before, event.seat, action)
                found += (Proposal(at, event.seat, event.reply.text, pay["A"], pay["B"]) for pay in stakes)
        before = after
    return tuple(found)


def _rejected(record: Record, at: int) -> bool:
    return at + 1 < len(record.events) and isinstance(record.events[at + 1], Rejected)
