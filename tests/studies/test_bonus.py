"""`negolab study bonus`: a panel's export, who is paid, who is named, and crashes between file and database."""

from __future__ import annotations

import csv
import hashlib
import random
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import sqlalchemy as sa

from negolab.cli import bonus as cli_bonus
from negolab.cli.bonus import bonus_lines
from negolab.cli.study import status_lines
from negolab.studies import bonus
from negolab.studies import panel as panel_export
from negolab.studies.authentication import hash_panel_id
from negolab.studies.bonus import Settlement, settle
from negolab.studies.database import Database, Participant, payments, schema
from negolab.studies.earnings import shown_earnings
from negolab.studies.export import export
from negolab.studies.panel import PanelFormat
from negolab.studies.status import status
from negolab.studies.study_config import Study
from negolab.studies.study_file import read_study
from tests.studies.test_export import begin, moves, stop
from tests.support import recompute_payments
from tests.support.in_process import negolab

FILE = """
title = "A study"
game = "split"
instructions = "Play."
closing = "Thank you."
seed = 3
external = "PROLIFIC_PID"
[payment]
currency = "GBP"
rate = 0.10
show_up = 2.00
[payment.endings]
partner = 1.50
[[treatments]]
name = "one"
opponent = "random-legal"
seat = "A"
"""
HEAD = "Submission id,Participant id,Status,Started at\n"


class Panel:
    """A study with participants of a panel, and the panel's export of them."""

    def __init__(self, folder: Path, file: str = FILE) -> None:
        self.folder, self.file = folder, folder / "haggling.toml"
        self.file.write_text(file)
        self.study: Study = read_study(self.file)
        self.database = Database(folder / "haggling.db")
        self.kept = self.database.study(self.study.name, self.study.text)
        self.people: dict[str, Participant] = {}

    def add(self, id: str, ending: str = "complete") -> Participant:
        """Add a participant who plays the match to an ending."""
        hashed = hash_panel_id(id, self.kept.salt)
        (person,) = self.database.invite(self.study.name, link="open", external=hashed)
        self.database.start(person.id, self.study.cells, seed=self.study.seed)
        person = self.database.participant(person.id)
        match = begin(self.database, self.study, self.study.treatments[0], {"A": person})
        if ending == "complete":
            moves(self.database, match)
        elif ending != "playing":
            stop(self.database, match, "it was stopped")
        self.database.change(person.id, status=ending, ended=None if ending == "playing" else 9.0)
        self.people[id] = self.database.participant(person.id)
        return self.people[id]

    def payoff(self, id: str) -> int | float:
        """Return the payoff of the real match of an id, by its record."""
        (match,) = self.database.matches(self.study.name, participant=self.people[id].id)
        return self.database.record(match.id).payoffs["A"] or 0

    def export(self, *rows: tuple[str, str], head: str = HEAD) -> Path:
        file = self.folder / "prolific_export.csv"
        lines = "".join(f"s{i},{id},{status},2026\n" for i, (id, status) in enumerate(rows))
        file.write_text(head + lines, "utf-8")
        return file

    def settle(self, *rows: tuple[str, str], **options: Any) -> Settlement:
        form = options.pop("form", PanelFormat())
        return settle(self.database, self.study, self.export(*rows), form, beside=self.file, **options)


@pytest.fixture
def panel(tmp_path: Path) -> Iterator[Panel]:
    made = Panel(tmp_path)
    yield made
    made.database.close()


def fail_to_write(panel: Panel, monkeypatch: pytest.MonkeyPatch, **options: Any) -> None:
    """Settle for "one" while the disk is full."""
    why = r"cannot be written: .*fix that and run the command again"
    with monkeypatch.context() as patch, pytest.raises(ValueError, match=why):
        patch.setattr(bonus, "atomic_write", _no_space)
        panel.settle(("one", "APPROVED"), **options)


def _no_space(path: Path, data: bytes, *, new: bool) -> None:
    raise OSError(28, "No space left on device", str(path))


def lines(path: Path) -> list[list[str]]:
    with path.open(newline="") as file:
        return list(csv.reader(file))


