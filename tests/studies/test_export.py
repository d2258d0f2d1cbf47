"""Export of a study: every event, no secret, and no spreadsheet formula."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pandas as pd
import pyarrow.parquet as pq
import pytest

from negolab.analysis.estimates import group_means
from negolab.analysis.export import MATCH_TABLES, parse_endings
from negolab.events import Ended, Replied
from negolab.game import SEATS, Reply, Seat, other
from negolab.match import Match
from negolab.record import encode_event
from negolab.runs.driver import make_player, submit_reply
from negolab.store import read as records
from negolab.studies.database import PURGED, Database, Participant
from negolab.studies.export import export, replace_folder
from negolab.studies.study_config import Study, version_hash
from negolab.studies.study_file import read_study
from negolab.verification import replay_differences
from tests.studies.test_service import ALONE, Site
from tests.studies.test_service import study as house_study
from tests.support.databases import Cluster
from tests.support.in_process import negolab

STUDIES = Path(__file__).parents[2] / "data" / "studies"
FORMULA = '=HYPERLINK("http://evil.example","x")'
TABLES = (*MATCH_TABLES, "events", "participants", "pages")


def begin(database: Database, study: Study, of: Any, people: dict[Seat, Participant], practice: int = 0) -> Match:
    """Deal and store a match, as the host does."""
    names: dict[Seat, str] = {s: "person" if s in people else of.opponent or "random-legal" for s in SEATS}
    match = Match(study.loaded(of), seed=5 + practice, players=names)
    at = {seat: people[seat].id if seat in people else None for seat in SEATS}
    treatment = next(iter(people.values())).treatment
    database.add(match.record(), at, study=study.name, treatment=treatment, practice=practice)
    return match


def moves(database: Database, match: Match, n: int | None = None, *, seed: int = 3) -> None:
    """Play `n` moves (None: to the end), storing the events of each."""
    players = {seat: make_player("random-legal", match.game, seed, seat) for seat in SEATS}
    while match.pending() and n != 0:
        kept = len(match.events)
        seat, ask = next(iter(match.pending().items()))
        submit_reply(match, seat, players[seat].reply(match.told(seat), ask))
        database.append(match.id, kept, match.events[kept:])
        n = None if n is None else n - 1


def first_match(database: Database, study: Study) -> Match:
    """Let a new participant start a match of the first treatment at seat A."""
    database.study(study.name, study.text)
    (person,) = database.invite(study.name)
    database.start(person.id, study.cells, seed=1)
    return begin(database, study, study.treatments[0], {"A": database.participant(person.id)})


def stop(database: Database, match: Match, reason: str) -> None:
    kept = len(match.events)
    match.abort(reason)
    database.append(match.id, kept, match.events[kept:])


def words(database: Database, match: Match, text: str, seat: Seat | None = None) -> None:
    """Reply with `text` at `seat` (default: the seat on turn); it may be rejected."""
    while seat is not None and not match.asks(seat):
        moves(database, match, 1)
    kept = len(match.events)
    match.submit(seat or next(iter(match.pending())), Reply(text, via="table"))
    database.append(match.id, kept, match.events[kept:])


def play_study(database: Database, study: Study) -> list[Participant]:
    """Eight participants: two complete, one withdraws, one times out, one plays, one waits, two are only invited."""
    kept = database.study(study.name, study.text)
    people = database.invite(study.name, 8)
    database.change(people[1].id, external=kept.salt[:4] + "hash", opened=1.0, consented=2.0, consent="v1")
    database.change(people[6].id, opened=3.0)
    for i, person in enumerate(people[:6]):
        database.start(person.id, study.cells, seed=study.seed)
        treatment = study.treatment(str(database.participant(person.id).treatment))
        if i == 5:
            break
        who = {treatment.seats()[0]: database.participant(person.id)}
        if study.practice.matches:
            moves(database, begin(database, study, study.practice, who, practice=1))
        match = begin(database, study, treatment, who)
        if i < 2:
            moves(database, match)
            database.change(person.id, status="complete", ended=9.0)
        elif i == 2:
            words(database, match, f"private words {person.id}", treatment.seats()[0])
            stop(database, match, "a participant left the study")
            database.withdraw(person.id)
        elif i == 3:
            words(database, match, FORMULA)
            stop(database, match, "seat A did not answer in time")
            database.change(person.id, status="timeout", ended=9.0)
        else:
            moves(database, match, 2)
    return database.participants(study.name)


def csv(folder: Path, name: str) -> pd.DataFrame:
    return pd.read_csv(folder / f"{name}.csv", keep_default_na=False, dtype=str)


def parquet(folder: Path, name: str) -> pd.DataFrame:
    return pd.read_parquet(folder / f"{name}.parquet")


@pytest.fixture
def database(tmp_path: Path) -> Any:
    opened = Database(tmp_path / "people.db")
    yield opened
    opened.close()


@pytest.fixture
def split(database: Database) -> Study:
    """A study that nobody was invited to."""
    study = read_study(STUDIES / "split.toml")
    database.study(study.name, study.text)
    return study


LEASE = "kernel.the-lease"


class Exported(NamedTuple):
    """A study that was played, and the folder with its export in every form."""

    study: Study
    database: Database
    folder: Path
    rows: dict[str, int]


@pytest.fixture(scope="module", params=["split", pytest.param("trading", marks=pytest.mark.database)])
def exported(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Exported]:
    """A study with questions, and one with practice in the other kind of database; tests only read."""
    folder, study = tmp_path_factory.mktemp(request.param), read_study(STUDIES / f"{request.param}.toml")
    url = str(folder / "people.db")
    if request.param == "trading":
        cluster: Cluster = request.getfixturevalue("postgres")
        url = cluster.url(cluster.fresh(cluster.template))
    database = Database(url)
    database.change(play_study(database, study)[0].id, lease=LEASE)
    yield Exported(study, database, folder / "out", export(database, study, folder / "out"))
    database.close()


def rows_of(folder: Path, name: str) -> list[dict[str, Any]]:
    """The rows of a Parquet table; None where a cell is empty."""
    found: list[dict[str, Any]] = pq.read_table(folder / f"{name}.parquet").to_pylist()
    return found


# The tables are the log.


def test_the_events_table_is_the_event_log(exported: Exported) -> None:
    study, database, folder, rows = exported
    numbers = {p.id: p.number for p in database.participants(study.name)}
    told = rows_of(folder, "events")
    assert rows["events"] == len(told)
    for match in database.matches(study.name):
        before = None
        for seq, (event, at) in enumerate(zip(database.record(match.id).events, database.times(match.id), strict=True)):
            row = told.pop(0)
            assert (row["match"], row["seq"], row["practice"]) == (match.id, seq, match.practice)
            assert row["body"].encode() == encode_event(event) and row["kind"] == json.loads(row["body"])["type"]
            assert row["time"].timestamp() == pytest.approx(at, abs=1e-6)
            assert row["seconds"] == (before if before is None else pytest.approx(at - before, abs=1e-5))
            if isinstance(event, Replied):
                assert (row["seat"], row["text"]) == (event.seat, event.reply.text)
                assert row["participant"] == numbers.get(match.people[event.seat] or "")
            if isinstance(event, Ended):
                assert row["end"] == event.end
                assert (row["payoff_a"], row["payoff_b"]) == (event.payoffs["A"], event.payoffs["B"])
            before = at
    assert told == []


def test_the_matches_table_tells_each_match(exported: Exported) -> None:
    study, database, folder, _ = exported
    told = rows_of(folder, "matches")
    numbers = {p.id: p.number for p in database.participants(study.name)}
    for sat, row in zip(database.matches(study.name), told, strict=True):
        record = database.record(sat.id)
        expected: dict[str, Any] = {
            "match": sat.id,
            "treatment": sat.treatment,
            "events": len(record.events),
            "end": record.end,
        }
        for seat in SEATS:
            replies = sum(isinstance(event, Replied) and event.seat == seat for event in record.events)
            mine: dict[str, Any] = {
                "participant": numbers.get(sat.people[seat] or ""),
                "player": record.header.players[seat],
            }
            mine |= {"replies": replies, "payoff": record.payoffs[seat]}
            expected |= {f"{name}_{seat.lower()}": value for name, value in mine.items()}
        assert row.items() >= expected.items()
    assert [row["withdrawn"] for row in told].count(True) == 1 + (1 if study.practice.matches else 0)


def test_the_participants_table_marks_who_is_no_data(exported: Exported) -> None:
    study, _, folder, _ = exported
    table = parquet(folder, "participants")
    assert list(table["participant"]) == list(range(1, 9))
    assert list(table["begun"]) == [True] * 6 + [False] * 2
    assert not table["acted"][5:].any()
    assert table["acted"][:2].all()
    assert list(table["practice"][:5]) == [study.practice.matches] * 5
    assert table["status"][2] == "withdrawn"
    expected = [study.codes.get("complete")] * 2 + [study.codes.get("withdrawn"), study.codes.get("timeout")]
    assert [row["code"] for row in rows_of(folder, "participants")][:4] == expected
    real = parquet(folder, "matches").query("practice == 0").set_index("match")
    for row in table[:5].to_dict("records"):
        seat = row["seat"].lower()
        assert real.loc[row["match"], f"participant_{seat}"] == row["participant"]
        assert real.loc[row["match"], f"replies_{seat}"] == row["replies"]


def test_who_only_practised_is_no_data(tmp_path: Path, database: Database) -> None:
    study = read_study(STUDIES / "trading.toml")
    database.study(study.name, study.text)
    (person,) = database.invite(study.name)
    database.start(person.id, study.cells, seed=1)
    moves(database, begin(database, study, study.practice, {"B": database.participant(person.id)}, practice=1))
    export(database, study, tmp_path / "out")
    (row,) = rows_of(tmp_path / "out", "participants")
    assert (row["begun"], row["acted"], row["practice"], row["replies"]) == (True, False, 1, 0)
    assert row["match"] is row["payoff"] is None


def test_the_dictionary_names_exactly_the_columns(exported: Exported) -> None:
    study, out = exported.study, exported.folder
    dictionary = csv(out, "dictionary")
    named = {name: list(rows["column"]) for name, rows in dictionary.groupby("table")}
    assert named.pop("settings") == list(json.loads((out / "settings.json").read_text())["matches"])
    own = {"answers": study.questions, "consents": study.consent}
    assert sorted(named) == sorted((*TABLES, *(name for name, has in own.items() if has)))
    for name, columns in named.items():
        assert list(csv(out, name).columns) == list(parquet(out, name).columns) == columns
    assert (dictionary[["type", "meaning"]] != "").all(axis=None)
    expected = study.loaded(study.treatments[0]).unit
    assert set(dictionary[dictionary["column"].str.startswith("payoff")]["unit"]) == {expected}


@pytest.mark.parametrize("to", ["csv", "parquet", "both", "parquet,csv"])
def test_a_table_is_written_in_the_forms_that_were_asked_for(
    tmp_path: Path, database: Database, split: Study, to: str
) -> None:
    out = tmp_path / "out"
    tables = {*export(database, split, out, to)}
    files = {path.name for path in out.iterdir()}
    endings = {"csv", *parse_endings(to)}
    assert {name for name in files if name.partition(".")[0] in tables} == {
        f"{table}.{ending}" for table in tables for ending in parse_endings(to)
    }
    assert {name.partition(".")[2] for name in files} == {"json", "jsonl", "toml", "txt", *endings}


# Answers.


def test_answers_have_a_row_each_and_words_of_any_kind_survive_a_csv(
    tmp_path: Path, database: Database, split: Study
) -> None:
    one, two = database.invite(split.name, 2)
    text = 'Grüße 🍋, "quoted"; a\nnew line, NA, null, 1e5 \\ <b>'
    database.answer(one.id, {"age": "-41", "trust": text})
    database.answer(two.id, {"age": "old", "trust": "=1+1"})
    assert export(database, split, tmp_path / "out")["answers"] == 4
    names = ("participant", "question", "value", "number")
    assert [tuple(row[name] for name in names) for row in rows_of(tmp_path / "out", "answers")] == [
        (1, "age", "-41", -41.0),
        (1, "trust", text, None),
        (2, "age", "old", None),
        (2, "trust", "=1+1", None),
    ]
    assert list(csv(tmp_path / "out", "answers")["value"]) == ["'-41", text, "old", "'=1+1"]


# Records.


def test_the_records_are_the_finished_matches_and_check_out(exported: Exported) -> None:
    study, database, folder, _ = exported
    found = {record.id: record for record in records(folder)}
    ended = [sat for sat in database.matches(study.name) if sat.ended is not None]
    left = [sat for sat in ended if PURGED in str(database.record(sat.id).events)]
    assert set(found) == {sat.id for sat in ended} - {sat.id for sat in left}
    assert not [text for record in found.values() for text in replay_differences(record)]
    for sat in ended:
        if sat.id in found:
            assert found[sat.id].header.notes["treatment"] == sat.treatment
            assert found[sat.id].header.notes["practice"] == sat.practice
            assert found[sat.id].events == tuple(records(folder)[list(found).index(sat.id)].events)
    ran = negolab("check", str(folder))
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert ran.stdout.startswith(f"{len(found)} records reproduce")


# What is never in an export.


def everything(folder: Path) -> str:
    """The content of all files as text, with Parquet decoded."""
    text = "".join(path.read_text("utf-8") for path in folder.iterdir() if path.suffix != ".parquet")
    return text + "".join(repr(pd.read_parquet(path).to_dict()) for path in folder.glob("*.parquet"))


def test_no_secret_is_exported(exported: Exported) -> None:
    study, database, folder, _ = exported
    kept, people = database.kept(study.name), database.participants(study.name)
    assert kept is not None and people[0].lease == LEASE
    told = everything(folder)
    for secret in (kept.secret, kept.salt, "the-lease", *(person.id for person in people)):
        assert secret not in told


def test_a_withdrawn_participants_words_are_in_no_file(exported: Exported) -> None:
    assert "private words" not in everything(exported.folder)
    table = parquet(exported.folder, "events")
    assert (table["text"] == PURGED).any()
    assert set(table[table["text"] == PURGED]["participant"]) == {3}


def test_who_only_writes_that_word_has_not_withdrawn(tmp_path: Path, database: Database) -> None:
    study = read_study(STUDIES / "trading.toml")
    match = first_match(database, study)
    words(database, match, PURGED, "A")
    moves(database, match)
    export(database, study, tmp_path / "out")
    assert not parquet(tmp_path / "out", "matches")["withdrawn"].any()
    assert [record.id for record in records(tmp_path / "out")] == [match.id]


# The folder.


def test_an_export_takes_the_place_of_an_earlier_one(tmp_path: Path, database: Database, split: Study) -> None:
    database.invite(split.name, 8)
    out = tmp_path / "deep" / "out"
    export(database, split, out)
    database.invite(split.name, 3)
    export(database, split, out, "csv")
    assert len(csv(out, "participants")) == 11
    assert not list(out.glob("*.parquet"))
    assert [path.name for path in out.parent.iterdir()] == ["out"]
    about = msgspec.json.decode((out / "export.json").read_bytes())
    assert about["study"] == "split" and about["rows"]["participants"] == 11
    assert abs(about["exported"] - time.time()) < 3600
    assert (out / "study.toml").read_text("utf-8") == split.text


def test_a_folder_that_is_no_export_is_left_alone(tmp_path: Path, database: Database, split: Study) -> None:
    later = read_study(STUDIES / "balloon.toml")
    database.study(later.name, later.text)
    mine = tmp_path / "mine"
    mine.mkdir()
    export(database, split, mine, "csv")
    with pytest.raises(ValueError, match="not an export of the study 'balloon'"):
        export(database, later, mine)
    (mine / "analysis.R").write_text("mine")
    with pytest.raises(ValueError, match=r"has 'analysis.R', which is not part of an export"):
        export(database, split, mine, "csv")
    assert (mine / "analysis.R").read_text() == "mine"
    (tmp_path / "file").write_text("mine")
    with pytest.raises(ValueError, match="is a file"):
        export(database, split, tmp_path / "file")


def test_an_export_that_fails_leaves_the_earlier_one(tmp_path: Path, database: Database, split: Study) -> None:
    export(database, split, tmp_path / "out", "csv")
    before = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    with pytest.raises(ValueError, match="full"), replace_folder(tmp_path / "out", split.name) as new:
        (new / "events.csv").write_text("half")
        raise OSError("the disk is full")
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == before
    assert not list(tmp_path.glob(".out-*"))
    with (
        pytest.raises(ValueError, match="cannot be written"),
        replace_folder(tmp_path / "out" / "events.csv" / "x", "s"),
    ):
        pass


def test_the_command_exports_beside_the_study(tmp_path: Path) -> None:
    file = tmp_path / "split.toml"
    file.write_text((STUDIES / "split.toml").read_text())
    with_people = Database(tmp_path / "split.db")
    play_study(with_people, read_study(file))
    with_people.close()
    ran = negolab("study", "export", "split.toml", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert "8 participants" in ran.stdout
    assert (tmp_path / "split-export" / "events.csv").is_file()
    assert negolab("study", "export", "split.toml", "--out", ".", cwd=tmp_path).returncode == 2
    ran = negolab("study", "status", "split.toml", cwd=tmp_path)
    assert "2 complete, 1 timeout, 1 withdrawn" in ran.stdout


# Pairs.


def test_two_participants_of_a_match_have_their_own_seats(tmp_path: Path, database: Database) -> None:
    study = read_study(STUDIES / "trading.toml")
    database.study(study.name, study.text)
    people = database.invite(study.name, 2)
    treatment = database.start(people[0].id, study.cells, seed=1)
    database.start(people[1].id, study.cells, seed=1, fixed=treatment)
    first: Seat = random.Random(2).choice(SEATS)
    people = database.participants(study.name)
    both: dict[Seat, Participant] = {first: people[0], other(first): people[1]}
    match = begin(database, study, study.treatment(treatment), both)
    moves(database, match)
    export(database, study, tmp_path / "out")
    table = parquet(tmp_path / "out", "participants")
    assert list(table["match"]) == [match.id] * 2
    assert list(table["seat"]) == [first, other(first)]
    assert list(table["treatment"]) == [treatment] * 2
    row = parquet(tmp_path / "out", "matches").iloc[0]
    assert row[f"participant_{first.lower()}"] == 1 and row[f"participant_{other(first).lower()}"] == 2
    said = parquet(tmp_path / "out", "events").query("kind == 'replied'")
    assert set(said["participant"]) == {1, 2}


# What the host keeps.

PLAYED = """
[practice]
matches = 1
opponent = "greedy-honest"
[[questions]]
name = "age"
label = "Your age"
kind = "number"
"""


async def test_what_a_study_at_work_keeps_is_exported(tmp_path: Path) -> None:
    of = house_study(ALONE + PLAYED, 'consent = "I agree."')
    site = Site(tmp_path, of)
    for i, id in enumerate(site.come(4)):
        site.act(id, "consent", agreed=True)
        site.act(id, "answer", answers={"age": "30"})
        site.act(id, "start")
        if i == 0:
            site.service.end(1, "enough")
            continue
        site.finish(id)
        site.act(id, "next", match=site.state(id).match)
        if i == 1:
            site.say(id, "my own words")
            site.act(id, "leave")
        else:
            site.finish(id)
    site.restart()
    export(site.database, of, tmp_path / "out")
    site.database.close()
    table = parquet(tmp_path / "out", "participants")
    assert list(table["status"]) == ["ended", "withdrawn", "complete", "complete"]
    assert list(table["practice"]) == [0, 1, 1, 1], "one that was stopped does not count"
    assert list(table["code"]) == ["STOP", "GONE", "DONE", "DONE"]
    assert list(table["consent"]) == [version_hash(of.consent)] * 4
    (text,) = rows_of(tmp_path / "out", "consents")
    assert (text["text"], text["consent"]) == (of.consent, version_hash(of.consent))
    assert list(parquet(tmp_path / "out", "answers")["participant"]) == [1, 3, 4]
    assert "my own words" not in everything(tmp_path / "out")
    assert len(records(tmp_path / "out")) == 5
    assert not [text for record in records(tmp_path / "out") for text in replay_differences(record)]


@pytest.mark.parametrize("opened", [0, 2])
def test_before_anybody_has_finished_every_table_has_its_header_and_the_analysis_runs(
    tmp_path: Path, database: Database, opened: int
) -> None:
    study = read_study(STUDIES / "balloon.toml")
    database.study(study.name, study.text)
    for _ in range(opened):
        first_match(database, study)
    rows = export(database, study, tmp_path / "out")
    assert rows.keys() == set(TABLES) and rows["matches"] == opened, "and no table of answers"
    for read, ending in ((pd.read_csv, "csv"), (pd.read_parquet, "parquet")):
        tables = {name: read(tmp_path / "out" / f"{name}.{ending}") for name in rows}
        both = tables["matches"].merge(tables["measures"], on="match")
        assert both.groupby("end").efficiency.agg(["mean", "count"]).empty
        group_means(both[both.practice == 0], ["treatment"], "efficiency")
    assert (tmp_path / "out" / "records.jsonl").read_text() == ""


def test_a_table_of_the_quiz_and_of_consents_stands_before_anybody_came(tmp_path: Path, database: Database) -> None:
    paid = read_study(STUDIES / "paid.toml")
    database.study(paid.name, paid.text)
    assert export(database, paid, tmp_path / "out", "csv").keys() >= {"quiz", "consents", "answers"}
    assert "attempt" in (tmp_path / "out" / "quiz.csv").read_text()
