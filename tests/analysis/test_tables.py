"""Frames of records, of folders and of sweeps: the same numbers wherever they are read from."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from negolab_widgets import charts
from pandas.testing import assert_frame_equal

import negolab as nl
from negolab.analysis import columns, models, proposals, tables
from negolab.analysis.observations import sample_text
from negolab.catalog import load
from negolab.events import Replied
from negolab.game import Reply
from negolab.games.balloon import Instance
from negolab.match import Match
from negolab.record import Record
from tests.conftest import ROOT

REPLAYS = ROOT / "data" / "replays"
READERS = (tables.matches, tables.turns, tables.replies, tables.measures)


def written(file: Path, records: list[Record]) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"".join(record.to_line() for record in records))
    return file


def bargains(n: int = 3, seed: int = 1, **params: Any) -> list[Record]:
    return list(nl.batch(load("bargaining", **params), "boulware", "random-legal", n=n, seed=seed))


def modelled() -> Record:
    """Play a match with a model's replies, one of which cannot be parsed."""
    match = Match(load("bargaining"), seed=1, players={"A": "llm:m", "B": "linear"})
    usage = {"input": 12, "output": 3, "latency": 0.5, "queued": 0.1, "attempts": 2, "finish": "stop"}
    for text in ("no idea", "60"):
        match.submit("A", Reply(text, via="model", model="m", usage=usage, cost=0.01, asked_at=10.0, answered_at=11.5))
    match.submit("B", "accept")
    return match.record()


# Records and paths.


@pytest.mark.parametrize("read", READERS, ids=lambda read: read.__name__)
def test_a_path_gives_the_frame_of_its_records(read: Any, tmp_path: Path) -> None:
    records = [*nl.read(REPLAYS), modelled(), *bargains()]
    file = written(tmp_path / "run" / "records.jsonl", records)
    expected = read(records)
    assert next(iter(expected)) == "match" and len(expected)
    for path in (file, str(file), tmp_path / "run"):
        assert_frame_equal(read(path), expected)


def test_rows_are_put_together_from_chunks_of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    records = [*bargains(), modelled(), *nl.read(REPLAYS / "split.jsonl")]
    whole = [read(records) for read in READERS[:3]]
    monkeypatch.setattr(columns, "CHUNK", 2)
    for read, expected in zip(READERS[:3], whole, strict=True):
        assert_frame_equal(read(iter(records)), expected)


def test_the_golden_records_have_the_rows_of_their_events() -> None:
    frame, turns = tables.matches(REPLAYS), tables.turns(REPLAYS)
    for record in nl.read(REPLAYS):
        (row,) = frame[frame.match == record.id].itertuples()
        said = [event for event in record.events if isinstance(event, Replied)]
        own = turns[turns.match == record.id]
        assert (row.game, row.seed, row.end) == (record.header.game, record.header.seed, record.end)
        assert {"A": row.payoff_a, "B": row.payoff_b} == record.payoffs
        assert row.replies_a + row.replies_b == len(said) == len(own)
        assert list(own.text) == [event.reply.text for event in said]
        assert list(own.turn) == list(range(len(said)))


def test_a_models_replies_are_rows_with_what_they_took() -> None:
    record = modelled()
    turns, replies = tables.turns([record]), tables.replies([record])
    assert list(turns.legal) == [False, True, True]
    assert list(turns.kind.fillna("")) == ["format", "", ""]
    assert list(turns.latency.fillna(0)) == [1.5, 1.5, 0]
    assert list(replies.latency) == [0.5, 0.5] and list(replies.attempts) == [2, 2]
    assert list(replies.tokens_input) == [12, 12] and replies.tokens_cached.isna().all()


def test_cents_stay_whole_and_points_and_payoffs_beyond_64_bits_do_not() -> None:
    assert tables.matches(bargains()).payoff_a.dtype == "int64"
    assert tables.matches(nl.read(REPLAYS / "split.jsonl")).payoff_a.dtype == "float64"
    assert tables.matches(nl.read(REPLAYS)).payoff_a.dtype == "float64"
    worth = 2**70
    game: Any = load("balloon", require_argument=False)
    match = Match(game, start=game.start(Instance({"x": 1}, 1, {"A": {"x": worth}, "B": {"x": 1}})))
    match.submit("A", "PROPOSAL: {'x'}")
    match.submit("B", "AGREE: {'x'}")
    assert tables.matches([match.record(), *bargains(1)]).payoff_a[0] == float(worth)


