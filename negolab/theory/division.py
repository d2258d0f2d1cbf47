"""Expected results of one round of a split game, exactly: a stock of one item type, divided between two seats whose
values are linear. What is drawn are equally likely pairs of values, (a, b), a that of the round's first speaker.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

Values = tuple[int, int]
Division = Callable[[int, int, int], Fraction]
"""Units of the first speaker, from the stock and both values."""

TEN_ONE: tuple[Values, ...] = ((10, 1), (1, 10))
"""One seat values a unit at 10, the other at 1, either with probability 1/2."""


def uniform(low: int = 1, high: int = 20) -> tuple[Values, ...]:
    """Both values drawn independently and uniformly from low..high."""
    return tuple((a, b) for a in range(low, high + 1) for b in range(low, high + 1))


def halved(units: int, a: int, b: int) -> Fraction:
    """Half to each: both ask for half; or both ask for all, which the proportional rule scales down."""
    return Fraction(units, 2)


def to_the_higher(units: int, a: int, b: int) -> Fraction:
    """All to who values it more, which maximises joint points; half to each on a tie."""
    return Fraction(units) if a > b else Fraction(0) if a < b else Fraction(units, 2)


def in_proportion(units: int, a: int, b: int) -> Fraction:
    """In proportion to both values, the first speaker's part rounded half up to whole units; half if both are 0."""
    return Fraction((2 * units * a + a + b) // (2 * (a + b))) if a + b else Fraction(units, 2)


def joint(division: Division, units: int, pairs: Sequence[Values]) -> Fraction:
    """Expected points of both seats together."""
    return _mean([_joint(division, units, a, b) for a, b in pairs])


def efficiency(division: Division, units: int, pairs: Sequence[Values]) -> Fraction:
    """Expected share of the most that both could have had together, the mean of the rounds' ratios."""
    ratios = [_joint(division, units, a, b) / (units * max(a, b)) for a, b in pairs if max(a, b)]
    return _mean(ratios)


def winner_share(division: Division, units: int, pairs: Sequence[Values]) -> Fraction:
    """Expected share of the units that goes to who values them more, given that the values differ."""
    kept = [(division(units, a, b) / units, a > b) for a, b in pairs if a != b]
    return _mean([part if first else 1 - part for part, first in kept])


def _joint(division: Division, units: int, a: int, b: int) -> Fraction:
    own = division(units, a, b)
    return own * a + (units - own) * b


def _mean(values: Sequence[Fraction]) -> Fraction:
    if not values:
        raise ValueError("nothing can be expected of no pairs of values, or of pairs that are all alike")
    return sum(values, Fraction(0)) / len(values)
