"""A scale from values to positions in a drawing, and its round values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import floor, isclose, log10
from typing import NamedTuple

from negolab.formatting import format_number


class Axis(NamedTuple):
    """A scale from values to positions, linear or logarithmic; if values are `named`, only those have labels."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False
    named: Sequence[tuple[float, str]] = ()

    def place(self, value: float) -> float:
        """Return the position of a value."""
        share = ((log10(value) if self.log else value) - self.low) / (self.high - self.low)
        return round(self.start + share * (self.end - self.start), 1)

    def ticks(self, scale: float = 1, count: int = 6) -> Iterator[tuple[float, str]]:
        """Yield at most about `count` round values in view, with labels in units of `scale`."""
        low, high = sorted((self.low / scale, self.high / scale))
        if self.named or self.log:
            marks = (
                (digit * 10.0**power, f"{digit * 10.0**power:g}") for power in range(-9, 10) for digit in (1, 2, 5)
            )
            yield from self.named or (mark for mark in marks if low - 0.01 <= log10(mark[0]) <= high + 0.01)
            return
        step = round_step((high - low) / count)
        decimals = next(count for count in range(20) if isclose(round(step, count), step))
        for number in range(int(-(-low // step)), int(high // step) + 1):
            yield number * step * scale, format_number(number * step, decimals)


def new_axis(values: Sequence[float], start: float, end: float) -> Axis:
    """Make an axis that shows all of the values, with room around them."""
    low, high = min(values), max(values)
    # Values that differ only by rounding count as one, which would leave no room around it.
    room = 0.08 * (0 if isclose(low, high) else high - low) or 0.08 * abs(high) or 1
    return Axis(low - room, high + room, start, end)


def round_step(least: float) -> float:
    """Return the smallest round number that is at least `least`."""
    power = 10 ** floor(log10(least))
    return float(next(power * part for part in (1, 2, 2.5, 5, 10) if power * part >= least * 0.999))
