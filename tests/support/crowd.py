"""A load test of many participants at once: most over the protocol alone, some in real browsers."""

from __future__ import annotations

import asyncio
import random
import re
import statistics
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.async_api import TimeoutError

from negolab.studies.database import Database
from negolab.studies.study_config import Study
from negolab.studies.trial.browsers import invite_links, open_browser
from tests.conftest import PATIENCE, needs
from tests.support.bots import Bot
from tests.support.overload import attacking
from tests.support.processes import kernels_of, memory, processes_of
from tests.support.study_server import serving_study

REPLY_SECONDS = (3.0, 6.0)
"""The range of a participant's reply time."""

ARRIVAL_SECONDS = 10.0
"""The time within which all participants arrive."""


@dataclass
class Visit:
    """One participant's visit: seconds in the queue, seconds from admission to the first working control, and the
    messages that appeared in the log."""

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


def run_crowd(
    folder: Path, most: int = PEOPLE, browsers: int = BROWSERS, attacks: Sequence[str] = ()
) -> tuple[Database, Study, list[str], list[Visit], dict[str, Any]]:
    """Serve a study to `most` people in `folder`, while attackers with links are at work; return its database, the ids
    of those people, their visits, and the memory used."""
    db, kernels = folder / "crowd.db", most + len(attacks)
    with serving_study(folder, STUDY, f"--pool={POOL}", f"--max-kernels={kernels}", database=db) as server:
        database = Database(db)
        links = invite_links(database, server.study, kernels, server.base)
        people, attackers = dict(list(links.items())[:most]), list(links.values())[most:]
        with ExitStack() as stack:
            for kind, link in zip(attacks, attackers, strict=True):
                stack.enter_context(attacking(kind, link))
            came, weight = asyncio.run(visit_all(list(people.values()), server.launcher, browsers, seed=1))
    return database, server.study, list(people), came, weight


async def visit_all(ways: Sequence[str], launcher: int, browsers: int, seed: int) -> tuple[list[Visit], dict[str, Any]]:
    """Let all arrive and play to their codes; return their visits, and the memory used while all were there."""
    rng = random.Random(seed)
    starts = sorted(rng.uniform(0, ARRIVAL_SECONDS) for _ in ways)
    screens = set(rng.sample(range(len(ways)), browsers))
    inside = asyncio.Semaphore(0)
    async with open_browser(needs("chromium", "chromium")) as chrome:

        async def person(i: int, link: str) -> Visit:
            await asyncio.sleep(starts[i])
            own = random.Random(f"{seed}/{i}")
            return await (_browser(chrome, link, own, inside) if i in screens else _bot(link, own, inside))

        people = [asyncio.ensure_future(person(i, link)) for i, link in enumerate(ways)]
        weight = asyncio.ensure_future(_measure_memory(launcher, inside, len(ways)))
        return await asyncio.gather(*people), await weight


async def _measure_memory(launcher: int, inside: asyncio.Semaphore, n: int) -> dict[str, Any]:
    """Measure the memory in MiB once all are admitted: of each kernel, of Voila, of the host."""
    for _ in range(n):
        await inside.acquire()
    (voila,), (host,) = processes_of(launcher, "voila"), processes_of(launcher, "host")
    kernels = [memory(pid) for pid in kernels_of(voila)]
    return {"kernels": kernels, "voila": memory(voila), "host": memory(host)}


async def _bot(link: str, rng: random.Random, inside: asyncio.Semaphore) -> Visit:
    bot = Bot(link)
    await bot.arrive()
    await bot.until(lambda: bot.find("Button", "Start"))
    first = time.monotonic() - bot.admitted
    inside.release()
    code = await bot.play(lambda: rng.uniform(*REPLY_SECONDS))
    await bot.close()
    return Visit("protocol", bot.queued, first, code, bot.seen)


async def _browser(chrome: Any, link: str, rng: random.Random, inside: asyncio.Semaphore) -> Visit:
    person = BrowserParticipant(chrome, link, rng)
    await person.come()
    inside.release()
    code = await person.play(REPLY_SECONDS)
    await person.close()
    return Visit("browser", person.queued, person.first, code, person.said)


