"""What a press sends is what the page showed at its moment, however slow the line and however fast one types."""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from negolab.games.balloon import Say
from negolab.games.bargaining.state import Offer
from negolab.games.trading.offers import canonical_text
from negolab.match import Match
from negolab.studies.trial.browsers import FLAGS
from tests.conftest import PATIENCE, ROOT, free_port, needs
from tests.support.entries import FORMS, GAMES, QUESTIONS, load_game
from tests.support.gate_server import running_gate, write_page
from tests.support.relay import relay, run_apart

pytestmark = [pytest.mark.browser, pytest.mark.long]

ENTRIES = int(os.environ.get("NEGOLAB_ENTRIES", "2"))
"""Entries of each kind at each delay."""
DELAYS = tuple(map(float, os.environ.get("NEGOLAB_DELAYS", "0 0.15 0.3").split()))
"""Seconds that the line adds each way."""
KINDS = tuple(os.environ.get("NEGOLAB_KINDS", " ".join((*GAMES, *FORMS))).split())
WORDS = ("Fair?", "I cannot go lower than this.", "ok", "\N{GRINNING FACE} deal", "a, b & c")

_SOURCE = """
import sys
sys.path.insert(0, {root!r})
from tests.support.entries import open_page
page = open_page({folder!r})
page
"""
_WATCH = """() => {
  const snap = (pressed) => {
    const fields = [...document.querySelectorAll(".nl-page :is(input, textarea, select)")];
    window.shown = { pressed, fields: fields.map((el) => ({
      kind: el.type, name: el.labels?.[0]?.textContent ?? "",
      value: ["checkbox", "radio"].includes(el.type) ? el.checked
        : el.tagName === "SELECT" ? el.selectedOptions[0]?.text : el.value })) };
  };
  addEventListener("click", ({ target }) => {
    const button = target.closest?.("button.widget-button");
    if (button) snap(button.textContent);
  }, true);
  addEventListener("keydown", ({ key }) => { if (key === "Enter") snap("Enter"); }, true);
}"""


