"""The board of a sweep: its cells by state while it runs, and any cell's notebook and records."""

from __future__ import annotations

import asyncio
import base64
import binascii
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import ipywidgets as w

from negolab._internal.files import read_text
from negolab.sweeps.folder import CELL_STATES, NOTEBOOK, CellState, SweepFolder, SweepStatus, read_sweep_status
from negolab.sweeps.plan import SweepCell
from negolab_widgets.faults import FaultGuard, run_in_background
from negolab_widgets.html import Markup, StableHTML, bar, details, element, join, pairs, panel, preformatted, table
from negolab_widgets.layout import box, column, row
from negolab_widgets.page import Page
from negolab_widgets.picks import Picks, pick_button
from negolab_widgets.results.variables import format_value

STATE_WORDS: dict[CellState, str] = {
    "done": "done",
    "running": "running",
    "waiting": "waiting",
    "failed": "failed",
    "timeout": "timed out",
    "died": "died",
    "refused": "refused",
}
MAX_ROWS = 200
"""Rows of the grid that are drawn."""


def render_progress(now: SweepStatus) -> Markup:
    """Render how many cells are over, and their states."""
    counts = now.counts()
    over = sum(counts[stand] for stand in CELL_STATES if stand not in ("waiting", "running"))
    meter = bar(over, len(now.cells), f"{over:,} of {len(now.cells):,} cells", name="Cells that are over")
    seconds = sorted(status.seconds for status in now.ended.values() if status.state == "done")
    median = f"{seconds[len(seconds) // 2]:.1f} s (median, n = {len(seconds):,})" if seconds else ""
    states = [(STATE_WORDS[stand], f"{counts[stand]:,}") for stand in CELL_STATES if counts[stand]]
    return panel("Sweep", meter, pairs([*states, *([("a cell takes", median)] if median else [])]))


def render_grid(now: SweepStatus) -> Markup:
    """Render the grid: the last axis across, the others down; in each field its repeats by state."""
    axes = now.plan.axes()
    across = [tuple(point.items()) for point in axes[-1]] if axes else [()]
    names = [name for axis in axes[:-1] for name in axis[0]]
    fields: dict[tuple[str, ...], dict[str, list[SweepCell]]] = {}
    for cell in now.cells:
        down = tuple(format_value(cell.params[name]) for name in names)
        column = _point_text([(name, cell.params[name]) for name, _ in across[0]])
        fields.setdefault(down, {}).setdefault(column, []).append(cell)
    columns = [_point_text(point) for point in across]
    head = [*(names or ["cells"]), *columns]
    shown = list(fields.items())[:MAX_ROWS]
    rows = [_grid_row(now, down, found, columns) for down, found in shown]
    more = f"The first {MAX_ROWS} of {len(fields):,} rows." if len(fields) > MAX_ROWS else ""
    across_names = " and ".join(name for name, _ in across[0]) or "cells"
    repeats = "one run" if now.plan.repeats == 1 else f"{now.plan.repeats} repeats"
    note = element("p", f"Across: {across_names}. Each field has {repeats}: press one to see more. {more}".strip())
    return panel("Grid", note, table(head, rows, "Cells of the grid by state", cls="nl-grid"))


def _grid_row(
    now: SweepStatus, down: tuple[str, ...], found: dict[str, list[SweepCell]], columns: Sequence[str]
) -> list[object]:
    return [*(down or ("",)), *(render_field(now, found.get(column, [])) for column in columns)]


def _point_text(point: Sequence[tuple[str, Any]]) -> str:
    return ", ".join(format_value(value) for _, value in point) or "runs"


def render_field(now: SweepStatus, cells: Sequence[SweepCell]) -> Markup:
    """Render one field of the grid: its runs by state, in words and colour, as a button that picks them."""
    if not cells:
        return element("span", "left out", cls="nl-soft")
    counts = Counter(map(now.state, cells))
    few = len(cells) == 1
    parts = [
        element(
            "span",
            STATE_WORDS[stand] if few else f"{counts[stand]} {STATE_WORDS[stand]}",
            cls=f"nl-state nl-state-{stand}",
        )
        for stand in CELL_STATES
        if counts[stand]
    ]
    words = ", ".join(part.striptags() for part in parts)
    where = ", ".join(f"{name} {format_value(value)}" for name, value in cells[0].params.items())
    return pick_button(cells[0].id, *parts, name=f"{words}: {where}")


