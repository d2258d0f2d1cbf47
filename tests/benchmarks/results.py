"""Latency of a sweep's results over 100,000 matches of 60 cells, whose measures are kept beside their records."""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from negolab_widgets import SweepResults
from negolab_widgets.results.choices import BOXES, HEAT, LINES

from negolab.analysis.match_frames import read_matches
from negolab.sweeps.folder import read_folder_plan
from tests.conftest import ROOT, launch_chromium, showing
from tests.support.sweeps import finish_cells, finished_sweep

GRID = "repeats = 2\n[grid]\nbeta = [0.1, 0.2, 1.0, 2.0, 5.0]\nrounds = [4, 6, 8]\nhow = ['linear', 'boulware']\n"
GAMES = 1_667
LONG = 60_000
"""Milliseconds that a page may take."""


@cache
def large_sweep() -> Path:
    """Play the sweep, and measure its cells as a run does when they are finished."""
    sweep = finished_sweep(Path(tempfile.mkdtemp(prefix="negolab-benchmark-")), GRID, count=0)
    finish_cells(sweep, read_folder_plan(sweep.path).cells(), GAMES)
    for cell in (sweep.path / "cells").iterdir():
        read_matches(cell)
    return sweep.path


def first_figure() -> float:
    """Seconds from nothing to the first figure in a process that has imported the page."""
    folder = large_sweep()
    began = time.perf_counter()
    SweepResults(folder)
    return time.perf_counter() - began


def slowest_change() -> float:
    """Seconds of the slowest of several choices."""
    results = SweepResults(large_sweep())
    choices = results._choices
    choices.every.value = True
    changes: list[tuple[Any, object]] = [
        *((choices.outcome, name) for name in ("agreed", "payoff of either seat", "payoff_a")),
        *((choices.view, view) for view in (HEAT, BOXES, LINES)),
        (choices.facet, "how"),
        (choices.x, "player_a"),
    ]
    took = []
    for control, value in changes:
        began = time.perf_counter()
        control.value = value
        took.append(time.perf_counter() - began)
    return max(took)


@cache
def _in_the_browser() -> tuple[float, float]:
    out = Path(tempfile.mkdtemp(prefix="negolab-benchmark-"))
    show = [sys.executable, "-m", "negolab", "sweep", "show", str(large_sweep()), f"--out={out}"]
    pages = showing(show, out, cwd=ROOT)
    url = next(pages).url
    with launch_chromium() as launched:
        page = launched.new_page(viewport={"width": 1280, "height": 900})
        page.wait_for_timeout(10_000)  # until a kernel is ready, as it is for whoever opens the printed address
        began = time.perf_counter()
        page.goto(url)
        _wait_for_title(page, "")
        first = time.perf_counter() - began
        page.get_by_label("All measures").check()
        took = [
            _choose(page, "result: payoff of B (dollars)", "mean payoff of B"),
            _choose(page, "result: payoff of either seat (dollars)", "mean payoff of either seat"),
            _choose(page, "result: ended in agreement (% of matches)", "ended in agreement"),
        ]
        page.close()
    pages.close()
    shutil.rmtree(out)
    return first, max(took)


def _choose(page: Any, outcome: str, title: str) -> float:
    began = time.perf_counter()
    page.get_by_label("Outcome").select_option(label=outcome)
    _wait_for_title(page, title)
    return time.perf_counter() - began


def _wait_for_title(page: Any, title: str) -> None:
    page.locator(".nl-chart .js-plotly-plot text", has_text=title).first.wait_for(timeout=LONG)


MEASUREMENTS: dict[str, Callable[[], float]] = {
    "results of 100,000 matches: first figure, s": first_figure,
    "results of 100,000 matches: slowest change, s": slowest_change,
    "results of 100,000 matches, in the browser: first figure, s": lambda: _in_the_browser()[0],
    "results of 100,000 matches, in the browser: slowest change, s": lambda: _in_the_browser()[1],
}
