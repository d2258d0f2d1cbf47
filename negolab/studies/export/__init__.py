"""Export of a study: the tables of any export, and its events, participants, answers and consents.

The folder is written under a temporary name and then moved into place; only an earlier export of the same study is
replaced.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from negolab import catalog, user_code
from negolab._internal.files import private_files, read_bytes
from negolab._internal.version import __version__
from negolab.analysis import export as exporting
from negolab.match import Match
from negolab.studies.database import Database
from negolab.studies.export import tables
from negolab.studies.export.source import Source, source
from negolab.studies.study_config import Study

_FILES = {
    "export.json",
    "study.toml",
    "records.jsonl",
    user_code.FILE,
    exporting.DICTIONARY,
    exporting.README,
    exporting.SETTINGS,
}
_TABLE_NAMES = (*exporting.MATCH_TABLES, "events", "participants", "answers", "pages", "quiz", "consents")


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
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as place:
            new = Path(place) / "new"
            new.mkdir()
            yield new
            _check(folder, study)
            if folder.exists():
                folder.rename(Path(place) / "old")
            new.rename(folder)
    except OSError as error:
        raise ValueError(f"{folder} cannot be written: {error.strerror or error}") from None


def _check(folder: Path, study: str) -> None:
    """Raise `ValueError` unless `folder` is missing, empty, or purely an earlier export of the same study."""
    if not folder.exists():
        return
    if not folder.is_dir():
        raise ValueError(f"{folder} is a file: choose a folder with --out")
    ours = _FILES | {f"{table}.{ending}" for table in _TABLE_NAMES for ending in ("csv", "parquet")}
    foreign = sorted(path.name for path in folder.iterdir() if path.name not in ours)
    if foreign:
        raise ValueError(
            f"{folder} has {foreign[0]!r}, which is not part of an export: choose another folder with --out"
        )
    if any(folder.iterdir()) and _study(folder) != study:
        raise ValueError(f"{folder} is not an export of the study {study!r}: choose another folder with --out")


def _study(folder: Path) -> str | None:
    """Return the study named in a folder's export.json; None if that cannot be read."""
    try:
        about = msgspec.json.decode(read_bytes(folder / "export.json"))
    except (OSError, msgspec.DecodeError, RecursionError):
        return None
    return about.get("study") if isinstance(about, dict) else None


def export(database: Database, study: Study, folder: Path, to: str = "both", *, test: bool = False) -> dict[str, int]:
    """Write a study's tables, data dictionary, study file and records to a folder, all or nothing.

    Args:
        database: The database of the study.
        study: The study.
        folder: The folder to write; an earlier export of the same study is replaced.
        to: Endings of the files, by commas: csv, parquet, xlsx.
        test: Write the data of links for tests, which are left out otherwise, and no others.

    Returns:
        Number of rows by table.

    Raises:
        ValueError: `folder` holds anything but an earlier export of this study, or cannot be written.
    """
    data, name = source(database, study, test=test), f"{study.name}, links for tests" if test else study.name
    with private_files(), replace_folder(folder, name) as new:
        rows = exporting.export(_tables(data), new, exporting.parse_endings(to))
        (new / "records.jsonl").write_bytes(b"".join(_records(data)))
        if (code := catalog.source(data.game)) is not None:
            user_code.write(new, {catalog.game_id(data.game): code})
        (new / "study.toml").write_text(study.text, "utf-8")
        about = {"study": name, "exported": database.clock(), "negolab": __version__, "rows": rows}
        (new / "export.json").write_bytes(msgspec.json.format(msgspec.json.encode(about)) + b"\n")
    return rows


def _tables(data: Source) -> exporting.Tables:
    """Return what a study holds, for the export."""
    found = (
        exporting.Exported(tables.match_keys(played), played.record, replays=not played.purged)
        for played in data.matches
    )
    others = {
        "events": (tables.event_columns(data), tables.event_rows(data)),
        "participants": (tables.participant_columns(data), tables.participant_rows(data)),
        "pages": (tables.PAGE_COLUMNS, tables.page_rows(data)),
    }
    if data.study.asked():
        others["answers"] = (tables.ANSWER_COLUMNS, tables.answer_rows(data))
    if "quiz" in data.study.kinds() or any(data.attempts.values()):
        others["quiz"] = (tables.QUIZ_COLUMNS, tables.quiz_rows(data))
    if data.study.consents or data.consents:
        others["consents"] = (tables.CONSENT_COLUMNS, tables.consent_rows(data))
    return exporting.Tables((), tables.KEYS, found, others, lambda: Match(data.game, seed=0).record())


def _records(data: Source) -> Iterator[bytes]:
    """Yield the records of finished matches without deleted text; only these replay to their stored outcome."""
    return (played.record.to_line() for played in data.matches if played.record.end and not played.purged)
