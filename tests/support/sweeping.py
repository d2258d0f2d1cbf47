"""Sweeps for tests: a notebook that plays, and can go wrong in every way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import nbformat

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
if how == "slow":
    time.sleep(1)
await nl.run(nl.load("bargaining", rounds=rounds), f"time:beta={beta}", "linear", n=games, seed=seed, out=out)
"""


def notebook(folder: Path, parameters: str = PARAMETERS, body: str = BODY) -> Path:
    """A notebook to sweep over."""
    folder.mkdir(parents=True, exist_ok=True)
    cells = [
        nbformat.v4.new_code_cell(parameters, metadata={"tags": ["parameters"]}, id="a"),
        nbformat.v4.new_code_cell(body, id="b"),
    ]
    file = folder / "game.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=cells), file)
    return file


def plan(folder: Path, text: str) -> Path:
    """A plan beside its notebook."""
    notebook(folder)
    file = folder / "plan.toml"
    file.write_text('notebook = "game.ipynb"\n' + text, "utf-8")
    return file


def played(out: Path) -> dict[str, list[dict[str, Any]]]:
    """What each cell recorded, times apart."""
    found = {}
    for cell in sorted((out / "cells").iterdir()):
        lines = [msgspec.json.decode(line) for line in (cell / "records.jsonl").read_bytes().splitlines()]
        found[cell.name] = sorted((_timeless(line) for line in lines), key=lambda line: str(line["header"]["id"]))
    return found


def _timeless(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _timeless(v) for k, v in value.items() if k not in ("asked_at", "answered_at", "created")}
    return [_timeless(v) for v in value] if isinstance(value, list) else value
