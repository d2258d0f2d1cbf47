"""The study database on SQLite and PostgreSQL: nothing is lost or duplicated, and places are assigned once."""

from __future__ import annotations

import json
import os
import random
import shutil
import sqlite3
import stat
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from negolab import catalog
from negolab.events import Ended, Rejected, Replied
from negolab.match import Match
from negolab.record import Record
from negolab.runs.driver import make_player, play
from negolab.studies.database import CONSENT, PURGED, BonusFile, Database
from negolab.studies.database.base import DatabaseInUse
from negolab.studies.database.connection import DatabaseClosed, describe_error, is_unreachable
from negolab.studies.database.connection import database_url as location
from negolab.studies.database.participants import assign, block
from negolab.studies.database.payments import BONUS_WRITTEN
from negolab.studies.payment import Currency
from tests.support.assignment import assigned
from tests.support.forked import ForkedProcess

pytestmark = pytest.mark.database

CELLS = [("easy", 1.0), ("hard", 1.0), ("pairs", 1.0)]
on_sqlite = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
"""For what does not depend on the kind of database."""
on_postgres = pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    opened = Database(database_url)
    opened.study("s", "title = 'T'")
    yield opened
    opened.close()


def start(database: Database, id: str, cells: list[tuple[str, float]] = CELLS, seed: int | None = 7) -> str:
    return database.start(id, cells, seed=seed)


def counts(database: Database, *status: str) -> Counter[str]:
    found = database.participants("s")
    return Counter(p.treatment for p in found if p.treatment is not None and (not status or p.status in status))


def spread(counted: Counter[str]) -> int:
    loads = [counted[name] for name, _ in CELLS]
    return max(loads) - min(loads)


def played(seed: int = 1, **names: str) -> Match:
    game = catalog.load("trading")
    names = {"A": "fair-split", "B": "greedy-honest", **names}
    match = Match(game, seed=seed, players=names)  # type: ignore[arg-type]
    return play(match, {seat: make_player(name, game, seed, seat) for seat, name in names.items()})  # type: ignore[arg-type, misc]


# Places in treatments.


def test_the_cell_with_the_fewest_sessions_is_next_and_ties_go_to_the_lowest() -> None:
    assert assign([0, 0, 0], [1, 1, 1]) == 0
    assert assign([2, 1, 1], [1, 1, 1]) == 1


@pytest.mark.parametrize("seed", [None, 1, 2])
def test_at_any_moment_cells_differ_by_at_most_one_in_blocks_that_the_seed_permutes(seed: int | None) -> None:
    starts = [("start", str(i)) for i in range(40)]
    cells = list(assigned(starts, 4, seed=seed).values())
    for end in range(1, 41):
        counts = [cells[:end].count(cell) for cell in range(4)]
        assert max(counts) - min(counts) <= 1
    blocks = [cells[i : i + 4] for i in range(0, 40, 4)]
    if seed is None:
        assert blocks == [[0, 1, 2, 3]] * 10
    else:
        assert blocks == [block(4, number, seed) for number in range(10)]
        assert len(set(map(tuple, blocks))) > 3
    assert list(assigned(starts, 4, seed=seed).values()) == cells


def test_fifty_parallel_starts_differ_by_at_most_one(database: Database) -> None:
    people = database.invite("s", 50)
    with ThreadPoolExecutor(50) as pool:
        chosen = list(pool.map(lambda p: start(database, p.id), people))
    assert sum(counts(database, "waiting").values()) == 50
    assert counts(database) == Counter(chosen)
    assert spread(counts(database)) <= 1


def test_starts_from_several_processes_differ_by_at_most_one(database: Database, database_url: str) -> None:
    people = [p.id for p in database.invite("s", 24)]
    code = (
        "import sys; from negolab.studies.database import Database; d = Database(sys.argv[1]);"
        "[d.start(id, [('a', 1), ('b', 1), ('c', 1), ('d', 1)], seed=None) for id in sys.argv[2:]]"
    )
    running = [ForkedProcess(code, database_url, *people[i::4]) for i in range(4)]
    assert [process.wait(60) for process in running] == [0] * 4
    assert set(counts(database).values()) == {6}


@on_sqlite
def test_weights_share_the_places_out(database: Database) -> None:
    cells = [("one", 1.0), ("two", 2.0), ("three", 3.0)]
    with ThreadPoolExecutor(12) as pool:
        list(pool.map(lambda p: start(database, p.id, cells), database.invite("s", 36)))
    assert counts(database) == {"one": 6, "two": 12, "three": 18}


def test_ten_clicks_at_once_take_one_place(database: Database) -> None:
    for _ in range(5):
        (one,) = database.invite("s")
        with ThreadPoolExecutor(10) as pool:
            chosen = set(pool.map(lambda _, id=one.id: start(database, id), range(10)))
        assert len(chosen) == 1
    assert sum(counts(database).values()) == 5
    assert spread(counts(database)) <= 1