class Typist:
    """Somebody who makes entries of one kind, at random speeds."""

    def __init__(self, page: Any, seed: str) -> None:
        self.page, self.rng = page, random.Random(seed)

    async def type(self, field: Any, text: str) -> None:
        """Replace what stands in a field, by keys or by pasting it."""
        await field.focus()
        await self.page.keyboard.press("ControlOrMeta+a")
        if self.rng.random() < 0.2:
            await self.page.keyboard.insert_text(text)
        else:
            await self.page.keyboard.type(text, delay=self.rng.uniform(0, 120))

    async def send(self, button: str) -> None:
        """Press a button, or Enter in the field that has the focus."""
        if self.rng.random() < 0.5 and await self.page.evaluate(
            "document.activeElement.matches('input:is([type=number], [type=range], [inputmode=decimal])')"
        ):
            await self.page.keyboard.press("Enter")
        else:
            await self.page.get_by_role("button", name=re.compile(f"^({button})")).locator("visible=true").first.click()

    def one(self, role: str, name: str | None = None) -> Any:
        return self.page.get_by_role(role, name=name) if name else self.page.get_by_role(role)

    async def steps(self, places: Sequence[int]) -> None:
        """Step two numbers up, and type another."""
        stepped = self.rng.sample(places, 2)
        for at in stepped:
            for _ in range(self.rng.randint(1, 3)):
                await self.one("button", "+").nth(at).click()
        await self.type(self.one("spinbutton").nth(self.rng.choice(places)), str(self.rng.randint(1, 3)))

    async def say_something(self, label: str) -> None:
        if self.rng.random() < 0.5:
            await self.type(self.page.get_by_label(label), self.rng.choice(WORDS))

    async def bargaining(self) -> None:
        await self.say_something("Message")
        await self.type(self.page.get_by_label("Price in dollars"), f"{self.rng.uniform(10, 99):.2f}")
        if self.rng.random() < 0.3:
            await self.one("button", "+$0.25").click()
        await self.send("Offer")

    async def trading(self) -> None:
        await self.say_something("Your message")
        # Wheat, Wood and Sheep for Brick and Ore: nobody gives what they get.
        await self.steps((0, 2, 4))
        await self.steps((7, 9))
        await self.send("Make this offer")

    async def split(self) -> None:
        if self.rng.random() < 0.5:
            await self.type(self.one("spinbutton").first, str(self.rng.randint(0, 10)))
        await self.one("slider").first.focus()
        for _ in range(self.rng.randint(1, 5)):
            await self.page.keyboard.press(self.rng.choice(("ArrowRight", "ArrowRight", "ArrowLeft")))
        await self.send("Keep|Send your choice")

    async def goods(self) -> None:
        await self.say_something("Your message")
        await self.steps(range(3))
        await self.send("Make this offer")

    async def options(self) -> None:
        for group in await self.one("radiogroup").all():
            await self.rng.choice(await group.get_by_role("radio").all()).check(force=True)
        for choice in await self.page.locator(".nl-issues select").all():
            await choice.select_option(index=self.rng.randint(1, 5))
        await self.say_something("Your message")
        await self.send("Make this offer")

    async def balloon(self) -> None:
        boxes = await self.page.locator(".nl-checklist input").all()
        ticked = [box for box in boxes if await box.is_checked()]
        # Few enough to stay within the limit, and some.
        for box in [*ticked[1:], *self.rng.sample([box for box in boxes if box not in ticked], 2)]:
            await box.click()
        await self.type(self.page.get_by_label("Your argument"), self.rng.choice(WORDS))
        await self.send("Propose [a0-9]")

    async def hands(self) -> None:
        hand = self.rng.choice(("rock", "paper", "scissors"))
        if self.rng.random() < 0.5:
            await self.one("button", hand).first.click()
            return
        await self.open_box()
        await self.type(self.page.get_by_label("Your message"), f"{hand} ")
        await self.send("Send message")

    async def open_box(self) -> None:
        closed = self.page.locator(".nl-keys:not([open]) summary")
        if await closed.count():
            await closed.click()
        await self.page.get_by_label("Your message").wait_for()

    async def job(self) -> None:
        await self.say_something("Your note")
        await self.type(self.one("spinbutton").nth(0), str(self.rng.randint(0, 40)))
        await self.type(self.one("spinbutton").nth(1), str(self.rng.randint(0, 30)))
        await self.send("Offer")

    async def picnic(self) -> None:
        boxes = await self.one("checkbox").all()
        for box, ticked in zip(boxes, self.rng.sample([True] * 3 + [False] * 4, 7), strict=True):
            await box.set_checked(ticked)
        await self.send("Propose")

    async def questions(self) -> None:
        await self.type(self.page.get_by_label("Your age"), str(self.rng.randint(18, 99)))
        await self.page.get_by_label(self.rng.choice(("never", "sometimes", "often"))).check()
        for game in self.rng.sample(("chess", "go", "bridge"), 2):
            await self.page.get_by_label(game).set_checked(self.rng.random() < 0.5)
        for row in await self.page.get_by_role("radiogroup").all():
            await row.get_by_label(self.rng.choice(("no", "yes"))).check()
        await self.page.get_by_label("Your town").select_option(label=self.rng.choice("abcdefghij"))
        await self.type(self.page.get_by_label("Why?"), self.rng.choice(WORDS))
        await self.send("Send answers|Check")

    quiz = questions