def render_cell(now: SweepStatus, cell: SweepCell) -> Markup:
    """Render one cell: its parameters, and what became of it."""
    facts: list[tuple[str, object]] = [
        *((name, format_value(value)) for name, value in cell.params.items()),
        ("repeat", cell.repeat),
        ("seed", cell.seed),
        ("state", STATE_WORDS[now.state(cell)]),
    ]
    if (status := now.ended.get(cell.id)) is not None:
        facts += [("took", f"{status.seconds:.1f} s"), ("attempt", status.attempts), ("worker", status.worker)]
        if (error := status.error) is not None:
            where = f", cell {error.cell} of the notebook" if error.cell else ""
            facts.append(("why", f"{error.kind}{where}: {error.text}"))
    return panel("Cell", pairs(facts))


MAX_OUTPUT = 20_000
"""Characters of one output that are shown."""
PAPERMILL_ERROR_TAG = "papermill-error-cell-tag"
"""The tag of cells that papermill adds to say where an error was."""
_ANSI_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def render_notebook(file: Path) -> Markup:
    """Render an executed notebook with its code and outputs; nothing in it is run. Raise ValueError if it cannot be
    read."""
    import nbformat  # a third of a second to import

    try:
        if file.is_symlink():
            raise ValueError("it is a link")
        cells = nbformat.reads(read_text(file), 4).cells
    except Exception as error:  # nbformat raises whatever its readers raise
        raise ValueError(f"{file} cannot be shown: {error}") from None
    own = [cell for cell in cells if PAPERMILL_ERROR_TAG not in cell.metadata.get("tags", [])]
    return panel("Its notebook", join(_render_notebook_cell(number, cell) for number, cell in enumerate(own, 1)))


def _render_notebook_cell(number: int, cell: Any) -> Markup:
    source = element("pre", cell.source, cls="nl-source")
    if cell.cell_type != "code":
        return preformatted(cell.source)
    tags = cell.metadata.get("tags", [])
    code = source if "injected-parameters" in tags else details(f"cell {number}", source)
    return join([code, *(shown for output in cell.get("outputs", []) for shown in _render_output(output))])


def _render_output(output: Any) -> Iterator[Markup]:
    if output.output_type == "stream":
        yield _render_text(output.text)
    elif output.output_type == "error":
        yield element("pre", _ANSI_COLOURS.sub("", "\n".join(output.traceback))[-MAX_OUTPUT:], cls="nl-source nl-bad")
    elif picture := _render_picture(output.data.get("image/png")):
        yield picture
    elif "application/vnd.plotly.v1+json" in output.data:
        yield element("p", "A figure: open the notebook in JupyterLab to see it.")
    elif words := output.data.get("text/plain"):
        yield _render_text(words)


def _render_text(words: str) -> Markup:
    short = words if len(words) <= MAX_OUTPUT else words[:MAX_OUTPUT] + "\n..."
    return element("pre", _ANSI_COLOURS.sub("", short), cls="nl-source")


def _render_picture(data: Any) -> Markup | None:
    """Render a PNG; None for anything else, which must not stand in an address."""
    try:
        found = base64.b64decode("".join(str(data).split()), validate=True) if data else b""
    except binascii.Error:
        return None
    if not found.startswith(b"\x89PNG"):
        return None
    whole = base64.b64encode(found).decode()
    return element("img", src=f"data:image/png;base64,{whole}", alt="a picture that the notebook shows")


POLL_INTERVAL = 2.0
"""Seconds between two looks at the folder."""
MAX_LISTED = 1000
"""Cells that the list offers."""
_ALL = "all"


