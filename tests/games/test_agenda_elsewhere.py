"""Agenda as a package of its own, installed under another name, passes the tests that ours passes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.support.agenda import NAME

TESTS = ["tests/games/test_agenda.py", "tests/games/test_agenda_scenario.py", "tests/games/test_agreement_players.py"]
TESTS += ["tests/conformance/test_conformance.py::test_every_vector_holds[agenda]", "-m", "not long and not hypothesis"]
TESTS += ["-k", "not an_author_sees"]
TABLE = ["tests/widgets/test_table_agenda.py"]
GENERIC = ["tests/games/test_forms.py", "tests/engine/test_laws.py", "tests/widgets/test_tables.py"]
ALONE = """
import sys, negolab as nl
from negolab_widgets.tables import table
match = nl.Match(nl.load("haggle"), seed=1)
match.submit("A", "[Offer: food = 2; water = 1; firewood = 1]")
match.submit("B", "[Accept]")
assert match.record().header.game.startswith("haggle")
assert nl.list_players("haggle")["boulware"]
assert table(nl.load("haggle")).__module__ == "haggle.screen.controls"
assert not [name for name in sys.modules if name.startswith("negolab.games.agenda")]
"""


@pytest.fixture
def elsewhere(tmp_path: Path) -> dict[str, str]:
    """The environment in which the same code is the installed package `haggle`."""
    move(ROOT / "negolab" / "games" / "agenda", tmp_path / "haggle")
    move(ROOT / "widgets" / "negolab_widgets" / "tables" / "agenda", tmp_path / "haggle" / "screen")
    installed = tmp_path / "haggle-1.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: haggle\nVersion: 1.0\n")
    (installed / "entry_points.txt").write_text("[negolab.games]\nhaggle = haggle\n")
    path = os.pathsep.join(map(str, (tmp_path, ROOT, ROOT / "widgets")))
    return {**os.environ, "PYTHONPATH": path, "NEGOLAB_AGENDA": "haggle"}


def move(package: Path, to: Path) -> None:
    """Copy a package to where it has another name."""
    to.mkdir()
    for path in (*package.glob("*.py"), *package.glob("*.toml")):
        text = path.read_text("utf-8").replace("negolab.games.agenda", "haggle")
        (to / path.name).write_text(text.replace("negolab_widgets.tables.agenda", "haggle.screen"), "utf-8")


def passes(environment: dict[str, str], *arguments: str) -> None:
    ran = subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=600
    )
    assert ran.returncode == 0, ran.stdout[-3000:] + ran.stderr[-3000:]


@pytest.mark.long
@pytest.mark.skipif(NAME != "agenda", reason="the tests of the package elsewhere run this once")
def test_a_package_of_its_own_passes_the_games_tests(elsewhere: dict[str, str]) -> None:
    passes(elsewhere, "-c", ALONE)
    passes(elsewhere, "-m", "pytest", "-q", "-p", "no:cacheprovider", *TESTS)


@pytest.mark.long
def test_a_package_of_its_own_passes_the_laws_and_the_tests_of_its_table(
    elsewhere: dict[str, str],
) -> None:
    passes(elsewhere, "-m", "pytest", "-q", "-p", "no:cacheprovider", *GENERIC, "-k", "haggle")
    passes(elsewhere, "-m", "pytest", "-q", "-p", "no:cacheprovider", *TABLE)
