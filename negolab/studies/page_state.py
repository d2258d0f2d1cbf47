"""The host's messages to a person's page, which are all that the page's kernel learns: its state, or why there is
none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Protocol

import msgspec
from typing_extensions import override

from negolab.catalog import AnyGame
from negolab.game import Observation, Seat
from negolab.record import SeatOutcome
from negolab.studies.payment import Earnings
from negolab.studies.questions import Question
from negolab.studies.texts import texts

LONGEST = 10_000
"""Most characters in a message: with each change, whoever sits across is sent every message again."""


class NotDelivered(Exception):
    """A message or action was not carried out and the match is unchanged. The text is shown to the person."""


def check_message(text: str) -> None:
    """Raise `NotDelivered` if `text` is blank or longer than `LONGEST` characters."""
    if not text.strip():
        raise NotDelivered(texts.NOTHING_TO_SEND)
    if len(text) > LONGEST:
        raise NotDelivered(texts.TOO_LONG.format(length=len(text), most=LONGEST))


# A seat in a match.


class TalkEntry(msgspec.Struct, frozen=True):
    """One entry in a seat's conversation: a reply (`own`), a text of the game (`game`), or a refusal (`refused`)."""

    kind: Literal["own", "game", "refused"]
    text: str


class SeatView(msgspec.Struct, frozen=True, kw_only=True):
    """Everything sent to a seat's screen."""

    seen: Observation[Any, Any]
    asked: bool
    """True if the seat is being asked for a reply."""
    left: int | None
    """Retries left after invalid replies; None: unlimited, or the seat is not asked."""
    talk: tuple[TalkEntry, ...]
    rules: str
    """The rules as the seat was given them."""
    closing: SeatOutcome | None
    """Outcome of the match; None while it runs."""
    turn: int
    """Number of replies the seat has given."""


class SeatHandle(Protocol):
    """A person's seat in a match, in this process or on the host: the interface that controls are built on."""

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
            The reason why the game rejected the reply; "" if it was accepted.

        Raises:
            NotDelivered: The reply did not reach the match.
        """

    def watch(self, changed: Callable[[], None]) -> None:
        """Register a callback to be called after every change to the seat's view."""


# The states of a page.


def place(step: int, match: str = "") -> str:
    """Name one of a participant's pages by its step and match. Actions carry the name: one from a page that was left is
    refused."""
    return f"{step} {match}".strip()


class BasePage(msgspec.Struct, frozen=True, tag_field="kind", kw_only=True):
    """Base of the page states; `title` is the study's, or the page's in free play."""

    title: str
    step: int = 0
    """Number of the participant's step, from 1; 0: not a step of a study."""
    steps: int = 0
    """Total number of steps; 0: not known yet."""
    left: float | None = None
    """Seconds until the time for this page is up; None: no limit applies."""
    may_leave: bool = True
    """True if the page offers to leave the study now, which is impossible after the last match."""

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
    """Comprehension questions, without any answers except those that the participant gave."""

    text: str
    questions: tuple[Question, ...]
    attempt: int
    """Number of this attempt, from 1."""
    attempts_left: int | None
    """Attempts left, including this one; None: as many as it takes."""
    right: dict[str, str]
    """Right answers in the last attempt, by name of the question."""
    wrong: dict[str, str]
    """Explanations of the wrong answers in the last attempt, by name of the question."""

    @property
    @override
    def place(self) -> str:
        return f"{self.step} {self.attempt}"


class Instructions(BasePage, frozen=True, tag="instructions"):
    """Instructions with the button that leads to the next page, which may take a place in a treatment."""

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
    """The wait for a partner: seconds waited so far, and seconds left."""

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
    """Name of the round; "" for a single match."""
    limit: str = ""
    """Kind of the limit that expires first: "reply", "match", or "continue" for continuing after a match."""
    can_continue: bool = False
    """True if the finished match has a button that leads to the next page."""
    disclosure: str = ""
    """Text about who sits across."""
    paused: bool = False
    """True while the player across cannot be reached."""
    fault: str = ""
    """Reason why the match was stopped; sent only to the researcher's pages."""

    @property
    @override
    def place(self) -> str:
        return place(self.step, self.match)


class Closed(BasePage, frozen=True, tag="closed"):
    """Last page: a text on how the study ended, the completion code and link ("" for none), and the participant's
    earnings."""

    text: str
    code: str = ""
    link: str = ""
    earnings: Earnings | None = None


PageState = Consent | Questionnaire | Quiz | Instructions | Waiting | Playing | Results | Closed


class Answer(msgspec.Struct, frozen=True):
    """The host's answer to a page."""

    version: int
    """Version of the page state; higher ones are newer, even across restarts of the host."""
    state: PageState
    refused: str = ""
    """Reason why the game rejected a reply."""
    not_done: str = ""
    """Reason why an action was not carried out."""
