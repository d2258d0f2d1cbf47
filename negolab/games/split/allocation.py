"""How two asks become shares: in proportion when too much is asked for, or only on exact agreement."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from negolab.games.split.position import Shares, Units

Rule = Literal["proportional", "exact"]


def allocate(
    rule: Rule, stock: Units, ask_a: Sequence[int] | None, ask_b: Sequence[int] | None
) -> tuple[Shares, Shares, bool]:
    """(share of A, share of B, agreed) in units, one entry per type. Asks may exceed the stock; None is no deal."""
    if rule == "proportional":
        return _proportional(stock, ask_a, ask_b)
    if rule == "exact":
        return _exact(stock, ask_a, ask_b)
    raise ValueError(f"rule must be proportional or exact, not {rule!r}")


def _proportional(
    stock: Units, ask_a: Sequence[int] | None, ask_b: Sequence[int] | None
) -> tuple[Shares, Shares, bool]:
    """Asks within the stock are paid as asked and the rest is lost; others are scaled down to the stock, per type."""
    if ask_a is None or ask_b is None:
        raise ValueError("the proportional rule knows no `no deal`: ask for 0 units")
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
    """Both get what they ask for if the asks add up to the whole stock of every type, else nothing."""
    if ask_a is not None and ask_b is not None:
        rows = zip(stock, ask_a, ask_b, strict=True)
        if all(0 <= a <= units and a + b == units for units, a, b in rows):
            return tuple(map(float, ask_a)), tuple(map(float, ask_b)), True
    nothing = (0.0,) * len(stock)
    return nothing, nothing, False


def points(shares: Sequence[float], values: Sequence[int]) -> float:
    """Units received times own value, summed over the types."""
    total = 0.0
    for share, value in zip(shares, values, strict=True):
        total += share * value
    return total


def complement(stock: Units, keep: Units) -> Units:
    """What is left of the stock."""
    return tuple([units - kept for units, kept in zip(stock, keep, strict=True)])


def halves(stock: Units, is_first: bool) -> Units:
    """Half of each type; the odd unit of the types 0, 2, ... goes to the first speaker, of the others to the other
    seat, so that two such shares always add up to the stock."""
    return tuple([units // 2 + (units % 2 if (at % 2 == 0) == is_first else 0) for at, units in enumerate(stock)])
