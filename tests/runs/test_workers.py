"""Scripted games in worker processes: the same records, whatever dies."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

import negolab as nl
from negolab._internal import workers
from negolab._internal.workers import count_workers
from negolab.llm.configuration import ModelConfiguration
from negolab.llm.endpoint.errors import RunFailed
from negolab.players.lookup import resolve
from negolab.record import Record
from negolab.runs.batch import open_run
from negolab.runs.plan import derive_seed, make_plan
from negolab.runs.run import Run, RunOptions
from negolab.runs.scripted import FAILURES
from negolab.runs.workers import AUTOMATIC_FROM
from negolab.verification import replay_differences
from tests.support.command import NEGOLAB
from tests.support.processes import is_alive, until

OWN = """
import os, time
from pathlib import Path
import negolab as nl
from negolab.games.bargaining.state import Accept, Offer

class Slow(nl.Scripted):
    def act(self, game, seen):
        time.sleep(0.002)
        return Accept() if seen.public.offers else Offer(5000)

class Failing(Slow):
    def act(self, game, seen):
        raise KeyError(f"no price, seed {self.seed % 1}")

class Deadly(Slow):
    def act(self, game, seen):
        os._exit(7)

class DeadlyInOne(Slow):
    def act(self, game, seen):
        if str(self.seed) in Path(__file__).with_name("deadly").read_text():
            os._exit(7)
        return super().act(game, seen)

class DeadlyOnce(Slow):
    def act(self, game, seen):
        done = Path(__file__).with_name("done")
        if not done.exists():
            done.touch()
            os._exit(7)
        return super().act(game, seen)
