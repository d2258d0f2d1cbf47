"""Bots that take part in a study by what its pages show: they read, answer, make legal moves and follow scripts."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any, NamedTuple

from negolab import catalog, decoding
from negolab.studies import clock
from negolab.studies.authentication import LeaseTaken
from negolab.studies.database import Database
from negolab.studies.page_state import (
    Answer,
    Closed,
    Consent,
    Instructions,
    PageState,
    Playing,
    Questionnaire,
    Quiz,
    Results,
    Waiting,
)
from negolab.studies.service import StudyService
from negolab.studies.steps import QuestionsStep, QuizStep, StepPage
from negolab.studies.study_config import Study
from negolab.studies.trial.visitor import BotScript, Stuck, Visitor

POLL = 600.0
"""Seconds that a long poll lasts; a page asks more often, which makes no difference."""
WORDS_PER_SECOND = 4.0
"""Adult reading speed."""
PER_ANSWER = 4.0
"""Median seconds for an answer to a question."""
PER_REPLY = 8.0
"""Median seconds for a reply in a match."""
TOO_LATE = 30.0
"""Seconds by which a late bot exceeds a limit, more than the host needs to notice."""
UNLIMITED_LATE = 300.0
"""Seconds that a late bot takes if no limit applies."""


class Visit(NamedTuple):
    """A bot's time on a page."""

    page: StepPage | None
    """The page; None: the last one."""
    seconds: float
    is_passed: bool
    """True if the bot went on to another page of the study."""