def test_no_records_are_a_frame_with_all_columns(tmp_path: Path) -> None:
    (tmp_path / "none").mkdir()
    for read in READERS[:3]:
        assert len(read([])) == 0
        assert list(read([])) == list(read([modelled()])) == list(read(tmp_path / "none"))
    assert list(tables.measures([])) == ["match"]


def test_a_bad_line_is_named_and_a_torn_one_dropped(tmp_path: Path) -> None:
    file = written(tmp_path / "records.jsonl", bargains(2))
    whole = file.read_bytes()
    file.write_bytes(whole + whole[:200])
    with pytest.warns(UserWarning, match="the last line is incomplete"):
        assert len(tables.matches(file)) == 2
    file.write_bytes(whole + b"{}\n" + whole)
    with pytest.raises(ValueError, match=r"records\.jsonl, line 3: not a record"):
        tables.turns(file)
    with pytest.raises(FileNotFoundError, match="no records at"):
        tables.matches(tmp_path / "nowhere")
    with pytest.raises(ValueError, match="the name of the file or folder of records is empty"):
        tables.matches("")


# Parquet.


@pytest.mark.parametrize("name", ["matches", "turns", "replies"])
def test_a_parquet_file_holds_what_the_frame_holds(name: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "CHUNK", 4)
    file = written(tmp_path / "records.jsonl", [*bargains(), modelled()])
    out = tmp_path / "out.parquet"
    expected = getattr(tables, name)(file)
    assert tables.to_parquet(file, out, name) == len(expected)
    found = pd.read_parquet(out)
    assert list(found) == list(expected)
    text = {name: str for name in ("own_value_a", "own_value_b") if name in expected}
    assert_frame_equal(found, expected.astype(text), check_dtype=False)


def test_a_file_that_could_not_be_finished_is_not_there(tmp_path: Path) -> None:
    def broken() -> Iterator[Record]:
        yield modelled()
        raise ValueError("the disk is gone")

    with pytest.raises(ValueError, match="the disk is gone"):
        tables.to_parquet(broken(), tmp_path / "out.parquet")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ValueError, match="no table 'turn': choose from matches, seats, turns, replies"):
        tables.to_parquet([], tmp_path / "out.parquet", "turn")  # type: ignore[arg-type]


# Sweeps.


def attempted(folder: Path, id: str, state: str = "done", records: list[Record] | None = None, **more: Any) -> None:
    """Write the folder of a cell's attempt."""
    folder.mkdir(parents=True)
    about = {"id": id, "state": state, "params": {}, "seed": 5, "repeat": 1, "seconds": 1.5, "attempts": 1}
    about |= {"began": 1.0, "ended": 2.5, "worker": "w", "error": None, "usd": None, **more}
    (folder / "cell.json").write_text(json.dumps(about))
    if records:
        written(folder / "data" / "records.jsonl", records)


@pytest.fixture
def sweep(tmp_path: Path) -> Path:
    run = tmp_path / "RUN"
    one, two = bargains(2, seed=1), bargains(3, seed=2)
    attempted(run / "attempts" / "a9.1", "a9", "failed", error={"kind": "ValueError", "text": "no", "cell": 3})
    attempted(run / "attempts" / "b2.1", "b2", "failed", two, error={"kind": "ValueError", "text": "no", "cell": 3})
    attempted(run / "cells" / "b2", "b2", records=two, params={"beta": 5, "seed": 9, "grid": [1, 2]}, attempts=2)
    attempted(run / "cells" / "a1", "a1", records=one, params={"beta": 1, "game": "x"}, usd=0.25)
    for k, state in ((9, "failed"), (10, "timeout")):
        attempted(run / "attempts" / f"c.3.{k}", "c.3", state, one, attempts=k, error={"kind": "late", "text": "60 s"})
    (run / "attempts" / "d4.1").mkdir()  # it runs now
    written(run / "attempts" / "d4.1" / "records.jsonl", one)
    return run


