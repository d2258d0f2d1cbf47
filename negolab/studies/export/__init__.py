"""Export of a study as tidy tables with a data dictionary: events, matches, participants, answers and consents.

The folder is written under a temporary name and then moved into place; only an earlier export of the same study is
replaced.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pandas as pd

from negolab._internal.version import __version__
from negolab.analysis.tables import write_table
from negolab.studies.database import Database
from negolab.studies.export import matches, participants
from negolab.studies.export.source import Column, Source, source, typed_frame
from negolab.studies.study_config import Study

_FILES = {"export.json", "study.toml", "records.jsonl", "dictionary.csv"}
_TABLE_NAMES = ("events", "matches", "participants", "answers", "consents")


@contextmanager
def replace_folder(folder: Path, study: str) -> Iterator[Path]:
    """Yield a new folder that replaces `folder` if the context ends without an exception.

    Args:
        folder: The folder to replace or make.
        study: Name of the study whose export it is.

    Raises:
        ValueError: `folder` holds anything but an earlier export of the study, or cannot be written.
    """
    _check(folder, study)
    try:
        yield from _replaced(folder, study)
    except OSError as error:
        raise ValueError(f"{folder}: cannot be written: {error.strerror or error}") from None


def _replaced(folder: Path, study: str) -> Iterator[Path]:
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as place:
        new = Path(place) / "new"
        new.mkdir()
        yield new
        _check(folder, study)
        if folder.exists():
            folder.rename(Path(place) / "old")
        new.rename(folder)


def _check(folder: Path, study: str) -> None:
    """Raise `ValueError` unless `folder` is missing, empty, or purely an earlier export of the same study."""
    if not folder.exists():
        return
    if not folder.is_dir():
        raise ValueError(f"{folder} is a file: choose a folder with --out")
    ours = _FILES | {f"{table}.{ending}" for table in _TABLE_NAMES for ending in ("csv", "parquet")}
    foreign = sorted(path.name for path in folder.iterdir() if path.name not in ours)
    if foreign:
        raise ValueError(f"{folder} holds {foreign[0]!r}, which is no part of an export: choose another with --out")
    if any(folder.iterdir()) and _study(folder) != study:
        raise ValueError(f"{folder} is no export of the study {study!r}: choose another folder with --out")


def _study(folder: Path) -> str | None:
    """Return the study named in a folder's export.json; None if that cannot be read."""
    try:
        about = msgspec.json.decode((folder / "export.json").read_bytes())
    except (OSError, msgspec.DecodeError):
        return None
    return about.get("study") if isinstance(about, dict) else None


__all__ = ["KINDS", "export"]

KINDS: dict[str, tuple[str, ...]] = {"csv": ("csv",), "parquet": ("parquet",), "both": ("csv", "parquet")}
"""Endings of the files by value of `--to`."""


class _Table(NamedTuple):
    columns: Callable[[Source], list[Column]]
    rows: Callable[[Source], Iterable[Mapping[str, Any]]]


_TABLES = {
    "events": _Table(matches.event_columns, matches.event_rows),
    "matches": _Table(matches.columns, matches.rows),
    "participants": _Table(participants.columns, participants.rows),
}
_CONSENTS = _Table(participants.consent_columns, participants.consent_rows)
_ANSWERS = _Table(participants.answer_columns, participants.answer_rows)


def export(database: Database, study: Study, folder: Path, to: str = "both") -> dict[str, int]:
    """Write a study's tables, data dictionary, study file and records to a folder, all or nothing.

    Args:
        database: The database of the study.
        study: The study.
        folder: The folder to write; an earlier export of the same study is replaced.
        to: "csv", "parquet" or "both".

    Returns:
        Number of rows by table.

    Raises:
        ValueError: `folder` holds anything but an earlier export of this study, or cannot be written.
    """
    data = source(database, study)
    tables = {**_TABLES, **({"answers": _ANSWERS} if study.questions else {})}
    tables |= {"consents": _CONSENTS} if data.consents else {}
    frames = {name: typed_frame(table.columns(data), table.rows(data)) for name, table in tables.items()}
    with replace_folder(folder, study.name) as new:
        for name, table in frames.items():
            for ending in KINDS[to]:
                write_table(table, new / f"{name}.{ending}")
        columns = {name: table.columns(data) for name, table in tables.items()}
        columns["details"] = matches.measures(data)
        write_table(_dictionary(columns), new / "dictionary.csv")
        (new / "records.jsonl").write_bytes(b"".join(_records(data)))
        (new / "study.toml").write_text(study.text, "utf-8")
        rows = {name: len(table) for name, table in frames.items()}
        about = {"study": study.name, "exported": database.clock(), "negolab": __version__, "rows": rows}
        (new / "export.json").write_bytes(msgspec.json.format(msgspec.json.encode(about)) + b"\n")
    return rows


def _dictionary(columns: dict[str, list[Column]]) -> pd.DataFrame:
    """Build the data dictionary, with a row for each column of each table."""
    return pd.DataFrame(
        [
            {"table": table, "column": c.name, "type": c.type, "unit": c.unit, "meaning": c.meaning}
            for table, listed in columns.items()
            for c in listed
        ]
    )


def _records(data: Source) -> Iterator[bytes]:
    """Yield the records of finished matches without deleted text; only these replay to their stored outcome."""
    return (played.record.to_line() for played in data.matches if played.record.end and not played.purged)
