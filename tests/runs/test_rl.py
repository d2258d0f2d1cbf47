"""Games as environments: the conformance tests of Gymnasium and PettingZoo, and the same matches as elsewhere."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from itertools import count
from typing import Any

import msgspec
import pytest
from gymnasium.utils.env_checker import check_env
from pettingzoo.test import api_test, parallel_api_test, seed_test
from typing_extensions import override

import negolab as nl
from negolab.analysis.measures import gains, surplus
from negolab.catalog import AnyGame, game_names
from negolab.game import SEATS, Seat
from negolab.rl import Actions, NegotiationAEC, NegotiationEnv, NegotiationParallel
from negolab.verification import find_differences

ACTIONS: list[Actions] = ["text", "choice"]
quiet = pytest.mark.filterwarnings(
    "ignore:Observation is not a NumPy array",
    "ignore:Observation space for each agent",
    "ignore:Action space for each agent",
    "ignore:Environment has not defined a render",
    "ignore:We recommend agents to be named",
)
"""Texts are no arrays, and agents are called as seats are."""


@quiet
@pytest.mark.parametrize("actions", ACTIONS)
@pytest.mark.parametrize("game", game_names())
def test_every_game_passes_pettingzoo_s_api_test(game: str, actions: Actions) -> None:
    api_test(NegotiationAEC(game, actions=actions), num_cycles=60)


@pytest.mark.parametrize("actions", ACTIONS)
@pytest.mark.parametrize("game", ["split", "bargaining"])
def test_both_at_once_pass_pettingzoo_s_api_test(game: str, actions: Actions) -> None:
    parallel_api_test(NegotiationParallel(game, actions=actions), num_cycles=60)


def test_equal_seeds_give_equal_observations() -> None:
    seed_test(lambda: NegotiationAEC("trading", actions="choice"), num_cycles=40)


@pytest.mark.parametrize("actions", ACTIONS)
def test_gymnasium_s_checker_has_no_warning(actions: Actions) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(NegotiationEnv("bargaining", opponent="linear", actions=actions), skip_render_check=True)


class Replayed:
    """The moves of a random player, in the same order, for a match and for an environment."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)

    def reply(self, told: AnyGame, ask: nl.Ask) -> str:
        options = told.options(ask.seen)
        return "what?" if self.rng.random() < 0.1 else told.say(options[self.rng.randrange(len(options))])


@pytest.mark.parametrize("seat", SEATS)
@pytest.mark.parametrize("game", game_names())
def test_a_seat_in_an_environment_plays_the_match_that_play_plays(game: str, seat: Seat) -> None:
    env = NegotiationEnv(game, opponent="random-legal", seat=seat)
    for seed in range(5):
        mine = Replayed(seed)
        played = nl.play(nl.Match(nl.load(game), seed=seed), seats(seat, Replayed(seed)))
        observed, _ = env.reset(seed=seed)
        ended, reward = env.match.ended is not None, 0.0
        while not ended:
            assert observed.startswith(env.match.told(seat).prompt(env.match.seen(seat), None))
            asked = env.match.pending()[seat]
            observed, reward, terminated, truncated, _ = env.step(mine.reply(env.match.told(seat), asked))
            ended = terminated or truncated
        assert env.match.events == played.events
        record = env.match.record()
        assert not find_differences(record)
        gain, possible = gains(record)[seat] or 0, surplus(record)[1]
        assert reward == pytest.approx(gain / possible if possible else 0)
        assert record.header.players == {seat: "learner", nl.other(seat): "random-legal"}


def seats(seat: Seat, mine: Any) -> dict[Seat, Any]:
    return {seat: mine, nl.other(seat): "random-legal"}


@pytest.mark.parametrize("make", [NegotiationAEC, NegotiationParallel])
@pytest.mark.parametrize("game", ["split", "bargaining"])
def test_two_learners_play_the_match_that_play_plays(game: str, make: Callable[..., Any]) -> None:
    script: dict[Seat, list[str]] = {seat: [] for seat in SEATS}

    class Kept(nl.Scripted):
        @override
        def act(self, game: Any, seen: Any) -> str:
            words: str = game.say(game.options(seen)[-2])
            script[seen.seat].append(words)
            return words

    played = nl.play(nl.Match(nl.load(game), seed=3), {"A": Kept(), "B": Kept()})
    env = make(game, reward="payoff")
    env.reset(seed=3)
    while not env.match.ended:
        if isinstance(env, NegotiationAEC):
            env.step(script[env.agent_selection].pop(0))
            paid = env.rewards
        else:
            _, paid, *_ = env.step({seat: script[seat].pop(0) for seat in env.match.pending()})
    assert env.match.events == played.events
    assert paid == played.record().payoffs


SECRETS: dict[str, dict[str, Any]] = {
    "agenda": {"preset": "random"},
    "bargaining": {"preset": "none", "buyer_values": (6500, 7000), "seller_costs": (3000, 4000)},
}
"""Presets that draw what a seat may not see, where the default has nothing of that kind."""


@pytest.mark.parametrize("seat", SEATS)
@pytest.mark.parametrize("game", game_names())
def test_the_other_seat_s_secret_is_in_no_observation(game: str, seat: Seat) -> None:
    loaded, there = nl.load(game, **SECRETS.get(game, {})), nl.other(seat)
    env = NegotiationAEC(loaded, actions="choice")
    other = next(m.state for m in (nl.Match(loaded, seed=n) for n in count(2)) if differ(m, nl.Match(loaded, seed=1)))

    def view() -> Any:
        told = env.observe(seat)
        return told["observation"], told["action_mask"].tolist(), env._table.info(seat)

    env.reset(seed=1)
    before, state = view(), env.match.state
    private = {**state.private, there: other.private[there]}
    env.match.state = msgspec.structs.replace(state, private=private)
    env.match._seen = {}
    assert view() == before


def differ(one: nl.Match, two: nl.Match) -> bool:
    return all(one.state.private[seat] != two.state.private[seat] for seat in SEATS)


def test_an_action_beyond_the_options_is_a_rejected_reply() -> None:
    env = NegotiationEnv("bargaining", opponent="linear", actions="choice")
    env.reset(seed=1)
    observed, _, _, _, _ = env.step(500)
    assert "There is no option 500: there are 21." in observed["observation"]


def test_mistakes_are_named() -> None:
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"actions": "choice", "max_options": 5}, "max_options=21"),
        ({"seat": "C"}, "seat must be 'A' or 'B', not 'C'"),
        ({"opponent": "liner"}, "unknown player 'liner'"),
        ({"actions": "words"}, "actions must be"),
        ({"reward": "points"}, "reward must be"),
    ]
    for options, said in wrong:
        with pytest.raises(ValueError, match=said):
            NegotiationEnv("bargaining", **{"opponent": "linear", **options}).reset(seed=1)
