"""Units of observation: draws, copies, people, and what an estimate says of them."""

from __future__ import annotations

import random

import pytest

import negolab as nl
from negolab.analysis import observations, stats, summary, tables
from negolab.analysis.observations import Sample, as_sample, deal_id, draw_id, frame_sample, sample_text
from negolab.catalog import game_names, load
from negolab.players.lookup import compatible_players, player
from negolab.record import parse_record

# Deals and draws.


def test_a_deal_is_game_parameters_and_start_and_a_draw_the_chance_alone() -> None:
    game = nl.load("bargaining", preset="one-sided")
    one, again = (nl.batch(game, "linear", "boulware", n=1, seed=seed)[0] for seed in (1, 1))
    assert deal_id(one) == deal_id(again)
    longer = nl.batch(nl.load("bargaining", preset="one-sided", rounds=9), "linear", "boulware", n=1, seed=1)[0]
    assert deal_id(longer) != deal_id(one) and draw_id(longer) == draw_id(one)


def test_a_deal_does_not_depend_on_who_plays_or_on_being_read_again() -> None:
    for name in game_names():
        record = nl.batch(name, "random-legal", "random-legal", n=1, seed=3)[0]
        swapped = nl.Match(record.game, seed=record.header.seed, players={"A": "x", "B": "y"}).record()
        assert deal_id(parse_record(record.to_line())) == deal_id(record) == deal_id(swapped)


def test_a_start_that_was_given_is_its_own_draw() -> None:
    game = load("trading")
    match = nl.Match(game, start=game.deal(random.Random(1)))
    other = nl.Match(game, start=game.deal(random.Random(2)))
    assert draw_id(match.record()) != draw_id(other.record())


# Copies.


@pytest.mark.parametrize("game", game_names())
def test_players_that_say_so_are_deterministic(game: str) -> None:
    loaded = load(game)
    for name in compatible_players(loaded, "A"):
        if name.startswith("llm") or not getattr(player(name, loaded), "deterministic", False):
            continue
        if "B" not in player(name, loaded).seats:
            continue
        texts = []
        for seed in (1, 2):
            match = nl.Match(loaded, seed=9)
            nl.play(match, {seat: player(name, loaded, seed=seed) for seat in ("A", "B")})
            texts.append([getattr(event, "reply", None) and event.reply.text for event in match.events])
            assert match.notes["deterministic"] == ["A", "B"]
        assert texts[0] == texts[1], name


def test_a_draw_that_deterministic_players_play_again_is_a_copy() -> None:
    game = nl.load("bargaining", preset="one-sided")
    records = nl.batch(game, "linear", "boulware", n=10, swap=True)
    frame = tables.matches([*records, *records])
    assert frame["deterministic"].all() and frame["chance"].all()
    assert len(observations.drop_copies(frame)) == len(records)
    drawn = tables.matches(nl.batch("bargaining", "random-legal", "boulware", n=40, swap=True))
    assert len(observations.drop_copies(drawn)) == 40


def test_draws_that_happen_to_be_alike_are_no_copies() -> None:
    usual = (4500,) * 9 + (9000,)
    records = nl.batch(
        nl.load("bargaining", buyer_values=usual, opener="buyer"), "fixed:price=4400", "boulware", n=400, seed=1
    )
    frame = tables.matches(records)
    assert frame["deal"].nunique() == 2
    paid = frame["payoff_b"].astype(float)
    assert frame_sample(frame, "payoff_b").mean().value == pytest.approx(paid.mean())


def test_without_any_chance_a_result_is_known_exactly() -> None:
    found = summary.tally_records(nl.batch("bargaining", "linear", "boulware", n=200, swap=True))
    shown = "\n".join(summary.tally_lines(found, "cents"))
    assert "nothing is random in the game or its players" in shown
    assert "agreed        100.0%   n = 2 (known exactly)" in shown and "[" not in shown


def test_a_batch_takes_games_on_one_draw_together() -> None:
    game = nl.load("bargaining", preset="one-sided")
    found = summary.tally_records(nl.batch(game, "random-legal", "linear", n=60, swap=True))
    shown = "\n".join(summary.tally_lines(found, "cents"))
    assert "n = 60 on 30 draws" in shown and "clustered by random draw (30 draws)" in shown


def test_failed_games_are_apart_in_every_share_and_are_named_with_players_and_reason() -> None:
    records = nl.batch("bargaining", "random-legal", "random-legal", n=3)
    match = nl.Match(nl.load("bargaining"), seed=1, players={"A": "llm:x", "B": "linear"})
    match.notes["stopped"] = "failed"
    match.abort("the endpoint was down")
    shown = "\n".join(summary.tally_lines(summary.tally_records([*records, match.record()]), "cents"))
    assert (
        "without a result: 1 of 4 matches" in shown and "llm:x against linear" in shown and "endpoint was down" in shown
    )
    assert "agreed        100.0%" in shown and shown.count("n = 3") == 3
    assert "of which 1 failed (excluded from shares)" in shown


# Estimates.


def test_an_estimate_says_what_it_rests_on() -> None:
    e = stats.Estimate(1, 0, 2, 200, 100, groups=100)
    assert sample_text(e) == "n = 200 on 100 draws"
    assert sample_text(e._replace(effective=150)) == "n = 200 on 100 draws (as good as 150 independent)"
    assert sample_text(e._replace(effective=199)) == "n = 200 on 100 draws"
    assert sample_text(e._replace(n=100)) == "n = 100 draws"
    assert sample_text(e._replace(n=5, draws=5, groups=5)) == "n = 5 draws (few)"
    assert sample_text(e._replace(skewed=True)).endswith("skewed: too few draws for this interval")
    assert sample_text(Sample([1.0, 2.0], ["a", "a"]).mean()) == "n = 2 on 1 draw: no interval"
    assert "at most 39% of draws differ" in sample_text(Sample([1.0] * 6, [*"abcdef"]).mean())
    assert sample_text(Sample([1.0, 2.0], ["a", "b"], exact=True).mean()) == "n = 2 (known exactly)"
    assert sample_text(as_sample([1.0, 2.0]).mean()) == "n = 2"


def test_people_who_play_again_are_taken_together() -> None:
    frame = tables.matches(nl.batch(nl.load("bargaining", preset="one-sided"), "random-legal", "random-legal", n=20))
    met = frame.assign(participant_a=[k // 2 for k in range(20)], participant_b=None)
    found = frame_sample(met, "payoff_a").mean()
    assert (found.n, found.draws, found.groups) == (20, 20, 10)
