"""`SweepResults`: what came of a sweep, drawn as one chooses, while it runs or later."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ipywidgets as w

from negolab.sweep import standing
from negolab.sweep.plan import Plan
from negolab_widgets import page
from negolab_widgets.charts import Chart
from negolab_widgets.following import behind
from negolab_widgets.guarded import Guarded
from negolab_widgets.html import element
from negolab_widgets.results import drawing, files
from negolab_widgets.results.choices import Choices
from negolab_widgets.results.download import Download, Format
from negolab_widgets.results.factor import factors, filtered
from negolab_widgets.results.filters import Filters
from negolab_widgets.results.outcome import outcomes
from negolab_widgets.results.reading import Played, Reading
from negolab_widgets.steady import Steady
from negolab_widgets.tables.controls import column, row, shown_if, warning

if TYPE_CHECKING:
    import pandas as pd

EVERY = 3.0
"""Seconds between two looks at the folder."""
DRAWN_EVERY = 2.0
"""Seconds between two drawings while there is much to read."""
PRINTED = 1000
"""Pixels: how wide a picture is."""


class SweepResults(w.VBox):  # type: ignore[misc]
    """Draws what came of the sweep in a folder: any outcome over parameters, players and games. Cells that finish
    later come in by themselves."""

    def __init__(self, folder: Path | str) -> None:
        self._folder = Path(folder).absolute()
        self._reading = Reading(self._folder)
        self._played = Played(drawing.NOTHING)
        self._plan: Plan | None = None
        self._cells, self._orders = 0, dict[str, Sequence[Any]]()
        self._read, self._said, self._table = Steady(), w.HTML(), Steady()
        self._note = w.HTML(warning(""))
        self._looking, self._guarded = Guarded("the look at a sweep"), Guarded("the drawing of a sweep's results")
        self._choices, self._filters = Choices(self._redraw), Filters(self._redraw)
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
        self._body = column(*choices, figure, self._files, self._guarded.place, self._note, self._table)
        title = w.HTML(element("h1", f"Results: {self._folder.name}"))
        super().__init__([*page.head(), self._download, title, self._looking.place, self._read, self._body])
        self.add_class("nl-page")
        if behind(self._watch) is None:
            self.refresh()

    def refresh(self) -> None:
        """Read what is new and draw it, at once."""
        with self._looking:
            self._put_plan(standing.plan_of(self._folder))
            for cell in self._reading.left():
                self._reading.read(cell)
            self._take_in(self._reading.played())
        self._count()

    async def _watch(self) -> None:
        while True:
            with self._looking:
                self._put_plan(await asyncio.to_thread(standing.plan_of, self._folder))
                await self._read_on()
            await asyncio.sleep(EVERY)

    async def _read_on(self) -> None:
        """Read what is new beside the page, a cell at a time, and draw it now and then."""
        left, drawn = await asyncio.to_thread(self._reading.left), 0.0
        for at, cell in enumerate(left, 1):
            await asyncio.to_thread(self._reading.read, cell)
            if at == len(left) or time.monotonic() - drawn > DRAWN_EVERY:
                self._take_in(await asyncio.to_thread(self._reading.played))
                drawn = time.monotonic()
            self._count(len(left) - at)
        if not left:
            self._count()

    def _put_plan(self, plan: Plan) -> None:
        """How many cells there will be, and the order of the plan's values."""
        if plan != self._plan:
            self._plan, self._cells = plan, sum(1 for _ in plan.points()) * plan.repeats
            self._orders = {name: [point[name] for point in axis] for axis in plan.axes() for name in axis[0]}

    def _take_in(self, played: Played) -> None:
        """Draw what was read, and leave every choice as it is."""
        self._played = played
        frame = played.frame
        offered = factors(played, self._orders)
        self._choices.offer(outcomes(frame, played.parameters.values()), offered)
        self._filters.offer(offered)
        self._draw()

    def _count(self, left: int = 0) -> None:
        self._read.value = drawing.read(self._reading, self._cells, left)

    # Drawing.

    def _redraw(self) -> None:
        self._guarded(lambda: self._take_in(self._played))

    def _draw(self) -> None:
        chosen, rows = self._choices.chosen(), self._rows()
        width = self._download.width or PRINTED
        drawn = drawing.drawn(self._played.frame, rows, chosen, width, self._filters.told())
        self._said.value, self._table.value = drawn.said, drawn.table
        self._chart.show(drawn.figure, height=int(drawn.figure.layout.height) if drawn.figure else 0)
        shown_if(self._chart, drawn.figure is not None)
        shown_if(self._body, not self._played.frame.empty)
        self._drawn = drawn

    def _rows(self) -> pd.DataFrame:
        """The matches that are in."""
        return filtered(self._played.frame, self._filters.out)

    # Taking along.

    def _picture(self, form: Format) -> None:
        chosen = self._choices.chosen()
        drawn = drawing.drawn(self._played.frame, self._rows(), chosen, PRINTED)
        if chosen is None or drawn.figure is None:
            raise ValueError("There is no figure to save.")
        self._download.picture(drawn.figure, files.named(self._folder.name, chosen, form), form, PRINTED)

    def _take_table(self) -> None:
        chosen = self._choices.chosen()
        if chosen is None or self._drawn.numbers is None:
            raise ValueError("There is no table to save.")
        name = files.named(self._folder.name, chosen, "csv")
        self._download.file(name, files.written(self._drawn.numbers, "csv"), files.KINDS["csv"])

    def _take_matches(self, suffix: str) -> None:
        rows = self._rows()
        name = f"{self._folder.name}-matches.{suffix}"
        self._download.file(name, files.written(rows, suffix), files.KINDS[suffix])

    def _told(self, sentence: str, is_fault: bool) -> None:
        kind = {"cls": "nl-notice", "role": "alert"} if is_fault else {"cls": "nl-soft", "role": "status"}
        self._note.value = element("div", sentence, **kind)
