"""Code of the user's own: where it is found, which files its hash covers, and games as packages and plugins."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import negolab as nl
from negolab import catalog, user_code
from negolab.analysis import tables

ROOT = Path(__file__).parents[2]
ULTIMATUM = ROOT / "negolab" / "scaffolds" / "ultimatum.py"


def covered(file: Path) -> dict[str, bytes]:
    """The files that the hash of a file covers."""
    code = user_code.read_code(str(file))
    assert code is not None
    return code.files


def test_a_hash_covers_a_file_and_what_it_imports_from_beside_it(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text("import two\n")
    (tmp_path / "two.py").write_text("from three import x\n")
    (tmp_path / "three.py").write_text("x = 1\n")
    (tmp_path / "other.py").write_text("y = 1\n")
    assert sorted(covered(tmp_path / "one.py")) == ["one.py", "three.py", "two.py"]


def test_a_file_finds_the_modules_beside_it(tmp_path: Path) -> None:
    (tmp_path / "importing_neighbour.py").write_text("from the_neighbour import x\n")
    (tmp_path / "the_neighbour.py").write_text("x = 7\n")
    module = user_code.load(str(tmp_path / "importing_neighbour.py"))
    assert module.x == 7
    source = user_code.source_of(module)
    assert source is not None and source.reference == str(tmp_path / "importing_neighbour.py")
    (tmp_path / "the_neighbour.py").write_text("x = 8\n")
    assert user_code.current(source) != source


def test_what_is_trusted_is_the_code_and_not_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(user_code.TRUSTED, str(tmp_path / "trusted.txt"))
    source = user_code.CodeSource("/home/me/game.py", "0" * 64)
    user_code.trust(source)
    assert user_code.is_trusted(source)
    assert not user_code.is_trusted(user_code.CodeSource("/home/me/game.py", "1" * 64))


def test_a_list_of_what_is_trusted_in_the_folder_at_hand_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = user_code.CodeSource("/home/me/game.py", "0" * 64)
    (tmp_path / "trusted.txt").write_text(f"{source.pinned}\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(user_code.TRUSTED, "trusted.txt")
    with pytest.raises(ValueError, match=r"\$NEGOLAB_TRUSTED is trusted\.txt: set it to an absolute path"):
        user_code.is_trusted(source)


@pytest.mark.parametrize(
    ("text", "said"),
    [("x = 1 / 0", "ZeroDivisionError"), ("import no_such_module_at_all", "ModuleNotFoundError"), ("x = (", "SyntaxE")],
)
def test_a_module_that_cannot_be_imported_is_named_with_its_error(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "cannot.py").write_text(text)
    with pytest.raises(ValueError, match=rf"cannot.py cannot be loaded: {said}"):
        user_code.load(str(tmp_path / "cannot.py"))
    assert "cannot" not in sys.modules


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A game in a folder, with its parts in modules of their own."""
    folder = tmp_path / "foldergame"
    folder.mkdir()
    shutil.copy(ULTIMATUM, folder / "rules.py")
    (folder / "__init__.py").write_text(
        '"""An ultimatum."""\n\nfrom foldergame.rules import PRESETS, Ultimatum\n\n'
        'TITLE = "Divide a pie"\n__all__ = ["PRESETS", "TITLE", "Ultimatum"]\n'
    )
    (folder / "players.py").write_text(
        "from negolab.players.any_game import FirstOption\n\nPLAYERS = {'generous': FirstOption}\n"
    )
    (folder / "measures.py").write_text(
        "from negolab.record import final_state\n\n\ndef offer(record):\n"
        "    return final_state(record).public.offer\n\n\nMEASURES = {'offer': offer}\n"
    )
    return folder


def test_a_folder_has_its_parts_in_modules_that_are_imported_at_first_use(package: Path) -> None:
    game = nl.load(str(package), preset="rich")
    assert catalog.game_id(game) == "foldergame:Ultimatum"
    assert catalog.title("foldergame") == "Divide a pie"
    assert "foldergame.players" not in sys.modules
    assert next(iter(nl.list_players(game))) == "generous"
    (record,) = nl.batch(game, "generous", "first-option", n=1)
    assert catalog.imported_class(record.header.game) is type(game)
    assert tables.measures([record])["offer"].tolist() == [0]


def test_an_installed_package_is_a_game_like_ours(package: Path, tmp_path: Path) -> None:
    info = tmp_path / "foldergame-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: foldergame\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[negolab.games]\npie = foldergame\n")
    code = """
import negolab as nl
assert "pie" in nl.list_games(), nl.list_games()
assert nl.load("pie", preset="rich").outside == 9
(record,) = nl.batch("pie", "generous", "random-legal", n=1)
assert record.header.game == "pie"
from negolab.record import parse_record
assert parse_record(record.to_line()).game == record.game
"""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    ran = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stderr


def test_what_an_exception_says_moves_no_cursor() -> None:
    assert user_code.describe_failure(ValueError("a\x1b[2J\nb \u202e")) == r"ValueError: a\x1b[2J b \u202e"


def test_only_what_is_imported_or_named_as_a_table_is_a_module_of_the_code() -> None:
    found = user_code.imported_modules(["import a, b.c as d\nfrom e.f import g\nfrom . import h\nfrom .i import j"])
    assert found == ["a", "b.c", "e.f"]
    named = ['TABLE = "k.l:Screen"', 'TABLE = ""', 'TABLE = ":Screen"', "TABLE = 5", 'OTHER = "m"', "not Python"]
    assert user_code.imported_modules(named) == ["k.l"]
