"""Every notebook runs from top to bottom."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from tests.conftest import ROOT

NOTEBOOKS = sorted((ROOT / "notebooks").rglob("*.ipynb"))


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=[str(path.relative_to(ROOT / "notebooks")) for path in NOTEBOOKS])
def test_a_notebook_runs(notebook: Path) -> None:
    folder = {"metadata": {"path": str(notebook.parent)}}
    NotebookClient(nbformat.read(notebook, 4), timeout=300, resources=folder).execute()
