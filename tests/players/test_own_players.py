"""Players of one's own: by file, module, class, function and object, in memory and in a run's folder."""

from __future__ import annotations

import importlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import negolab as nl
from negolab import user_code
from negolab.analysis.summary import tally_records
from negolab.players.lookup import compatible_players, resolve
from negolab.runs.scripted import FAILURES as ERRORS
from negolab.verification import replay_differences
from tests.support.command import negolab, succeeding
from tests.support.own_code import code_hash

GAME = nl.load("bargaining")


def module_of(spec: str) -> Any:
    """Load a player's file and return its module, as `import` does in a notebook beside it."""
    resolve(spec, GAME)
    return sys.modules[Path(spec.partition(":")[0]).stem]


# Finding a player.


def test_a_player_of_a_file_a_module_a_class_a_function_and_an_object_plays(mine: Path) -> None:
    module = module_of("mine.py:Haggler")
    specs = [
        "mine.py:Haggler,share=0.25",
        str(mine) + ":Haggler",
        "mine.py:haggler",
        "mine.py:eager,share=0.5",
        "mine:Haggler,share=0.25",
        "mine.py:Patient",
        "haggler:share=0.25",
        module.Haggler,
        module.eager,
        module.Haggler(share=0.75),
        module.Patient,
        module.Patient(),
    ]
    for spec in specs:
        for a, b in ((spec, "time"), ("time", spec)):
            record, again = (nl.batch("bargaining", a, b, n=1, seed=4)[0] for _ in range(2))
            assert record.end in ("AGREED", "NO_DEAL") and record.events == again.events
            assert replay_differences(record) == []
        assert nl.play(nl.Match(GAME, seed=1), {"A": spec, "B": "time"}).outcome is not None


def test_a_record_names_the_player_without_its_folder_and_with_the_hash_of_its_files(mine: Path) -> None:
    (record,) = nl.batch("bargaining", f"{mine}:Haggler,share=0.25", "time", n=1)
    assert record.header.players == {"A": "mine.py:Haggler,share=0.25", "B": "time"}
    assert record.header.notes["code"] == {"A": {"source": "mine.py", "sha256": code_hash(mine)}}
    shutil.copytree(mine.parent, mine.parent.parent / "moved")
    sys.modules.pop("mine")
    (moved,) = nl.batch("bargaining", "../moved/mine.py:Haggler,share=0.25", "time", n=1)
    assert moved.id == record.id and moved.header.notes == record.header.notes


def test_a_shipped_player_leaves_no_note_of_code() -> None:
    assert "code" not in nl.batch("bargaining", "time", "random", n=1)[0].header.notes


def test_a_label_names_any_player_in_records_and_the_manifest_says_which_it_is(tmp_path: Path) -> None:
    class Named(nl.Scripted):
        """Has a label of its own."""

        def __init__(self, label: str) -> None:
            self.label = label

        def act(self, game: Any, seen: Any) -> Any:
            return game.options(seen)[0]

    run = tmp_path / "run"
    players = ("--a", "boulware:beta=0.2,label=Slow", "--b", "linear:label=Even")
    succeeding("batch", "bargaining", *players, "--n", "3", "--out", str(run), "--workers", "2")
    assert [record.header.players for record in nl.read(run)] == [{"A": "Slow", "B": "Even"}] * 3
    kept = json.loads((run / "manifest.json").read_text())["players"]
    assert kept["Slow"]["player"] == "boulware:beta=0.2" and kept["Even"]["player"] == "linear"
    assert resolve(Named, GAME, label="x").name != "x"
    assert resolve("linear:label=1.50", GAME).name == "1.50", "a label is a text"


@pytest.mark.parametrize(
    "label", ["", " ", "Person", "llm", "llm:gpt-5", "mine.py:Haggler", "x" * 81, "a\tb", "\udcff"]
)
def test_a_label_passes_for_no_person_no_model_and_no_code(label: str) -> None:
    with pytest.raises(ValueError, match="label must be 1 to 80 printable characters"):
        resolve("linear", GAME, label=label)


@pytest.mark.parametrize("label", ["boulware", "Boulware", "tft"])
def test_a_label_is_no_other_players_name(tmp_path: Path, label: str) -> None:
    with pytest.raises(ValueError, match=f"label '{label}' is the name of another player: choose another label for l"):
        resolve(f"linear:label={label}", GAME)
    with pytest.raises(ValueError, match="is the name of another player"):
        nl.tournament("bargaining", [f"linear:label={label}", "conceder"], out=tmp_path / "out")
    assert resolve("linear:label=linear", GAME).name == "linear"


