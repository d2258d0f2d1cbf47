"""Participants of a trial in real browsers: they pass the pages of a served study with care, in real time.

Pages are read by classes, so that a study may say anything in any language; the database tells which step a page is of,
and what is legal in a match. playwright, an optional dependency, drives the browsers.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from negolab.events import Rejected
from negolab.game import Seat, observe
from negolab.record import Record, final_state
from negolab.studies import links
from negolab.studies.database import Database
from negolab.studies.earnings import study_earnings
from negolab.studies.endings import ENDINGS, Ending
from negolab.studies.journeys import Journeys
from negolab.studies.questions import Question
from negolab.studies.status import status
from negolab.studies.steps import QuestionsStep, QuizStep, StepPage
from negolab.studies.study_config import Study
from negolab.studies.trial.visitor import Stuck, Visitor

if TYPE_CHECKING:
    from playwright.async_api import Browser, ConsoleMessage, Locator, Page, Response

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
FLAGS = tuple(
    f"--{flag}"
    for flag in (
        "disable-gpu",
        "disable-quic",
        "no-first-run",
        "disable-background-networking",
        "disable-component-update",
        "disable-sync",
    )
)
"""Flags of a browser that asks no service of its maker for anything."""
SIZES = ((1280, 900), (360, 800))
"""Width and height in CSS pixels of the windows, by turns."""
PRESS_PATIENCE = 60.0
"""Seconds after a press in which the next page must be there."""
POLL = 0.1
"""Seconds between two looks at a page, and so the precision of its times."""
DOUBLE_CLICK = 0.5
"""Seconds after a press in which another one would count as the same."""
NOTICE_AFTER = 3.0
"""Seconds after which a reply was refused at the table if a notice stands there."""
MOST_FAULTS = 5
"""Faults of one browser after which it gives up."""
TALLEST = 8000
"""Height in pixels of the tallest picture."""

FITS_WIDTH = """() => [document.documentElement, document.querySelector('#rendered_cells')]
  .every(el => !el || el.scrollWidth <= innerWidth)"""
"""True if nothing of a page overflows its width."""
HEIGHT = "() => (document.querySelector('#rendered_cells') ?? document.documentElement).scrollHeight"
"""Height of a page, with what is scrolled out of view."""

_LOOK = """() => {
  const shown = (el) => el && el.offsetParent && !el.disabled;
  const any = (css) => [...document.querySelectorAll(css)].some(shown);
  const view = [...document.querySelectorAll("[class*=nl-at-]")].find((el) => el.offsetParent);
  if (!view) return { kind: "" };
  const kind = /nl-at-(\\w+)/.exec(view.className)[1];
  const ready = { playing: ".nl-bar, .nl-result", waiting: "[role=status]", closed: "h1" }[kind] ?? ".nl-primary";
  if (![...view.querySelectorAll(ready)].some((el) => el.offsetParent)) return { kind: "" };
  const is_new = !view.dataset.met;
  view.dataset.met = "yes";
  return { kind, is_new, turn: any(".nl-turn"), over: any(".nl-result"), next: any(".nl-strip .nl-primary") };
}"""
"""Reads a `Look` from a page."""
_NOTICES = """() => [...document.querySelectorAll(".nl-notice, .nl-banner, .nl-lost")]
  .filter((el) => el.offsetParent && el.innerText.trim()).map((el) => el.innerText.trim()).join("; ").slice(0, 300)"""
_SHOW_TYPED = """() => {
  for (const part of document.querySelectorAll(".nl-typed > *")) part.style.display = "";
  for (const keys of document.querySelectorAll(".nl-keys")) keys.open = true;
}"""
"""Shows the box for a typed reply, which a study with texts of its own does not."""
_TABLE = "() => document.querySelector('.nl-page .nl-page')?.innerText ?? ''"


class Look(NamedTuple):
    """A page as its participant sees it."""

    kind: str = ""
    """Kind of the page state; "" while the page is not there."""
    is_new: bool = False
    """True at the first look at it."""
    turn: bool = False
    """True if the participant is on turn."""
    over: bool = False
    next: bool = False
    """True if a button leads on from a match."""


class PageSeen(NamedTuple):
    """A page that a browser came to."""

    position: int
    """Number of the study's page, from 0; -1 for the page behind the link."""
    page: StepPage | None
    """None: the first or the last page."""
    kind: str
    seconds: float | None
    """From the press that led there until it was drawn; None: no press did."""


def invite_links(database: Database, study: Study, n: int, base: str) -> dict[str, str]:
    """Add `n` participants to a study; return the link of each id."""
    stored = database.study(study.name, study.text)
    people = database.invite(study.name, n)
    return {who.id: links.link_url(base, links.personal_token(stored, who)) for who in people}


