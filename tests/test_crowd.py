"""Thirty participants at once on one machine: all finish, and no event is lost."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from negolab.people.database import Database
from negolab.people.study import read
from tests import crowd
from tests.conftest import free_port, needs, running
from tests.test_soak import STUDY, made

pytestmark = [pytest.mark.soak, pytest.mark.browser]

PEOPLE, BROWSERS, POOL = 30, 3, 8


def test_thirty_people_come_within_ten_seconds_and_all_finish(tmp_path: Path) -> None:
    needs("chromium", "chromium")
    file, db, port = tmp_path / "crowd.toml", tmp_path / "crowd.db", free_port()
    file.write_text(STUDY)
    study = read(file)
    command = [sys.executable, "-m", "negolab", "serve", str(file), f"--port={port}", f"--desk-port={free_port()}"]
    command += [f"--out={tmp_path / 'out'}", f"--db={db}", "--no-browser", f"--pool={POOL}", "--max-kernels=30"]
    with running(command, "negolab is at") as (_, launcher):
        database = Database(db)
        people = made(database, study, PEOPLE, f"http://127.0.0.1:{port}/")
        came, weight = asyncio.run(crowd.come(list(people.values()), launcher, BROWSERS, seed=1))
    print("\n" + crowd.told(came, weight))
    assert [one.code for one in came] == ["DONE"] * PEOPLE
    for id, one in zip(people, came, strict=True):
        (sat,) = database.matches(study.name, participant=id)
        log = database.record(sat.id).to_line().decode()
        assert [log.count(text.split()[0]) for text in one.seen] == [1] * len(one.seen)
    database.close()