def test_each_is_paid_what_they_earned_beyond_the_fee_and_only_once(panel: Panel) -> None:
    ids = [f"5f{i:022x}" for i in range(4)]
    for id in ids:
        panel.add(id)
    rows = [(id, "APPROVED" if i % 2 else "AWAITING REVIEW") for i, id in enumerate(ids)]
    first = panel.settle(*rows)
    expected = [[id, f"{panel.payoff(id) / 10:.2f}"] for id in ids if panel.payoff(id)]
    assert lines(first.path) == sorted(expected) and expected
    assert stat.S_IMODE(first.path.stat().st_mode) == 0o600
    second = panel.settle(*rows)
    assert (second.path, second.amounts, second.earlier) == (None, {}, len(expected))
    assert bonus_lines(second)[-1] == "no bonus is due now: no file was written"
    assert list(panel.folder.glob("*-bonus-*")) == [first.path]
    late = panel.add("latecomer")
    third = panel.settle(*rows, ("latecomer", "APPROVED"))
    assert list(third.amounts) == ["latecomer"]
    assert set(panel.database.bonuses(panel.study.name)) >= {late.id}


def test_whoever_is_not_paid_is_named_with_the_reason(panel: Panel) -> None:
    for id, ending in {"done": "complete", "gone": "complete", "late": "timeout", "busy": "playing"}.items():
        panel.add(id, ending)
    panel.add("left-alone", "partner")
    missing = panel.add("missing")
    (own,) = panel.database.invite(panel.study.name)
    panel.database.change(own.id, status="complete", ended=9.0)
    settled = panel.settle(
        ("done", "APPROVED"),
        ("done", "APPROVED"),
        ("gone", "RETURNED"),
        ("late", "TIMED-OUT"),
        ("busy", "APPROVED"),
        ("left-alone", "APPROVED"),
        ("stranger", "APPROVED"),
    )
    whole = 2 + panel.payoff("missing") / 10
    assert settled.said == [
        "2 of the returned participants freed a place in their treatment",
        "done: repeated in lines 2 and 3 (APPROVED): counted once",
        "gone: not paid: the panel says RETURNED",
        "late: not paid: the panel says TIMED-OUT",
        "busy: not paid: has not finished (playing)",
        "stranger: unknown: nobody with this ID took part in this study",
        f"participant {missing.number}: earned £{whole:.2f}, but is not in prolific_export.csv",
        f"participant {own.number}: earned £2.00, but used a link without a panel ID",
    ]
    assert dict(lines(settled.path)) == {"done": f"{panel.payoff('done') / 10:.2f}", "left-alone": "1.50"}
    assert any(line.startswith("1 in the file did not complete the study") for line in bonus_lines(settled))
    assert panel.database.returned(panel.study.name) == {panel.people["gone"].id, panel.people["late"].id}


def test_of_several_lines_the_approved_one_counts_and_a_place_comes_back(panel: Panel) -> None:
    panel.add("again")
    panel.settle(("again", "TIMED-OUT"))
    assert panel.database.returned(panel.study.name)
    settled = panel.settle(("again", "RETURNED"), ("again", "APPROVED"))
    assert list(settled.amounts) == ["again"]
    assert panel.database.returned(panel.study.name) == set()
    assert panel.settle(("again", "RETURNED")).said[-1] == "again: RETURNED, but an earlier run wrote their bonus"


def test_the_fee_can_be_part_of_it(panel: Panel) -> None:
    panel.add("one")
    settled = panel.settle(("one", "APPROVED"), with_fee=True)
    assert lines(settled.path) == [["one", f"{2 + panel.payoff('one') / 10:.2f}"]]
    assert panel.settle(("one", "APPROVED")).amounts == {}


def test_any_panel_and_any_delimiter_will_do(panel: Panel) -> None:
    panel.add("one")
    file = panel.folder / "sona.csv"
    file.write_text("\ufeffname;code\nX;one\n", "utf-8")
    form = PanelFormat(id_column="code", status_column="", delimiter=";")
    settled = settle(panel.database, panel.study, file, form, beside=panel.file)
    assert settled.path.read_text() == f"one;{panel.payoff('one') / 10:.2f}\n"