@on_sqlite
@pytest.mark.parametrize("how", ["timeout", "partner", "unpaired", "withdrawn", "ended", "error"])
def test_a_drop_out_gives_the_place_back(database: Database, how: str) -> None:
    first, *_ = people = database.invite("s", 3)
    for person in people:
        start(database, person.id)
    dropped = database.participant(first.id)
    assert dropped is not None
    database.change(first.id, status=how)
    (next_one,) = database.invite("s")
    assert start(database, next_one.id) == dropped.treatment


@on_sqlite
def test_who_completed_keeps_the_place(database: Database) -> None:
    for person in database.invite("s", 3):
        database.change(person.id, status="complete", treatment="easy")
    chosen = [start(database, p.id) for p in database.invite("s", 6)]
    assert Counter(chosen) == {"hard": 3, "pairs": 3}


def test_a_restart_between_starts_changes_nothing(database_url: str) -> None:
    chosen = []
    for opening in range(6):
        database = Database(database_url)
        database.study("s", "")
        (person,) = database.invite("s")
        assert person.number == opening + 1
        chosen.append(start(database, person.id))
        database.close()
    assert Counter(chosen) == {"easy": 2, "hard": 2, "pairs": 2}
    at_once = Database(database_url + "2" if "://" not in database_url else database_url)
    at_once.study("t", "")
    assert [at_once.start(p.id, CELLS, seed=7) for p in at_once.invite("t", 6)] == chosen
    at_once.close()


@on_sqlite
def test_random_starts_and_drops_never_unbalance_the_rest(database: Database) -> None:
    rng = random.Random(3)
    active: list[str] = []
    for _ in range(60):
        if active and rng.random() < 0.4:
            database.change(active.pop(rng.randrange(len(active))), status=rng.choice(["timeout", "withdrawn"]))
        else:
            (person,) = database.invite("s")
            before = counts(database, "waiting", "complete")
            chosen = start(database, person.id)
            assert before[chosen] == min(before[name] for name, _ in CELLS)
            active.append(person.id)


VECTORS = Path(__file__).parents[1] / "conformance" / "vectors" / "bargaining" / "assignment.jsonl"


@on_sqlite
@pytest.mark.parametrize(
    "vector", list(map(json.loads, VECTORS.read_text().splitlines())), ids=lambda vector: vector["id"]
)
def test_the_persisted_counter_gives_what_the_vectors_say(database: Database, vector: dict[str, Any]) -> None:
    cells = [(str(cell), 1.0) for cell in range(vector["cells"])]
    people: dict[str, str] = {}
    chosen = []
    for op, session in vector["ops"]:
        if op == "start":
            people[session] = database.invite("s")[0].id
            chosen.append(int(start(database, people[session], cells, seed=None)))
        else:
            database.change(people[session], status={"complete": "complete", "drop": "timeout"}[op])
    assert chosen == vector["expect"]


def test_numbers_run_on_however_many_come_at_once(database: Database) -> None:
    with ThreadPoolExecutor(20) as pool:
        list(pool.map(lambda _: database.invite("s", 2), range(20)))
    assert [p.number for p in database.participants("s")] == list(range(1, 41))


# Matches.


def test_a_match_comes_back_as_it_was_played(database: Database) -> None:
    match = played()
    record = match.record()
    a, b = database.invite("s", 2)
    database.add(Record(record.header, record.events[:1]), {"A": a.id, "B": b.id}, study="s", treatment="easy")
    for seq in range(1, len(record.events)):
        database.append(match.id, seq, record.events[seq : seq + 1])
    assert database.record(match.id).to_line() == record.to_line()
    assert len(database.times(match.id)) == len(record.events)
    assert database.moved("s")[match.id] == database.times(match.id)[-1]
    (kept,) = database.matches("s")
    assert kept.people == {"A": a.id, "B": b.id}
    assert kept.ended is not None
    assert database.matches("s", running=True) == []
    assert [m.id for m in database.matches("s", participant=b.id)] == [match.id]
    assert database.ends("s")[match.id] == record.events[-1]
    assert {p.status for p in database.participants("s")} == {"playing"}


def test_no_event_is_kept_twice_and_a_refused_append_keeps_nothing(database: Database) -> None:
    record = played().record()
    database.add(Record(record.header, record.events[:3]), {"A": None, "B": None}, study="s")
    with pytest.raises(sa.exc.IntegrityError):
        database.append(record.id, 2, record.events[2:5])
    assert database.record(record.id).events == database.record(record.id).events[:3]
    database.append(record.id, 3, record.events[3:])
    assert database.record(record.id).to_line() == record.to_line()


def test_two_writers_of_one_event_leave_one(database: Database) -> None:
    record = played().record()
    database.add(Record(record.header, record.events[:1]), {"A": None, "B": None}, study="s")

    def append(_: int) -> bool:
        try:
            database.append(record.id, 1, record.events[1:2])
        except sa.exc.IntegrityError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(append, range(8))) == 1
    assert len(database.times(record.id)) == 2


