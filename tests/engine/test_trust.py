"""Folders of a stranger: nothing in them runs before a yes, and what runs after it is what was hashed."""

from __future__ import annotations

import json
import os
import py_compile
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from negolab_widgets.replay import Replay

import negolab as nl
from negolab import catalog, user_code
from negolab.cli import options
from negolab.sweeps.folder import REPORT
from tests.engine.test_user_code import ULTIMATUM
from tests.support.command import negolab, refusal, succeeding
from tests.support.own_code import code_hash, source_now
from tests.support.sweeps import finished_sweep
from tests.sweeps.test_sweep_report import reporting
from tests.widgets.test_replay import golden

SPY = "\nimport pathlib\npathlib.Path({!r}).write_text('it ran')\n"


@pytest.fixture
def ran(tmp_path: Path) -> Path:
    """The file that code writes which must not run."""
    return tmp_path / "ran.txt"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A stranger's folder, with one record of the game `strange:Ultimatum`."""
    folder = tmp_path / "folder"
    folder.mkdir()
    record = nl.batch(nl.load(str(shutil.copy(ULTIMATUM, tmp_path / "strange.py"))), "share", "share", n=1)[0]
    (folder / "records.jsonl").write_bytes(record.to_line())
    (tmp_path / "strange.py").unlink()
    return folder


def name_code(folder: Path, reference: object, game: str = "strange:Ultimatum", sha256: str = "0" * 64) -> None:
    """Let a folder say that the code of its game is at a reference."""
    line = (folder / "records.jsonl").read_text().replace("strange:Ultimatum", game)
    (folder / "records.jsonl").write_text(line)
    (folder / user_code.FILE).write_text(json.dumps({game: {"reference": str(reference), "sha256": sha256}}))