class Bot(Visitor):
    """A participant of a trial.

    Args:
        service: The host's service.
        database: Its database.
        study: The study.
        number: Number of the bot, from 1.
        script: What the bot does.
        patience: Seconds without any news after which it gives up.
    """

    def __init__(
        self, service: StudyService, database: Database, study: Study, number: int, script: BotScript, patience: float
    ) -> None:
        super().__init__(f"{study.seed}:bot:{number}", script)
        self.number = number
        self.id = self.token = ""
        self.visits: list[Visit] = []
        self.faults: list[str] = []
        self.closed: Closed | None = None
        """The last page, once it is shown."""
        self.left_at: StepPage | None = None
        """Page that the bot closed for good."""
        self.was_late = False
        self.waited_at: list[StepPage] = []
        """Pages where the bot waited for a partner."""
        self._service, self._database, self._study = service, database, study
        self._patience = patience
        self._lease, self._version, self._changed = "", 0, asyncio.Event()
        self._page: asyncio.Task[None]
        self._state: PageState | None = None
        self._position, self._since = -1, 0.0
        self._at: StepPage | None = None
        self._has_acted = False

    # The page in the browser.

    def join(self, token: str) -> None:
        """Open a link, as the page it leads to does."""
        query = {} if self._study.external is None else {self._study.external: f"bot-{self.number}"}
        self.token, self.id = self._service.authenticator.join(token, query)
        self._open()

    def _open(self) -> None:
        """Open the page in a new tab."""
        kernel = f"bot-{self.number}-{self._rng.randrange(2**31)}"
        self._service.authenticator.bind(self.token, kernel)
        self._lease = self._database.participant(self.id).lease or ""
        self._version = 0
        self._page = asyncio.ensure_future(self._poll())

    async def _poll(self) -> None:
        """Keep the shown state up to date, as a page does."""
        with suppress(LeaseTaken):
            while True:
                self._take(await self._service.poll(self._lease, self._version, POLL))

    def _take(self, answer: Answer) -> None:
        if answer.version != self._version:
            self._version, self._state = answer.version, answer.state
            self._changed.set()

    def close(self) -> None:
        """Close the page."""
        self._page.cancel()

    def _act(self, kind: str, **fields: Any) -> None:
        answer = self._service.act(self._lease, {"kind": kind, **fields})
        self._take(answer)
        if answer.not_done and not isinstance(answer.state, Closed):
            self.faults.append(f"{kind} was not accepted: {answer.not_done}")
        if answer.refused:
            self.faults.append(f"a legal reply was refused: {answer.refused}")

    def _still_shows(self, state: PageState) -> bool:
        """Return True if the page has not moved on from a state that the bot thought about."""
        now = self._state
        if isinstance(state, Playing) and isinstance(now, Playing):
            return (now.match, now.can_continue) == (state.match, state.can_continue)
        return type(now) is type(state)

    # The person before it.

    async def take_part(self, token: str) -> None:
        """Go through the study as the script says.

        Raises:
            Stuck: Nothing happened for as long as the bot's patience lasts.
        """
        self.join(token)
        try:
            while not isinstance(state := await self._news(), Closed):
                if self._is_due():
                    await self._do_scripted(state)
                else:
                    await self._go_on(state)
                if self.left_at is not None:
                    return
            self.closed = state
        finally:
            self._leave_page(False)
            self.close()

    async def _news(self) -> PageState:
        """Return the state of the page once there is something to do."""
        while True:
            self._changed.clear()
            if self._state is not None:
                self._note_page()
                if self._needs_me(self._state):
                    return self._state
            try:
                async with asyncio.timeout(self._patience):
                    await self._changed.wait()
            except TimeoutError:
                raise Stuck(f"nothing happened for {self._patience / 60:.0f} min") from None

    def _needs_me(self, state: PageState) -> bool:
        """Return True if a person has something to do here."""
        if isinstance(state, Waiting):
            if self._at is not None and self._at not in self.waited_at:
                self.waited_at.append(self._at)
            return self._is_due() and self.script.kind in ("leaves", "closes")
        return not isinstance(state, Playing) or state.can_continue or bool(state.table["asked"])

    def _note_page(self) -> None:
        """Record the time spent on a page when another one is shown."""
        participant, journeys = self._database.participant(self.id), self._service.journeys
        position = journeys.position(participant)
        if position != self._position:
            self._leave_page(True)
            self._position, self._at, self._since = position, journeys.page(participant), clock.monotonic()

    def _leave_page(self, is_passed: bool) -> None:
        if self._position >= 0:
            self.visits.append(Visit(self._at, clock.monotonic() - self._since, is_passed))
            self._position = -1

    def _is_due(self) -> bool:
        """Return True if the script has something for this page that has not been done yet."""
        return not self._has_acted and self.script.position == self._position

    async def _do_scripted(self, state: PageState) -> None:
        """Do what the script says for this page."""
        self._has_acted = True
        match self.script.kind:
            case "leaves":
                await self._spend(3.0)
                self._act("leave")
            case "closes":
                await self._spend(3.0)
                self.left_at = self._at
            case "reloads":
                self.close()
                await self._spend(5.0)
                self._open()
            case "late":
                self.was_late = True
                await asyncio.sleep(UNLIMITED_LATE if state.left is None else state.left + TOO_LATE)

    async def _go_on(self, state: PageState) -> None:
        """Do what the page asks for, if it still does once the bot has made up its mind."""
        if isinstance(state, Playing) and not state.can_continue:
            await self._reply(state)
            return
        await self._spend(_effort(state))
        if not self._still_shows(state):
            return
        match state:
            case Consent():
                self._act("consent", agreed=self.script.kind != "declines")
            case Instructions():
                self._act("start")
            case Quiz() | Questionnaire():
                step, attempt = self._at and self._at.step, state.attempt if isinstance(state, Quiz) else 1
                assert isinstance(step, QuizStep | QuestionsStep)
                self._act("answer", answers=self.answers(step, attempt))
            case Playing() | Results():
                self._act("next")

    async def _reply(self, state: Playing) -> None:
        """Reply with a legal action, chosen from what the page shows."""
        self.count_reply(state.match)
        await self._spend(PER_REPLY)
        now = self._state
        if isinstance(now, Playing) and self._still_shows(state) and now.table["asked"]:
            game = decoding.told_game(catalog.imported_class(now.game), now.params)
            seen = decoding.decode_observation(type(game), now.table["seen"])
            self._act("reply", text=self.reply(game, seen), turn=now.table["turn"], match=now.match)

    async def _spend(self, median: float) -> None:
        """Take time: log-normal around `median` seconds, with a standard deviation of the logarithm of 0.4."""
        await asyncio.sleep(median * self._rng.lognormvariate(0.0, 0.4))


def _effort(state: PageState) -> float:
    """Return the median seconds that a page takes, by its words and questions."""
    text = getattr(state, "text", "")
    questions = getattr(state, "questions", ())
    answers = sum(max(1, len(question.rows)) for question in questions)
    return max(2.0, len(text.split()) / WORDS_PER_SECOND + PER_ANSWER * answers)