def test_words_of_any_kind_come_back(database: Database) -> None:
    match = Match(catalog.load("trading", preset="tolerant"), seed=1)
    match.submit("A", "Grüße 🍋 \\u0000 \x1b[31m'; DROP TABLE events; -- \r\n\t=1+1 \ud800")
    database.add(match.record(), {"A": None, "B": None}, study="s")
    assert database.record(match.id).to_line() == match.record().to_line()


_KILLED = """
import sys
from negolab.studies.database import Database
from negolab.record import Record
from negolab.store import read
d = Database(sys.argv[1]); d.study("s", "")
(record,) = read(sys.argv[2])
d.add(Record(record.header, record.events[:1]), {"A": None, "B": None}, study="s")
for seq in range(1, len(record.events)):
    d.append(record.id, seq, record.events[seq:seq + 1])
    print(seq, flush=True)
"""


def test_a_killed_process_loses_nothing_that_it_said_was_kept(database_url: str, tmp_path: Path) -> None:
    rng = random.Random(5)
    for kill in range(2):
        record = played(seed=kill).record()
        file = tmp_path / f"{kill}.jsonl"
        file.write_bytes(record.to_line())
        process = ForkedProcess(_KILLED, database_url, str(file))
        stop = rng.randrange(1, len(record.events))
        said = 0
        for line in process.stdout:
            said = int(line)
            if said >= stop:
                process.kill()
                break
        process.wait()
        database = Database(database_url)
        kept = database.record(record.id)
        assert len(kept.events) > said
        assert kept.to_line() == type(record)(record.header, record.events[: len(kept.events)]).to_line()
        database.append(record.id, len(kept.events), record.events[len(kept.events) :])
        assert database.record(record.id).to_line() == record.to_line()
        database.close()


# Those who leave.


def test_a_withdrawn_participants_words_are_gone_everywhere(database: Database, database_url: str) -> None:
    match = Match(catalog.load("trading", preset="tolerant"), seed=1)
    match.submit("A", "my secret words")
    match.submit("B", "their words")
    match.submit("A", "[Offer: 999 Wheat -> 1 Ore] more secret words")
    assert isinstance(match.events[-1], Rejected)
    match.abort("left the study")
    a, b = database.invite("s", 2)
    database.answer(a.id, {"name": "a secret answer"})
    database.add(match.record(), {"A": a.id, "B": b.id}, study="s")
    database.withdraw(a.id)
    kept = database.record(match.id)
    assert len(kept.events) == len(match.events)
    assert [e.reply.text for e in kept.events if isinstance(e, Replied)] == [PURGED, "their words", PURGED]
    assert [e.invalid.reason for e in kept.events if isinstance(e, Rejected)] == [PURGED]
    assert isinstance(kept.events[-1], Ended)
    assert database.answers(a.id) == {}
    assert "secret" not in everything(database)
    database.close()
    if "://" not in database_url:
        for file in Path(database_url).parent.glob("people.db*"):
            assert b"secret w" not in file.read_bytes() and b"secret a" not in file.read_bytes()


@on_sqlite
def test_a_withdrawal_keeps_why_a_match_stopped_but_not_the_error_of_its_player(database: Database) -> None:
    match = Match(catalog.load("trading", preset="tolerant"), seed=1, players={"A": "person", "B": "mine.py:Mine"})
    match.submit("A", "my secret words")
    match.submit("B", "I heard: my secret words")
    match.abort("the other seat's player failed: no move: my secret words")
    (a,) = database.invite("s", 1)
    database.add(match.record(), {"A": a.id}, study="s")
    database.withdraw(a.id)
    assert "secret" not in everything(database)
    assert getattr(database.record(match.id).events[-1], "reason", "") == "the other seat's player failed"


def everything(database: Database) -> str:
    """Every value in every table."""
    tables = sa.inspect(database._engine).get_table_names()
    with database._engine.connect() as connection:
        return repr([connection.execute(sa.text(f'SELECT * FROM "{name}"')).all() for name in tables])


def test_a_later_answer_counts(database: Database) -> None:
    (person,) = database.invite("s")
    database.answer(person.id, {"age": "20", "town": "Rome"})
    database.answer(person.id, {"age": "21"})
    database.answer(person.id, {})
    database.answer(person.id, {"town": "Rome\0\ud800"})
    assert database.answers(person.id) == {"age": "21", "town": "Rome\ufffd"}


# The study itself, and the file.


@on_sqlite
def test_a_study_keeps_its_secret_and_its_latest_text(database: Database) -> None:
    kept = database.study("s", "title = 'T'")
    later = database.study("s", "title = 'U'")
    assert (later.secret, later.salt, later.created) == (kept.secret, kept.salt, kept.created)
    assert later.text == "title = 'U'"
    assert database.kept("s") == later
    assert database.kept("unknown") is None
    assert [note.kind for note in database.notes("s")] == ["changed"]
    assert database.study("t", "").secret != kept.secret


def test_a_new_database_and_its_study_are_made_once_by_many_at_once(empty_database_url: str) -> None:
    with ThreadPoolExecutor(8) as pool:
        opened = list(pool.map(lambda _: Database(empty_database_url), range(8)))
        assert len(set(pool.map(lambda database: database.study("s", "x").secret, opened))) == 1
    for database in opened:
        database.close()


