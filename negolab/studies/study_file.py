"""Reading of a study file, and checks that the study can be run; `study_config` holds the options."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import msgspec

from negolab import catalog, texts, user_code
from negolab._internal import validation
from negolab._internal.files import read_text
from negolab.game import SEATS
from negolab.players.lookup import load_player
from negolab.runs.driver import make_player
from negolab.scenarios import SUFFIX
from negolab.studies.steps import KINDS, Delay, MatchStep, RoundsStep
from negolab.studies.study_config import Practice, Study, Treatment
from negolab.studies.texts import gate_texts, rename, table_texts
from negolab.studies.texts import texts as page_texts


def read_study(path: str | Path, at: Path | None = None, *, check_texts: bool = True) -> Study:
    """Read a study file and check that it can be run.

    Args:
        path: The file to read.
        at: The original file if `path` is a copy; the study's default name and a game's path refer to it.
        check_texts: Refuse what is wrong in `[texts]`.

    Raises:
        ValueError: The file cannot be read, or the study cannot be run; the error names the file and the place in it.
    """
    file, path = Path(path), at or Path(path)
    words = read_text(file)
    with validation.located(path):
        return parse_study(words, path, check_texts=check_texts)


def read_texts(path: Path) -> tuple[Study, list[str]]:
    """Read a study file whose `[texts]` may hold unknown keys.

    Returns:
        The study with the texts whose keys are known, and a sentence for each that is not.

    Raises:
        ValueError: The study cannot be run for any other reason.
    """
    study = read_study(path, check_texts=False)
    known = catalogue(study)
    unknown = sorted(texts.unknown_keys(study.texts, known))
    return msgspec.structs.replace(study, texts={k: v for k, v in study.texts.items() if k in known}), unknown


def parse_study(text: str, path: Path, *, check_texts: bool = True) -> Study:
    """Parse the text of a study file and check that the study can be run.

    Args:
        text: Text of the file.
        path: Path of the file, for the study's default name and the path of a game; it is not read.
        check_texts: Refuse what is wrong in `[texts]`.

    Raises:
        ValueError: The text is not a valid study; the error names the place of the mistake.
    """
    table = validation.parse_toml(text, Study, own=("text",))
    game = table.get("game")
    if isinstance(game, str):
        table["game"] = user_code.beside(game, path.parent)
    _check_steps(_tables(table.get("steps")), "")
    for treatment in _tables(table.get("treatments")):
        _check_steps(_tables(treatment.get("steps")), f"treatment {treatment.get('name')!r}: ")
    _locate_scenarios(table, path.parent)
    _load_players(table, path.parent)
    if isinstance(own := table.get("texts"), dict):
        table["texts"] = rename(texts.flatten(own))
    study = validation.convert_table({"name": path.stem, **table, "text": text}, Study)
    _check_tables(study, table)
    if not check_texts:
        return study
    with validation.located("texts"):
        texts.check(study.texts, catalogue(study))
    return _without_defaults(study) if study.texts else study


def _without_defaults(study: Study) -> Study:
    """Drop texts equal to the defaults, so that pasting a list of all texts changes nothing."""
    defaults = catalogue(study)
    own = {key: text for key, text in study.texts.items() if text != defaults[key]}
    return msgspec.structs.replace(study, texts=own)


def _locate_scenarios(table: dict[str, Any], folder: Path) -> None:
    """Make the paths of scenario files, which are relative to the study file's folder, absolute."""
    for part in (*_tables(table.get("treatments")), *_tables([table.get("practice")]), *_all_steps(table)):
        for place, key in ((part, "preset"), *((params, "scenario") for params in _tables([part.get("params")]))):
            name = place.get(key)
            if isinstance(name, str) and name.endswith(SUFFIX):
                place[key] = str((folder / name).resolve())


def _load_players(table: dict[str, Any], folder: Path) -> None:
    """Load the code of the researcher's own players, and name them as records do; a ValueError names the place."""
    parts = [
        *((f"treatment {t.get('name')!r}: opponent", t, "opponent") for t in _tables(table.get("treatments"))),
        *(("practice: opponent", t, "opponent") for t in _tables([table.get("practice")])),
        *((f"{name}: then", t, "then") for name in ("pairing", "models") for t in _tables([table.get(name)])),
        *((f"step of kind {t.get('kind')!r}: opponent", t, "opponent") for t in _all_steps(table)),
    ]
    for place, part, key in parts:
        if isinstance(text := part.get(key), str):
            with validation.located(place):
                part[key] = load_player(text, folder)


