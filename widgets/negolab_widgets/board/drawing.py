"""A sweep as HTML: how far it is, the grid with its cells by state, and one cell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from negolab.sweep.plan import Cell
from negolab.sweep.standing import STANDS, Stand, Standing
from negolab_widgets.html import Markup, bar, element, join, pairs, panel, table

WORDS: dict[Stand, str] = {
    "done": "done",
    "running": "running",
    "waiting": "waiting",
    "failed": "failed",
    "timeout": "timed out",
    "died": "died",
    "refused": "refused",
}
ROWS = 200
"""Rows of the grid that are drawn."""


def progress(now: Standing) -> Markup:
    """How many cells are over, and how they stand."""
    counts = now.counts()
    over = sum(counts[stand] for stand in STANDS if stand not in ("waiting", "running"))
    meter = bar(over, len(now.cells), f"{over:,} of {len(now.cells):,} cells", name="Cells that are over")
    seconds = sorted(status.seconds for status in now.ended.values() if status.state == "done")
    facts: list[tuple[str, object]] = [(WORDS[stand], f"{counts[stand]:,}") for stand in STANDS if counts[stand]]
    if seconds:
        facts.append(("a cell takes", f"{seconds[len(seconds) // 2]:.1f} s (median, n = {len(seconds):,})"))
    return panel("Sweep", meter, pairs(facts))


def grid(now: Standing) -> Markup:
    """The grid: the last axis across, the others down; in each field its repeats by state."""
    axes = now.plan.axes()
    across = [tuple(point.items()) for point in axes[-1]] if axes else [()]
    names = [name for axis in axes[:-1] for name in axis[0]]
    fields: dict[tuple[str, ...], dict[str, list[Cell]]] = {}
    for cell in now.cells:
        down = tuple(said(cell.params[name]) for name in names)
        fields.setdefault(down, {}).setdefault(_named(cell, across), []).append(cell)
    columns = [_words(point) for point in across]
    head = [*(names or ["cells"]), *columns]
    shown = list(fields.items())[:ROWS]
    rows = [_row(now, down, found, columns) for down, found in shown]
    more = f"The first {ROWS} of {len(fields):,} rows." if len(fields) > ROWS else ""
    across_names = " and ".join(name for name, _ in across[0]) or "cells"
    note = element("p", f"Across: {across_names}. Each field has {_repeats(now)}. {more}".strip())
    return panel("Grid", note, table(head, rows, "Cells of the grid by state", cls="nl-grid"))


def _row(now: Standing, down: tuple[str, ...], found: dict[str, list[Cell]], columns: Sequence[str]) -> list[object]:
    return [*(down or ("",)), *(field(now, found.get(column, [])) for column in columns)]


def _repeats(now: Standing) -> str:
    return "one run" if now.plan.repeats == 1 else f"{now.plan.repeats} repeats"


def _named(cell: Cell, across: Sequence[tuple[tuple[str, Any], ...]]) -> str:
    return _words(tuple((name, cell.params[name]) for name, _ in across[0]))


def _words(point: Sequence[tuple[str, Any]]) -> str:
    return ", ".join(said(value) for _, value in point) or "runs"


def said(value: Any) -> str:
    """A parameter's value as it is shown."""
    if isinstance(value, float):
        return short if float(short := f"{value:g}") == value else repr(value)
    return str(value)


def field(now: Standing, cells: Sequence[Cell]) -> Markup:
    """One field of the grid: its runs by state, in words and colour."""
    if not cells:
        return element("span", "left out", cls="nl-soft")
    counts = Counter(map(now.of, cells))
    few = len(cells) == 1
    parts = [
        element("span", WORDS[stand] if few else f"{counts[stand]} {WORDS[stand]}", cls=f"nl-state nl-state-{stand}")
        for stand in STANDS
        if counts[stand]
    ]
    return join(parts)


def one(now: Standing, cell: Cell) -> Markup:
    """One cell: its parameters, and what became of it."""
    status = now.ended.get(cell.id)
    facts: list[tuple[str, object]] = [(name, said(value)) for name, value in cell.params.items()]
    facts += [("repeat", cell.repeat), ("seed", cell.seed), ("state", WORDS[now.of(cell)])]
    if status is not None:
        facts += [("took", f"{status.seconds:.1f} s"), ("attempt", status.attempts), ("worker", status.worker)]
        if status.error is not None:
            where = f", cell {status.error.cell} of the notebook" if status.error.cell else ""
            facts.append(("why", f"{status.error.kind}{where}: {status.error.text}"))
    return panel("Cell", pairs(facts))
