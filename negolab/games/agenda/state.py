"""States and messages of an agenda.

An agreement is one number per issue: the index of an option or, for goods, the units that A gets.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from negolab.game import Observation, Seat, State
from negolab.games.agenda.reading import reads_as_token
from negolab.games.agenda.scenario import Issue, PointsTable

Agreement = tuple[int, ...]
Response = Literal["accept", "reject", "walk away"]


class Message(msgspec.Struct, frozen=True, gc=False):
    """A message: at most one reply, at most one offer, and talk.

    Args:
        reply: "accept", "reject", "walk away" or None.
        offer: One number per issue: the index of an option or, for goods, the units that the author gets.
        talk: Free text whose only whitespace is single spaces.

    Raises:
        ValueError: The talk contains something that would be read as a reply or an offer, or other whitespace.
    """

    reply: Response | None = None
    offer: tuple[int, ...] | None = None
    talk: str = ""

    def __post_init__(self) -> None:
        if self.talk and self.talk != " ".join(self.talk.split()):
            raise ValueError(f"the words of talk must be separated by single spaces: {self.talk!r:.100}")
        if reads_as_token(self.talk):
            raise ValueError(f"talk cannot contain an offer or a reply in brackets: {self.talk!r:.100}")


class Entry(msgspec.Struct, frozen=True, gc=False):
    """A message as both seats see it; its offer is an agreement."""

    seat: Seat
    talk: str = ""
    reply: Response | None = None
    offer: Agreement | None = None


class Public(msgspec.Struct, frozen=True, gc=False):
    """The public state. `standing` is the offer that awaits an answer, made by the seat that is not to move."""

    to_move: Seat | None
    messages: tuple[Entry, ...] = ()
    standing: Agreement | None = None
    end: Literal["agreed", "walked_away", "time", "forfeit"] | None = None
    loser: Seat | None = None


class Private(msgspec.Struct, frozen=True, gc=False):
    """One seat's private state: its points, its points without a deal and its brief; as far as the scenario shows them,
    `theirs` are the other's points and `order` is how the issues rank for the other."""

    points: PointsTable
    reservation: int
    brief: str = ""
    theirs: PointsTable | None = None
    order: tuple[int, ...] | None = None


Position = State[Public, Private]
Seen = Observation[Public, Private]


def worth(table: PointsTable, agreement: Agreement) -> int:
    """Return the points for an agreement."""
    return sum([row[at] for row, at in zip(table, agreement, strict=True)])


def seen_by_author(seat: Seat, issues: tuple[Issue, ...], numbers: tuple[int, ...]) -> tuple[int, ...]:
    """Convert an agreement, with A's units of goods, to an offer, with its author's units, or back."""
    if seat == "A":
        return numbers
    return tuple([n if issue.units is None else issue.units - n for issue, n in zip(issues, numbers, strict=True)])