def find_browser() -> str | None:
    """Return the path of an installed browser, or None for playwright's own.

    Raises:
        ValueError: playwright or a browser is missing; says what to install.
    """
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        raise ValueError("--browser needs playwright: pip install 'negolab[browser]'") from None
    if path := next(filter(None, map(shutil.which, PROGRAMS)), None):
        return path
    with sync_playwright() as playwright:
        if Path(playwright.chromium.executable_path).is_file():
            return None
    raise ValueError("--browser found no browser: apt-get install chromium, or python -m playwright install chromium")


@asynccontextmanager
async def open_browser(path: str | None) -> AsyncIterator[Browser]:
    """Start a headless browser; see `find_browser`."""
    from playwright.async_api import async_playwright

    # Chromium refuses its sandbox to root.
    flags = [*FLAGS, *(["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else [])]
    async with (
        async_playwright() as playwright,
        await playwright.chromium.launch(executable_path=path, args=flags) as browser,
    ):
        yield browser


class BrowserVisit(Visitor):
    """One participant in a browser.

    Args:
        number: Number of the browser, from 1; odd ones are wide, even ones as narrow as a phone.
        study: The study as it is served.
        database: Its database.
        id: Id of the participant.
        link: Link of the participant.
        pictures: Folder for a picture of each kind of page; None: none are kept.
        progress: Called after each page.
    """

    def __init__(
        self,
        number: int,
        study: Study,
        database: Database,
        id: str,
        link: str,
        *,
        pictures: Path | None = None,
        progress: Callable[[], object] = lambda: None,
    ) -> None:
        super().__init__(f"{study.seed}:browser:{number}")
        self.number, self.id = number, id
        self.size = SIZES[(number - 1) % 2]
        self.pages: list[PageSeen] = []
        self.replies: list[float] = []
        """Seconds from the press of each reply until the table had changed."""
        self.code = self.text = ""
        """Completion code and text of the last page."""
        self._study, self._database, self._link, self._progress = study, database, link, progress
        self._pictures = None if pictures is None else pictures / f"{number}-{self.size[0]}"
        self._pictured: list[str] = []
        self._faults: dict[str, str] = {}
        self._pressed: float | None = None
        self._news = 0.0
        self._tab: Any = None

    @property
    def name(self) -> str:
        return f"browser {self.number} ({self.size[0]} px)"

    async def take_part(self, browser: Browser, patience: float) -> None:
        """Go from the link to the last page; what is wrong on the way is told by `faults`.

        Args:
            browser: The browser.
            patience: Seconds for which a match or a wait may show nothing new.
        """
        width, height = self.size
        context = await browser.new_context(viewport={"width": width, "height": height})
        try:
            self._tab = self._watched(await context.new_page())
            await self._join()
            await self._pass_pages(patience)
        except Stuck as error:
            self._fault(str(error))
        except Exception as error:  # of playwright, whose messages have many lines
            self._fault(f"{type(error).__name__}: {str(error).splitlines()[0]}")
        finally:
            if not self.code and self._tab is not None:
                await self._picture("last")
            await context.close()

    def _watched(self, tab: Page) -> Page:
        """Note what goes wrong in a page, beyond what it shows."""

        def on_console(message: ConsoleMessage) -> None:
            # A failed request is noted by its status.
            if message.type == "error" and not message.text.startswith("Failed to load resource"):
                self._fault(f"error in the console: {message.text[:300]}")

        def on_response(response: Response) -> None:
            if response.status >= 400:
                self._fault(f"request failed with {response.status}: {response.request.method} {response.url}")

        tab.on("console", on_console)
        tab.on("pageerror", lambda error: self._fault(f"script error: {str(error)[:300]}"))
        tab.on("response", on_response)
        return tab

    def _fault(self, text: str) -> None:
        """Note a fault with the page where it was first seen."""
        at = place(self.pages[-1]) if self.pages else "its link"
        self._faults.setdefault(" ".join(text.split()), f"{self.name} at {at}")

    @property
    def faults(self) -> list[str]:
        """The faults found, a sentence each."""
        return [f"{at}: {text}" for text, at in self._faults.items()]

    # From page to page.

    async def _join(self) -> None:
        await self._tab.goto(self._link)
        button = self._tab.locator("form button").first
        await button.wait_for(timeout=PRESS_PATIENCE * 1000)
        await self._note(PageSeen(-1, None, "join", None))
        await self._press(button)

    async def _pass_pages(self, patience: float) -> None:
        last = Look()
        while True:
            look = await self._look()
            if look.kind and look.is_new:
                await self._arrive(look)
            if look.kind == "closed":
                await self._read_last_page()
                return
            if look != last:
                self._news = time.monotonic()
            if look.kind and self._pressed is None:
                await self._act(look)
            last = look._replace(is_new=False)
            await self._check_patience(patience)
            await asyncio.sleep(POLL)

    async def _look(self) -> Look:
        from playwright.async_api import Error

        try:
            return Look(**await self._tab.evaluate(_LOOK))
        except Error:  # another document is being loaded
            return Look()

    async def _check_patience(self, patience: float) -> None:
        """Raise `Stuck` if nothing has come for too long."""
        since, most = (self._news, patience) if self._pressed is None else (self._pressed, PRESS_PATIENCE)
        if time.monotonic() - since > most:
            notices = await self._tab.evaluate(_NOTICES)
            raise Stuck(f"the page did not continue for {most:.0f} s{f': {notices}' if notices else ''}")
        if len(self._faults) > MOST_FAULTS:
            raise Stuck("too many problems to continue")

    async def _arrive(self, look: Look) -> None:
        """Note a page that has come."""
        seconds = None if self._pressed is None else time.monotonic() - self._pressed
        self._pressed, self._news = None, time.monotonic()
        position, page = self._position()
        before = self.pages[-1]
        if (position, look.kind) == (before.position, before.kind):
            self._fault("the page appeared a second time")
            return
        await self._note(PageSeen(position, None if look.kind == "closed" else page, look.kind, seconds))

    async def _note(self, seen: PageSeen) -> None:
        self.pages.append(seen)
        await asyncio.sleep(0.4)  # figures and what else is drawn last
        if not await self._tab.evaluate(FITS_WIDTH):
            self._fault("the page is wider than the window")
        await self._picture(kind_name(seen))
        self._progress()

    def _position(self) -> tuple[int, StepPage | None]:
        """Return the participant's page and its number, from 0."""
        participant, reached = self._database.participant(self.id), self._database.reached(self.id)
        pages = Journeys(self._database, self._study).pages(participant)
        position = reached[-1].position if reached else 0
        return position, pages[position] if position < len(pages) else None

    async def _picture(self, kind: str) -> None:
        """Keep a picture of the whole page, the first of its kind."""
        if self._pictures is None or kind in self._pictured:
            return
        self._pictured.append(kind)
        self._pictures.mkdir(parents=True, exist_ok=True)
        width, height = self.size
        tall = min(max(height, int(await self._tab.evaluate(HEIGHT))), TALLEST)
        await self._tab.set_viewport_size({"width": width, "height": tall})
        await asyncio.sleep(0.3)
        await self._tab.screenshot(path=str(self._pictures / f"{len(self._pictured):02}-{kind}.png"))
        await self._tab.set_viewport_size({"width": width, "height": height})

    async def _press(self, button: Locator) -> None:
        """Press what leads to another page."""
        await button.click(timeout=PRESS_PATIENCE * 1000)
        self._pressed = time.monotonic()

    async def _read_last_page(self) -> None:
        """Read the completion code, which is drawn last."""
        if self._study.codes.get(cast(Ending, self._database.participant(self.id).status)):
            await self._tab.locator(".nl-code").wait_for(timeout=10_000)
            self.code = await self._tab.locator(".nl-code").inner_text()
        self.text = await self._tab.locator("body").inner_text()

    # What a page asks for.

    async def _act(self, look: Look) -> None:
        """Do what the page asks for."""
        view = self._tab.locator(f".nl-at-{look.kind}")
        match look.kind:
            case "quiz" | "questionnaire":
                await self._answer(view)
                await self._press(view.locator(".nl-primary").first)
            case "playing" if look.next:
                await self._picture("match-over")
                await self._press(view.locator(".nl-strip .nl-primary"))
            case "playing" if look.turn and not look.over:
                await self._reply(view)
            case "consent" | "instructions" | "results":
                await self._press(view.locator(".nl-primary").first)

    async def _answer(self, view: Locator) -> None:
        """Answer the questions of a page: those of a quiz right."""
        _, page = self._position()
        step = None if page is None else page.step
        assert isinstance(step, QuizStep | QuestionsStep)
        fields = view.locator(".nl-question")
        if (shown := await fields.count()) != len(step.questions):
            raise Stuck(f"{shown} of {len(step.questions)} questions are shown")
        answers = self.answers(step)
        for i, question in enumerate(step.questions):
            if answer := answers[question.name]:
                await _fill(fields.nth(i), question, answer)

    async def _reply(self, view: Locator) -> None:
        """Accept what is offered, or type a legal reply."""
        if (found := self._match()) is None:
            return  # it has just ended
        match, seat = found
        before = self._database.record(match)
        state = final_state(before)
        if seat not in before.game.turn(state.public):
            return  # the match went on since the page was looked at
        self.count_reply(match)
        accept = view.locator(".nl-decision .nl-accept:visible:enabled").first
        may_accept = await accept.count() and self._rng.random() < 0.5
        if not (may_accept and await self._sent(accept, match, before)):
            text = self.reply(before.game.told(seat), observe(state, seat))
            button = await self._type(view, text)
            if not await self._sent(button, match, before):
                self._fault(f"a legal reply was not accepted: {await self._tab.evaluate(_NOTICES)}")
        after = self._database.record(match).events[len(before.events) :]
        for event in after:
            if isinstance(event, Rejected) and event.seat == seat:
                self._fault(f"a legal reply was refused: {event.invalid.reason}")
        await asyncio.sleep(DOUBLE_CLICK)

    def _match(self) -> tuple[str, Seat] | None:
        """Return the id of the running match and the participant's seat; None if no match runs."""
        for match in self._database.matches(self._study.name, participant=self.id, running=True):
            return match.id, match.seat_of(self.id)
        return None

    async def _type(self, view: Locator, text: str) -> Locator:
        """Type a reply, and return the button that sends it."""
        box = view.locator(".nl-reply textarea").first
        if not await box.is_visible():
            await self._tab.evaluate(_SHOW_TYPED)
        await box.fill(text, timeout=10_000)
        return view.locator(".nl-reply button").first

    async def _sent(self, button: Locator, match: str, before: Record) -> bool:
        """Press a button that sends a reply; return True once the match has taken it."""
        text, pressed = await self._tab.evaluate(_TABLE), time.monotonic()
        await button.click(timeout=10_000)
        while await self._tab.evaluate(_TABLE) == text or self._count(match) == len(before.events):
            waited = time.monotonic() - pressed
            if waited > PRESS_PATIENCE or (waited > NOTICE_AFTER and await self._tab.evaluate(_NOTICES)):
                return False
            await asyncio.sleep(POLL / 2)
        self.replies.append(time.monotonic() - pressed)
        return True

    def _count(self, match: str) -> int:
        return len(self._database.record(match).events)


async def _fill(field: Locator, question: Question, answer: Any) -> None:
    """Give an answer by mouse and keyboard."""

    async def choose(controls: Locator, choice: str) -> None:
        await controls.nth(question.choices.index(choice)).check(timeout=10_000)

    match question.kind:
        case "choice" if await field.locator("select").count():
            await field.locator("select").select_option(label=answer)
        case "choice":
            await choose(field.locator("input[type=radio]"), answer)
        case "several":
            for choice in answer:
                await choose(field.locator("input[type=checkbox]"), choice)
        case "grid":
            for i, key in enumerate(question.rows):
                await choose(field.locator(".nl-likert-row").nth(i).locator("input[type=radio]"), answer[key])
        case _:
            await field.locator("input, textarea").first.fill(answer, timeout=10_000)
            await field.locator("input, textarea").first.blur()


def kind_name(seen: PageSeen) -> str:
    """Name the kind of a page."""
    if seen.kind == "closed":
        return "end"
    return seen.kind if seen.page is None or seen.kind == "waiting" else seen.page.step.kind


def place(seen: PageSeen) -> str:
    """Name a page by its step and round."""
    if seen.page is None:
        return kind_name(seen)
    return f"{seen.page.name}{', wait' if seen.kind == 'waiting' else ''}"


async def visit_all(visits: Sequence[BrowserVisit], path: str | None, patience: float) -> None:
    """Let all take part at once, each in a window of their own with its own cookies."""
    async with open_browser(path) as browser:
        await asyncio.gather(*(visit.take_part(browser, patience) for visit in visits))


# What a trial tells.


def wrong_visits(study: Study, database: Database, visits: Sequence[BrowserVisit]) -> Iterator[str]:
    """Yield all that was wrong, a sentence each."""
    for text in status(database, study).errors:
        yield f"the host noted an error: {text}"
    earned = study_earnings(database, study)
    for visit in visits:
        yield from visit.faults
        ending = database.participant(visit.id).status
        if ending not in ENDINGS:
            yield f"{visit.name}: the study did not end"
            continue
        if ending != "complete":
            at = next(page for page in reversed(visit.pages) if page.kind != "closed")
            yield f"{visit.name}: the study ended as {ending}, at {place(at)}"
        if visit.code != (code := study.codes.get(ending, "")):
            yield f"{visit.name} was shown the code {visit.code or 'none'}, for {ending} it is {code or 'none'}"
        if not code and not study.links.get(ending) and (study.codes or study.links or study.external):
            yield f'no code for the ending {ending}: write {ending} = "..." under [codes]'
        if (pay := earned.get(visit.id)) is not None and pay.total and pay.text(pay.total) not in visit.text:
            yield f"{visit.name} is paid {pay.text(pay.total)}, which the last page does not show"
