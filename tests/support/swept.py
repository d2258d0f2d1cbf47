"""Sweeps that are there at once, for tests of what is shown of them: their cells are played here, in no kernel."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import nbformat

import negolab as nl
from negolab.sweeps import cells as notebook
from negolab.sweeps import status
from negolab.sweeps.folder import NOTEBOOK, FolderClaim, SweepFolder
from negolab.sweeps.plan import Cell, notebook_path, read_plan
from tests.support.sweeping import plan

GRID = "repeats = 2\n[grid]\nbeta = [0.2, 1.0, 5.0]\nrounds = [4, 8]\nhow = ['linear', 'boulware']\n"


def swept(folder: Path, text: str = GRID, *, most: int | None = None) -> SweepFolder:
    """A sweep in `folder/out` whose first cells (all if `most` is None) are finished."""
    file = plan(folder, text)
    found, out = read_plan(file), SweepFolder(folder / "out")
    with FolderClaim(out, found, notebook.notebook_hash(notebook_path(found, file))):
        pass
    finish(out, list(found.cells())[:most])
    return out


def finish(out: SweepFolder, cells: Iterable[Cell], **options: Any) -> None:
    """Play cells and publish them: a seller with the cell's beta against the buyer `how`."""
    for cell in cells:
        attempt, number = out.new_attempt(cell.id)
        params = {"beta": 1.0, "rounds": 6, "how": "linear", **cell.params}
        game = nl.load("bargaining", buyer_values=(6000, 7500, 9000), rounds=params["rounds"])
        nl.run(game, f"time:beta={params['beta']}", params["how"], n=3, seed=cell.seed, out=attempt, **options)
        executed = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1 + 1", id="a")])
        nbformat.write(executed, attempt / NOTEBOOK)
        status.write_status(attempt, cell.status("done", number, 10.0, 12.5, worker="here"))
        assert out.publish(attempt, cell.id)
