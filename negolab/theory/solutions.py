"""Cooperative solutions of one price between a cost and a value, and of any frontier of two payoffs; and
take-it-or-leave-it prices against a prior.

Nash 1950; Kalai and Smorodinsky 1975. Prices are in cents; the feasible ones are those in range that pay both sides
their outside option.
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


# A frontier: undominated pairs of payoffs (a, b) by rising a.

Pair = tuple[float, float]


def nash_point(frontier: Sequence[Pair], disagreement: Pair, joined: bool) -> Pair | None:
    """The pair with the largest product of gains over `disagreement`, the first of several; None if no pair gives both
    at least that. `joined`: the frontier is the line through its pairs, which must be concave."""
    found = [
        max((_on(piece, share) for share in (0, _best_share(piece), 1)), key=_product)
        for piece in _pieces(frontier, disagreement, joined)
    ]
    return _placed(max(found, key=_product, default=None), disagreement)


def kalai_smorodinsky_point(frontier: Sequence[Pair], disagreement: Pair, joined: bool) -> Pair | None:
    """The pair where both get the same part of the most they could get above `disagreement`; where none is joined to
    its neighbours, the one whose smaller part is largest. None if no pair gives both at least `disagreement`."""
    pieces = list(_pieces(frontier, disagreement, joined))
    if not pieces:
        return None
    top_a, top_b = max(end[0] for _, end in pieces), max(start[1] for start, _ in pieces)

    def smaller_part(gains: Gains) -> tuple[Fraction, Fraction]:
        parts = (gains[0] / top_a if top_a else Fraction(1), gains[1] / top_b if top_b else Fraction(1))
        return min(parts), max(parts)

    found = (_on(piece, share) for piece in pieces for share in (0, _level_share(piece, top_a, top_b), 1))
    return _placed(max(found, key=smaller_part), disagreement)


Gains = tuple[Fraction, Fraction]


def _pieces(frontier: Sequence[Pair], disagreement: Pair, joined: bool) -> Iterator[tuple[Gains, Gains]]:
    """The parts of the frontier that give both at least `disagreement`, as gains over it: line by line, or pair by
    pair, each a line of no length."""
    gains = [(Fraction(a) - Fraction(disagreement[0]), Fraction(b) - Fraction(disagreement[1])) for a, b in frontier]
    lines = list(pairwise(gains)) if joined and len(gains) > 1 else [(pair, pair) for pair in gains]
    for start, end in lines:
        low = _share_at(start[0], end[0]) if start[0] < 0 else Fraction(0)
        high = _share_at(start[1], end[1]) if end[1] < 0 else Fraction(1)
        if low is not None and high is not None and low <= high:
            yield _on((start, end), low), _on((start, end), high)


def _share_at(start: Fraction, end: Fraction) -> Fraction | None:
    """Where on the way from `start` to `end` 0 is met; None: nowhere."""
    share = start / (start - end) if start != end else None
    return share if share is not None and 0 <= share <= 1 else None


def _on(piece: tuple[Gains, Gains], share: Fraction | int) -> Gains:
    (a, b), (c, d) = piece
    return a + (c - a) * share, b + (d - b) * share


def _product(gains: Gains) -> Fraction:
    return gains[0] * gains[1]


def _best_share(piece: tuple[Gains, Gains]) -> Fraction:
    """Where on the line the product is largest: the top of its parabola, kept on the line."""
    (a, b), (c, d) = piece
    bend = 2 * (c - a) * (d - b)
    return min(max(-(a * (d - b) + b * (c - a)) / bend, Fraction(0)), Fraction(1)) if bend else Fraction(0)


def _level_share(piece: tuple[Gains, Gains], top_a: Fraction, top_b: Fraction) -> Fraction:
    """Where on the line both have the same part of their tops, kept on the line."""
    (a, b), (c, d) = piece
    gap, change = a * top_b - b * top_a, (c - a) * top_b - (d - b) * top_a
    return min(max(-gap / change, Fraction(0)), Fraction(1)) if change else Fraction(0)


def _placed(gains: Gains | None, disagreement: Pair) -> Pair | None:
    if gains is None:
        return None
    return float(gains[0] + Fraction(disagreement[0])), float(gains[1] + Fraction(disagreement[1]))


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
