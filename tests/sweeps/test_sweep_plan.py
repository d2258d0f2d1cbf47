"""Sweep plans: their cells, messages about mistakes, and plans that grow."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import msgspec
import nbformat
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from negolab.cli.sweep import _cost, _games_ratio
from negolab.sweeps.plan import Range, SweepPlan, make_cell, read_plan
from negolab.sweeps.sources import Notebook
from tests.support.sweeps import write_notebook, write_plan

GRID = "[grid]\nbeta = [0.2, 1.0, 5.0]\nrounds = [5, 10]\n"


def parsed(tmp_path: Path, text: str) -> SweepPlan:
    return read_plan(write_plan(tmp_path, text))


def points(found: SweepPlan) -> list[dict[str, Any]]:
    return [one.params for one in found.cells()]


# Laws.


@given(st.dictionaries(st.text(min_size=1), st.integers() | st.floats(allow_nan=False) | st.text(), max_size=4))
def test_the_id_of_a_cell_follows_from_its_parameters_whatever_their_order(params: dict[str, Any]) -> None:
    turned = dict(reversed(params.items()))
    one, other = make_cell(params, {}, 0, 7), make_cell({}, turned, 0, 7)
    assert one.id.rpartition("-")[2] == other.id.rpartition("-")[2]
    assert len(one.id) < 90 and "/" not in one.id and not one.id.startswith(".")
    assert make_cell(params, {"more": 1}, 0, 7).id != one.id != make_cell(params, {}, 1, 7).id
    assert make_cell(params, {}, 0, 8).id != one.id


@given(
    st.dictionaries(st.text(), st.integers() | st.text() | st.dictionaries(st.text(), st.booleans()), max_size=4),
    st.dictionaries(st.text(), st.floats(allow_nan=False) | st.lists(st.text()), max_size=4),
)
def test_the_id_of_a_cell_is_a_hash_of_its_parameters_as_sorted_json(fixed: Any, point: Any) -> None:
    whole = msgspec.json.encode([{**fixed, **point}, 2, 7], order="sorted")
    assert make_cell(point, fixed, 2, 7).id.rpartition("-")[2] == hashlib.sha256(whole).hexdigest()[:10]


@given(st.integers(-50, 50), st.integers(1, 40), st.sampled_from([0.1, 0.25, 1, 3, 0.01]))
def test_a_range_ends_where_it_says(first: int, many: int, step: float) -> None:
    last = round(first + many * step, 2)
    found = Range(first=first, last=last, step=step).values()
    assert len(found) == many + 1 and found[0] == first and found[-1] == last
    assert found == Range(first=first, last=last, count=many + 1).values()


def test_a_plan_that_grows_keeps_its_cells(tmp_path: Path) -> None:
    before = {one.id for one in parsed(tmp_path, GRID).cells()}
    grown = {one.id for one in parsed(tmp_path, "repeats = 3\n" + GRID.replace("5.0", "5.0, 7.0")).cells()}
    assert before < grown and len(grown) == 24


def test_the_cells_of_a_repeat_share_their_seed(tmp_path: Path) -> None:
    cells = list(parsed(tmp_path, "repeats = 2\nseed = 3\n" + GRID).cells())
    assert len({one.seed for one in cells}) == 2
    assert [one.repeat for one in cells] == [0] * 6 + [1] * 6
    assert not {one.seed for one in cells} & {one.seed for one in parsed(tmp_path, "repeats = 2\n" + GRID).cells()}


# Examples.


def test_what_is_the_same_in_all_cells_is_encoded_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = parsed(tmp_path, GRID + "[fixed]\nlong = 'as before'\n")
    encoded: list[bytes] = []
    encode = msgspec.json.encode
    monkeypatch.setattr(
        msgspec.json, "encode", lambda value, **how: encoded.append(encode(value, **how)) or encoded[-1]
    )
    assert len(list(found.cells())) == 6
    assert sum(b"as before" in part for part in encoded) == 1


def test_the_grid_is_every_combination_but_for_those_left_out(tmp_path: Path) -> None:
    found = parsed(tmp_path, GRID + "[[without]]\nbeta = [0.2, 1.0]\nrounds = 5\n[fixed]\ngames = 9\n")
    assert points(found) == [
        {"games": 9, "beta": 0.2, "rounds": 10},
        {"games": 9, "beta": 1.0, "rounds": 10},
        {"games": 9, "beta": 5.0, "rounds": 5},
        {"games": 9, "beta": 5.0, "rounds": 10},
    ]


def test_what_goes_together_goes_row_by_row(tmp_path: Path) -> None:
    found = parsed(tmp_path, "[grid]\ngames = [1, 2]\n[[together]]\nbeta = [0.2, 5.0]\nhow = ['slow', 'well']\n")
    assert points(found) == [
        {"games": games, "beta": beta, "how": how} for games in (1, 2) for beta, how in ((0.2, "slow"), (5.0, "well"))
    ]


def test_a_range_is_an_axis(tmp_path: Path) -> None:
    found = parsed(
        tmp_path, "[grid]\nbeta = {first = 0.1, last = 0.3, step = 0.1}\nrounds = {first=2, last=8, count=3}\n"
    )
    assert [p["beta"] for p in points(found)][::3] == [0.1, 0.2, 0.3]
    assert [p["rounds"] for p in points(found)][:3] == [2, 5, 8] and type(points(found)[0]["rounds"]) is int


def test_a_long_axis_is_read_as_fast_as_it_is_long(tmp_path: Path) -> None:
    """Each value was once compared with all before it: these would have taken hours."""
    plan = parsed(tmp_path, "[grid]\nbeta = {first = 1, last = 200000, step = 1}\n[[without]]\nbeta = [1, 2]\n")
    assert len(list(plan.points())) == 199_998


def test_a_trial_runs_the_ends_of_each_axis_once(tmp_path: Path) -> None:
    text = "repeats = 9\n" + GRID + "[[without]]\nbeta = 1.0\n[[without]]\nbeta = 5.0\nrounds = 10\n[tiny]\ngames = 1\n"
    found = parsed(tmp_path, text).tiny_plan()
    assert points(found) == [
        {"games": 1, "beta": 0.2, "rounds": 5},
        {"games": 1, "beta": 0.2, "rounds": 10},
        {"games": 1, "beta": 5.0, "rounds": 5},
    ]
    assert found.repeats == 1


def test_what_a_plan_will_cost_is_told_from_its_trial_by_games_per_cell(tmp_path: Path) -> None:
    text = "repeats = 9\n" + GRID + "[fixed]\ngames = 50\n[tiny]\ngames = 2\n[models]\n"
    found = parsed(tmp_path, text)
    cells = found.tiny_plan().cells()
    trial = [replace(cell.status("done", 1, 0.0, 1.0, worker="here"), usd=0.25) for cell in cells]
    assert _games_ratio(found, trial) == 25
    planned = len(points(found)) * 25
    assert _cost(trial, planned, found).startswith(f"models about ${planned * 0.25:.2f} more: $0.2500 per cell")


def test_a_trial_may_set_what_is_on_an_axis(tmp_path: Path) -> None:
    assert points(parsed(tmp_path, GRID + "[tiny]\nbeta = 1.0\n").tiny_plan()) == [
        {"beta": 1.0, "rounds": 5},
        {"beta": 1.0, "rounds": 10},
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("repeats = 0\n", "repeats must be a whole number from 1 up, not 0"),
        ("repeat = 2\n", "unknown key 'repeat': did you mean repeats"),
        ("repeats = 'two'\n", "repeats must be a whole number from 1 up, not 'two'"),
        ("[limits]\ncell_second = 3\n", "limits: unknown key 'cell_second': did you mean cell_seconds"),
        ("[limits]\ncell_seconds = -1\n", "limits: cell_seconds must be a number above 0"),
        ("[grid]\nbeta = []\n", "beta has no values"),
        ("[grid]\nbeta = [1, 2, 1]\n", "beta has the value 1 twice"),
        ("[grid]\nbeta = ['', 'x', '']\n", "beta has the value '' twice"),
        ("[grid]\nbeta = [false, false]\n", "beta has the value False twice"),
        ("[grid]\nbeta = {first = 1, last = 3}\n", "a range needs a step or a count"),
        ("[grid]\nbeta = {first = 1, last = 3, step = -1}\n", "do not lead from 1 to 3"),
        ("[grid]\nbeta = {first = 0, last = 1e9, step = 1e-9}\n", "more than 1,000,000 values"),
        ("[grid]\nbeta = [1]\n[fixed]\nbeta = 1\n", "beta is both on an axis and fixed"),
        ("[grid]\nbeta = [1]\n[[together]]\nbeta = [1]\nhow = ['x']\n", "beta appears twice"),
        ("[[together]]\nbeta = [1, 2]\nhow = ['x']\n", "beta has 2, how has 1"),
        ("[together]\nbeta = [1]\n", "each one begins with [[together]]"),
        ("[grid]\nbeta = [1]\n[[without]]\nbta = 1\n", "without 1: bta is not on any axis: did you mean beta"),
        ("[grid]\nbeta = [1]\n[[without]]\nbeta = 2\n", "without 1: beta is never 2"),
        ("[grid]\nbeta = [1]\n" + "[[without]]\nbeta = 1\n" * 101, "without: 101 rules exceed the maximum of 100"),
        ("[grid]\nbeta = [[1], [2], [1]]\n", "beta has the value [1] twice"),
        ("[grid]\nbeta = [1]\n[[without]]\nbeta = 1\n", "no combinations are left"),
        ("[grid]\nseed = [1]\n", "seed is set by the sweep"),
        ("[fixed]\nout = 'x'\n", "out is set by the sweep"),
        ("[fixed]\nbeta = 2026-01-01\n", "beta: a parameter must be a number, a string"),
        ("[fixed]\nbeta = inf\n", "beta: a parameter must be a number"),
        ("[grid]\na = {first=1, last=2000, step=1}\nb = {first=1, last=2000, step=1}\n", "more than 1,000,000 cells"),
        ("grid = 3\n", "grid must be a table, not 3: begin it with [grid]"),
        ("repeats = \n", "Invalid value"),
    ],
)
def test_a_mistake_is_named_with_file_and_place(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(ValueError) as caught:
        parsed(tmp_path, text)
    assert str(caught.value).startswith(f"{tmp_path / 'plan.toml'}: ") and said in str(caught.value)


def test_a_parameter_that_the_notebook_lacks_is_named(tmp_path: Path) -> None:
    file = write_notebook(tmp_path)
    with pytest.raises(ValueError, match=r"game\.ipynb has no parameter 'bta': did you mean beta"):
        Notebook(file).check_parameters(["rounds", "bta"])
    with pytest.raises(ValueError, match="has no parameter seed: a sweep sets"):
        Notebook(write_notebook(tmp_path, "out = None")).check_parameters([])
    with pytest.raises(ValueError, match="tag the cell that sets them"):
        Notebook(write_notebook(tmp_path, "")).check_parameters([])
    file.write_text("{}", "utf-8")
    with pytest.raises(ValueError, match="is not a notebook"):
        Notebook(file)


def test_a_cell_of_parameters_is_read_as_the_python_it_is(tmp_path: Path) -> None:
    source = (
        '%matplotlib inline\na = "time:beta=0.3"\nout: str | None = None  # folder, e.g. out="data"\n'
        "beta = 1.0; rounds = 4\nif True:\n    inner = 1\nseed = 0\n"
    )
    assert Notebook(write_notebook(tmp_path, source)).parameters == ["a", "out", "beta", "rounds", "seed"]


def test_two_cells_of_parameters_are_refused_because_the_later_one_would_win(tmp_path: Path) -> None:
    file = write_notebook(tmp_path)
    node = nbformat.read(file, 4)
    node.cells.append(nbformat.v4.new_code_cell("beta = 0.1", metadata={"tags": ["parameters"]}, id="c"))
    nbformat.write(node, file)
    with pytest.raises(ValueError, match=r"cells 1 \(beta = 1.0\) and 3 \(beta = 0.1\) are both tagged"):
        Notebook(file).check_parameters([])


def test_two_sets_of_modules_have_two_hashes(tmp_path: Path) -> None:
    hashes = set()
    imports = "import a\ntry:\n    import b\nexcept ImportError:\n    pass"
    for files in ({"a.py": "x = 1\nb.py\0y = 2\n"}, {"a.py": "x = 1\n", "b.py": "y = 2\n"}):
        notebook = write_notebook(tmp_path / str(len(files)), imports)
        for name, text in files.items():
            (notebook.parent / name).write_text(text)
        hashes.add(Notebook(notebook).sha256)
    assert len(hashes) == 2
