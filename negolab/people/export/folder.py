"""The folder of an export: written beside its place and moved there whole, over nothing but an earlier export."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

_FILES = {"export.json", "study.toml", "records.jsonl", "dictionary.csv"}
_TABLES = ("events", "matches", "participants", "answers", "consents")


@contextmanager
def replacing(folder: Path, study: str) -> Iterator[Path]:
    """A new folder to write to, which takes the place of `folder` when all went well."""
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
    """`ValueError` unless `folder` is free, or an earlier export of the same study and no more."""
    if not folder.exists():
        return
    if not folder.is_dir():
        raise ValueError(f"{folder} is a file: choose a folder with --out")
    ours = _FILES | {f"{table}.{ending}" for table in _TABLES for ending in ("csv", "parquet")}
    foreign = sorted(path.name for path in folder.iterdir() if path.name not in ours)
    if foreign:
        raise ValueError(f"{folder} holds {foreign[0]!r}, which is no part of an export: choose another with --out")
    if any(folder.iterdir()) and _study(folder) != study:
        raise ValueError(f"{folder} is no export of the study {study!r}: choose another folder with --out")


def _study(folder: Path) -> str | None:
    """Whose export it is."""
    try:
        about = msgspec.json.decode((folder / "export.json").read_bytes())
    except (OSError, msgspec.DecodeError):
        return None
    return about.get("study") if isinstance(about, dict) else None
