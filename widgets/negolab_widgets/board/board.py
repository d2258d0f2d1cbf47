"""`SweepBoard`: a sweep's cells by state while it runs, and any cell's notebook and records."""

from __future__ import annotations

import asyncio
from pathlib import Path

import ipywidgets as w

from negolab.sweep import standing
from negolab.sweep.folder import NOTEBOOK, Folder
from negolab.sweep.plan import Cell
from negolab.sweep.standing import STANDS, Standing
from negolab_widgets import page
from negolab_widgets.board import drawing, executed
from negolab_widgets.following import behind
from negolab_widgets.guarded import Guarded
from negolab_widgets.html import Markup, element
from negolab_widgets.steady import Steady
from negolab_widgets.tables.controls import column, row

EVERY = 2.0
"""Seconds between two looks at the folder."""
MOST = 1000
"""Cells that the list offers."""
_ALL = "all"


class SweepBoard(w.VBox):  # type: ignore[misc]
    """Shows the sweep in a folder, live; choose a cell to see its notebook and replay its records."""

    def __init__(self, folder: Path | str) -> None:
        self._folder = Folder(folder)
        self._now: Standing | None = None
        self._progress, self._grid = Steady(), Steady()
        states = [("all", _ALL), *((drawing.WORDS[stand], stand) for stand in STANDS)]
        self._state = w.Dropdown(description="State", options=states)
        self._find = w.Text(description="Find", placeholder="beta=0.2, several words", continuous_update=True)
        self._list = w.Select(description="Cells", options=[], rows=6)
        self._cell, self._shown = w.HTML(), column()
        self._looking, self._guarded = Guarded("the look at a sweep"), Guarded("the sweep's board")
        self._note = self._guarded.button("Show its notebook", self._show_notebook, disabled=True)
        self._play = self._guarded.button("Replay its records", self._show_records, disabled=True)
        self._buttons = row(self._note, self._play)
        form = w.Box([self._state, self._find])
        form.add_class("nl-form")
        for control in (self._state, self._find):
            control.observe(lambda _: self._guarded(self._offer), "value")
        self._list.observe(lambda _: self._guarded(self._choose), "value")
        look = column(form, self._list, self._cell, self._buttons, self._guarded.place, self._shown)
        title = w.HTML(element("h1", f"Sweep: {self._folder.path.name}"))
        super().__init__([*page.head(), title, self._looking.place, self._progress, self._grid, look])
        self.add_class("nl-page")
        self._looking(self.refresh)
        behind(self._watch)

    def refresh(self) -> None:
        """Look at the folder and show it."""
        now = standing.read(self._folder.path, self._now)
        before, self._now = self._now, now
        self._progress.value, self._grid.value = drawing.progress(now), drawing.grid(now)
        if before is None or (before.ended, before.running) != (now.ended, now.running):
            self._offer()

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(EVERY)
            self._looking(self.refresh)

    def _offer(self) -> None:
        """Put the cells that fit into the list; the chosen one stays chosen."""
        if self._now is None:
            return
        words = self._find.value.lower().replace(",", " ").split()
        wanted = self._state.value
        found = [
            cell
            for cell in self._now.cells
            if wanted in (_ALL, self._now.of(cell)) and all(word in _told(cell).lower() for word in words)
        ]
        chosen = self._list.value
        options = [(f"{_told(cell)}: {drawing.WORDS[self._now.of(cell)]}", cell.id) for cell in found[:MOST]]
        if tuple(options) != tuple(self._list.options):
            self._list.options = options
        ids = [id for _, id in options]
        self._list.value = chosen if chosen in ids else (ids[0] if ids else None)
        self._choose()

    def _choose(self) -> None:
        cell = self._chosen()
        self._cell.value = drawing.one(self._now, cell) if self._now is not None and cell is not None else Markup("")
        place = self._place()
        self._note.disabled = place is None or not (place / NOTEBOOK).exists()
        self._play.disabled = place is None or not any(place.rglob("*.jsonl"))

    def _chosen(self) -> Cell | None:
        cells = self._now.cells if self._now is not None else ()
        return next((cell for cell in cells if cell.id == self._list.value), None)

    def _place(self) -> Path | None:
        """The folder of the chosen cell: finished, or its newest attempt."""
        cell = self._chosen()
        if cell is None or self._now is None or (status := self._now.ended.get(cell.id)) is None:
            return None
        return self._folder.cell(cell.id) if status.state == "done" else self._folder.tried(cell.id, status.attempts)

    def _show_notebook(self) -> None:
        if (place := self._place()) is not None:
            self._shown.children = [w.HTML(executed.drawn(place / NOTEBOOK))]

    def _show_records(self) -> None:
        if (place := self._place()) is not None:
            from negolab_widgets.replay import Replay

            self._shown.children = [Replay(place)]


def _told(cell: Cell) -> str:
    """A cell in the list."""
    said = " ".join(f"{name}={drawing.said(value)}" for name, value in cell.params.items())
    return f"{said} repeat={cell.repeat}"
