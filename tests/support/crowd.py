"""Thirty people who come at once: most as pages without a screen, some in real browsers, and what it costs."""

from __future__ import annotations

import asyncio
import random
import statistics
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from negolab.studies import links
from negolab.studies.database import Database
from negolab.studies.study_file import Study, read_study
from tests.conftest import free_port, needs, running
from tests.support.bots import Bot
from tests.support.processes import kernels_of, memory, parts
from tests.support.screened import Screened

PACE = (3.0, 6.0)
"""Seconds that a person takes for a reply."""

ARRIVING = 10.0
"""Seconds within which all come."""


@dataclass
class Came:
    """One participant, afterwards: seconds in the line, seconds from admission to the first control that answered, and
    what was said and seen to stand."""

    kind: str
    queued: float
    first: float
    code: str
    seen: list[str] = field(default_factory=list)


STUDY = """
title = "Many"
game = "trading"
instructions = "Say something."
closing = "Bye."
[[treatments]]
name = "short"
preset = "tolerant"
params = { max_turns = 10 }
opponent = "greedy-honest"
seat = "A"
[codes]
complete = "DONE"
"""

PEOPLE, BROWSERS, POOL = 30, 3, 8


def made(database: Database, study: Study, n: int, base: str) -> dict[str, str]:
    """New participants and their links."""
    kept = database.study(study.name, study.text)
    return {
        who.id: links.link_url(base, links.make_token(kept.secret, study.name, who.id, created=who.created))
        for who in database.invite(study.name, n)
    }


def thirty(folder: Path) -> tuple[Database, Study, list[str], list[Came], dict[str, Any]]:
    """Serve a study to thirty people in `folder`: its database, their ids, what each met, and the memory it took."""
    file, db, port = folder / "crowd.toml", folder / "crowd.db", free_port()
    file.write_text(STUDY)
    study = read_study(file)
    command = [sys.executable, "-m", "negolab", "serve", str(file), f"--port={port}", f"--desk-port={free_port()}"]
    command += [f"--out={folder / 'out'}", f"--db={db}", "--no-browser", f"--pool={POOL}", f"--max-kernels={PEOPLE}"]
    with running(command, "negolab is at") as (_, launcher):
        database = Database(db)
        people = made(database, study, PEOPLE, f"http://127.0.0.1:{port}/")
        came, weight = asyncio.run(come(list(people.values()), launcher, BROWSERS, seed=1))
    return database, study, list(people), came, weight


async def come(ways: Sequence[str], launcher: int, browsers: int, seed: int) -> tuple[list[Came], dict[str, Any]]:
    """Let all come and play to their codes; what each met, and the memory while all were there."""
    rng = random.Random(seed)
    starts = sorted(rng.uniform(0, ARRIVING) for _ in ways)
    screens = set(rng.sample(range(len(ways)), browsers))
    inside = asyncio.Semaphore(0)
    async with chromium() as chrome:

        async def person(i: int, link: str) -> Came:
            await asyncio.sleep(starts[i])
            own = random.Random(f"{seed}/{i}")
            return await (_browser(chrome, link, own, inside) if i in screens else _bot(link, own, inside))

        people = [asyncio.ensure_future(person(i, link)) for i, link in enumerate(ways)]
        weight = asyncio.ensure_future(_weigh(launcher, inside, len(ways)))
        return await asyncio.gather(*people), await weight


async def _weigh(launcher: int, inside: asyncio.Semaphore, n: int) -> dict[str, Any]:
    """Memory in MiB once all are in: of each kernel, of Voila, of the host."""
    for _ in range(n):
        await inside.acquire()
    (voila,), (host,) = parts(launcher, "voila"), parts(launcher, "host")
    kernels = [memory(pid) for pid in kernels_of(voila)]
    return {"kernels": kernels, "voila": memory(voila), "host": memory(host)}


async def _bot(link: str, rng: random.Random, inside: asyncio.Semaphore) -> Came:
    bot = Bot(link)
    await bot.arrive()
    await bot.until(lambda: bot.find("Button", "Start"))
    first = time.monotonic() - bot.admitted
    inside.release()
    code = await bot.play(lambda: rng.uniform(*PACE))
    await bot.close()
    return Came("protocol", bot.queued, first, code, bot.seen)


async def _browser(chrome: Any, link: str, rng: random.Random, inside: asyncio.Semaphore) -> Came:
    person = Screened(chrome, link, rng)
    await person.come()
    inside.release()
    code = await person.play(PACE)
    await person.close()
    return Came("browser", person.queued, person.first, code, person.said)


@asynccontextmanager
async def chromium() -> AsyncIterator[Any]:
    """The system's browser, for many pages at once."""
    from playwright.async_api import async_playwright

    flags = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
    async with async_playwright() as playwright:
        launched = await playwright.chromium.launch(executable_path=needs("chromium", "chromium"), args=flags)
        yield launched
        await launched.close()


def told(came: Sequence[Came], weight: dict[str, Any]) -> str:
    """The numbers in words, each with its unit and n."""
    lines = []
    for kind in ("protocol", "browser"):
        some = [one for one in came if one.kind == kind]
        if some:
            first, queued = [one.first for one in some], [one.queued for one in some]
            lines.append(
                f"{kind} (n = {len(some)}): admission to first control {_spread(first)}; in the line {_spread(queued)}"
            )
    rss, pss = zip(*weight["kernels"], strict=True)
    lines.append(f"kernels (n = {len(rss)}): {_spread(rss, 'MiB')} resident, {_spread(pss, 'MiB')} by share")
    lines.append(f"Voila {weight['voila'][0]} MiB resident, host {weight['host'][0]} MiB resident")
    return "\n".join(lines)


def _spread(values: Sequence[float], unit: str = "s") -> str:
    return f"median {statistics.median(values):.2f} {unit}, most {max(values):.2f} {unit}"
