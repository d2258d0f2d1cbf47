"""Scripted games at the workers of a Dask scheduler: the same records as on one machine, whatever dies."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import negolab as nl
from negolab._internal import cluster
from negolab.llm.endpoint.errors import RunFailed
from negolab.runs.plan import derive_seed
from negolab.runs.run import Run
from negolab.runs.workers import load_games, make_setup
from tests.runs.test_workers import OWN, lines_in, opened, timeless
from tests.support.processes import command_line, descendants, kill
from tests.sweeps.test_sweep import scheduler

Cluster = tuple[str, list[Any]]


@pytest.fixture(scope="module")
def workers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with scheduler(tmp_path_factory.mktemp("cluster"), 2) as found:
        yield found


@pytest.fixture
def own(tmp_path: Path) -> str:
    (tmp_path / "own_players_of_workers.py").write_text(OWN)
    return str(tmp_path / "own_players_of_workers.py")


def playing(workers: Cluster) -> list[int]:
    """The processes that play games in the cluster's workers."""
    found = (pid for process in workers[1] for pid in descendants(process.pid))
    return [pid for pid in found if "workers import serve" in command_line(pid)]


def test_a_tournament_at_a_scheduler_is_that_of_one_machine(
    workers: Cluster, own: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # the workers have another working directory
    arguments: Any = {"games": "bargaining", "players": ["random-legal", "linear", f"{Path(own).name}:Slow"]}
    for name, more in {"here": {}, "there": {"scheduler": workers[0]}}.items():
        found = nl.tournament(**arguments, design={"draws": 20}, out=name, **more)
        assert found.progress.finished == 120
    assert timeless(nl.read(tmp_path / "here")) == timeless(nl.read(tmp_path / "there"))
    assert not playing(workers), "a run leaves no process behind"


def test_a_game_that_ends_its_process_fails_alone_and_leaves_the_workers_alive(
    workers: Cluster, own: str, tmp_path: Path
) -> None:
    run = opened(tmp_path / "run", f"{own}:DeadlyInOne", "linear", 40, None, scheduler=workers[0])
    *_, deadly, _ = run.matchups[0].plan.pairings()
    seat = next(seat for seat, name in deadly.players.items() if name != "linear")
    (tmp_path / "deadly").write_text(str(derive_seed(deadly.seed, "player", seat)))
    progress = asyncio.run(run.play())
    assert (progress.finished, progress.failed) == (39, 1)
    assert all(process.poll() is None for process in workers[1])


def test_code_that_changed_is_loaded_anew_by_the_next_run(
    workers: Cluster, own: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for price in (5000, 4000):
        Path(own).write_text(OWN.replace("Offer(5000)", f"Offer({price})"))
        run = opened(Path(str(price)), f"{Path(own).name}:Slow", "linear", 4, None, scheduler=workers[0])
        assert asyncio.run(run.play()).finished == 4
        assert any(str(price // 100) in record.to_line().decode() for record in nl.read(tmp_path / str(price)))
    run = opened(tmp_path / "late", f"{own}:Slow", "linear", 4, None, scheduler=workers[0])
    Path(own).write_text(OWN)
    with pytest.raises(RunFailed, match="Slow has changed since the run began"):
        asyncio.run(run.play())


def struck(address: str, processes: list[Any], own: str, out: Path, n: int = 400) -> Run:
    """A run at whose two hundredth game a process and those that it started are killed."""
    run = opened(out, f"{own}:Slow", "linear", n, None, scheduler=address)

    def strike(_: object) -> None:
        if lines_in(out) > 200:
            for process in processes:
                for pid in [*descendants(process.pid), process.pid]:
                    kill(pid)

    run.watch(strike)
    return run


def test_a_worker_that_is_killed_loses_nothing(own: str, tmp_path: Path) -> None:
    out, here = tmp_path / "run", tmp_path / "here"
    with scheduler(tmp_path, 2) as (address, processes):
        assert asyncio.run(struck(address, processes[1:2], own, out).play()).finished == 400
        assert processes[1].poll() is not None
    asyncio.run(opened(here, f"{own}:Slow", "linear", 400, 2).play())
    assert timeless(nl.read(out)) == timeless(nl.read(here))


@pytest.mark.long
def test_a_scheduler_that_is_killed_is_said_in_one_line_and_another_goes_on(own: str, tmp_path: Path) -> None:
    out = tmp_path / "run"
    gone = pytest.raises(
        RunFailed, match="lost the connection to the scheduler: finished work is kept; run the same command again"
    )
    with scheduler(tmp_path, 1) as (address, processes), gone:
        asyncio.run(struck(address, processes[:1], own, out).play())
    assert 200 < lines_in(out) < 400
    (tmp_path / "second").mkdir()
    with scheduler(tmp_path / "second", 1) as (address, _):
        assert asyncio.run(struck(address, [], own, out).play()).finished == 400
    assert len(timeless(nl.read(out))) == 400


def test_what_a_scheduler_cannot_play_is_refused_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Mine(nl.Scripted):
        def act(self, game: Any, seen: Any) -> Any:
            return game.options(seen)[0]

    there: dict[str, Any] = {"n": 2, "out": tmp_path / "run", "scheduler": "tcp://127.0.0.1:9"}
    with pytest.raises(ValueError, match="only strategies, but llm:gpt-5-mini is a model: leave out the scheduler"):
        nl.run("bargaining", "llm:gpt-5-mini", "linear", **there)
    with pytest.raises(ValueError, match="cannot play this: the player Mine was given as an object"):
        nl.run("bargaining", Mine(), "linear", **there)
    with pytest.raises(ValueError, match="either workers on this machine or a scheduler, not both"):
        nl.run("bargaining", "linear", "linear", workers=2, **there)
    assert not (tmp_path / "run").exists()
    monkeypatch.setattr(cluster, "ANSWER_SECONDS", 0.1)
    with pytest.raises(RunFailed, match=r"no scheduler answers at tcp://127\.0\.0\.1:9: start one with dask scheduler"):
        nl.tournament("bargaining", ["linear", "boulware"], out=there["out"], scheduler=there["scheduler"])


def test_a_worker_with_another_negolab_is_refused(tmp_path: Path) -> None:
    run = opened(tmp_path / "run", "linear", "boulware", 2, None)
    (matchup,) = run.matchups
    setup = make_setup(matchup.game, matchup.plan, matchup.players, tmp_path, None)
    setup.negolab = "0.0.1"
    with pytest.raises(ValueError, match=r"this machine has 0\.0\.1: install the same version"):
        load_games([setup])
