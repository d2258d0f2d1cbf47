"""Allocation of a stock from two asks: in proportion when too much is asked for, or only on exact agreement."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from negolab.games.split.state import Shares, Units

Rule = Literal["proportional", "exact"]


def allocate(
    rule: Rule, stock: Units, ask_a: Sequence[int] | None, ask_b: Sequence[int] | None
) -> tuple[Shares, Shares, bool]:
    """Allocate a stock.

    Args:
        rule: "proportional" or "exact".
        stock: Units of each type.
        ask_a: Units that A asks for; may exceed the stock; None for no deal (exact rule only).
        ask_b: The same for B.

    Returns:
        The shares of A and B in units, and whether the asks agreed.

    Raises:
        ValueError: The rule is unknown, or an ask is None under the proportional rule.

    Example:
        >>> allocate("proportional", (10,), (10,), (10,))
        ((5.0,), (5.0,), False)
    """
    if rule == "proportional":
        return _proportional(stock, ask_a, ask_b)
    if rule == "exact":
        return _exact(stock, ask_a, ask_b)
    raise ValueError(f"rule must be proportional or exact, not {rule!r}")


def _proportional(
    stock: Units, ask_a: Sequence[int] | None, ask_b: Sequence[int] | None
) -> tuple[Shares, Shares, bool]:
    """For each type, grant asks within the stock, losing the rest, and scale larger ones down to the stock."""
    if ask_a is None or ask_b is None:
        raise ValueError("the proportional rule does not allow `no deal`: ask for 0 units")
    share_a: Shares = ()
    share_b: Shares = ()
    agreed = True
    for units, a, b in zip(stock, ask_a, ask_b, strict=True):
        asked = a + b
        if asked <= units:
            share_a += (float(a),)
            share_b += (float(b),)
        else:
            share_a += (units * a / asked,)
            share_b += (units * b / asked,)
            agreed = False
    return share_a, share_b, agreed


def _exact(stock: Units, ask_a: Sequence[int] | None, ask_b: Sequence[int] | None) -> tuple[Shares, Shares, bool]:
    """Grant both asks if they add up to the whole stock of every type, otherwise nothing."""
    if ask_a is not None and ask_b is not None:
        rows = zip(stock, ask_a, ask_b, strict=True)
        if all(0 <= a <= units and a + b == units for units, a, b in rows):
            return tuple(map(float, ask_a)), tuple(map(float, ask_b)), True
    nothing = (0.0,) * len(stock)
    return nothing, nothing, False


def points(shares: Sequence[float], values: Sequence[int]) -> float:
    """Return the units received times the seat's values, summed over the types."""
    total = 0.0
    for share, value in zip(shares, values, strict=True):
        total += share * value
    return total


def complement(stock: Units, keep: Units) -> Units:
    """Return what `keep` leaves of the stock."""
    return tuple([units - kept for units, kept in zip(stock, keep, strict=True)])


def halves(stock: Units, is_first: bool) -> Units:
    """Return half of each type. Odd units of types 0, 2, ... go to the first speaker, those of the other types to the
    other seat, so that both halves add up to the stock."""
    return tuple([units // 2 + (units % 2 if (at % 2 == 0) == is_first else 0) for at, units in enumerate(stock)])
