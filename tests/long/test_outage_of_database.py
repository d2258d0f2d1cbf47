"""A study outlasts its database and its own processes: nobody reloads by hand, nothing is lost or doubled."""

from __future__ import annotations

import asyncio
import random
import re
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import pytest
from typing_extensions import override

from negolab.studies.database import Database
from negolab.studies.study_config import Study
from negolab.studies.study_file import read_study
from negolab.studies.texts import texts
from negolab.studies.trial.browsers import invite_links
from tests.conftest import SLOW, free_port
from tests.long.test_soak import compare
from tests.support.bots import Bot
from tests.support.crowd import STUDY
from tests.support.databases import Cluster, running_cluster
from tests.support.gate_server import wait_until
from tests.support.host_process import solo_treatment, study_toml
from tests.support.processes import ProcessKind, kill, processes_of
from tests.support.study_server import Person, serving_study

pytestmark = [pytest.mark.soak, pytest.mark.database]

AWAY = 180.0 if SLOW else 40.0
"""Seconds for which the database is away."""
GAMES = 20 if SLOW else 8
KILLS = 5 if SLOW else 3
"""Of each part that has just been started again."""
PATIENCE = 240.0
"""Seconds after which a participant who has no code gives up."""


class Patient(Bot):
    """A participant who presses Send again when a page says so, and whose page reloads when its own script does."""

    def __init__(self, link: str, trouble: asyncio.Event) -> None:
        super().__init__(link)
        self.trouble = trouble

    @override
    async def speak(self, box: str, text: str) -> None:
        if self.seen:
            await self.trouble.wait()  # so that all games are under way when it comes
        self.sent.append(text)
        while (send := self.find("Button", "Send reply")) is not None:
            await self.fill(box, value=text)
            await self.press(send)
            with suppress(TimeoutError):
                await self.until(lambda: self.shows(text) or self.code(), 5)
                self.seen.append(text)
                return
            if await self.alive() in ("gone", "replaced"):
                await self.back()
                return


class Served(NamedTuple):
    """A served study: the launcher, what its terminal shows, the participants' address."""

    launcher: subprocess.Popen[str]
    terminal: Path
    base: str
    study: Study


@contextmanager
def serving(folder: Path, database: str) -> Iterator[Served]:
    """Serve a study until the block ends; the launcher must run until then."""
    file, terminal, port = folder / "outage.toml", folder / "terminal.txt", free_port()
    file.write_text(STUDY)
    command = [sys.executable, "-m", "negolab", "serve", str(file), f"--port={port}", f"--desk-port={free_port()}"]
    command += [f"--out={folder / 'out'}", f"--db={database}", "--no-browser", "--pool=3", f"--max-kernels={GAMES}"]
    with terminal.open("w") as out:
        launcher = subprocess.Popen(command, stdout=out, stderr=out, text=True, start_new_session=True)
    try:
        assert wait_until(lambda: "negolab is at" in terminal.read_text() or launcher.poll() is not None, 90)
        yield Served(launcher, terminal, f"http://127.0.0.1:{port}/", read_study(file))
        assert launcher.poll() is None, terminal.read_text()
    finally:
        launcher.send_signal(signal.SIGINT)
        launcher.wait(30)


async def play(bot: Bot, rng: random.Random) -> str:
    await bot.arrive()
    code = await bot.play(lambda: rng.uniform(1, 4))
    await bot.close()
    return code


async def play_through(served: Served, links: list[str], trouble: object) -> list[Bot]:
    """Play all games; `trouble(bots)` comes when every game is under way."""
    begins = asyncio.Event()
    bots: list[Bot] = [Patient(link, begins) for link in links]
    playing = [asyncio.ensure_future(play(bot, random.Random(i))) for i, bot in enumerate(bots)]
    while not all(bot.seen for bot in bots):
        await asyncio.sleep(0.5)
    begins.set()
    await trouble(bots)  # type: ignore[operator]
    codes = await asyncio.wait_for(asyncio.gather(*playing), PATIENCE)
    assert codes == ["DONE"] * len(bots)
    return bots


def check(database: Database, study: Study, people: dict[str, str], bots: list[Bot]) -> None:
    for id, bot in zip(people, bots, strict=True):
        compare(database, study, id, bot)
    assert len(database.matches(study.name)) == len(people)


def kill_part(served: Served, part: ProcessKind) -> None:
    assert wait_until(lambda: processes_of(served.launcher.pid, part) or served.launcher.poll() is not None, 60)
    assert served.launcher.poll() is None, served.terminal.read_text()
    kill(processes_of(served.launcher.pid, part)[0])


