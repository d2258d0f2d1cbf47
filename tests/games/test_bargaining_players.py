"""Scripted bargainers and bargaining theory."""

from __future__ import annotations

from typing import Any

import pytest

from negolab.catalog import load
from negolab.game import Seat, observe
from negolab.games.bargaining import PRESETS, Accept, Bargaining, Offer, Reject
from negolab.games.bargaining.players import PLAYERS
from negolab.match import Match
from negolab.players.lookup import player, resolve
from negolab.theory.equilibrium import rubinstein, spe_closed_form, spe_grid, spe_path
from negolab.theory.solutions import ask_set, ask_uniform, bid_set, bid_uniform, kalai_smorodinsky, nash


def bargaining(preset: str | None = None, **params: Any) -> Bargaining:
    game = load("bargaining", preset, **params)
    assert isinstance(game, Bargaining)
    return game


def play(game: Bargaining, seller: str, buyer: str, seed: int = 0, **numbers: int) -> Match:
    """Play two players by name."""
    start = game.start(**numbers) if numbers else None
    match = Match(game, seed=seed, start=start)
    seats = {"A": player(seller, game), "B": player(buyer, game)}
    while asks := match.pending():
        for seat, ask in asks.items():
            match.act(seat, seats[seat].reply(match.told(seat), ask))
    return match


def act(name: str, game: Bargaining, seat: Seat, *prices: int, value: int = 6500, cost: int = 4000) -> Any:
    """A player's action after these offers."""
    state = game.start(value, cost)
    for cents in prices:
        state = game.step(state, {game.turn(state.public)[0]: Offer(cents)})
    return player(name, game).act(game.told(seat), observe(state, seat))


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("name", PLAYERS)
def test_every_player_plays_every_game_it_accepts_to_the_end(name: str, preset: str) -> None:
    game = bargaining(preset)
    try:
        player(name, game)
    except ValueError:
        return
    for seed in range(5):
        assert play(game, name, "random", seed).ended is not None
        if name not in ("anchored", "threshold_mug", "threshold_talk"):
            assert play(game, "random", name, seed).ended is not None


def offers_of(name: str, **params: Any) -> list[int]:
    game = bargaining(rounds=12)
    made = player(name, game, **params)
    seen = observe(game.start(6500, 4000), "A")
    return [made.price(game, seen, number) for number in range(1, 13, 2)]  # type: ignore[attr-defined]


def test_boulware_concedes_late_and_conceder_early() -> None:
    for late, even, early in zip(offers_of("boulware"), offers_of("linear"), offers_of("conceder"), strict=True):
        assert late >= even >= early
    assert offers_of("boulware")[2] > 6400
    assert offers_of("conceder")[2] < 4600
    assert offers_of("time", beta=0.2) == offers_of("boulware")