def expected(kind: str, shown: dict[str, Any], game: Any, said: Any) -> tuple[Any, Any]:
    """What the page showed when it was pressed, and what arrived, in one form."""
    fields = shown["fields"]

    def values(*kinds: str) -> list[Any]:
        return [field["value"] for field in fields if field["kind"] in kinds]

    if kind in FORMS:
        (age,), chosen = values("text"), values("radio")
        picked = [choice for choice, is_on in zip(QUESTIONS[1].choices, chosen[:3], strict=True) if is_on]
        several = [choice for choice, is_on in zip(QUESTIONS[2].choices, values("checkbox"), strict=True) if is_on]
        grid = {row: "yes" if chosen[at] else "no" for row, at in (("a", 4), ("b", 6))}
        town, why = *values("select-one"), *values("textarea")
        answers = {"age": age, "often": picked[0], "games": several or "", "trust": grid, "town": town, "why": why}
        return answers, said
    if kind == "hands" and shown["pressed"] != "Send message":
        return shown["pressed"], said
    if kind == "hands":
        return next(f["value"] for f in fields if f["name"] == "Your message"), said
    read = game.parse(said, Match(game, seed=1).seen("A"))
    label = "Your note" if kind == "job" else ("Message", "Your message")
    words = next((f["value"] for f in fields if f["name"].startswith(label)), "").strip()
    match kind:
        case "bargaining":
            price = next(f["value"] for f in fields if f["name"] == "Price in dollars")
            return Offer(round(float(price) * 100), words), read
        case "job":
            return ([int(value) for value in values("number")], words), ([read.wage, read.days], read.note)
        case "picnic":
            return {f["name"] for f in fields if f["kind"] == "checkbox" and f["value"]}, set(read.things)
        case "trading":
            numbers = [int(value) for value in values("number")]
            deal = tuple(numbers[::2]), tuple(numbers[1::2])
            return " ".join(filter(None, (canonical_text("", deal), words))), said  # type: ignore[arg-type]
        case "split":
            return [int(value) for value in values("number")], list(read.keep)
        case "goods":
            return ([int(value) for value in values("number")], words), (list(read.offer), read.talk)
        case "options":
            ticks = iter(values("radio"))
            chosen = [[next(ticks) for _ in range(issue.size)].index(True) for issue in game.agenda]
            return (chosen, words), (list(read.offer), read.talk)
    assert kind == "balloon" and isinstance(read, Say), (read, fields)
    ticked = {f["name"] for f in fields if f["kind"] == "checkbox" and f["value"] and f["name"]}
    return ticked, set(read.propose[0])


class Line:
    """The line between the pages and the server, and the seconds that it adds each way."""

    seconds = 0.0


async def make_entries(
    kind: str, browser: Any, url: str, folder: Path, line: Line, arriving: asyncio.Lock, together: asyncio.Barrier
) -> None:
    """Make entries of one kind at each delay and compare each with what arrived; all begin together."""
    context = await browser.new_context(viewport={"width": 1280, "height": 1000})
    page = await context.new_page()
    page.set_default_timeout(PATIENCE)
    async with arriving:
        await page.goto(f"{url}join/good-{kind}")
        await page.get_by_role("button", name="Continue").click()
        await page.get_by_role("button", name=f"Try {kind}", exact=True).click()
    await page.locator(".nl-bar, .nl-question").first.wait_for()
    await page.evaluate(_WATCH)
    typist, game = Typist(page, kind), None if kind in FORMS else load_game(kind)
    work: Callable[[], Awaitable[None]] = getattr(typist, kind)
    file = folder / f"{kind}.jsonl"
    for number, seconds in enumerate((seconds for seconds in DELAYS for _ in range(ENTRIES)), 1):
        if number % ENTRIES == 1 % ENTRIES:
            await together.wait()
            line.seconds = seconds
        await work()
        for _ in range(900):
            if file.exists() and len(file.read_text().splitlines()) >= number:
                break
            await asyncio.sleep(0.05)
        else:
            said = await page.inner_text(".nl-page >> nth=0")
            raise AssertionError(f"{kind}: nothing arrived after {seconds} s each way; the page says: {said}")
        shown, arrived = expected(
            kind, await page.evaluate("window.shown"), game, json.loads(file.read_text().splitlines()[-1])
        )
        assert arrived == shown, f"{kind}, entry {number}, {seconds} s each way"
        await asyncio.sleep(2 * seconds + 0.6)
    assert len(file.read_text().splitlines()) == number, f"{kind}: something was sent twice"
    await context.close()


def entries_page(folder: Path) -> Path:
    """Write the notebook of a page that takes entries into `folder`."""
    return write_page(folder, source=_SOURCE.format(root=str(ROOT), folder=str(folder)))


def test_what_arrives_is_what_the_page_showed(tmp_path: Path) -> None:
    from playwright.async_api import async_playwright

    path = needs("chromium", "chromium")
    own = free_port()
    url = f"http://127.0.0.1:{own}/"

    async def run(port: int) -> None:
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=path, args=["--no-sandbox", *FLAGS])
            line, arriving, together = Line(), asyncio.Lock(), asyncio.Barrier(len(KINDS))
            async with relay(own, port, lambda: line.seconds):
                await asyncio.gather(
                    *(make_entries(kind, browser, url, tmp_path, line, arriving, together) for kind in KINDS)
                )
            await browser.close()

    with running_gate(f"public_url={url}", "pool_size=2", page=entries_page(tmp_path), warm=False) as gate:
        run_apart(run(gate.port))
