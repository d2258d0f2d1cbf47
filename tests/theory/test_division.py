"""Exact expectations of split games: laws, then numbers worked out by hand or from the rules."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

import negolab as nl
from negolab.theory import division
from negolab.theory.division import (
    TEN_ONE_PAIRS,
    Roles,
    Style,
    efficient_division,
    equal_division,
    proportional_division,
    repeated_play,
    uniform_pairs,
)

DIVISIONS = (equal_division, efficient_division, proportional_division)
STYLES, ROLES = get_args(Style), get_args(Roles)
PLAYERS = {"greedy": "greedy", "cooperative": "welfare", "tit-for-tat": "tit-for-tat"}


@given(st.integers(0, 30), st.integers(0, 20), st.integers(0, 20))
def test_no_division_gives_more_than_there_is_and_none_makes_more_than_the_best(units: int, a: int, b: int) -> None:
    for divided in DIVISIONS:
        own = divided(units, a, b)
        assert 0 <= own <= units
        assert own * a + (units - own) * b <= units * max(a, b)


def test_a_round_of_the_classic_game_has_the_points_that_are_known() -> None:
    pairs = uniform_pairs(1, 20)
    found = [float(division.expected_joint_points(divided, 10, pairs)) for divided in DIVISIONS]
    assert found == pytest.approx([105, 138.25, 121.965])
    assert division.expected_efficiency(equal_division, 10, pairs) == Fraction(61, 80)
    assert division.expected_winner_share(equal_division, 10, pairs) == Fraction(1, 2)


def test_a_round_of_ten_against_one_has_the_points_that_are_known() -> None:
    assert [division.expected_joint_points(divided, 10, TEN_ONE_PAIRS) for divided in DIVISIONS] == [55, 100, 91]
    assert [division.expected_winner_share(divided, 10, TEN_ONE_PAIRS) for divided in DIVISIONS] == [
        0.5,
        1,
        Fraction(9, 10),
    ]
    assert division.expected_efficiency(equal_division, 10, TEN_ONE_PAIRS) == Fraction(55, 100)


def test_nothing_is_expected_of_no_values() -> None:
    with pytest.raises(ValueError, match="no pairs of values"):
        division.expected_winner_share(equal_division, 10, [(3, 3)])


def test_the_whole_stock_is_divided_however_one_plays() -> None:
    for first, second, roles in product(STYLES, STYLES, ROLES):
        found = repeated_play(first, second, roles, 7)
        # A coin is worth 10 to its winner and 1 to the other: points say who has how many.
        assert found.first + found.second == 10 * (10 * found.winner_share + 1 * (1 - found.winner_share))


def test_seats_do_not_matter_where_roles_change() -> None:
    for first, second in product(STYLES, STYLES):
        for roles in ("alternate", "random"):
            one, turned = repeated_play(first, second, roles), repeated_play(second, first, roles)
            assert (one.first, one.second, one.winner_share) == (turned.second, turned.first, turned.winner_share)


@pytest.mark.parametrize(
    ("first", "second", "roles", "points"),
    [
        ("greedy", "greedy", "fixed", (50, 5)),
        ("greedy", "greedy", "alternate", (27.5, 27.5)),
        ("cooperative", "cooperative", "random", (50, 50)),
        ("greedy", "cooperative", "random", (52.5, 25)),
        # Greed is answered in the next round, always when it has the high value: 52.5 once, if it begins as the high
        # valuer, then 27.5; nothing but 27.5 if it begins as the low one.
        ("greedy", "tit-for-tat", "alternate", (30, 27.25)),
        # Answered in half of the rounds after the first: 52.5, then nine times (52.5 + 27.5) / 2.
        ("greedy", "tit-for-tat", "random", (41.25, 26.125)),
    ],
)
def test_repeated_play_pays_what_was_worked_out(
    first: Style, second: Style, roles: Roles, points: tuple[float, float]
) -> None:
    found = repeated_play(first, second, roles, 10)
    assert (float(found.first), float(found.second)) == pytest.approx(points)


@pytest.mark.parametrize("roles", ["fixed", "alternate"])
@pytest.mark.parametrize(("first", "second"), list(product(STYLES, STYLES)))
def test_where_only_the_first_round_is_drawn_players_get_what_is_expected(
    first: Style, second: Style, roles: Roles
) -> None:
    """Both draws of the first round are played, so that nothing is random."""
    game = nl.load("split", preset="no-press", roles=roles, rounds=6)
    by_start = {}
    for record in nl.batch(game, PLAYERS[first], PLAYERS[second], n=24, seed=1):
        opening = record.outcome.details["rounds"][0]
        high = "A" if opening["values"]["A"]["coins"] == 10 else "B"
        by_start[high] = record.payoffs
    assert set(by_start) == ({"A"} if roles == "fixed" else {"A", "B"})
    for seat, points in (("A", 0), ("B", 1)):
        mean = sum(payoffs[seat] for payoffs in by_start.values()) / len(by_start) / 6
        assert mean == pytest.approx(float(repeated_play(first, second, roles, 6)[points]))


def test_what_is_no_style_no_roles_or_no_round_is_refused() -> None:
    for wrong in (("kind", "greedy", "fixed", 1), ("greedy", "greedy", "often", 1), ("greedy", "greedy", "fixed", 0)):
        with pytest.raises(ValueError):
            division.repeated_play(*wrong)  # type: ignore[arg-type]
