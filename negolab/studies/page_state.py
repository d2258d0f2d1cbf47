"""Messages of the host to a person's page, which are all that the page's kernel learns: its state, or why not.

Beside it stands what the host knows of a page: the version that it shows, and whether it is open.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable
from typing import Any, Literal, Protocol

import msgspec
from typing_extensions import override

from negolab.catalog import AnyGame
from negolab.game import Observation, Seat
from negolab.record import SeatOutcome
from negolab.studies import clock
from negolab.studies.payment import Earnings
from negolab.studies.questions import Question
from negolab.studies.texts import texts

LONGEST = 10_000
"""Largest number of characters of a message: whoever sits across is sent every message again with each change."""


class NotDelivered(Exception):
    """A message or action was not carried out and the match is unchanged. The text is shown to the person."""


def check_message(text: str) -> None:
    """Raise `NotDelivered` if `text` is blank or longer than `LONGEST` characters."""
    if not text.strip():
        raise NotDelivered(texts.NOTHING_TO_SEND)
    if len(text) > LONGEST:
        raise NotDelivered(texts.TOO_LONG.format(length=len(text), most=LONGEST))


# A seat at a match.


class TalkEntry(msgspec.Struct, frozen=True):
    """One entry of a seat's conversation: a reply (`own`), a text of the game (`game`), or a refusal (`refused`)."""

    kind: Literal["own", "game", "refused"]
    text: str


