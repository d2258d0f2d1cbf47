"""A hostile visitor at a study of many steps: quiz, practice, matches, results, questions and payment.

`tests/studies/test_steps_attacked.py` makes the same attacks at the host alone, at more pages and with more words.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from typing import Any

import httpx2
import pytest

from negolab.studies.database.payments import EARNINGS
from negolab.studies.payment import Payment, earnings
from negolab.studies.texts import texts
from tests.long.test_visitor import BREATH, HEAD, unseen
from tests.studies.test_steps import GRID, steps
from tests.studies.test_steps_attacked import facts
from tests.support import attacks, processes
from tests.support.bots import Reader
from tests.support.hostile_visitor import Site, Visitor, participant_id, serving_site, wait_until

pytestmark = pytest.mark.visitor

CODES = {"quiz": "QUIZ4242", "withdrawn": "GONE4242", "timeout": "LATE4242", "ended": "STOP4242"}
"""Codes of the endings that nobody reaches who completes the study."""
RIGHT, WRONG = {"Which animal": "badger", "How many": "48271"}, {"Which animal": "alpaca", "How many": "11"}
ANSWERS = {
    **RIGHT,
    "How far": {"fair": "yes", "again": "no"},
    "How did": ["by numbers"],
    "Your age": "40",
    "Your hopes": "hope-of-this-visitor",
}
EXPLAINED = ("explained-koala", "explained-lemur")
OTHERS = ("hope-of-another", "7.77")
"""An answer and an amount of somebody else."""
QUIZ = """quiz
attempts = 3
[[steps.questions]]
name = "animal"
label = "Which animal?"
kind = "choice"
choices = ["alpaca", "badger"]
answer = "badger"
explanation = "explained-koala"
[[steps.questions]]
name = "many"
label = "How many?"
kind = "number"
answer = "48271"
explanation = "explained-lemur"
"""
SHORT = 'preset = "tolerant"\nparams = { max_turns = 2 }'
STEPS = "\n".join(
    [
        HEAD,
        *(f'{ending} = "{code}"' for ending, code in CODES.items()),
        f'[[treatments]]\nname = "cell-bilby"\n{SHORT}\nopponent = "fair-split"\nseat = "A"',
        '[payment]\ncurrency = "EUR"\nrate = 0.01\ncounts = "one"',
        steps(
            *("consent", "instructions", 'instructions\ntext = "Read this as well."', QUIZ),
            *(f'practice\nopponent = "chat"\n{SHORT}', "match\nmatches = 2", "results"),
            GRID + '[[steps.questions]]\nname = "hope"\nlabel = "Your hopes?"',
        ),
    ]
)
PAGES = ("consent", "instructions", "instructions", "quiz", "practice", "match", "match", "results", "questions", "end")


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A study of many steps, in which somebody else has answered and earned."""
    with serving_site(tmp_path_factory.mktemp("course"), f'game = "trading"\n{STEPS}') as site:
        with site.database() as database:
            (other,) = database.invite("visited")
            database.answer(other.id, {"hope": OTHERS[0]})
            earned = earnings(Payment("EUR", 1, endings={"ended": 7.77}), "ended", (), unit="points", seed=1)
            database.keep(EARNINGS, earned, study="visited", participant=other.id)
        yield site


class Walker(Reader, Visitor):
    """A hostile visitor who can also answer honestly."""

    answers = ANSWERS

    def place(self) -> str:
        """The step and the round that the page shows; "" while it is drawn."""
        found = re.search(r'class="nl-step"[^>]*>([^<]+)', self.text())
        badge = re.search(r'class="nl-badge"[^>]*>([^<]+)', self.text())
        return (found[1] if found else "") + (f", {badge[1]}" if badge else "")

    def onward(self) -> str | None:
        """The button that leads on."""
        labels = ("I agree", "Start", "Continue", "Check my answers", "Send answers")
        return next((id for label in labels if (id := self.find("Button", label))), None)

    async def finish(self) -> None:
        """Play until the match is over."""
        while self.onward() is None and not self.code():
            await self._step(lambda: BREATH)

    async def press_ten_times(self, id: str) -> None:
        """Press a button ten times at once, on two sockets."""
        await asyncio.gather(*(attacks.press(self.wires[n % 2], id) for n in range(10)))
        assert await self.wires[0].answered(30) and await self.wires[1].answered(30)

    async def reload(self) -> None:
        with suppress(httpx2.TransportError):  # the gate may be down
            await self.ask(f"voila/api/shutdown/{self.kernel}", "POST")
        await self.back()
        await self.until(lambda: self.code() or (self.place() and (self.onward() or self.ids("Textarea"))))