"""


@pytest.fixture
def own(tmp_path: Path) -> str:
    (tmp_path / "own_players_of_workers.py").write_text(OWN)
    return str(tmp_path / "own_players_of_workers.py")


def opened(folder: Path, a: Any, b: Any, n: int, count: int | None, game: Any = "bargaining", **more: Any) -> Run:
    game = nl.load(game)
    players = tuple(resolve(spec, game) for spec in (a, b))
    plan = make_plan(game, *players, n=n, swap=True)
    options = RunOptions(workers=count, **more)
    return open_run(game, plan, folder, ModelConfiguration(), options, players=players)  # type: ignore[arg-type]


def timeless(records: list[Record]) -> dict[str, bytes]:
    """The lines of records by id, without the time at which they were made."""
    lines = {record.id: record.to_line().replace(record.header.created.encode(), b"") for record in records}
    assert len(lines) == len(records), "every id once"
    return lines


def lines_in(folder: Path) -> int:
    file = folder / "records.jsonl"
    return file.read_bytes().count(b"\n") if file.exists() else 0


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@pytest.mark.parametrize(
    ("game", "a", "b"), [("bargaining", "time:beta=0.2", "random-legal"), ("trading", "greedy-honest", "random-legal")]
)
def test_two_workers_write_the_records_of_one_process(tmp_path: Path, game: str, a: str, b: str) -> None:
    for count in (1, 2):
        asyncio.run(opened(tmp_path / str(count), a, b, 60, count, game).play())
    one, two = (nl.read(tmp_path / count) for count in "12")
    assert timeless(one) == timeless(two)
    assert not any(replay_differences(record) for record in two[:5])


def test_players_and_games_in_files_are_played_by_workers(tmp_path: Path, own: str) -> None:
    run = opened(tmp_path / "run", f"{own}:Slow", "linear", 40, 2)
    assert asyncio.run(run.play()).finished == 40
    assert nl.read(tmp_path / "run")[0].header.players["A"] == "own_players_of_workers.py:Slow"


def test_a_player_that_fails_in_a_worker_leaves_its_traceback_in_the_runs_log(tmp_path: Path, own: str) -> None:
    for count in (1, 2):
        with pytest.raises(RunFailed, match=r"10 matches in a row failed.*KeyError"):
            asyncio.run(opened(tmp_path / str(count), f"{own}:Failing", "linear", 400, count).play())
        assert 'raise KeyError(f"no price' in (tmp_path / str(count) / FAILURES).read_text()
        assert all(r.header.notes["stopped"] == "failed" for r in nl.read(tmp_path / str(count)))


def test_the_games_of_a_worker_that_dies_are_played_by_a_new_one(tmp_path: Path, own: str) -> None:
    run = opened(tmp_path / "run", f"{own}:DeadlyOnce", "linear", 40, 2)
    messages = []
    run.watch(lambda now: messages.append(now.message))
    assert asyncio.run(run.play()).finished == 40
    assert len(timeless(nl.read(tmp_path / "run"))) == 40
    assert any("ended with status 7: a new one plays its" in message for message in messages)


def test_a_game_that_ends_its_worker_twice_fails_alone(tmp_path: Path, own: str) -> None:
    run = opened(tmp_path / "run", f"{own}:DeadlyInOne", "linear", 40, 2)
    *_, deadly, _ = run.matchups[0].plan.pairings()
    seat = next(seat for seat, name in deadly.players.items() if name != "linear")
    (tmp_path / "deadly").write_text(str(derive_seed(deadly.seed, "player", seat)))
    progress = asyncio.run(run.play())
    assert (progress.finished, progress.failed) == (39, 1)
    (failed,) = (record for record in nl.read(tmp_path / "run") if record.header.notes.get("stopped"))
    assert failed.header.id == deadly.id
    assert b"its worker ended with status 7, twice" in failed.to_line()


def test_a_run_whose_workers_always_die_stops_and_can_go_on(tmp_path: Path, own: str) -> None:
    with pytest.raises(RunFailed, match=r"10 matches in a row failed.*its worker ended with status 7, twice"):
        asyncio.run(opened(tmp_path / "run", f"{own}:Deadly", "linear", 40, 2).play())
    run = opened(tmp_path / "run", f"{own}:Deadly", "linear", 40, 2, retry=frozenset({"failed"}))
    assert run.progress.over == 0


def test_a_run_whose_workers_die_while_they_load_stops(tmp_path: Path, own: str) -> None:
    run = opened(tmp_path / "run", f"{own}:Slow", "linear", 40, 2)
    text = Path(own).read_text()
    Path(own).write_text("import os\nos._exit(9)\n")
    with pytest.raises(RunFailed, match="workers ended 3 times in a row, the last with status 9"):
        asyncio.run(run.play())
    Path(own).write_text(text)
    assert asyncio.run(opened(tmp_path / "run", f"{own}:Slow", "linear", 40, 2).play()).finished == 40


def test_a_player_whose_file_changed_since_the_run_began_is_not_played(tmp_path: Path, own: str) -> None:
    run = opened(tmp_path / "run", f"{own}:Slow", "linear", 40, 2)
    Path(own).write_text(OWN + "\n# changed\n")
    with pytest.raises(RunFailed, match=r"own_players_of_workers.py:Slow has changed since the run began"):
        asyncio.run(run.play())


def test_an_object_is_played_in_one_process_which_is_said_if_workers_were_asked_for(tmp_path: Path) -> None:
    class Mine(nl.Scripted):
        def act(self, game: Any, seen: Any) -> Any:
            return game.options(seen)[0]

    run = opened(tmp_path / "asked", Mine(), "linear", 4, 2)
    assert asyncio.run(run.play()).finished == 4
    assert "playing in one process: the player Mine was given as an object" in run._notification[0]
    run = opened(tmp_path / "not", Mine(), "linear", 4, None)
    assert asyncio.run(run.play()).finished == 4 and run._notification[0] == ""


def test_workers_come_by_themselves_only_for_many_games_and_not_in_a_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "_cores", lambda: 4)
    monkeypatch.delenv(workers.WORKERS, raising=False)
    assert [count_workers(None, n, AUTOMATIC_FROM) for n in (AUTOMATIC_FROM, AUTOMATIC_FROM + 1)] == [1, 4]
    assert count_workers(3, 10, 100) == 3 and count_workers(3, 2, 100) == 2
    monkeypatch.setenv(workers.WORKERS, "1")
    assert count_workers(None, 10_000, 100) == 1 and count_workers(2, 10_000, 100) == 2
    monkeypatch.setenv(workers.WORKERS, "two")
    with pytest.raises(ValueError, match="NEGOLAB_WORKERS must be a whole number above 0, not 'two'"):
        count_workers(None, 10_000, 100)
    with pytest.raises(ValueError, match="workers must be a whole number from 1 up, not 0"):
        nl.run("bargaining", "time", "linear", n=2, out=os.devnull + "x", workers=0)


def start(own: str, out: Path, n: int) -> subprocess.Popen[str]:
    command = ["batch", "bargaining", "--a", f"{own}:Slow", "--b", "linear", "--n", str(n), "--out", str(out)]
    return subprocess.Popen(
        [*NEGOLAB, *command, "--workers", "2"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc")
def test_ctrl_c_and_kills_of_the_run_and_of_a_worker_lose_and_double_nothing(tmp_path: Path, own: str) -> None:
    n, out = 600, tmp_path / "run"
    process = start(own, out, n)
    until(lambda: lines_in(out) > 50)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=300)
    kept = len(timeless(nl.read(out)))
    assert process.returncode == 130 and f"stopped after {kept} of {n} matches" in errors
    process = start(own, out, n)
    until(lambda: lines_in(out) > kept + 50)
    ended = children(process.pid)
    assert len(ended) == 2
    process.kill()
    process.communicate()
    until(lambda: not any(map(is_alive, ended)), 10)
    kept = lines_in(out)
    assert 100 < kept < n
    process = start(own, out, n)
    until(lambda: lines_in(out) > kept + 50)
    os.kill(children(process.pid)[0], signal.SIGKILL)
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    assert errors.count("ended by signal 9 (Killed): a new one plays its") == 1
    assert len(timeless(nl.read(out))) == n