class SweepBoard(Page):
    """Show a sweep live; a cell opens its notebook and records.

    Args:
        folder: The folder of the sweep.
        picked: Called with the parameters of a field of the grid that is pressed.
    """

    def __init__(self, folder: Path | str, *, picked: Callable[[Mapping[str, Any]], None] | None = None) -> None:
        self._folder, self._picked = SweepFolder(folder), picked
        self._now: SweepStatus | None = None
        self._progress, self._grid = StableHTML(), StableHTML()
        states = [("all", _ALL), *((STATE_WORDS[stand], stand) for stand in CELL_STATES)]
        self._state = w.Dropdown(description="State", options=states)
        self._find = w.Text(description="Find", placeholder="beta=0.2, several words", continuous_update=True)
        self._list = w.Select(description="Cells", options=[], rows=6)
        self._cell, self._shown = w.HTML(), column()
        self._looking, self._guarded = FaultGuard("the view of a sweep"), FaultGuard("the sweep's board")
        self._notebook_button = self._guarded.button("Show its notebook", self._show_notebook, disabled=True)
        self._replay_button = self._guarded.button("Replay its records", self._show_records, disabled=True)
        self._buttons = row(self._notebook_button, self._replay_button)
        form = box(self._state, self._find, cls="nl-form")
        self._guarded.on_change(self._offer, self._state, self._find)
        self._guarded.on_change(self._show_chosen, self._list)
        look = column(form, self._list, self._cell, self._buttons, self._guarded.notice, self._shown)
        title = w.HTML(element("h1", f"Sweep: {self._folder.path.name}"))
        picks = Picks(self._pick, self._guarded)
        children = [picks, title, self._looking.notice, self._progress, self._grid, look]
        super().__init__(children, self._guarded.show)
        self._looking(self.refresh)
        run_in_background(self._watch)

    def refresh(self) -> None:
        """Read the folder and show it."""
        now = read_sweep_status(self._folder.path, self._now)
        before, self._now = self._now, now
        self._progress.value, self._grid.value = render_progress(now), render_grid(now)
        if before is None or (before.ended, before.running) != (now.ended, now.running):
            self._offer()

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(POLL_INTERVAL)
            self._looking(self.refresh)

    def _offer(self) -> None:
        """List the cells that match the filters; the chosen one stays chosen."""
        if self._now is None:
            return
        words = self._find.value.lower().replace(",", " ").split()
        wanted = self._state.value
        found = [
            cell
            for cell in self._now.cells
            if wanted in (_ALL, self._now.state(cell)) and all(word in _cell_label(cell).lower() for word in words)
        ]
        chosen = self._list.value
        options = [
            (f"{_cell_label(cell)}: {STATE_WORDS[self._now.state(cell)]}", cell.id) for cell in found[:MAX_LISTED]
        ]
        self._list.options = options
        ids = [id for _, id in options]
        self._list.value = chosen if chosen in ids else (ids[0] if ids else None)
        self._show_chosen()

    def _pick(self, id: str) -> None:
        """Choose a cell of the grid, whatever the list was filtered by."""
        cell = next((cell for cell in self._now.cells if cell.id == id), None) if self._now is not None else None
        if cell is None:
            return
        if id not in [value for _, value in self._list.options]:
            self._state.value, self._find.value = _ALL, _cell_label(cell)
        self._list.value = id
        if self._picked is not None:
            self._picked(cell.params)

    def _show_chosen(self) -> None:
        cell = self._chosen()
        self._cell.value = render_cell(self._now, cell) if self._now is not None and cell is not None else Markup("")
        place = self._cell_folder()
        self._notebook_button.disabled = place is None or not (place / NOTEBOOK).exists()
        self._replay_button.disabled = place is None or not any(place.rglob("*.jsonl"))

    def _chosen(self) -> SweepCell | None:
        cells = self._now.cells if self._now is not None else ()
        return next((cell for cell in cells if cell.id == self._list.value), None)

    def _cell_folder(self) -> Path | None:
        """Return the folder of the chosen cell: finished, or its newest attempt."""
        cell = self._chosen()
        if cell is None or self._now is None or (status := self._now.ended.get(cell.id)) is None:
            return None
        finished = status.state == "done"
        return self._folder.cell(cell.id) if finished else self._folder.attempt_path(cell.id, status.attempts)

    def _show_notebook(self) -> None:
        if (place := self._cell_folder()) is not None:
            self._shown.children = [w.HTML(render_notebook(place / NOTEBOOK))]

    def _show_records(self) -> None:
        if (place := self._cell_folder()) is not None:
            from negolab_widgets.replay import Replay

            self._shown.children = [Replay(place)]


def _cell_label(cell: SweepCell) -> str:
    """Describe a cell in the list."""
    said = " ".join(f"{name}={format_value(value)}" for name, value in cell.params.items())
    return f"{said} repeat={cell.repeat}"


__all__ = ["SweepBoard"]
