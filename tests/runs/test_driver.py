"""The driver: scripted and asynchronous players, time limits, many matches at once."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import negolab as nl
from negolab.catalog import AnyGame
from negolab.events import Rejected
from negolab.game import Ask
from negolab.match import Match
from negolab.runs.batch import play_pairing
from negolab.runs.driver import aplay, play
from negolab.runs.plan import Plan, derive_seed
from negolab.scaffolds.ultimatum import Ultimatum

GAME = Ultimatum()


class Says:
    """A player with a fixed reply."""

    def __init__(self, *words: Any) -> None:
        self.words = list(words)

    def reply(self, told: AnyGame, ask: Ask) -> Any:
        return self.words.pop(0) if len(self.words) > 1 else self.words[0]


class Slow(Says):
    """An async player with a fixed reply and a delay."""

    async def reply(self, told: AnyGame, ask: Ask) -> Any:
        await asyncio.sleep(0.05)
        return super().reply(told, ask)


def test_the_first_cell_of_a_notebook_works() -> None:
    game = nl.load("trading", max_turns=4)
    match = nl.Match(game, seed=7)
    nl.play(match, {"A": nl.player("fair-split", game), "B": nl.player("greedy-honest", game)})
    assert match.outcome is not None
    assert match.record().id == match.id


def test_players_that_await_are_played_without_a_loop() -> None:
    match = play(Match(GAME, seed=1), {"A": Slow("4"), "B": Says("yes")})
    assert match.ended is not None
    reply = match.events[1].reply  # type: ignore[union-attr]
    assert reply.answered_at - reply.asked_at >= 0.04  # type: ignore[operator]


def test_play_works_inside_a_running_loop_as_in_jupyter() -> None:
    async def cell() -> Match:
        return play(Match(GAME, seed=1), {"A": Slow("4"), "B": Slow("yes")})

    assert asyncio.run(cell()).ended is not None


def test_a_late_reply_is_rejected_as_time() -> None:
    match = play(Match(GAME, seed=1), {"A": Slow("4"), "B": Says("yes")}, time_limit=0.01)
    late = [event for event in match.events if isinstance(event, Rejected)]
    assert {event.invalid.kind for event in late} == {"time"}
    assert match.ended is not None
    assert match.ended.end == "FORFEIT"


def test_an_answer_that_is_no_text_is_rejected() -> None:
    match = play(Match(GAME, seed=1), {"A": Says(None, b"4", "4"), "B": Says("yes")})
    assert [e.invalid.codes for e in match.events if isinstance(e, Rejected)] == [("not_text",)] * 2


def test_seats_that_are_asked_at_once_answer_at_once() -> None:
    game = nl.load("split", preset="no-press", rounds=3)
    match = asyncio.run(aplay(Match(game, seed=1), {"A": Slow("5 coins"), "B": Slow("5 coins")}))
    assert match.ended is not None


def test_a_plan_names_its_games_whatever_their_number() -> None:
    few, many = (Plan(game="trading", preset="seed", params={}, a="x", b="y", n=n, seed=1) for n in (2, 4))
    assert list(few.pairings()) == list(many.pairings())[:2]
    assert len({pairing.id for pairing in many.pairings()}) == 4


def test_swapped_seats_play_the_same_deal() -> None:
    plan = Plan(game="trading", preset="seed", params={}, a="chat", b="fair-split", n=4, seed=1, swap=True)
    first, second, third, _ = plan.pairings()
    assert first.seed == second.seed != third.seed
    assert first.players == {"A": "chat", "B": "fair-split"}
    assert second.players == {"A": "fair-split", "B": "chat"}
    with pytest.raises(ValueError, match="n must be even"):
        Plan(game="trading", preset="seed", params={}, a="x", b="y", n=3, seed=1, swap=True)


def test_a_game_of_a_batch_is_the_same_every_time() -> None:
    plan = Plan(game="trading", preset="seed", params={}, a="random-legal", b="greedy-honest", n=2, seed=5)
    game = nl.load("trading")
    left, right = ([play_pairing(game, p).events for p in plan.pairings()] for _ in range(2))
    assert left == right


def test_derived_seeds_differ_by_name() -> None:
    assert len({derive_seed(1, "deal", i) for i in range(1000)}) == 1000
    assert derive_seed(1, "deal", 0) != derive_seed(2, "deal", 0)


def test_a_players_own_timeout_is_its_failure_and_not_the_limit() -> None:
    class Fails:
        async def reply(self, told: AnyGame, ask: Ask) -> str:
            raise TimeoutError("the network")

    with pytest.raises(TimeoutError, match="the network"):
        play(Match(GAME, seed=1), {"A": Fails(), "B": Says("yes")}, time_limit=60)


def test_a_plain_method_may_return_an_awaitable() -> None:
    slow = Slow("4")

    class Later:
        def reply(self, told: AnyGame, ask: Ask) -> Any:
            return slow.reply(told, ask)

    assert play(Match(GAME, seed=1), {"A": Later(), "B": Says("yes")}).ended is not None


def test_a_seat_without_a_player_is_named() -> None:
    with pytest.raises(ValueError, match="seat B needs a player"):
        play(Match(GAME, seed=1), {"A": Says("4")})


@pytest.mark.parametrize("limit", [0, -1, float("nan")])
def test_a_time_limit_is_a_number_of_seconds(limit: float) -> None:
    with pytest.raises(ValueError, match="time_limit"):
        play(Match(GAME, seed=1), {"A": Says("4"), "B": Says("yes")}, time_limit=limit)
