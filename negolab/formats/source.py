"""Records from wherever they are: a file of ours, a run's folder, or a folder of published clembench episodes."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import NamedTuple

from negolab import store
from negolab.formats import clembench
from negolab.record import Record


class Opened(NamedTuple):
    """The records, in the order they stand there, and a sentence for each thing that could not be read as it is."""

    records: tuple[Record, ...]
    troubles: tuple[str, ...] = ()


def opened(path: Path | str) -> Opened:
    """All records at `path`. An episode that crashed, or that comes out differently from what its files say, is a
    trouble and the rest is read; a damaged file of ours is a `ValueError` that names the line."""
    path = Path(path)
    if path.is_dir() and next(path.rglob("*.jsonl"), None) is None:
        return _published(path)
    with warnings.catch_warnings(record=True) as torn:
        warnings.simplefilter("always")
        records = tuple(store.iterate(path))
    if not records:
        raise ValueError(f"there are no records in {path}")
    return Opened(records, tuple(str(each.message) for each in torn))


def _published(root: Path) -> Opened:
    records: list[Record] = []
    troubles: list[str] = []
    for folder, found in clembench.tree(root):
        if isinstance(found, str):
            troubles.append(found)
            continue
        records.append(found.record)
        troubles += (f"{folder}: {difference}" for difference in found.differences)
    if not records and not troubles:
        raise ValueError(f"there are no records in {root}: neither .jsonl files nor folders with an instance.json")
    return Opened(tuple(records), tuple(troubles))
