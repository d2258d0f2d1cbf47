"""Every notebook runs from top to bottom."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT, SLOW

PLANNED = {path.parent for path in (ROOT / "notebooks" / "experiments").glob("*/plan.toml")}
"""Folders of studies, whose notebooks `tests/sweeps/test_sweep_report.py` runs by their plans."""
NOTEBOOKS = sorted(path for path in (ROOT / "notebooks").rglob("*.ipynb") if SLOW or path.parent not in PLANNED)


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=[str(path.relative_to(ROOT / "notebooks")) for path in NOTEBOOKS])
def test_a_notebook_runs(notebook: Path, tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "--nbval-lax",
        "--rootdir",
        str(tmp_path),
        "-p",
        "no:cacheprovider",
    ]
    ran = subprocess.run(
        [*command, "-c", "/dev/null", str(notebook)], cwd=tmp_path, capture_output=True, text=True, timeout=300
    )
    assert ran.returncode == 0, ran.stdout[-4000:]


def test_what_came_out_of_the_tour_is_read_offline(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "nbconvert", "--execute", "--to", "html", "--output-dir", str(tmp_path)]
    tour = str(ROOT / "notebooks" / "tour.ipynb")
    ran = subprocess.run([*command, tour], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stderr[-4000:]
    html = (tmp_path / "tour.html").read_text("utf-8")
    assert html.count('alt="Figure: ') == 3
    # A game, the lobby and the replay are kept as pictures beside the widgets that only a kernel could draw.
    assert html.count("nl-kept tex2jax_ignore") == 3
    assert "Record of split" in html and "Keeps private:" in html
