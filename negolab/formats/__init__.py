"""Records from any source, transcripts, and published corpora.

`open_records` reads a file of records, the folder of a run, or a folder of published clembench episodes.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import NamedTuple

from negolab import store
from negolab.formats import clembench
from negolab.record import Record


class OpenedRecords(NamedTuple):
    """Records in the order of their files, and a sentence for each problem met in reading them."""

    records: tuple[Record, ...]
    troubles: tuple[str, ...] = ()


def open_records(path: Path | str) -> OpenedRecords:
    """Read all records at `path`.

    Args:
        path: A file of records, the folder of a run, or a folder of published clembench episodes.

    Returns:
        The records. An episode that crashed, or whose replay differs from its files, is named in `troubles`, and so is
        a torn last line; the rest is read.

    Raises:
        FileNotFoundError: There is neither a file nor a folder at `path`.
        ValueError: There are no records, or a line is not a record; names file and line.
    """
    path = Path(path)
    if path.is_dir() and next(path.rglob("*.jsonl"), None) is None:
        return _published(path)
    with warnings.catch_warnings(record=True) as torn:
        warnings.simplefilter("always")
        records = tuple(store.iter_records(path))
    if not records:
        raise ValueError(f"there are no records in {path}")
    return OpenedRecords(records, tuple(str(each.message) for each in torn))


def _published(root: Path) -> OpenedRecords:
    records: list[Record] = []
    troubles: list[str] = []
    for folder, found in clembench.read_tree(root):
        if isinstance(found, str):
            troubles.append(found)
            continue
        records.append(found.record)
        troubles += (f"{folder}: {difference}" for difference in found.differences)
    if not records and not troubles:
        raise ValueError(f"there are no records in {root}: neither .jsonl files nor folders with an instance.json")
    return OpenedRecords(tuple(records), tuple(troubles))
