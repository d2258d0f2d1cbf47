"""States and moves of trading, and arithmetic on goods vectors: five integers, Wheat first, Ore last."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

import msgspec

from negolab.game import Observation, Seat, State

GOODS = ("Wheat", "Wood", "Sheep", "Brick", "Ore")
Goods = tuple[int, int, int, int, int]
Deal = tuple[Goods, Goods]
"""The goods that the speaker gives and those that it wants."""

NOTHING: Goods = (0, 0, 0, 0, 0)


def add(x: Goods, y: Goods) -> Goods:
    """Return x + y."""
    a, b, c, d, e = x
    f, g, h, i, j = y
    return a + f, b + g, c + h, d + i, e + j


def subtract(x: Goods, y: Goods) -> Goods:
    """Return x - y."""
    a, b, c, d, e = x
    f, g, h, i, j = y
    return a - f, b - g, c - h, d - i, e - j


def worth(goods: Goods, values: Goods) -> int:
    """Return the worth of goods at these values, their dot product."""
    a, b, c, d, e = goods
    f, g, h, i, j = values
    return a * f + b * g + c * h + d * i + e * j


def to_goods(amounts: Iterable[int]) -> Goods:
    """Return five amounts as a vector of goods."""
    a, b, c, d, e = amounts
    return a, b, c, d, e


def covers(holdings: Goods, wanted: Goods) -> bool:
    """Return True if the holdings contain at least the wanted units of every good."""
    a, b, c, d, e = holdings
    f, g, h, i, j = wanted
    return a >= f and b >= g and c >= h and d >= i and e >= j


def exchange(holdings: Goods, out: Goods, into: Goods) -> Goods:
    """Return the holdings after giving `out` and receiving `into`."""
    return add(subtract(holdings, out), into)


def format_goods(goods: Goods) -> str:
    """List the goods that are not zero as `2 Wheat, 1 Ore`."""
    return ", ".join(f"{n} {name}" for n, name in zip(goods, GOODS, strict=True) if n)


def single_good(good: int, amount: int) -> Goods:
    """Return the vector of an amount of one good, by its index."""
    row = [0, 0, 0, 0, 0]
    row[good] = amount
    return to_goods(row)


class Offer(msgspec.Struct, frozen=True, gc=False):
    """A waiting offer, from its proposer's side."""

    by: Seat
    give: Goods
    want: Goods


class Entry(msgspec.Struct, frozen=True, gc=False):
    """A delivered message and its effects: the trade it executed, whether it refused an offer, the offer it made."""

    seat: Seat
    text: str
    trade: Offer | None = None
    denied: bool = False
    offer: Offer | None = None


class Public(msgspec.Struct, frozen=True, gc=False):
    """The public state. `turn` counts the messages played; `end` is `limit`, `forfeit` or None."""

    turn: int
    max_turns: int
    to_move: Seat | None
    waiting: Offer | None = None
    messages: tuple[Entry, ...] = ()
    end: Literal["limit", "forfeit"] | None = None
    loser: Seat | None = None


class Private(msgspec.Struct, frozen=True, gc=False):
    """A seat's goods and values. TextArena's rules use `errors` (tolerated this turn) and `notices` (all)."""

    holdings: Goods
    values: Goods
    start: Goods
    errors: int = 0
    notices: tuple[str, ...] = ()


class Move(msgspec.Struct, frozen=True, gc=False):
    """A parsed message: its reply tokens and its first offer (give, want). `malformed` is for TextArena's rules
    only."""

    text: str
    accept: bool = False
    deny: bool = False
    offer: Deal | None = None
    malformed: bool = False
    warnings: tuple[str, ...] = ()


Position = State[Public, Private]
Seen = Observation[Public, Private]


def gain(own: Private) -> int:
    """Return the worth of the holdings minus their worth at the start, at the seat's own values."""
    return worth(subtract(own.holdings, own.start), own.values)


def incoming_offer(seen: Seen) -> Offer | None:
    """Return the other seat's waiting offer, if any."""
    waiting = seen.public.waiting
    return waiting if waiting is not None and waiting.by != seen.seat else None


def can_accept(seen: Seen) -> bool:
    """Return True if the other's offer is waiting and the seat holds what it wants."""
    incoming = incoming_offer(seen)
    return incoming is not None and covers(seen.private.holdings, incoming.want)


def holdings_after(seen: Seen, *, accepted: bool) -> Goods:
    """Return what the seat holds once it has answered the other's offer, if one waits."""
    incoming, held = incoming_offer(seen), seen.private.holdings
    return exchange(held, incoming.want, incoming.give) if accepted and incoming is not None else held


def execute_trade(private: Mapping[Seat, Private], deal: Offer, seat: Seat) -> dict[Seat, Private]:
    """Return both private states after `seat` accepted `deal`; accepting one's own offer changes nothing."""
    if deal.by == seat:
        return dict(private)
    taker, giver = private[seat], private[deal.by]
    if not (covers(taker.holdings, deal.want) and covers(giver.holdings, deal.give)):
        raise ValueError(f"seat {seat} cannot accept: one side does not have the goods in the offer")
    return {
        **private,
        seat: _with_holdings(taker, exchange(taker.holdings, deal.want, deal.give)),
        deal.by: _with_holdings(giver, exchange(giver.holdings, deal.give, deal.want)),
    }


def _with_holdings(own: Private, holdings: Goods) -> Private:
    return Private(holdings, own.values, own.start, own.errors, own.notices)


def has_traded(public: Public) -> bool:
    """Return True if there was a trade between the seats."""
    return any(is_trade(entry) for entry in public.messages)


def is_trade(entry: Entry) -> bool:
    """Return True if the message executed a trade between different seats."""
    return entry.trade is not None and entry.trade.by != entry.seat
