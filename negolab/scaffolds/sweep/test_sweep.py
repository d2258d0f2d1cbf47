"""A trial of `plan.toml`: run it with `pytest test_sweep.py`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from negolab.analysis import tables

FOLDER = Path(__file__).parent


def test_a_trial_of_the_sweep_plays_every_cell(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "negolab", "sweep", "run", "plan.toml", "--tiny", "--out", str(tmp_path / "run")]
    ran = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    matches = tables.matches(tmp_path / "run")
    assert matches["cell"].nunique() > 1
    assert set(matches["end"]) <= {"AGREED", "NO_DEAL"}
