"""Games found by name, module or file: their parts and their construction, including from stored parameters."""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import pkgutil
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec

from negolab import user_code
from negolab._internal import guide_pages
from negolab._internal.validation import convert_value, suggest
from negolab.game import Game, Seat
from negolab.scenarios import SUFFIX, read_scenario, read_scenarios
from negolab.user_code import CodeSource

BEGUN_WITH = "NEGOLAB_BEGUN_WITH"
"""Environment variable for a sweep's cells: the parameters that its first cells knew, by game, as JSON."""

AnyGame = Game[Any, Any, Any]
GROUP = "negolab.games"
"""Entry point group in which an installed package names its games: `name = "package.module"`."""
_PACKAGE = "negolab.games."
_imported: set[str] = set()
"""Names of the modules that were imported, by path or dotted name, as homes of games."""
untrusted: dict[str, str] = {}
"""References, by id, to the code of games that folders name and the user has not run."""


@cache
def game_names() -> tuple[str, ...]:
    """Return the names of the installed games: negolab's own, and those of packages with entry points."""
    return tuple(sorted(_installed()))


@cache
def _installed() -> dict[str, str]:
    """Return each installed game's module by name; a package cannot replace one of negolab's games."""
    own = {m.name: _PACKAGE + m.name for m in pkgutil.iter_modules([str(Path(__file__).parent / "games")])}
    return {point.name: point.value for point in user_code.entry_points(GROUP)} | own


def list_games() -> dict[str, tuple[str, ...]]:
    """List the games by name, with their presets.

    Returns:
        Preset names by game name, the default preset first, for negolab's own games, those of packages with entry
        points, and those that this process has loaded by file or module.

    Example:
        >>> list_games()["trading"]
        ('seed', 'tolerant', 'textarena-0.7.4')
    """
    loaded = (home for home in sorted(_imported) if holds_game(sys.modules[home]))
    return {name: tuple(presets(game_module(name))) for name in (*game_names(), *loaded)}


def game_module(name: str) -> ModuleType:
    """Import the module of a game.

    Importing runs the module's code: call it only with a name that the user typed, never with one from a record.

    Args:
        name: The name or alias of an installed game, a dotted module path, or the path of a `.py` file or of a folder
            with an `__init__.py`; the last three may also be pinned to a hash, see `CodeSource.pinned`.

    Raises:
        ValueError: There is no such game, or its module cannot be imported.
    """
    if (installed := _installed().get(name)) is not None:
        return _import_installed(name, installed)
    if not user_code.is_path(name):
        for known, home in _installed().items():
            if name in getattr(module := _import_installed(known, home), "ALIASES", ()):
                return module
    try:
        module = user_code.load(name)
    except user_code.NoSuchModule:
        if user_code.is_path(name):
            raise
        raise ValueError(f"unknown game {name!r}: {_suggest_file(name) or suggest(name, game_names())}") from None
    if module.__name__ not in _imported:
        _imported.add(module.__name__)
        _home.cache_clear()
    return module


def _suggest_file(name: str) -> str:
    """Say how to name a file or folder of this name as a game; "" if there is none."""
    if Path(f"{name}.py").is_file():
        return f"for the file in the current folder, write {name}.py"
    return f"the folder {name} has no __init__.py" if Path(name).is_dir() else ""


def _import_installed(name: str, home: str) -> ModuleType:
    try:
        return importlib.import_module(home)
    except Exception as error:
        raise ValueError(f"game {name}: {home} cannot be imported: {type(error).__name__}: {error}") from error


def part(game: AnyGame | str, name: str) -> Any:
    """Return what a game's module holds besides its rules, such as `PLAYERS`, `MEASURES`, `FRONT` or `TABLE`.

    It is found under this name in the module, or else in the submodule of the same name in lowercase, which is imported
    on first use; a submodule without such a name is itself the part. A participant's process thus loads only the rules.

    Args:
        game: A game, or the id of an installed or imported one.
        name: The part's name, in uppercase.

    Returns:
        The part; None if the game has none.
    """
    module = _home_module(game if isinstance(game, str) else game_id(game))
    if hasattr(module, name):
        return _checked_part(module, name, getattr(module, name))
    path = f"{module.__name__}.{name.lower()}"
    if not hasattr(module, "__path__") or importlib.util.find_spec(path) is None:
        return None
    found = importlib.import_module(path)
    return _checked_part(module, name, getattr(found, name, found))


_MAPS = {"PLAYERS": "classes", "MEASURES": "functions"}
"""Parts that map names to callables, and the word for those."""


