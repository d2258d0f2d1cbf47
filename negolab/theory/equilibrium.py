"""Subgame-perfect equilibrium of alternating offers over one price, with complete information. Prices are in cents.

S = value - cost is divided; a deal in round t is discounted by d**(t-1) for each side. Stahl 1972 for finitely many
rounds, Rubinstein 1982 for infinitely many. Discounts are taken at their decimal face value and computed exactly.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor
from typing import Literal

from negolab.money import discount_factor

Side = Literal["seller", "buyer"]


def proposers(rounds: int, opener: Side) -> list[Side]:
    """Return the side that makes the offer in each round."""
    sides: tuple[Side, Side] = ("seller", "buyer") if opener == "seller" else ("buyer", "seller")
    return [sides[i % 2] for i in range(rounds)]


def spe_path(
    rounds: int, value: float, cost: float, discount_seller: float, discount_buyer: float, opener: Side
) -> list[float | None]:
    """Return the equilibrium offer in every round, in cents, by backward induction (Stahl 1972); None if no price
    benefits both sides.

    The last proposer takes the whole surplus; before that, the responder is left with its discounted share of the next
    round.

    Example:
        >>> spe_path(2, 6500, 4000, 1.0, 1.0, "seller")
        [4000.0, 4000.0]
    """
    seller, buyer = discount_factor(discount_seller, 1), discount_factor(discount_buyer, 1)
    shares: list[Fraction] = []
    for side in reversed(proposers(rounds, opener)):
        if not shares:
            shares.append(Fraction(side == "seller"))
        else:
            shares.append(1 - buyer * (1 - shares[-1]) if side == "seller" else seller * shares[-1])
    return [_price(value, cost, share) for share in reversed(shares)]


def _price(value: float, cost: float, share: Fraction) -> float | None:
    """Return the price that leaves the seller this share of the surplus; None (no trade) if there is no surplus."""
    return float(Fraction(cost) + (Fraction(value) - Fraction(cost)) * share) if value > cost else None


def spe_closed_form(rounds: int, value: float, cost: float, discount: float, opener: Side) -> float | None:
    """Return the offer in round 1 with a common discount d: the opener's share is (1 - (-d)**rounds) / (1 + d); None if
    no price benefits both sides."""
    d = discount_factor(discount, 1)
    share = (1 - (-d) ** rounds) / (1 + d)
    return _price(value, cost, share if opener == "seller" else 1 - share)


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
    """Return the equilibrium offer in every round on the grid of whole cents.

    None for a round that passes without agreement, because no price in range is accepted by the responder and worth at
    least the proposer's own continuation.
    """
    discounts = {"seller": discount_factor(discount_seller, 1), "buyer": discount_factor(discount_buyer, 1)}
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
    """Return the highest whole price in range that is at most `most`, or below it unless `weak`."""
    price = min(hi, floor(most) if weak else ceil(most) - 1)
    return price if price >= lo else None


def _lowest(least: Fraction, weak: bool, lo: int, hi: int) -> int | None:
    price = max(lo, ceil(least) if weak else floor(least) + 1)
    return price if price <= hi else None


def rubinstein(value: float, cost: float, discount_seller: float, discount_buyer: float, opener: Side) -> float | None:
    """Return the first offer with infinitely many rounds (Rubinstein 1982), or the midpoint if nobody discounts; None
    if no price benefits both sides."""
    seller, buyer = discount_factor(discount_seller, 1), discount_factor(discount_buyer, 1)
    waits = buyer if opener == "seller" else seller
    share = (1 - waits) / (1 - seller * buyer) if seller * buyer != 1 else Fraction(1, 2)
    return _price(value, cost, share if opener == "seller" else 1 - share)