def test_ids_and_delimiters_are_found_as_spreadsheets_write_them(panel: Panel) -> None:
    panel.add("one", "partner")
    (panel.folder / "panel.csv").write_text(
        'Participant id;Status;"What, in a word, did you do, and why"\n"=""one""";"=""APPROVED""";haggle\n'
    )
    settle(panel.database, panel.study, panel.folder / "panel.csv", PanelFormat(), beside=panel.file)
    assert set(panel.database.bonuses("haggling")) == {panel.people["one"].id}


def test_what_was_shown_is_paid_unless_the_researcher_says_otherwise(panel: Panel) -> None:
    shown = shown_earnings(panel.database, panel.study, panel.add("one"))
    panel.add("two")
    assert shown is not None
    panel.file.write_text(FILE.replace("rate = 0.10", "rate = 0.20"))
    panel.study = read_study(panel.file)
    settled = panel.settle(("one", "APPROVED"))
    assert settled.amounts == {"one": shown.bonus}
    assert "one: was shown" in settled.said[0] and "--recompute pays the other" in settled.said[0]
    settled = panel.settle(("two", "APPROVED"), recompute=True)
    assert settled.amounts == {"two": round(panel.payoff("two") * 20)}


def test_amounts_in_another_currency_than_participants_were_shown_are_paid_only_if_the_researcher_says_so(
    panel: Panel,
) -> None:
    shown = shown_earnings(panel.database, panel.study, panel.add("one"))
    assert shown is not None
    panel.file.write_text(FILE.replace("GBP", "USD"))
    panel.study = read_study(panel.file)
    with pytest.raises(ValueError, match="were shown amounts in GBP, but the study file says USD: restore it"):
        panel.settle(("one", "APPROVED"))
    assert panel.database.bonuses("haggling") == {}
    settled = panel.settle(("one", "APPROVED"), recompute=True)
    assert settled.amounts == {"one": shown.bonus} and "one: was shown £" in settled.said[0]


@pytest.mark.parametrize("moved", ["study file", "name", "database"])
def test_a_restored_database_is_known_when_the_study_file_or_the_database_was_moved(
    panel: Panel, tmp_path: Path, moved: str
) -> None:
    panel.add("one")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    older = (elsewhere if moved == "database" else panel.folder) / "older.db"
    with sqlite3.connect(panel.folder / "haggling.db") as now, sqlite3.connect(older) as copy:
        now.backup(copy)
    panel.settle(("one", "APPROVED"))
    panel.database.close()
    panel.database = Database(older)
    if moved == "study file":
        panel.file = panel.file.rename(elsewhere / panel.file.name)
    elif moved == "name":
        panel.file = panel.file.rename(panel.folder / "wave.toml")
    with pytest.raises(ValueError, match=r"haggling-bonuses.log: this database did not write"):
        panel.settle(("one", "APPROVED"))


def test_a_restored_dump_is_known_when_the_study_file_was_moved(database_url: str, tmp_path: Path) -> None:
    panel = Panel(tmp_path)
    panel.database.close()
    panel.database = Database(database_url)
    panel.kept = panel.database.study(panel.study.name, panel.study.text)
    panel.add("one")
    with sa.create_engine(panel.database.url).connect() as c:  # what a dump of now holds
        notes = c.execute(sa.select(schema.notes)).all()
    panel.settle(("one", "APPROVED"))
    with sa.create_engine(panel.database.url).begin() as c:
        c.execute(sa.delete(schema.notes))
        c.execute(sa.insert(schema.notes), [dict(note._mapping) for note in notes])
    (tmp_path / "elsewhere").mkdir()
    panel.file = panel.file.rename(tmp_path / "elsewhere" / panel.file.name)
    with pytest.raises(ValueError, match=r"haggling-bonuses.log: this database did not write"):
        panel.settle(("one", "APPROVED"))