def test_one_host_at_a_time(database_url: str) -> None:
    first, second = Database(database_url), Database(database_url)
    first.claim()
    with pytest.raises(ValueError, match="another negolab host is using it"):
        second.claim()
    first.close()
    second.close()
    third = Database(database_url)
    third.claim()
    third.close()


_CLAIMED = """
import sys, time
from negolab.studies.database import Database
d = Database(sys.argv[1]); d.claim(); print(1, flush=True); time.sleep(60)
"""


def test_a_killed_host_leaves_no_claim(database_url: str) -> None:
    process = ForkedProcess(_CLAIMED, database_url)
    assert process.stdout.readline()
    process.kill()
    process.wait()
    database = Database(database_url)
    eventually(database.claim)
    database.close()


def eventually(claim: Callable[[], Any]) -> None:
    """Wait: PostgreSQL releases a lock when it notices a closed connection."""
    for _ in range(100):
        try:
            claim()
            return
        except ValueError:
            time.sleep(0.1)
    claim()


def test_a_file_is_private_and_written_through(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    database = Database(tmp_path / "deep" / "people.db")
    database.study("s", "")
    with database._engine.connect() as connection:
        assert connection.scalar(sa.text("PRAGMA journal_mode")) == "wal"
        assert connection.scalar(sa.text("PRAGMA synchronous")) == 2
        assert connection.scalar(sa.text("PRAGMA foreign_keys")) == 1
        assert connection.scalar(sa.text("PRAGMA secure_delete")) == 1
    for path in (tmp_path / "deep").iterdir():
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path
    database.close()


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("mysql://host/name", "mysql is not supported"),
        ("postgresql+asyncpg://host/name", "asyncpg is not supported"),
        ("postgresql://me:a@b@host/name", "write each @ in a password as %40"),
        ("postgresql://me@host:port/name", "must be a path or a database URL"),
        ("postgresql://nobody@127.0.0.1:9/x?foo=1", "no database at this address: .*foo"),
        ("sqlite://", "SQLite needs a file"),
        ("://", "must be a path or a database URL"),
        ("postgresql://nobody@/x?host=/nowhere", "no database at this address"),
        ("nowhere/people.db", "does not exist"),
    ],
)
def test_a_database_that_is_none_is_named_and_not_made(
    url: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=said):
        Database(url)
    assert list(tmp_path.iterdir()) == []


def _of_another_version(file: Path) -> None:
    database = Database(file)
    with database._engine.begin() as connection:
        connection.execute(sa.text("UPDATE meta SET value = '99'"))
    database.close()


def _of_another_program(file: Path) -> None:
    with sqlite3.connect(file) as other:
        other.execute("CREATE TABLE meta (key TEXT)")


def _of_another_kind(file: Path) -> None:
    with sqlite3.connect(file) as other:
        other.execute("CREATE TABLE books (title TEXT)")


def _with_view(file: Path) -> None:
    Database(file).close()
    with sqlite3.connect(file) as own:
        own.execute("ALTER TABLE notes RENAME TO others")
        own.execute(
            "CREATE VIEW notes AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n"
        )


def _damaged(file: Path) -> None:
    Database(file).close()
    file.write_bytes(file.read_bytes()[:100] + b"x" * 4000)


def _text(file: Path) -> None:
    file.write_text("my notes, which are long enough to be read")


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (_of_another_version, "made by another version"),
        (_of_another_program, r"contains another program's tables \(meta\)"),
        (_of_another_kind, "belongs to another program; choose another file with --db"),
        (_with_view, "has the view 'notes', which is not negolab's"),
        (_damaged, "cannot be read: .*with --db"),
        (_text, "is not a SQLite database"),
    ],
)
def test_a_file_that_is_none_of_ours_is_named_in_a_line_and_keeps_its_content(
    make: Callable[[Path], None], said: str, tmp_path: Path
) -> None:
    file = tmp_path / "people.db"
    make(file)
    before = file.read_bytes()
    with pytest.raises(ValueError, match=said) as caught:
        Database(file)
    assert "people.db" in str(caught.value) and "\n" not in str(caught.value)
    begin = 100 if make is _of_another_program else 0  # its header says how SQLite writes it
    assert file.read_bytes()[begin:] == before[begin:]


@pytest.mark.parametrize("part", ["people.db", "people.db-wal"])
def test_a_file_or_log_that_is_lost_while_it_is_used_takes_no_further_note(tmp_path: Path, part: str) -> None:
    with closing(Database(tmp_path / "people.db")) as database:
        database.note("kept", "test")
        (tmp_path / part).unlink()
        with pytest.raises(sa.exc.OperationalError, match="its file was deleted, replaced or truncated"):
            database.note("lost", "test")


def _cut_log(file: Path, _: Path) -> None:
    os.truncate(file.with_name(f"{file.name}-wal"), 0)


