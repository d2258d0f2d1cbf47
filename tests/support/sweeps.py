"""Sweeps for tests: a notebook that can fail in every way, and finished sweeps that need no kernel."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import nbformat

import negolab as nl
from negolab.sweeps import status
from negolab.sweeps.cell import record_sizes
from negolab.sweeps.folder import NOTEBOOK, SweepFolder, claim_folder
from negolab.sweeps.plan import SweepCell, notebook_path, read_plan
from negolab.sweeps.sources import Notebook

GRID = "repeats = 2\n[grid]\nbeta = [0.2, 1.0, 5.0]\nrounds = [4, 8]\nhow = ['linear', 'boulware']\n"
PARAMETERS = "beta = 1.0\nrounds = 6\ngames = 3\nhow = 'well'\nout = None\nseed = 0"
BODY = """
import os, signal, time
import negolab as nl
print(sorted(name for name in os.environ if "KEY" in name or "TOKEN" in name))
if how == "raises":
    raise KeyError("no such thing")
if how == "loops":
    while True:
        time.sleep(0.05)
if how == "dies":
    os.kill(os.getpid(), signal.SIGKILL)
if how == "leaves":
    raise SystemExit(0)
if how == "idles":
    games = 0
if how == "slow":
    time.sleep(1)
if games:
    await nl.run(nl.load("bargaining", rounds=rounds), f"time:beta={beta}", "linear", n=games, seed=seed, out=out)
"""


def write_notebook(folder: Path, parameters: str = PARAMETERS, body: str = BODY) -> Path:
    """Write a notebook with a parameters cell and a cell that plays."""
    folder.mkdir(parents=True, exist_ok=True)
    cells = [
        nbformat.v4.new_code_cell(parameters, metadata={"tags": ["parameters"]}, id="a"),
        nbformat.v4.new_code_cell(body, id="b"),
    ]
    file = folder / "game.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=cells), file)
    return file


def write_plan(folder: Path, text: str) -> Path:
    """Write a plan and its notebook."""
    write_notebook(folder)
    file = folder / "plan.toml"
    file.write_text('notebook = "game.ipynb"\n' + text, "utf-8")
    return file


def recorded_cells(out: Path) -> dict[str, list[dict[str, Any]]]:
    """The records of each cell, without times."""
    records = {}
    for cell in sorted((out / "cells").iterdir()):
        lines = [msgspec.json.decode(line) for line in (cell / "records.jsonl").read_bytes().splitlines()]
        records[cell.name] = sorted((_timeless(line) for line in lines), key=lambda line: str(line["header"]["id"]))
    return records


def _timeless(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _timeless(v) for k, v in value.items() if k not in ("asked_at", "answered_at", "created")}
    return [_timeless(v) for v in value] if isinstance(value, list) else value


def finished_sweep(folder: Path, text: str = GRID, *, count: int | None = None) -> SweepFolder:
    """Make a sweep in `folder/out` and finish its first `count` cells (None: all)."""
    file = write_plan(folder, text)
    read, out = read_plan(file), SweepFolder(folder / "out")
    with claim_folder(out, read, Notebook(notebook_path(read, file)).sha256):
        pass
    finish_cells(out, list(read.cells())[:count])
    return out


def finish_cells(out: SweepFolder, cells: Iterable[SweepCell], games: int = 3, **options: Any) -> None:
    """Play cells in this process and publish them: a seller with the cell's beta against the buyer `how`."""
    for cell in cells:
        attempt, number = out.new_attempt(cell.id)
        params = {"beta": 1.0, "rounds": 6, "how": "linear", **cell.params}
        game = nl.load("bargaining", buyer_values=(6000, 7500, 9000), rounds=params["rounds"])
        # In a thread of its own: while a browser test's page is open, this one has a running event loop.
        play = partial(nl.run, game, f"time:beta={params['beta']}", params["how"], n=games, seed=cell.seed, out=attempt)
        with ThreadPoolExecutor(1) as thread:
            thread.submit(play, **options).result()
        executed = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1 + 1", id="a")])
        nbformat.write(executed, attempt / NOTEBOOK)
        records = record_sizes(attempt)
        status.write_status(attempt, cell.status("done", number, 10.0, 12.5, worker="here", records=records))
        assert out.publish(attempt, cell.id)
