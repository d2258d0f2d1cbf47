"""A sweep whose parameters name scenarios: by their names, or as files beside the plan."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import negolab as nl
from negolab.sweeps.folder import SweepFolder
from negolab.sweeps.plan import notebook_path, read_plan
from negolab.sweeps.run import Sweep
from negolab.sweeps.status import read_unsuccessful
from tests.conftest import ROOT
from tests.support.sweeps import write_notebook

PARAMETERS = "scenario = 'casino'\nout = None\nseed = 0"
BODY = """
import negolab as nl
await nl.run(nl.load("agenda", scenario=scenario), "linear", "linear", n=2, seed=seed, out=out)
"""
PLAN = 'notebook = "notebooks/game.ipynb"\n[grid]\nscenario = ["hiring", "mine/two.toml"]\n'


def run_sweep(file: Path, out: Path) -> dict[str, int]:
    plan = read_plan(file)
    return dict(Sweep(plan, notebook_path(plan, file), out, base=file.parent).run(workers=1).states)


def test_a_sweep_plays_scenarios_and_refuses_one_that_has_changed(tmp_path: Path) -> None:
    folder, out = tmp_path / "here", tmp_path / "out"
    write_notebook(folder / "notebooks", PARAMETERS, BODY)
    (folder / "mine").mkdir()
    mine = Path(shutil.copy(ROOT / "tests" / "support" / "scenarios" / "two.toml", folder / "mine"))
    file = folder / "plan.toml"
    file.write_text(PLAN)
    assert run_sweep(file, out) == {"done": 2}
    titles = {record.header.params["title"] for record in nl.read(out / "cells")}
    assert titles == {"Hiring an engineer", "A shared garden"}
    assert not any(one.other_values() for one in SweepFolder(out).done().values())
    assert not [id for id in SweepFolder(out).done() if "here" in id], "the name of a cell holds no folder"

    mine.write_text(mine.read_text().replace("turns = 8", "turns = 10"))
    file.write_text(PLAN.replace("[grid]", "repeats = 2\n[grid]"))
    with pytest.raises(ValueError, match=r"two.toml changed after cells in"):
        run_sweep(file, out)


@pytest.mark.parametrize(
    ("change", "states"),
    [
        ("pathlib.Path(out).parents[1].joinpath('notebook.ipynb').write_text('{}')", {"done": 2}),
        ("open(scenario, 'a').write('# changed')", {"failed": 2}),
    ],
)
def test_cells_run_the_notebook_and_the_scenario_that_were_hashed(
    tmp_path: Path, change: str, states: dict[str, int]
) -> None:
    write_notebook(tmp_path, PARAMETERS, f"import pathlib\n{change}\n{BODY}")
    shutil.copy(ROOT / "tests" / "support" / "scenarios" / "two.toml", tmp_path)
    file = tmp_path / "plan.toml"
    file.write_text('notebook = "game.ipynb"\nrepeats = 2\n[grid]\nscenario = ["two.toml"]\n')
    assert run_sweep(file, tmp_path / "out") == states
    told = [each.error.text for each in read_unsuccessful(tmp_path / "out").values() if each.error]
    assert all("two.toml has changed since its hash was taken; run the same command again" in text for text in told)
