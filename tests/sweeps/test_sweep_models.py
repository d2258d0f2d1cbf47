"""Models in a sweep: one broker for all cells, so that limits, budget and cache hold for the whole sweep."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx2
import msgspec
import nbformat
import pytest

import negolab as nl
from negolab import store
from negolab.analysis import match_frames, summary
from negolab.events import Replied
from negolab.llm.models import Models
from negolab.record import Record
from negolab.sweeps.broker import Broker, check_broker, serve_broker
from negolab.sweeps.cell import _read_records
from negolab.sweeps.folder import SweepFolder
from negolab.sweeps.plan import notebook_path, read_plan
from negolab.sweeps.run import Sweep
from tests.conftest import free_port
from tests.support.command import refusal, succeeding
from tests.support.endpoints import Server, running_endpoint
from tests.support.sweeps import write_plan
from tests.sweeps.test_sweep import sweep_command

CANARY = "sk-canary-broker-1"
GRID = """
repeats = 2
[grid]
buyer = ["llm:fake,max_tokens=20"]
rounds = [3, 4]
[fixed]
games = {games}
[models]
base_url = "{url}"
key = "A_PROVIDERS_KEY"
prices = {{fake = "10,40"}}
"""
PARAMETERS = "buyer = 'time'\nrounds = 6\ngames = 3\nout = None\nseed = 0"
BODY = """
import os
import negolab as nl
print(dict(os.environ))
await nl.run(nl.load("bargaining", rounds=rounds), buyer, "linear", n=games, seed=seed, out=out)
"""


@pytest.fixture(scope="module")
def endpoint() -> Iterator[Server]:
    with running_endpoint(key=CANARY) as server:
        yield server


@pytest.fixture
def server(endpoint: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Server:
    """The server with default settings, and a private cache."""
    monkeypatch.setenv("NEGOLAB_CACHE", str(tmp_path / "cache" / "answers.db"))
    monkeypatch.setenv("A_PROVIDERS_KEY", CANARY)
    endpoint.reset(key=CANARY, latency=0.01)
    return endpoint


def models_plan(folder: Path, server: Server, more: str = "", games: int = 4) -> Path:
    file = write_plan(folder, GRID.format(url=server.url, games=games) + more)
    cells = [
        nbformat.v4.new_code_cell(PARAMETERS, metadata={"tags": ["parameters"]}, id="a"),
        nbformat.v4.new_code_cell(BODY, id="b"),
    ]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), folder / "game.ipynb")
    return file


def ends(out: Path) -> dict[str, tuple[str | None, ...]]:
    """The ends of each cell's games."""
    return {cell.name: tuple(record.end for record in nl.read(cell)) for cell in (out / "cells").iterdir()}


@pytest.mark.long
def test_cells_ask_the_broker_and_the_key_is_nowhere_but_there(server: Server, tmp_path: Path) -> None:
    file, out = models_plan(tmp_path, server), tmp_path / "out"
    succeeding("sweep", "run", str(file), "--out", str(out))
    counts = server.counts()
    events = [event for record in nl.read(out) for event in record.events]
    replies = [e.reply for e in events if isinstance(e, Replied) and e.reply.via == "model"]
    assert len(replies) == counts["answered"] > 20
    for kept in [*out.rglob("*"), *(tmp_path / "cache").rglob("*")]:
        assert not kept.is_file() or CANARY.encode() not in kept.read_bytes(), kept
    spent = (10 * counts["input"] + 40 * counts["output"]) / 1e6
    assert sum(found.usd or 0 for found in SweepFolder(out).done().values()) == pytest.approx(spent)
    assert sum(reply.cost or 0 for reply in replies) == pytest.approx(spent), "by the plan's own prices"
    # Run again from nothing: the broker has kept every answer, by its game.
    again = sweep_command("run", str(file), "--out", str(tmp_path / "again"))
    assert again.returncode == 0 and server.counts()["answered"] == counts["answered"]
    assert ends(tmp_path / "again") == ends(out)
    assert summary.tally_records(nl.read(tmp_path / "again")).taken.pico == 0, "it says so in the records"
    grown = file.read_text("utf-8").replace("repeats = 2", "repeats = 4")
    file.write_text(grown + "[limits]\nusd = 3.0\n", "utf-8")
    said = sweep_command("check", str(file), "--out", str(out)).stdout
    assert re.search(r"8 cells \(4 repeats\), 4 to be run in ", said)
    assert re.search(
        r"about [\d.]+ s more on 2 workers: [\d.]+ s per cell \(95% interval \[[\d.-]+, [\d.]+\] s, n = 4\)", said
    )
    cost = re.search(r"models about \$([\d.]+) more: \$[\d.]+ per cell \(.*, n = 4\); the sweep stops at \$3.00", said)
    assert cost and float(cost[1]) == pytest.approx(spent, abs=0.01)