def _put_back(file: Path, copy: Path) -> None:
    """Overwrite it by an older copy, as `cp` does."""
    file.write_bytes(copy.read_bytes())


def _cut_to_the_copy(file: Path, copy: Path) -> None:
    os.truncate(file, copy.stat().st_size)


@pytest.mark.parametrize("lose", [_cut_log, _put_back, _cut_to_the_copy])
def test_a_file_that_is_cut_or_overwritten_in_place_takes_no_further_note(
    tmp_path: Path, lose: Callable[[Path, Path], None]
) -> None:
    file, copy = tmp_path / "people.db", tmp_path / "copy.db"
    Database(file).close()
    shutil.copy(file, copy)
    with closing(Database(file)) as database:
        while file.stat().st_size <= copy.stat().st_size:
            database.note("kept", "test", "x" * 100_000)
        lose(file, copy)
        with pytest.raises(sa.exc.OperationalError, match="its file was deleted, replaced or truncated"):
            database.note("lost", "test")


@pytest.mark.parametrize("kind", ["another's", "an older", "one that went on elsewhere"])
def test_a_copy_of_the_same_size_or_bigger_that_overwrites_the_file_is_noticed(tmp_path: Path, kind: str) -> None:
    file, copy = tmp_path / "people.db", tmp_path / "copy.db"
    text = "x" * 100
    for path, count in ((file, 10), (copy, 400)):
        with closing(Database(path)) as database, database._write():
            for _ in range(count):
                database.note("kept", "test", text)
    if kind == "one that went on elsewhere":
        shutil.copy(file, copy)
        with closing(Database(copy)) as twin:
            twin.claim()
            for _ in range(300):
                twin.note("kept", "test", text)
    with closing(Database(file)) as database:
        database.claim()
        if kind == "an older":
            shutil.copy(file, copy)
        database.note("kept", "test")
        database.owed = True
        database.forget()  # writes it to the file, which stays as long as it was
        database.hold()
        file.write_bytes(copy.read_bytes())
        with pytest.raises(sa.exc.OperationalError, match="its file was overwritten"):
            database.hold()


def test_an_id_that_could_name_a_file_elsewhere_is_refused(tmp_path: Path) -> None:
    with closing(Database(tmp_path / "people.db")) as database, database._write() as c:
        c.execute(sa.text("UPDATE meta SET value = '../elsewhere' WHERE name = 'id'"))
    with pytest.raises(ValueError, match=r"people\.db is not a negolab database: its ID is damaged"):
        Database(tmp_path / "people.db")


def test_a_number_of_writes_that_is_none_is_refused(tmp_path: Path) -> None:
    Database(tmp_path / "people.db").close()
    with closing(sqlite3.connect(tmp_path / "people.db")) as own, own:
        own.execute("UPDATE meta SET value = 'many' WHERE name = 'writes'")
    with pytest.raises(ValueError, match=r"people\.db: its table meta is damaged: restore a copy"):
        Database(tmp_path / "people.db")


@pytest.mark.parametrize("change", ["UPDATE events SET seq = seq + 500", "DELETE FROM events WHERE seq = 1"])
def test_a_match_with_a_hole_is_refused_when_the_file_is_opened(tmp_path: Path, change: str) -> None:
    with closing(Database(tmp_path / "people.db")) as database:
        database.add(played().record(), {}, study=None)
        with database._write() as c:
            c.execute(sa.text(change))
    with pytest.raises(ValueError, match=r"people\.db: rows are missing from its table events: restore a copy"):
        Database(tmp_path / "people.db")


@pytest.mark.database
def test_a_note_that_is_damaged_is_named(database: Database) -> None:
    database.note("bonus", "researcher", "{}", study="s", participant="p")
    with pytest.raises(ValueError, match=r"a note of kind bonus is damaged: .*amount"):
        database.bonuses("s")


@pytest.mark.database
@pytest.mark.parametrize("time", ["1e300", "-1", "2e11"])
def test_a_time_that_no_calendar_has_is_refused_when_a_database_is_opened(database_url: str, time: str) -> None:
    with closing(Database(database_url)) as database:
        database.note("kept", "test")
        with database._write() as c:
            c.execute(sa.text(f"UPDATE notes SET at = {time}"))
    with pytest.raises(ValueError, match=r"its table notes is damaged: restore a copy"):
        Database(database_url)


@pytest.mark.parametrize("value", ["'abc'", "x'ff'", "9e999", "1e300", "-1"])
def test_a_value_of_another_type_is_refused_when_the_file_is_opened(tmp_path: Path, value: str) -> None:
    with closing(Database(tmp_path / "people.db")) as database:
        database.note("kept", "test")
        with database._write() as c:
            c.execute(sa.text(f"UPDATE notes SET at = {value}"))
    with pytest.raises(ValueError, match=r"people\.db: its table notes is damaged: restore a copy"):
        Database(tmp_path / "people.db")


def test_text_that_is_forgotten_is_no_loss_of_the_log(tmp_path: Path) -> None:
    with closing(Database(tmp_path / "people.db")) as database:
        database.note("kept", "test", "x" * 100_000)
        database.owed = True
        database.forget()
        assert not database.owed and (tmp_path / "people.db-wal").stat().st_size == 0
        database.hold()


