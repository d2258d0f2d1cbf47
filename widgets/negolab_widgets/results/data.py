"""The finished matches of a sweep as one tidy frame, read a cell at a time."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from negolab import store
from negolab.analysis import cells, tables
from negolab.sweeps import status
from negolab.sweeps.folder import SweepFolder

REPEAT = "repeat"


class SweepFrame(NamedTuple):
    """A row per match, with its measures and its cell's parameters; `parameters` are the columns of those by name."""

    frame: pd.DataFrame
    parameters: Mapping[str, str] = {}


class SweepReader:
    """Read each finished cell once: a finished cell does not change.

    Attributes:
        faults: The cells that could not be read, and why.
        matches: Matches read so far.
        empty_cells: Cells that hold no records.
    """

    def __init__(self, folder: Path | str) -> None:
        self._cells = SweepFolder(folder).path / "cells"
        self._frames: dict[str, pd.DataFrame] = {}
        self._params: dict[str, Mapping[str, Any]] = {}
        self.faults: dict[str, str] = {}
        self.matches = self.empty_cells = 0

    @property
    def cells_read(self) -> int:
        """Number of cells that have been read."""
        return len(self._params)

    def unread_cells(self) -> list[Path]:
        """List the folders of the finished cells that were not read yet."""
        if not self._cells.is_dir():
            return []
        known = {*self._params, *self.faults}
        return sorted(path for path in self._cells.iterdir() if path.name not in known)

    def read_cell(self, cell: Path) -> None:
        """Read one cell."""
        try:
            found = status.read_status(cell)
            if found is None:
                raise ValueError(f"{cell} has no {status.FILE}: it is no finished cell")
            frame = _read_matches(cell)
        except (ValueError, OSError) as error:
            self.faults[cell.name] = str(error)
            return
        self._params[cell.name] = found.params
        self.matches += len(frame)
        if frame.empty:
            self.empty_cells += 1
        else:
            self._frames[cell.name] = frame.assign(cell=cell.name, **{REPEAT: found.repeat})

    def frame(self) -> SweepFrame:
        """Return all that was read so far."""
        if not self._frames:
            return SweepFrame(pd.DataFrame())
        whole = typed_columns(pd.concat(self._frames.values(), ignore_index=True))
        joined, names = cells.join_parameters(whole, {cell: self._params[cell] for cell in self._frames})
        return SweepFrame(joined, names)


def _read_matches(cell: Path) -> pd.DataFrame:
    """Read the matches of one cell with their measures."""
    records = store.read(cell)
    if not records:
        return pd.DataFrame()
    found = tables.matches(records)
    agreed = (found["end"] == "AGREED").astype("boolean").where(found["end"].notna())
    measured = tables.measures(records)
    fresh = measured.drop(columns=[name for name in measured if name in found])
    return pd.concat([found.assign(agreed=agreed), fresh], axis=1)


def typed_columns(frame: pd.DataFrame) -> pd.DataFrame:
    """Convert columns of Python objects to booleans or numbers, with gaps where a match has none."""
    changed = {str(name): _typed_column(frame[name]) for name, kind in frame.dtypes.items() if kind == "object"}
    return frame.assign(**changed)


def _typed_column(column: pd.Series[Any]) -> pd.Series[Any]:
    kinds = {type(value) for value in column if not pd.isna(value)}
    if kinds == {bool}:
        return column.astype("boolean")
    return column.astype(float) if kinds <= {int, float, bool} else column