def test_a_player_of_ones_own_goes_by_its_name_in_its_module(mine: Path, tmp_path: Path) -> None:
    nl.tournament(
        "bargaining", {"haggler": f"{mine}:haggler", "even": "linear"}, out=tmp_path / "out", design={"draws": 1}
    )
    assert {name for each in nl.read(tmp_path / "out") for name in each.header.players.values()} == {"haggler", "even"}


def test_a_class_makes_a_player_for_each_match_and_an_object_plays_them_all() -> None:
    made = []

    class Counts:
        def __init__(self, *, seed: int = 0) -> None:
            self.matches: set[int] = set()
            self.seed = seed
            made.append(self)

        def reply(self, told: Any, ask: Any) -> Any:
            return told.options(ask.seen)[0]

    nl.batch("bargaining", Counts, "time", n=3)
    seeds = {player.seed for player in made}
    assert len(made) == 4 and len(seeds) == 4, "one to check, and one for each match with its own seed"
    nl.batch("bargaining", made[0], "time", n=3)
    assert len(made) == 4


def test_two_different_players_of_one_name_are_refused(mine: Path) -> None:
    haggler = module_of("mine.py:Haggler").Haggler
    with pytest.raises(ValueError, match="two different players are called 'Haggler'"):
        nl.batch("bargaining", haggler(share=0.1), haggler(share=0.9), n=1)
    assert len(nl.batch("bargaining", haggler, haggler, n=1)) == 1


def test_a_record_imports_nothing_and_may_name_only_what_a_loaded_module_offers(mine: Path) -> None:
    for spec in ("mine.py:Haggler", "subprocess:getoutput,cmd=ls"):
        with pytest.raises(ValueError, match="its own code, which never runs when a record is read"):
            resolve(spec, GAME, load=False)
    assert "mine" not in sys.modules
    user_code.load(str(mine))
    assert resolve("mine.py:Haggler,share=0.1", GAME, load=False).name == "mine.py:Haggler,share=0.1"
    for other in ("mine.py:Patient", "elsewhere/../yours.py:Haggler", "random.py:Random"):
        with pytest.raises(ValueError, match="which never runs when a record is read"):
            resolve(other, GAME, load=False)


def test_the_name_of_a_shipped_player_cannot_be_taken(mine: Path) -> None:
    mine.write_text(mine.read_text() + 'PLAYERS["time"] = Haggler\n')
    resolve("mine.py:Haggler", GAME)
    assert type(nl.player("time", GAME)).__module__ == "negolab.games.bargaining.players"
    assert type(nl.player("mine.py:time", GAME)).__name__ == "Haggler"


def test_the_players_of_a_loaded_module_are_offered_for_every_game_that_they_accept(mine: Path) -> None:
    assert "haggler" not in nl.list_players("trading")
    mine.write_text(mine.read_text() + 'PLAYERS["only-trading"] = OnlyTrading\nOnlyTrading.act = Haggler.act\n')
    resolve("mine.py:Haggler", GAME)
    assert {"haggler", "only-trading"} <= nl.list_players("trading").keys()
    assert "haggler" in compatible_players(GAME, "A")
    assert "only-trading" not in compatible_players(GAME, "A")
    assert compatible_players(GAME, "A")[-1] == "haggler", "ours come first"


def test_players_of_a_game_are_for_that_game_wherever_they_are_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    importing = ModuleType("importing")
    vars(importing)["PLAYERS"] = importlib.import_module("negolab.games.bargaining.players").PLAYERS
    monkeypatch.setitem(sys.modules, "importing", importing)
    assert "linear" not in nl.list_players("split")


