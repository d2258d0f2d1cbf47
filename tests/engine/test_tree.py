"""The tree itself: style, types, import contracts, notebooks without outputs, one file of each kind per game."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from negolab.catalog import game_names

ROOT = Path(__file__).parents[2]


def run(*command: str) -> None:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "widgets")])}
    bin_ = str(Path(sys.executable).parent)
    env["PATH"] = bin_ + os.pathsep + env.get("PATH", "")
    ran = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=600)
    assert ran.returncode == 0, ran.stdout[-4000:] + ran.stderr[-2000:]


@pytest.mark.parametrize(
    "command",
    [("ruff", "check", "."), ("ruff", "format", "--check", "."), ("mypy",), ("lint-imports",)],
    ids=" ".join,
)
def test_checks_are_clean(command: tuple[str, ...]) -> None:
    run(*command)


def test_notebooks_carry_no_outputs() -> None:
    run("nbstripout", "--verify", *map(str, sorted((ROOT / "notebooks").rglob("*.ipynb"))))


def test_every_game_has_a_notebook_and_a_golden_record() -> None:
    for name in game_names():
        assert (ROOT / "notebooks" / "games" / f"{name}.ipynb").is_file()
        assert (ROOT / "data" / "replays" / f"{name}.jsonl").is_file()


def test_the_top_level_is_as_planned() -> None:
    planned = {"pyproject.toml", "negolab", "notebooks", "widgets", "data", "tests", "README.md"}
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True).stdout.split()
    if not tracked:
        pytest.skip("not a git checkout")
    found = {path.split("/")[0] for path in tracked}
    assert {name for name in found if not name.startswith(".")} <= planned
