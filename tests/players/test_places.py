"""Players of one's own where people, sweeps and replays choose one."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import msgspec
import pytest
from negolab_widgets.play.lobby import Lobby
from negolab_widgets.replay import Replay

import negolab as nl
from negolab.players.lookup import resolve
from negolab.runs.driver import seat_players
from negolab.studies import session
from negolab.studies.admin import AdminService
from negolab.studies.database import Database
from negolab.studies.links import AccessDenied
from negolab.studies.page_state import Playing
from negolab.studies.study_file import read_study
from negolab.sweeps.folder import SweepFolder
from negolab.sweeps.plan import notebook_path, read_plan
from negolab.sweeps.run import Sweep
from negolab.sweeps.sources import Notebook
from tests.support.host_process import press_button, running_host, solo_treatment, study_toml
from tests.support.own_code import code_hash
from tests.support.sweeps import write_notebook
from tests.sweeps.test_sweep import scheduler
from tests.widgets.test_replay import choose, golden, press
from tests.widgets.test_widgets import first_option

# Sweeps.

PARAMETERS = "seller = 'time'\nbuyer = 'time'\nout = None\nseed = 0"
BODY = """
import negolab as nl
await nl.run("bargaining", seller, buyer, n=2, seed=seed, out=out)
"""
PLAN = """
notebook = "notebooks/game.ipynb"
[grid]
seller = ["mine.py:Haggler,share=0.25", "mine.py:Patient", "time"]
"""


def run_sweep(file: Path, out: Path, **options: object) -> dict[str, int]:
    plan = read_plan(file)
    sweep = Sweep(plan, notebook_path(plan, file), out, base=file.parent, **options)  # type: ignore[arg-type]
    return dict(sweep.run(workers=1).states)


def test_a_sweep_plays_players_beside_its_plan(mine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_notebook(mine.parent / "notebooks", PARAMETERS, BODY)
    file, out = mine.parent / "plan.toml", tmp_path / "sweep"
    file.write_text(PLAN)
    monkeypatch.chdir(tmp_path)
    assert run_sweep(file, out) == {"done": 3}
    names = {record.header.players["A"] for record in nl.read(out / "cells")}
    assert names == {"mine.py:Haggler,share=0.25", "mine.py:Patient", "time"}
    (one,) = (record for record in nl.read(out / "cells") if record.id.endswith("0") and "0.25" in str(record.header))
    assert one.header.notes["code"]["A"] == {"source": "mine.py", "sha256": code_hash(mine)}
    assert (out / "mine.py").is_file() and (out / "neighbour.py").is_file()
    assert str(mine.parent) not in "".join(SweepFolder(out).done()), "the name of a cell holds no folder"

    (mine.parent / "neighbour.py").write_text("def middle(options, share):\n    return options[0]\n")
    file.write_text(PLAN + "buyer = ['time', 'linear']\n")
    with pytest.raises(
        ValueError, match=r"neighbour.py of mine.py changed after cells in .* continue with the new version"
    ):
        run_sweep(file, out)


def test_a_player_that_a_notebook_names_is_hashed_with_it(mine: Path) -> None:
    notebook = write_notebook(
        mine.parent, body='import negolab as nl\nnl.batch("bargaining", "mine.py:Haggler", "time")'
    )
    before = Notebook(notebook)
    assert sorted(before.modules) == ["mine.py", "neighbour.py"]
    (mine.parent / "neighbour.py").write_text("def middle(options, share):\n    return options[0]\n")
    assert Notebook(notebook).sha256 != before.sha256


def test_a_mistake_in_a_plan_s_player_is_told_before_the_sweep_begins(mine: Path, tmp_path: Path) -> None:
    write_notebook(mine.parent / "notebooks", PARAMETERS, BODY)
    file = mine.parent / "plan.toml"
    file.write_text(PLAN.replace("Patient", "Patent"))
    with pytest.raises(ValueError, match=r"mine.py has no Patent: did you mean Patient"):
        run_sweep(file, tmp_path / "sweep")


# People.


def test_a_study_s_opponent_is_a_file_beside_it(mine: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    text = study_toml("bargaining", solo_treatment("mine.py:Haggler,share=0.25", seat="B"))
    (mine.parent / "study.toml").write_text(text)
    study = read_study(mine.parent / "study.toml")
    assert study.treatments[0].opponent == "mine.py:Haggler,share=0.25"
    (mine.parent / "study.toml").write_text(text.replace("Haggler", "Hagler"))
    with pytest.raises(ValueError, match=r"treatment 'alone': opponent: .* mine.py has no Hagler"):
        read_study(mine.parent / "study.toml")


def test_a_host_plays_a_study_s_own_opponent_and_goes_on_after_a_kill(mine: Path) -> None:
    text = study_toml("bargaining", solo_treatment("mine.py:Haggler,share=0.25", seat="B"))
    with running_host(mine.parent, text) as host:
        page, _, token = host.join()
        press_button(page, "Start")
        host.kill()
        host.start()
        assert isinstance(host.page(token).state, Playing)
        (match,) = host.matches()
        with host.database() as database:
            header = database.record(match.id).header
        assert header.players == {"A": "mine.py:Haggler,share=0.25", "B": "person"}
        assert header.notes["code"] == {"A": {"source": "mine.py", "sha256": code_hash(mine)}}
        host.kill()
        mine.write_text(mine.read_text() + "\n# another word\n")
        with pytest.raises(AssertionError, match=r"mine.py has changed since study small was last served: .* --trust"):
            host.start()


@pytest.mark.parametrize("failing", ["Raises", "Sleeps", "Hangs", "Nonsense"])
def test_a_player_that_fails_ends_its_match_with_a_person_and_holds_up_no_other(
    mine: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, failing: str
) -> None:
    monkeypatch.setattr(session, "REPLY_SECONDS", 0.05)
    game = nl.load("bargaining")
    match = nl.Match(game, seed=1, players={"A": f"mine.py:{failing}", "B": "person"})

    async def begin() -> None:
        seats = session.MatchSession(match, seat_players(match, people={"B"}))
        seats.advance()
        seats.stop("over")

    asyncio.run(begin())
    assert match.ended is not None and match.ended.end == "ABORTED"
    if failing != "Hangs":
        assert (match.ended.reason or "").startswith("stopped by a fault: ") and "Traceback" in caplog.text


def test_a_page_names_no_code_that_the_host_was_not_given(mine: Path, tmp_path: Path) -> None:
    database = Database(tmp_path / "people.db")
    admin = AdminService(database)
    wanted = {"game": "bargaining", "preset": None, "seat": "B", "opponent": f"{mine}:Haggler", "seed": 7}
    with pytest.raises(AccessDenied, match="its own code, which never runs when a record is read"):
        admin.play(wanted)
    resolve(f"{mine}:Haggler", nl.load("bargaining"))
    admin.play(wanted)
    admin.play({**wanted, "opponent": "haggler:share=0.1"})
    (first, second) = (database.record(match.id) for match in database.matches())
    assert second.header.players["A"] == "haggler:share=0.1"
    assert second.header.notes["code"]["A"]["sha256"] == code_hash(mine) == first.header.notes["code"]["A"]["sha256"]
    database.close()


def test_the_lobby_offers_the_players_of_a_loaded_module(mine: Path, tmp_path: Path) -> None:
    resolve("mine.py:Patient", nl.load("bargaining"))
    lobby = Lobby("bargaining", out=tmp_path / "out")
    assert {"haggler", "mine.py:Patient"} <= set(lobby._opponent.keys_offered)
    lobby._opponent.value = "haggler"
    assert "Choose an option by a share." in lobby._opponent.about
    press(lobby, "Start the match")
    table = lobby._table.children[0]
    for _ in range(50):
        if table._match.ended is None:
            first_option(table)
    (record,) = nl.read(tmp_path / "out")
    assert "haggler" in record.header.players.values() and list(record.header.notes["code"]) == ["A"]


# What if.


def test_what_if_offers_a_record_s_own_player_once_its_code_is_loaded(mine: Path, tmp_path: Path) -> None:
    (record,) = nl.batch("bargaining", "mine.py:Haggler,share=0.25", "time", n=1)
    kept = shutil.move(mine, mine.with_suffix(".txt"))
    replay = Replay(record, out=tmp_path / "out")
    options = replay._branching._seats["A"].options
    assert "mine.py:Haggler,share=0.25" in options and "haggler" in options
    choose(replay, "Seat A continues with", "mine.py:Haggler,share=0.25")
    press(replay, "Branch from this step")
    branch = nl.read(tmp_path / "out")[-1]
    assert branch.header.players["A"] == "mine.py:Haggler,share=0.25"
    assert branch.header.notes["code"] == record.header.notes["code"]
    assert kept


def test_what_if_runs_nothing_that_a_record_alone_names(mine: Path, tmp_path: Path) -> None:
    record = golden("bargaining")
    players = {**record.header.players, "A": f"{mine}:Haggler"}
    foreign = msgspec.structs.replace(record, header=msgspec.structs.replace(record.header, players=players))
    options = Replay(foreign, out=tmp_path)._branching._seats["A"].options
    assert not any("mine.py" in option for option in options)


@pytest.mark.long
def test_a_scheduler_of_ones_own_plays_players_beside_the_plan(mine: Path, tmp_path: Path) -> None:
    write_notebook(mine.parent / "notebooks", PARAMETERS, BODY)
    file = mine.parent / "plan.toml"
    file.write_text(PLAN)
    with scheduler(tmp_path, 2) as (address, _):
        plan = read_plan(file)
        sweep = Sweep(plan, notebook_path(plan, file), tmp_path / "sweep", base=file.parent)
        assert sweep.run(scheduler=address).states == {"done": 3}
    notes = [record.header.notes for record in nl.read(tmp_path / "sweep" / "cells")]
    assert sum(note.get("code", {}).get("A", {}).get("source") == "mine.py" for note in notes) == 4 and len(notes) == 6
