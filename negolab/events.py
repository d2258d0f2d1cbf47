"""What can happen in a match: six kinds of event for every game, and nothing derived beside them."""

from __future__ import annotations

from typing import Any

import msgspec

from negolab.game import End, Invalid, Reply, Seat


class Dealt(msgspec.Struct, frozen=True, gc=False, tag="dealt"):
    """All chance is drawn; `state` is the start, everything included."""

    state: Any


class Replied(msgspec.Struct, frozen=True, gc=False, tag="replied"):
    """A seat's words as they came, legal or not."""

    seat: Seat
    reply: Reply


class Rejected(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, tag="rejected"):
    """The words before it, or an answer that never became words (`said`, if anything came), were no legal action."""

    seat: Seat
    invalid: Invalid
    wordless: bool = False
    said: Reply | None = None


class Stepped(msgspec.Struct, frozen=True, gc=False, tag="stepped"):
    """The waiting actions of these seats were played at once; replay parses their words again."""

    seats: tuple[Seat, ...]


class Forfeited(msgspec.Struct, frozen=True, gc=False, tag="forfeited"):
    """A seat's allowance was used up and the game's `forfeit` was called."""

    seat: Seat


class Ended(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, tag="ended"):
    """The match is over. `reason` is set when the engine stopped it rather than the rules."""

    end: End
    payoffs: dict[Seat, int | float | None]
    reason: str | None = None


Event = Dealt | Replied | Rejected | Stepped | Forfeited | Ended
