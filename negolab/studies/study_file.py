"""Reading of a study file, and the checks that the study can be run; `study_config` holds the options."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from negolab import user_code
from negolab._internal import validation
from negolab.catalog import AnyGame
from negolab.game import Seat
from negolab.players.lookup import load_player
from negolab.runs.driver import make_player
from negolab.scenarios import SUFFIX
from negolab.studies.study_config import Delay, Practice, Study, Treatment


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
    if isinstance(game, str):
        table["game"] = user_code.beside(game, path.parent)
    _locate_scenarios(table, path.parent)
    _load_players(table, path.parent)
    study = validation.convert_table({"name": path.stem, **table, "text": text}, Study)
    for where, check in _checks(study, table):
        try:
            check()
        except ValueError as error:
            raise ValueError(f"{where}: {error}") from None
    return study


def _locate_scenarios(table: dict[str, Any], folder: Path) -> None:
    """Make the paths of scenario files absolute: they begin at the study file's folder."""
    for part in (*_tables(table.get("treatments")), *_tables([table.get("practice")])):
        for place, key in ((part, "preset"), *((params, "scenario") for params in _tables([part.get("params")]))):
            name = place.get(key)
            if isinstance(name, str) and name.endswith(SUFFIX):
                place[key] = str((folder / name).resolve())


def _load_players(table: dict[str, Any], folder: Path) -> None:
    """Load the code of players of the researcher's own, and name them as records do; ValueError names the place."""
    treatments = table.get("treatments")
    parts = [(f"treatment {t.get('name')!r}: opponent", t, "opponent") for t in _tables(treatments)]
    parts += [("practice: opponent", t, "opponent") for t in _tables([table.get("practice")])]
    parts += [("pairing: then", t, "then") for t in _tables([table.get("pairing")])]
    for place, part, key in parts:
        if isinstance(text := part.get(key), str):
            try:
                part[key] = load_player(text, folder)
            except ValueError as error:
                raise ValueError(f"{place}: {error}") from None


def _tables(values: Any) -> list[dict[str, Any]]:
    return [value for value in values if isinstance(value, dict)] if isinstance(values, list) else []


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
            make_player(player, game, 0, seat, load=False)
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
