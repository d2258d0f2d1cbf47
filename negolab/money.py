"""Amounts as people read them: payoffs and prices are integer cents inside, dollars on screens and in texts.

The only place that knows the currency. Rounding is half up, as the texts of the seed document do it.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import floor

DISPLAY_UNITS: Mapping[str, tuple[str, int]] = {"cents": ("dollars", 100)}
"""Units of payoffs that people read in a larger unit: its name, and how many make one of it."""


def display_unit(unit: str) -> tuple[str, int]:
    """Return the unit in which people read amounts counted in `unit`, and how many of `unit` make one of it.

    >>> display_unit("cents"), display_unit("points")
    (('dollars', 100), ('points', 1))
    """
    return DISPLAY_UNITS.get(unit, (unit, 1))


def round_half_up(amount: float) -> int:
    """Round to the nearest integer, ties up; a small tolerance keeps a discounted amount's tie a tie."""
    return amount if type(amount) is int else floor(amount + 0.5 + 1e-9)


def cents_to_dollars(cents: float) -> str:
    """Write cents as plain dollars: 5250 is `52.50`."""
    return f"{round_half_up(cents) / 100:.2f}"


def format_cents(cents: float) -> str:
    """Write cents as dollars with their sign: 5250 is `$52.50`, -500 is `$-5.00`."""
    return f"${cents_to_dollars(cents)}"


def divide_half_up(numerator: int, denominator: int) -> int:
    """Divide integers, rounding half up exactly."""
    return (2 * numerator + denominator) // (2 * denominator)
