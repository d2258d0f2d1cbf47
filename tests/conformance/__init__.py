"""The conformance vectors of each game, as cases: one per row."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from negolab.catalog import load
from negolab.events import Rejected
from negolab.game import Invalid
from negolab.match import Match


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


def check_reading(row: dict[str, Any], meant: Callable[[Any], object]) -> None:
    """A row of `reading.jsonl`: a text after a history is refused, or read as another text is.

    Args:
        row: The row.
        meant: What of an action must be equal; verbatim text need not be.
    """
    match = Match(load(row["game"], row["preset"], **row["params"], reading="fair"), seed=row["seed"])
    for text in row["history"]:
        seat = next(iter(match.pending()))
        assert not any(isinstance(event, Rejected) for event in match.submit(seat, text)), text
    seat = next(iter(match.pending()))
    told, seen = match.told(seat), match.seen(seat)
    read, expect = told.parse(row["text"], seen), row["expect"]
    if "refused" in expect:
        assert isinstance(read, Invalid), f"{row['text']!r}: {read!r}, not refused"
        assert expect["refused"] in (True, *read.codes), f"{row['text']!r}: {read.codes}, not {expect['refused']}"
        return
    same = told.parse(expect["same_as"], seen)
    assert not isinstance(read, Invalid), f"{row['text']!r}: {read.codes}, not {same!r}"
    assert meant(read) == meant(same), f"{row['text']!r}: {read!r}, not {same!r}"
