"""Overhead of a sweep's cell: kernel, papermill, scheduler, status and folder."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from negolab.sweeps.plan import notebook_path, read_plan
from negolab.sweeps.run import Sweep
from tests.support.sweeps import write_notebook

CELLS, WORKERS = 60, 2
LIGHT = "import negolab as nl"
HEAVY = "import pandas, plotly.graph_objects, negolab, negolab_widgets"


def overhead(body: str) -> Callable[[], float]:
    """Seconds per cell of a notebook that only imports, on two workers, cluster start included."""

    def measured() -> float:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            write_notebook(folder, "cell = 0\nout = None\nseed = 0", body)
            file = folder / "plan.toml"
            axis = f"[grid]\ncell = {{first = 1, last = {CELLS}, step = 1}}\n"
            file.write_text(f'notebook = "game.ipynb"\n{axis}', "utf-8")
            plan = read_plan(file)
            end = Sweep(plan, notebook_path(plan, file), folder / "out").run(workers=WORKERS)
            assert end.states == {"done": CELLS}, end
            print(end.seconds, file=sys.stderr)
            return end.seconds / CELLS

    return measured


MEASUREMENTS: dict[str, Callable[[], float]] = {
    "sweep: a cell of a light notebook, s": overhead(LIGHT),
    "sweep: a cell of a notebook with plots, s": overhead(HEAVY),
}
