"""The page of a sweep: its cells, and below them what came of it."""

from __future__ import annotations

import os
from pathlib import Path

import ipywidgets as w

from negolab import catalog
from negolab_widgets import page
from negolab_widgets.board import SweepBoard
from negolab_widgets.html import element, join
from negolab_widgets.places import MODULE, SWEEP
from negolab_widgets.results.results import SweepResults

EMPTY = "No sweep was named. Run one and look at it, while it runs or later:"
COMMANDS = "negolab sweep run PLAN.toml\nnegolab sweep show data/runs/PLAN"


def opened(run: Path | str | None = None) -> w.Widget:
    """Board and results of the sweep in the folder `run` (default: `$NEGOLAB_SWEEP`); without one, how to make one."""
    if module := os.environ.get(MODULE):
        catalog.module(module)
    folder = run or os.environ.get(SWEEP)
    if not folder:
        return _empty()
    both = w.VBox([SweepBoard(folder), SweepResults(folder)])
    both.add_class("nl-pages-below")
    return both


def _empty() -> w.Widget:
    said = join(
        [element("h1", "Results"), element("p", EMPTY), element("pre", COMMANDS, cls="nl-source"),
         element("p", "In a notebook, set run to the sweep's folder in the first cell.")]
    )  # fmt: skip
    one = w.VBox([*page.head(), w.HTML(said)])
    one.add_class("nl-page")
    return one
