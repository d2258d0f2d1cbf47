"""Expected results of greedy, cooperative and tit-for-tat play in repeated rounds of the proportional split game, where
both know that one seat values a unit at `high` and the other at `low`. Exact, by the distribution over states.

Greedy asks for all. Cooperative asks for all as the high valuer and for nothing as the low one. Tit-for-tat cooperates,
but asks for all in the round after one in which the other, as the low valuer, asked for anything.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Literal, NamedTuple, get_args

Style = Literal["greedy", "cooperative", "tit-for-tat"]
Roles = Literal["fixed", "alternate", "random"]
"""fixed: the first seat is the high valuer; alternate: a coin decides round 1, then roles change every round; random: a
coin decides every round."""


class Expected(NamedTuple):
    """Means per round: points of the first and of the second seat, and the part of the stock that the high valuer got
    (0 to 1)."""

    first: Fraction
    second: Fraction
    winner_share: Fraction


State = tuple[int, tuple[bool, bool]]
"""Which seat (0 or 1) is the high valuer, and which seats ask for all to repay the last round."""
_BOTH = (Fraction(1, 2), 0), (Fraction(1, 2), 1)


def expected(
    first: Style, second: Style, roles: Roles, rounds: int = 10, *, units: int = 10, high: int = 10, low: int = 1
) -> Expected:
    """What two players get per round. `ValueError` for unknown styles and roles, and for fewer rounds than one."""
    for word, known in ((first, Style), (second, Style), (roles, Roles)):
        if word not in get_args(known):
            raise ValueError(f"{word!r} is none of {', '.join(get_args(known))}")
    if rounds < 1:
        raise ValueError(f"rounds must be at least 1, not {rounds}")
    styles = (first, second)
    now: dict[State, Fraction] = {(seat, (False, False)): p for p, seat in _drawn(roles)}
    points, won = [Fraction(0), Fraction(0)], Fraction(0)
    for _ in range(rounds):
        then: dict[State, Fraction] = {}
        for (winner, angry), chance in now.items():
            asks = [_ask(styles[seat], seat == winner, angry[seat], units) for seat in (0, 1)]
            shares = [Fraction(units * ask, sum(asks)) for ask in asks]  # the high valuer asks for all, so none is left
            won += chance * shares[winner] / units
            for seat in (0, 1):
                points[seat] += chance * shares[seat] * (high if seat == winner else low)
            offended = asks[1 - winner] > 0 and styles[winner] == "tit-for-tat"
            for p, seat in _drawn(roles, winner):
                state = (seat, (offended and winner == 0, offended and winner == 1))
                then[state] = then.get(state, Fraction(0)) + chance * p
        now = then
    return Expected(points[0] / rounds, points[1] / rounds, won / rounds)


def _drawn(roles: Roles, last: int | None = None) -> Iterator[tuple[Fraction, int]]:
    """Who is the high valuer, with its probability, after a round in which `last` was (None: in round 1)."""
    if roles == "fixed":
        yield Fraction(1), 0
    elif roles == "alternate" and last is not None:
        yield Fraction(1), 1 - last
    else:
        yield from _BOTH


def _ask(style: Style, wins: bool, angry: bool, units: int) -> int:
    return units if wins or angry or style == "greedy" else 0