def test_a_log_that_cannot_be_kept_is_named_with_what_to_do(
    panel: Panel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    panel.add("one")
    log = tmp_path / "haggling-bonuses.log"
    log.symlink_to(tmp_path / "nowhere" / "log")
    with pytest.raises(ValueError, match=r"haggling-bonuses\.log cannot be written: .*run the command again"):
        panel.settle(("one", "APPROVED"))
    log.unlink()
    assert panel.settle(("one", "APPROVED")).resumed == [tmp_path / "haggling-bonus-1.csv"]
    (tmp_path / "own").write_text("a file")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "own"))
    elsewhere: Any = SimpleNamespace(file=None, id="0" * 32)  # as PostgreSQL has no file
    with pytest.raises(ValueError, match=r"own/negolab cannot be written: .*the log of bonuses .*set XDG_DATA_HOME"):
        bonus._payment_logs(elsewhere, panel.study, panel.file)


def test_a_log_that_cannot_be_read_and_a_file_in_its_place_are_refused_before_anything_is_planned(
    panel: Panel, tmp_path: Path
) -> None:
    panel.add("one")
    log = tmp_path / "haggling-bonuses.log"
    with pytest.raises(ValueError, match=r"bonuses\.log is for the log of bonuses: choose another file with --out"):
        panel.settle(("one", "APPROVED"), out=log)
    for make, remove in ((log.mkdir, log.rmdir), (lambda: log.write_bytes(b"\xff\xfe"), log.unlink)):
        make()
        with pytest.raises(ValueError, match=r"is not a readable log of bonuses: restore it, or move it if"):
            panel.settle(("one", "APPROVED"))
        remove()
    assert not panel.database.bonus_files("haggling") and panel.settle(("one", "APPROVED")).amounts


def test_a_line_separator_in_a_path_and_a_torn_line_leave_the_log_readable(panel: Panel) -> None:
    panel.add("one")
    panel.add("two")
    folder = panel.folder / "st\u2028udy"
    folder.mkdir()
    panel.settle(("one", "APPROVED"), out=folder / "monday.csv")
    log = panel.folder / "haggling-bonuses.log"
    with log.open("a", encoding="utf-8") as torn:
        torn.write("0123abc")
    assert panel.settle(("two", "APPROVED")).path is not None
    assert sum(len(line) > 64 for line in log.read_text("utf-8").split("\n")) == 2


@pytest.mark.parametrize("place", [None, "monday.csv"])
def test_a_database_restored_from_a_copy_pays_nobody_whom_another_paid(
    panel: Panel, tmp_path: Path, place: str | None
) -> None:
    panel.add("one")
    with sqlite3.connect(panel.folder / "haggling.db") as now, sqlite3.connect(tmp_path / "older.db") as copy:
        now.backup(copy)
    (panel.folder / "moved").mkdir()
    written = panel.settle(("one", "APPROVED"), out=panel.folder / place if place else None).path
    assert written is not None
    written.rename(panel.folder / "moved" / written.name)
    newest, panel.database = panel.database, Database(tmp_path / "older.db")
    for out in (None, panel.folder / "tuesday.csv"):
        with pytest.raises(ValueError, match=rf"haggling-bonuses.log: this database did not write {written}: it is an"):
            panel.settle(("one", "APPROVED"), out=out)
    assert panel.database.bonuses("haggling") == {}
    panel.database.close()
    panel.database = newest
    panel.add("two")
    assert [id for id, _ in lines(panel.settle(("two", "APPROVED")).path)] == ["two"], "the newest goes on"


@pytest.mark.parametrize(
    ("lost", "left"),
    [
        ("DELETE FROM notes WHERE kind = 'bonus'", 0),
        ("DELETE FROM notes WHERE id = (SELECT min(id) FROM notes WHERE kind = 'bonus')", 1),
        ("UPDATE notes SET participant = NULL WHERE id = (SELECT min(id) FROM notes WHERE kind = 'bonus')", 1),
    ],
)
def test_a_database_that_lost_bonuses_in_a_file_pays_nobody_again(lost: str, left: int, panel: Panel) -> None:
    panel.add("one")
    panel.add("two")
    people = ("one", "APPROVED"), ("two", "APPROVED")
    written = panel.settle(*people).path
    with closing(sqlite3.connect(panel.folder / "haggling.db")) as other, other:
        other.execute(lost)
    with pytest.raises(ValueError, match=rf"haggling\.db lists {written} but has only {left} of its bonuses"):
        panel.settle(*people)
    assert len(list(panel.folder.glob("*-bonus-*.csv"))) == 1


