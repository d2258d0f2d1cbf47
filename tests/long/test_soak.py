"""Processes killed at random moments of many games: no acknowledged event is lost or duplicated."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from negolab.events import Replied
from negolab.studies.database import Database
from negolab.studies.study_config import Study
from negolab.studies.trial.browsers import invite_links
from negolab.verification import replay_differences
from tests.conftest import SLOW
from tests.support.bots import Bot
from tests.support.crowd import STUDY
from tests.support.processes import ProcessKind, kernels_of, kill, processes_of
from tests.support.study_server import serving_study

pytestmark = [pytest.mark.soak, pytest.mark.database]

GAMES, KILLS = (50, 20) if SLOW else (12, 6)
AT_ONCE = 4
SEED = 20260


async def one(link: str, rng: random.Random) -> Bot:
    """Play one participant from the link to the code, through the kills."""
    bot = Bot(link)
    await bot.arrive()
    assert await bot.play(lambda: rng.uniform(0.5, 1.5)) == "DONE"
    await bot.close()
    return bot


async def killer(launcher: int, kills: list[ProcessKind], rng: random.Random, playing: asyncio.Event) -> None:
    while kills:
        await asyncio.sleep(rng.uniform(1.5, 5))
        await playing.wait()
        victims = _victims(launcher, kills[-1])
        if victims:
            kill(rng.choice(victims))
            kills.pop()


def _victims(launcher: int, part: ProcessKind) -> list[int]:
    if part == "kernel":
        return [kernel for voila in processes_of(launcher, "voila") for kernel in kernels_of(voila)]
    return processes_of(launcher, part)


async def soak(launcher: int, ways: list[str], kills: list[ProcessKind]) -> list[Bot]:
    rng = random.Random(SEED)
    gate, playing = asyncio.Semaphore(AT_ONCE), asyncio.Event()

    async def seat(link: str) -> Bot:
        async with gate:
            playing.set()
            return await asyncio.wait_for(one(link, random.Random(rng.random())), 300)

    killing = asyncio.ensure_future(killer(launcher, kills, rng, playing))
    bots = await asyncio.gather(*(seat(link) for link in ways))
    killing.cancel()
    return bots


def test_no_event_is_lost_or_doubled_when_processes_are_killed(database_url: str, tmp_path: Path) -> None:
    order: list[ProcessKind] = ["host", "voila", "kernel"]
    kills = [order[i % 3] for i in range(KILLS)]
    random.Random(SEED).shuffle(kills)
    began = time.monotonic()
    with serving_study(tmp_path, STUDY, "--pool=3", "--max-kernels=8", database=database_url) as server:
        study, database = server.study, Database(database_url)
        people = invite_links(database, study, GAMES, server.base)
        bots = asyncio.run(soak(server.launcher, list(people.values()), kills))
    seconds = time.monotonic() - began
    assert kills == [], f"{len(kills)} kills were left when the last game ended after {seconds:.0f} s"
    for id, bot in zip(people, bots, strict=True):
        compare(database, study, id, bot)
    assert len(database.matches(study.name)) == GAMES
    database.close()
    reloads = sum(bot.reloads for bot in bots)
    print(f"\n{GAMES} games, {KILLS} kills, {reloads} pages loaded anew, {seconds:.0f} s, {database}")


def compare(database: Database, study: Study, id: str, bot: Bot) -> None:
    """Check that the log of a participant's match holds each acknowledged reply exactly once."""
    (sat,) = database.matches(study.name, participant=id)
    record: Any = database.record(sat.id)
    assert record.end is not None
    assert replay_differences(record) == []
    said = Counter(e.reply.text.split()[0] for e in record.events if isinstance(e, Replied) and e.seat == "A")
    assert set(said.values()) == {1}
    assert {text.split()[0] for text in bot.seen} <= set(said)
    assert set(said) <= {text.split()[0] for text in bot.sent}
