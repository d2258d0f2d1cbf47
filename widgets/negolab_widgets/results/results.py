"""The results of a sweep, drawn as one chooses, while it runs or later."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ipywidgets as w

from negolab.sweeps import folder as standing
from negolab.sweeps.plan import SweepPlan
from negolab_widgets import page
from negolab_widgets.charts import Chart
from negolab_widgets.faults import FaultGuard, run_in_background
from negolab_widgets.html import StableHTML, element, join
from negolab_widgets.page import SWEEP, import_modules
from negolab_widgets.results import download, drawing
from negolab_widgets.results.board import SweepBoard
from negolab_widgets.results.choices import FigureControls, MatchFilters
from negolab_widgets.results.data import SweepFrame, SweepReader
from negolab_widgets.results.download import Download, Format
from negolab_widgets.results.variables import factors, outcomes, without_values
from negolab_widgets.tables.controls import column, row, set_visible, warning

if TYPE_CHECKING:
    import pandas as pd


POLL_INTERVAL = 3.0
"""Seconds between two looks at the folder."""
DRAW_INTERVAL = 2.0
"""Seconds between two drawings while there is much to read."""
PRINT_WIDTH = 1000
"""Pixels: the width of a saved picture."""


class SweepResults(w.VBox):  # type: ignore[misc]
    """Draw any outcome of a sweep over parameters, players and games; cells that finish later come in by themselves.

    Args:
        folder: The folder of the sweep.
    """

    def __init__(self, folder: Path | str) -> None:
        self._folder = Path(folder).absolute()
        self._reading = SweepReader(self._folder)
        self._played = SweepFrame(drawing.EMPTY_FRAME)
        self._plan: SweepPlan | None = None
        self._cells, self._orders = 0, dict[str, Sequence[Any]]()
        self._read, self._said, self._table = StableHTML(), w.HTML(), StableHTML()
        self._note = w.HTML(warning(""))
        self._looking, self._guarded = FaultGuard("the look at a sweep"), FaultGuard("the drawing of a sweep's results")
        self._choices, self._filters = FigureControls(self._redraw), MatchFilters(self._redraw)
        self._chart = Chart()
        self._download = Download(self._told)
        self._download.observe(lambda _: self._guarded(self._draw), "width")
        self._files = row(
            self._guarded.button("Figure as SVG", lambda: self._picture("svg")),
            self._guarded.button("Figure as PNG", lambda: self._picture("png")),
            self._guarded.button("Table as CSV", self._take_table),
            self._guarded.button("Matches as CSV", lambda: self._take_matches("csv")),
            self._guarded.button("Matches as Parquet", lambda: self._take_matches("parquet")),
        )
        figure = column(self._said, self._chart)
        choices = self._choices.widget, self._filters.widget
        self._body = column(*choices, figure, self._files, self._guarded.notice, self._note, self._table)
        title = w.HTML(element("h1", f"Results: {self._folder.name}"))
        super().__init__([*page.page_head(), self._download, title, self._looking.notice, self._read, self._body])
        self.add_class("nl-page")
        if run_in_background(self._watch) is None:
            self.refresh()

    def refresh(self) -> None:
        """Read what is new and draw it, at once."""
        with self._looking:
            self._put_plan(standing.read_folder_plan(self._folder))
            for cell in self._reading.unread_cells():
                self._reading.read_cell(cell)
            self._take_in(self._reading.frame())
        self._count()

    async def _watch(self) -> None:
        while True:
            with self._looking:
                self._put_plan(await asyncio.to_thread(standing.read_folder_plan, self._folder))
                await self._read_on()
            await asyncio.sleep(POLL_INTERVAL)

    async def _read_on(self) -> None:
        """Read what is new beside the page, a cell at a time, and draw it now and then."""
        left, drawn = await asyncio.to_thread(self._reading.unread_cells), 0.0
        for at, cell in enumerate(left, 1):
            await asyncio.to_thread(self._reading.read_cell, cell)
            if at == len(left) or time.monotonic() - drawn > DRAW_INTERVAL:
                self._take_in(await asyncio.to_thread(self._reading.frame))
                drawn = time.monotonic()
            self._count(len(left) - at)
        if not left:
            self._count()

    def _put_plan(self, plan: SweepPlan) -> None:
        """Take the number of cells and the order of values from the plan."""
        if plan != self._plan:
            self._plan, self._cells = plan, sum(1 for _ in plan.points()) * plan.repeats
            self._orders = {name: [point[name] for point in axis] for axis in plan.axes() for name in axis[0]}

    def _take_in(self, played: SweepFrame) -> None:
        """Draw what was read, and leave every choice as it is."""
        self._played = played
        frame = played.frame
        offered = factors(played, self._orders)
        self._choices.offer(outcomes(frame, played.parameters.values()), offered)
        self._filters.offer(offered)
        self._draw()

    def _count(self, left: int = 0) -> None:
        self._read.value = drawing.render_reading(self._reading, self._cells, left)

    # Drawing.

    def _redraw(self) -> None:
        self._guarded(lambda: self._take_in(self._played))

    def _draw(self) -> None:
        chosen, rows = self._choices.chosen(), self._rows()
        width = self._download.width or PRINT_WIDTH
        drawn = drawing.draw_choice(self._played.frame, rows, chosen, width, self._filters.describe())
        self._said.value, self._table.value = drawn.said, drawn.table
        self._chart.show(drawn.figure, height=int(drawn.figure.layout.height) if drawn.figure else 0)
        set_visible(self._chart, drawn.figure is not None)
        set_visible(self._body, not self._played.frame.empty)
        self._drawn = drawn

    def _rows(self) -> pd.DataFrame:
        """Return the matches that are in."""
        return without_values(self._played.frame, self._filters.excluded)

    # Taking along.

    def _picture(self, form: Format) -> None:
        chosen = self._choices.chosen()
        drawn = drawing.draw_choice(self._played.frame, self._rows(), chosen, PRINT_WIDTH)
        if chosen is None or drawn.figure is None:
            raise ValueError("There is no figure to save.")
        self._download.picture(drawn.figure, download.file_name(self._folder.name, chosen, form), form, PRINT_WIDTH)

    def _take_table(self) -> None:
        chosen = self._choices.chosen()
        if chosen is None or self._drawn.numbers is None:
            raise ValueError("There is no table to save.")
        name = download.file_name(self._folder.name, chosen, "csv")
        self._download.file(name, download.to_bytes(self._drawn.numbers, "csv"), download.MEDIA_TYPES["csv"])

    def _take_matches(self, suffix: str) -> None:
        rows = self._rows()
        name = f"{self._folder.name}-matches.{suffix}"
        self._download.file(name, download.to_bytes(rows, suffix), download.MEDIA_TYPES[suffix])

    def _told(self, sentence: str, is_fault: bool) -> None:
        kind = {"cls": "nl-notice", "role": "alert"} if is_fault else {"cls": "nl-soft", "role": "status"}
        self._note.value = element("div", sentence, **kind)


NO_SWEEP = "No sweep was named. Run one and look at it, while it runs or later:"
COMMANDS = "negolab sweep run PLAN.toml\nnegolab sweep show data/runs/PLAN"


def open_results_page(run: Path | str | None = None) -> w.Widget:
    """Return the board and the results of a sweep; without one, how to make one.

    Args:
        run: Folder of the sweep (default: `$NEGOLAB_SWEEP`).
    """
    import_modules()
    folder = run or os.environ.get(SWEEP)
    if not folder:
        return _empty_page()
    both = w.VBox([SweepBoard(folder), SweepResults(folder)])
    both.add_class("nl-pages-below")
    return both


def _empty_page() -> w.Widget:
    said = join(
        [element("h1", "Results"), element("p", NO_SWEEP), element("pre", COMMANDS, cls="nl-source"),
         element("p", "In a notebook, set run to the sweep's folder in the first cell.")]
    )  # fmt: skip
    one = w.VBox([*page.page_head(), w.HTML(said)])
    one.add_class("nl-page")
    return one
