"""One row of data per bargaining match, derived from its events alone, and its price against theory. Money in cents.

Column names of `row` follow the data of johnjosephhorton/interview (2026) where it has them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from negolab.events import Forfeited, Rejected, Replied
from negolab.game import Seat, State
from negolab.games.bargaining.money import dollars
from negolab.games.bargaining.rules import Bargaining, fair_price
from negolab.games.bargaining.state import Private, Public
from negolab.record import Record, final, start
from negolab.theory import equilibrium, solutions

MONEY = frozenset(
    (
        *("buyer_value", "seller_cost", "zopa", "fair_price", "deal_price", "human_earnings", "ai_earnings"),
        *("total_surplus", "ai_opening_offer", "human_counteroffer", "ai_final_offer"),
    )
)
"""Columns in cents."""


def row(record: Record, late: int = 0) -> dict[str, Any]:
    """The columns of one match; `late` counts the human's texts after the end, which no event holds."""
    game: Any = record.game
    state: State[Public, Private] = final(record)
    return {
        **_cell(record, game, state),
        **_deal(record, game, state.public),
        **_surplus(record, game, state),
        **_replies(record),
        "late_messages": late,
        **_conduct(state),
        **_shape(state),
    }


def _numbers(state: State[Public, Private]) -> tuple[int, int]:
    value, cost = state.private["B"].value, state.private["A"].cost
    assert value is not None and cost is not None
    return value, cost


def _cell(record: Record, game: Bargaining, state: State[Public, Private]) -> dict[str, Any]:
    value, cost = _numbers(state)
    return {
        "session_id": record.id,
        "treatment": game.treatment,
        "preset": record.header.preset,
        "opponent_label": record.header.players.get("A"),
        "buyer_value": value,
        "seller_cost": cost,
        "zopa": value - cost,
        "fair_price": fair_price(value, cost),
    }


def _deal(record: Record, game: Bargaining, public: Public) -> dict[str, Any]:
    by_ai = [cents for _, seat, cents in public.offers if seat == "A"]
    by_human = [cents for _, seat, cents in public.offers if seat == "B"]
    deal = public.price is not None
    return {
        "deal_reached": deal,
        "deal_price": public.price,
        "human_earnings": record.payoffs["B"],
        "ai_earnings": record.payoffs["A"],
        "rounds_to_deal": len(public.offers) if deal else None,
        "rounds_played": len(public.offers),
        "ai_opening_offer": by_ai[0] if by_ai else None,
        "human_counteroffer": by_human[0] if by_human else None,
        "ai_final_offer": by_ai[-1] if by_ai else None,
    }


def _surplus(record: Record, game: Bargaining, state: State[Public, Private]) -> dict[str, Any]:
    human, ai = record.payoffs["B"], record.payoffs["A"]
    if human is None or ai is None:
        return dict.fromkeys(("total_surplus", "efficiency", "buyer_surplus_share"))
    value, cost = _numbers(state)
    alone = game.disagreement(state)
    total = human + ai - alone["A"] - alone["B"]
    possible = value - cost - game.outside_seller - game.outside_buyer
    deal = state.public.price is not None
    return {
        "total_surplus": total,
        "efficiency": total / possible if possible > 0 else None,
        "buyer_surplus_share": (human - alone["B"]) / total if deal and total != 0 else None,
    }


def _replies(record: Record) -> dict[str, int]:
    human = [event for event in record.events if isinstance(event, Replied | Rejected) and event.seat == "B"]
    invalid = [event for event in human if isinstance(event, Rejected) and not event.wordless]
    return {
        "human_messages": sum(isinstance(event, Replied) for event in human),
        "reprompts": len(invalid),
        "ai_invalid": sum(isinstance(event, Rejected) and event.seat == "A" for event in record.events),
        "ai_fallbacks": sum(isinstance(event, Forfeited) and event.seat == "A" for event in record.events),
    }


