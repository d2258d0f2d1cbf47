"""Every notebook runs from top to bottom."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").rglob("*.ipynb"))


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
