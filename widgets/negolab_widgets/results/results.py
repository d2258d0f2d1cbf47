"""The results of a sweep, drawn as one chooses, while it runs or later."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ipywidgets as w

from negolab import store
from negolab._internal import manifest
from negolab.analysis.cells import column_value
from negolab.analysis.observations import SEAT_COLUMNS
from negolab.analysis.replies import decisive_event
from negolab.analysis.standings import is_tournament
from negolab.sweeps.folder import SweepFolder, read_folder_plan
from negolab.sweeps.plan import SweepPlan, axis_values
from negolab_widgets.charts import Chart
from negolab_widgets.faults import FaultGuard, run_in_background
from negolab_widgets.html import StableHTML, element, join
from negolab_widgets.layout import column, row, set_visible, styled, warning
from negolab_widgets.page import SWEEP, Page, import_modules
from negolab_widgets.picks import Picks
from negolab_widgets.results import download, drawing
from negolab_widgets.results.board import SweepBoard
from negolab_widgets.results.choices import FigureControls, MatchFilters
from negolab_widgets.results.data import SweepFrame, SweepReader
from negolab_widgets.results.download import Download, Format
from negolab_widgets.results.drawing import Drawing
from negolab_widgets.results.matches import Group, parse_token
from negolab_widgets.results.variables import (
    Factor,
    Quantity,
    factors,
    format_value,
    main_outcomes,
    most_varied,
    outcomes,
    without_values,
)
from negolab_widgets.standings import TournamentPage

if TYPE_CHECKING:
    import pandas as pd


POLL_INTERVAL = 3.0
"""Seconds between two looks at the folder."""
DRAW_INTERVAL = 2.0
"""Seconds of reading before a drawing, while there is much to read."""
PRINT_WIDTH = 1000
"""Pixels: the width of a saved picture."""


class SweepResults(Page):
    """Draw any outcome of a sweep, updated as cells finish.

    Args:
        folder: The folder of the sweep.
    """

    def __init__(self, folder: Path | str) -> None:
        self._folder = Path(folder).absolute()
        self._reading = SweepReader(self._folder)
        self._played = SweepFrame(drawing.EMPTY_FRAME)
        self._plan: SweepPlan | None = None
        self._cells, self._orders = 0, dict[str, list[Any]]()
        self._factors, self._outcomes, self._main = list[Factor](), list[Quantity](), list[Quantity]()
        self._group: Group | None = None
        self._read, self._said, self._table = StableHTML(), w.HTML(), StableHTML()
        self._note = w.HTML(warning(""))
        self._looking, self._guarded = FaultGuard("the view of a sweep"), FaultGuard("the drawing of a sweep's results")
        redraw = partial(self._guarded, self._redraw)
        self._choices, self._filters = FigureControls(redraw), MatchFilters(redraw)
        self._chart = Chart()
        self._picks = Picks(self._pick, self._guarded)
        self._group_name, self._match = w.HTML(), column()
        self._group_head = row(self._group_name, self._guarded.button("All cells", self.show_all))
        self._download = Download(self._told)
        self._download.observe(lambda _: self._guarded(self._draw), "width")
        self._files = row(
            self._guarded.button("Figure as SVG", self._picture, "svg"),
            self._guarded.button("Figure as PNG", self._picture, "png"),
            self._guarded.button("Table as CSV", self._take_table),
            self._guarded.button("Matches as CSV", self._take_matches, "csv"),
            self._guarded.button("Matches as Parquet", self._take_matches, "parquet"),
        )
        figure = column(self._group_head, self._said, self._chart)
        choices = self._choices.widget, self._filters.widget
        self._body = column(*choices, figure, self._guarded.notice, self._match, self._table, self._files, self._note)
        title = w.HTML(element("h1", f"Results: {self._folder.name}"))
        children = [self._download, self._picks, title, self._looking.notice, self._read, self._body]
        super().__init__(children, self._guarded.show)
        if run_in_background(self._watch) is None:
            self.refresh()

    def refresh(self) -> None:
        """Read what is new and draw it, at once."""
        with self._looking:
            self._put_plan(read_folder_plan(self._folder))
            for cell in self._reading.unread_cells():
                self._reading.read_cell(cell)
            self._take_in(self._reading.frame())
        self._count()

    async def _watch(self) -> None:
        while True:
            with self._looking:
                self._put_plan(await asyncio.to_thread(read_folder_plan, self._folder))
                await self._read_on()
            await asyncio.sleep(POLL_INTERVAL)

    async def _read_on(self) -> None:
        """Read what is new beside the page, a cell at a time, and draw it now and then."""
        left, drawn = await asyncio.to_thread(self._reading.unread_cells), time.monotonic()
        self._count(len(left))
        for at, cell in enumerate(left, 1):
            await asyncio.to_thread(self._reading.read_cell, cell)
            if at == len(left) or time.monotonic() - drawn > DRAW_INTERVAL:
                self._take_in(await asyncio.to_thread(self._reading.frame))
                drawn = time.monotonic()
            self._count(len(left) - at)

    def _put_plan(self, plan: SweepPlan) -> None:
        """Take the number of cells and the order of values from the plan."""
        if plan != self._plan:
            self._plan, self._cells = plan, plan.count
            self._orders = axis_values(plan.axes())

    def _take_in(self, played: SweepFrame) -> None:
        """Draw what was read, and leave every choice as it is."""
        self._played = played
        self._factors = factors(played, self._orders)
        self._outcomes = outcomes(played.frame, played.parameters.values())
        main = main_outcomes(played.frame, self._outcomes)
        first = most_varied(played.frame, main, [one for one in self._factors if one.column not in SEAT_COLUMNS][:2])
        self._main = sorted(main, key=lambda one: one != first)
        self._redraw()

    def _count(self, left: int = 0) -> None:
        self._read.value = drawing.render_reading(self._reading, self._cells, left)

    # Drawing.

    def _redraw(self) -> None:
        self._choices.offer(self._outcomes, self._main, self._factors)
        self._filters.offer(self._factors)
        self._draw()

    def _draw(self) -> None:
        self._chart.add_class("nl-busy")
        try:
            self._drawn = drawn = self._drawing(self._download.width or PRINT_WIDTH)
            self._said.value, self._table.value = drawn.said, drawn.table
            self._chart.show(drawn.figure, height=int(drawn.figure.layout.height) if drawn.figure else 0)
        finally:
            self._chart.remove_class("nl-busy")
        set_visible(self._chart, drawn.figure is not None)
        set_visible(self._group_head, self._group is not None)
        set_visible(self._body, not self._played.frame.empty)

    def _drawing(self, width: int) -> Drawing:
        chosen, without = self._choices.chosen(), self._filters.describe()
        return drawing.draw_choice(self._played.frame, self._rows(), chosen, width, without, self._group)

    def _rows(self) -> pd.DataFrame:
        """Return the matches that are in."""
        return without_values(self._played.frame, self._filters.excluded)

    # From a mark to a match.

    def _pick(self, token: str) -> None:
        kind, number = parse_token(token)
        drawn = self._drawn
        if kind == "group" and number < len(drawn.groups):
            self._show_group(drawn.groups[number])
        elif kind == "match" and number in drawn.rows.index:
            self._open(*drawn.rows.loc[number, ["cell", "match"]])

    def show_cell(self, params: Mapping[str, Any]) -> None:
        """Show the matches of the cells with these parameters."""
        columns = {self._played.parameters[name]: name for name in params if name in self._played.parameters}
        varied = {one.column: one.title for one in self._factors if one.column in columns}
        texts = {column: format_value(column_value(params[columns[column]])) for column in varied}
        words = ", ".join(f"{varied[column]} {text}" for column, text in texts.items())
        self._show_group(Group(texts, words or "all matches"))

    def show_all(self) -> None:
        """Show all cells again."""
        self._group, self._match.children = None, ()
        self._draw()
        self._picks.focus("h1")

    def _show_group(self, group: Group) -> None:
        self._group, self._match.children = group, ()
        self._group_name.value = element("h2", f"Matches of {group.words}", cls="nl-group")
        self._draw()
        self._picks.focus(".nl-group")

    def _open(self, cell: str, match: str) -> None:
        """Show a match at the step that decided it."""
        from negolab_widgets.replay import Replay

        record = store.find(SweepFolder(self._folder).cell(cell), match)
        replay = Replay(record)
        replay.show(record, step=decisive_event(record) + 1)
        title = w.HTML(element("h2", f"Match {match}, at the step that decided it", cls="nl-opened"))
        self._match.children = (title, replay)
        self._picks.focus(".nl-opened")

    # Taking along.

    def _picture(self, form: Format) -> None:
        chosen, drawn = self._choices.chosen(), self._drawing(PRINT_WIDTH)
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


NO_SWEEP = "No sweep was specified. Run one and look at it, while it runs or later:"
COMMANDS = "negolab sweep run PLAN.toml\nnegolab sweep show data/runs/PLAN"


def open_results_page(run: Path | str | None = None) -> w.Widget:
    """Return the board and the results of a sweep, or those of a tournament; without one, how to make one.

    Args:
        run: Folder of the sweep or the tournament (default: `$NEGOLAB_SWEEP`).
    """
    import_modules()
    folder = run or os.environ.get(SWEEP)
    if not folder:
        return _empty_page()
    if is_tournament(manifest.read(Path(folder))):
        return TournamentPage(Path(folder))
    results = SweepResults(folder)
    return styled(w.VBox([SweepBoard(folder, picked=results.show_cell), results]), "nl-pages-below")


def _empty_page() -> w.Widget:
    said = join(
        [element("h1", "Results"), element("p", NO_SWEEP), element("pre", COMMANDS, cls="nl-source"),
         element("p", "In a notebook, set run to the sweep's folder in the first cell.")]
    )  # fmt: skip
    return Page([w.HTML(said)])
