"""Money is integer cents inside and dollars with two decimals outside."""

from __future__ import annotations

from math import floor


def nearest(numerator: int, denominator: int) -> int:
    """The quotient rounded half up, exactly."""
    return (2 * numerator + denominator) // (2 * denominator)


def half_up(amount: float) -> int:
    """Rounded half up. The hair of tolerance keeps a tie a tie where a discounted amount is a float."""
    return amount if type(amount) is int else floor(amount + 0.5 + 1e-9)


def dollars(cents: float) -> str:
    """5250 -> `52.50`."""
    return f"{half_up(cents) / 100:.2f}"


def money(cents: float) -> str:
    """5250 -> `$52.50`, -500 -> `$-5.00`."""
    return f"${half_up(cents) / 100:.2f}"
