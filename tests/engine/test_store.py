"""Records on disk, truncated at every byte at which a process can die."""

from __future__ import annotations

import json
import os
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from negolab import laws
from negolab.catalog import load
from negolab.record import SCHEMA, parse_record, start_state
from negolab.runs.batch import batch
from negolab.runs.plan import Plan
from negolab.store import Store, find, iter_records, read

RECORDS = [laws.playout(load("trading"), seed).record() for seed in range(3)]
LINES = [record.to_line() for record in RECORDS]


def test_a_run_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        for record in RECORDS:
            store.append(record)
        assert store.ids() == {record.id for record in RECORDS}
    assert [record.to_line() for record in read(tmp_path)] == LINES
    assert [record.id for record in read(store.file)] == [record.id for record in RECORDS]


def test_a_file_cut_at_any_byte_keeps_every_finished_game(tmp_path: Path) -> None:
    last = LINES[2]
    for cut in sorted({*range(0, len(last), 97), len(last) - 2, len(last) - 1, len(last)}):
        folder = tmp_path / str(cut)
        folder.mkdir()
        file = folder / "records.jsonl"
        file.write_bytes(b"".join(LINES[:2]) + last[:cut])
        finished = 3 if cut >= len(last) - 1 else 2
        torn = cut > 0 and finished == 2
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            assert len(read(file)) == finished
        assert [str(file) in str(w.message) for w in caught] == [True] * torn
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with Store(folder) as store:
                store.append(RECORDS[2])
        assert len(read(file)) == finished + 1, "what was torn is cut off before the next append"


def test_a_bad_line_inside_a_file_is_named(tmp_path: Path) -> None:
    file = tmp_path / "records.jsonl"
    file.write_bytes(LINES[0] + b"{}\n" + LINES[1])
    with pytest.raises(ValueError, match=r"records.jsonl, line 2: not a record"):
        read(file)
    found = iter_records(file)
    assert next(found).id == RECORDS[0].id


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"notes": {"models": "x"}}, "not a record: Expected `object`, got `str` - at `$.header.notes.models`"),
        ({"notes": {"models": {"A": {"persona": 7}}}}, "got `int` - at `$.header.notes.models[...].persona`"),
        (
            {"notes": {"models": {"A": {"persona": {"sha256": "0"}}}}},
            "not a record: Object missing required field `file` - at `$.header.notes.models[...].persona`",
        ),
        ({"notes": {"deterministic": 5}}, "got `int` - at `$.header.notes.deterministic`"),
        ({"notes": {"stopped": ["x"]}}, "got `array` - at `$.header.notes.stopped`"),
        ({"id": ""}, "Expected `str` of length >= 1 - at `$.header.id`"),
        ({"seed": 10**400}, "has a seed too large for a float"),
        ({"params": {"max_turns": 10**400}}, "not a record: its parameters contain a number too large for a float"),
    ],
)
def test_a_header_that_nothing_can_work_with_is_named_with_its_place(
    tmp_path: Path, changed: dict[str, Any], said: str
) -> None:
    record = json.loads(LINES[0])
    record["header"] |= changed
    file = tmp_path / "records.jsonl"
    file.write_bytes(LINES[1] + json.dumps(record).encode() + b"\n")
    with pytest.raises(ValueError, match=r"records.jsonl, line 2: .*" + re.escape(said)):
        read(file)


def test_a_start_with_a_number_that_nothing_can_work_with_is_named(tmp_path: Path) -> None:
    record = json.loads(LINES[0])
    record["events"][0]["state"]["public"]["more"] = 10**400
    with pytest.raises(ValueError, match="not a record: its first values contain a number too large for a float"):
        parse_record(json.dumps(record))


def test_a_start_with_more_rounds_than_a_game_may_have_is_refused() -> None:
    record = json.loads(laws.playout(load("bargaining"), 1).record().to_line())
    record["events"][0]["state"]["public"]["terms"]["rounds"] = 10**18
    with pytest.raises(ValueError, match=r"record .*: the start does not fit Bargaining: Expected `int` <= 100000"):
        start_state(parse_record(json.dumps(record)))


def test_a_time_that_no_calendar_has_and_a_line_set_aside_that_is_no_record_are_named(tmp_path: Path) -> None:
    record = json.loads(LINES[0])
    next(event for event in record["events"] if "reply" in event)["reply"]["answered_at"] = 1e300
    with pytest.raises(ValueError, match=r"not a record: Expected `float` <= 9000000000.0 - at `\$.events"):
        parse_record(json.dumps(record))
    (tmp_path / "retried.ndjson").write_bytes(b"x\n")
    with Store(tmp_path) as store, pytest.raises(ValueError, match=r"retried.ndjson, line 1: not a record"):
        store.redraw_counts()