def python(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run Python in a folder, which it searches for modules first."""
    packages = os.pathsep.join(path for path in sys.path if path)
    environment = {**os.environ, "PYTHONPATH": packages}
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=300)


READ = "import sys, negolab as nl; nl.read('.')[0].game"
CHECK = "sys.argv[1:] = ['check', '.', *sys.argv[1:]]; from negolab.cli import main; main()"


# Nothing runs before a yes.


@pytest.mark.parametrize("call", [("-c", READ), ("-m", "negolab", "check", ".")])
@pytest.mark.parametrize("reference", ["evilpkg.g", "evilpkg", "evilspace.inner.g"])
def test_a_dotted_name_in_a_folder_imports_nothing(
    folder: Path, ran: Path, call: tuple[str, ...], reference: str
) -> None:
    for package in ("evilpkg", "evilspace/inner"):
        (folder / package).mkdir(parents=True)
        (folder / package / "__init__.py").write_text(SPY.format(str(ran)))
        shutil.copy(ULTIMATUM, folder / package / "g.py")
    name_code(folder, reference, f"{reference}:Ultimatum")
    done = python(*call, cwd=folder)
    assert not ran.exists() and done.returncode
    said = done.stderr.splitlines()[-1]
    assert f"to run it, call nl.load('{reference}')" in said or "to run it, add --trust" in said, done.stderr


def test_a_record_of_an_unknown_game_names_the_line_that_runs_it(folder: Path, tmp_path: Path) -> None:
    game = Path(shutil.copy(ULTIMATUM, tmp_path / "strange.py"))
    name_code(folder, game)
    sys.modules.pop("strange")
    with pytest.raises(ValueError, match="has its own code, which you have not run on this machine") as refused:
        print(nl.read(folder)[0].game)
    nl.load(str(refused.value).partition("nl.load('")[2].partition("'")[0])
    assert nl.read(folder)[0].game.preset == "classic"


@pytest.mark.parametrize("reference", ["/", "{0}/pipe.py", "{0}/piped", "{0}/long.py", "/proc", "{0}/\x1b[2J.py"])
def test_what_is_no_code_is_refused_at_once(folder: Path, tmp_path: Path, reference: str) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "piped").mkdir()
    (tmp_path / "piped" / "__init__.py").touch()
    os.mkfifo(tmp_path / "piped" / "rules.py")
    with (tmp_path / "long.py").open("wb") as long:
        long.truncate(1 << 25)
    name_code(folder, reference.format(tmp_path))
    said = refusal("check", str(folder))
    assert "\x1b" not in said
    assert "there is no module at" in said or "is not code" in said or "control character" in said


def test_a_report_that_a_folder_names_runs_after_a_yes_and_by_what_was_hashed(tmp_path: Path, ran: Path) -> None:
    run = finished_sweep(tmp_path, 'report = "mine.ipynb"\n[grid]\nbeta = [0.2]\n').path
    (run / "neighbour.py").write_text("WORD = 'seen'\n")
    reporting(run / REPORT, SPY.format(str(ran)) + "import neighbour\nprint(neighbour.WORD)")
    for hijacked in ("runpy", "plotly", "comm"):
        (run / f"{hijacked}.py").write_text(f"open({str(tmp_path / 'hijacked')!r}, 'w')\nraise SystemExit\n")
    done = negolab("sweep", "report", str(run))
    assert not ran.exists() and done.returncode == 2
    assert "report.ipynb, or a module that it imports, is code that you have not run on this machine" in done.stderr
    done = negolab("sweep", "report", str(run), "--trust")
    assert done.returncode == 0 and ran.exists() and not (tmp_path / "hijacked").exists(), done.stderr
    (run / "neighbour.py").write_text("WORD = 'changed'\n")
    assert "to run it, add --trust" in negolab("sweep", "report", str(run)).stderr


# What is hashed is what runs.


@pytest.fixture
def trusted(tmp_path: Path, folder: Path) -> Path:
    """A game that the user trusts, and that the folder names."""
    home = tmp_path / "home"
    home.mkdir()
    game = Path(shutil.copy(ULTIMATUM, home / "strange.py"))
    sys.modules.pop("strange")
    name_code(folder, game)
    return game


def trust(game: Path, folder: Path) -> None:
    source = source_now(game)
    user_code.trust(source)
    name_code(folder, game, sha256=source.sha256)


def test_a_compiled_file_beside_a_game_is_not_used(trusted: Path, folder: Path, ran: Path) -> None:
    trust(trusted, folder)
    evil = trusted.with_name("evil.py")
    evil.write_text(ULTIMATUM.read_text() + SPY.format(str(ran)))
    cached = Path(py_compile.compile(str(evil), invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH) or "")
    cached.replace(cached.with_name(cached.name.replace("evil", "strange")))
    done = python("-c", CHECK.replace("sys.argv", "__import__('sys').argv"), cwd=folder)
    assert not ran.exists() and "1 record reproduces" in done.stdout, done.stderr


HELPERS = {
    "a helper package": ("from helper import one", "helper/__init__.py", "helper/one.py"),
    "a helper folder": ("from helper import one", "helper/one.py"),
    "an import inside try": ("try:\n    import helper\nexcept ImportError:\n    pass", "helper.py"),
    "an import inside a function": ("def later():\n    import helper\nlater()", "helper.py"),
}


@pytest.mark.parametrize("how", HELPERS)
def test_whatever_a_game_imports_from_beside_it_is_hashed_and_a_change_names_the_file(
    trusted: Path, folder: Path, ran: Path, how: str
) -> None:
    text, *helpers = HELPERS[how]
    for file in helpers:
        (trusted.parent / file).parent.mkdir(exist_ok=True)
        (trusted.parent / file).write_text("")
    trusted.write_text(ULTIMATUM.read_text().replace("import random\n", f"import random\n{text}\n", 1))
    succeeding("watch", str(trusted), "--seed", "2", "--out", str(folder.parent / "own"))
    (trusted.parent / helpers[-1]).write_text(SPY.format(str(ran)))
    done = python("-m", "negolab", "check", str(folder.parent / "own"), cwd=trusted.parent)
    assert not ran.exists() and f"{helpers[-1]} of {trusted} has changed since" in done.stderr, done.stderr
    assert "1 record reproduces" in negolab("check", str(folder.parent / "own"), "--trust").stdout
    assert ran.exists()


@pytest.mark.parametrize("hidden", ["helper.py", "helper/__init__.py", "helper/one.py", "helper.so", "helper.pyc"])
def test_a_module_outside_the_hash_is_refused_by_its_name(trusted: Path, folder: Path, ran: Path, hidden: str) -> None:
    module = "helper.one" if hidden.endswith("one.py") else "helper"
    text = f"import importlib\nimportlib.import_module({module!r})\n"
    trusted.write_text(ULTIMATUM.read_text().replace("import random\n", f"import random\n{text}", 1))
    file = trusted.parent / hidden
    file.parent.mkdir(exist_ok=True)
    file.write_text(SPY.format(str(ran)))
    if hidden.endswith(".pyc"):
        py_compile.compile(str(file), cfile=str(file))
    elif hidden.endswith(".so"):
        file.rename(file.with_name("helper.abi3.so"))
    trust(trusted, folder)
    done = python("-m", "negolab", "check", str(folder), cwd=trusted.parent)
    assert not ran.exists() and done.returncode == 2
    assert "helper" in done.stderr and f"is not covered by the hash of {trusted}" in done.stderr, done.stderr


def test_a_file_that_is_swapped_while_the_question_waits_does_not_run(
    trusted: Path, folder: Path, ran: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def swap(*_: object, **__: object) -> bool:
        trusted.write_text(ULTIMATUM.read_text() + SPY.format(str(ran)))
        return True

    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("typer.confirm", swap)
    with pytest.raises(ValueError, match=r"strange.py cannot be loaded: it has changed since its hash was taken"):
        options.import_games(folder, None, trust=False)
    assert not ran.exists() and "strange" not in sys.modules


def test_what_a_page_loads_is_what_was_accepted(trusted: Path, folder: Path, ran: Path) -> None:
    (pinned,) = options.import_games(folder, None, trust=True)
    sys.modules.pop("strange")
    trusted.write_text(ULTIMATUM.read_text() + SPY.format(str(ran)))
    with pytest.raises(ValueError, match="it has changed since its hash was taken"):
        catalog.game_module(pinned)
    assert not ran.exists()


def test_the_hash_in_records_is_that_of_what_was_loaded(tmp_path: Path) -> None:
    mine = Path(shutil.copy(ULTIMATUM, tmp_path / "loaded_before.py"))
    game, before = nl.load(str(mine)), code_hash(mine)
    mine.write_text(mine.read_text() + "# changed\n")
    source = catalog.source(game)
    assert source is not None and source.sha256 == before != code_hash(mine)


def test_two_files_do_not_share_what_lies_beside_only_one_of_them(tmp_path: Path) -> None:
    for place in ("here", "there"):
        (tmp_path / place).mkdir()
        (tmp_path / place / "shared_name.py").write_text(f"PLACE = {place!r}\n")
        (tmp_path / place / f"of_{place}.py").write_text("from shared_name import PLACE\n")
    assert user_code.load(str(tmp_path / "here" / "of_here.py")).PLACE == "here"
    with pytest.raises(ValueError, match="another module is called 'shared_name'"):
        user_code.load(str(tmp_path / "there" / "of_there.py"))


def test_a_notebook_imports_what_it_likes_beside_its_own_game(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copy(ULTIMATUM, tmp_path / "game_of_notebook.py")
    (tmp_path / "beside_notebook.py").write_text("x = 7\n")
    monkeypatch.syspath_prepend(tmp_path)
    nl.load(str(tmp_path / "game_of_notebook.py"))
    import beside_notebook  # type: ignore[import-not-found]

    assert beside_notebook.x == 7


# Nothing in a record reaches a file or a service.


def test_what_if_neither_offers_nor_builds_a_model_that_a_record_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def reached(*_: object, **__: object) -> None:
        raise AssertionError("a record reached a file or a service")

    for name in ("negolab.llm.player.read_persona", "negolab.llm.models.Models.endpoint"):
        monkeypatch.setattr(name, reached)
    record = golden("bargaining")
    for model in ("llm:x,persona=/etc/passwd,base_url=http://127.0.0.1:9/v1,key=HOME", "llm:x", " llm:x", "LLM:x"):
        header = msgspec.structs.replace(record.header, players={"A": model, "B": model})
        seats = Replay(msgspec.structs.replace(record, header=header), out=tmp_path)._branching._seats
        assert not any("llm:x" in choice.lower() for seat in seats.values() for choice in seat.options)
        assert not any(str(seat.value).startswith("llm:") for seat in seats.values())