def test_time_on_its_own_grid_reaches_the_reserve_with_its_last_offer() -> None:
    assert offers_of("linear", grid="own")[-1] == 4000
    assert offers_of("linear", start=6000, reserve=5000, grid="own") == [6000, 5800, 5600, 5400, 5200, 5000]


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("time", {"beta": 0}),
        ("time", {"kappa": 2}),
        ("time", {"form": "exp"}),
        ("time", {"form": "log"}),
        ("time", {"grid": "other"}),
        ("fixed", {"price": 10_001}),
        ("threshold_talk", {}),
        ("split", {"speed": 1}),
    ],
)
def test_a_player_refuses_what_it_cannot_play(name: str, params: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        player(name, bargaining(), **params)


def test_players_of_public_numbers_refuse_hidden_ones() -> None:
    for name in ("fair", "fixed", "spe"):
        with pytest.raises(ValueError):
            player(name, bargaining("range"))
    with pytest.raises(ValueError, match="outside"):
        player("spe", bargaining(outside_buyer=1))


def test_a_seller_does_not_play_the_buyer() -> None:
    with pytest.raises(ValueError, match="seat A"):
        act("anchored", bargaining(), "B", 5500)


def test_anchored_leaks_its_cost_by_its_first_ask_and_stalls_at_50() -> None:
    game = bargaining("one-sided")
    asks = {}
    for cost in (3000, 4000, 5000):
        own: list[int] = []
        for _ in range(3):
            prices = [price for ask in own for price in (ask, 0)]
            own.append(act("anchored", game, "A", *prices, value=8000, cost=cost).cents)
        asks[cost] = own
    assert asks == {3000: [5100, 4900, 4750], 4000: [5400, 5300, 5200], 5000: [5700, 5700, 5700]}


def test_the_last_response_takes_any_gain_except_where_a_player_insists() -> None:
    game = bargaining(rounds=1)
    for name in ("linear", "split", "tft_relative", "fixed", "spe"):
        assert act(name, game, "B", 6500) == Accept()
        assert act(name, game, "B", 6501) == Reject()
    assert act("fair", game, "B", 5251) == Reject()
    assert act("fair", game, "B", 5250) == Accept()
    assert act("linear", bargaining(rounds=1, outside_buyer=100), "B", 6401) == Reject()


def test_tft_is_the_relative_one() -> None:
    assert resolve("tft:start=6000", bargaining()).name == "tft_relative:start=6000"
    assert act("tft", bargaining(), "A") == act("tft_relative", bargaining(), "A")


def test_two_equilibrium_players_agree_at_once_on_the_first_price() -> None:
    for discount, price in ((1.0, 4000), (0.9, 4616), (0.5, 5640)):
        game = bargaining(discount_seller=discount, discount_buyer=discount)
        public = play(game, "spe", "spe").state.public
        assert (public.price, len(public.offers)) == (price, 1)


def test_random_players_with_one_seed_play_alike() -> None:
    game = bargaining()
    first, again = (play(game, "random:seed=4", "random:seed=5").state for _ in range(2))
    assert first == again
    assert player("random-legal", game).__class__ is player("random", game).__class__


# Theory.


def near(got: list[float], want: list[float], places: float = 1e-4) -> bool:
    return all(abs(g - w) <= places for g, w in zip(got, want, strict=True))


@pytest.mark.parametrize(
    ("discount", "path"),
    [
        (1, [4000.0] * 6),
        (0.95, [4339.63, 4225.92, 4237.81, 4118.75, 4125, 4000]),
        (0.9, [4616.53, 4407.25, 4452.5, 4225, 4250, 4000]),
        (0.5, [5640.62, 4781.25, 5562.5, 4625, 5250, 4000]),
    ],
)
def test_the_path_of_65_and_40(discount: float, path: list[float]) -> None:
    found = spe_path(6, 6500, 4000, discount, discount, "seller")
    assert near(found, path, 0.006)
    assert abs(spe_closed_form(6, 6500, 4000, discount, "seller") - found[0]) < 1e-9


def test_many_rounds_come_to_the_offer_without_a_last_round() -> None:
    for discount, price in ((0.99, 52.56), (0.95, 52.82), (0.9, 53.16), (0.5, 56.67)):
        limit = rubinstein(6500, 4000, discount, discount, "seller")
        assert round(limit / 100, 2) == price
        assert abs(spe_path(3001, 6500, 4000, discount, discount, "seller")[0] - limit) < 1e-6
    assert round(rubinstein(6500, 4000, 0.95, 0.9, "seller") / 100, 2) == 57.24


def test_whoever_moves_last_takes_everything_without_discounting() -> None:
    assert spe_grid(6, 6500, 4000, 1, 1, "seller") == [4000] * 6
    assert spe_grid(6, 6500, 4000, 1, 1, "seller", False) == [None] * 5 + [4001]
    assert spe_grid(3, 4500, 4000, 1, 1, "seller") == [4500] * 3


def test_the_fair_price_is_the_point_of_nash_and_of_kalai_and_smorodinsky() -> None:
    assert nash(6500, 4000) == kalai_smorodinsky(6500, 4000) == 5250
    assert nash(6500, 4000, 2000, 600) is None and kalai_smorodinsky(6500, 4000, 2000, 600) is None
    assert kalai_smorodinsky(6500, 4000, 2500, 0) == 6500


def test_take_it_or_leave_it_prices() -> None:
    assert ask_uniform(4000, 4500, 7500)[0] == 5750 and ask_uniform(0, 5000, 5000) == (5000, 5000)
    assert bid_uniform(6500, 3000, 5000) == (4750, 1531.25)
    assert ask_set(3000, (6000, 7000, 8000, 9000)) == ([6000, 7000], 3000)
    assert bid_set(6000, (2000, 3000, 4000, 5000)) == ([3000, 4000], 1500)


def test_without_a_price_that_gains_there_is_no_take_it_or_leave_it_price() -> None:
    assert ask_uniform(8000, 4500, 7500) == (None, 0) == bid_uniform(2000, 3000, 5000)
    assert ask_set(9500, (6000, 9000)) == ([], 0) == bid_set(1000, (2000, 3000))