@pytest.mark.long
def test_a_cell_whose_model_cannot_be_used_fails_with_the_reason(server: Server, tmp_path: Path) -> None:
    server.set(faults={"length": 1.0})
    file, out = models_plan(tmp_path, server), tmp_path / "out"
    ran = sweep_command("run", str(file), "--out", str(out))
    assert ran.returncode == 2 and "4 failed" in ran.stderr
    assert "UnusableAnswers: llm:fake,max_tokens=20: " in ran.stderr and "cut at 20 tokens" in ran.stderr


@pytest.mark.long
def test_a_budget_holds_for_all_cells_together_and_can_be_raised(server: Server, tmp_path: Path) -> None:
    out = tmp_path / "out"
    low = models_plan(tmp_path / "low", server, "[limits]\nusd = 1.0\n", games=100)
    ran = sweep_command("run", str(low), "--out", str(out))
    assert ran.returncode == 2 and "budget" in ran.stderr
    counts = server.counts()
    assert 0.9 < (10 * counts["input"] + 40 * counts["output"]) / 1e6 <= 1.0
    assert len(SweepFolder(out).done()) < 4
    high = models_plan(tmp_path / "high", server, "[limits]\nusd = 100.0\n", games=100)
    succeeding("sweep", "run", str(high), "--out", str(out), "--retry", "failed")
    assert len(SweepFolder(out).done()) == 4
    assert server.counts()["answered"] == 1000, "nothing was paid twice"


@pytest.mark.long
@pytest.mark.alone
def test_a_declared_rate_holds_for_all_cells_together(server: Server, tmp_path: Path) -> None:
    """Two minutes of 300 a minute under NEGOLAB_SLOW=1."""
    a_minute, games = (300, 60) if os.environ.get("NEGOLAB_SLOW") else (1200, 12)
    server.set(rate=a_minute / 60, burst=5)
    models_plan(tmp_path, server, f"requests_per_minute = {a_minute}\n", games)
    found = read_plan(tmp_path / "plan.toml")
    end = Sweep(found, notebook_path(found, tmp_path / "plan.toml"), tmp_path / "out").run(workers=2)
    counts = server.counts()
    assert end.states == {"done": 4}
    assert counts["faults"].get("bucket", 0) <= 0.02 * counts["requests"]
    rate = (counts["requests"] - 1) / counts["window"] * 60
    print(f"{counts['requests']} requests in {counts['window']:.1f} s, {rate:.1f} a minute; {counts['faults']}")
    assert counts["requests"] > 100
    assert rate <= 1.02 * a_minute
    if os.environ.get("NEGOLAB_SLOW"):
        assert rate >= 0.98 * a_minute


def test_the_broker_answers_its_own_cells_only_and_says_what_is_wrong(server: Server) -> None:
    broker = Broker(Models(keys={"NEGOLAB_BASE_URL": server.url, "OPENAI_API_KEY": CANARY}), None)
    body = {"model": "fake", "messages": [{"role": "user", "content": "x"}]}
    with serve_broker(broker), httpx2.Client(base_url=broker.url) as client:
        own = {"Authorization": f"Bearer {broker.token}"}
        assert client.post("/chat/completions", json=body).status_code == 401
        assert client.get("/models", headers={"Authorization": f"Bearer {CANARY}"}).status_code == 401
        assert server.counts()["requests"] == 0
        answered = client.post("/chat/completions", json=body, headers=own).json()
        assert answered["choices"][0]["message"]["role"] == "assistant" and answered["usage"]["total_tokens"] > 0
        assert [model["id"] for model in client.get("/models", headers=own).json()["data"]] == ["fake", "fake-2"]
        for wrong in (b"", b"[]", b'{"model": 1}', b"\xff", msgspec.json.encode({**body, "stream": True})):
            refused = client.post("/chat/completions", content=wrong, headers=own)
            assert refused.status_code == 422 and refused.json()["error"]["code"] == "game_failed"
        server.set(faults={"forbidden": 1.0})
        refused = client.post("/chat/completions", json={**body, "seed": 3}, headers=own)
        assert refused.status_code == 422 and "Not in your country" in refused.json()["error"]["message"]
        assert CANARY not in refused.text
        # A model that never answered: it may be the key, and no game can go on.
        refused = client.post("/chat/completions", json={**body, "model": "fake-2"}, headers=own)
        assert refused.status_code == 403 and "Not in your country" in refused.json()["error"]["message"]
        assert CANARY not in refused.text


