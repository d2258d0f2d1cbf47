"""The notebook on language models: its measures are those of the records, and it resumes where it stopped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean
from typing import Any

import nbformat
import pandas as pd
import papermill
import pytest

import negolab as nl
from negolab.analysis import models, observations, stats
from negolab.analysis.measures import surplus
from negolab.events import Rejected, Replied
from negolab.games.bargaining import measures
from negolab.record import Record, start_state
from tests.conftest import ROOT
from tests.support.endpoints import Server, running_endpoint

pytestmark = pytest.mark.long

NOTEBOOK = ROOT / "notebooks" / "experiments" / "models" / "experiment.ipynb"
PRICED, UNPRICED = "llm:gpt-5-nano", "llm:fake"
"""Models of the fake endpoint: one has the name of a model with a list price."""


@pytest.fixture(scope="module")
def endpoint() -> Iterator[Server]:
    with running_endpoint(latency=0.005) as server:
        yield server


@pytest.fixture
def server(endpoint: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Server:
    """The server with default settings, and a private cache."""
    monkeypatch.setenv("NEGOLAB_CACHE", str(tmp_path / "answers.db"))
    endpoint.reset()
    return endpoint


def studied(tmp_path: Path, **parameters: Any) -> str:
    """Run the notebook and return its cells' output as text."""
    done = tmp_path / "done.ipynb"
    try:
        papermill.execute_notebook(str(NOTEBOOK), str(done), parameters, progress_bar=False, kernel_name="python3")
    finally:
        shown = _shown(done)
    return shown


def _shown(notebook: Path) -> str:
    outputs = [o for cell in nbformat.read(notebook, 4).cells for o in cell.get("outputs", [])]
    texts = [str(o.get("text", "")) + str(o.get("data", {}).get("text/plain", "")) for o in outputs]
    return "\n".join([*texts, *(str(o.get("data", {}).get("text/markdown", "")) for o in outputs)])


def measure(frame: pd.DataFrame, what: str, player: str, opponent: str = "linear") -> Any:
    (row,) = frame[(frame.measure == what) & (frame.player == player) & (frame.opponent == opponent)].itertuples()
    return row


# The notebook.


def test_the_numbers_of_a_study_are_those_of_its_records(server: Server, tmp_path: Path) -> None:
    out = tmp_path / "out"
    chosen = {"models": [PRICED, UNPRICED], "games": ["bargaining"], "deals": 5, "temperature": 0.7}
    shown = studied(tmp_path, **chosen, base_url=server.url, out=str(out))
    priced, unpriced = f"{PRICED},temperature=0.7", f"{UNPRICED},temperature=0.7"
    records = [r for r in nl.read(out) if priced in r.header.players.values()]
    found = pd.read_csv(out / "measures.csv")
    assert len(records) == 10
    for record in records:
        assert set(record.header.players.values()) == {priced, "linear"}
    agreed = measure(found, "agreement", priced)
    draws = stats.Groups(10, [r.header.seed for r in records])
    expected = stats.estimate_share([r.end == "AGREED" for r in records], draws)
    assert (agreed.value, agreed.low, agreed.high) == pytest.approx([100 * b for b in expected[:3]])
    own = measure(found, "own payoff", priced)
    assert (own.value, own.n, own.unit) == (pytest.approx(_own(records, priced) / 100), 10, "dollars")
    assert measure(found, "efficiency", priced).value == pytest.approx(
        100 * fmean(measures.interview_row(r)["efficiency"] for r in records)
    )
    assert measure(found, "format faults", priced).value == pytest.approx(10 * _faulty(records, priced))
    replies = [event.reply for r in records for event in r.events if isinstance(event, Replied)]
    replies += [event.said for r in records for event in r.events if isinstance(event, Rejected) and event.said]
    answers = [reply for reply in replies if reply.via == "model"]
    taken = sum((reply.usage or {})["input"] for reply in answers)
    assert measure(found, "tokens input", priced).value == pytest.approx(taken / 10)
    assert measure(found, "cost", priced).value == pytest.approx(100 * sum(reply.cost or 0 for reply in answers))
    assert measure(found, "cost", unpriced).n == 0, "no price is known"
    assert "unknown" in shown and f"`{priced}` is *gpt-5-nano*" in shown
    assert "30 of 30" not in shown and "matches are over" not in shown


def test_a_game_against_itself_is_one_game() -> None:
    game = nl.load("bargaining")
    records = []
    for seed in range(4):
        match = nl.Match(game, seed=seed, players={"A": "x", "B": "x"})
        match.submit(next(iter(match.pending())), "nonsense without a price" if seed == 0 else "")
        records.append(match.record())
    frame = models.seat_frame(records).assign(stopped=None)
    share = models.faulty_share(frame, "format")
    assert (share.value, share.n) == (1, 4)
    lost = models.estimate_seats(frame.assign(lost_by=["format", None] * 2 + [None] * 4))
    assert measure(lost, "lost by format", "x", "x").value == pytest.approx(50)
    assert measure(lost, "lost by format", "x", "x").n == 4


