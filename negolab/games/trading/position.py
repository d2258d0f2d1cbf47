"""What is true at the table and who may see it: the values of the game, and what a trade does to them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

from negolab.game import Observation, Seat, State
from negolab.games.trading.goods import Deal, Goods, covers, minus, swap, worth


class Offer(msgspec.Struct, frozen=True, gc=False):
    """A waiting offer, seen from its proposer."""

    by: Seat
    give: Goods
    want: Goods


class Entry(msgspec.Struct, frozen=True, gc=False):
    """One delivered message and what it did: the trade it executed, whether it refused one, the offer it made."""

    seat: Seat
    text: str
    trade: Offer | None = None
    denied: bool = False
    offer: Offer | None = None


class Public(msgspec.Struct, frozen=True, gc=False):
    """What both see. `turn` counts the messages played; `end` is `limit`, `forfeit` or None."""

    turn: int
    max_turns: int
    to_move: Seat | None
    waiting: Offer | None = None
    messages: tuple[Entry, ...] = ()
    end: Literal["limit", "forfeit"] | None = None
    loser: Seat | None = None


class Private(msgspec.Struct, frozen=True, gc=False):
    """A seat's goods and values. TextArena's rules use `errors` (tolerated in this turn) and `notices` (all)."""

    holdings: Goods
    values: Goods
    start: Goods
    errors: int = 0
    notices: tuple[str, ...] = ()


class Move(msgspec.Struct, frozen=True, gc=False):
    """A message as read: its reply tokens and its first offer (give, want). `malformed` only in TextArena's rules."""

    text: str
    accept: bool = False
    deny: bool = False
    offer: Deal | None = None
    malformed: bool = False
    warnings: tuple[str, ...] = ()


Position = State[Public, Private]
Seen = Observation[Public, Private]


def gain(own: Private) -> int:
    """Worth now minus worth at the start, at the seat's own values."""
    return worth(minus(own.holdings, own.start), own.values)


def traded(private: Mapping[Seat, Private], deal: Offer, seat: Seat) -> dict[Seat, Private]:
    """Both sides after `seat` accepted `deal`; a proposer who accepts its own changes nothing."""
    if deal.by == seat:
        return dict(private)
    taker, giver = private[seat], private[deal.by]
    if not (covers(taker.holdings, deal.want) and covers(giver.holdings, deal.give)):
        raise ValueError(f"seat {seat} cannot accept: the goods of the offer are not there")
    return {
        **private,
        seat: _holding(taker, swap(taker.holdings, deal.want, deal.give)),
        deal.by: _holding(giver, swap(giver.holdings, deal.give, deal.want)),
    }


def _holding(own: Private, holdings: Goods) -> Private:
    return Private(holdings, own.values, own.start, own.errors, own.notices)


def has_traded(public: Public) -> bool:
    """Whether goods went from one seat to the other."""
    return any(crossed(entry) for entry in public.messages)


def crossed(entry: Entry) -> bool:
    """Whether this message executed a trade between different seats."""
    return entry.trade is not None and entry.trade.by != entry.seat
