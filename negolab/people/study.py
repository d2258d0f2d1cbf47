"""A study for people: a TOML file that says who plays what, against whom, for how long, and what they read."""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import msgspec

from negolab import catalog
from negolab.catalog import AnyGame
from negolab.game import Seat
from negolab.people.parts import (
    ENDINGS,
    Delay,
    Ending,
    Limits,
    Pairing,
    Part,
    Practice,
    Question,
    Treatment,
    above,
    distinct,
    filled,
    named,
    worded,
)
from negolab.play import made

__all__ = ["ENDINGS", "Delay", "Ending", "Limits", "Pairing", "Practice", "Question", "Study", "Treatment", "read"]

_PARTS: dict[str, type[Part]] = {
    "treatments": Treatment,
    "delay": Delay,
    "limits": Limits,
    "pairing": Pairing,
    "practice": Practice,
    "questions": Question,
}
"""Key of a study file -> what its table is."""
_MANY = ("treatments", "questions")
"""Keys that hold a list of tables."""
_OURS = ("text",)
"""Fields of a `Study` that are no keys of its file."""


class Study(Part, frozen=True):
    """A study as its file says it; `text` is that file, word for word."""

    name: str
    title: str
    game: str
    treatments: tuple[Treatment, ...]
    instructions: str
    closing: str
    consent: str = ""
    endings: dict[Ending, str] = {}
    codes: dict[Ending, str] = {}
    limits: Limits = Limits()
    pairing: Pairing = Pairing()
    practice: Practice = Practice()
    seed: int = 0
    questions: tuple[Question, ...] = ()
    external: str | None = None
    expires: float = 30
    text: str = ""

    def __post_init__(self) -> None:
        named(self.name)
        for field in ("title", "game", "instructions", "closing"):
            filled(getattr(self, field), field)
        if self.consent:
            filled(self.consent, "consent")
        if not self.treatments:
            raise ValueError("treatments are missing: write at least one [[treatments]]")
        distinct([treatment.name for treatment in self.treatments], "the treatment")
        distinct([question.name for question in self.questions], "the question")
        for field, texts in (("endings", self.endings), ("codes", self.codes)):
            for ending, text in texts.items():
                filled(text, f"{field}.{ending}")
        distinct(list(self.codes.values()), "the code")
        if self.external is not None:
            worded(self.external, "external")
        above(self.expires, "expires")
        if self.expires > 3650:
            raise ValueError(f"expires must be at most 3650 days, not {self.expires:g}")

    @property
    def consent_version(self) -> str:
        """A short hash of the consent text, to tell who agreed to which; "" if none is asked."""
        return version_of(self.consent)

    @property
    def cells(self) -> list[tuple[str, float]]:
        """Name and weight of every treatment, as the balanced counter wants them."""
        return [(treatment.name, treatment.weight) for treatment in self.treatments]

    @property
    def paired(self) -> bool:
        """Whether participants meet each other in any treatment."""
        return any(treatment.paired for treatment in self.treatments)

    def treatment(self, name: str) -> Treatment:
        """The treatment called `name`; `ValueError` if the study has none."""
        for treatment in self.treatments:
            if treatment.name == name:
                return treatment
        known = [treatment.name for treatment in self.treatments]
        raise ValueError(f"study {self.name} has no treatment {name!r}: {catalog.near(name, known)}")

    def loaded(self, of: Treatment | Practice) -> AnyGame:
        """The game as a treatment, or the practice, has it."""
        return catalog.load(self.game, of.preset, **of.params)


def version_of(consent: str) -> str:
    """A short hash of a consent text; "" for none."""
    return hashlib.sha256(consent.encode()).hexdigest()[:12] if consent else ""