def test_a_machine_that_paid_nobody_knows_what_another_one_wrote(panel: Panel, tmp_path: Path) -> None:
    panel.add("one")
    with sqlite3.connect(panel.folder / "haggling.db") as now, sqlite3.connect(tmp_path / "older.db") as copy:
        now.backup(copy)
    panel.settle(("one", "APPROVED"))
    (tmp_path / "other").mkdir()
    export, other = panel.export(("one", "APPROVED")), tmp_path / "other" / "haggling.toml"

    def settle_there() -> Settlement:
        return settle(panel.database, panel.study, export, PanelFormat(), beside=other)

    assert settle_there().earlier == 1
    (panel.folder / "haggling-bonuses.log").unlink()  # it stays on the machine that wrote
    newest, panel.database = panel.database, Database(tmp_path / "older.db")
    with pytest.raises(ValueError, match=r"other/haggling-bonuses.log: this database did not write"):
        settle_there()
    panel.database.close()
    panel.database = newest


def test_the_same_command_again_completes_its_file_and_writes_nothing_over_it(
    panel: Panel, monkeypatch: pytest.MonkeyPatch
) -> None:
    panel.add("one")
    out = panel.folder / "pay.csv"
    fail_to_write(panel, monkeypatch, out=out)
    settled = panel.settle(("one", "APPROVED"), out=out)
    assert settled.resumed == [out] and [id for id, _ in lines(out)] == ["one"]
    assert settled.path is None
    panel.add("two")
    with pytest.raises(ValueError, match=r"pay.csv: already exists; choose another file with --out"):
        panel.settle(("one", "APPROVED"), ("two", "APPROVED"), out=out)
    assert list(panel.settle(("one", "APPROVED"), ("two", "APPROVED")).amounts) == ["two"]


def test_a_database_from_elsewhere_names_no_place_for_a_file(panel: Panel, monkeypatch: pytest.MonkeyPatch) -> None:
    panel.add("one")
    out = panel.folder / "started.pth"
    fail_to_write(panel, monkeypatch, out=out)
    for options in ({}, {"out": panel.folder / "pay.csv"}):
        with pytest.raises(ValueError, match=r"started.pth: its run was .*--again [0-9a-f]{12} --out FILE"):
            panel.settle(("one", "APPROVED"), **options)
    assert not out.exists() and not list(panel.folder.glob("*pay*"))
    (file,) = panel.database.bonus_files(panel.study.name)
    export, pay = panel.export(("one", "APPROVED")), panel.folder / "pay.csv"
    cli_bonus.bonus(panel.file, panel=export, again=file.sha256[:12], out=pay)
    assert [id for id, _ in lines(pay)] == ["one"]
    assert panel.settle(("one", "APPROVED")).earlier == 1


def test_more_people_than_a_study_has_are_refused_and_each_id_is_hashed_once(
    panel: Panel, monkeypatch: pytest.MonkeyPatch
) -> None:
    hashed: list[str] = []
    hash_id = panel_export.hash_panel_id
    monkeypatch.setattr(panel_export, "hash_panel_id", lambda id, salt: hashed.append(id) or hash_id(id, salt))
    said = " ".join(panel.settle(*(("one", "APPROVED") for _ in range(50))).said)
    assert hashed == ["one"] and " and 41 more (APPROVED)" in said and " and 50" not in said
    monkeypatch.setattr(panel_export, "MAX_PEOPLE", 2)
    with pytest.raises(ValueError, match=r"export.csv has more than 2 people: export only this study's participants"):
        panel.settle(*((f"id{i}", "APPROVED") for i in range(3)))
    assert hashed == ["one"], "nothing is hashed in vain"