def test_a_sweep_gives_the_matches_of_its_finished_cells(sweep: Path) -> None:
    records = [*bargains(2, seed=1), *bargains(3, seed=2)]
    for read in (tables.matches, tables.turns, tables.measures, models.seat_frame):
        frame = read(sweep)
        assert list(frame)[:2] == ["match", "cell"]
        assert list(frame.cell.unique()) == ["a1", "b2"]
        own = frame.drop(columns=["cell", "started"], errors="ignore")
        assert_frame_equal(own, read(records).drop(columns="started", errors="ignore"))
    assert len(tables.replies(sweep)) == 0 and "cell" in tables.replies(sweep)


def test_one_cell_is_a_folder_like_any_other(sweep: Path) -> None:
    frame = tables.matches(sweep / "cells" / "a1")
    assert len(frame) == 2 and "cell" not in frame


def test_a_cell_is_shown_by_its_newest_attempt(sweep: Path) -> None:
    frame = tables.cells(sweep).set_index("cell")
    assert list(frame.index) == ["a1", "a9", "b2", "c.3"]
    assert list(frame.state) == ["done", "failed", "done", "timeout"]
    assert list(frame.attempts) == [1, 1, 2, 10]
    assert frame.error["a9"] == "ValueError: no (cell 3)" and pd.isna(frame.error["b2"])
    assert frame.error["c.3"] == "late: 60 s"
    assert frame.usd["a1"] == 0.25 and list(frame.seed) == [5] * 4


def test_parameters_are_columns_of_their_own_names(sweep: Path) -> None:
    frame = tables.cells(sweep).set_index("cell")
    assert list(frame.beta.dropna()) == [1, 5]
    assert frame.param_seed["b2"] == 9 and frame.grid["b2"] == "[1, 2]"
    joined = tables.with_parameters(tables.matches(sweep), sweep)
    assert list(joined.beta) == [1, 1, 5, 5, 5]
    assert list(joined.param_game.dropna()) == ["x", "x"] and set(joined.game) == {"bargaining"}
    with pytest.raises(ValueError, match="no column `cell`"):
        tables.with_parameters(tables.matches(sweep / "cells"), sweep)


def test_a_sweep_that_has_just_begun_has_no_rows_and_no_strangers(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text(json.dumps({"plan": {}, "players": {}, "cells": 200}))
    assert len(tables.cells(tmp_path)) == 0
    written(tmp_path / "attempts" / "a.1" / "records.jsonl", bargains(1))
    assert len(tables.matches(tmp_path)) == 0
    assert "cell" in tables.matches(tmp_path)


def test_what_is_no_sweep_and_no_status_is_said(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not a sweep folder"):
        tables.cells(tmp_path)
    attempted(tmp_path / "cells" / "a", "a")
    (tmp_path / "cells" / "a" / "cell.json").write_text('{"id": 3}')
    with pytest.raises(ValueError, match=r"cell\.json is not a valid cell status file"):
        tables.cells(tmp_path)
    with pytest.raises(ValueError, match=r"cell\.json is not a valid cell status file"):
        tables.matches(tmp_path)


# Process.


def test_players_that_concede_late_claim_more_in_every_proposal() -> None:
    game = nl.load("bargaining", preset="one-sided", rounds=8)
    records = [*nl.batch(game, "boulware", "linear", n=12), *nl.batch(game, "conceder", "linear", n=12)]
    curves = proposals.concession_curves(tables.proposals(records), tables.matches(records))
    late, early = curves["boulware"], curves["conceder"]
    for number in early.keys() & late.keys():
        assert late[number].mean().value >= early[number].mean().value
    assert sample_text(late[1].mean()).endswith("draws")


def test_the_slope_on_the_first_offer_is_that_of_the_points() -> None:
    game = nl.load("bargaining", preset="one-sided")
    records = [r for a in ("boulware", "linear", "conceder") for r in nl.batch(game, a, "random-legal", n=20)]
    fit, points = proposals.anchoring(tables.proposals(records), tables.matches(records))
    assert fit.draws == 20 and {"first_offer_payoff", "payoff"} <= set(points)
    assert fit.low < fit.value < fit.high
    drawn = charts.anchoring(fit, points, unit="dollars", scale=100)
    lines = len(points[["player", "seat"]].drop_duplicates())
    assert "slope" in drawn.layout.xaxis.title.text and len(drawn.data) == 2 * lines