class SeatView(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that is sent to a seat's screen."""

    seen: Observation[Any, Any]
    asked: bool
    """True if the seat is asked for a reply now."""
    left: int | None
    """Retries left after invalid replies; None: unlimited, or the seat is not asked."""
    talk: tuple[TalkEntry, ...]
    rules: str
    """The rules as the seat was given them."""
    closing: SeatOutcome | None
    """Outcome of the match; None while it runs."""
    turn: int
    """Number of replies that the seat has given."""


class SeatHandle(Protocol):
    """A person's seat at a match, in this process or at the host: the interface that controls are built on."""

    @property
    def seat(self) -> Seat: ...

    @property
    def game(self) -> AnyGame:
        """The game without the parameters that are hidden from this seat."""

    @property
    def fronted(self) -> bool:
        """True if the game provides fixed texts for this seat."""

    def view(self) -> SeatView:
        """Return the seat's current view."""

    def submit(self, text: str, turn: int) -> str:
        """Submit a reply.

        Args:
            text: Text of the reply.
            turn: `SeatView.turn` of the view that the person answers; guards against outdated pages.

        Returns:
            The reason for which the game rejected the reply; "" if it was accepted.

        Raises:
            NotDelivered: The reply did not reach the match.
        """

    def watch(self, changed: Callable[[], None]) -> None:
        """Register a callback that is called after every change of the seat's view."""


# The states of a page.


def place(step: int, match: str = "") -> str:
    """Name a page among the participant's, by its step and match. Actions carry it: one of a page that was left is
    refused."""
    return f"{step} {match}".strip()


class BasePage(msgspec.Struct, frozen=True, tag_field="kind", kw_only=True):
    """Base of the page states; `title` is the study's, or the page's in free play."""

    title: str
    step: int = 0
    """Number of the participant's step, from 1; 0: no step of a study."""
    steps: int = 0
    """Number of all steps; 0: not known yet."""
    left: float | None = None
    """Seconds until the time for this page is over; None: no limit runs."""
    may_leave: bool = True
    """True if the page offers to leave the study now; those who have finished the last match cannot."""

    @property
    def place(self) -> str:
        """See `place`."""
        return place(self.step)


class Consent(BasePage, frozen=True, tag="consent"):
    """Consent page with the text to agree to."""

    text: str


class Questionnaire(BasePage, frozen=True, tag="questionnaire"):
    """Open questions of the study."""

    questions: tuple[Question, ...]


class Quiz(BasePage, frozen=True, tag="quiz"):
    """Comprehension questions, without their answers but those that the participant gave."""

    text: str
    questions: tuple[Question, ...]
    attempt: int
    """Number of this attempt, from 1."""
    attempts_left: int | None
    """Attempts left, this one included; None: as many as it takes."""
    right: dict[str, str]
    """Right answers of the last attempt, by name of the question."""
    wrong: dict[str, str]
    """Words about the wrong answers of the last attempt, by name of the question."""

    @property
    @override
    def place(self) -> str:
        return f"{self.step} {self.attempt}"


class Instructions(BasePage, frozen=True, tag="instructions"):
    """Instructions with the button that leads on, which may take a place in a treatment."""

    text: str
    begins: bool
    """True if a match, or the wait for a partner, comes next."""


class MatchResult(msgspec.Struct, frozen=True):
    """One finished match of a participant."""

    practice: int
    """Practice round, from 1; 0 for a match that counts."""
    number: int
    """Number among the matches that count, from 1; 0 for practice."""
    end: str
    """The end in words."""
    payoff: str
    """The participant's own payoff in words, with its unit."""


class Results(BasePage, frozen=True, tag="results"):
    """The participant's matches so far."""

    text: str
    matches: tuple[MatchResult, ...]


class Waiting(BasePage, frozen=True, tag="waiting"):
    """Wait for a partner: seconds waited so far, and seconds left."""

    waited: float
    left: float


class Playing(BasePage, frozen=True, tag="playing"):
    """A match, running or finished."""

    match: str
    """Id of the match."""
    game: str
    """Id of the game."""
    params: dict[str, Any]
    """The game's parameters as told to the seat: hidden ones are None."""
    seat: Seat
    fronted: bool
    """True if the game provides fixed texts for this seat."""
    table: dict[str, Any]
    """The seat's `SeatView` as plain data."""
    label: str = ""
    """Name of the round; "" for a match that is the only one."""
    limit: str = ""
    """Kind of the limit that ends soonest: "reply", "match", or "continue" for continuing after a match."""
    can_continue: bool = False
    """True if a button leads on from the finished match."""
    disclosure: str = ""
    """Text on who sits across."""
    paused: bool = False
    """True while the player across cannot be reached."""
    fault: str = ""
    """Reason for which the match was stopped; sent to the researcher's pages only."""

    @property
    @override
    def place(self) -> str:
        return place(self.step, self.match)


class Closed(BasePage, frozen=True, tag="closed"):
    """Last page: a text on how the study ended, the completion code and link ("" for none), and own earnings."""

    text: str
    code: str = ""
    link: str = ""
    earnings: Earnings | None = None


PageState = Consent | Questionnaire | Quiz | Instructions | Waiting | Playing | Results | Closed


class Answer(msgspec.Struct, frozen=True):
    """The host's answer to a page."""

    version: int
    """Version of the page state; higher ones are newer, also over restarts of the host."""
    state: PageState
    refused: str = ""
    """Reason for which the game rejected a reply."""
    not_done: str = ""
    """Reason for which an action was not carried out."""


# Versions and presence.

GONE = 12.0
"""Seconds without a poll after which nothing is kept of a page."""

BETWEEN_POLLS = 2.0
"""Seconds that an open page may take for its next poll."""


class PagePresence:
    """Version and presence of one page, known from its long polls.

    Versions start at the current time in milliseconds, so that they also rise over restarts of the host.
    """

    def __init__(self) -> None:
        self.version = int(clock.time() * 1000)
        self._polls = 0
        self._last_poll = 0.0
        self._change = asyncio.Event()
        self._answer: Answer | None = None
        self.away = False
        """True while the page's browser is silent; its kernel keeps polling for a while."""

    @property
    def polled(self) -> bool:
        """True if the page is polling, or stopped less than `GONE` seconds ago."""
        return self._polls > 0 or clock.monotonic() - self._last_poll < GONE

    @property
    def present(self) -> bool:
        """True if the page is there at this moment: it is polling, and its browser is not away."""
        return not self.away and (self._polls > 0 or clock.monotonic() - self._last_poll < BETWEEN_POLLS)

    def touch(self) -> None:
        """Raise the version and wake the polls, after a change of the page state."""
        self.version += 1
        self._answer = None
        self._change.set()
        self._change = asyncio.Event()

    def keep_answer(self, answer: Answer) -> None:
        """Keep the answer to a click for the poll that it woke, if one waits: it would make the same state again."""
        self._answer = answer if self._polls else None

    def pop_answer(self) -> Answer | None:
        """Return the answer that was kept for a poll, if nothing has changed since."""
        answer, self._answer = self._answer, None
        return answer

    async def newer(self, than: int, seconds: float) -> None:
        """Wait until the version differs from `than`, for at most `seconds`."""
        # A later version is of a host before this one, by a clock that was set back.
        self.version = max(self.version, than + (than > self.version))
        self._polls += 1
        try:
            async with asyncio.timeout(seconds):
                while self.version == than:
                    await self._change.wait()
        except TimeoutError:
            return
        finally:
            self._polls -= 1
            self._last_poll = clock.monotonic()


class PresenceRegistry(defaultdict[str, PagePresence]):
    """Presence of many pages by id; looking one up adds it."""

    def __init__(self) -> None:
        super().__init__(PagePresence)

    def is_present(self, id: str) -> bool:
        """Return True if a page is open; adds nothing."""
        return id in self and self[id].present

    def sweep(self, kept: Callable[[str], bool] = lambda id: False) -> None:
        """Drop closed pages, except those `kept`; versions of a page that comes back are higher than before."""
        for id in [id for id, page in self.items() if not (page.polled or kept(id))]:
            del self[id]