def _own(records: list[Record], player: str) -> float:
    """The mean payoff of a player, over both seats."""
    paid = [r.payoffs[seat] for r in records for seat, who in r.header.players.items() if who == player]
    return fmean(float(payoff or 0) for payoff in paid)


def _faulty(records: list[Record], player: str) -> int:
    """Games in which a reply of this player could not be parsed."""
    faults = Counter(
        record.id
        for record in records
        for event in record.events
        if isinstance(event, Rejected) and event.invalid.kind == "format"
        if record.header.players[event.seat] == player
    )
    return len(faults)


def test_a_study_stops_at_its_budget_and_goes_on_with_a_larger_one(server: Server, tmp_path: Path) -> None:
    chosen = {"models": [PRICED], "games": ["bargaining"], "deals": 5, "base_url": server.url}
    chosen["out"] = str(tmp_path / "out")
    with pytest.raises(papermill.PapermillExecutionError, match="the budget is reached") as stopped:
        studied(tmp_path, **chosen, budget=0.0003)
    assert "matches are over" in str(stopped.value)
    before = server.counts()["answered"]
    assert before > 0
    studied(tmp_path, **chosen, budget=1)
    finished = server.counts()["answered"]
    found = pd.read_csv(tmp_path / "out" / "measures.csv")
    assert measure(found, "games", PRICED).value == 10
    studied(tmp_path, **chosen, budget=1)
    assert server.counts()["answered"] == finished, "nothing is asked twice"


def test_models_play_each_other_in_all_four_games(server: Server, tmp_path: Path) -> None:
    schema = f"{UNPRICED},form=schema,temperature=0"
    chosen = {"models": [schema, "random-legal"], "against": "each other", "deals": 1, "temperature": 0.7}
    chosen |= {"changes": {"split": {"rounds": 1}, "balloon": {"turn_limit": 4}, "trading": {"max_turns": 4}}}
    studied(tmp_path, **chosen, base_url=server.url, out=str(tmp_path / "out"))
    rows = pd.read_csv(tmp_path / "out" / "seats.csv")
    assert rows.groupby("setting").match.nunique().to_dict() == {
        "balloon seed (changed)": 4,
        "bargaining exact": 4,
        "split classic (changed)": 4,
        "trading seed (changed)": 4,
    }
    assert set(rows.player) == {schema, "random-legal"}, "its own temperature stands"


# The measures.


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


def test_the_lead_compares_with_the_baseline_in_the_same_seat_of_the_same_draw() -> None:
    game = nl.load("bargaining", preset="one-sided")
    played = nl.batch(game, "boulware", "linear", n=6, seed=1, swap=True)
    base = nl.batch(game, "linear", "linear", n=3, seed=1)
    frame = models.seat_frame([*played, *base])
    by_seed = {r.header.seed: r.payoffs for r in base}
    expected = {}
    for r in played:
        (seat,) = (s for s, who in r.header.players.items() if who == "boulware")
        expected.setdefault(r.header.seed, []).append((r.payoffs[seat] or 0) - (by_seed[r.header.seed][seat] or 0))
    found = models.payoff_leads(frame, "boulware", "linear")
    assert sorted(found.values) == pytest.approx(sorted(fmean(values) for values in expected.values()))
    assert models.payoff_leads(frame, "linear", "linear").values == [0, 0, 0]


def test_games_that_were_stopped_are_in_no_share_and_no_mean() -> None:
    match = nl.Match(nl.load("bargaining"), seed=1, players={"A": "linear", "B": "llm:x"})
    match.notes["stopped"] = "failed"
    match.abort("no answer")
    played = nl.batch("bargaining", "linear", "linear", n=1)[0]
    frame = models.seat_frame([match.record(), played])
    share = models.agreement_share(frame)
    assert (share.value, share.n) == (1, 1)
    found = models.estimate_seats(frame, "cents")
    assert measure(found, "games stopped", "llm:x").value == 1
    assert measure(found, "own payoff", "llm:x").n == 0
    assert models.overview_table(found).loc[("llm:x", "linear"), "agreement (%)"] == "unknown, n = 0"


def test_short_names_keep_apart_what_differs() -> None:
    one, two = "llm:m,temperature=0.7,form=schema,base_url=http://h/v1", "llm:m,temperature=0.7,key=K"
    assert models.short_names([one, two, "linear"]) == {one: "m,form=schema", two: "m", "linear": "linear"}
    alike = ["llm:m,key=A", "llm:m,key=B"]
    assert models.short_names(alike) == {name: name for name in alike}
