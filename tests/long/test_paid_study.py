"""Many people go through a paid study in steps, while the endpoint of its model fails and is away for a while."""

from __future__ import annotations

import asyncio
import os
import random
import time
from contextlib import suppress
from pathlib import Path

import pytest

from negolab.studies.database import Database
from negolab.studies.export import export
from negolab.studies.trial.browsers import invite_links, open_browser
from tests.conftest import SLOW, needs
from tests.studies.test_steps import GRID, QUIZ, steps
from tests.support import recompute_payments
from tests.support.bots import Reader
from tests.support.crowd import KEYS, BrowserParticipant
from tests.support.endpoints import Server, running_endpoint
from tests.support.study_server import serving_study

pytestmark = [pytest.mark.soak, pytest.mark.browser]

PEOPLE, BROWSERS = 30 if SLOW else 20, 3
PATIENCE = 900
"""Seconds after which somebody who has no code counts as held, on a busy machine too."""
OUTAGE = (10, 40.0)
"""Calls after which the endpoint goes away, and for how many seconds."""
ANSWERS = {
    "What are you paid?": "what I own",
    "How many turns": "10",
    "How far do you agree?": {"fair": "yes", "again": "partly"},
}

STUDY = """
title = "Paid"
game = "trading"
instructions = "Say something."
consent = "Will you?"
closing = "Bye."
[payment]
currency = "EUR"
show_up = 1.00
rate = 0.25
floor = 0.50
[pairing]
wait = 30
then = "fair-split"
[models]
patience = 120
[codes]
complete = "DONE"
[[treatments]]
name = "plain"
preset = "tolerant"
params = { max_turns = 2 }
[[treatments]]
name = "long"
preset = "tolerant"
params = { max_turns = 4 }
""" + steps(
    *("consent", "instructions", QUIZ, 'practice\nopponent = "chat"\npreset = "tolerant"\nparams = { max_turns = 2 }'),
    *("match\nmatches = 2", 'match\nopponent = "llm:fake"\ndisclosure = "A computer program sits across."'),
    *(GRID, "results"),
)


async def visit(link: str, rng: random.Random) -> str:
    bot = Reader(link)
    bot.answers = ANSWERS
    await asyncio.sleep(rng.uniform(0, 10))
    await bot.arrive()
    try:
        code = await asyncio.wait_for(bot.play(lambda: rng.uniform(0.6, 2)), PATIENCE)
    except TimeoutError:
        said = f"{len(bot.seen)} of {len(bot.sent)} messages, the last {time.monotonic() - bot.spoke:.0f} s ago"
        code = f"no code: {said}, {bot.reloads} reloads; {bot.buttons()}; {bot.words()}"
    await bot.close()
    return code


class BrowserReader(BrowserParticipant):
    """A person in a browser who also answers questions."""

    async def go(self) -> str:
        """Go from the link to the code, pressing what leads on."""
        await self.come()
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if await self.page.locator(".nl-code").count():
                return str(await self.page.locator(".nl-code").inner_text())
            with suppress(Exception):  # the page may be drawn anew under the hand
                await self._act()
            await asyncio.sleep(0.5)
        return "no code: " + (await self.page.locator("body").inner_text())[:3000]

    async def _act(self) -> None:
        if await self._button("Check my answers").count():
            await self.page.get_by_label("what I own").check(timeout=3000)
            await self.page.get_by_label("How many turns").fill("10", timeout=3000)
            await self._button("Check my answers").click(timeout=3000)
        elif await self._button("Send answers").count():
            for statement in ("It was fair.", "I would do it again."):
                row = self.page.locator(".nl-likert-row").filter(has_text=statement)
                await row.get_by_label("partly").check(timeout=3000)
            await self._button("Send answers").click(timeout=3000)
        else:
            for name in ("I agree to take part", "Start", "Continue"):
                if await self._button(name).count():
                    await self._button(name).click(timeout=3000)
                    return
            if await self.page.locator(KEYS).count():
                await self.page.locator(KEYS).click(timeout=3000)
            if await self._button("Send reply").count():
                await self._say(f"word-{self.rng.getrandbits(32):08x}")


async def visit_all(ways: list[str], endpoint: Server) -> list[str]:
    async def outage() -> None:
        while endpoint.counts()["requests"] < OUTAGE[0]:
            await asyncio.sleep(1)
        endpoint.set(faults={"503": 1.0})
        await asyncio.sleep(OUTAGE[1])
        endpoint.set(faults={"drop": 0.03, "503": 0.02})

    async with open_browser(needs("chromium", "chromium")) as chrome:
        away = asyncio.ensure_future(outage())
        bots = [visit(link, random.Random(i)) for i, link in enumerate(ways[BROWSERS:])]
        people = [BrowserReader(chrome, link, random.Random(link)).go() for link in ways[:BROWSERS]]
        codes = await asyncio.wait_for(asyncio.gather(*people, *bots), PATIENCE + 100)
        await away
    return codes


def test_many_people_pass_a_paid_study_whose_model_fails_and_is_away(tmp_path: Path) -> None:
    needs("chromium", "chromium")
    with running_endpoint(latency=0.2, answer="Hello.", faults={"drop": 0.03, "503": 0.02}) as endpoint:
        options = ("--pool=6", f"--max-kernels={PEOPLE + BROWSERS}", f"--base-url={endpoint.url}")
        env = {**os.environ, "OPENAI_API_KEY": "sk-test"}
        with serving_study(tmp_path, STUDY, *options, env=env) as server:
            study, database = server.study, Database(tmp_path / "people.db")
            ways = list(invite_links(database, study, PEOPLE + BROWSERS, server.base).values())
            codes = asyncio.run(visit_all(ways, endpoint))
        assert codes == ["DONE"] * (PEOPLE + BROWSERS)
        assert endpoint.counts()["faults"].get("503", 0) > 0
    export(database, study, tmp_path / "tables", "csv")
    assert recompute_payments.differences(tmp_path / "tables") == []
    matches = recompute_payments.read(tmp_path / "tables", "matches")
    models = [match for match in matches if "llm:fake" in (match["player_a"], match["player_b"])]
    assert len(models) == PEOPLE + BROWSERS
    assert {match["disclosure"] for match in models} == {"A computer program sits across."}
    assert {match["fallback"] for match in models} == {""}, "the outage was shorter than the patience"
    people = recompute_payments.read(tmp_path / "tables", "participants")
    assert {person["status"] for person in people} == {"complete"}
    print(f"{len(matches)} matches, {sum(float(person['pay_total']) for person in people):.2f} EUR in all")
    database.close()
