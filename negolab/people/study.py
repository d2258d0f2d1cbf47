"""A study for people: a TOML file that says who plays what, against whom, for how long, and what they read."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from negolab import catalog, tomlfile
from negolab.catalog import AnyGame
from negolab.game import Seat
from negolab.people.parts import (
    ENDINGS,
    Delay,
    Ending,
    Limits,
    Pairing,
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
from negolab.tomlfile import Part

__all__ = ["ENDINGS", "Delay", "Ending", "Limits", "Pairing", "Practice", "Question", "Study", "Treatment", "read"]


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
    words = tomlfile.text(file)
    try:
        return parse(words, path)
    except ValueError as error:
        raise ValueError(f"{path}: {' '.join(str(error).split())}") from None


def parse(text: str, path: Path) -> Study:
    """A study from the text of the file at `path`; `ValueError` says where in it the mistake is."""
    table = tomlfile.table(text, Study, own=("text",))
    game = table.get("game")
    if isinstance(game, str) and game.endswith(".py"):
        table["game"] = str((path.parent / game).resolve())
    study = tomlfile.converted({"name": path.stem, **table, "text": text}, Study)
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