def test_text_that_another_process_forgets_is_no_loss_either_and_the_log_stays_as_it_is(tmp_path: Path) -> None:
    with closing(Database(tmp_path / "people.db")) as host:
        host.claim()
        host.study("s", "text")
        (one,) = host.invite("s")
        command = Database(tmp_path / "people.db")
        for database in (host, command):
            database.note("kept", "test", "x" * 100_000)
        host.withdraw(one.id)
        assert not host.owed and (tmp_path / "people.db-wal").stat().st_size == 0
        assert len(command.notes(None, "kept")) == 2
        command.note("kept", "test")
        host.note("kept", "test", "x" * 100_000)
        before = (tmp_path / "people.db-wal").stat().st_size
        command.close()
        assert (tmp_path / "people.db-wal").stat().st_size == before
        host.hold()
        assert len(host.notes(None, "kept")) == 4


@pytest.mark.parametrize("rest", [0, 0.5, 0.99])
def test_a_log_that_is_cut_under_two_processes_is_noticed_by_both(tmp_path: Path, rest: float) -> None:
    file, log = tmp_path / "people.db", tmp_path / "people.db-wal"
    with closing(Database(file)) as host, closing(Database(file)) as command:
        host.claim()
        for database in (host, command):
            database.note("kept", "test", "x" * 100_000)
        host.hold()
        os.truncate(log, int(log.stat().st_size * rest))
        for database in (command, host):
            with pytest.raises(sa.exc.OperationalError, match="its file was deleted, replaced or truncated"):
                database.note("lost", "test")


@pytest.mark.database
def test_an_older_copy_that_is_restored_under_a_host_is_noticed_and_not_opened_again(database_url: str) -> None:
    with closing(Database(database_url)) as database:
        database.claim()
        database.study("haggling", "text")  # which leaves no note
        database.hold()
        with closing(Database(database_url)) as other, other._write() as c:  # as a restore does
            c.execute(sa.text("UPDATE meta SET value = '0' WHERE name = 'writes'"))
        for use in (database.hold, lambda: database.note("lost", "test")):
            with pytest.raises(sa.exc.OperationalError, match="the latest saved data is missing"):
                use()
        assert not database.notes()
        known, last = database.id, database.last
    with pytest.raises(ValueError, match="the latest saved data is missing; restore the newest copy"):
        Database(database_url, known=known, last=last)
    Database(database_url).close()


@pytest.mark.database
@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM notes",
        "DELETE FROM events",
        "DELETE FROM participants",
        "UPDATE participants SET ended = NULL",
        "UPDATE participants SET passed = 0",
    ],
)
def test_a_single_table_that_is_emptied_or_older_under_a_host_is_noticed(database_url: str, change: str) -> None:
    with closing(Database(database_url)) as database:
        database.claim()
        database.study("haggling", "text")
        one, _ = database.invite("haggling", 2)
        database.change(one.id, status="complete", ended=9.0, passed=1)
        record = played().record()
        database.add(record, {"A": None, "B": None})
        database.note("kept", "test")
        database.hold()
        with closing(Database(database_url)) as other, other._write() as c:
            c.execute(sa.text(change))
        with pytest.raises(sa.exc.OperationalError, match="the latest saved data is missing"):
            database.hold()
        known, last = database.id, database.last
    with pytest.raises(ValueError, match=r"the latest saved data is missing|rows are missing from its table events"):
        Database(database_url, known=known, last=last)


@pytest.mark.database
@pytest.mark.parametrize("table", ["answers", "attempts"])
@pytest.mark.parametrize("gone", ["before", "before, in a match", "after"])
def test_answers_that_are_gone_just_before_or_after_somebody_withdraws_are_noticed(
    database_url: str, table: str, gone: str
) -> None:
    with closing(Database(database_url)) as database:
        database.claim()
        database.study("haggling", "text")
        one, two, three = database.invite("haggling", 3)
        for person in (one, two, three):
            database.answer(person.id, {"age": "33"})
            database.attempt(person.id, 1, {"paid": "nothing"}, {"paid": False})
        match = played()
        start = Record(match.record().header, match.record().events[:1])
        database.add(start, {"A": one.id, "B": two.id}, study="haggling", treatment="easy")
        database.hold()
        if gone == "after":
            database.withdraw(one.id)
        with closing(Database(database_url)) as other, other._write() as c:
            c.execute(sa.text(f"DELETE FROM {table} WHERE participant = :id"), {"id": three.id})
        uses = {
            "before": partial(database.withdraw, one.id),
            "before, in a match": partial(
                database.append, match.id, 1, match.record().events[1:], {one.id: "withdrawn"}
            ),
            "after": database.hold,
        }
        with pytest.raises(sa.exc.OperationalError, match="the latest saved data is missing"):
            uses[gone]()
        assert database.participant(one.id).status == ("withdrawn" if gone == "after" else "playing")


