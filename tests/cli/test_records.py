"""`negolab check`, `replay`, `export` and `import clembench`: what they read, and what they say of it."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import negolab as nl
from negolab.cli import corpora, records
from negolab.formats import open_source
from negolab.sweeps.status import CellStatus, write_status
from negolab.user_code import TRUSTED
from tests.analysis.test_export import kept
from tests.conftest import ROOT
from tests.support import in_process
from tests.support.clembench_folder import row_of, write
from tests.support.command import negolab, refusal, succeeding
from tests.support.sweeps import write_plan

EXPERIMENT = "air_balloon_survival_en_complexity_easy"


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """A results folder of two episodes of the balloon game and one of another game."""
    game = nl.load("balloon", preset="clembench", turn_limit=30)
    models = tmp_path / "results_en" / "linear-t1.0"
    for number, record in enumerate(nl.batch(game, "linear", "linear", n=2, seed=1)):
        write(models, row_of(record, EXPERIMENT), f"hot_air_balloon/{EXPERIMENT}/instance_{number:05}")
    other = models / "clean_up" / "easy" / "instance_00000"
    other.mkdir(parents=True)
    (other / "instance.json").write_text("{}")
    return tmp_path / "results_en"


@pytest.fixture
def sweep(tmp_path: Path) -> Path:
    """A sweep whose two finished cells have the same ids, with a failed attempt that wrote some of them."""
    folder = tmp_path / "sweep"
    played = nl.batch("trading", "fair-split", "chat", n=3, seed=1)
    for place, state in (("cells/one", "done"), ("cells/two", "done"), ("attempts/two.1", "failed")):
        (folder / place).mkdir(parents=True)
        kept(folder / place, *played)
        write_status(folder / place, status(place.split("/")[1].split(".")[0], state))
    return folder


@pytest.fixture
def own_game(tmp_path: Path) -> Path:
    return Path(shutil.copy(ROOT / "negolab/scaffolds/ultimatum.py", tmp_path / "mygame.py"))


def test_the_game_of_a_folder_is_loaded_again_where_its_user_has_run_it(own_game: Path, tmp_path: Path) -> None:
    negolab("watch", str(own_game), "--seed", "2", "--out", str(tmp_path / "run"))
    for command in (["check"], ["replay"], ["export", "--to", "csv"], ["export", "--to", "md"]):
        ran = negolab(command[0], str(tmp_path / "run"), *command[1:])
        assert ran.returncode == 0 and not ran.stderr, ran.stderr


def test_records_of_which_a_game_cannot_tell_what_the_table_of_matches_needs_are_exported_without_it(
    own_game: Path, tmp_path: Path
) -> None:
    own_game.write_text(f"{own_game.read_text()}\nUltimatum.own_value = lambda *_: {{}}['own']\n")
    negolab("watch", str(own_game), "--seed", "2", "--out", str(tmp_path / "run"))
    ran = succeeding("export", str(tmp_path / "run"), "--to", "csv")
    assert "1 measure" in ran.stdout and "left empty for 1 match: matches: KeyError: 'own'" in ran.stderr


def test_code_that_was_never_run_here_is_run_only_with_trust(
    own_game: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    negolab("watch", str(own_game), "--seed", "2", "--out", str(tmp_path / "run"))
    monkeypatch.setenv(TRUSTED, str(tmp_path / "trusted.txt"))
    ran = negolab("check", str(tmp_path / "run"))
    (line,) = ran.stderr.splitlines()
    assert ran.returncode == 2 and not ran.stdout and "mygame.py" in line and "add --trust" in line
    assert "1 record reproduces" in negolab("check", str(tmp_path / "run"), "--trust").stdout
    assert "1 record reproduces" in negolab("check", str(tmp_path / "run")).stdout  # asked once


def test_a_record_alone_never_has_code_run(own_game: Path, tmp_path: Path) -> None:
    negolab("watch", str(own_game), "--seed", "2", "--out", str(tmp_path / "run"))
    (tmp_path / "run" / "sources.json").unlink()
    ran = negolab("check", str(tmp_path / "run"))
    (line,) = ran.stderr.splitlines()
    assert ran.returncode == 2 and not ran.stdout and "such as --module mygame.py" in line
    assert "1 record reproduces" in negolab("check", str(tmp_path / "run"), "--module", str(own_game)).stdout


def test_a_game_that_has_changed_is_said_and_goes_on_only_with_trust(own_game: Path, tmp_path: Path) -> None:
    batch = ["batch", str(own_game), "--a", "random-legal", "--b", "random-legal", "--out", str(tmp_path / "run")]
    succeeding(*batch, "--n", "4")
    own_game.write_text(own_game.read_text() + "# changed\n")
    ran = negolab(*batch, "--n", "8")
    assert (
        ran.returncode == 2 and "mygame.py has changed since the matches in" in ran.stderr and "--trust" in ran.stderr
    )
    looked = negolab("check", str(tmp_path / "run"))
    assert looked.returncode == 2 and "mygame.py has changed since the matches in" in looked.stderr
    succeeding(*batch, "--n", "8", "--trust")
    assert "8 records reproduce" in negolab("check", str(tmp_path / "run")).stdout


def test_what_others_wrote_moves_no_cursor(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    match = nl.Match(nl.load("trading", "tolerant"), seed=1, players={"A": "\x1b]0;title\x07", "B": "\x9b2J"})
    match.submit("A", "\x1b[2Jnothing to see")
    kept(tmp_path, match.record())
    for seat in (None, "B"):
        records.replay(tmp_path, seat=seat)
        shown = capsys.readouterr().out
        assert "nothing to see" in shown and not {"\x1b", "\x07", "\x9b"} & set(shown)
    other = nl.Match(nl.load("trading"), seed=2, players={"A": "\x1b[31m", "B": "b"}).record()
    kept(tmp_path, other)
    records.replay(tmp_path)
    assert "\\x1b[31m" in capsys.readouterr().out


def damaged(folder: Path, damage: Callable[[dict[str, Any]], object]) -> Path:
    """Write two records, the second of them damaged."""
    first, second = nl.batch("trading", "fair-split", "chat", n=2)
    data = json.loads(second.to_line())
    damage(data)
    folder.mkdir()
    text = json.dumps(data).replace('"@deep"', "[" * 100_000 + "]" * 100_000)
    (folder / "records.jsonl").write_bytes(first.to_line() + text.encode() + b"\n")
    return folder


def test_names_in_somebody_elses_folder_move_no_cursor_either(results: Path, tmp_path: Path) -> None:
    (instance,) = results.rglob("clean_up/*/*/instance.json")
    instance.parent.parent.joinpath("experiment.json").write_text(json.dumps({"game_name": "\x1b]0;title\x07"}))
    (results / "linear-t1.0" / "hot_air_balloon").rename(results / "linear-t1.0" / "hot_\x1b[2J")
    torn = tmp_path / "torn" / "\x1b[31mred"
    kept(torn, *nl.batch("trading", "chat", "chat", n=2))
    torn.joinpath("records.jsonl").write_bytes(torn.joinpath("records.jsonl").read_bytes()[:-9])
    plan = write_plan(tmp_path / "plan", "[grid]\nhow = ['well', '\\u001b]0;title\\u0007']\n".replace("'", '"'))
    scenario = tmp_path / "scenario.toml"
    two = (ROOT / "tests" / "support" / "scenarios" / "two.toml").read_text("utf-8")
    scenario.write_text(two.replace('name = "', 'name = "\\u001b[2J'), "utf-8")
    for command in (
        ["check", str(results)],
        ["import", "clembench", str(results), "--out", str(tmp_path / "out"), "--scores"],
        ["check", str(tmp_path / "torn")],
        ["sweep", "check", str(plan)],
        ["games", "agenda", "--scenario", str(scenario)],
    ):
        ran = negolab(*command)
        said = ran.stdout + ran.stderr
        assert not {"\x1b", "\x07", "\x9b"} & set(said), said
        assert "\\x1b" in said, said


@pytest.mark.parametrize("to", ["md", "html", "tex"])
def test_a_transcript_is_written_over_an_earlier_one_only(to: str, tmp_path: Path) -> None:
    match = nl.Match(nl.load("trading"), seed=1, id="thesis")
    source, mine = tmp_path / "received.jsonl", tmp_path / f"thesis.{to}"
    source.write_bytes(match.record().to_line())
    for _ in range(2):
        succeeding("export", str(source), "--to", to)
        match.submit(next(iter(match.pending())), "PASS TURN")
        source.write_bytes(match.record().to_line())
    mine.write_text("\\documentclass[a4paper]{article}\n% five years of work\n")
    ran = negolab("export", str(source), "--to", to)
    assert ran.returncode == 2 and f"thesis.{to} already exists and is not a transcript" in ran.stderr
    assert "five years" in mine.read_text()


def test_a_line_break_in_an_id_is_shown_as_text(tmp_path: Path) -> None:
    folder = damaged(tmp_path / "run", lambda data: data["header"].update(id="one\nnegolab: all is well\x1b[2J"))
    (line,) = (line for line in negolab("replay", str(folder)).stdout.splitlines() if line.startswith("one"))
    assert line.startswith(r"one\nnegolab: all is well\x1b[2J")
    other = damaged(tmp_path / "other", lambda data: data["header"].update(id="one\ntwo\x1b[2J", schema=9))
    assert "\x1b" not in refusal("check", str(other))
    mixed = damaged(tmp_path / "mixed", lambda data: (data["header"].update(id="one\ntwo"), data["events"].pop(2)))
    assert r"record one\ntwo: " in negolab("check", str(mixed)).stdout


@pytest.mark.parametrize("command", ["check", "replay", "export", "report"])
def test_a_payoff_beyond_floats_and_deep_json_are_refused_with_their_file(command: str, tmp_path: Path) -> None:
    big = damaged(tmp_path / "big", lambda data: data["events"][-1]["payoffs"].update(A=10**400))
    deep = damaged(tmp_path / "deep", lambda data: data["header"].update(notes={"x": "@deep"}))
    for folder, said in ((big, "must end with finite payoffs for A and B"), (deep, "not a record: maximum recursion")):
        ran = negolab(command, str(folder), *["--to", "csv"] * (command == "export"))
        assert ran.returncode == 2 and ran.stderr.count("\n") == 1
        assert f"negolab: {folder}/records.jsonl, line 2: " in ran.stderr and said in ran.stderr


@pytest.mark.parametrize("name", ["manifest.json", "cells/one/cell.json", "casino.json"])
def test_deep_json_is_refused_with_its_file(name: str, sweep: Path, tmp_path: Path) -> None:
    file = sweep / name
    file.write_text('{"plan": ' + "[" * 100_000 + "]" * 100_000 + "}")
    if name == "casino.json":
        ran = negolab("import", "casino", str(file), "--out", str(tmp_path / "new" / "run"))
    elif name == "manifest.json":
        ran = negolab("sweep", "show", str(sweep))
    else:
        ran = negolab("check", str(sweep))
    assert ran.returncode == 2 and ran.stderr.count("\n") == 1 and str(file) in ran.stderr
    assert not (tmp_path / "new").exists()


def test_a_pipe_is_no_file_of_answers_and_is_not_waited_for(tmp_path: Path) -> None:
    nl.run("bargaining", "linear", "boulware", n=1, out=tmp_path)
    os.mkfifo(tmp_path / "answers.db")
    assert "no answers are kept" in refusal("calls", str(tmp_path))


def test_a_transcript_of_moves_out_of_turn_names_the_record(tmp_path: Path) -> None:
    folder = damaged(tmp_path / "run", lambda data: data["events"].insert(1, data["events"].pop(4)))
    ran = negolab("export", str(folder), "--to", "md", "--out", str(tmp_path / "out"))
    assert ran.returncode == 2 and "negolab: record " in ran.stderr and ", event 1: cannot be replayed" in ran.stderr


def status(id: str, state: str) -> CellStatus:
    ran: dict[str, Any] = {"params": {}, "repeat": 1, "seed": 1, "attempts": 1, "began": 0, "ended": 1, "seconds": 1}
    return CellStatus(id=id, state=state, worker="w", **ran)  # type: ignore[arg-type]


# Check.


def test_ids_may_repeat_between_the_cells_of_a_sweep(sweep: Path, capsys: pytest.CaptureFixture[str]) -> None:
    records.check(sweep)
    assert capsys.readouterr().out == "6 records reproduce their stored events and outcomes\n"
    assert {entry.cell for entry in open_source(sweep).entries()} == {"one", "two"}
    records.check(sweep.parent)
    assert capsys.readouterr().out.startswith("9 records reproduce")


def test_one_cause_is_one_line_with_its_count_and_first_record(sweep: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = sweep / "cells" / "two" / "records.jsonl"
    lines = file.read_text().splitlines()
    file.write_text("\n".join([*lines, *lines]) + "\n")
    with pytest.raises(ValueError, match=r"^3 differences in 9 records$"):
        records.check(sweep)
    first = json.loads(lines[0])["header"]["id"]
    assert capsys.readouterr().out == f"3 records: the ID appears twice; first: record {first} in cell two\n"


def test_a_rule_that_changed_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept(tmp_path, *nl.batch("trading", "fair-split", "chat", n=3, seed=1))
    file = tmp_path / "records.jsonl"
    file.write_text(file.read_text().replace('"seed":', '"seed":1').replace('"end":"', '"end":"NO_DEAL","was":"'))
    with pytest.raises(ValueError, match=r"differences in 3 records"):
        records.check(tmp_path)
    told = capsys.readouterr().out.splitlines()
    assert told[0].startswith("3 records: the start is not what its seed draws; first: record ")
    assert len(told) <= 2


def test_an_intact_sweep_without_records_is_no_mistake(tmp_path: Path) -> None:
    (tmp_path / "cells" / "one").mkdir(parents=True)
    write_status(tmp_path / "cells" / "one", status("one", "done"))
    ran = negolab("check", str(tmp_path))
    assert (ran.returncode, ran.stdout) == (0, f"there are no records in {tmp_path}: no finished cell wrote any\n")
    (tmp_path / "empty").mkdir()
    ran = negolab("check", str(tmp_path / "empty"))
    assert ran.returncode == 2 and "neither .jsonl files nor folders with an instance.json" in ran.stderr


def test_published_files_that_say_something_else_are_found_out(
    results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    records.check(results)
    assert capsys.readouterr().out.startswith("2 records reproduce")
    for place in results.rglob("scores.json"):
        place.write_text(json.dumps({"episode scores": {"Main Score": 12.5}}))
    with pytest.raises(ValueError, match="2 differences in 2 records"):
        records.check(results)
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith(
        "2 records: Main Score does not follow from the dialogue; first: record en_complexity_easy-0-"
    )
    assert f"linear-t1.0/hot_air_balloon/{EXPERIMENT}/instance_00000: reply" in line


# Published episodes.


def test_a_results_folder_and_the_run_imported_from_it_read_alike(results: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    ran = succeeding("import", "clembench", str(results), "--out", str(run))
    assert ran.stdout.splitlines()[:3] == [
        f"{run}: 2 records",
        "  linear-t1.0 / linear-t1.0: 2 episodes",
        "clean_up: 1 episode of another game, left out",
    ]
    assert ran.stdout.endswith("stored scores of 2 episodes re-derived; differences: none\n")
    listed = [negolab("replay", str(place)) for place in (run, results)]
    assert listed[0].stdout == listed[1].stdout and "linear-t1.0 / linear-t1.0" in listed[0].stdout
    assert "clean_up: 1 episode of another game, left out" in listed[1].stderr
    for to, name in (("csv", "matches.csv"), ("md", None)):
        written = []
        for place, out in ((run, tmp_path / "a"), (results, tmp_path / "b")):
            succeeding("export", str(place), "--to", to, "--out", str(out))
            texts = {file.name: file.read_text() for file in out.iterdir()}
            written.append({name: text.replace(f'"../{place.name}"', '"..."') for name, text in texts.items()})
        assert written[0] == written[1] and (name in written[0] if name else len(written[0]) >= 2)


def test_one_episode_is_shown_by_the_start_of_its_id(results: Path) -> None:
    ran = succeeding("replay", str(results), "--id", "en_complexity_easy-1", "--seat", "B")
    assert "balloon" not in ran.stderr and "you get" in ran.stdout


def test_an_import_that_is_repeated_adds_nothing(
    results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corpora.clembench([results], tmp_path / "run")
    corpora.clembench([results, results / "linear-t1.0"], tmp_path / "run", scores=True)
    told = capsys.readouterr().out
    assert f"{tmp_path / 'run'}: 2 records, 0 of them new" in told and "2 episodes repeated" in told
    assert len(nl.read(tmp_path / "run")) == 2
    assert any(line.startswith("Main Score ") and line.endswith(" 2 of 2") for line in told.splitlines())


def test_an_import_names_what_stands_in_its_way(results: Path, tmp_path: Path) -> None:
    for folders, out, said in (
        ([tmp_path / "nowhere"], tmp_path / "run", "nowhere is not a folder: choose a folder of results"),
        ([results], results / "run", "which is being read: choose a folder outside"),
        ([results / "linear-t1.0" / "clean_up"], tmp_path / "run", "clean_up: 1 episode of another game, left out"),
    ):
        with pytest.raises(ValueError, match=said):
            corpora.clembench(folders, out)
    assert not (tmp_path / "run").exists()


DAMAGES: dict[str, Callable[[dict[str, Any]], object]] = {
    "a parameter": lambda record: record["header"]["params"].update(limit_ratio=[]),
    "the start": lambda record: record["events"][0].update(state=1),
    "a key of a start": lambda record: record["events"][0]["state"]["private"]["A"]["importance"].popitem(),
    "a payoff": lambda record: record["events"][-1]["payoffs"].update(B=10**40),
}
READERS = (["replay"], ["replay", "--html", "r.html"], ["replay", "--seat", "A"], ["export", "--to", "md"], ["report"])


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_record_from_which_nothing_can_be_drawn_is_named(damage: str, tmp_path: Path) -> None:
    (played,) = nl.batch("balloon", "linear", "linear", n=1)
    record = json.loads(played.to_line())
    DAMAGES[damage](record)
    record["header"]["id"] = "1"  # which an error may hold by chance
    (tmp_path / "run").mkdir()
    (tmp_path / "run/records.jsonl").write_text(json.dumps(record) + "\n")
    for command in READERS:
        ran = in_process.negolab(*command, "run", cwd=tmp_path)
        assert ran.returncode == 0 or ran.stderr.startswith("negolab: record 1"), command
