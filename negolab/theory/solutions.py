"""Cooperative solutions of one price between a cost and a value, and take-it-or-leave-it prices against a prior.

Cents in, cents out. Nash 1950; Kalai and Smorodinsky 1975. The feasible prices are those in range that pay both sides
their outside option.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import inf


def _feasible(
    value: float, cost: float, outside_seller: float, outside_buyer: float, price_lo: float, price_hi: float
) -> tuple[Fraction, Fraction] | None:
    low, high = max(price_lo, cost + outside_seller), min(price_hi, value - outside_buyer)
    return None if low > high else (Fraction(low), Fraction(high))


def nash(
    value: float,
    cost: float,
    outside_seller: float = 0,
    outside_buyer: float = 0,
    power: float = 0.5,
    price_lo: float = 0,
    price_hi: float = inf,
) -> float | None:
    """The price that maximises gain_seller**power * gain_buyer**(1 - power); None if there is no feasible price."""
    prices = _feasible(value, cost, outside_seller, outside_buyer, price_lo, price_hi)
    if prices is None:
        return None
    gain = Fraction(value) - Fraction(cost) - Fraction(outside_seller) - Fraction(outside_buyer)
    price = Fraction(cost) + Fraction(outside_seller) + Fraction(repr(float(power))) * gain
    return float(min(max(price, prices[0]), prices[1]))


def kalai_smorodinsky(
    value: float,
    cost: float,
    outside_seller: float = 0,
    outside_buyer: float = 0,
    price_lo: float = 0,
    price_hi: float = inf,
) -> float | None:
    """The price at which both get the same part of the most they could get; None if there is no feasible price."""
    prices = _feasible(value, cost, outside_seller, outside_buyer, price_lo, price_hi)
    if prices is None:
        return None
    base = Fraction(cost) + Fraction(outside_seller)
    ideal_seller, ideal_buyer = prices[1] - base, Fraction(value) - Fraction(outside_buyer) - prices[0]
    if ideal_seller + ideal_buyer == 0:
        return float(prices[0])
    gain = Fraction(value) - Fraction(outside_buyer) - base
    return float(base + ideal_seller * gain / (ideal_seller + ideal_buyer))


# One price, no answer but yes or no.


def _clip(price: Fraction, low: float, high: float) -> Fraction:
    return min(max(price, Fraction(low)), Fraction(high))


def _chance(part: Fraction, low: float, high: float) -> Fraction:
    return part / (Fraction(high) - Fraction(low)) if high > low else Fraction(1)


def ask_uniform(cost: float, low: float, high: float) -> tuple[float, float]:
    """The best ask and its expected gain against a value drawn from U[low, high]."""
    price = _clip((Fraction(high) + Fraction(cost)) / 2, low, high)
    return float(price), float((price - Fraction(cost)) * _chance(Fraction(high) - price, low, high))


def bid_uniform(value: float, low: float, high: float) -> tuple[float, float]:
    """The best bid and its expected gain against a cost drawn from U[low, high]."""
    price = _clip((Fraction(value) + Fraction(low)) / 2, low, high)
    return float(price), float((Fraction(value) - price) * _chance(price - Fraction(low), low, high))


def ask_set(cost: float, values: Sequence[float]) -> tuple[list[float], float]:
    """All best asks, ascending, and their expected gain against equally likely values."""
    gains = {price: (Fraction(price) - Fraction(cost)) * sum(v >= price for v in values) for price in values}
    return _best(gains, len(values))


def bid_set(value: float, costs: Sequence[float]) -> tuple[list[float], float]:
    """All best bids, ascending, and their expected gain against equally likely costs."""
    gains = {price: (Fraction(value) - Fraction(price)) * sum(c <= price for c in costs) for price in costs}
    return _best(gains, len(costs))


def _best(gains: dict[float, Fraction], count: int) -> tuple[list[float], float]:
    top = max(gains.values())
    return sorted(price for price, gain in gains.items() if gain == top), float(top / count)
