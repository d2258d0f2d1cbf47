"""Mistakes in code of the user's own: each is answered by one sentence that says what is wrong, and where."""

from __future__ import annotations

import itertools
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from negolab_widgets.tables import table

import negolab as nl
from negolab import catalog, user_code
from negolab.analysis.measures import measure_match
from negolab.players.code import check_offers
from tests.engine.test_user_code import ULTIMATUM
from tests.support.command import negolab, refusal

_numbers = itertools.count()


@pytest.fixture(autouse=True)
def beside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Work in an empty folder, and forget the modules that were loaded from it."""
    monkeypatch.chdir(tmp_path)
    known = set(sys.modules)
    yield
    for name in set(sys.modules) - known:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(tmp_path)):
            del sys.modules[name]
            catalog._imported.discard(name)


def own_game(old: str = "", new: str = "") -> str:
    """Write a game that differs from the ultimatum in one place; return its file's name."""
    text = ULTIMATUM.read_text()
    assert old in text
    path = Path(f"own_game_{next(_numbers)}.py")
    path.write_text(text.replace(old, new, 1))
    return str(path)


def test_a_method_that_a_game_lacks_is_named() -> None:
    file = own_game("def options(", "def choices(").removesuffix(".py")
    Path(f"{file}.py").write_text(Path(f"{file}.py").read_text().replace("def say(", "def tell("))
    with pytest.raises(ValueError, match=rf"game Ultimatum of {file} has no method say and no options"):
        nl.load(f"{file}.py")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "    outside: Annotated",
            "    moves: int = 3\n    outside: Annotated",
            "no parameter can be called moves, which every game has",
        ),
        (
            '"rich": {"outside": 9}',
            '"rich": {"outsid": 9}',
            r"preset 'rich' of own_game_\d+.py: unknown parameter 'outsid': did you mean outside",
        ),
        ('return ("A",)', 'return "C"', r"turn\(public\) of Ultimatum must be a tuple of seats, A or B, not 'C'"),
        ('{"share": Share}', "[Share]", "PLAYERS of own_game_.*must map names to classes, not be a list"),
        ('{"share": Share}', '{"share": "Share"}', "PLAYERS of own_game_.*not 'share' to 'Share'"),
    ],
)
def test_a_mistake_in_a_game_is_named(old: str, new: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        nl.list_players(nl.Match(nl.load(own_game(old, new), preset="rich"), seed=1).game)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('{"offered": offered}', "[offered]", r"MEASURES of own_game_.* must map names to functions, not be a list"),
        (
            "final_state(record).public\n",
            "final_state(record).publik\n",
            r"measure 'offered' of .* no attribute 'publik' \(own_game_\d+\.py, line \d+\)",
        ),
    ],
)
def test_a_measure_that_fails_or_has_another_form_is_named(old: str, new: str, said: str) -> None:
    (record,) = nl.batch(nl.load(own_game(old, new)), "share", "share", n=1)
    with pytest.raises(ValueError, match=said):
        measure_match(record)


def test_a_file_that_fails_while_it_is_loaded_is_named_with_its_line() -> None:
    Path("late.py").write_text("\n\nraise RuntimeError('boom')\n")
    with pytest.raises(ValueError, match=r"late.py cannot be loaded: RuntimeError: boom \(late.py, line 3\)"):
        user_code.load("late.py")


def test_an_answer_that_is_no_action_fails_with_the_same_words_each_time() -> None:
    Path("odd.py").write_text(
        "import negolab as nl\n\n\nclass Odd(nl.Scripted):\n    def act(self, game, seen):\n        return object()\n"
    )
    with pytest.raises(RuntimeError, match="seat A cannot play <object object> now"):
        nl.batch("bargaining", "odd.py:Odd", "linear", n=1)


def test_a_file_or_folder_that_is_named_without_its_ending_is_found() -> None:
    Path("pie_beside.py").write_text("")
    Path("folder").mkdir()
    with pytest.raises(
        ValueError, match=r"unknown game 'pie_beside': for the file in the current folder, write pie_beside.py"
    ):
        nl.load("pie_beside")
    with pytest.raises(ValueError, match=r"unknown game 'folder': the folder folder has no __init__.py"):
        nl.load("folder")


def test_a_file_of_players_without_a_class_says_how_to_name_one() -> None:
    Path("mine.py").write_text("")
    with pytest.raises(ValueError, match=r"player 'mine.py': name the class in this file, such as mine.py:Haggler"):
        nl.player("mine.py", "bargaining")


@pytest.mark.parametrize(
    ("named", "said"),
    [("elsewhere", "must be of the form 'module:Class'"), ("no_such_table:Table", r"No module named 'no_such_table'$")],
)
def test_a_table_that_cannot_be_found_is_named(named: str, said: str) -> None:
    game = nl.load(own_game('TITLE = "', f'TABLE = "{named}"\nTITLE = "'))
    with pytest.raises(ValueError, match=rf"TABLE of own_game_.* is '{re.escape(named)}', which .*{said}"):
        table(game)


def test_two_modules_with_players_of_one_name_are_told_apart() -> None:
    for name in ("first_mine", "second_mine"):
        Path(f"{name}.py").write_text(
            "import negolab as nl\n\n\nclass Own(nl.Scripted):\n    pass\n\n\nPLAYERS = {'own': Own}\n"
        )
    check_offers(user_code.load("first_mine.py"))
    with pytest.raises(ValueError, match=r"second_mine.py: first_mine.py also has a player 'own': rename one of them"):
        check_offers(user_code.load("second_mine.py"))


def test_the_command_line_names_the_line_of_ones_own_code_that_failed() -> None:
    Path("fails.py").write_text(
        "import negolab as nl\n\n\nclass Fails(nl.Scripted):\n    def act(self, game, seen):\n        return 1 / 0\n"
    )
    assert "ZeroDivisionError: division by zero (fails.py, line 6)" in refusal(
        "watch", "bargaining", "--a", "fails.py:Fails", cwd=Path()
    )


def test_a_parameter_that_a_seat_may_not_know_needs_no_none_in_its_type() -> None:
    secret = '    @override\n    def secrets(self, seat: Seat) -> tuple[str, ...]:\n        return ("outside",)\n\n'
    game = own_game("    @override\n    def deal(", f"{secret}    @override\n    def deal(")
    (record,) = nl.batch(game, "random-legal", "random-legal", n=1, seed=1)
    seen = record.seen_by("A")
    assert (seen.params["outside"], seen.told.outside, seen.told.pie) == (None, None, 10)  # type: ignore[attr-defined]
    text = '[[treatments]]\nname = "one"\nopponent = "random-legal"\n[codes]\ncomplete = "C"\n[limits]\nreply = 60'
    Path("pie.toml").write_text(f'title = "Pie"\ngame = "{game}"\ninstructions = "Play."\nclosing = "Bye."\n{text}\n')
    done = negolab("study", "try", "pie.toml", "-n", "2")
    assert "matches: 1 ended (1 agreed)" in done.stdout or "matches: 1 ended (0 agreed)" in done.stdout, done
    assert "could not continue" not in done.stdout