def _checked_part(module: ModuleType, name: str, found: Any) -> Any:
    """Return a part of a module; raise `ValueError` if it is in `_MAPS` and has another form."""
    if name not in _MAPS or (name == "MEASURES" and callable(found)):
        return found
    must = f"{name} of {module.__name__} must map names to {_MAPS[name]}"
    if not isinstance(found, dict):
        raise ValueError(f"{must}, not be a {type(found).__name__}")
    for key, value in found.items():
        if not (isinstance(key, str) and callable(value)):
            raise ValueError(f"{must}, not {key!r} to {value!r:.80}")
    return found


def _home_module(game: str) -> ModuleType:
    """Return a game's module, given the game's id; one that is not installed must already have been imported."""
    home, _, name = game.partition(":")
    if not name:
        return game_module(home)
    if home not in sys.modules:
        raise ValueError(_not_imported(game))
    return sys.modules[home]


def source(game: AnyGame) -> CodeSource | None:
    """Return where a game's code came from; None for an installed game or one without a file."""
    return None if ":" not in game_id(game) else user_code.source_of(module_of(game))


def text_front(game: AnyGame, seat: Seat, *, closing: str = "") -> Callable[[Sequence[Any]], list[str]] | None:
    """Return the game's fixed texts for a seat as a function of a match's events; None if it has none for that seat.

    What the function returns is safe to show to the seat.

    Args:
        game: The game.
        seat: The seat.
        closing: Words to replace the game's own closing, if a study continues after the match; "" keeps the game's.
    """
    module: Any = part(game, "FRONT")
    if module is None or seat != module.SEAT:
        return None
    texts = partial(module.texts, game)
    if not closing:
        return texts
    return lambda events: [_close(text, module.CLOSING, closing) for text in texts(events)]


def _close(text: str, marker: str, closing: str) -> str:
    """Replace the closing of a text, which begins with `marker`; a text without one is unchanged."""
    before, found, _ = text.partition(marker)
    return f"{before}{closing}" if found else text


def front_seat(name: str) -> Seat | None:
    """Return the seat whose texts a game fixes, which is the one meant for a person; None if it fixes none."""
    return getattr(part(name, "FRONT"), "SEAT", None)


def title(name: str) -> str:
    """Return a game's title on screen, given its name or id: its module's TITLE, or else the name."""
    return getattr(_home_module(name), "TITLE", name.partition(":")[0])


def presets(module: ModuleType) -> dict[str, dict[str, Any]]:
    """Return parameter changes by preset name: the module's PRESETS, then the files in its SCENARIOS folder; a module
    with neither has the one preset `default`."""
    by_name = getattr(module, "PRESETS", None) or {}
    if not (isinstance(by_name, dict) and all(isinstance(changes, dict) for changes in by_name.values())):
        raise ValueError(f"PRESETS of {module.__name__} must map names to changes of parameters")
    folder = getattr(module, "SCENARIOS", None)
    files = {} if folder is None else _scenario_files(folder, game_class(module))
    return {**by_name, **files} or {"default": {}}


_scenario_files = cache(read_scenarios)


def scenario_game(path: str | os.PathLike[str]) -> str:
    """Return the name of the game that a scenario file is written for.

    Raises:
        ValueError: No game that has scenarios accepts the file; the message says why for each of them.
    """
    faults = []
    for name in list_games():
        module = game_module(name)
        if hasattr(module, "SCENARIOS"):
            try:
                read_scenario(path, game_class(module))
                return name
            except ValueError as error:
                faults.append(str(error))
    raise ValueError("; ".join(faults) or f"{os.fspath(path)}: no installed game has scenarios")


def data_folder() -> Path:
    """Return the folder with the data that negolab ships: inside the package in a wheel, at the top in a checkout."""
    package = Path(__file__).parent
    return package / "data" if (package / "data").is_dir() else package.parent / "data"


def preset_notes(module: ModuleType) -> dict[str, str]:
    """Return a sentence about each preset that both seats may read: the module's PRESET_NOTES, if there are any."""
    return dict(getattr(module, "PRESET_NOTES", {}))


def preset_title(module: ModuleType, preset: str) -> str:
    """Return a preset's title: the one in the module's PRESET_TITLES, its own parameter `title`, or its name.

    A title may reveal the treatment, so only the researcher's screens show it.
    """
    own = presets(module).get(preset, {}).get("title", preset)
    return str(getattr(module, "PRESET_TITLES", {}).get(preset, own))