async def come(site: Site, link: str = "") -> Walker:
    visitor = Walker(link or site.link())
    await visitor.join()
    await visitor.enter()
    await visitor.until(visitor.onward)
    return visitor


async def walk(site: Site, visitor: Walker, at: Callable[[Walker, str], Awaitable[None]]) -> None:
    """Lead a visitor through all pages, doing `at` before each is passed; every press is made ten times at once."""
    for number, page in enumerate(PAGES):
        await visitor.until(lambda number=number: page_number(site, visitor) == number)
        await visitor.until(visitor.place)
        await at(visitor, page)
        if page == "end":
            return
        await visitor.finish()
        await asyncio.sleep(BREATH)
        await visitor.fill_in(visitor.answers)
        before, button = kept(site, visitor), str(visitor.onward())
        await visitor.press_ten_times(button)
        await visitor.until(lambda number=number: page_number(site, visitor) > number)
        after = kept(site, visitor)
        assert len(after["pages"]) == len(before["pages"]) + 1, f"ten presses lead on by one page from {page}"
        assert len(after["attempts"]) - len(before["attempts"]) == (2 if page == "quiz" else 0)
        await visitor.until(lambda button=button: visitor.onward() != button)
        await visitor.press_ten_times(button)
        assert kept(site, visitor) == after, f"a button of {page} does nothing any more"


def kept(site: Site, visitor: Visitor) -> dict[str, Any]:
    with site.database() as database:
        return facts(database, "visited", participant_id(visitor.link))


def page_number(site: Site, visitor: Visitor) -> int:
    with site.database() as database:
        return max((page.position for page in database.reached(participant_id(visitor.link))), default=0)


def hidden(site: Site, visitor: Visitor, page: str) -> set[str]:
    """Return what a visitor must not have received before a page, if their attempts were all right."""
    early = {"48271"} if PAGES.index(page) <= PAGES.index("quiz") else set()
    paid = set() if page == "end" else {"DONE4242", "€", "EUR"}
    return unseen(site, visitor) | {*EXPLAINED, *CODES.values(), *OTHERS} | early | paid


async def assault(site: Site, visitor: Walker) -> None:
    """Rewrite the fields of a page, and press all that is hidden; nothing of it is kept."""
    await asyncio.sleep(BREATH)
    wire, before, shown = visitor.wires[1], kept(site, visitor), {id for id, _ in visitor.shown()}
    for id in visitor.ids("Button"):
        if id not in shown and visitor.models[id]["description"] != texts.LEAVE_YES:
            await attacks.press(wire, id)
    if (send := visitor.find("Button", "Check") or visitor.find("Button", "Send answers")) is not None:
        fields = [id for id, model in visitor.shown() if str(model.get("description")).startswith(tuple(ANSWERS))]
        for junk in attacks.JUNK:
            for id in fields:
                changes = {"options": ["by magic", "evil"], "rows": [["evil", "Evil."]], "_options_labels": ["evil"]}
                await attacks.overwrite(wire, id, **{k: v for k, v in changes.items() if k in visitor.models[id]})
                await attacks.overwrite(wire, id, value=junk)
            await attacks.press(wire, send)
    assert await wire.answered(30)
    assert kept(site, visitor) == before
    await visitor.reload()