def test_an_installed_package_offers_players(tmp_path: Path, mine: Path) -> None:
    site = tmp_path / "site"
    (site / "tough").mkdir(parents=True)
    (site / "tough" / "__init__.py").write_text("")
    (site / "tough" / "strategies.py").write_text(
        "class Tough:\n    def reply(self, told, ask):\n        return told.options(ask.seen)[0]\n"
        "PLAYERS = {'tougher': Tough}\n"
    )
    info = site / "tough-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: tough\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[negolab.players]\ntough = tough.strategies:Tough\nall = tough.strategies\nbad = tough.missing:Nobody\n"
    )
    program = (
        "import warnings, negolab as nl\n"
        "with warnings.catch_warnings(record=True) as caught:\n"
        "    names = list(nl.list_players('trading'))\n"
        "    nl.list_players('trading')\n"
        "assert {'tough', 'tougher'} <= set(names) and 'bad' not in names, names\n"
        "assert [str(w.message) for w in caught] == [\"the player 'bad' of tough cannot be loaded: "
        "ModuleNotFoundError: No module named 'tough.missing'\"], [str(w.message) for w in caught]\n"
        "record = nl.batch('trading', 'tough', 'tough.strategies:Tough', n=1)[0]\n"
        "print(record.header.players, record.header.notes['code']['A']['source'])\n"
    )
    path = os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")])
    ran = subprocess.run([sys.executable, "-c", program], env={**os.environ, "PYTHONPATH": path}, capture_output=True)
    assert ran.returncode == 0, ran.stderr.decode()
    assert ran.stdout.decode() == "{'A': 'tough', 'B': 'tough.strategies:Tough'} tough.strategies\n"


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ("none.py:Haggler", "player 'none.py:Haggler': there is no module at none.py"),
        ("mine.py:Hagler", "player 'mine.py:Hagler': mine.py has no Hagler: did you mean Haggler"),
        ("mine.py:Empty", "player 'mine.py:Empty' is not a player: Empty has no method reply"),
        ("mine.py:Silent", "player 'mine.py:Silent' is not a player: Silent has no method act"),
        ("mine.py:Haggler,shares=1", "player 'mine.py:Haggler' has no parameter 'shares': did you mean share"),
        ("mine.py:Haggler,share=much", "parameter share of the player must be a number, not 'much'"),
        ("mine.py:Needs", "player 'mine.py:Needs': missing a required argument: 'depth'"),
        ("mine.py:Broken", r"player 'mine.py:Broken' cannot be created: ZeroDivisionError: .* \(mine.py, line \d+\)"),
        ("mine.py:OnlyTrading", "OnlyTrading has no method act"),
        ("broken_player.py:X", "player 'broken_player.py:X': broken_player.py cannot be loaded: NameError"),
        ("no.such:X", "player 'no.such:X': there is no module 'no.such'"),
        ("nobody:X", "unknown player 'nobody' for bargaining"),
        (7, "a player must be a name such as 'greedy', a reference such as 'mine.py:Haggler', a class"),
    ],
)
def test_a_mistake_is_told_in_one_line_that_names_file_and_class(mine: Path, spec: Any, why: str) -> None:
    (mine.parent / "broken_player.py").write_text("undefined\n")
    with pytest.raises(ValueError, match=why) as caught:
        nl.batch("bargaining", spec, "time", n=1)
    assert "\n" not in str(caught.value)


def test_a_file_that_changed_is_loaded_again(mine: Path) -> None:
    before = nl.batch("bargaining", "mine.py:Haggler", "time", n=1)[0]
    (mine.parent / "neighbour.py").write_text("def middle(options, share):\n    return options[-1]\n")
    after = nl.batch("bargaining", "mine.py:Haggler", "time", n=1)[0]
    assert before.events != after.events and before.header.notes["code"] != after.header.notes["code"]


def test_a_model_words_the_moves_of_an_own_strategy_whose_name_holds_no_folder(mine: Path) -> None:
    model = resolve(f"llm:x,strategy={mine}:Haggler;share=0.3", GAME)
    assert model.name == "llm:x,strategy=mine.py:Haggler;share=0.3"
    assert model.facts["sha256"] == code_hash(mine)
    with pytest.raises(ValueError, match="strategy must be a scripted player"):
        resolve(f"llm:x,strategy={mine}:Patient", GAME)


# Runs.


