"""`negolab study bonus` as several processes at once, and as one that is killed between any two steps."""

from __future__ import annotations

import csv
import hashlib
import multiprocessing
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from negolab.studies import bonus
from negolab.studies.authentication import hash_panel_id
from negolab.studies.bonus import settle
from negolab.studies.database import Database, payments
from negolab.studies.panel import PanelFormat
from negolab.studies.study_file import read_study
from tests.studies.test_bonus import FILE, HEAD

ROUNDS = int(os.environ.get("NEGOLAB_BONUS_ROUNDS", "4"))
"""Rounds of runs at once, for each number of processes and each database."""
PEOPLE = 4
FORK = multiprocessing.get_context("fork")


class Round:
    """A study with people who are due an amount each, and the panel's export of them."""

    def __init__(self, folder: Path, database: Database, number: int = 1) -> None:
        folder.mkdir()
        self.file, self.panel = folder / f"round{number}.toml", folder / "panel.csv"
        self.file.write_text(FILE)
        self.study = read_study(self.file)
        kept = database.study(self.study.name, self.study.text)
        self.ids = [f"5f{number:04x}{i:018x}" for i in range(PEOPLE)]
        for id in self.ids:
            (person,) = database.invite(self.study.name, link="open", external=hash_panel_id(id, kept.salt))
            database.change(person.id, status="partner", ended=9.0)
        self.panel.write_text(HEAD + "".join(f"s,{id},APPROVED,2026\n" for id in self.ids))

    def settle(self, database: Database) -> bonus.Settlement:
        return settle(database, self.study, self.panel, PanelFormat(), beside=self.file)

    def check(self, database: Database) -> None:
        """Assert that everybody due is in the files once, and that the files are those that the database knows."""
        there = sorted(path for path in self.file.parent.glob("*-bonus-*"))
        rows = [row for path in there for row in csv.reader(path.read_text().splitlines())]
        assert sorted(rows) == [[id, "1.50"] for id in self.ids]
        known = database.bonus_files(self.study.name)
        assert {file.path: file.sha256 for file in known} == {
            str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in there
        }
        assert len(known) == len(there) and all(file.written for file in known)
        assert len(database.bonuses(self.study.name)) == PEOPLE


def settle_all(url: str, rounds: list[Round], start: Any, errors: Any) -> None:
    """Settle each round at the same moment as the other processes."""
    database = Database(url)
    for one in rounds:
        start.wait(60)
        try:
            one.settle(database)
        except Exception as error:
            errors.put(f"{one.study.name}: {error!r}")
    database.close()


@pytest.mark.database
@pytest.mark.parametrize("processes", [2, 3])
def test_runs_at_once_pay_everybody_who_is_due_exactly_once(database_url: str, tmp_path: Path, processes: int) -> None:
    database = Database(database_url)
    rounds = [Round(tmp_path / f"r{number}", database, number) for number in range(ROUNDS)]
    database.close()
    start, errors = FORK.Barrier(processes), FORK.SimpleQueue()
    workers = [FORK.Process(target=settle_all, args=(database_url, rounds, start, errors)) for _ in range(processes)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60 + 5 * ROUNDS)
    assert [worker.exitcode for worker in workers] == [0] * processes
    assert errors.empty(), errors.get()
    database = Database(database_url)
    for one in rounds:
        one.check(database)
    database.close()


def _die(*_: object, **__: object) -> None:
    os._exit(9)


def _write_half(path: Path, data: bytes, *, new: bool) -> None:
    path.write_bytes(data[: len(data) // 2])
    os._exit(9)


def _write_all(path: Path, data: bytes, *, new: bool) -> None:
    path.write_bytes(data)
    os._exit(9)


@pytest.fixture
def one(tmp_path: Path) -> Iterator[Round]:
    database = Database(tmp_path / "people.db")
    made = Round(tmp_path / "r", database)
    database.close()
    yield made


@pytest.mark.parametrize(
    ("owner", "step", "dies"),
    [
        (bonus, "_known", _die),
        (Database, "plan_bonuses", _die),
        (bonus, "_store", _die),
        (bonus, "atomic_write", _write_half),
        (bonus, "atomic_write", _write_all),
        (Database, "confirm_bonuses", _die),
    ],
)
def test_after_a_run_is_killed_at_any_moment_the_next_one_completes_it(
    one: Round, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, owner: Any, step: str, dies: Callable[..., None]
) -> None:
    def run() -> None:
        setattr(owner, step, dies)
        one.settle(Database(tmp_path / "people.db"))

    killed = FORK.Process(target=run)
    killed.start()
    killed.join(60)
    assert killed.exitcode == 9
    monkeypatch.setattr(payments, "LEASE", 0.0)
    database = Database(tmp_path / "people.db")
    (left,) = {path.read_bytes() for path in one.file.parent.glob("*-bonus-*")} or {b""}
    settled = one.settle(database)
    one.check(database)
    assert len(settled.resumed) == (step not in ("_known", "plan_bonuses"))
    assert Path(database.bonus_files(one.study.name)[0].path).read_bytes().startswith(left), "an uploaded file stays"
    again = one.settle(database)
    assert (again.path, again.resumed) == (None, [])
    database.close()


def test_a_run_waits_until_another_ends_and_says_for_whom(one: Round, tmp_path: Path) -> None:
    database = Database(tmp_path / "people.db")
    command = [sys.executable, "-m", "negolab", "study", "bonus", one.file, "--panel", one.panel]
    command += ["--db", tmp_path / "people.db"]
    with database.bonus_run(one.study.name):
        ran = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert ran.stderr is not None
        said = ran.stderr.readline()
        assert f"waiting for another run (process {os.getpid()} on " in said and "60 s if it is dead" in said
        assert database.bonuses(one.study.name) == {}
    out, errors = ran.communicate(timeout=300)
    assert (ran.returncode, errors) == (0, "")
    assert out.endswith("round1-bonus-1.csv: 4 bonuses, £6.00 in all, to upload to the panel\n")
    one.check(database)
    database.close()
