"""A database that is away in the middle of a study: all is refused, nothing is lost, and it goes on by itself."""

from __future__ import annotations

import asyncio
import logging
import re
import signal
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa

from negolab.studies.admin import AdminService
from negolab.studies.client import HostClient
from negolab.studies.database import Database
from negolab.studies.page_state import NotDelivered, Playing
from negolab.studies.server import Host, Services
from negolab.studies.service import StudyService
from negolab.studies.texts import texts
from tests.studies.test_service import ALONE, PAIRS, Site, study
from tests.studies.test_tables_at_host import say_an_option
from tests.support.gate_server import wait_until
from tests.support.host_process import (
    PAIR_TREATMENT,
    HostProcess,
    follow_until,
    page_text,
    running_host,
    solo_treatment,
    study_toml,
)
from tests.widgets.test_study_page import seated


def _remove(folder: Path, away: Path) -> None:
    """Move the database away, and leave nothing in its place."""
    for file in folder.glob("people.db*"):
        file.rename(away / file.name)


def _replace(folder: Path, away: Path) -> None:
    """Put another database in the place of its file alone."""
    other = Database(away / "other.db")
    other.close()
    (folder / "people.db").rename(away / "people.db")
    (away / "other.db").rename(folder / "people.db")


def _empty(folder: Path, away: Path) -> None:
    """Put an empty file in its place."""
    _remove(folder, away)
    (folder / "people.db").touch()


def refusal(hosted: HostProcess) -> str:
    """What the researcher's pages read while the database is away."""
    with pytest.raises(NotDelivered) as refused:
        HostClient(hosted.desk).ask("/monitor")
    return str(refused.value)


@pytest.mark.parametrize("lose", [_remove, _replace, _empty])
def test_a_database_that_is_gone_is_waited_for_and_never_made_anew(
    lose: Callable[[Path, Path], None], tmp_path: Path
) -> None:
    away = tmp_path / "away"
    away.mkdir()
    with running_host(tmp_path, study_toml("trading", solo_treatment("greedy-honest"))) as hosted:
        page, _, token = hosted.begin()
        said = [say_an_option(page)]
        lose(tmp_path, away)
        before = seated(page)._view
        for told in (texts.UNSURE, texts.NOT_NOW):
            seated(page)._submit("Pass.")
            assert told in page_text(page) and seated(page)._view == before
        follow_until(lambda: page._page and page._page.error == texts.AWAY, page)
        assert "4242" not in page_text(page)
        assert wait_until(lambda: "replaced or truncated" not in refusal(hosted), 20), "it tries to open it again"
        assert re.search(r"waiting for the database since \d\d:\d\d:\d\d", refusal(hosted))
        with pytest.raises(NotDelivered, match="Your place is kept"):
            hosted.page(token)
        sizes = [file.stat().st_size for file in tmp_path.glob("people.db")]
        assert lose is _replace or sizes == [0] * (lose is _empty)
        for file in away.iterdir():
            file.rename(tmp_path / file.name)
        follow_until(lambda: page._page and not page._page.error, page)
        said.append(say_an_option(page))
        (match,) = hosted.matches()
        assert hosted.replies(match.id, "A") == said
        hosted.process.terminate()
        hosted._reader.join(10)
        begun, over = hosted.stderr
        assert "waiting for the database since" in begun and "its file was deleted, replaced or truncated" in begun
        assert "is back: " in over


def test_a_database_that_another_program_tidied_is_opened_again_with_all_that_was_saved(tmp_path: Path) -> None:
    with running_host(tmp_path, study_toml("trading", solo_treatment("greedy-honest"))) as hosted:
        page, _, _ = hosted.begin()
        with closing(sqlite3.connect(tmp_path / "people.db", isolation_level=None)) as other:
            other.execute("CREATE TABLE big AS SELECT zeroblob(1000000)")
            other.execute("PRAGMA wal_checkpoint(FULL)")
            said = [say_an_option(page)]
            other.execute("DROP TABLE big")
            other.execute("VACUUM")  # which cuts the file
            other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        follow_until(lambda: page._page and page._page.error == texts.AWAY, page)
        follow_until(lambda: page._page and not page._page.error, page)
        said.append(say_an_option(page))
        (match,) = hosted.matches()
        assert hosted.replies(match.id, "A") == said