def test_a_run_of_own_players_is_resumed_and_played_once(mine: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    nl.run("bargaining", "mine.py:Haggler", "mine.py:Patient", n=4, out=out)
    again = nl.run("bargaining", "mine.py:Haggler", "mine.py:Patient", n=6, out=out)
    assert again.progress.new == 2 and len({record.id for record in nl.read(out)}) == 6
    facts = json.loads((out / "manifest.json").read_text())["players"]["mine.py:Haggler"]
    assert sorted(facts.pop("files")) == ["mine.py", "neighbour.py"]
    assert facts == {"source": "mine.py", "sha256": code_hash(mine), "path": str(mine.resolve())}


def test_a_changed_file_is_refused_and_then_accepted(mine: Path, tmp_path: Path) -> None:
    command = ["batch", "bargaining", "--a", f"{mine}:Haggler,share=0.3", "--b", "time", "--out", str(tmp_path / "run")]
    succeeding(*command, "--n", "2")
    (mine.parent / "neighbour.py").write_text("def middle(options, share):\n    return options[0]\n")
    refused = negolab(*command, "--n", "4")
    assert refused.returncode and "neighbour.py of mine.py has changed since the matches in" in refused.stderr
    assert "Traceback" not in refused.stderr and len(nl.read(tmp_path / "run")) == 2
    succeeding(*command, "--n", "4", "--trust")
    hashes = [record.header.notes["code"]["A"]["sha256"] for record in nl.read(tmp_path / "run")]
    assert len(hashes) == 4 and len(set(hashes)) == 2, "each record holds the hash of what played it"
    succeeding(*command, "--n", "6")


def test_a_moved_file_is_the_same_player(mine: Path, tmp_path: Path) -> None:
    nl.run("bargaining", "mine.py:Haggler", "time", n=2, out=tmp_path / "run")
    shutil.copytree(mine.parent, tmp_path / "moved")
    sys.modules.pop("mine")
    moved = nl.run("bargaining", f"{tmp_path}/moved/mine.py:Haggler", "time", n=4, out=tmp_path / "run")
    assert moved.progress.over == 4


@pytest.mark.parametrize(
    ("opponent", "player", "said"),
    [
        ("time", "Raises", "KeyError: 'no plan for B'"),
        ("mine.py:Patient", "Raises", "KeyError: 'no plan for B'"),
        ("time", "Exits", "called sys.exit(3)"),
        ("mine.py:Patient", "ExitsLater", "called sys.exit(3)"),
        ("time", "RaisesAtFirst", "RuntimeError: no luck"),
    ],
)
def test_a_player_that_raises_fails_its_match_with_a_traceback_in_the_log(
    mine: Path, tmp_path: Path, opponent: str, player: str, said: str
) -> None:
    mine.write_text(mine.read_text() + "RaisesAtFirst.act = Haggler.act\n")
    run = nl.run("bargaining", opponent, f"mine.py:{player}", n=3, out=tmp_path / "run")
    assert (run.progress.failed, run.progress.phase) == (3, "done")
    assert said in nl.read(tmp_path / "run")[0].events[-1].reason  # type: ignore[union-attr, operator]
    log = (tmp_path / "run" / ERRORS).read_text()
    assert log.count("(seed ") == 3 and "Traceback (most recent call last)" in log and f"mine.py:{player}" in log
    assert 'mine.py", line' in log and said in log


def test_the_command_says_where_the_tracebacks_are(mine: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    ran = negolab("batch", "bargaining", "--a", "mine.py:Raises", "--b", "time", "--n", "2", "--out", str(out))
    assert ran.returncode == 2 and f"failures are explained in {out / ERRORS}" in ran.stderr


def test_a_player_that_answers_nonsense_loses_or_fails_its_match(mine: Path, tmp_path: Path) -> None:
    nl.run("trading", "mine.py:Babbles", "chat", n=2, out=tmp_path / "babbles")
    assert {record.end for record in nl.read(tmp_path / "babbles")} == {"FORFEIT"}
    run = nl.run("trading", "mine.py:Nonsense", "chat", n=2, out=tmp_path / "nonsense")
    assert run.progress.failed == 2 and "Traceback" in (tmp_path / "nonsense" / ERRORS).read_text()


@pytest.mark.parametrize(
    ("late", "opponent"),
    [("Sleeps", "time"), ("Spins", "time"), ("Hangs", "time"), ("Later", "time"), ("Sleeps", "mine.py:Patient")],
)
def test_a_player_that_is_late_times_its_match_out(mine: Path, tmp_path: Path, late: str, opponent: str) -> None:
    run = nl.run("bargaining", opponent, f"mine.py:{late}", n=2, out=tmp_path / "run", game_seconds=0.2)
    assert (run.progress.timed_out, run.progress.over) == (2, 2)
    assert tally_records(nl.read(tmp_path / "run")).ends["timed out"] == 2
    assert all(replay_differences(record) == [] for record in nl.read(tmp_path / "run"))


@pytest.mark.parametrize("late", ["Sleeps", "Spins"])
def test_a_late_reply_loses_a_match_with_a_time_limit(mine: Path, late: str) -> None:
    match = nl.play(nl.Match(nl.load("trading"), seed=1), {"A": f"mine.py:{late}", "B": "chat"}, time_limit=0.05)
    assert match.outcome is not None and match.outcome.end == "FORFEIT"
