"""Money in rules and prompts: integer cents internally, dollars in texts. Rounding is half up, as in the seed document.

Screens and reports write money with `negolab.formatting`.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import floor


def round_half_up(amount: float) -> int:
    """Round to the nearest integer, ties up; a small tolerance keeps a discounted amount's tie a tie."""
    return amount if type(amount) is int else floor(amount + 0.5 + 1e-9)


def cents_to_dollars(cents: float) -> str:
    """Write cents as plain dollars: 5250 is `52.50`."""
    return f"{round_half_up(cents) / 100:.2f}"


def format_cents(cents: float) -> str:
    """Write cents as dollars with their sign: 5250 is `$52.50`, -500 is `$-5.00`."""
    return f"${cents_to_dollars(cents)}"


@lru_cache(maxsize=1024)
def discount_factor(discount: float, periods: int) -> Fraction:
    """Return the exact share of an amount that is left after some periods, taking the discount at its decimal face
    value."""
    return Fraction(repr(float(discount))) ** periods


def discounted(amount: int, discount: float, periods: int) -> int | float:
    """Return an amount after some periods: the float nearest to the exact value.

    >>> discounted(1250, 0.9, 2), 1250 * 0.9**2
    (1012.5, 1012.5000000000001)
    """
    return amount if discount == 1 else float(amount * discount_factor(discount, periods))


def divide_half_up(numerator: int, denominator: int) -> int:
    """Divide integers, rounding half up exactly."""
    return (2 * numerator + denominator) // (2 * denominator)
