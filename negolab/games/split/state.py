"""States of a split match by who may see them, and its actions: messages, the end of free talk, proposals."""

from __future__ import annotations

from typing import Literal

import msgspec

from negolab.game import Observation, Seat, State

Units = tuple[int, ...]
"""Whole numbers, one per item type in the order of `items`: a stock, values, or what a seat keeps."""
Shares = tuple[float, ...]
Hand = Literal["rock", "paper", "scissors"]
HANDS: tuple[Hand, Hand, Hand] = ("rock", "paper", "scissors")
Phase = Literal["talk", "split", "over"]

BEATS: dict[Hand, Hand] = {"rock": "scissors", "scissors": "paper", "paper": "rock"}
"""Each hand and the one it beats."""
BEATEN_BY: dict[Hand, Hand] = {weak: strong for strong, weak in BEATS.items()}
HIGH, LOW = 10, 1
"""Worth of a unit to the winner and the loser of a hand."""


class Message(msgspec.Struct, frozen=True, gc=False):
    """A message to the other seat; an empty text is a pass."""

    text: str


class Proposal(msgspec.Struct, frozen=True, gc=False):
    """Units that this seat keeps, per type; None for no deal."""

    keep: Units | None


class EndTalk(msgspec.Struct, frozen=True, gc=False):
    """The end of free talk, instead of a message; both seats then propose."""


Action = Message | EndTalk | Proposal


class Draw(msgspec.Struct, frozen=True, gc=False):
    """The values drawn at random for one round."""

    stock: Units
    values: dict[Seat, Units]
    hands: dict[Seat, Hand] | None = None


class Schedule(msgspec.Struct, frozen=True, gc=False):
    """All rounds as drawn before the match; it never changes, so one seed gives common random numbers."""

    rounds: tuple[Draw, ...]


class Sent(msgspec.Struct, frozen=True, gc=False):
    """A message as it became public; `lapsed` marks the fallback for replies that could not be read, and `ends` an end
    of the talk by the seat instead of a message."""

    round: int
    seat: Seat
    text: str
    lapsed: bool
    ends: bool = False


class Settled(msgspec.Struct, frozen=True, gc=False):
    """The public summary of a finished round; the last three are None if the game reveals nothing."""

    round: int
    first: Seat
    stock: Units
    asks: dict[Seat, Units | None]
    shares: dict[Seat, Shares]
    agreed: bool
    lapsed: tuple[Seat, ...]
    values: dict[Seat, Units] | None
    hands: dict[Seat, Hand] | None
    points: dict[Seat, float] | None


class Public(msgspec.Struct, frozen=True, gc=False):
    """`on_turn` holds the seats still to act; `values` are there if the game shows both seats' values."""

    round: int
    phase: Phase
    first: Seat
    on_turn: tuple[Seat, ...]
    stock: Units
    values: dict[Seat, Units] | None
    messages: tuple[Sent, ...] = ()
    history: tuple[Settled, ...] = ()
    ended_by: Seat | None = None


class Private(msgspec.Struct, frozen=True, gc=False):
    """`ask` and `lapsed` describe the seat's own proposal while it is filed and the other seat's is not; `earned` holds
    the seat's own points, one entry per finished round."""

    values: Units | None
    hand: Hand | None
    ask: Units | None = None
    lapsed: bool = False
    earned: tuple[float, ...] = ()


Position = State[Public, Private]
Seen = Observation[Public, Private]
