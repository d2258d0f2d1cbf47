"""Lists of records: what is read of each, and where the record itself is found again."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

import negolab as nl
from negolab.catalog import game_names
from negolab.formats import list_file, list_record
from negolab.game import Reply
from negolab.match import Match
from negolab.record import Record, parse_record
from negolab.store import read

GOLDEN = Path(__file__).parents[2] / "data" / "replays"


def refused() -> Record:
    """A match that is not over, with a refused reply that quotes an event."""
    match = Match(nl.load("trading"), seed=1)
    match.submit("A", Reply('{"type":"replied"} {"type":"ended"}'))
    return parse_record(match.record().to_line())


def facts(listed: object) -> dict[str, object]:
    return {name: value for name, value in msgspec.structs.asdict(listed).items() if name not in ("source", "notes")}  # type: ignore[arg-type]


@pytest.mark.parametrize("game", game_names())
def test_a_line_of_a_file_lists_what_its_record_does(game: str) -> None:
    (record,), (listed,) = read(GOLDEN / f"{game}.jsonl"), list_file(GOLDEN / f"{game}.jsonl")
    assert facts(listed) == facts(list_record(record))
    assert json.loads(listed.notes) == record.header.notes
    assert listed.open() == record == list_record(record).open()


def test_each_record_of_a_file_is_found_again_also_after_blank_lines_and_in_spaced_json(tmp_path: Path) -> None:
    records = [*read(GOLDEN / "split.jsonl"), refused(), *read(GOLDEN / "trading.jsonl")]
    spaced = (json.dumps(json.loads(record.to_line())).encode() + b"\n\n  \n" for record in records)
    (tmp_path / "r.jsonl").write_bytes(b"".join(spaced))
    listed = list(list_file(tmp_path / "r.jsonl"))
    assert [facts(one) for one in listed] == [facts(list_record(record)) for record in records]
    assert [one.open() for one in listed] == records
    assert (listed[1].end, listed[1].payoff_a, listed[1].replies) == (None, None, 1)


def test_a_line_that_is_no_record_is_named_when_it_is_listed_or_when_it_is_opened(tmp_path: Path) -> None:
    file = tmp_path / "r.jsonl"
    file.write_text('{"header": 3}\n')
    with pytest.raises(ValueError, match=r"r.jsonl, line 1: "):
        list(list_file(file))
    file.write_text('{"header": {"id": "x", "game": "split"}, "events": [{"type": "no event"}]}\n')
    (listed,) = list_file(file)
    with pytest.raises(ValueError, match=r"r.jsonl: not a record"):
        listed.open()