def test_a_host_that_is_started_again_waits_for_its_database(tmp_path: Path) -> None:
    with running_host(tmp_path, study_toml("trading", solo_treatment("greedy-honest"))) as hosted:
        page, _, _ = hosted.begin()
        hosted.kill()
        away = tmp_path / "away"
        away.mkdir()
        for file in tmp_path.glob("people.db*"):
            file.rename(away / file.name)
        (tmp_path / "people.db").mkdir()
        with pytest.raises(AssertionError, match=r"people\.db"):  # an operator is told at once
            hosted.start()
        (tmp_path / "people.db").rmdir()
        hosted.start("--wait")
        follow_until(lambda: page._page and page._page.error == texts.AWAY, page)
        assert not list(tmp_path.glob("people.db*"))
        for file in away.iterdir():
            file.rename(tmp_path / file.name)
        follow_until(lambda: page._page and not page._page.error, page)
        say_an_option(page)


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_a_host_that_is_ended_sends_open_pages_away_and_logs_nothing(tmp_path: Path, sign: signal.Signals) -> None:
    async def scene(hosted: HostProcess) -> None:
        arriving = asyncio.ensure_future(HostClient(hosted.seats).arrival("a kernel without a page"))
        following = [asyncio.ensure_future(page.follow()) for page in pages]
        await asyncio.sleep(0.2)  # all wait for news
        hosted.process.send_signal(sign)
        assert await asyncio.to_thread(hosted.process.wait, 20) == 0
        for task in (arriving, *following):
            task.cancel()

    with running_host(tmp_path, study_toml("trading", PAIR_TREATMENT)) as hosted:
        pages = [hosted.page(hosted.invite()[1]) for _ in range(4)]
        for page in pages:
            page.act("start")
        asyncio.run(scene(hosted))
        hosted._reader.join(10)
        assert {page.error for page in pages} == {texts.AWAY}
        assert list(hosted.stderr) == []


GONE = sa.exc.OperationalError("SELECT", {}, Exception("server closed the connection"))


class OpenHost:
    """A host in this process, its database, and its study's first participant in a match or in the line."""

    def __init__(self, folder: Path, tables: str) -> None:
        self.site = Site(folder, study(tables, "[limits]\nreply = 60"))
        (self.id,) = self.site.come()
        self.site.act(self.id, "start")
        self.site.database.close()
        self.host = Host(str(folder / "people.db"), self.build)
        self.host.open(Database(folder / "people.db"))

    def build(self, database: Database) -> Services:
        self.site.database, self.site.service = database, StudyService(database, self.site.study)
        return Services(database, self.site.service, AdminService(database))

    async def back(self) -> None:
        self.host._next = 0.0
        await self.host._reopen()


async def test_what_was_under_way_before_an_outage_does_nothing_after_it(tmp_path: Path) -> None:
    opened = OpenHost(tmp_path, PAIRS)
    old, lease = opened.site.service, opened.site.leases[opened.id]
    poll = asyncio.ensure_future(old.poll(lease, old.presence[opened.id].version, 30))
    arrival = asyncio.ensure_future(old.authenticator.arrive("new-kernel", 30))
    await asyncio.sleep(0.01)
    opened.host.outage.begin("gone")
    done, _ = await asyncio.wait([poll, arrival], timeout=5)
    assert {type(each.exception()).__name__ for each in done} == {"DatabaseClosed"} and len(done) == 2
    await opened.back()
    assert opened.site.service is not old and opened.id in opened.site.service.scheduler.waiting
    await opened.host.close()


def _break(opened: OpenHost) -> None:
    opened.host.outage.begin("gone")


def _freeze(opened: OpenHost) -> None:
    opened.host._ticked -= 100
    opened.host.tick()


@pytest.mark.parametrize("stop", [_break, _freeze])
async def test_time_limits_start_again_after_an_outage(stop: Callable[[OpenHost], None], tmp_path: Path) -> None:
    opened = OpenHost(tmp_path, ALONE)
    (session,) = [each.session for each in opened.site.service._sessions.running()]
    seen, _ = session._asked["A"]
    session._asked["A"] = (seen, -1e9)
    stop(opened)
    await opened.back()
    opened.host.tick()
    state = opened.site.state(opened.id)
    assert isinstance(state, Playing) and 59 < (state.left or 0) <= 60
    await opened.host.close()


async def test_an_outage_is_told_once_and_once_that_it_is_over(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = OpenHost(tmp_path, PAIRS)
    lock = sqlite3.connect(tmp_path / "people.db", isolation_level=None)
    monkeypatch.setattr("negolab.studies.database.connection.PATIENCE", 0.01)
    monkeypatch.setattr(opened.site.service.scheduler, "pair", lambda: (_ for _ in ()).throw(GONE))
    opened.host.tick()
    lock.execute("BEGIN IMMEDIATE")
    for _ in range(3):
        await opened.back()
    assert opened.host.outage.since is not None and opened.host._failures == 4
    lock.close()
    await opened.back()
    opened.host.tick()
    await opened.host.close()
    said = [record.getMessage() for record in caplog.records]
    assert [text.split(" since ")[0].split(":")[0] for text in said] == [
        "waiting for the database",
        "the database is back",
    ]
    assert not any(record.exc_info for record in caplog.records)


async def test_a_database_that_another_host_took_is_not_taken_back(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    opened = OpenHost(tmp_path, PAIRS)
    opened.host.outage.begin("gone")
    other = Database(tmp_path / "people.db")
    other.claim()
    await opened.back()
    other.close()
    await opened.back()
    assert "another host has used it since; if it is the newest copy, restart this host" in str(opened.host.outage)
    await opened.host.close()
