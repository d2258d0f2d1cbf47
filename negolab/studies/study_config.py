"""The options of a study file: its tables, their checks, and the ways in which a study ends for a participant."""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Mapping, Sequence
from math import exp, isfinite, log
from typing import Any, Literal, get_args

from negolab import catalog
from negolab._internal.validation import TomlTable, suggest
from negolab.catalog import AnyGame
from negolab.game import SEATS, Seat, other
from negolab.studies import texts

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
    """A preset of the game, or a scenario file relative to the study file's folder; None: the default preset."""
    params: dict[str, Any] = {}
    """Parameters of the game that differ from the preset's."""
    opponent: str | None = None
    """A player, such as "boulware" or "mine.py:Haggler,beta=2", a file relative to the study file's folder; None:
    another participant."""
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


class Study(TomlTable, frozen=True):
    """A study as defined by its file."""

    name: str
    """Name in the database and in links; the file's name unless the file sets it."""
    title: str
    """Title that participants see."""
    game: str
    """Name of the game, or the resolved path of a .py file."""
    treatments: tuple[Treatment, ...]
    instructions: str
    closing: str
    """Text below the last page's sentence, for those who finish."""
    consent: str = ""
    """Text to agree to; "": no consent is asked for."""
    endings: dict[Ending, str] = {}
    """Sentences of the last page that replace the default ones."""
    codes: dict[Ending, str] = {}
    """Completion codes."""
    limits: Limits = Limits()
    pairing: Pairing = Pairing()
    practice: Practice = Practice()
    seed: int = 0
    """Seed of deals, seats, delays and the order of treatments."""
    questions: tuple[Question, ...] = ()
    external: str | None = None
    """Query parameter in which the open link must carry an outside panel's id; None: none is required."""
    expires: float = 30
    """Days for which a link is valid."""
    text: str = ""
    """Text of the study file, unchanged."""

    def __post_init__(self) -> None:
        check_name(self.name)
        for field in ("title", "game", "instructions", "closing"):
            check_text(getattr(self, field), field)
        if self.consent:
            check_text(self.consent, "consent")
        if not self.treatments:
            raise ValueError("treatments are missing: write at least one [[treatments]]")
        check_distinct([treatment.name for treatment in self.treatments], "the treatment")
        check_distinct([question.name for question in self.questions], "the question")
        for field, sentences in (("endings", self.endings), ("codes", self.codes)):
            for ending, text in sentences.items():
                check_text(text, f"{field}.{ending}")
        check_distinct(list(self.codes.values()), "the code")
        if self.external is not None:
            check_identifier(self.external, "external")
        check_positive(self.expires, "expires")
        if self.expires > 3650:
            raise ValueError(f"expires must be at most 3650 days, not {self.expires:g}")

    @property
    def consent_version(self) -> str:
        """Hash that identifies the version of the consent text; "" without one."""
        return version_hash(self.consent)

    @property
    def cells(self) -> list[tuple[str, float]]:
        """Name and weight of every treatment, for the balanced assignment."""
        return [(treatment.name, treatment.weight) for treatment in self.treatments]

    @property
    def paired(self) -> bool:
        """True if participants play each other in at least one treatment."""
        return any(treatment.paired for treatment in self.treatments)

    def treatment(self, name: str) -> Treatment:
        """Return the treatment called `name`; `ValueError` if there is none."""
        for treatment in self.treatments:
            if treatment.name == name:
                return treatment
        names = [treatment.name for treatment in self.treatments]
        raise ValueError(f"study {self.name} has no treatment {name!r}: {suggest(name, names)}")

    def delay(self, treatment: str | None, practice: int) -> Delay:
        """Return the thinking time of players in a match of a treatment, or in practice, which may have its own."""
        if practice and self.practice.delay is not None:
            return self.practice.delay
        # The file may have lost the treatment of a finished match; a finished match has no answers to delay.
        return next((t.delay for t in self.treatments if t.name == treatment), Delay())

    def loaded(self, of: Treatment | Practice) -> AnyGame:
        """Load the game with the parameters of a treatment or of practice; `ValueError` if they are invalid."""
        return catalog.load(self.game, of.preset, **of.params)


def version_hash(consent: str) -> str:
    """Return the first 12 hexadecimal digits of a consent text's SHA-256; "" for an empty text."""
    return hashlib.sha256(consent.encode()).hexdigest()[:12] if consent else ""


LONGEST = 5_000
"""Largest number of characters of an answer."""


def check_answers(questions: Sequence[Question], answers: object) -> dict[str, str]:
    """Validate a page's answers to questions.

    Args:
        questions: The questions that were asked.
        answers: Answers by name of the question, as they came from the page.

    Returns:
        The stripped answer to each question, by name; "" for one that was left open.

    Raises:
        ValueError: An answer is missing, too long or of the wrong kind; the text is for the participant.
    """
    if not isinstance(answers, Mapping):
        raise ValueError(texts.WRONG_ANSWERS["form"])
    return {question.name: _check_answer(question, answers.get(question.name, "")) for question in questions}


def _check_answer(question: Question, answer: object) -> str:
    if not isinstance(answer, str) or len(answer) > LONGEST:
        wrong = "length"
    elif not (text := answer.strip()):
        wrong = "missing" if question.required else ""
    elif question.kind == "choice" and text not in question.choices:
        wrong = "choice"
    elif question.kind == "number" and not _is_number(text):
        wrong = "number"
    else:
        wrong = ""
    if wrong:
        raise ValueError(f"{question.label}: {texts.WRONG_ANSWERS[wrong].format(most=LONGEST)}")
    return text


def _is_number(text: str) -> bool:
    try:
        return isfinite(float(text))
    except ValueError:
        return False