def summary(came: Sequence[Visit], weight: dict[str, Any]) -> str:
    """Summarize the visits and the memory as text, each number with its unit and n."""
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


SHORT = 10_000
"""Milliseconds after which something is tried again."""

_DONE = ".nl-code"

_READY = """() => {
  const here = (e) => e.offsetParent && !e.disabled;
  const named = /^(I agree|Start|Continue|Send reply)/;
  const buttons = [...document.querySelectorAll("button")].filter(here);
  const others = document.querySelector(".nl-code, .nl-keys:not([open])");
  return others !== null || buttons.some((b) => named.test(b.innerText));
}"""
KEYS = ".nl-keys:not([open]) > summary"
"""What opens the box for a typed reply."""


class BrowserParticipant:
    """One participant at trading in a real browser. `first` is the time in seconds from admission to the first working
    control; `messages` are those that appeared in the log."""

    def __init__(self, chrome: Any, link: str, rng: random.Random) -> None:
        self.chrome, self.link, self.rng = chrome, link, rng
        self.said: list[str] = []
        self.queued = self.first = 0.0

    async def come(self) -> None:
        """Open the link and press its button; the page may have to wait in the queue."""
        self.context = await self.chrome.new_context()
        self.page = await self.context.new_page()
        self.page.set_default_timeout(PATIENCE)
        base, admitted = self.link.split("join/")[0], [time.monotonic()]
        self.page.on("response", lambda r: admitted.append(time.monotonic()) if r.url == base else None)
        await self.page.goto(self.link)
        await self._button("Continue").click()
        pressed = time.monotonic()
        await self.page.get_by_role("button", name=re.compile("^(I agree|Start)")).first.wait_for()
        self.queued, self.first = admitted[-1] - pressed, time.monotonic() - admitted[-1]

    async def play(self, pace: tuple[float, float], *, replies: int = 1000) -> str:
        """Play to the code or until `replies` were sent; return the code, "" if there is none yet."""
        while True:
            await self.page.wait_for_function(_READY)
            if await self.page.locator(_DONE).count():
                return str(await self.page.locator(_DONE).inner_text())
            for name in ("I agree to take part", "Start", "Continue"):
                if await self._button(name).count():
                    with suppress(TimeoutError):
                        await self._on_reply(name)
                    break
            else:
                if await self.page.locator(KEYS).count():
                    with suppress(TimeoutError):
                        await self.page.locator(KEYS).click(timeout=SHORT)
                if len(self.said) >= replies:
                    return ""
                await asyncio.sleep(self.rng.uniform(*pace))
                # A page that lost its connection reloads, and the box is collapsed again.
                with suppress(TimeoutError):
                    await self._say(f"word-{self.rng.getrandbits(32):08x}")

    async def leave(self) -> str:
        """Leave the study in two steps; return the completion code."""
        while not await self._button("Yes, leave the study").is_visible():
            # A page that lost its connection reloads, and asks again from the start.
            with suppress(TimeoutError):
                await self._button("Leave the study").click(timeout=SHORT)
                await self._button("Yes, leave the study").wait_for(timeout=SHORT)
        await self._button("Yes, leave the study").click()
        await self.page.locator(_DONE).wait_for()
        return str(await self.page.locator(_DONE).inner_text())

    async def close(self) -> None:
        await self.context.close()

    def _button(self, name: str) -> Any:
        return self.page.get_by_role("button", name=name, exact=True)

    async def _on_reply(self, name: str) -> None:
        await self._button(name).click(timeout=SHORT)
        # The next page has another button in its place.
        await self._button(name).wait_for(state="hidden", timeout=SHORT)

    async def _say(self, text: str) -> None:
        box = self.page.get_by_label("Your reply with its tokens")
        offered = await self._button("Deny").count() > 0
        await box.fill(f"{text} [Deny]" if offered else text, timeout=SHORT)
        await self._button("Send reply").click(timeout=SHORT)
        await self.page.wait_for_function("text => document.body.innerText.includes(text)", arg=text, timeout=SHORT)
        self.said.append(text)
