"""Payoffs of proposals, the frontier of agreements, and its reference points."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from negolab import laws
from negolab.catalog import AnyGame, load
from negolab.game import SEATS, Game, Invalid, Seat, State, observe, other
from negolab.games.balloon import Balloon, Instance, Say
from negolab.games.bargaining import Accept, Bargaining, Offer
from negolab.games.split import Message, Proposal, Split
from negolab.games.split.allocation import complement
from negolab.games.trading import Move, Trading
from negolab.scaffolds import ultimatum
from negolab.theory.solutions import nash, nash_point
from negolab.theory.surplus import exchange_frontier, possible_surplus
from tests.engine.test_laws import cases

Pay = Mapping[Seat, float]
PRESETS = [*cases("rules", "talk", "show", "frame")]
SEEDS = st.integers(0, 2**32 - 1)


# What the other seat's acceptance pays, by playing it; None where it cannot accept.


def accepted_balloon(game: Balloon, state: Any, seat: Seat, action: Say) -> list[Pay | None]:
    after = game.step(state, {seat: action})
    paid: list[Pay | None] = []
    for names in action.propose:
        seen = observe(after, other(seat))
        agreement = game.parse(game.compose(seen, agree=[names]), seen)
        if after.public.end is not None or isinstance(agreement, Invalid):
            paid.append(None)
            continue
        outcome = game.outcome(game.step(after, {other(seat): agreement}))
        paid.append(outcome.payoffs if outcome.end == "AGREED" else None)  # type: ignore[arg-type]
    return paid


def accepted_bargaining(game: Bargaining, state: Any, seat: Seat, action: Any) -> list[Pay | None]:
    if not isinstance(action, Offer):
        return []
    end = game.step(game.step(state, {seat: action}), {other(seat): Accept()})
    return [game.outcome(end).payoffs]  # type: ignore[list-item]


def accepted_trading(game: Trading, state: Any, seat: Seat, action: Move) -> list[Pay | None]:
    after = game.step(state, {seat: action})
    if after.public.messages[-1].offer is None:
        return []
    taker = other(seat)
    if after.public.to_move != taker:
        return [None]
    acceptance = game.parse("[Accept]", observe(after, taker))
    if isinstance(acceptance, Invalid):
        return []
    end = game.step(after, {taker: acceptance})
    return [game.details(end)["gain"]] if end.public.messages[-1].trade else []


def accepted_split(game: Split, state: Any, seat: Seat, action: Any) -> list[Pay | None]:
    if not isinstance(action, Proposal) or action.keep is None:
        return []
    if state.public.on_turn != SEATS:
        return [None]
    rest = Proposal(complement(state.public.stock, action.keep))
    return [game.outcome(game.step(state, {seat: action, other(seat): rest})).payoffs]  # type: ignore[list-item]


def accepted_agenda(game: Any, state: Any, seat: Seat, action: Any) -> list[Pay | None]:
    if action.offer is None:
        return []
    after = game.step(state, {seat: action})
    end = game.step(after, {other(seat): game.parse("[Accept]", observe(after, other(seat)))})
    return [game.outcome(end).payoffs]


ACCEPTED: dict[str, Callable[..., list[Pay | None]]] = {
    "agenda": accepted_agenda,
    "balloon": accepted_balloon,
    "bargaining": accepted_bargaining,
    "split": accepted_split,
    "trading": accepted_trading,
}


def moves(game: AnyGame, seed: int) -> Iterator[tuple[State[Any, Any], Seat, Any]]:
    """States of a playout, each with some legal actions."""
    rng = random.Random(seed)
    for match, seat in itertools.islice(laws.positions(game, seed), 25):
        options = game.options(match.seen(seat))
        for action in rng.sample(options, min(5, len(options))):
            yield match.state, seat, action


def over(name: str, preset: str, law: Callable[[AnyGame, int], None]) -> None:
    @given(seed=SEEDS)
    def holds(seed: int) -> None:
        law(load(name, preset=preset), seed)

    holds()


# Laws.


@pytest.mark.parametrize(("name", "preset"), PRESETS)
def test_a_stake_is_what_the_match_pays_if_the_other_seat_accepts(name: str, preset: str) -> None:
    def law(game: AnyGame, seed: int) -> None:
        for state, seat, action in moves(game, seed):
            expected = ACCEPTED[name](game, state, seat, action)
            stakes = game.stakes(state, seat, action)
            assert len(stakes) == len(expected)
            for stake, paid in zip(stakes, expected, strict=True):
                assert paid is None or stake == paid

    over(name, preset, law)


@pytest.mark.parametrize(("name", "preset"), PRESETS)
def test_no_stake_lies_beyond_the_frontier(name: str, preset: str) -> None:
    def law(game: AnyGame, seed: int) -> None:
        # In split games a frontier is that of a round, in the others that of the match.
        start = game.frontier(game.deal(random.Random(seed)))
        for state, seat, action in moves(game, seed):
            frontier = game.frontier(state) if name == "split" else start
            for stake in game.stakes(state, seat, action):
                assert reaches(frontier, (stake["A"], stake["B"]), game.divisible)

    over(name, preset, law)


@pytest.mark.parametrize(("name", "preset"), PRESETS)
def test_a_frontier_rises_for_one_seat_and_falls_for_the_other(name: str, preset: str) -> None:
    def law(game: AnyGame, seed: int) -> None:
        frontier = game.frontier(game.deal(random.Random(seed)))
        assert frontier
        assert all(x < u and y > v for (x, y), (u, v) in pairwise(frontier))
        if game.divisible:
            slopes = [Fraction(v - y) / Fraction(u - x) for (x, y), (u, v) in pairwise(frontier)]
            assert slopes == sorted(slopes, reverse=True), "a line with a dent is no frontier"

    over(name, preset, law)


def reaches(frontier: tuple[tuple[float, float], ...], point: tuple[float, float], joined: bool) -> bool:
    """Return True if a point of the frontier is at least as good for both."""
    if any(x >= point[0] and y >= point[1] for x, y in frontier):
        return True
    return joined and any(
        x <= point[0] <= u
        and Fraction(point[1]) <= Fraction(y) + Fraction(v - y) * Fraction(point[0] - x) / Fraction(u - x)
        for (x, y), (u, v) in pairwise(frontier)
    )


PAIRS = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=1, max_size=12)


@given(pairs=PAIRS, a=st.integers(-3, 20), b=st.integers(-3, 20))
def test_the_nash_point_of_separate_pairs_is_the_best_of_all(pairs: list[tuple[int, int]], a: int, b: int) -> None:
    frontier = sorted(p for p in set(pairs) if not any(q != p and q[0] >= p[0] and q[1] >= p[1] for q in pairs))
    good = [(x - a, y - b) for x, y in frontier if x >= a and y >= b]
    found = nash_point(frontier, (a, b), False)
    assert (found is None) == (not good)
    assert found is None or (found[0] - a) * (found[1] - b) == max(x * y for x, y in good)


@given(cost=st.integers(0, 80), gap=st.integers(1, 60), out_a=st.integers(0, 40), out_b=st.integers(0, 40))
def test_the_nash_point_of_a_line_of_prices_is_that_of_the_price(cost: int, gap: int, out_a: int, out_b: int) -> None:
    value = cost + gap
    line = ((0 - cost, value), (150 - cost, value - 150))
    point, price = nash_point(line, (out_a, out_b), True), nash(value, cost, out_a, out_b, price_hi=150)
    assert (point is None) == (price is None)
    assert point is None or point == pytest.approx((price - cost, value - price))  # type: ignore[operator]


GOODS = st.lists(st.tuples(*[st.integers(1, 9)] * 2, *[st.integers(0, 3)] * 2), min_size=1, max_size=3)


@given(goods=GOODS)
def test_no_exchange_of_whole_goods_lies_beyond_the_line_and_its_corners_are_exchanges(
    goods: list[tuple[int, int, int, int]],
) -> None:
    a, b, p, q = zip(*goods, strict=True)
    frontier = exchange_frontier(a, b, p, q)
    gains = set()
    for flow in itertools.product(*(range(-held_b, held_a + 1) for held_a, held_b in zip(p, q, strict=True))):
        gains.add((-sum(map(int.__mul__, a, flow)), sum(map(int.__mul__, b, flow))))
    assert set(frontier) <= gains
    assert all(reaches(frontier, pair, True) for pair in gains)
    assert max(x + y for x, y in frontier) == possible_surplus(a, b, p, q)


# Examples.


def test_the_price_line_runs_from_the_lowest_price_to_the_highest() -> None:
    game = load("bargaining")
    start = game.start(6500, 4000)
    assert game.frontier(start) == ((-4000, 6500), (6000, -3500))
    assert game.stakes(start, "A", Offer(5250)) == ({"A": 1250, "B": 1250},)
    assert game.stakes(start, "A", Accept()) == ()
    assert nash_point(game.frontier(start), (0, 0), game.divisible) == (1250, 1250)


def test_a_later_price_is_discounted_and_a_kept_item_counts() -> None:
    game = load("bargaining", discount_seller=0.9, discount_buyer=0.5)
    after = game.step(game.start(6500, 4000), {"A": Offer(6000)})
    assert game.stakes(after, "B", Offer(5000)) == ({"A": 900, "B": 750},)
    mug = load("bargaining", "mug")
    assert mug.stakes(mug.start(800, 600), "A", Offer(700)) == ({"A": 700, "B": 100},)
    assert mug.disagreement(mug.start(800, 600)) == {"A": 600, "B": 0}


def test_every_set_in_a_message_has_its_stake_and_a_heavy_one_is_worth_nothing() -> None:
    instance = Instance(
        {"pen": 1, "ink": 2, "pad": 3}, 4, {"A": {"pen": 5, "ink": 1, "pad": 2}, "B": {"pen": 1, "ink": 4, "pad": 6}}
    )
    game = load("balloon", "clembench", instance=instance)
    start = game.start(instance)
    action = game.message(observe(start, "A"), propose=[{"pen", "ink"}, {"ink", "pad"}])
    assert game.stakes(start, "A", action) == ({"A": 6, "B": 5}, {"A": 0, "B": 0})
    assert game.frontier(start) == ((7, 7),)
    assert nash_point(game.frontier(start), (0, 0), game.divisible) == (7, 7)


def test_the_frontier_of_too_many_items_is_not_listed() -> None:
    game = load("balloon", items=51)
    assert game.frontier(game.deal(random.Random(1))) == ()
    large = load("split", stock=(20_000,))
    assert large.frontier(large.deal(random.Random(1))) == ()


def test_an_offer_of_goods_is_measured_in_gains_after_what_its_message_accepts() -> None:
    game = load("trading")
    start = game.start({"A": (4, 0, 0, 0, 0), "B": (0, 4, 0, 0, 0)}, {"A": (1, 3, 1, 1, 1), "B": (3, 1, 1, 1, 1)})
    first = Move("[Offer: 1 Wheat -> 1 Wood]", offer=((1, 0, 0, 0, 0), (0, 1, 0, 0, 0)))
    assert game.stakes(start, "A", first) == ({"A": 2, "B": 2},)
    after = game.step(start, {"A": first})
    second = game.parse("[Accept] [Offer: 2 Wood -> 2 Wheat]", observe(after, "B"))
    assert game.stakes(after, "B", second) == ({"A": 6, "B": 6},)
    too_much = game.parse("[Accept] [Offer: 1 Wood -> 4 Wheat]", observe(after, "B"))
    assert game.stakes(after, "B", too_much) == (), "A holds three Wheat by then"
    assert game.frontier(start) == ((-4, 12), (8, 8), (12, -4))
    assert nash_point(game.frontier(start), (0, 0), game.divisible) == (8, 8)
    assert game.stake_unit != game.unit


def test_the_rest_goes_to_the_other_seat_on_top_of_what_was_earned() -> None:
    game = load("split", "no-press", rounds=2)
    start = game.deal(random.Random(1))
    both = {"A": Proposal((6,)), "B": Proposal((4,))}
    after = game.step(start, both)
    assert game.disagreement(after) == {"A": 60, "B": 4}
    assert game.stakes(after, "B", Proposal((10,))) == ({"A": 60, "B": 14},)
    assert game.frontier(after)[0] == (60, 14) and game.frontier(after)[-1] == (160, 4)
    assert game.frontier(game.step(after, both)) == ()
    exact = load("split", "deal-or-no-deal")
    assert exact.stakes(exact.deal(random.Random(1)), "A", Proposal(None)) == ()
    assert exact.stakes(exact.deal(random.Random(1)), "A", Message("I take all.")) == ()


def test_a_game_need_not_know_its_stakes() -> None:
    game = ultimatum.Ultimatum()
    start = game.deal(random.Random(1))
    assert Game.stakes(game, start, "A", game.options(observe(start, "A"))[0]) == ()
    assert Game.frontier(game, start) == ()


def test_the_stakes_of_an_ultimatum_are_both_shares() -> None:
    game = ultimatum.Ultimatum()
    start = game.deal(random.Random(1))
    assert game.stakes(start, "A", ultimatum.Offer(4)) == ({"A": 6, "B": 4},)
    assert game.frontier(start)[4] == (4, 6)
