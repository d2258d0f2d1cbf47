"""A study as tidy tables: one row per event, per match, per participant and per answer, with a dictionary of columns.

Tokens, secrets and ids of an outside panel are in none of them: participants go by their numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pandas as pd

from negolab.analysis.tables import write
from negolab.people.database import Database
from negolab.people.export import events, matches, participants
from negolab.people.export.column import Column, frame
from negolab.people.export.folder import replacing
from negolab.people.export.source import Source, source
from negolab.people.study import Study
from negolab.version import __version__

__all__ = ["KINDS", "export"]

KINDS: dict[str, tuple[str, ...]] = {"csv": ("csv",), "parquet": ("parquet",), "both": ("csv", "parquet")}
"""What `--to` may say -> endings of the files."""


class _Table(NamedTuple):
    columns: Callable[[Source], list[Column]]
    rows: Callable[[Source], Iterable[Mapping[str, Any]]]


_TABLES = {
    "events": _Table(events.columns, events.rows),
    "matches": _Table(matches.columns, matches.rows),
    "participants": _Table(participants.columns, participants.rows),
}
_CONSENTS = _Table(participants.consent_columns, participants.consent_rows)
_ANSWERS = _Table(participants.answer_columns, participants.answer_rows)


def export(database: Database, study: Study, folder: Path, to: str = "both") -> dict[str, int]:
    """Write a study's tables to `folder`, all or nothing; the number of rows of each. `ValueError` if the folder holds
    anything but an earlier export of this study."""
    told = source(database, study)
    wanted = {**_TABLES, **({"answers": _ANSWERS} if study.questions else {})}
    wanted |= {"consents": _CONSENTS} if told.consents else {}
    frames = {name: frame(table.columns(told), table.rows(told)) for name, table in wanted.items()}
    with replacing(folder, study.name) as new:
        for name, table in frames.items():
            for ending in KINDS[to]:
                write(table, new / f"{name}.{ending}")
        columns = {name: table.columns(told) for name, table in wanted.items()}
        columns["details"] = matches.measures(told)
        write(_dictionary(columns), new / "dictionary.csv")
        (new / "records.jsonl").write_bytes(b"".join(_records(told)))
        (new / "study.toml").write_text(study.text, "utf-8")
        rows = {name: len(table) for name, table in frames.items()}
        about = {"study": study.name, "exported": database.clock(), "negolab": __version__, "rows": rows}
        (new / "export.json").write_bytes(msgspec.json.format(msgspec.json.encode(about)) + b"\n")
    return rows


def _dictionary(columns: dict[str, list[Column]]) -> pd.DataFrame:
    """What every column of every table means."""
    return pd.DataFrame(
        [
            {"table": table, "column": c.name, "type": c.type, "unit": c.unit, "meaning": c.meaning}
            for table, listed in columns.items()
            for c in listed
        ]
    )


def _records(told: Source) -> Iterator[bytes]:
    """Finished matches whose words are all there: those replay to their stored outcome."""
    return (played.record.to_line() for played in told.matches if played.record.end and not played.purged)
