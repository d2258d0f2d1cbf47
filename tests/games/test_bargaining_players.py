"""Scripted bargainers and bargaining theory."""

from __future__ import annotations

from typing import Any

import pytest

import negolab as nl
from negolab.game import Seat, observe
from negolab.games.bargaining import PRESETS, Accept, Bargaining, Reject
from negolab.games.bargaining.players import PLAYERS
from negolab.match import Match
from negolab.players.lookup import player, resolve
from negolab.theory.equilibrium import rubinstein, spe_path
from negolab.theory.solutions import ask_set, ask_uniform, bid_set, bid_uniform
from tests.games.test_bargaining import after, bargaining


def play(game: Bargaining, seller: str, buyer: str, seed: int = 0) -> Match:
    """Play two players by name."""
    return nl.play(Match(game, seed=seed), {"A": seller, "B": buyer})


def act(name: str, game: Bargaining, seat: Seat, *prices: int) -> Any:
    """A player's action after these offers."""
    return player(name, game).act(game.told(seat), observe(after(game, *prices), seat))


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("name", PLAYERS)
def test_every_player_plays_every_game_it_accepts_to_the_end(name: str, preset: str) -> None:
    game = bargaining(preset)
    try:
        player(name, game)
    except ValueError:
        return
    for seed in range(2):
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


@pytest.mark.parametrize(
    ("name", "params", "treatment"),
    [
        ("time", {"beta": 0}, {}),
        ("time", {"kappa": 2}, {}),
        ("time", {"form": "exp"}, {}),
        ("time", {"form": "log"}, {}),
        ("time", {"grid": "other"}, {}),
        ("fixed", {"price": 10_001}, {}),
        ("threshold_talk", {}, {}),
        ("split", {"speed": 1}, {}),
        ("fair", {}, {"preset": "range"}),
        ("fixed", {}, {"preset": "range"}),
        ("spe", {}, {"preset": "range"}),
        ("spe", {}, {"outside_buyer": 1}),
    ],
)
def test_a_player_refuses_what_it_cannot_play(name: str, params: dict[str, Any], treatment: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        player(name, bargaining(**treatment), **params)


def test_a_seller_does_not_play_the_buyer() -> None:
    with pytest.raises(ValueError, match="seat A"):
        act("anchored", bargaining(), "B", 5500)


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


def test_many_rounds_come_to_the_offer_without_a_last_round() -> None:
    for discount, price in ((0.99, 52.56), (0.95, 52.82), (0.9, 53.16), (0.5, 56.67)):
        limit = rubinstein(6500, 4000, discount, discount, "seller")
        assert round(limit / 100, 2) == price
        assert abs(spe_path(3001, 6500, 4000, discount, discount, "seller")[0] - limit) < 1e-6
    assert round(rubinstein(6500, 4000, 0.95, 0.9, "seller") / 100, 2) == 57.24


def test_without_a_price_that_gains_there_is_no_take_it_or_leave_it_price() -> None:
    assert ask_uniform(8000, 4500, 7500) == (None, 0) == bid_uniform(2000, 3000, 5000)
    assert ask_set(9500, (6000, 9000)) == ([], 0) == bid_set(1000, (2000, 3000))
