"""States, messages and faults of balloon."""

from __future__ import annotations

from typing import Literal

import msgspec

from negolab.game import End, Invalid, Observation, Seat
from negolab.game import State as AnyState

Rules = Literal["stated", "reference"]
Names = frozenset[str]


class Terms(msgspec.Struct, frozen=True, gc=False):
    """Terms that both seats know and that never change; `effort` keeps the items' order."""

    language: str
    effort: dict[str, int]
    limit: int
    strategic_reasoning: bool
    require_argument: bool
    patience: int
    empty_turn_limit: int | None
    turn_limit: int | None


class Message(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A delivered message; `accepted` is False if it was delivered although none of its moves counts."""

    seat: Seat
    text: str
    accepted: bool = True


class Public(msgspec.Struct, frozen=True, gc=False):
    """`active` holds each seat's open proposals in order; `turn` counts accepted messages, `empty` the latest ones in a
    row without PROPOSAL. `ended_by` and `code` are the seat and the fault that caused a FORFEIT or ABORTED."""

    terms: Terms
    messages: tuple[Message, ...]
    active: dict[Seat, tuple[Names, ...]]
    mover: Seat
    turn: int = 0
    empty: int = 0
    end: End | None = None
    deal: Names | None = None
    ended_by: Seat | None = None
    code: str | None = None


class Private(msgspec.Struct, frozen=True, gc=False):
    """A seat's importances in the order its prompt lists them, the invalid replies it may still make, and its
    reasoning texts."""

    importance: dict[str, int]
    patience: int
    reasoning: tuple[str, ...] = ()


class Say(msgspec.Struct, frozen=True, gc=False):
    """A parsed message: `text` is delivered, `reasoning` (the block's content) is not; moves are in text order."""

    text: str
    reasoning: str | None = None
    propose: tuple[Names, ...] = ()
    refuse: tuple[Names, ...] = ()
    agree: tuple[Names, ...] = ()


class Fault(Invalid, frozen=True, gc=False):
    """An invalid message; `relay` is its text if that is delivered nonetheless."""

    relay: str | None = None


State = AnyState[Public, Private]
Seen = Observation[Public, Private]
