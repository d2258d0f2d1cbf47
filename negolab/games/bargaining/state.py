"""States and actions of bargaining: public terms, offers and messages, and one private number for each seat."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from negolab.game import Observation, Seat

Status = Literal["in_progress", "deal_reached", "no_deal"]
Opener = Literal["seller", "buyer"]
Rounds = Annotated[int, msgspec.Meta(ge=1, le=100_000)]
Talk = Literal["none", "seller", "both"]
Frame = Literal["profit", "keeps_item"]
Told = tuple[str | int, ...]
"""A seat's knowledge of the other's number: a word, then the ends of a range or the members of a set, in cents."""

SEAT_NAMES: dict[Seat, str] = {"A": "AI", "B": "Human"}
"""Names of the seller and the buyer in the status box and the data."""


class Terms(msgspec.Struct, frozen=True, gc=False):
    """The parameters that both participants may know."""

    rounds: Rounds
    opener: Opener
    price_lo: int
    price_hi: int
    buyer_told: Told
    seller_told: Told
    frame: Frame
    talk: Talk
    walk_away: bool
    discount_seller: float
    discount_buyer: float
    outside_seller: int
    outside_buyer: int


class Public(msgspec.Struct, frozen=True, gc=False):
    """`offers` are (round, seat, cents), `messages` (round, seat, text); `value` and `cost` are None unless public.

    `by` is the seat that ended the game; `forfeited` says that it used up its allowance of invalid replies.
    """

    terms: Terms
    offers: tuple[tuple[int, Seat, int], ...] = ()
    messages: tuple[tuple[int, Seat, str], ...] = ()
    status: Status = "in_progress"
    price: int | None = None
    by: Seat | None = None
    forfeited: bool = False
    value: int | None = None
    cost: int | None = None

    @property
    def over(self) -> bool:
        return self.status != "in_progress"

    @property
    def standing(self) -> int | None:
        """The last offer's price in cents."""
        return self.offers[-1][2] if self.offers else None

    @property
    def last_response(self) -> bool:
        """True if the last round's offer stands, which can only be accepted or rejected."""
        return len(self.offers) == self.terms.rounds


class Private(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A knows its `cost`, B its `value`; the other field stays empty."""

    cost: int | None = None
    value: int | None = None


class Offer(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, tag="offer"):
    """A price in cents, with a message if the seat may talk."""

    cents: int
    message: str = ""


class Accept(msgspec.Struct, frozen=True, gc=False, tag="accept"):
    """Accept the standing offer."""


class Reject(msgspec.Struct, frozen=True, gc=False, tag="reject"):
    """End the game without a deal: at the last response, or at any response if walking away is allowed."""


Action = Offer | Accept | Reject
Seen = Observation[Public, Private]


def reservation_value(seen: Seen) -> int:
    """Return the seat's reservation value in cents: the seller's cost, the buyer's value."""
    number = seen.private.cost if seen.seat == "A" else seen.private.value
    assert number is not None
    return number


def may_talk(talk: Talk, seat: Seat) -> bool:
    """Return True if the seat's messages are delivered."""
    return talk == "both" or (talk == "seller" and seat == "A")


_OFFER_OUTCOMES = {"in_progress": "open", "deal_reached": "accepted", "no_deal": "rejected"}


def history(public: Public) -> list[dict[str, Any]]:
    """Return one row per offer with its outcome."""
    last = len(public.offers)
    return [
        {
            "round": number,
            "offerer": SEAT_NAMES[seat],
            "price": cents,
            "outcome": "countered" if number < last else _OFFER_OUTCOMES[public.status],
        }
        for number, seat, cents in public.offers
    ]