def _conduct(state: State[Public, Private]) -> dict[str, int]:
    """Offers worse for oneself than the one just refused, and the seller's below its cost."""
    public = state.public
    _, cost = _numbers(state)
    answers = [(seat, cents, refused) for (_, _, refused), (_, seat, cents) in _pairs(public)]
    below = [cents for _, seat, cents in public.offers if seat == "A" and cents < cost]
    sold_below = public.by == "A" and public.price is not None and public.price < cost
    return {
        "disadvantageous_human": sum(seat == "B" and cents > refused for seat, cents, refused in answers),
        "disadvantageous_ai": sum(seat == "A" and cents < refused for seat, cents, refused in answers),
        "dominated_ai": sum(seat == "A" and cents <= refused for seat, cents, refused in answers),
        "ai_below_cost": len(below) + sold_below,
    }


def _pairs(public: Public) -> Iterable[tuple[tuple[int, Seat, int], tuple[int, Seat, int]]]:
    return zip(public.offers, public.offers[1:], strict=False)


def _shape(state: State[Public, Private]) -> dict[str, bool | None]:
    public = state.public
    if public.price is None:
        return {"fifty_fifty": None, "last_round_deal": None}
    return {
        "fifty_fifty": 2 * public.price == sum(_numbers(state)),
        "last_round_deal": public.last_response,
    }


# Against theory.


def measures(record: Record) -> dict[str, Any]:
    """What `measures.of` says of bargaining besides: price and its distances in cents, `rounds` (offers made),
    `midpoint_deal` (exactly half way between cost and value) and `last_round_deal`, and per seat how often an offer was
    worse for its author than the one just refused."""
    state: State[Public, Private] = final(record)
    price, conduct, shape = state.public.price, _conduct(state), _shape(state)
    return {
        "price": price,
        "rounds": len(state.public.offers),
        "price_less_spe": _less(price, spe_price(record)),
        "price_less_nash": _less(price, nash_price(record)),
        "midpoint_deal": shape["fifty_fifty"],
        "last_round_deal": shape["last_round_deal"],
        "disadvantageous_a": conduct["disadvantageous_ai"],
        "disadvantageous_b": conduct["disadvantageous_human"],
    }


def spe_price(record: Record) -> float | None:
    """The price, in cents, at which the subgame-perfect equilibrium under complete information ends in round 1 (Stahl
    1972; `theory.equilibrium.spe_path`), also where the seats did not know each other's numbers. None with outside
    options, for which the path is not defined, and where no price gains both."""
    game: Any = record.game
    value, cost = _numbers(start(record))
    if game.outside_seller or game.outside_buyer or value <= cost:
        return None
    discounts = game.discount_seller, game.discount_buyer
    return equilibrium.spe_path(game.rounds, value, cost, *discounts, game.opener)[0]


def nash_price(record: Record) -> float | None:
    """The price, in cents, of the Nash bargaining solution with equal power, undiscounted (Nash 1950;
    `theory.solutions.nash`). None if no price in range pays both at least their outside option."""
    game: Any = record.game
    value, cost = _numbers(start(record))
    outside = game.outside_seller, game.outside_buyer
    return solutions.nash(value, cost, *outside, 0.5, game.price_lo, game.price_hi)


def price_less_spe(record: Record) -> float | None:
    """The deal's price less `spe_price`, in cents: positive is to the seller's favour. None without a deal too."""
    return _less(final(record).public.price, spe_price(record))


def price_less_nash(record: Record) -> float | None:
    """The deal's price less `nash_price`, in cents: positive is to the seller's favour. None without a deal too."""
    return _less(final(record).public.price, nash_price(record))


def _less(price: int | None, benchmark: float | None) -> float | None:
    return None if price is None or benchmark is None else price - benchmark


# As text.


def cells(columns: dict[str, Any]) -> dict[str, str]:
    """A row for CSV: dollars with two decimals, empty for nothing, and no text that a spreadsheet would compute."""
    return {name: _money_cell(value) if name in MONEY else _cell_text(value) for name, value in columns.items()}


def _money_cell(cents: float | None) -> str:
    return "" if cents is None else dollars(cents)


def _cell_text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return f"'{value}" if value.startswith(("=", "+", "-", "@", "\t", "\r")) else value
    return str(value)
