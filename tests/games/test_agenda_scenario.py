"""Scenario files: the mistakes that are told with their place, and the scenarios that are shipped."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

import negolab as nl
from negolab import catalog
from negolab.theory.agreements import even_compromise, frontier_of, solutions
from tests.support.agenda import NAME, PACKAGE
from tests.support.command import negolab, succeeding

FILES = sorted(path.stem for path in PACKAGE.SCENARIOS.glob("*.toml"))
BASE = """\
title = "Two issues"
turns = 10
[roles]
A = "buyer"
[reservation]
A = 3
[[issues]]
name = "price"
options = ["low", "middle", "high"]
A = [9, 5, 0]
B = [0, 5, 9]
[[issues]]
name = "food"
units = 3
A = 5
B = 4
"""


def load(tmp_path: Path, text: str) -> Any:
    path = tmp_path / "mine.toml"
    path.write_text(text, "utf-8")
    return nl.load(NAME, scenario=path)


def test_a_file_becomes_a_game_with_defaults(tmp_path: Path) -> None:
    game = load(tmp_path, BASE)
    assert (game.title, game.turns, game.opens, game.answer, game.discount) == ("Two issues", 10, "A", "must", "1")
    assert (game.roles.A, game.roles.B) == ("buyer", "player B")
    assert (game.reservation.A, game.reservation.B) == (3, 0)
    assert [issue.name for issue in game.issues] == ["price", "food"]
    assert game.preset is None


def test_single_parameters_can_be_changed_beside_a_file(tmp_path: Path) -> None:
    load(tmp_path, BASE)
    assert nl.load(NAME, scenario=tmp_path / "mine.toml", turns=6, discount=0.9).discount == "0.9"
    assert nl.load(NAME, scenario="hiring") == nl.load(NAME, preset="hiring")


MISTAKES = [
    ("turns = 10", "turn = 10", "unknown key 'turn': did you mean turns?"),
    ("units = 3", "unit = 3", "issue 'food': unknown key 'unit': did you mean units?"),
    (
        "units = 3",
        "units = 3\ndiscount = 0.9",
        "issue 'food': 'discount' is below a line in brackets: move it above the first one",
    ),
    ('A = "buyer"', 'show = "all"', "roles: 'show' is below a line in brackets: move it above"),
    ('name = "price"\n', "", "issue 1 of 2: name is missing: write name = ..."),
    ("turns = 10", "turns = 10\ndraw = 3", "draw must be a table, not 3: begin it with [draw]"),
    ("turns = 10", 'show = "everything"', "show must be one of all, nothing, order, not 'everything'"),
    ("[9, 5, 0]", "9, 5, 0", 'a line has one value: text in quotes, "...", or a list in brackets'),
    ('"low", ', '"low, ', "with commas between its items and quotes around text"),
    ('A = "buyer"', 'C = "buyer"', "roles: unknown key 'C': choose from A, B."),
    ("[9, 5, 0]", "[9, 5]", "issues[0].A has 2 numbers for 3 options of 'price': give one per option"),
    ("B = [0, 5, 9]\n", "", "issues[0].B is missing: give a number per option of"),
    ("A = 5", "A = [0, 5]", "issues[1].A is a list: give the value of one unit of 'food', such as"),
    (
        "[9, 5, 0]",
        "[9.5, 5, 0]",
        "issue 'price': A[0] must be a whole number from -1,000,000,000 to 1,000,000,000, not 9.5",
    ),
    ("[[issues]]", "[issues]", "issues: each one begins with [[issues]], in double brackets"),
    (BASE[BASE.index("[[") :], "", "issues is missing: begin one with [[issues]]"),
    ('title = "Two issues"\n', "", "title is missing: write title = ..."),
    ('"Two issues"', '"Two\\nissues"', "title must be one line of text"),
    ('"Two issues"', "Two issues", "line 1: Invalid value: write text in quotes"),
    ("[9, 5, 0]", "[9, 5, 0", "a list ends with ]"),
    ("turns = 10", "turns = 10\nturns = 12", "line 3: Cannot overwrite a value: this name appears"),
    ('"middle"', '"LOW"', "issues[0].options[1] is the same as issues[0].options[0], 'LOW'"),
    ('"food"', '"Price"', "issues[1].name is the same as issues[0].name"),
    ('"middle"', '"a; b"', "issues[0].options[1] must not contain ';', which offers use"),
    ('"food"', '"2 meals"', "issues[1].name must begin with a letter, not '2 meals'"),
    ('"food"', '" "', "issues[1].name is empty: write a name"),
    (
        '["low", "middle", "high"]',
        '["low"]',
        "options must be a list of at least 2 strings of at most 10000 characters",
    ),
    ('"middle"', f'"{"x" * 10_001}"', "issue 'price': options[1] must be text of at most 10000 characters, not 'xxx"),
    ("units = 3", 'units = 3\noptions = ["a", "b"]', "issues[1] ('food') has both options and"),
    ("units = 3\n", "", "issues[1] ('food') has neither options nor units: give one of them"),
    ("units = 3", "units = 0", "issue 'food': units must be a whole number from 1 to 10,000, not 0"),
    ("turns = 10", "turns = 1", "turns must be a whole number from 2 up, not 1"),
    ("turns = 10", 'talk = "yes"', "talk must be true or false, not 'yes'"),
    ("turns = 10", 'discount = "3/2"', 'discount must be a fraction such as "9/10"'),
    (
        "A = 3\n",
        'A = "3"\n',
        "reservation: A must be a whole number from -1,000,000,000 to 1,000,000,000, not '3': write it without quotes",
    ),
    ('"buyer"', '""', "roles.A is empty: name the role, or leave it out"),
    (
        "units = 3\nA = 5\nB = 4\n",
        "".join(f'units = 9999\nA = 5\nB = 4\n[[issues]]\nname = "{name}"\n' for name in "abc")
        + "units = 3\nA = 1\nB = 1\n",
        "issues: more than the maximum of 1,000,000,000 agreements",
    ),
    ("[roles]", '[draw]\npermute = ["A", "A"]\n[roles]', "names a seat twice"),
    (
        BASE[BASE.index('[[issues]]\nname = "food"') :],
        '[draw]\npermute = ["A"]\n',
        "draw.permute shuffles the values of goods, but no issue has units",
    ),
]


@pytest.mark.parametrize(("old", "new", "said"), MISTAKES, ids=[said for *_, said in MISTAKES])
def test_a_mistake_is_told_in_one_line_with_file_and_place(old: str, new: str, said: str, tmp_path: Path) -> None:
    assert old in BASE
    with pytest.raises(ValueError) as refused:
        load(tmp_path, BASE.replace(old, new))
    text = str(refused.value)
    assert text.startswith(f"{tmp_path / 'mine.toml'}: ") and "\n" not in text
    assert said in text


def test_a_scenario_that_does_not_exist_is_told(tmp_path: Path) -> None:
    (tmp_path / "folder.toml").mkdir()
    for name in ("mine.toml", "mine.txt"):
        (tmp_path / name).write_text(BASE, "utf-8")
    for scenario, told in (
        ("hirng", r"unknown preset 'hirng' of .*: did you mean hiring\?"),
        ("nowhere.toml", r"nowhere.toml cannot be read"),
        (str(tmp_path / "mine"), r"did you mean .*mine\.toml\?"),
        (str(tmp_path / "mine.txt"), r"the name of a scenario file must end in \.toml"),
        ("long" * 2000, "unknown preset"),
        (str(tmp_path / "folder.toml"), r"folder\.toml is a folder: choose a file"),
    ):
        with pytest.raises(ValueError, match=told):
            nl.load(NAME, scenario=scenario)
    with pytest.raises(ValueError, match="choose one of them"):
        nl.load(NAME, preset="casino", scenario="hiring")


def test_numbers_of_issues_and_options_that_would_never_end_are_refused() -> None:
    for changes in ({"issues": 10**9}, {"issues": 5, "options": 10**9}, {"low": 2, "high": 1}, {"options": 1}):
        with pytest.raises(ValueError, match=r"agreements|low|options"):
            nl.load(NAME, preset="random", **changes)


def test_four_scenarios_are_shipped_with_their_source() -> None:
    assert FILES == ["flat-share", "hiring", "old-press", "supplier"]
    presets = list(catalog.presets(PACKAGE))
    assert presets == ["casino", "random", *FILES]
    for name in FILES:
        loaded: Any = nl.load(NAME, preset=name)
        assert "CC0" in loaded.source and loaded.preset == name
        assert name in PACKAGE.PRESET_NOTES


def tables(name: str) -> tuple[Any, Any, tuple[int, int]]:
    """Points of both seats in a shipped scenario, and their points without a deal."""
    state: Any = nl.load(NAME, preset=name).deal(random.Random(0))
    own = state.private
    return own["A"].points, own["B"].points, (own["A"].reservation, own["B"].reservation)


def test_an_author_sees_tables_frontier_best_points_and_zone_of_agreement(tmp_path: Path) -> None:
    load(tmp_path, BASE)
    ran = succeeding("games", NAME, "--scenario", str(tmp_path / "mine.toml"))
    assert [" ".join(line.split()) for line in ran.stdout.splitlines() if line] == [
        "Two issues: buyer (A) and player B (B), 10 messages, A opens",
        "points A B",
        "price",
        "low 9 0",
        "middle 5 5",
        "high 0 9",
        "food, each of 3 units 5 4",
        "without a deal 3 0",
        "best agreement for each alone 24 21",
        "12 agreements",
        "6 points on the Pareto frontier",
        "zone of agreement: 11 agreements give both as much as they have without a deal",
        "best joint points: 25 = 20 + 5: price = middle; food = 3 for A, 0 for B",
        "Nash point: 24 = 15 + 9: price = middle; food = 2 for A, 1 for B",
    ]
    assert "no zone of agreement" in negolab("games", NAME, "--scenario", "old-press").stdout


def test_one_shipped_scenario_has_no_zone_of_agreement_and_the_others_have() -> None:
    without = [name for name in FILES if not solutions(frontier_of(*tables(name)[:2]).points, tables(name)[2]).nash]
    assert without == ["old-press"]


def test_hiring_is_the_classical_mix() -> None:
    a, b, _ = tables("hiring")
    kinds = []
    for row, other in zip(a, b, strict=True):
        rising, spans = (row[-1] > row[0], other[-1] > other[0]), (max(row) - min(row), max(other) - min(other))
        kinds.append("compatible" if rising[0] == rising[1] else "distributive" if spans[0] == spans[1] else "mixed")
    assert kinds == ["distributive"] * 2 + ["mixed"] * 4 + ["compatible"] * 2
    even = sum(table[i][at] for table in (a, b) for i, at in enumerate(even_compromise(a, b)))
    assert max(x + y for x, y in frontier_of(a, b).points) > even