@pytest.mark.database
@pytest.mark.parametrize("table", ["answers", "attempts"])
def test_answers_that_are_gone_under_a_host_are_noticed_but_not_those_of_who_withdrew(
    database_url: str, table: str
) -> None:
    with closing(Database(database_url)) as database:
        database.claim()
        database.study("haggling", "text")
        people = database.invite("haggling", 3)
        for person in people:
            database.answer(person.id, {"age": "33"})
            database.attempt(person.id, 1, {"paid": "nothing"}, {"paid": False})
            database.hold()
        for person in people[1:]:
            database.withdraw(person.id)
            database.hold()
        known, last = database.id, database.last
        Database(database_url, known=known, last=last).close()
        with closing(Database(database_url)) as other, other._write() as c:
            c.execute(sa.text(f"DELETE FROM {table}"))
        with pytest.raises(sa.exc.OperationalError, match="the latest saved data is missing"):
            database.hold()
    with pytest.raises(ValueError, match="the latest saved data is missing"):
        Database(database_url, known=known, last=last)


@pytest.mark.database
def test_a_copy_that_another_host_went_on_with_is_not_opened_again(database_url: str) -> None:
    """It may have more writes than the one in whose place it is."""
    with closing(Database(database_url)) as database:
        database.claim()
        known, last, mark = database.id, database.last, database.host
    again = Database(database_url, known=known, last=last, host=mark)
    again.claim()
    assert again.host == mark
    again.close()
    with closing(Database(database_url)) as other:
        other.claim()
        other.note("more", "test")
    with pytest.raises(ValueError, match="another host has used it since"):
        Database(database_url, known=known, last=last, host=mark)


@on_postgres
def test_what_was_saved_is_on_the_disk_whatever_the_server_is_set_to(database_url: str) -> None:
    with closing(Database(database_url)) as database, database._read() as c:
        name = c.scalar(sa.text("SELECT current_database()"))
        with closing(Database(database_url)) as other, other._write() as own:
            own.execute(sa.text(f'ALTER DATABASE "{name}" SET synchronous_commit = off'))
    with closing(Database(database_url)) as database, database._read() as c:
        assert c.scalar(sa.text("SHOW synchronous_commit")) == "on"


@pytest.mark.database
def test_a_table_that_lacks_what_another_names_is_refused_at_the_start(database_url: str) -> None:
    with closing(Database(database_url)) as database:
        database.add(played().record(), {"A": None, "B": None})
        with database._write() as c:
            c.execute(sa.text("DELETE FROM events"))
    with pytest.raises(ValueError, match="rows are missing from its table events: restore a copy"):
        Database(database_url)


@pytest.mark.parametrize("opened", [0, 9])
def test_a_copy_restored_by_sqlite_itself_is_noticed_by_the_next_write(tmp_path: Path, opened: int) -> None:
    """However often somebody has looked at it before."""
    file, copy = tmp_path / "people.db", tmp_path / "copy.db"
    with closing(Database(file)) as database:
        database.claim()
        database.study("haggling", "text")
        with closing(sqlite3.connect(file)) as source, closing(sqlite3.connect(copy)) as target:
            source.backup(target)
        database.study("others", "text")
        for _ in range(opened):
            with closing(Database(copy)) as looked_at:
                looked_at.invite("haggling", 1)
        with closing(sqlite3.connect(copy)) as source, closing(sqlite3.connect(file)) as target:
            source.backup(target)
        with pytest.raises(sa.exc.OperationalError, match=r"is missing|deleted, replaced or truncated"):
            database.note("lost", "test")


def test_a_database_that_is_a_link_is_neither_read_nor_changed(tmp_path: Path) -> None:
    other, link = tmp_path / "other.db", tmp_path / "people.db"
    Database(other).close()
    before = other.read_bytes()
    link.symlink_to(other)
    with pytest.raises(ValueError, match=r"people\.db cannot be used as a database: it is a link"):
        Database(link)
    assert other.read_bytes() == before


def test_a_path_needs_no_scheme_and_is_the_databases_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert location("people.db").database == str(tmp_path / "people.db")
    database = Database("people.db")
    assert str(database) == str(tmp_path / "people.db")
    database.close()


def test_a_password_is_never_shown() -> None:
    for url in ("me:hunter2@127.0.0.1:9/x", "me@127.0.0.1:9/x?password=hunter2&options=-chunter2"):
        with pytest.raises(ValueError, match="no database at this address") as caught:
            Database(f"postgresql://{url}")
        assert "hunter2" not in str(caught.value)
    assert "hunter2" in location("postgresql://me:hunter2@h/x").render_as_string(hide_password=False)


# What goes wrong.


def test_no_error_of_the_database_quotes_what_was_written(database: Database) -> None:
    with pytest.raises(sa.exc.DBAPIError) as caught, database._write() as c:
        c.execute(sa.text("SELECT :words FROM nowhere"), {"words": "secret words"})
    assert "secret words" not in f"{caught.value} {describe_error(caught.value)}"
    assert "nowhere" in describe_error(caught.value)


