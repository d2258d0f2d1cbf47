"""The study file: reading a study from TOML, and the checks across its tables."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from negolab import catalog
from negolab._internal import validation
from negolab._internal.validation import TomlTable, suggest
from negolab.catalog import AnyGame
from negolab.game import Seat
from negolab.runs.driver import make_player
from negolab.studies.config import (
    ENDINGS,
    Delay,
    Ending,
    Limits,
    Pairing,
    Practice,
    Question,
    Treatment,
    check_distinct,
    check_identifier,
    check_name,
    check_positive,
    check_text,
)

__all__ = [
    "ENDINGS",
    "Delay",
    "Ending",
    "Limits",
    "Pairing",
    "Practice",
    "Question",
    "Study",
    "Treatment",
    "read_study",
]


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
        for field, texts in (("endings", self.endings), ("codes", self.codes)):
            for ending, text in texts.items():
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
        known = [treatment.name for treatment in self.treatments]
        raise ValueError(f"study {self.name} has no treatment {name!r}: {suggest(name, known)}")

    def loaded(self, of: Treatment | Practice) -> AnyGame:
        """Load the game with the parameters of a treatment or of practice; `ValueError` if they are invalid."""
        return catalog.load(self.game, of.preset, **of.params)


def version_hash(consent: str) -> str:
    """Return the first 12 hexadecimal digits of a consent text's SHA-256; "" for an empty text."""
    return hashlib.sha256(consent.encode()).hexdigest()[:12] if consent else ""


def read_study(path: str | Path, at: Path | None = None) -> Study:
    """Read a study file and check that it can be run.

    Args:
        path: The file to read.
        at: The original file if `path` is a copy; the study's default name and a game's path refer to it.

    Raises:
        ValueError: The file cannot be read, or the study cannot be run; names the file and the place in it.
    """
    file, path = Path(path), at or Path(path)
    words = validation.read_text(file)
    try:
        return parse_study(words, path)
    except ValueError as error:
        raise ValueError(f"{path}: {' '.join(str(error).split())}") from None


def parse_study(text: str, path: Path) -> Study:
    """Parse the text of a study file and check that the study can be run.

    Args:
        text: Text of the file.
        path: Path of the file, for the study's default name and the path of a game; it is not read.

    Raises:
        ValueError: The text is no valid study; names the place of the mistake.
    """
    table = validation.parse_toml(text, Study, own=("text",))
    game = table.get("game")
    if isinstance(game, str) and game.endswith(".py"):
        table["game"] = str((path.parent / game).resolve())
    study = validation.convert_table({"name": path.stem, **table, "text": text}, Study)
    for where, check in _checks(study, table):
        try:
            check()
        except ValueError as error:
            raise ValueError(f"{where}: {error}") from None
    return study


def _checks(study: Study, table: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the checks across tables, each with the place that its error message names."""
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
    """Raise `ValueError` if the player cannot play one of the seats that it may get."""
    for seat in seats:
        try:
            make_player(player, game, 0, seat)
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
