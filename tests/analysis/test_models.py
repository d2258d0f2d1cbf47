"""Results of players: what is counted of a match, and what of it an estimate rests on."""

from __future__ import annotations

from statistics import fmean
from typing import Any

import pandas as pd
import pytest

import negolab as nl
from negolab.analysis import models, observations
from negolab.analysis.measures import surplus
from negolab.games.bargaining import measures
from negolab.record import Record, start_state


def measure(frame: pd.DataFrame, what: str, player: str, opponent: str = "linear") -> Any:
    (row,) = frame[(frame.measure == what) & (frame.player == player) & (frame.opponent == opponent)].itertuples()
    return row


def test_a_game_against_itself_is_one_game() -> None:
    game = nl.load("bargaining")
    records = []
    for seed in range(4):
        match = nl.Match(game, seed=seed, players={"A": "x", "B": "x"})
        match.submit(next(iter(match.pending())), "nonsense without a price" if seed == 0 else "")
        records.append(match.record())
    frame = models.seat_frame(records).assign(stopped=None)
    faulty = measure(models.estimate_seats(frame), "format faults", "x", "x")
    assert (faulty.value, faulty.n) == (100, 4)
    lost = models.estimate_seats(frame.assign(lost_by=["format", None] * 2 + [None] * 4))
    assert measure(lost, "lost by format", "x", "x").value == pytest.approx(50)
    assert measure(lost, "lost by format", "x", "x").n == 4


def seats(game: str, a: str, b: str, n: int = 6, **params: Any) -> tuple[list[Record], pd.DataFrame]:
    records = nl.batch(nl.load(game, **params), a, b, n=n, seed=1, swap=True)
    return records, models.seat_frame(records)


def test_the_surplus_is_what_each_game_says_of_it() -> None:
    for record in nl.batch("bargaining", "linear", "random-legal", n=8, seed=1):
        joint, possible = surplus(record)
        assert joint is not None and possible is not None
        assert joint / possible == pytest.approx(measures.interview_row(record)["efficiency"])
    for record in nl.batch("split", "greedy", "truthful", n=8, seed=1):
        joint, possible = surplus(record)
        told = record.game.details(_last(record))["measures"]
        assert (joint, possible) == (pytest.approx(told["joint"]), told["best"])
    for record in nl.batch("trading", "fair-split", "greedy-honest", n=8, seed=1):
        told = record.game.details(_last(record))
        assert surplus(record) == (told["joint"], told["possible"])
    for record in nl.batch("balloon", "linear", "linear", n=4, seed=1):
        joint, possible = surplus(record)
        assert joint == sum(v for v in record.payoffs.values() if v is not None)
        assert possible == max(a + b for a, b in record.game.frontier(start_state(record)))


def _last(record: Record) -> Any:
    *_, last = nl.states(record)
    return last


def test_rounds_that_a_forfeit_cut_off_are_lost_surplus() -> None:
    game = nl.load("split", quota=0, rounds=3, fallback="end")
    match = nl.Match(game, seed=1)
    for text in ("?", "??", "???"):
        match.submit("A", text)
    joint, possible = surplus(match.record())
    assert match.outcome is not None and match.outcome.end == "FORFEIT"
    assert joint == 0 and possible is not None and possible > 0
    row = models.seat_frame([match.record()]).iloc[0]
    assert (row.replies, row.format_faults, row.forfeits, row.lost_by) == (3, 3, 1, "format")


def test_games_without_chance_are_known_exactly_and_count_once_in_each_seat() -> None:
    records, frame = seats("bargaining", "boulware", "linear")
    own = observations.frame_sample(frame[frame.player == "boulware"], "payoff").mean()
    paid = [float(r.payoffs[s] or 0) for r in records for s, who in r.header.players.items() if who == "boulware"]
    assert (own.status, own.n, own.value) == ("exact", 2, pytest.approx(fmean(paid)))


def test_games_that_were_stopped_are_in_no_share_and_no_mean() -> None:
    match = nl.Match(nl.load("bargaining"), seed=1, players={"A": "linear", "B": "llm:x"})
    match.notes["stopped"] = "failed"
    match.abort("no answer")
    played = nl.batch("bargaining", "linear", "linear", n=1)[0]
    frame = models.seat_frame([match.record(), played])
    found = models.estimate_seats(frame, "cents")
    agreed = measure(found, "agreement", "linear", "linear")
    assert (agreed.value, agreed.n) == (100, 1)
    assert measure(found, "games stopped", "llm:x").value == 1
    assert measure(found, "own payoff", "llm:x").n == 0
    assert models.overview_table(found).loc[("llm:x", "linear"), "agreement (%)"] == "unknown, n = 0"
