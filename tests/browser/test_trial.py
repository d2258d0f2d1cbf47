"""`negolab study try --browser`: real browsers pass the pages of a study, and what fails on a page is found."""

from __future__ import annotations

import asyncio
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from negolab import cli
from negolab.studies.database import Database
from negolab.studies.study_file import parse_study
from negolab.studies.trial import browsers
from negolab.studies.trial.browsers import invite_links
from negolab.studies.trial.stand_ins import browsers_study
from tests.conftest import free_port, needs, running
from tests.support.study_visit import ENGLISH, TEMPLATE

PARTS = {
    "game": "bargaining",
    "params": "params = { rounds = 4 }",
    "player": "",
    "practised": "llm:nobody",
    "practice": "params = { rounds = 2 }",
}
STUDY = (
    TEMPLATE.format(**ENGLISH, **PARTS).replace('wait = 9\nthen = ""', "wait = 60")
    + '[texts]\ngate.continue = "Weiter"\npage.start = "Los"\n'
)
ALONE = """
title = "One bargain"
game = "bargaining"
instructions = "You agree on a price."
closing = "Thank you."
[[treatments]]
name = "one"
params = { rounds = 2 }
opponent = "fair"
"""


def try_(capsys: Any, monkeypatch: Any, folder: Path, text: str, *options: str) -> tuple[int, str, str]:
    """Try a study in this process; return the exit status, and what was printed to stdout and stderr."""
    (folder / "small.toml").write_text(text, "utf-8")
    monkeypatch.setattr(sys, "argv", ["negolab", "study", "try", str(folder / "small.toml"), *options])
    with pytest.raises(SystemExit) as done:
        cli.main()
    return int(done.value.code or 0), *capsys.readouterr()


@pytest.mark.browser
@pytest.mark.long
def test_two_browsers_pass_all_pages_of_a_study_as_a_pair(tmp_path: Path, capsys: Any, monkeypatch: Any) -> None:
    needs("chromium", "chromium")
    code, out, err = try_(capsys, monkeypatch, tmp_path, STUDY, "--browser", "2", "--pictures", str(tmp_path / "shots"))
    assert (code, "no problems were found" in out) == (0, True), out + err
    rows = {line.split("  ")[0]: line.split()[-3:] for line in out.splitlines()}
    kinds = ("consent", "questions", "instructions", "quiz", "practice", "match", "results", "questions")
    for page in (*(f"{number} {kind}" for number, kind in enumerate(kinds, 1)), "end"):
        assert int(rows[page][0]) == 2 or page == "6 match", out
    assert out.count("complete  DONE4242") == 2 and "random-legal replaced llm:nobody" in out
    assert "bots" not in out, "only browsers are run"
    for folder, width in (("1-1280", 1280), ("2-360", 360)):
        pictures = sorted(path.name for path in (tmp_path / "shots" / folder).iterdir())
        assert pictures[:4] == ["01-join.png", "02-consent.png", "03-questions.png", "04-instructions.png"]
        assert {name[3:] for name in pictures} >= {"quiz.png", "match.png", "match-over.png", "end.png"}
        size = (tmp_path / "shots" / folder / "02-consent.png").read_bytes()[16:20]
        assert int.from_bytes(size, "big") == width
    assert sorted(path.name for path in tmp_path.iterdir()) == ["shots", "small.toml"], "nothing else is kept"


@pytest.mark.long
@pytest.mark.browser
def test_what_fails_on_a_page_is_found(tmp_path: Path, capsys: Any, monkeypatch: Any) -> None:
    needs("chromium", "chromium")
    (tmp_path / "mine.py").write_text(
        "from negolab.protocols import Scripted\n\nclass Broken(Scripted):\n"
        "    def act(self, game, seen):\n        raise ZeroDivisionError\n"
    )
    text = ALONE.replace('"fair"', '"mine.py:Broken"')
    code, out, _ = try_(capsys, monkeypatch, tmp_path, text, "--browser", "1")
    assert code == 1 and "no problems were found" not in out
    assert "wrong: browser 1 (1280 px): the study ended as error, at " in out, out
    assert "wrong: the host noted an error" in out and "wrong: the server printed: negolab host: match" in out, out
    assert "stopped by a fault: ZeroDivisionError in mine.py, line 5, in act" in out, out


@pytest.mark.browser
def test_faults_of_the_page_itself_are_found(tmp_path: Path, monkeypatch: Any) -> None:
    program, port = needs("chromium", "chromium"), free_port()
    (tmp_path / "index.html").write_text(
        "<div style='width: 2000px'>wide</div><img src='missing.png'><form><button>Go</button></form>"
        "<script>console.error('on the console'); throw new Error('thrown')</script>"
    )
    monkeypatch.setattr(browsers, "PRESS_PATIENCE", 2.0)
    server = [sys.executable, "-u", "-m", "http.server", f"{port}", "--bind=127.0.0.1", f"--directory={tmp_path}"]
    with running(server, "Serving HTTP"), closing(Database(tmp_path / "one.db")) as database:
        study = parse_study(ALONE, tmp_path / "one.toml")
        (id,) = invite_links(database, study, 1, "http://127.0.0.1/")
        visit = browsers.BrowserVisit(2, study, database, id, f"http://127.0.0.1:{port}/")
        asyncio.run(browsers.visit_all([visit], program, patience=2.0))
    found = "\n".join(visit.faults)
    for fault in ("wider than the window", "on the console", "thrown", "failed with 404", "did not continue for 2 s"):
        assert "browser 2 (360 px) at " in found and fault in found, found


def test_a_missing_package_or_browser_is_one_line(tmp_path: Path, capsys: Any, monkeypatch: Any) -> None:
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "playwright.sync_api", None)
        code, out, err = try_(capsys, without, tmp_path, ALONE, "--browser", "1")
    assert (code, out, err) == (2, "", "negolab: --browser needs playwright: pip install 'negolab[browser]'\n")
    code, _, err = try_(capsys, monkeypatch, tmp_path, ALONE, "--pictures", "shots")
    assert (code, err) == (2, "negolab: --pictures needs browsers: add --browser 2\n")


def test_browsers_try_the_study_but_for_models_and_partners(tmp_path: Path) -> None:
    study = parse_study(STUDY, tmp_path / "small.toml")
    tried = browsers_study(study, with_models=False)
    assert (tried.name, tried.text) == ("small", study.text)
    assert (tried.pairing.wait, tried.pairing.player) == (30, "random-legal")
    assert [step.kind for step in tried.steps] == [step.kind for step in study.steps]
    assert [settings.opponent for settings, _ in tried.matches()] == ["random-legal", None]
    assert tried.texts == study.texts and tried.payment == study.payment
    assert browsers_study(study, with_models=True) == msgspec.structs.replace(study, pairing=tried.pairing)
