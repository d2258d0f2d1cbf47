"""Tables of a study file: treatments, delays, limits, pairing, practice and questions; and the ways of ending."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from math import exp, isfinite, log
from typing import Any, Literal, get_args

from negolab._internal.validation import TomlTable
from negolab.game import SEATS, Seat, other

Ending = Literal["complete", "timeout", "partner", "unpaired", "withdrawn", "declined", "ended", "error"]
"""Way in which the study ended for a participant.

- complete: played to the end
- timeout: did not answer in time
- partner: the other person left or timed out
- unpaired: no partner came within the wait limit
- withdrawn: pressed "Leave the study"
- declined: gave no consent
- ended: ended by the experimenter
- error: a fault of the host or of a player
"""
ENDINGS: tuple[Ending, ...] = get_args(Ending)

_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?")
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")


def check_name(value: str, what: str = "name") -> None:
    """Raise `ValueError` unless `value`, used in file names and tables, is letters, digits and inner hyphens."""
    if not _NAME.fullmatch(value) or len(value) > 60:
        raise ValueError(f"{what} must be letters, digits and hyphens, at most 60, not {value!r}")


def check_identifier(value: str, what: str) -> None:
    """Raise `ValueError` unless `value` can be the name of a column or a query parameter."""
    if not _WORD.fullmatch(value) or len(value) > 60:
        raise ValueError(f"{what} must be a letter, then letters, digits, _ or -, at most 60, not {value!r}")


def check_text(value: str, what: str) -> None:
    """Raise `ValueError` for a blank text."""
    if not value.strip():
        raise ValueError(f"{what} is empty: write the text that people read")


def check_positive(value: float, what: str) -> None:
    """Raise `ValueError` unless `value` is finite and above 0."""
    if not (isfinite(value) and value > 0):
        raise ValueError(f"{what} must be a number above 0, not {value:g}")


def check_distinct(values: Sequence[str], what: str) -> None:
    """Raise `ValueError` if `values` holds a duplicate."""
    for i, value in enumerate(values):
        if value in values[:i]:
            raise ValueError(f"{what} {value!r} stands there twice: each must be of its own")


class Delay(TomlTable, frozen=True):
    """Simulated thinking time of an automated player: log-normal, clipped to `least` ... `most` seconds."""

    median: float = 0.0
    """Seconds; 0: no delay."""
    spread: float = 0.0
    """Standard deviation of the logarithm."""
    least: float = 0.0
    most: float = 60.0

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if not (isfinite(value) and value >= 0):
                raise ValueError(f"{name} must be a number of 0 or more, not {value:g}")
        if self.median and not self.least <= self.median <= self.most:
            raise ValueError(f"median must lie between least and most, {self.least:g} to {self.most:g} s")

    def seconds(self, rng: random.Random) -> float:
        """Draw a delay in seconds; takes one draw from `rng` in any case, so that later draws stay the same."""
        drawn = rng.gauss(0.0, 1.0)
        if self.median == 0:
            return 0.0
        # `exp` overflows beyond about 709; so far out the bounds decide anyway.
        power = min(max(log(self.median) + self.spread * drawn, -700.0), 700.0)
        return min(max(exp(power), self.least), self.most)


class Treatment(TomlTable, frozen=True):
    """One treatment (cell) of a study: the game's parameters and the opponent."""

    name: str
    weight: float = 1
    """Relative share of the participants."""
    preset: str | None = None
    params: dict[str, Any] = {}
    """Parameters of the game that differ from the preset's."""
    opponent: str | None = None
    """Name of a player, such as "boulware"; None: another participant."""
    seat: Literal["A", "B", "random"] = "random"
    """Seat of the participant against a player; pairs always draw their seats."""
    delay: Delay = Delay()

    def __post_init__(self) -> None:
        check_name(self.name)
        check_positive(self.weight, "weight")
        if self.opponent is None and self.seat != "random":
            raise ValueError('two participants draw their seats: leave seat out, or give an opponent = "player"')

    @property
    def paired(self) -> bool:
        """True if two participants play each other."""
        return self.opponent is None

    def seats(self) -> tuple[Seat, ...]:
        """Return the seats that a participant may get."""
        return SEATS if self.seat == "random" else (self.seat,)

    def across(self) -> tuple[Seat, ...]:
        """Return the seats that the player opposite a participant may get."""
        return tuple(other(seat) for seat in self.seats())


