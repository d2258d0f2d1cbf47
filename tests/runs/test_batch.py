"""`negolab batch` with models over HTTP: killed, stopped, out of budget, badly answered."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import negolab as nl
from negolab import ledger
from negolab.analysis import summary
from negolab.players.lookup import resolve
from negolab.record import Record
from negolab.store import read
from negolab.verification import replay_differences
from tests.support.command import NEGOLAB, negolab, refusal, succeeding
from tests.support.endpoints import Server, running_endpoint
from tests.support.processes import until

SECRET = "sk-not-to-be-found-4711"
TIMES = ("asked_at", "answered_at", "created", "queued", "latency", "attempts")


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running_endpoint(latency=0.02) as found:
        yield found


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """A private cache and key, and the server with default settings."""
    monkeypatch.setenv("NEGOLAB_CACHE", str(tmp_path / "answers.db"))
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    if "server" in request.fixturenames:
        request.getfixturevalue("server").reset(latency=0.02)


def command(url: str, out: Path, n: int = 40, *more: str, both: str = "llm:fake") -> list[str]:
    players = ["--a", both, "--b", both, "--base-url", url]
    return ["batch", "bargaining", *players, "--n", str(n), "--out", str(out), "--concurrency", "20", *more]


def start(args: list[str]) -> subprocess.Popen[str]:
    return subprocess.Popen([*NEGOLAB, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def _reached(server: Server, answered: int, process: subprocess.Popen[str]) -> bool:
    return bool(server.counts()["answered"] >= answered or process.poll() is not None)


def timeless(records: list[Record]) -> dict[str, Any]:
    """Records as plain data without ids and times."""
    return {record.id: _without(json.loads(record.to_line())) for record in records}


def _without(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without(inner) for name, inner in value.items() if name not in TIMES}
    return [_without(inner) for inner in value] if isinstance(value, list) else value


def everything(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.rglob("*") if file.is_file())


def test_a_batch_of_models_says_what_it_took_and_keeps_no_key(server: Server, tmp_path: Path) -> None:
    ran = succeeding(*command(server.url, tmp_path / "run", 10, "--price", "fake=1,2", "--budget", "5", "--swap"))
    assert re.search(r"answers of models: 70\ntokens +[\d,]+ in, [\d,]+ out\ncost +\$0\.0\d+ for 70 calls", ran.stdout)
    assert SECRET.encode() not in everything(tmp_path)
    assert SECRET not in ran.stdout + ran.stderr
    again = negolab(*command(server.url, tmp_path / "other", 10, "--price", "fake=1,2", "--swap"))
    assert server.counts()["answered"] == 70, "another run of the same plan finds its answers"
    assert "saved        $0.0" in again.stdout and "cost         $0.0000 for 0 calls" in again.stdout


@pytest.mark.long
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_kills_lose_nothing_and_nothing_is_asked_twice(server: Server, tmp_path: Path) -> None:
    """Ten kills of 500 games under NEGOLAB_SLOW=1."""
    n, kills = (500, 10) if os.environ.get("NEGOLAB_SLOW") else (120, 5)
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    succeeding(*command(server.url, whole, n, "--no-cache"))
    undisturbed = server.counts()["answered"]
    server.set(forget=True)
    rng, alive = random.Random(5), 0
    for kill in range(kills):
        process = start(command(server.url, killed, n))
        wanted = int(0.9 * undisturbed * (kill + rng.random()) / kills)  # before it can be over
        until(partial(_reached, server, wanted, process))
        alive += process.poll() is None
        process.kill()
        process.communicate()
    assert alive == kills
    succeeding(*command(server.url, killed, n))
    assert timeless(read(killed)) == timeless(read(whole))
    # In flight is what has not reached the disk: at most one answer of each game at play.
    assert undisturbed <= server.counts()["answered"] <= undisturbed + kills * 2 * 20
    assert [text for record in read(killed) for text in replay_differences(record)] == []


@pytest.mark.long
def test_the_first_ctrl_c_finishes_what_is_in_play_and_the_second_drops_it(server: Server, tmp_path: Path) -> None:
    server.set(latency=0.3)
    process = start(command(server.url, tmp_path, 200))
    until(lambda: server.counts()["answered"] > 20)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=300)
    assert process.returncode == 130
    assert re.search(r"stopping when \d+ running matches have ended \(press Ctrl-C again to drop them\)", err)
    assert "stopped after 40 of 200 matches: run the same command again to resume" in err
    assert "40 matches" in out and summary.tally_records(read(tmp_path)).ends["NO_DEAL"] == 40
    process = start(command(server.url, tmp_path, 200))
    before = server.counts()["requests"]
    until(lambda: server.counts()["requests"] > before + 20)
    process.send_signal(signal.SIGINT)
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=300)
    assert process.returncode == 130 and "stopped after 40 of 200 matches" in err


def test_ctrl_c_drops_at_once_where_that_is_said(server: Server, tmp_path: Path) -> None:
    server.set(latency=0.3)
    process = start(command(server.url, tmp_path, 200, "--on-stop", "drop"))
    until(lambda: server.counts()["answered"] > 5)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=300)
    assert process.returncode == 130 and "stopped after 0 of 200 matches" in err


@pytest.mark.long
def test_faults_fail_games_with_a_reason_and_without_them_the_rest_completes(server: Server, tmp_path: Path) -> None:
    """2,000 games under NEGOLAB_SLOW=1."""
    n = 2000 if os.environ.get("NEGOLAB_SLOW") else 200
    kinds = ("drop", "429", "500", "503", "cut", "json", "html", "empty", "length", "context", "policy")
    # A refusal before any answer ends a run, since nothing has shown yet that key and model are right: the twenty calls
    # that are sent first are answered.
    server.set(latency=0.005, faults=dict.fromkeys(kinds, 0.2 / len(kinds)), after=20)
    more = ["--game-seconds", "120", "--call-seconds", "2"]
    ran = succeeding(*command(server.url, tmp_path, n, *more))
    records = read(tmp_path)
    bad = [record for record in records if "stopped" in record.header.notes]
    assert len(records) == n and bad
    assert all(record.events[-1].reason for record in bad)  # type: ignore[union-attr]
    assert "play the matches that failed again with --retry failed" in ran.stderr
    came = [getattr(e, "reply", None) or getattr(e, "said", None) for r in records for e in r.events]
    ids = [reply.request_id for reply in came if reply is not None]
    assert None not in ids
    counts = server.counts()
    assert len(ids) + counts["faults"]["length"] == counts["answered"], "every answer stands in one place of one record"
    assert ledger.paid(tmp_path).calls >= counts["answered"], "what was cut stands in the ledger alone"
    server.set(faults={}, after=0)
    succeeding(*command(server.url, tmp_path, n, *more, "--retry", "failed,timeout"))
    records = read(tmp_path)
    assert len({record.id for record in records}) == len(records) == n
    assert summary.tally_records(records).stopped == 0
    assert [text for record in records for text in replay_differences(record)] == []


@pytest.mark.long
def test_games_that_hang_are_timed_out_and_played_again_on_demand(server: Server, tmp_path: Path) -> None:
    server.set(faults={"hang": 0.5})
    ran = negolab(*command(server.url, tmp_path, 6, "--game-seconds", "1", "--concurrency", "6"))
    told = summary.tally_records(read(tmp_path))
    assert told.ends["timed out"] and not told.ends["failed"]
    assert "--retry timeout" in ran.stderr and "the match was not over after 1 s" in ran.stdout
    server.set(faults={})
    ran = negolab(*command(server.url, tmp_path, 6, "--game-seconds", "9", "--retry", "timeout"))
    assert ran.returncode == 0 and summary.tally_records(read(tmp_path)).stopped == 0


def test_answers_kept_in_the_runs_own_folder_are_nobody_elses(server: Server, tmp_path: Path) -> None:
    for folder in ("one", "two"):
        succeeding(*command(server.url, tmp_path / folder, 4, "--no-cache"))
        assert (tmp_path / folder / "answers.db").exists()
    assert server.counts()["answered"] == 2 * 28
    assert not (tmp_path / "answers.db").exists()


def test_a_key_that_is_refused_stops_the_run_in_one_line(server: Server, tmp_path: Path) -> None:
    server.set(key="another")
    said = refusal(*command(server.url, tmp_path, 50))
    assert "key" in said and SECRET not in said
    assert read(tmp_path) == []


def test_a_model_that_is_always_cut_ends_the_batch_with_status_3_and_has_no_payoff(
    server: Server, tmp_path: Path
) -> None:
    server.set(faults={"length": 1.0})
    one = ["batch", "bargaining", "--a", "llm:fake", "--b", "linear", "--base-url", server.url, "--out", str(tmp_path)]
    ran = negolab(*one, "--n", "40", "--concurrency", "2")
    assert ran.returncode == 3
    line = ran.stderr.splitlines()[-1]
    assert re.fullmatch(r"negolab: llm:fake: 2\d of 2\d answers \(100%\) could not be used, .*answers cut.*", line)
    assert "max_tokens" in line and "--unusable 100%" in line
    kept = read(tmp_path)
    assert 0 < len(kept) <= 12 and all(record.end == "ABORTED" for record in kept), "a cut answer is no forfeit"
    assert "no answer: it was cut" in ran.stdout and "llm:fake                     at A" not in ran.stdout


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--a", "llm:x", "--b", "time", "--unusable", "half"], "--unusable must be a share from 0% to 100%"),
        (["--a", "llm:x", "--b", "time", "--unusable", "120%"], "--unusable must be a share from 0% to 100%"),
        (["--a", "llm:x,tempature=1", "--b", "time"], "did you mean temperature"),
        (["--a", "time", "--b", "time", "--budget", "5"], "options for models need a player named llm:MODEL"),
        (["--a", "llm:x", "--b", "time", "--price", "x"], "MODEL=INPUT,OUTPUT"),
        (["--a", "llm:x", "--b", "time", "--concurrency", "0"], "--concurrency"),
        (["--a", "llm:x", "--b", "time", "--base-url", ""], "a base URL must look like"),
        (["--a", "llm:x", "--b", "time", "--budget", "5"], "a budget in money needs the price of x"),
        (["--a", "time", "--b", "time", "--retry", "lost"], "--retry must be failed, timeout or failed,timeout"),
        (["--a", "time", "--b", "time", "--game-seconds", "0"], "seconds must be a number above 0"),
        (["--a", "llm:x", "--b", "time", "--on-stop", "wait"], "is not one of"),
    ],
)
def test_a_mistake_is_answered_in_one_line(tmp_path: Path, more: list[str], said: str) -> None:
    assert said in refusal("batch", "bargaining", *more, "--n", "4", "--out", str(tmp_path / "run"))


def test_a_run_says_what_an_amount_in_the_name_of_a_player_means(tmp_path: Path) -> None:
    players = ["--a", "fixed:price=60", "--b", "time:start=100,reserve=6000", "--n", "2"]
    ran = negolab("batch", "bargaining", *players, "--out", str(tmp_path / "run"))
    told = "negolab: fixed:price=60: price is $0.60; time:start=100,reserve=6000: start is $1.00, reserve is $60.00\n"
    assert told in ran.stderr
    (paid,) = {record.outcome.payoffs["A"] for record in nl.read(tmp_path / "run")}
    assert paid == 60 - 4000, "cents, as ever"
    wrong = negolab("batch", "bargaining", "--a", "fixed:price=60.50", "--b", "linear", "--out", str(tmp_path / "b"))
    assert wrong.stderr == "negolab: parameter price (cents) of the player must be a whole number, not 60.5\n"
    assert "\nplayers (amounts in cents)\n" in negolab("games", "bargaining").stdout
    game = nl.load("bargaining")
    assert resolve("llm:any,strategy=fixed:price=60", game).amounts == "price is $0.60"
    assert resolve("linear", game).amounts == resolve("fixed:price=null", game).amounts == ""
