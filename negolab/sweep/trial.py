"""A trial of a plan, for a notebook that is opened before its sweep was run."""

from __future__ import annotations

import tempfile
from pathlib import Path

from negolab.sweep.plan import notebook_of, read
from negolab.sweep.run import Sweep


def trial(plan: Path | str) -> Path:
    """Run the plan's trial (`--tiny`) into a new temporary folder, whose path is returned; nothing removes it."""
    file = Path(plan)
    found = read(file).cut()
    folder = Path(tempfile.mkdtemp(prefix=f"negolab-{file.stem}-"))
    end = Sweep(found, notebook_of(found, file), folder).run()
    if end.states.get("done", 0) < end.cells:
        raise RuntimeError(f"{end.cells - end.states.get('done', 0)} of {end.cells} cells are not done: see {folder}")
    return folder