@pytest.mark.long
def test_cells_reach_the_broker_at_the_address_that_is_given(server: Server, tmp_path: Path) -> None:
    file = models_plan(tmp_path, server)
    succeeding("sweep", "run", str(file), "--out", str(tmp_path / "there"), "--broker", "127.0.0.2")
    said = nbformat.read(next((tmp_path / "there").glob("cells/*/notebook.ipynb")), 4).cells[-1].outputs[0].text
    assert re.search(r"'NEGOLAB_BASE_URL': 'http://127\.0\.0\.2:\d+/negolab/v1'", said)
    assert "cannot listen for cells' model calls at 192.0.2.7: use one of this machine's addresses" in refusal(
        "sweep", "run", str(file), "--out", str(tmp_path / "nowhere"), "--broker", "192.0.2.7"
    )


def test_a_worker_that_does_not_reach_the_broker_is_named() -> None:
    class Workers:
        """A worker on another machine, where the loopback address leads nowhere."""

        def run(self, asked: Callable[[str], str], url: str) -> dict[str, str]:
            return {"tcp://192.0.2.9:1": asked(url)}

    with pytest.raises(ValueError, match=r"the worker at tcp://192\.0\.2\.9:1 cannot reach .* --broker"):
        check_broker(Workers(), f"http://127.0.0.1:{free_port()}/negolab/v1")  # type: ignore[arg-type]
    broker = Broker(Models(keys={}), None)
    with serve_broker(broker):
        check_broker(Workers(), broker.url)  # type: ignore[arg-type]


def test_a_key_that_is_not_set_is_said_before_anything_runs(server: Server, tmp_path: Path) -> None:
    file = models_plan(tmp_path, server)
    file.write_text(file.read_text("utf-8").replace("A_PROVIDERS_KEY", "NO_SUCH_KEY"), "utf-8")
    ran = sweep_command("run", str(file), "--out", str(tmp_path / "out"))
    assert ran.returncode == 2 and "environment variable NO_SUCH_KEY is not set" in ran.stderr
    assert not (tmp_path / "out" / "attempts").exists() and server.counts()["requests"] == 0


def test_a_plan_without_models_has_no_budget(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"usd and tokens need \[models\]"):
        read_plan(write_plan(tmp_path, "[limits]\nusd = 1.0\n"))


def test_a_cell_s_records_are_read_once_for_its_cost_and_its_measures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nl.run("bargaining", "linear", "time", n=3, out=tmp_path)
    read: list[Path] = []
    found = store.iter_records

    def counted(folder: Path) -> Iterator[Record]:
        read.append(folder)
        return found(folder)

    monkeypatch.setattr(store, "iter_records", counted)
    assert _read_records(tmp_path, measure=True, price=True) == 0 and read == [tmp_path]
    assert len(match_frames.read_matches(tmp_path)) == 3 and len(read) == 1, "the matches are kept"
    assert _read_records(tmp_path, measure=True, price=False) is None

    def fails(record: Record) -> None:
        raise ValueError("a measure of somebody's own")

    monkeypatch.setattr(match_frames, "measure_match", fails)
    assert _read_records(tmp_path, measure=True, price=True) == 0, "a measure that fails hides no cost"
    with (tmp_path / "records.jsonl").open("a") as file:
        file.write("garbage\n")
    assert _read_records(tmp_path, measure=True, price=True) is None


@pytest.mark.long
def test_the_games_of_a_sweep_are_those_of_a_batch(server: Server, tmp_path: Path) -> None:
    file, out = models_plan(tmp_path, server), tmp_path / "out"
    succeeding("sweep", "run", str(file), "--out", str(out))
    cell = next(cell for cell in read_plan(file).cells() if cell.params["rounds"] == 3)
    models = Models(keys={"NEGOLAB_BASE_URL": server.url, "OPENAI_API_KEY": CANARY})
    game, alone = nl.load("bargaining", rounds=3), tmp_path / "alone"
    nl.run(game, cell.params["buyer"], "linear", n=4, seed=cell.seed, out=alone, models=models)
    there = {record.id: record.end for record in nl.read(out / "cells" / cell.id)}
    assert there == {record.id: record.end for record in nl.read(alone)}
