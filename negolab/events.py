"""The six kinds of event in a match, the same for every game. Nothing derived is stored with them."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from math import isclose
from typing import Any

import msgspec

from negolab.game import SEATS, End, Invalid, Reply, Seat


class Dealt(msgspec.Struct, frozen=True, gc=False, tag="dealt"):
    """The match began; `state` is the full initial state, including all random draws."""

    state: Any


class Replied(msgspec.Struct, frozen=True, gc=False, tag="replied"):
    """A seat replied; the text is stored as it came, legal or not."""

    seat: Seat
    reply: Reply


class Rejected(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, tag="rejected"):
    """A reply was not a legal action: the one recorded before, or (`wordless`) one without text, such as a time-out;
    `said` is then the raw answer, if there was one."""

    seat: Seat
    invalid: Invalid
    wordless: bool = False
    said: Reply | None = None


class Stepped(msgspec.Struct, frozen=True, gc=False, tag="stepped"):
    """These seats' actions were played at the same time; replay parses their texts again."""

    seats: tuple[Seat, ...]


class Forfeited(msgspec.Struct, frozen=True, gc=False, tag="forfeited"):
    """A seat used up its retries, and the game's `forfeit` was called."""

    seat: Seat


class Ended(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, tag="ended"):
    """The match is over; `reason` is set if it was ended from outside the rules."""

    end: End
    payoffs: dict[Seat, int | float | None]
    reason: str | None = None


def is_finite(payoff: Any) -> bool:
    """Return True for a number that a float can hold, and for None, which pays nothing."""
    return payoff is None or bool(abs(payoff) <= sys.float_info.max)


Event = Dealt | Replied | Rejected | Stepped | Forfeited | Ended


def same_payoffs(one: Mapping[Seat, float | None], two: Mapping[Seat, float | None]) -> bool:
    """Return True for payoffs that differ at most in the last digits of floats, as those of 0.1.0 differ from exact
    ones."""
    pairs = [(one[seat], two[seat]) for seat in SEATS]
    return all(a == b or (a and b and isclose(a, b)) for a, b in pairs)


def same_event(one: Event, two: Event) -> bool:
    """Return True for equal events, comparing their payoffs with `same_payoffs`."""
    if isinstance(one, Ended) and isinstance(two, Ended) and same_payoffs(one.payoffs, two.payoffs):
        one = msgspec.structs.replace(one, payoffs=two.payoffs)
    return one == two
