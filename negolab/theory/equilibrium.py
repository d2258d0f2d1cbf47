"""Subgame-perfect equilibrium of alternating offers over one price, with complete information. Prices in cents.

S = value - cost is divided; a deal in round t is worth d**(t-1) of it to each side. Stahl 1972 for finitely many
rounds, Rubinstein 1982 for infinitely many. Discounts are taken at their decimal face value and computed exactly.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor
from typing import Literal

Side = Literal["seller", "buyer"]


def _exact(discount: float) -> Fraction:
    return Fraction(repr(float(discount)))


def proposers(rounds: int, opener: Side) -> list[Side]:
    """Who makes the offer of each round."""
    sides: tuple[Side, Side] = ("seller", "buyer") if opener == "seller" else ("buyer", "seller")
    return [sides[i % 2] for i in range(rounds)]


def spe_path(
    rounds: int, value: float, cost: float, discount_seller: float, discount_buyer: float, opener: Side
) -> list[float]:
    """The equilibrium offer of every round. Backwards: the last proposer takes all; before, the responder is left
    with its discounted share of the next round."""
    seller, buyer = _exact(discount_seller), _exact(discount_buyer)
    shares: list[Fraction] = []
    for side in reversed(proposers(rounds, opener)):
        if not shares:
            shares.append(Fraction(side == "seller"))
        else:
            shares.append(1 - buyer * (1 - shares[-1]) if side == "seller" else seller * shares[-1])
    return [float(Fraction(cost) + (Fraction(value) - Fraction(cost)) * share) for share in reversed(shares)]


def spe_closed_form(rounds: int, value: float, cost: float, discount: float, opener: Side) -> float:
    """The offer of round 1 with one common discount: the opener's share is (1 - (-d)**N) / (1 + d)."""
    d = _exact(discount)
    share = (1 - (-d) ** rounds) / (1 + d)
    surplus = Fraction(value) - Fraction(cost)
    return float(Fraction(cost) + surplus * (share if opener == "seller" else 1 - share))


def spe_grid(
    rounds: int,
    value: int,
    cost: int,
    discount_seller: float,
    discount_buyer: float,
    opener: Side,
    accept_if_indifferent: bool = True,
    price_lo: int = 0,
    price_hi: int = 10_000,
) -> list[int | None]:
    """The equilibrium offer of every round on the grid of whole cents. None: no price in range is taken by the
    responder and worth the proposer's own continuation, so the round passes without agreement."""
    discounts = {"seller": _exact(discount_seller), "buyer": _exact(discount_buyer)}
    waiting = {"seller": Fraction(0), "buyer": Fraction(0)}
    prices: list[int | None] = []
    for side in reversed(proposers(rounds, opener)):
        price = (
            _highest(value - waiting["buyer"], accept_if_indifferent, price_lo, price_hi)
            if side == "seller"
            else _lowest(cost + waiting["seller"], accept_if_indifferent, price_lo, price_hi)
        )
        if price is not None:
            gains = {"seller": Fraction(price - cost), "buyer": Fraction(value - price)}
            if gains[side] < waiting[side]:
                price = None
            else:
                waiting = gains
        prices.append(price)
        waiting = {name: discounts[name] * gain for name, gain in waiting.items()}
    return prices[::-1]


def _highest(most: Fraction, weak: bool, lo: int, hi: int) -> int | None:
    """The highest whole price up to `most` (below it, unless `weak`) in range."""
    price = min(hi, floor(most) if weak else ceil(most) - 1)
    return price if price >= lo else None


def _lowest(least: Fraction, weak: bool, lo: int, hi: int) -> int | None:
    price = max(lo, ceil(least) if weak else floor(least) + 1)
    return price if price <= hi else None


def rubinstein(value: float, cost: float, discount_seller: float, discount_buyer: float, opener: Side) -> float:
    """The first offer without a last round; the midpoint, their limit, if nobody discounts."""
    seller, buyer = _exact(discount_seller), _exact(discount_buyer)
    bottom, top = Fraction(cost), Fraction(value)
    if seller * buyer == 1:
        return float((bottom + top) / 2)
    if opener == "seller":
        return float(bottom + (top - bottom) * (1 - buyer) / (1 - seller * buyer))
    return float(top - (top - bottom) * (1 - seller) / (1 - seller * buyer))
