"""Measures of a bargaining match, derived from its events: a row of data, and its price compared with theory, in cents.

Column names in `interview_row` follow the data of johnjosephhorton/interview (2026) where those have them.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from typing import Any

from negolab.events import Forfeited, Rejected, Replied
from negolab.game import State
from negolab.games.bargaining.rules import Bargaining, fair_price
from negolab.games.bargaining.state import Private, Public
from negolab.record import Record, final_state, start_state
from negolab.theory import equilibrium, solutions


def interview_row(record: Record, late: int = 0) -> dict[str, Any]:
    """Return the columns of one match; `late` counts the human's texts after the end, which no event records."""
    game: Any = record.game
    state: State[Public, Private] = final_state(record)
    return {
        **_treatment_columns(record, game, state),
        **_deal_columns(record, state.public),
        **_surplus_columns(record, game, state),
        **_reply_columns(record),
        "late_messages": late,
        **_conduct_columns(state),
        **_deal_shape(state),
    }


def _reservation_values(state: State[Public, Private]) -> tuple[int, int]:
    value, cost = state.private["B"].value, state.private["A"].cost
    assert value is not None and cost is not None
    return value, cost


def _treatment_columns(record: Record, game: Bargaining, state: State[Public, Private]) -> dict[str, Any]:
    value, cost = _reservation_values(state)
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


def _deal_columns(record: Record, public: Public) -> dict[str, Any]:
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


def _surplus_columns(record: Record, game: Bargaining, state: State[Public, Private]) -> dict[str, Any]:
    human, ai = record.payoffs["B"], record.payoffs["A"]
    if human is None or ai is None:
        return dict.fromkeys(("total_surplus", "efficiency", "buyer_surplus_share"))
    value, cost = _reservation_values(state)
    alone = game.disagreement(state)
    total = human + ai - alone["A"] - alone["B"]
    possible = value - cost - game.outside_seller - game.outside_buyer
    deal = state.public.price is not None
    return {
        "total_surplus": total,
        "efficiency": total / possible if possible > 0 else None,
        "buyer_surplus_share": (human - alone["B"]) / total if deal and total != 0 else None,
    }


def _reply_columns(record: Record) -> dict[str, int]:
    human = [event for event in record.events if isinstance(event, Replied | Rejected) and event.seat == "B"]
    invalid = [event for event in human if isinstance(event, Rejected) and not event.wordless]
    return {
        "human_messages": sum(isinstance(event, Replied) for event in human),
        "reprompts": len(invalid),
        "ai_invalid": sum(isinstance(event, Rejected) and event.seat == "A" for event in record.events),
        "ai_fallbacks": sum(isinstance(event, Forfeited) and event.seat == "A" for event in record.events),
    }


def _conduct_columns(state: State[Public, Private]) -> dict[str, int]:
    """Count offers worse for their author than the one just refused, and the seller's offers below its cost."""
    public = state.public
    _, cost = _reservation_values(state)
    answers = [(seat, cents, refused) for (_, _, refused), (_, seat, cents) in pairwise(public.offers)]
    below = [cents for _, seat, cents in public.offers if seat == "A" and cents < cost]
    sold_below = public.by == "A" and public.price is not None and public.price < cost
    return {
        "disadvantageous_human": sum(seat == "B" and cents > refused for seat, cents, refused in answers),
        "disadvantageous_ai": sum(seat == "A" and cents < refused for seat, cents, refused in answers),
        "dominated_ai": sum(seat == "A" and cents <= refused for seat, cents, refused in answers),
        "ai_below_cost": len(below) + sold_below,
    }


def _deal_shape(state: State[Public, Private]) -> dict[str, bool | None]:
    public = state.public
    if public.price is None:
        return {"fifty_fifty": None, "last_round_deal": None}
    return {
        "fifty_fifty": 2 * public.price == sum(_reservation_values(state)),
        "last_round_deal": public.last_response,
    }


# Comparison with theory.


def measures(record: Record) -> dict[str, Any]:
    """Return the measures of a bargaining match beyond those common to all games.

    Returns:
        price: price of the deal; empty: no deal
        rounds: offers made
        price_less_spe: price minus that of the subgame-perfect equilibrium under complete information (Stahl 1972)
        price_less_nash: price minus that of the undiscounted Nash bargaining solution (Nash 1950)
        midpoint_deal: true: the price is exactly halfway between cost and value
        last_round_deal: true: the deal was made in the last round
        disadvantageous: the seat's offers that were worse for it than the offer it had just refused
    """
    state: State[Public, Private] = final_state(record)
    price, conduct, shape = state.public.price, _conduct_columns(state), _deal_shape(state)
    return {
        "price": price,
        "rounds": len(state.public.offers),
        "price_less_spe": _difference(price, spe_price(record)),
        "price_less_nash": _difference(price, nash_price(record)),
        "midpoint_deal": shape["fifty_fifty"],
        "last_round_deal": shape["last_round_deal"],
        "disadvantageous_a": conduct["disadvantageous_ai"],
        "disadvantageous_b": conduct["disadvantageous_human"],
    }


_spe_path = lru_cache(maxsize=1024)(equilibrium.spe_path)
_nash_price = lru_cache(maxsize=1024)(solutions.nash)
"""Exact fractions are slow, and matches with the same deal share them."""


def spe_price(record: Record) -> float | None:
    """Return the price in cents of the subgame-perfect equilibrium under complete information, which ends in round 1.

    Stahl 1972, see `theory.equilibrium.spe_path`; computed even if the seats did not know each other's numbers. None
    with outside options, for which the path is not defined, or if no price benefits both.
    """
    game: Any = record.game
    value, cost = _reservation_values(start_state(record))
    if game.outside_seller or game.outside_buyer:
        return None
    discounts = game.discount_seller, game.discount_buyer
    return _spe_path(game.rounds, value, cost, *discounts, game.opener)[0]


def nash_price(record: Record) -> float | None:
    """Return the price in cents of the undiscounted Nash bargaining solution with equal power.

    Nash 1950, see `theory.solutions.nash`. None if no price in range pays both at least their outside option.
    """
    game: Any = record.game
    value, cost = _reservation_values(start_state(record))
    outside = game.outside_seller, game.outside_buyer
    return _nash_price(value, cost, *outside, 0.5, game.price_lo, game.price_hi)


def _difference(price: int | None, benchmark: float | None) -> float | None:
    return None if price is None or benchmark is None else price - benchmark


MEASURES = measures
"""All measures of a match together, because they share one replay."""