def test_a_run_that_lost_the_lock_while_it_stood_still_pays_nobody_again(
    panel: Panel, monkeypatch: pytest.MonkeyPatch
) -> None:
    for id in ("one", "two"):
        panel.add(id)
    planned = Database.plan_bonuses
    monkeypatch.setattr(payments, "LEASE", 0.0)

    def overtaken(*args: Any) -> None:
        monkeypatch.setattr(Database, "plan_bonuses", planned)
        panel.settle(("one", "APPROVED"))
        planned(*args)

    monkeypatch.setattr(Database, "plan_bonuses", overtaken)
    with pytest.raises(ValueError, match="another run has just written one of these bonuses: run the command again"):
        panel.settle(("one", "APPROVED"), ("two", "APPROVED"))
    files = [panel.folder / "haggling-bonus-1.csv", panel.settle(("one", "APPROVED"), ("two", "APPROVED")).path]
    assert [[id for id, _ in lines(file)] for file in files] == [["one"], ["two"]]


def test_a_file_that_appears_meanwhile_is_left_alone(panel: Panel, monkeypatch: pytest.MonkeyPatch) -> None:
    panel.add("one")
    planned, path = Database.plan_bonuses, panel.folder / "haggling-bonus-1.csv"

    def crossed(*args: Any) -> object:
        path.write_text("theirs")
        return planned(*args)

    monkeypatch.setattr(Database, "plan_bonuses", crossed)
    for _ in range(2):
        with pytest.raises(ValueError, match=r"bonus-1.csv cannot be written: File exists; move it elsewhere and run"):
            panel.settle(("one", "APPROVED"))
        assert path.read_text() == "theirs"
    path.unlink()
    assert panel.settle(("one", "APPROVED")).resumed == [path]
    assert [id for id, _ in lines(path)] == ["one"]


def test_a_file_of_a_run_that_broke_off_needs_the_same_ids(panel: Panel, monkeypatch: pytest.MonkeyPatch) -> None:
    panel.add("one")
    fail_to_write(panel, monkeypatch)
    with pytest.raises(ValueError, match=r"IDs of .*haggling-bonus-1.csv, whose run was interrupted, are missing"):
        panel.settle(("two", "APPROVED"))
    assert [path.name for path in panel.settle(("one", "APPROVED")).resumed] == ["haggling-bonus-1.csv"]


@pytest.mark.parametrize("seed", range(3))
def test_any_order_of_runs_writes_each_due_amount_once(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    panel = Panel(tmp_path)
    for i in range(6):
        panel.add(f"p{i}", rng.choice(["complete", "complete", "partner", "timeout"]))
    words = ["APPROVED", "AWAITING REVIEW", "RETURNED", "REJECTED", "ACTIVE"]
    paid: dict[str, str] = {}
    for _ in range(5):
        rows = [(f"p{rng.randrange(8)}", rng.choice(words)) for _ in range(8)]
        settled = panel.settle(*rows)
        for id, amount in lines(settled.path) if settled.path else ():
            assert id not in paid
            paid[id] = amount
    assert set(paid) <= set(panel.people)
    assert {id: round(float(amount) * 100) for id, amount in paid.items()} == {
        id: panel.database.bonuses("haggling")[panel.people[id].id].amount for id in paid
    }
    panel.database.close()


ONE = HEAD + "s,one,APPROVED,1\n"


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("a,b\n1,2\n", (), "has no column 'Participant id': set it with --id-column"),
        ("Participant id\n1\n", (), "no column 'Status': set it with --status-column"),
        ("Participant id,Status\n,APPROVED\n", (), "line 2: 'Participant id' is empty"),
        ('Participant id,Status\n"a"b,X\n', (), "not a CSV file"),
        (f"Participant id,{'x' * 131_073}\n", (), "not a CSV file: field larger than field limit"),
        ("Participant id,Status,Status\n1,RETURNED,APPROVED\n", (), "has 2 columns 'Status': remove all but one"),
        ("Participant id,Note,Status\n1,I think, X, Y\n", (), "line 2 has more or fewer cells than the first line"),
        ("\udcff\udcfeP\0a\n", (), "not UTF-8 text"),
        (None, (), "cannot be read: No such file or directory"),
        (HEAD, ("--delimiter", "xx"), "--delimiter must be a single character"),
        (
            ONE,
            ("--paid-status", "APROVED"),
            "--paid-status: no line in panel.csv has the status 'APROVED': choose from APPROVED",
        ),
        (ONE, ("--out", "haggling.toml"), "already exists"),
        (ONE, ("--again", "abc"), "--again abc: 0 files have a hash that starts with this: --status lists all files"),
        (ONE, ("--out", "no/b.csv"), "there is no folder no"),
        *(
            (f"{ONE}s,{start}1+1,APPROVED,1\n", (), f"panel.csv: line 3: '{start}1+1' looks like a formula")
            for start in ("=", "+", "-", "@")
        ),
        *(
            (f"{ONE}s,{id},APPROVED,1\n", (), f"{id.strip(chr(34))!r} has an invisible character: remove it")
            for id in ("a\0", "a\x1f", "\x7fa", '"a\nb"', "a\u200b")
        ),
    ],
    ids=lambda value: value if isinstance(value, str) and "\n" not in value else "",
)
def test_a_mistake_is_told_in_a_line(panel: Panel, content: str | None, options: tuple[str, ...], message: str) -> None:
    panel.add("one", "partner")
    if content is not None:
        (panel.folder / "panel.csv").write_bytes(content.encode(errors="surrogateescape"))
    ran = negolab("study", "bonus", "haggling.toml", "--panel", "panel.csv", *options, cwd=panel.folder)
    assert ran.returncode == 2
    assert message in ran.stderr and ran.stderr.count("\n") == 1
    assert panel.database.bonuses("haggling") == {}


