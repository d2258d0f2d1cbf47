"""`negolab new`: what it writes runs as it is, its tests pass, and nothing is written over."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.command import negolab, refusal, succeeding


@pytest.mark.parametrize("kind", ["game", "player", "study", pytest.param("sweep", marks=pytest.mark.long)])
def test_what_is_new_passes_its_own_test(kind: str, tmp_path: Path) -> None:
    succeeding("new", kind, "fresh", cwd=tmp_path)
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "."],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert ran.returncode == 0, ran.stdout[-3000:]


def test_a_new_game_and_a_new_player_play_at_once(tmp_path: Path) -> None:
    for kind, name in (("game", "pie_day"), ("player", "tough")):
        succeeding("new", kind, name, cwd=tmp_path)
    assert "class PieDay(Game" in (tmp_path / "pie_day.py").read_text()
    succeeding("batch", "pie_day.py", "--a", "share:part=0.4", "--b", "share", "--out", "runs/one", cwd=tmp_path)
    succeeding("batch", "bargaining", "--a", "tough.py:tough", "--b", "linear", "--out", "runs/two", cwd=tmp_path)


def test_a_new_scenario_is_shown_and_played_with_every_setting_that_it_explains(tmp_path: Path) -> None:
    succeeding("new", "scenario", "my-flat", cwd=tmp_path)
    path = tmp_path / "my-flat.toml"
    path.write_text(re.sub(r"^# (\w+ = )", r"\1", path.read_text(), flags=re.MULTILINE))
    shown = negolab("games", "agenda", "--scenario", path.name, cwd=tmp_path)
    assert "My flat: tenant (A) and landlord (B), 20 messages" in shown.stdout, shown.stderr
    ran = negolab("watch", "agenda", "--scenario", path.name, "--a", "linear", "--b", "linear", cwd=tmp_path)
    assert "agreed" in ran.stdout, ran.stderr


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["game", "Two Words"], "'Two Words' cannot be the name of a module"),
        (["game", "class"], "cannot be the name of a module"),
        (["sweep", "a/b"], "cannot be the name of a folder"),
        (["study", "my study"], "the study's name must be letters, digits and hyphens"),
        (["study", "mine", "--game", "tradng"], "unknown game 'tradng': did you mean trading?"),
        (["gme", "mine"], "no such command 'gme': did you mean game?"),
    ],
)
def test_a_mistake_is_answered_in_one_line_and_nothing_is_written(tmp_path: Path, args: list[str], said: str) -> None:
    assert said in refusal("new", *args, cwd=tmp_path)
    assert not list(tmp_path.iterdir())


def test_what_is_there_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "test_mine.py").write_text("mine")
    ran = negolab("new", "game", "mine", cwd=tmp_path)
    assert ran.returncode == 2 and "test_mine.py already exists" in ran.stderr
    assert [file.name for file in tmp_path.iterdir()] == ["test_mine.py"]


def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "ultimatum.py").symlink_to(tmp_path / "elsewhere.py")
    (tmp_path / "outside").mkdir()
    (tmp_path / "swept").symlink_to(tmp_path / "outside")
    for what in (["game", "ultimatum"], ["sweep", "swept"]):
        assert "already exists and was not changed" in refusal("new", *what, cwd=tmp_path)
    assert "already exists with different content" in refusal("guide", "own-game", "--save", cwd=tmp_path)
    (tmp_path / "ultimatum.py").unlink()
    os.mkfifo(tmp_path / "ultimatum.py")
    assert "already exists with different content" in refusal("guide", "own-game", "--save", cwd=tmp_path)
    assert not (tmp_path / "elsewhere.py").exists() and not list((tmp_path / "outside").iterdir())
