"""What was proposed in a match, and what each proposal would have paid both sides."""

from __future__ import annotations

from typing import NamedTuple

from negolab.events import Rejected, Replied
from negolab.game import SEATS, Invalid, Seat, observe
from negolab.record import Fold, Record, start


class Proposal(NamedTuple):
    """A proposal of `seat` in the reply that is event `at` of its record, and what it would pay A and B."""

    at: int
    seat: Seat
    text: str
    a: float
    b: float


def proposals(record: Record) -> tuple[Proposal, ...]:
    """Every proposal of the accepted replies, in order, by `Game.stakes`; () for games that have none."""
    game = record.game
    told = {seat: game.told(seat) for seat in SEATS}
    fold = Fold(game, start(record))
    found: list[Proposal] = []
    for at, event in enumerate(record.events):
        if isinstance(event, Replied) and not _rejected(record, at):
            action = told[event.seat].parse(event.reply.text, observe(fold.state, event.seat))
            if not isinstance(action, Invalid):
                stakes = game.stakes(fold.state, event.seat, action)
                found += (Proposal(at, event.seat, event.reply.text, pay["A"], pay["B"]) for pay in stakes)
        fold.apply(event)
    return tuple(found)


def _rejected(record: Record, at: int) -> bool:
    return at + 1 < len(record.events) and isinstance(record.events[at + 1], Rejected)