def test_the_command_says_where_the_file_is_and_what_it_costs(panel: Panel) -> None:
    panel.add("one")
    panel.export(("one", "APPROVED"), ("evil", "\x1b[2JAPPROVED"))
    args = ("study", "bonus", "haggling.toml", "--panel", "prolific_export.csv")
    first = negolab(*args, cwd=panel.folder)
    money = f"{panel.payoff('one') / 10:.2f}"
    assert first.stderr == ""
    assert "\x1b" not in first.stdout and "evil: unknown" in first.stdout
    assert first.stdout.endswith(f"haggling-bonus-1.csv: 1 bonus, £{money} in all, to upload to the panel\n")
    second = negolab(*args, cwd=panel.folder)
    assert second.stdout.endswith("no bonus is due now: no file was written\n")
    assert "1 with a bonus from an earlier run: skipped" in second.stdout
    assert not (panel.folder / "haggling-bonus-2.csv").exists()


def test_the_files_are_listed_with_their_hashes_and_written_again_byte_for_byte(
    panel: Panel, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(**options: Any) -> str:
        cli_bonus.bonus(panel.file, **options)
        return capsys.readouterr().out

    assert run(status=True) == "no bonus file has been written yet\n"
    for id in ("one", "two"):
        panel.add(id, "partner")
    path = panel.settle(("one", "APPROVED"), ("two", "APPROVED")).path
    assert path is not None
    content = path.read_bytes()
    sha256 = hashlib.sha256(content).hexdigest()
    panel.add("three", "partner")
    export = panel.export(("three", "APPROVED"))
    panel.settle(("three", "APPROVED"), form=PanelFormat(delimiter=";"))
    listed = run(status=True).splitlines()
    assert listed[0].startswith(f"{path}: 2 bonuses, £3.00 in all, written 20") and listed[0].endswith(sha256)
    assert "haggling-bonus-2.csv: 1 bonus, £1.50 in all, written 20" in listed[1] and len(listed) == 2
    path.unlink()
    with pytest.raises(ValueError, match=r"add --panel with the panel's export"):
        run(again=sha256[:12])
    with pytest.raises(
        ValueError, match=r"IDs of .*bonus-1.csv are missing: the database stores only hashed IDs, so use"
    ):
        run(again=sha256[:12], panel=export)
    export = panel.export(("three", "RETURNED"), ("two", "RETURNED"), ("one", "APPROVED"))
    assert run(again=sha256[:12], panel=export) == f"{path}: recreated, byte for byte\n"
    assert path.read_bytes() == content
    run(again=sha256, panel=export, out=panel.folder / "copy.csv")
    assert (panel.folder / "copy.csv").read_bytes() == content
    path.write_text("another")
    with pytest.raises(ValueError, match="File exists; move it elsewhere"):
        run(again=sha256, panel=export)
    assert path.read_text() == "another"
    assert run(status=True).splitlines() == listed


def test_two_spellings_of_one_participant_are_paid_once_and_named(
    panel: Panel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(panel_export, "hash_panel_id", lambda id, salt: hash_panel_id(id.casefold(), salt))
    panel.add("one", "partner")
    settled = panel.settle(("ONE", "RETURNED"), ("one", "APPROVED"), (" One\xa0", "APPROVED"))
    assert lines(settled.path) == [["ONE", "1.50"]]
    assert settled.said == ["ONE: repeated in lines 2 and 3 and 4 (RETURNED, APPROVED): counted once"]


# The export, and the status for the researcher.

SEVERAL = """currency = "GBP"
rate = 0.037
show_up = 2.00
rounding = 0.05
floor = 1.00
cap = {cap}
counts = "{counts}"
"""


@pytest.mark.parametrize(("counts", "cap"), [("all", "4.00"), ("one", "50.00")])
def test_an_independent_script_recomputes_every_payment_from_the_export(tmp_path: Path, counts: str, cap: str) -> None:
    text = FILE.replace('currency = "GBP"\nrate = 0.10\nshow_up = 2.00\n', SEVERAL.format(counts=counts, cap=cap))
    panel = Panel(
        tmp_path, text.replace('seat = "A"', 'seat = "A"\n[practice]\nmatches = 1\nopponent = "random-legal"')
    )
    ids = [f"p{i}" for i in range(7)]
    for i, id in enumerate(ids):
        person = panel.add(id, ["complete", "complete", "partner", "timeout", "playing"][i % 5])
        if person.status == "complete":
            for n, practice in enumerate([0, 1, 0]):
                match = begin(panel.database, panel.study, panel.study.treatments[0], {"A": person}, practice)
                moves(panel.database, match, seed=10 * i + n)
            panel.database.change(person.id, status="complete", ended=9.0)
    settled = panel.settle(*((id, "APPROVED") for id in ids))
    export(panel.database, panel.study, tmp_path / "out")
    assert recompute_payments.differences(tmp_path / "out") == []
    people = recompute_payments.read(tmp_path / "out", "participants")
    assert {p["status"] for p in people} == {"complete", "partner", "timeout", "playing"}
    done = [p for p in people if p["status"] == "complete"]
    assert all(len(p["paid_matches"].split()) == (1 if counts == "one" else 3) for p in done)
    assert all(p["pay_currency"] == "GBP" and p["bonus_written"] for p in done)
    written = {id: Decimal(amount) for id, amount in lines(settled.path)}
    by_number = {str(panel.people[id].number): id for id in ids}
    bonuses = {by_number[p["participant"]]: Decimal(p["bonus"]) for p in people if p["bonus"]}
    assert written == bonuses
    panel.database.close()


def test_a_study_that_pays_nothing_has_no_bonus_and_no_columns_of_it(tmp_path: Path) -> None:
    panel = Panel(tmp_path, FILE.replace(FILE[FILE.index("[payment]") : FILE.index("[[treatments]]")], ""))
    panel.add("one")
    with pytest.raises(ValueError, match=r"haggling.toml: add \[payment\]"):
        panel.settle(("one", "APPROVED"))
    export(panel.database, panel.study, tmp_path / "out", "csv")
    assert "pay_total" not in (tmp_path / "out" / "participants.csv").read_text()
    assert "earned" not in "".join(status_lines(status(panel.database, panel.study)))
    panel.database.close()


def test_status_sums_earnings_by_treatment_and_counts_returned_ones_as_dropped(panel: Panel) -> None:
    for id in ("a", "b", "c"):
        panel.add(id)
    panel.settle(("a", "APPROVED"), ("b", "RETURNED"), ("c", "APPROVED"))
    seen = status(panel.database, panel.study)
    (cell,) = seen.cells
    assert (cell.complete, cell.dropped, cell.paid) == (2, 1, 2)
    assert cell.earned == sum(round(200 + 10 * panel.payoff(id)) for id in ("a", "c"))
    assert [person.returned for person in seen.people] == [False, True, False]
    head, row = status_lines(seen)[3:5]
    assert head.endswith("earned GBP  by n") and row.split()[-2:] == [f"{cell.earned / 100:.2f}", "2"]
