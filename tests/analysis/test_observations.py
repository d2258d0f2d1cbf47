"""Units of observation: deals, draws, copies, and the intervals of what is clustered."""

from __future__ import annotations

import random
from math import isnan

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.stats import binomtest
from scipy.stats import t as student

import negolab as nl
from negolab.analysis import models, observations, stats, summary, tables
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


def test_a_deal_that_deterministic_players_play_again_is_a_copy() -> None:
    frame = tables.matches(nl.batch("bargaining", "linear", "boulware", n=40, swap=True))
    assert frame["deal"].nunique() == 1 and frame["deterministic"].all()
    assert len(observations.drop_copies(frame)) == 2
    chance = tables.matches(nl.batch("bargaining", "random-legal", "boulware", n=40, swap=True))
    assert len(observations.drop_copies(chance)) == 40


def test_a_batch_of_deterministic_players_says_how_many_games_there_are() -> None:
    found = summary.tally_records(nl.batch("bargaining", "linear", "boulware", n=200, swap=True))
    shown = "\n".join(summary.tally_lines(found, "cents"))
    assert "the players are deterministic: 2 distinct games, one for each deal and seating, and 198 copies" in shown
    assert "agreed        100.0 %   n = 2 for this deal" in shown and "[" not in shown


def test_a_batch_on_many_deals_takes_those_that_were_played_twice_together() -> None:
    game = nl.load("bargaining", preset="one-sided")
    found = summary.tally_records(nl.batch(game, "random-legal", "linear", n=60, swap=True))
    shown = "\n".join(summary.tally_lines(found, "cents"))
    deals = len(found.deals)
    assert (
        deals < 60 and f"n = 60 on {deals} deals" in shown
        if deals >= 10
        else f"n = 60 for these {deals} deals" in shown
    )


def test_failed_games_are_apart_in_every_share_and_are_named_with_players_and_reason() -> None:
    records = nl.batch("bargaining", "random-legal", "random-legal", n=3)
    match = nl.Match(nl.load("bargaining"), seed=1, players={"A": "llm:x", "B": "linear"})
    match.notes["stopped"] = "failed"
    match.abort("the endpoint was down")
    shown = "\n".join(summary.tally_lines(summary.tally_records([*records, match.record()]), "cents"))
    assert (
        "without a result: 1 of 4 games" in shown and "llm:x against linear" in shown and "endpoint was down" in shown
    )
    assert "agreed        100.0 %" in shown and shown.count("n = 3") == 3
    assert "1 of them failed and count in no share" in shown


# Intervals.


@pytest.mark.parametrize(("hits", "n"), [(0, 7), (3, 10), (10, 10), (41, 200)])
def test_wilsons_interval_is_that_of_scipy(hits: int, n: int) -> None:
    interval = binomtest(hits, n).proportion_ci(method="wilson")
    assert stats.wilson_interval(hits, n)[:3] == pytest.approx((hits / n, interval.low, interval.high))


def clustered(seed: int) -> tuple[list[float], list[int], list[int]]:
    rng = np.random.default_rng(seed)
    deals, people = rng.integers(0, 25, 120), rng.integers(0, 30, 120)
    values = rng.normal(size=25)[deals] + rng.normal(size=30)[people] + rng.normal(size=120)
    return [float(v) for v in values], [int(d) for d in deals], [int(p) for p in people]


@pytest.mark.parametrize("seed", range(3))
def test_the_variance_of_a_mean_is_that_of_a_regression_on_nothing(seed: int) -> None:
    values, deals, people = clustered(seed)
    one = sm.OLS(values, np.ones(120)).fit(cov_type="cluster", cov_kwds={"groups": deals}, use_t=True)
    e = stats.cluster_mean(values, deals)
    assert (e.low, e.high) == pytest.approx(tuple(one.conf_int()[0]))
    both = np.column_stack([deals, people])
    two = sm.OLS(values, np.ones(120)).fit(cov_type="cluster", cov_kwds={"groups": both}, use_t=True)
    assert stats.cluster_mean(values, deals, people).high - e.value == pytest.approx(
        float(two.bse[0]) * abs(float(student.ppf(0.975, 24))), rel=0.02
    )


def test_a_deal_that_is_played_twice_alike_counts_once() -> None:
    rng = np.random.default_rng(4)
    values = [float(value) for value in rng.normal(size=30)]
    once, twice = stats.cluster_mean(values, range(30)), stats.cluster_mean(values * 2, [*range(30)] * 2)
    assert twice[:3] == pytest.approx(once[:3])
    assert once[:3] == pytest.approx(stats.mean_interval(values)[:3])
    hits = [value > 0 for value in values]
    share, copied = stats.cluster_share(hits, range(30)), stats.cluster_share(hits * 2, [*range(30)] * 2)
    assert copied.low == pytest.approx(share.low, abs=0.02) and (share.n, copied.n, copied.deals) == (30, 60, 30)


def test_where_all_games_end_alike_each_deal_counts_once() -> None:
    share = stats.cluster_share([True] * 40, [*range(20)] * 2)
    assert share.high == 1 and share.low < stats.wilson_interval(20, 20).low < stats.wilson_interval(40, 40).low


def test_few_deals_are_no_sample_of_deals() -> None:
    values = [1.0, 2.0, 3.0, 4.0]
    e = stats.cluster_mean(values, ["a", "a", "b", "b"])
    assert e[:4] == stats.mean_interval(values)[:4] and sample_text(e) == "n = 4 for these 2 deals"
    fixed = Sample(values, ["a", "a", "b", "b"], fixed=True).mean()
    assert fixed.value == 2.5 and isnan(fixed.low)


def test_an_estimate_says_what_it_rests_on() -> None:
    assert sample_text(stats.Estimate(1, 0, 2, 200, 100)) == "n = 200 on 100 deals"
    assert sample_text(stats.Estimate(1, 0, 2, 100, 100)) == "n = 100 deals"
    assert sample_text(stats.Estimate(1, 0, 2, 5, 1)) == "n = 5 for this deal"
    assert sample_text(as_sample([1.0, 2.0]).mean()) == "n = 2"


def test_a_game_against_itself_is_one_observation() -> None:
    frame = models.seat_frame(nl.batch("bargaining", "random-legal", "random-legal", n=12))
    assert frame_sample(frame, "payoff").mean().n == 12