def test_games_outlast_their_database_and_kills_in_between(tmp_path: Path) -> None:
    with running_cluster() as cluster:
        url = cluster.url(cluster.fresh())
        with serving(tmp_path, url) as served:
            database = Database(url)
            people = invite_links(database, served.study, GAMES, served.base)
            database.close()
            began = time.monotonic()
            bots = asyncio.run(play_through(served, list(people.values()), lambda bots: outage(cluster, served, bots)))
            seconds = time.monotonic() - began
            terminal = served.terminal.read_text()
        database = Database(url)
        check(database, served.study, people, bots)
        database.close()
    said = re.findall("waiting for the database|the database is back|the .* (?:ended|has ended repeatedly)", terminal)
    print(f"\n{GAMES} games, {AWAY:g} s without a database, {sum(b.reloads for b in bots)} reloads, {seconds:.0f} s")
    print(terminal)
    assert len(said) <= 12 and "the database is back" in said, "the terminal is told, but not at each attempt"
    assert "Traceback" not in terminal


async def outage(cluster: Cluster, served: Served, bots: list[Bot]) -> None:
    """Take the database away, kill the host twice and the gate once, and give it back."""
    cluster.stop(signal.SIGQUIT)
    end = time.monotonic() + AWAY
    for part in ("host", "voila", "host"):
        await asyncio.sleep(AWAY / 4)
        if part == "host":
            told = [texts.AWAY in bot.text() for bot in bots if await bot.alive() == "here"]
            print(f"{sum(told)} of {len(told)} pages that are connected say that their place is kept")
            assert all(told)
        kill_part(served, part)  # type: ignore[arg-type]
    await asyncio.sleep(end - time.monotonic())
    assert not any(bot.code() for bot in bots), "all games are under way"
    cluster.start()


def test_a_study_goes_on_after_quick_kills_of_each_part(tmp_path: Path) -> None:
    url, parts = str(tmp_path / "people.db"), ("host", "voila", "admin")

    async def trouble(bots: list[Bot]) -> None:
        await asyncio.gather(*(asyncio.to_thread(kill_again_and_again, served, part) for part in parts))

    with serving(tmp_path, url) as served:
        database = Database(url)
        people = invite_links(database, served.study, 4, served.base)
        bots = asyncio.run(play_through(served, list(people.values()), trouble))
        assert all(processes_of(served.launcher.pid, part) for part in parts)  # type: ignore[arg-type]
    check(database, served.study, people, bots)
    database.close()


def kill_again_and_again(served: Served, part: ProcessKind) -> None:
    """Kill a part, and some times more when it has just been started again."""
    killed: set[int] = set()
    for _ in range(KILLS + 1):
        assert wait_until(
            lambda: set(processes_of(served.launcher.pid, part)) - killed or served.launcher.poll() is not None, 60
        )
        assert served.launcher.poll() is None, served.terminal.read_text()
        (pid,) = set(processes_of(served.launcher.pid, part)) - killed
        kill(pid)
        killed.add(pid)


@pytest.mark.browser
def test_a_page_says_that_its_place_is_kept_and_goes_on_without_a_reload(tmp_path: Path, chromium: Any) -> None:
    with serving_study(tmp_path, study_toml("trading", solo_treatment("greedy-honest"))) as server:
        person = Person(chromium, server).join().begin().seated()
        person.move()
        person.page.evaluate("() => { window.sameAsBefore = true; }")
        (host,) = processes_of(server.launcher, "host")
        before = resource.prlimit(host, resource.RLIMIT_FSIZE)
        resource.prlimit(host, resource.RLIMIT_FSIZE, (0, before[1]))
        late = server.invite()[1]
        with httpx2.Client(follow_redirects=True, timeout=300) as client:  # somebody else's page, which must be noted
            answer = client.post(late, headers={"Origin": server.base.rstrip("/")})
            assert answer.status_code == 503 and answer.headers["refresh"]
            person.wait_for_text(texts.AWAY)
            time.sleep(15)
            assert person.current_warnings() == [texts.AWAY], "and not that the connection is lost"
            resource.prlimit(host, resource.RLIMIT_FSIZE, before)
            person.wait_until(lambda: person.current_warnings() == [], "the page did not go on")
            assert wait_until(lambda: client.get(server.base).status_code == 200, 60)
        assert person.page.evaluate("() => window.sameAsBefore"), "the page was not loaded again"
        while person.wait_for_turn():
            person.move()
        person.check_record()
        assert person.errors == []
        person.close()