def read(path: str | Path, at: Path | None = None) -> Study:
    """Read a study file and check that it can be run; `ValueError` names the file, the place and what to do. `at` is
    the file that `path` is a copy of: its name counts, and a game's path goes from there."""
    file, path = Path(path), at or Path(path)
    try:
        text = file.read_text("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError(f"{path}: is no text in UTF-8") from None
    except OSError as error:
        raise ValueError(f"{path}: cannot be read: {error.strerror}") from None
    try:
        return parse(text, path)
    except ValueError as error:
        raise ValueError(f"{path}: {' '.join(str(error).split())}") from None


def parse(text: str, path: Path) -> Study:
    """A study from the text of the file at `path`; `ValueError` says where in it the mistake is."""
    try:
        table: dict[str, Any] = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(_brackets(text) or str(error)) from None
    _known(table, Study, "")
    game = table.get("game")
    if isinstance(game, str) and game.endswith(".py"):
        table["game"] = str((path.parent / game).resolve())
    try:
        study = msgspec.convert({"name": path.stem, **table, "text": text}, type=Study)
    except msgspec.ValidationError as error:
        raise ValueError(_said(str(error), table)) from None
    for where, check in _checks(study, table):
        try:
            check()
        except ValueError as error:
            raise ValueError(f"{where}: {error}") from None
    return study


# What the words of the file mean together.


def _checks(study: Study, table: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Places of the file, each with what is to be checked there."""
    for treatment in study.treatments:
        yield f"treatment {treatment.name!r}", lambda t=treatment: _playable(study, t)
    yield "practice", lambda: _practised(study)
    yield "pairing", lambda: _pairs(study, "pairing" in table)


def _playable(study: Study, treatment: Treatment) -> None:
    game = study.loaded(treatment)
    player = study.pairing.player if treatment.opponent is None else treatment.opponent
    if player is None:
        if treatment.delay != Delay():
            raise ValueError("delay is for a scripted player: name an opponent, or leave it out")
        return
    _sits(player, game, treatment.across(), treatment)


def _sits(player: str, game: AnyGame, seats: tuple[Seat, ...], treatment: Treatment) -> None:
    """`ValueError` if the player cannot play at one of the seats where it may come to sit."""
    for seat in seats:
        try:
            made(player, game, 0, seat)
        except ValueError as error:
            fixed = treatment.opponent is not None and treatment.seat == "random" and "sits at" in str(error)
            hint = '; choose the participant\'s seat, seat = "A" or "B"' if fixed else ""
            raise ValueError(f"opponent: {error}{hint}") from None


def _practised(study: Study) -> None:
    practice = study.practice
    if not practice.matches:
        if practice != Practice():
            raise ValueError("matches is 0: say how many, or leave [practice] out")
        return
    game = study.loaded(practice)
    for treatment in study.treatments:
        _sits(practice.opponent, game, treatment.across(), treatment)


def _pairs(study: Study, written: bool) -> None:
    if written and not study.paired:
        raise ValueError("every treatment has an opponent, nobody waits: leave [pairing] out, or an opponent")


# Saying where a mistake is.


def _known(table: dict[str, Any], cls: type[Part], where: str) -> None:
    """`ValueError` for a key that the table `cls` does not have, with the near ones."""
    known = [field for field in cls.__struct_fields__ if field not in _OURS]
    for key, value in table.items():
        if key not in known:
            raise ValueError(f"{where}unknown key {key!r}: {catalog.near(key, known)}")
        if key in _PARTS:
            if key in _MANY and isinstance(value, dict):
                raise ValueError(f"{key}: each one begins with [[{key}]], in two brackets")
            for i, inner in enumerate(value if isinstance(value, list) else [value]):
                if isinstance(inner, dict):
                    _known(inner, _PARTS[key], where + _place(key, i, inner))
        elif key in ("endings", "codes") and isinstance(value, dict):
            for ending in value:
                if ending not in ENDINGS:
                    raise ValueError(f"{key}: unknown way of ending {ending!r}: {catalog.near(ending, ENDINGS)}")


def _brackets(text: str) -> str:
    """What is wrong where [treatments] stands beside [[treatments]]; "" if that is not the mistake."""
    for key in _MANY:
        if re.search(rf"^\s*\[\s*{key}\s*\]", text, re.MULTILINE):
            return f"{key}: each one begins with [[{key}]], in two brackets"
    return ""


def _place(key: str, number: int, table: Any) -> str:
    """A table of the file, as one would name it."""
    if key not in _MANY:
        return f"{key}: "
    name = table.get("name") if isinstance(table, dict) else None
    return f"{key[:-1]} {name!r}: " if isinstance(name, str) else f"{key[:-1]} {number + 1}: "


_WORDS = {
    "str": 'a text in quotes, "..."',
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list, [...]",
    "object": "a table",
}
_CHOICES: dict[str, tuple[str, ...]] = {
    field.name: get_args(field.type)
    for part in (Treatment, Question)
    for field in msgspec.structs.fields(part)
    if get_origin(field.type) is Literal
}
"""Keys whose value is one of a few words."""
_GOT = {"str": "a text", "float": "a number with a point"}


def _said(error: str, table: dict[str, Any]) -> str:
    """An error of `msgspec.convert`, with the place as one would name it and types in plain words."""
    said, _, path = error.partition(" - at `$")
    where = ""
    here: Any = table
    for key, index in re.findall(r"\.(\w+)(?:\[(\d+)\])?", path):
        here = here.get(key, {}) if isinstance(here, dict) else {}
        if index and isinstance(here, list):
            here = here[int(index)]
        where += _place(key, int(index or 0), here)
    missing = re.fullmatch(r"Object missing required field `(\w+)`", said)
    if missing:
        return f"{where}{missing[1]} is missing: write {missing[1]} = ..."
    wrong = re.fullmatch(r"Expected `([^`]+)`, got `(\w+)`", said)
    if wrong:
        wanted = [_WORDS.get(kind, kind) for kind in wrong[1].split(" | ") if kind != "null"]
        return f"{where}expected {' or '.join(wanted)}, not {_GOT.get(wrong[2], _WORDS.get(wrong[2], wrong[2]))}"
    choice = re.fullmatch(r"Invalid enum value '?(.*?)'?", said)
    if choice:
        words = _CHOICES[where.split(": ")[-2]]
        return f"{where}unknown word {choice[1]!r}: {catalog.near(choice[1], words)}"
    return where + said
