"""What a participant's page shows at one moment: made by the host, and all that a kernel ever learns."""

from __future__ import annotations

from typing import Any

import msgspec

from negolab.game import Seat
from negolab.people.parts import Question


class Scene(msgspec.Struct, frozen=True, tag_field="kind", kw_only=True):
    """`title` is the study's."""

    title: str


class Consent(Scene, frozen=True, tag="consent"):
    """The text to agree to, in the study's words."""

    text: str


class Asked(Scene, frozen=True, tag="asked"):
    """Questions of the study, before or after the matches."""

    questions: tuple[Question, ...]


class Instructions(Scene, frozen=True, tag="instructions"):
    """What awaits the participant; the Start button takes a place."""

    text: str


class Waiting(Scene, frozen=True, tag="waiting"):
    """Nobody to play with yet: `waited` and `left` in seconds."""

    waited: float
    left: float


class Playing(Scene, frozen=True, tag="playing"):
    """A match: the game's id and parameters as told to the seat, and the table as plain data. `label` names a practice
    round; `left`: seconds until the nearest time limit, None: no limit runs; `limit`: of what ("reply", "match", or
    "onward": of going on from practice); `onward`: the button that goes on from a finished match; `fault`: for the
    researcher alone, why a match was stopped."""

    match: str
    game: str
    params: dict[str, Any]
    seat: Seat
    fronted: bool
    table: dict[str, Any]
    label: str = ""
    left: float | None = None
    limit: str = ""
    onward: str = ""
    fault: str = ""


class Closed(Scene, frozen=True, tag="closed"):
    """The last page: how it ended, and the completion code ("": the study has none)."""

    text: str
    code: str = ""


Shown = Consent | Asked | Instructions | Waiting | Playing | Closed


class Answer(msgspec.Struct, frozen=True):
    """What the host answers: a scene with its version, why words were `refused` by the rules, or why nothing was
    done (`unheard`)."""

    version: int
    scene: Shown
    refused: str = ""
    unheard: str = ""
