"""The finished matches of a sweep as one tidy frame, read one cell at a time."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import pyarrow as pa

from negolab.analysis import cells
from negolab.analysis.columns import to_frame, unify
from negolab.analysis.match_frames import read_cell
from negolab.sweeps import status
from negolab.sweeps.folder import SweepFolder

REPEAT = "repeat"


class SweepFrame(NamedTuple):
    """A row per match, with its measures and its cell's parameters; `parameters` gives their columns by name."""

    frame: pd.DataFrame
    parameters: Mapping[str, str] = {}


class SweepReader:
    """Read each finished cell once, because finished cells do not change.

    Attributes:
        faults: The cells that could not be read, and why.
        matches: Number of matches read so far.
        empty_cells: Cells without records.
    """

    def __init__(self, folder: Path | str) -> None:
        self._cells = SweepFolder(folder).path / status.CELLS
        self._tables: dict[str, pa.Table] = {}
        self._params: dict[str, Mapping[str, Any]] = {}
        self.faults: dict[str, str] = {}
        self.matches = self.empty_cells = 0

    @property
    def cells_read(self) -> int:
        """Number of cells that have been read."""
        return len(self._params)

    def unread_cells(self) -> list[Path]:
        """List the folders of the finished cells that have not been read yet."""
        known = {*self._params, *self.faults}
        return [cell for cell in status.subfolders(self._cells) if cell.name not in known]

    def read_cell(self, cell: Path) -> None:
        """Read one cell."""
        try:
            found = status.read_status(cell)
            if found is None:
                raise ValueError(f"{cell} has no {status.FILE}: it is not a finished cell")
            matches = read_cell(cell)
        except (ValueError, OSError) as error:
            self.faults[cell.name] = str(error)
            return
        self._params[cell.name] = found.params
        self.matches += len(matches)
        if not len(matches):
            self.empty_cells += 1
            return
        self._tables[cell.name] = matches.append_column(REPEAT, pa.repeat(found.repeat, len(matches)))

    def frame(self) -> SweepFrame:
        """Return everything read so far."""
        if not self._tables:
            return SweepFrame(pd.DataFrame())
        whole = to_frame(unify(self._tables.values()))
        joined, names = cells.join_parameters(whole, {cell: self._params[cell] for cell in self._tables})
        return SweepFrame(joined, names)
