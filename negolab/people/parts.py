"""The parts of a study: treatments with their delays, limits, pairing, practice, questions, and the ways of ending."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from math import exp, isfinite, log
from typing import Any, Literal, get_args

from negolab.game import SEATS, Seat, other
from negolab.tomlfile import Part

Ending = Literal["complete", "timeout", "partner", "unpaired", "withdrawn", "declined", "ended", "error"]
"""How it ended for a participant. complete: played to the end; timeout: did not answer in time; partner: the other
person left or timed out; unpaired: nobody came within the wait limit; withdrawn: pressed "Leave the study";
declined: no consent; ended: the experimenter ended it; error: our fault."""
ENDINGS: tuple[Ending, ...] = get_args(Ending)

_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?")
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")


def named(value: str, what: str = "name") -> None:
    """`ValueError` unless `value` is of letters, digits and inner hyphens: it stands in file names and tables."""
    if not _NAME.fullmatch(value) or len(value) > 60:
        raise ValueError(f"{what} must be letters, digits and hyphens, at most 60, not {value!r}")


def worded(value: str, what: str) -> None:
    """`ValueError` unless `value` can be a column's or a query parameter's name."""
    if not _WORD.fullmatch(value) or len(value) > 60:
        raise ValueError(f"{what} must be a letter, then letters, digits, _ or -, at most 60, not {value!r}")


def filled(value: str, what: str) -> None:
    """`ValueError` for a text of nothing but blanks."""
    if not value.strip():
        raise ValueError(f"{what} is empty: write the text that people read")


def above(value: float, what: str) -> None:
    """`ValueError` unless `value` is a finite number above 0."""
    if not (isfinite(value) and value > 0):
        raise ValueError(f"{what} must be a number above 0, not {value:g}")


def distinct(values: Sequence[str], what: str) -> None:
    """`ValueError` if one of `values` stands there twice."""
    for i, value in enumerate(values):
        if value in values[:i]:
            raise ValueError(f"{what} {value!r} stands there twice: each must be of its own")


class Delay(Part, frozen=True):
    """How long a scripted player seems to think, in seconds: log-normal about `median`, between `least` and `most`.
    `spread` is the standard deviation of the logarithm; a `median` of 0 is no delay."""

    median: float = 0.0
    spread: float = 0.0
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
        """One delay; always one draw from `rng`, so that later draws do not depend on the parameters."""
        drawn = rng.gauss(0.0, 1.0)
        if self.median == 0:
            return 0.0
        # Beyond this exponent the bounds decide, and `exp` could overflow.
        power = min(max(log(self.median) + self.spread * drawn, -700.0), 700.0)
        return min(max(exp(power), self.least), self.most)


class Treatment(Part, frozen=True):
    """One cell of a study. `opponent` is a scripted player such as `boulware`, None: another participant. `seat` is
    where the participant sits against a player; pairs draw their seats."""

    name: str
    weight: float = 1
    preset: str | None = None
    params: dict[str, Any] = {}
    opponent: str | None = None
    seat: Literal["A", "B", "random"] = "random"
    delay: Delay = Delay()

    def __post_init__(self) -> None:
        named(self.name)
        above(self.weight, "weight")
        if self.opponent is None and self.seat != "random":
            raise ValueError('two participants draw their seats: leave seat out, or give an opponent = "player"')

    @property
    def paired(self) -> bool:
        """Whether the other seat is another participant's."""
        return self.opponent is None

    def seats(self) -> tuple[Seat, ...]:
        """Where a participant may come to sit."""
        return SEATS if self.seat == "random" else (self.seat,)

    def across(self) -> tuple[Seat, ...]:
        """Where a player may come to sit against a participant."""
        return tuple(other(seat) for seat in self.seats())


MOST_PRACTICE = 100
"""Practice matches that a participant can be asked to play."""


class Limits(Part, frozen=True):
    """Seconds for one reply and for a whole match; None: no limit. A limit never plays a move: the match ends."""

    reply: float | None = None
    match: float | None = None

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            if getattr(self, name) is not None:
                above(getattr(self, name), name)


class Pairing(Part, frozen=True):
    """How many seconds a participant waits for another, and `then`: "end", or the name of a player who sits down."""

    wait: float = 300.0
    then: str = "end"

    def __post_init__(self) -> None:
        above(self.wait, "wait")
        filled(self.then, "then")

    @property
    def player(self) -> str | None:
        """Who plays in the place of one who never came; None: it ends."""
        return None if self.then == "end" else self.then


class Practice(Part, frozen=True):
    """Matches against a player before the real one. They are marked in all that is kept, and count for nothing.
    `delay`: how long that player seems to think; None: as long as the treatment's."""

    matches: int = 0
    opponent: str = ""
    preset: str | None = None
    params: dict[str, Any] = {}
    delay: Delay | None = None

    def __post_init__(self) -> None:
        if self.matches < 0:
            raise ValueError(f"matches must be 0 or more, not {self.matches}")
        if self.matches > MOST_PRACTICE:
            raise ValueError(f"matches must be at most {MOST_PRACTICE}, not {self.matches}")
        if self.matches and not self.opponent:
            raise ValueError('opponent is missing: practice is against a player, such as opponent = "random-legal"')


class Question(Part, frozen=True):
    """What a participant is asked before or after playing."""

    name: str
    label: str
    kind: Literal["text", "number", "choice"] = "text"
    choices: tuple[str, ...] = ()
    required: bool = False
    when: Literal["before", "after"] = "before"

    def __post_init__(self) -> None:
        worded(self.name, "name")
        filled(self.label, "label")
        if (self.kind == "choice") != bool(self.choices):
            raise ValueError('choices and kind = "choice" go together: give both, or neither')
        if len(self.choices) == 1:
            raise ValueError("choices must be two or more")
        for choice in self.choices:
            filled(choice, "a choice")
        distinct(self.choices, "the choice")