MOST_PRACTICE = 100
"""Largest number of practice matches per participant."""


class Limits(TomlTable, frozen=True):
    """Time limits in seconds for one reply and for a whole match; None: no limit. The match ends at a limit."""

    reply: float | None = None
    match: float | None = None

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            if getattr(self, name) is not None:
                check_positive(getattr(self, name), name)


class Pairing(TomlTable, frozen=True):
    """Wait for a partner in treatments without an opponent."""

    wait: float = 300.0
    """Longest wait in seconds."""
    then: str = "end"
    """At the end of the wait: "end" the study for the participant, or the name of a player as the opponent."""

    def __post_init__(self) -> None:
        check_positive(self.wait, "wait")
        check_text(self.then, "then")

    @property
    def player(self) -> str | None:
        """Name of the player that replaces a missing partner; None: the study ends for the participant."""
        return None if self.then == "end" else self.then


class Practice(TomlTable, frozen=True):
    """Practice matches against a player before the real match; stored data mark them, and they do not count."""

    matches: int = 0
    opponent: str = ""
    """Name of the player."""
    preset: str | None = None
    params: dict[str, Any] = {}
    """Parameters of the game that differ from the preset's."""
    delay: Delay | None = None
    """Thinking time of the player; None: the treatment's."""

    def __post_init__(self) -> None:
        if self.matches < 0:
            raise ValueError(f"matches must be 0 or more, not {self.matches}")
        if self.matches > MOST_PRACTICE:
            raise ValueError(f"matches must be at most {MOST_PRACTICE}, not {self.matches}")
        if self.matches and not self.opponent:
            raise ValueError('opponent is missing: practice is against a player, such as opponent = "random-legal"')


class Question(TomlTable, frozen=True):
    """A question to participants, asked `when` "before" or "after" the matches."""

    name: str
    label: str
    kind: Literal["text", "number", "choice"] = "text"
    choices: tuple[str, ...] = ()
    required: bool = False
    when: Literal["before", "after"] = "before"

    def __post_init__(self) -> None:
        check_identifier(self.name, "name")
        check_text(self.label, "label")
        if (self.kind == "choice") != bool(self.choices):
            raise ValueError('choices and kind = "choice" go together: give both, or neither')
        if len(self.choices) == 1:
            raise ValueError("choices must be two or more")
        for choice in self.choices:
            check_text(choice, "a choice")
        check_distinct(self.choices, "the choice")


LONGEST = 5_000
"""Largest number of characters of an answer."""


def check_answers(questions: Sequence[Question], given: Any) -> dict[str, str]:
    """Validate a page's answers to questions.

    Args:
        questions: The questions that were asked.
        given: Answers by name of the question, as they came from the page.

    Returns:
        The stripped answer to each question, by name; "" for one that was left open.

    Raises:
        ValueError: An answer is missing, too long or of the wrong kind; the text is for the participant.
    """
    if not isinstance(given, Mapping):
        raise ValueError("Answer the questions.")
    return {question.name: _check_answer(question, given.get(question.name, "")) for question in questions}


def _check_answer(question: Question, text: Any) -> str:
    if not isinstance(text, str) or len(text) > LONGEST:
        raise ValueError(f"{question.label}: at most {LONGEST} characters.")
    text = str(text).strip()
    if not text:
        if question.required:
            raise ValueError(f"{question.label}: please answer.")
        return ""
    if question.kind == "choice" and text not in question.choices:
        raise ValueError(f"{question.label}: choose one of the answers.")
    if question.kind == "number" and not _number(text):
        raise ValueError(f"{question.label}: please write a number.")
    return str(text)


def _number(text: str) -> bool:
    try:
        return isfinite(float(text))
    except ValueError:
        return False
