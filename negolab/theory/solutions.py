"""Cooperative solutions for a price between cost and value and for any frontier of two payoffs, and optimal
take-it-or-leave-it prices against a prior.

Nash 1950; Kalai and Smorodinsky 1975. Prices are in cents; the feasible ones are those in range that pay both sides at
least their outside option.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import pairwise
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
    """Return the Nash bargaining price, which maximizes gain_seller**power * gain_buyer**(1 - power) (Nash 1950).

    Args:
        value: The buyer's value in cents.
        cost: The seller's cost in cents.
        outside_seller: What the seller earns without a deal, in cents.
        outside_buyer: What the buyer earns without a deal, in cents.
        power: The seller's bargaining power, from 0 to 1.
        price_lo: Lowest price allowed.
        price_hi: Highest price allowed.

    Returns:
        The price in cents; None if no price pays both at least their outside option.

    Example:
        >>> nash(6500, 4000)
        5250.0
    """
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
    """Return the price that gives both sides the same share of the most they could get (Kalai and Smorodinsky 1975).

    Arguments and result are as for `nash`.
    """
    prices = _feasible(value, cost, outside_seller, outside_buyer, price_lo, price_hi)
    if prices is None:
        return None
    base = Fraction(cost) + Fraction(outside_seller)
    ideal_seller, ideal_buyer = prices[1] - base, Fraction(value) - Fraction(outside_buyer) - prices[0]
    if ideal_seller + ideal_buyer == 0:
        return float(prices[0])
    gain = Fraction(value) - Fraction(outside_buyer) - base
    return float(base + ideal_seller * gain / (ideal_seller + ideal_buyer))


# A frontier: undominated pairs of payoffs (a, b) in rising order of a.

Pair = tuple[float, float]


def nash_point(frontier: Sequence[Pair], disagreement: Pair, joined: bool) -> Pair | None:
    """Return the point of a frontier with the largest product of gains over `disagreement` (Nash 1950).

    Args:
        frontier: Undominated pairs of payoffs (A, B) in rising order of A's.
        disagreement: Payoffs without a deal.
        joined: True if the frontier is the line through its pairs, which must be concave.

    Returns:
        The first such pair; None if no pair gives both at least their disagreement payoff.

    Example:
        >>> nash_point([(0, 4), (3, 3), (4, 0)], (0, 0), joined=False)
        (3.0, 3.0)
    """
    found = [
        max((_point_on(piece, share) for share in (0, _best_share(piece), 1)), key=_product)
        for piece in _pieces(frontier, disagreement, joined)
    ]
    return _payoffs_of(max(found, key=_product, default=None), disagreement)


def ideal_gains(frontier: Sequence[Pair], disagreement: Pair, joined: bool) -> Gains | None:
    """Return each seat's largest gain over `disagreement` at which the other does not lose.

    Arguments and result are as for `nash_point`; both gains are exact.
    """
    ends = [end for piece in _pieces(frontier, disagreement, joined) for end in piece]
    return (max(a for a, _ in ends), max(b for _, b in ends)) if ends else None


def kalai_smorodinsky_point(frontier: Sequence[Pair], disagreement: Pair, joined: bool) -> Pair | None:
    """Return the point of a frontier at which the smaller share of the `ideal_gains` is largest (Kalai and Smorodinsky
    1975).

    Arguments and result are as for `nash_point`.

    Example:
        >>> kalai_smorodinsky_point([(0, 4), (8, 0)], (0, 0), joined=True)
        (4.0, 2.0)
    """
    top_a, top_b = ideal_gains(frontier, disagreement, joined) or (1, 1)

    def lead(gains: Gains) -> Fraction:
        return gains[0] * top_b - gains[1] * top_a

    def smaller_share(gains: Gains) -> Fraction:
        return min(gains[0] * top_b, gains[1] * top_a)

    found = [
        _point_on(piece, share)
        for piece in _pieces(frontier, disagreement, joined)
        for share in (0, _share_at(*map(lead, piece)) or 0, 1)
    ]
    return _payoffs_of(max(found, key=smaller_share, default=None), disagreement)


Gains = tuple[Fraction, Fraction]


def _pieces(frontier: Sequence[Pair], disagreement: Pair, joined: bool) -> Iterator[tuple[Gains, Gains]]:
    """Yield the parts of the frontier that give both seats at least `disagreement`, as gains over it: line by line, or
    pair by pair, each as a line of length 0."""
    gains = [(Fraction(a) - Fraction(disagreement[0]), Fraction(b) - Fraction(disagreement[1])) for a, b in frontier]
    lines = list(pairwise(gains)) if joined and len(gains) > 1 else [(pair, pair) for pair in gains]
    for start, end in lines:
        low = _share_at(start[0], end[0]) if start[0] < 0 else Fraction(0)
        high = _share_at(start[1], end[1]) if end[1] < 0 else Fraction(1)
        if low is not None and high is not None and low <= high:
            yield _point_on((start, end), low), _point_on((start, end), high)


def _share_at(start: Fraction, end: Fraction) -> Fraction | None:
    """Return the share of the way from `start` to `end` at which 0 is reached; None if it is not."""
    share = start / (start - end) if start != end else None
    return share if share is not None and 0 <= share <= 1 else None


def _point_on(piece: tuple[Gains, Gains], share: Fraction | int) -> Gains:
    (a, b), (c, d) = piece
    return piece[0] if piece[0] is piece[1] else (a + (c - a) * share, b + (d - b) * share)


def _product(gains: Gains) -> Fraction:
    return gains[0] * gains[1]


def _best_share(piece: tuple[Gains, Gains]) -> Fraction:
    """Return the share of the line at which the product is largest: the top of its parabola, kept on the line."""
    (a, b), (c, d) = piece
    bend = 2 * (c - a) * (d - b)
    return min(max(-(a * (d - b) + b * (c - a)) / bend, Fraction(0)), Fraction(1)) if bend else Fraction(0)


def _payoffs_of(gains: Gains | None, disagreement: Pair) -> Pair | None:
    if gains is None:
        return None
    return float(gains[0] + Fraction(disagreement[0])), float(gains[1] + Fraction(disagreement[1]))


# Take-it-or-leave-it prices; if no price could gain anything, there is none: None or [], and a gain of 0.


def _clip(price: Fraction, low: float, high: float) -> Fraction:
    return min(max(price, Fraction(low)), Fraction(high))


def _chance(part: Fraction, low: float, high: float) -> Fraction:
    return part / (Fraction(high) - Fraction(low)) if high > low else Fraction(1)


def ask_uniform(cost: float, low: float, high: float) -> tuple[float | None, float]:
    """Return the best ask and its expected gain against a value drawn from U[low, high]."""
    if cost >= high:
        return None, 0.0
    price = _clip((Fraction(high) + Fraction(cost)) / 2, low, high)
    return float(price), float((price - Fraction(cost)) * _chance(Fraction(high) - price, low, high))


def bid_uniform(value: float, low: float, high: float) -> tuple[float | None, float]:
    """Return the best bid and its expected gain against a cost drawn from U[low, high]."""
    if value <= low:
        return None, 0.0
    price = _clip((Fraction(value) + Fraction(low)) / 2, low, high)
    return float(price), float((Fraction(value) - price) * _chance(price - Fraction(low), low, high))


def ask_set(cost: float, values: Sequence[float]) -> tuple[list[float], float]:
    """Return all best asks, ascending, and their expected gain against equally likely values."""
    gains = {price: (Fraction(price) - Fraction(cost)) * sum(v >= price for v in values) for price in values}
    return _best(gains, len(values))


def bid_set(value: float, costs: Sequence[float]) -> tuple[list[float], float]:
    """Return all best bids, ascending, and their expected gain against equally likely costs."""
    gains = {price: (Fraction(value) - Fraction(price)) * sum(c <= price for c in costs) for price in costs}
    return _best(gains, len(costs))


def _best(gains: dict[float, Fraction], count: int) -> tuple[list[float], float]:
    top = max(gains.values())
    if top <= 0:
        return [], 0.0
    return sorted(price for price, gain in gains.items() if gain == top), float(top / count)
