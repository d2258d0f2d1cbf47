"""Page states: everything that the host sends to a participant's page, and all that the page's kernel learns."""

from __future__ import annotations

from typing import Any

import msgspec

from negolab.game import Seat
from negolab.studies.config import Question


class PageState(msgspec.Struct, frozen=True, tag_field="kind", kw_only=True):
    """Base class of page states; `title` is the study's, or the page's in free play."""

    title: str


class Consent(PageState, frozen=True, tag="consent"):
    """Consent page with the text to agree to."""

    text: str


class Asked(PageState, frozen=True, tag="asked"):
    """Open questions of the study, before or after the matches."""

    questions: tuple[Question, ...]


class Instructions(PageState, frozen=True, tag="instructions"):
    """Instructions with the Start button, which takes a place in a treatment."""

    text: str


class Waiting(PageState, frozen=True, tag="waiting"):
    """Wait for a partner: seconds waited so far, and seconds left."""

    waited: float
    left: float


class Playing(PageState, frozen=True, tag="playing"):
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
    """Name of a practice round; "" for a real match."""
    left: float | None = None
    """Seconds until the nearest time limit; None: no limit runs."""
    limit: str = ""
    """Kind of that limit: "reply", "match", or "onward" for continuing after a practice match."""
    onward: str = ""
    """Label of the button that leaves a finished match."""
    fault: str = ""
    """Reason for which the match was stopped; sent to the researcher's pages only."""


class Closed(PageState, frozen=True, tag="closed"):
    """Last page: a text on how the study ended, and the completion code ("" for none)."""

    text: str
    code: str = ""


Shown = Consent | Asked | Instructions | Waiting | Playing | Closed


class Answer(msgspec.Struct, frozen=True):
    """The host's answer to a page."""

    version: int
    """Version of the page state; higher ones are newer, also over restarts of the host."""
    scene: Shown
    refused: str = ""
    """Reason for which the game rejected a reply."""
    unheard: str = ""
    """Reason for which an action was not carried out."""
