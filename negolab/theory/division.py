"""Exact expected results of split games with one item type: for one round, and for repeated rounds.

Values are linear and drawn as equally likely pairs (a, b), where a is the value to the round's first speaker.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Literal, NamedTuple, get_args

Values = tuple[int, int]
Division = Callable[[int, int, int], Fraction]
"""Units for the first speaker, given the stock and both values."""

TEN_ONE_PAIRS: tuple[Values, ...] = ((10, 1), (1, 10))
"""One seat values a unit at 10 and the other at 1, either way around with probability 1/2."""


def uniform_pairs(low: int = 1, high: int = 20) -> tuple[Values, ...]:
    """Return the pairs of two values drawn independently and uniformly from low..high."""
    return tuple((a, b) for a in range(low, high + 1) for b in range(low, high + 1))


def equal_division(units: int, a: int, b: int) -> Fraction:
    """Give half to each: both ask for half, or both for all, which the proportional rule scales down."""
    return Fraction(units, 2)


def efficient_division(units: int, a: int, b: int) -> Fraction:
    """Give all to the seat with the higher value, which maximizes joint points; half to each on a tie."""
    return Fraction(units) if a > b else Fraction(0) if a < b else Fraction(units, 2)


def proportional_division(units: int, a: int, b: int) -> Fraction:
    """Divide in proportion to the values, with the first speaker's part rounded half up to whole units; half if both
    are 0."""
    return Fraction((2 * units * a + a + b) // (2 * (a + b))) if a + b else Fraction(units, 2)


def expected_joint_points(division: Division, units: int, pairs: Sequence[Values]) -> Fraction:
    """Return both seats' expected joint points."""
    return _mean([_joint(division, units, a, b) for a, b in pairs])


def expected_efficiency(division: Division, units: int, pairs: Sequence[Values]) -> Fraction:
    """Return the expected ratio of joint points to the largest possible joint points in the round."""
    ratios = [_joint(division, units, a, b) / (units * max(a, b)) for a, b in pairs if max(a, b)]
    return _mean(ratios)


def expected_winner_share(division: Division, units: int, pairs: Sequence[Values]) -> Fraction:
    """Return the expected share of the units that goes to the seat with the higher value, given that the values
    differ."""
    kept = [(division(units, a, b) / units, a > b) for a, b in pairs if a != b]
    return _mean([part if first else 1 - part for part, first in kept])


def _joint(division: Division, units: int, a: int, b: int) -> Fraction:
    own = division(units, a, b)
    return own * a + (units - own) * b


def _mean(values: Sequence[Fraction]) -> Fraction:
    if not values:
        raise ValueError("there are no pairs of values to average, or none whose values differ")
    return sum(values, Fraction(0)) / len(values)


# Repeated rounds.

Style = Literal["greedy", "cooperative", "tit-for-tat"]
Roles = Literal["fixed", "alternate", "random"]
"""fixed: the first seat has the high value; alternate: a coin decides round 1, then roles change every round; random:
a coin decides every round."""


class ExpectedResult(NamedTuple):
    """Means per round: points of the first and the second seat, and the share of the stock (0 to 1) that went to the
    seat with the high value."""

    first: Fraction
    second: Fraction
    winner_share: Fraction


RoundState = tuple[int, tuple[bool, bool]]
"""The seat (0 or 1) with the high value, and which seats ask for all to retaliate."""
_BOTH = (Fraction(1, 2), 0), (Fraction(1, 2), 1)


def repeated_play(
    first: Style, second: Style, roles: Roles, rounds: int = 10, *, units: int = 10, high: int = 10, low: int = 1
) -> ExpectedResult:
    """Return the expected results for two players who know that one values a unit at `high`, the other at `low`.

    Exact, from the distribution over states, under the proportional rule. Greedy asks for all. Cooperative asks for all
    with the high value and for nothing with the low one. Tit-for-tat cooperates, but asks for all in the round after
    one in which the other asked for anything with the low value.

    Raises:
        ValueError: The style or the roles are unknown, or `rounds` is below 1.
    """
    for word, known in ((first, Style), (second, Style), (roles, Roles)):
        if word not in get_args(known):
            raise ValueError(f"{word!r} must be one of {', '.join(get_args(known))}")
    if rounds < 1:
        raise ValueError(f"rounds must be at least 1, not {rounds}")
    styles = (first, second)
    now: dict[RoundState, Fraction] = {(seat, (False, False)): p for p, seat in _next_roles(roles)}
    points, won = [Fraction(0), Fraction(0)], Fraction(0)
    for _ in range(rounds):
        then: dict[RoundState, Fraction] = {}
        for (winner, angry), chance in now.items():
            asks = [units if seat == winner or angry[seat] or styles[seat] == "greedy" else 0 for seat in (0, 1)]
            shares = [Fraction(units * ask, sum(asks)) for ask in asks]  # the high valuer asks for all, so none is left
            won += chance * shares[winner] / units
            for seat in (0, 1):
                points[seat] += chance * shares[seat] * (high if seat == winner else low)
            offended = asks[1 - winner] > 0 and styles[winner] == "tit-for-tat"
            for p, seat in _next_roles(roles, winner):
                state = (seat, (offended and winner == 0, offended and winner == 1))
                then[state] = then.get(state, Fraction(0)) + chance * p
        now = then
    return ExpectedResult(points[0] / rounds, points[1] / rounds, won / rounds)


def _next_roles(roles: Roles, last: int | None = None) -> Iterator[tuple[Fraction, int]]:
    """Yield (probability, seat with the high value) for the round after one in which `last` had it (None: round 1)."""
    if roles == "fixed":
        yield Fraction(1), 0
    elif roles == "alternate" and last is not None:
        yield Fraction(1), 1 - last
    else:
        yield from _BOTH