def test_nobody_is_waited_for_longer_than_a_few_seconds(database: Database) -> None:
    with database._read() as c:
        if c.dialect.name == "sqlite":
            assert c.scalar(sa.text("PRAGMA busy_timeout")) == 5000
        else:
            shown = [c.scalar(sa.text(f"SHOW {name}")) for name in ("lock_timeout", "statement_timeout")]
            assert shown == ["5s", "5s"]


def test_a_database_that_was_closed_takes_and_tells_nothing_more(database: Database) -> None:
    database.check_writable()
    database.close()
    for work in (database.check_writable, database.studies):
        with pytest.raises(DatabaseClosed):
            work()


def test_a_server_that_takes_no_writes_counts_as_away(database: Database) -> None:
    read_only = "PRAGMA query_only = ON" if database._engine.dialect.name == "sqlite" else "SET TRANSACTION READ ONLY"
    with pytest.raises(sa.exc.DBAPIError) as caught, database._write() as c:
        c.exec_driver_sql(read_only)
        c.execute(sa.text("UPDATE meta SET value = value"))
    assert is_unreachable(caught.value)


@pytest.mark.parametrize("change", ["ALTER TABLE meta RENAME TO away", "DROP TABLE meta"])
def test_a_table_that_is_gone_counts_as_away(database: Database, change: str) -> None:
    with database._write() as c:
        c.execute(sa.text(change))
    with pytest.raises(sa.exc.DBAPIError) as caught:
        database.hold()
    assert is_unreachable(caught.value)


@on_postgres
def test_notes_are_numbered_anew_after_a_restore_of_rows_alone(database_url: str) -> None:
    with closing(Database(database_url)) as database:
        for _ in range(3):
            database.note("kept", "test")
        with database._write() as c:
            c.execute(sa.text("SELECT setval('notes_id_seq', 1)"))
        database.claim()
        database.note("next", "test")
        assert [note.kind for note in database.notes()] == ["kept"] * 3 + ["next"]


def test_what_is_read_together_is_of_one_moment(database: Database) -> None:
    with ThreadPoolExecutor(1) as pool, database.reading():
        assert database.participants("s") == []
        pool.submit(database.invite, "s").result()
        assert database.participants("s") == []
    assert len(database.participants("s")) == 1


@on_postgres
def test_a_claim_that_was_lost_is_taken_again_when_the_database_is_back_unless_another_host_has_it(
    database: Database, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away() -> Any:
        raise sa.exc.OperationalError("connect", {}, Exception("connection refused"))

    ended = sa.text("SELECT pg_terminate_backend(pid, 10000) FROM pg_locks WHERE locktype = 'advisory'")
    database.claim()
    database.hold()
    with database._write() as c:
        c.execute(ended)
    with monkeypatch.context() as patch:
        patch.setattr(database._engine, "connect", away)
        for _ in range(3):
            with pytest.raises(sa.exc.OperationalError):
                database.hold()
    database.hold()
    other = Database(database_url)
    with pytest.raises(DatabaseInUse):
        other.claim()
    with other._write() as c:
        c.execute(ended)
    other.claim()
    with pytest.raises(DatabaseInUse, match="another negolab host"):
        database.hold()
    other.close()


@on_sqlite
def test_each_text_of_consent_is_kept_once(database: Database) -> None:
    for text in ("old", "new", "old", ""):
        database.keep_consent("s", text)
    assert [note.detail for note in database.notes("s") if note.kind == CONSENT] == ["old", "new"]


@on_sqlite
def test_a_returned_participant_no_longer_counts_in_the_balance_and_can_come_back(database: Database) -> None:
    first, second, third = (p.id for p in database.invite("s", 3))
    cells = [("one", 1.0), ("two", 1.0)]
    assert start(database, first, cells, seed=None) == "one"
    assert database.mark_returned("s", [first], []) == [first]
    assert database.mark_returned("s", [first], []) == []
    assert start(database, second, cells, seed=None) == "one"
    database.mark_returned("s", [], [first, second])
    assert database.returned("s") == set()
    assert start(database, third, cells, seed=None) == "two"


def test_of_two_runs_at_once_only_one_writes_a_bonus(database: Database) -> None:
    (one,) = database.invite("s", 1)
    files = [BonusFile(f"hash{i}", f"/bonus-{i}.csv", ",", Currency("GBP", 2, "£")) for i in range(8)]

    def plan(file: BonusFile) -> bool:
        try:
            database.plan_bonuses("s", file, {one.id: 100})
        except ValueError as error:
            assert "another run has just written one of these bonuses" in str(error)
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        planned = list(pool.map(plan, files))
    assert sum(planned) == 1
    (file,) = database.bonus_files("s")
    assert file.written is None
    assert database.bonuses("s")[one.id].file == file.sha256
    database.confirm_bonuses("s", file)
    database.confirm_bonuses("s", file)
    first, _ = database.notes("s", BONUS_WRITTEN)
    assert [file.written for file in database.bonus_files("s")] == [first.at]