def replications(module: ModuleType) -> Collection[str]:
    """Return the presets that reproduce a source: the module's REPLICATIONS, if there are any."""
    return frozenset(getattr(module, "REPLICATIONS", ()))


def game_class(module: ModuleType) -> type[AnyGame]:
    """Return the one `Game` subclass that a module defines."""
    classes = _game_classes(module)
    if len(classes) != 1:
        what = ", ".join(c.__name__ for c in classes) or "none"
        raise ValueError(f"module {module.__name__!r} must define one Game subclass; it defines {what}")
    if missing := [method for method in _METHODS if getattr(classes[0], method) is getattr(Game, method)]:
        raise ValueError(f"game {classes[0].__name__} of {module.__name__} has no method {' and no '.join(missing)}")
    return classes[0]


_METHODS = ("deal", "turn", "parse", "say", "options", "step", "outcome", "prompt")
"""Methods that every game defines."""


def holds_game(module: ModuleType) -> bool:
    """Return True if a module defines a game."""
    return bool(_game_classes(module))


def _game_classes(module: ModuleType) -> list[type[AnyGame]]:
    home = module.__name__
    return [
        c
        for c in vars(module).values()
        if isinstance(c, type)
        and issubclass(c, Game)
        and c is not Game
        and (c.__module__ == home or c.__module__.startswith(home + "."))
    ]


def load(game: str | os.PathLike[str] | AnyGame, preset: str | None = None, **params: Any) -> AnyGame:
    """Load a game with a preset and changed parameters.

    Args:
        game: The name or alias of an installed game, a dotted module path, the path of a `.py` file or of a package's
            folder, or a `Game` instance. Naming a module imports it, which runs its code.
        preset: Name of a preset, or a scenario: a TOML file of parameters, ending in `.toml` (None: the default
            preset). Not for an instance.
        **params: Parameters that differ from the preset's. Lists become tuples. `scenario` is the same as `preset`.

    Returns:
        The game. Its `preset` is the preset's name; None if the module has a `FREE` and a parameter outside it was
        changed.

    Raises:
        ValueError: The game, preset or parameter is unknown, or a value is invalid; the message suggests similar names.

    Example:
        >>> game = load("split", preset="trust-and-split", rounds=5)
        >>> game.rounds, game.preset
        (5, 'trust-and-split')
    """
    if isinstance(game, os.PathLike):
        game = os.fspath(game)
    if isinstance(game, Game):
        if preset is not None:
            raise ValueError("a Game instance already has its parameters: load its module to choose a preset")
        return make_game(type(game), {**parameters(game), "preset": game.preset, **params}) if params else game
    if not (game and type(game) is str):
        raise ValueError(f"a game must be a name, a module or a Game, not {game!r}")
    module = game_module(game)
    known = presets(module)
    if "preset" in params or "game" in params:
        raise ValueError("preset and game are not parameters")
    if params.get("scenario") is not None:
        if preset is not None:
            raise ValueError("a preset and a scenario each set all parameters: choose one of them")
        preset = os.fspath(params["scenario"])
    params.pop("scenario", None)
    preset = next(iter(known)) if preset is None else preset
    cls = game_class(module)
    if preset not in known and preset.endswith(SUFFIX):
        given = {**read_scenario(preset, cls), **params}
        return _as_begun(make_game(cls, {**given, "preset": None}), given)
    if preset not in known:
        raise ValueError(f"unknown preset {preset!r} of {game}: {_suggest_scenario(preset) or suggest(preset, known)}")
    free = getattr(module, "FREE", params)
    name = (
        preset if all(param in free or value == known[preset].get(param) for param, value in params.items()) else None
    )
    try:
        given = {**known[preset], **params}
        return _as_begun(make_game(cls, {**given, "preset": name}), given)
    except ValueError as error:
        if params:
            raise
        raise ValueError(f"preset {preset!r} of {game}: {error}") from error


def _as_begun(game: AnyGame, given: Collection[str]) -> AnyGame:
    """Return a game as the sweep that this process plays for began with it, except for the given parameters."""
    begun = json.loads(os.environ.get(BEGUN_WITH, "{}")).get(game_id(game))
    return game if begun is None else with_legacy_defaults(game, {*begun, *given})


def make_game(cls: type[AnyGame], params: dict[str, Any]) -> AnyGame:
    """Construct a game from plain data; a `ValueError` names a parameter that is unknown or has the wrong type."""
    fields = cls.__struct_encode_fields__
    for name in params:
        if name not in fields:
            raise ValueError(f"unknown parameter {name!r}: {suggest(name, [f for f in fields if f != 'preset'])}")
    made: AnyGame = convert_value(params, cls)
    return made