def _all_steps(table: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the steps of the study and of its treatments."""
    own = [step for treatment in _tables(table.get("treatments")) for step in _tables(treatment.get("steps"))]
    return _tables(table.get("steps")) + own


def _check_steps(steps: list[dict[str, Any]], where: str) -> None:
    """Raise `ValueError`, with the place, for an entry that is not a step."""
    for number, step in enumerate(steps, 1):
        place = f"{where}step {number} of {len(steps)}"
        kind = KINDS.get(str(step.get("kind")))
        if kind is None:
            name = str(step.get("kind", ""))
            raise ValueError(f"{place}: kind {name!r} is unknown: {validation.suggest(name, KINDS)}")
        with validation.located(f"{place} ({step['kind']})"):
            validation.check_table({key: value for key, value in step.items() if key != "kind"}, kind)


def _tables(values: Any) -> list[dict[str, Any]]:
    return [value for value in values if isinstance(value, dict)] if isinstance(values, list) else []


def _check_tables(study: Study, table: dict[str, Any]) -> None:
    """Raise `ValueError`, with the place, for tables in a file that do not go together."""
    if not study.practice.matches and study.practice != Practice():
        raise ValueError("practice: matches is 0: set the number, or delete [practice]")
    for settings, step in study.matches():
        where = f"treatment {settings.name!r}"
        if study.steps or study.treatment(settings.name).steps:
            where += f": step of kind {step.kind!r}"
        elif step.kind == "practice":
            where = "practice"
        with validation.located(where):
            _playable(study, settings, step)
    if "pairing" in table and not study.paired:
        raise ValueError("pairing: every treatment has an opponent, so nobody waits: delete [pairing] or an opponent")


def _playable(study: Study, settings: Treatment, step: RoundsStep) -> None:
    """Raise `ValueError` if the matches of a step, with these settings, cannot be played."""
    game = study.loaded(settings)
    players = {"opponent": settings.opponent or study.pairing.player}
    if players["opponent"] is None and settings.delay != Delay():
        raise ValueError("delay needs an opponent: add one, or delete delay")
    if settings.has_model:
        players["models: then"] = study.models.player
    alternates = isinstance(step, MatchStep) and step.roles == "alternating" and step.matches > 1
    for (place, player), seat in product(players.items(), SEATS if alternates else settings.across()):
        try:
            if player is not None:
                make_player(player, game, 0, seat, load=False)
        except ValueError as error:
            raise ValueError(f"{place}: {error}{_seat_advice(settings, step, alternates, str(error))}") from None


def _seat_advice(settings: Treatment, step: RoundsStep, alternates: bool, error: str) -> str:
    """Return advice about a player that cannot take a seat; "" for any other error."""
    if "sits at" not in error:
        return ""
    if alternates:
        return '; roles = "alternating" needs one for both seats'
    fixed = step.kind != "practice" and settings.opponent is not None and settings.seat == "random"
    return '; choose the participant\'s seat, seat = "A" or "B"' if fixed else ""


# The texts of a study.


def catalogue(study: Study) -> dict[str, str]:
    """Return a study's default texts by key: those of any study, of its game, and of what its parameters name."""
    games = [study.loaded(settings) for settings, _ in study.matches()]
    found = gate_texts.defaults() | page_texts.defaults() | table_texts.defaults()
    own = catalog.part(games[0], "WORDS")
    if isinstance(own, texts.Texts):
        found |= own.defaults()
        for game in games:
            found |= own.names(game)
    return found


_TEXTS_OF = {
    "consent": ("page.consent", "page.agree", "page.decline", "page.endings.declined"),
    "questions": (
        *("page.questions", "page.send_answers", "page.some_required", "page.required", "page.optional"),
        *("page.no_choice", "page.number", "page.one_wrong", "page.several_wrong", "page.wrong_answers"),
    ),
    "pairing": (
        *("page.please_wait", "page.waiting", "page.waiting_hint", "page.waited", "page.wait_over"),
        *("page.endings.partner", "page.endings.unpaired"),
    ),
    "practice": ("page.practice", "page.result_practice"),
    "quiz": (
        *("page.quiz", "page.check", "page.not_right", "page.some_wrong", "page.attempts_left"),
        *("page.last_attempt", "page.endings.quiz"),
    ),
    "results": ("page.results", "page.no_results", "page.result_columns"),
    "plain table": (
        *("table.role", "table.facts", "table.yes", "table.no", "table.told", "table.choose", "table.find"),
        *("table.find_hint", "table.options", "table.play", "table.last_try"),
    ),
}
"""Keys of the texts, or groups of texts, that nobody reads in a study without this part."""


def needed_texts(study: Study) -> dict[str, str]:
    """Return the default texts in the catalog that somebody in this study may read, by key."""
    kinds = study.kinds()
    has = {
        **{kind: kind in kinds for kind in ("practice", "quiz", "results")},
        "consent": bool(study.consent),
        "questions": bool(kinds & {"questions", "quiz"}),
        "pairing": study.paired,
        "plain table": catalog.part(study.loaded(study.treatments[0]), "TABLE") is None,
    }
    unused = [key for part, keys in _TEXTS_OF.items() if not has[part] for key in keys]
    return {
        key: text
        for key, text in catalogue(study).items()
        if not any(key == name or key.startswith(f"{name}.") for name in unused)
    }
