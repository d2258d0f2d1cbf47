"""What was proposed in a match, and what each proposal would have paid both sides."""

from __future__ import annotations

from typing import NamedTuple

from negolab.analysis.said import accepted
from negolab.game import Seat
from negolab.record import Record


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
    found: list[Proposal] = []
    for at, seat, text, action, before in accepted(record):
        found += (Proposal(at, seat, text, pay["A"], pay["B"]) for pay in game.stakes(before, seat, action))
    return tuple(found)