def parameters(game: AnyGame) -> dict[str, Any]:
    """Return all of a game's parameters except the preset's name, as plain data."""
    plain: dict[str, Any] = msgspec.to_builtins(game)
    del plain["preset"]
    return plain


def parameter_meanings(game: AnyGame) -> Mapping[str, str]:
    """Return the meanings of a game's parameters: those in the guide or, for a researcher's own game, its fields'
    descriptions (`msgspec.Meta(description=...)`)."""
    named = msgspec.structs.fields(type(game))
    described = ((field.name, meta) for field in named for meta in getattr(field.type, "__metadata__", ()))
    own = {name: str(meta.description) for name, meta in described if getattr(meta, "description", None)}
    return guide_pages.parameter_meanings(game_id(game)) or own


def module_of(game: AnyGame) -> ModuleType:
    """Return the module that a game belongs to, which holds its PRESETS and other parts."""
    return _home_module(game_id(game))


def game_id(game: AnyGame) -> str:
    """Return the name that records keep: the name of an installed game, or `module:Class`."""
    return _home(type(game))


@cache
def _home(cls: type[AnyGame]) -> str:
    """Return the id of a class's games.

    Its module is the innermost one around the class that is installed or was imported as a game, or else the innermost
    package that shows the class, or else the class's own.
    """
    around = _modules_around(cls.__module__)
    installed = {home: name for name, home in _installed().items()}
    for module in around:
        if module in installed:
            return installed[module]
        if module in _imported:
            return f"{module}:{cls.__name__}"
    shown = (module for module in around[1:] if getattr(sys.modules.get(module), cls.__name__, None) is cls)
    return f"{next(shown, cls.__module__)}:{cls.__name__}"


def _modules_around(module: str) -> list[str]:
    """Return a module's name and those of the packages around it, innermost first."""
    parts = module.split(".")
    return [".".join(parts[:n]) for n in range(len(parts), 0, -1)]


def _suggest_scenario(preset: str) -> str:
    """Return the end of an error message about a preset that is really a file; "" if there is no such file."""
    try:
        if Path(f"{preset}{SUFFIX}").is_file():
            return f"did you mean {preset}{SUFFIX}?"
        return f"the name of a scenario file must end in {SUFFIX}" if Path(preset).is_file() else ""
    except OSError:  # the name is too long
        return ""


def describe(game: AnyGame) -> str:
    """Name a game and its preset, such as `bargaining, preset 'exact'`."""
    return f"{game_id(game)}, preset {game.preset!r}" if game.preset else game_id(game)


def imported_class(game: str) -> type[AnyGame]:
    """Return the class that a record's game id names. Reading a record never imports what it names, so a game that is
    not ours must already have been imported."""
    home, _, name = game.partition(":")
    if not name:
        if home not in game_names():
            raise ValueError(f"unknown game {home!r}: {suggest(home, game_names())}")
        return _installed_class(home)
    cls = getattr(sys.modules.get(home), name, None)
    if not (isinstance(cls, type) and issubclass(cls, Game) and cls is not Game):
        raise ValueError(_not_imported(game))
    return cls


@cache
def _installed_class(name: str) -> type[AnyGame]:
    return game_class(game_module(name))


def _not_imported(game: str) -> str:
    home = game.partition(":")[0]
    if (reference := untrusted.get(game)) is not None:
        return (
            f"the game {game!r} has its own code, which you have not run on this machine: to run it, call "
            f"nl.load({reference!r}), or add --trust on the command line"
        )
    return (
        f"the game {game!r} is not installed, and reading a record runs no code: specify its file, such as --module "
        f"{home}.py, or load the code that its folder names with --trust (in Python: call nl.load with the file first)"
    )


def stored_game(game: str, preset: str | None, params: Mapping[str, Any]) -> AnyGame:
    """Construct a game from stored parameters, adding its `legacy_defaults` for parameters that were added later."""
    cls = imported_class(game)
    return make_game(cls, {**cls.legacy_defaults, **params, "preset": preset})


def with_legacy_defaults(game: AnyGame, params: Collection[str]) -> AnyGame:
    """Give a new game the `legacy_defaults` for parameters that are not in `params`, the names of the stored ones."""
    missing = {name: value for name, value in game.legacy_defaults.items() if name not in params}
    return msgspec.structs.replace(game, **missing) if missing else game