def test_a_record_is_found_by_its_id_however_a_file_escapes_it(tmp_path: Path) -> None:
    record = json.loads(LINES[0])
    record["header"]["id"] = 'é"1'
    (tmp_path / "theirs.jsonl").write_text(json.dumps(record) + "\n")
    (tmp_path / "ours.jsonl").write_bytes(parse_record(json.dumps(record)).to_line())
    assert {find(tmp_path / f"{name}.jsonl", 'é"1').id for name in ("theirs", "ours")} == {'é"1'}


def test_a_line_longer_than_any_record_is_named_and_not_read_into_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("negolab.store.MAX_LINE", 1 << 20)
    file = tmp_path / "records.jsonl"
    file.write_bytes(LINES[0] + b"x" * (3 << 20) + b"\n")
    with pytest.raises(ValueError, match=r"records.jsonl, line 2 exceeds the maximum of 1 MiB"):
        read(file)


def test_brackets_nested_without_end_in_a_folders_sources_are_refused_with_the_file(tmp_path: Path) -> None:
    (tmp_path / "records.jsonl").write_bytes(LINES[0])
    (tmp_path / "sources.json").write_text('{"a":' * 100_000)
    with pytest.raises(ValueError, match=r"sources\.json cannot be read"):
        read(tmp_path)


def test_a_record_of_a_newer_schema_says_so() -> None:
    newer = LINES[0].replace(b'{"header":{', b'{"header":{"schema":%d,' % (SCHEMA + 1))
    with pytest.raises(ValueError, match=f"has schema {SCHEMA + 1}"):
        parse_record(newer)


def test_two_processes_cannot_write_one_run(tmp_path: Path) -> None:
    with Store(tmp_path), pytest.raises(ValueError, match="is in use"):
        Store(tmp_path)


def test_a_folder_keeps_the_games_of_one_plan(tmp_path: Path) -> None:
    plan = Plan(game="trading", preset="seed", params={}, a="chat", b="chat", n=2, seed=1)
    with Store(tmp_path) as store:
        store.claim(plan)
        store.claim(plan)
        with pytest.raises(ValueError, match="contains another run"):
            store.claim(Plan(game="trading", preset="seed", params={}, a="chat", b="fair-split", n=2, seed=1))


def test_a_record_does_not_import_what_it_names() -> None:
    line = LINES[0].replace(b'"game":"trading"', b'"game":"antigravity:Game"')
    record = parse_record(line)
    with pytest.raises(ValueError, match=r"specify its file, such as --module antigravity\.py"):
        _ = record.game


def test_a_file_that_is_no_run_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "records.jsonl"
    file.write_text("important notes without a line end")
    with pytest.raises(ValueError, match="does not end with a record"):
        Store(tmp_path)
    assert file.read_text() == "important notes without a line end"


def test_single_matches_do_not_mix_with_a_batch(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        store.claim(Plan(game="trading", preset="seed", params={}, a="chat", b="chat", n=2, seed=1))
    with pytest.raises(ValueError, match="contains a batch"):
        Store(tmp_path).for_single_matches()


def test_a_full_disk_leaves_no_half_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write, room = os.write, [300]

    def full(file: int, data: Any) -> int:
        if not room[0]:
            raise OSError(28, "No space left on device")
        written = write(file, data[: room[0]])
        room[0] -= written
        return written

    (record,) = batch("trading", "chat", "chat", n=1, seed=1)
    with Store(tmp_path) as store:
        store.append(record)
        monkeypatch.setattr(os, "write", full)
        with pytest.raises(OSError, match=r"No space.*records\.jsonl"):
            store.append(record)
        monkeypatch.undo()
    assert [one.id for one in read(tmp_path)] == [record.id]
    assert (tmp_path / "records.jsonl").read_bytes() == record.to_line()


@pytest.mark.parametrize(
    ("lose", "said"),
    [
        (lambda file: file.rename(file.with_name("moved.jsonl")), "was deleted, moved or replaced"),
        (lambda file: os.truncate(file, 0), "was cut by another program"),
        (lambda file: file.write_bytes(RECORDS[1].to_line() * 9), "was changed by another program"),
    ],
)
def test_records_that_are_lost_after_the_last_game_are_noticed_and_the_folder_is_free(
    tmp_path: Path, lose: Callable[[Path], None], said: str
) -> None:
    store = Store(tmp_path)
    store.append(RECORDS[0])
    lose(store.file)
    with pytest.raises(OSError, match=said):
        store.close()
    Store(tmp_path).close()


def test_one_record_is_found_by_its_whole_id(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        for record in batch("trading", "random-legal", "random-legal", n=3, seed=1):
            store.append(record)
    records = read(tmp_path)
    assert find(tmp_path, records[1].id) == records[1]
    for id in (records[1].id[:5], "nothing"):
        with pytest.raises(ValueError, match="there is no record"):
            find(tmp_path, id)
