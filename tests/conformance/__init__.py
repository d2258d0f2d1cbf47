"""The conformance vectors of each game, as cases: one per row."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple


class Case(NamedTuple):
    """One row of one file and what must hold for it."""

    file: str
    id: str
    check: Callable[[], None]


def rows(folder: Path, name: str) -> Iterator[dict[str, Any]]:
    """The rows of a JSON Lines file; none if it is missing."""
    path = folder / name
    if path.is_file():
        for line in path.read_text("utf-8").split("\n"):
            if line.strip():
                yield json.loads(line)