def test_a_visitor_passes_no_page_by_force_and_reads_nothing_early(course: Site) -> None:
    async def attack(visitor: Walker, page: str) -> None:
        await visitor.dump()
        if page in ("quiz", "practice", "results", "questions"):
            await assault(course, visitor)
        assert visitor.holds(*hidden(course, visitor, page), since=visitor.read) == []
        visitor.read = len(visitor.received)

    async def visit() -> None:
        visitor = await come(course)
        await walk(course, visitor, attack)
        assert await visitor.until(visitor.code) == "DONE4242"
        wanted = {"trust.fair": "yes", "trust.again": "no", "how": "by numbers", "age": "40"}
        assert kept(course, visitor)["answers"] == {**wanted, "hope": "hope-of-this-visitor"}
        assert len(kept(course, visitor)["attempts"]) == 2
        await visitor.close()

    asyncio.run(visit())


def test_neither_reloads_nor_two_pages_give_a_fourth_attempt_and_no_right_answer_comes_out(course: Site) -> None:
    async def err(visitor: Walker, attempts: int) -> None:
        await asyncio.sleep(BREATH)
        await visitor.fill_in(WRONG)
        await visitor.press_ten_times(str(visitor.onward()))
        await wait_until(lambda: len(kept(course, visitor)["attempts"]) >= 2 * attempts)
        assert len(kept(course, visitor)["attempts"]) == 2 * attempts

    async def visit() -> None:
        older = await come(course)
        for number in range(3):
            await asyncio.sleep(BREATH)
            await older.press(str(older.onward()))
            await older.until(lambda number=number: page_number(course, older) > number)
        await older.until(lambda: older.find("Button", "Check"))
        assert older.holds(*EXPLAINED) == []
        await err(older, 1)
        await older.until(lambda: EXPLAINED[1] in older.text())
        await older.reload()
        newer = await come(course, older.link)
        await older.fill_in(WRONG)
        for id in older.ids("Button"):
            await older.press(id)
        await older.until(lambda: "another tab" in older.text())
        await err(newer, 2)
        await newer.until(lambda: texts.LAST_ATTEMPT in newer.text())
        await err(newer, 3)
        assert await newer.until(newer.code) == "QUIZ4242"
        await newer.reload()
        assert newer.code() == "QUIZ4242" and newer.onward() is None
        for visitor in (older, newer):
            codes = {code for code in CODES.values() if code != "QUIZ4242"}
            assert visitor.holds("48271", *OTHERS, "DONE4242", *codes, *unseen(course, visitor)) == []
            await visitor.close()

    asyncio.run(visit())


KILLED = {
    "instructions": "host",
    "quiz": "voila",
    "practice": "host",
    "match": "host",
    "questions": "host",
    "end": "voila",
}
"""The part of the server that is killed at a page."""


def test_kills_and_reloads_at_every_page_lose_and_double_nothing(course: Site) -> None:
    async def trouble(visitor: Walker, page: str) -> None:
        if page == "end":
            await visitor.until(visitor.code)
        before, place, text = kept(course, visitor), visitor.place(), earned(visitor)
        if page in KILLED:
            (pid,) = processes.processes_of(course.process.pid, KILLED[page])  # type: ignore[arg-type]
            processes.kill(pid)
            await wait_until(lambda: again(course, pid, KILLED[page]), 30)
        await visitor.reload()
        if page == "end":
            await visitor.until(visitor.code)
        assert (kept(course, visitor), visitor.place(), earned(visitor)) == (before, place, text)

    async def visit() -> None:
        visitor = await come(course)
        await walk(course, visitor, trouble)
        assert visitor.code() == "DONE4242"
        person = kept(course, visitor)
        assert [position for position, _ in person["pages"]] == list(range(len(PAGES)))
        assert person["earnings kept"] == 1 and len(person["matches"]) == 3
        await visitor.close()

    asyncio.run(visit())


def earned(visitor: Visitor) -> list[str]:
    """The panel of earnings, if it is shown."""
    styles_left_out = re.sub(r"<style.*?</style>", "", visitor.text(), flags=re.DOTALL)
    return re.findall(r"nl-earned.*", styles_left_out)


def again(site: Site, pid: int, part: Any) -> bool:
    """Return True if another process has taken the place of a killed one, and the host answers."""
    new = [one for one in processes.processes_of(site.process.pid, part) if one != pid]
    try:
        return bool(new) and site.host("seats.sock").get("/health").status_code == 200
    except (httpx2.TransportError, StopIteration):
        return False
