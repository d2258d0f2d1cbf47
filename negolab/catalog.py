"""Which games there are, found by the name of their module: no registry, no decorator, no edit elsewhere."""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import os
import pkgutil
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from types import ModuleType, NoneType
from typing import Any, get_args

import msgspec

from negolab.fitting import misfit
from negolab.game import Game, Observation, State, frozen

AnyGame = Game[Any, Any, Any]
_OURS = "negolab.games."


def near(name: str, known: Iterable[str]) -> str:
    """The tail of an error message about an unknown name: the near ones, else all."""
    known = list(known)
    close = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    return f"did you mean {' or '.join(close)}?" if close else f"there are: {', '.join(known)}."


@cache
def names() -> tuple[str, ...]:
    """The ids of our own games."""
    return tuple(sorted(m.name for m in pkgutil.iter_modules([str(Path(__file__).parent / "games")])))


def games() -> dict[str, tuple[str, ...]]:
    """Every game of negolab with its presets, the default first."""
    return {name: tuple(presets(module(name))) for name in names()}


def module(name: str) -> ModuleType:
    """The module of a game: an id or alias of ours, a dotted module path, or a path ending in `.py`.

    Importing a module runs its code: call it only with names that the user typed, never with one from a record.
    """
    if name in names():
        return importlib.import_module(_OURS + name)
    if name.endswith(".py"):
        return _from_file(Path(name))
    for ours in names():
        found = importlib.import_module(_OURS + ours)
        if name in getattr(found, "ALIASES", ()):
            return found
    try:
        return importlib.import_module(name)
    except (ImportError, ValueError, TypeError):
        raise ValueError(f"unknown game {name!r}: {near(name, names())}") from None


def _from_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise ValueError(f"no game module at {path}")
    name = path.stem
    known = sys.modules.get(name)
    if known is not None:
        if Path(getattr(known, "__file__", None) or "").resolve() == path.resolve():
            return known
        raise ValueError(f"{path} cannot be loaded: another module is called {name!r}; rename the file")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    sys.modules[name] = loaded
    try:
        spec.loader.exec_module(loaded)
    except BaseException as error:
        del sys.modules[name]
        if isinstance(error, KeyboardInterrupt):
            raise
        raise ValueError(f"{path} cannot be loaded: {type(error).__name__}: {error}") from error
    return loaded


def presets(found: ModuleType) -> dict[str, dict[str, Any]]:
    """Name -> changes of parameters; a module without PRESETS has the one preset `default`."""
    named = getattr(found, "PRESETS", None) or {"default": {}}
    if not (isinstance(named, dict) and all(isinstance(changes, dict) for changes in named.values())):
        raise ValueError(f"PRESETS of {found.__name__} must map names to changes of parameters")
    return named


def game_class(found: ModuleType, name: str | None = None) -> type[AnyGame]:
    """The one `Game` subclass that a module defines, or the one called `name`."""
    home = found.__name__
    classes = [
        c
        for c in vars(found).values()
        if isinstance(c, type)
        and issubclass(c, Game)
        and c is not Game
        and (c.__module__ == home or c.__module__.startswith(home + "."))
        and name in (None, c.__name__)
    ]
    if len(classes) != 1:
        what = ", ".join(c.__name__ for c in classes) or "none"
        raise ValueError(f"module {home!r} must define one Game subclass; it defines {what}")
    return classes[0]


def load(game: str | os.PathLike[str] | AnyGame, preset: str | None = None, **params: Any) -> AnyGame:
    """A game by id, alias or module path, or a `Game` instance, with a preset and changes of single parameters.

    >>> load("split", preset="trust-and-split", rounds=5)
    """
    if isinstance(game, os.PathLike):
        game = os.fspath(game)
    if isinstance(game, Game):
        if preset is not None:
            raise ValueError("a Game instance has its parameters already: load its module to choose a preset")
        return convert(type(game), {**parameters(game), "preset": game.preset, **params}) if params else game
    if not (game and type(game) is str):
        raise ValueError(f"a game is a name, a module or a Game, not {game!r}")
    found = module(game)
    known = presets(found)
    if "preset" in params or "game" in params:
        raise ValueError("preset and game are no parameters")
    preset = next(iter(known)) if preset is None else preset
    if preset not in known:
        raise ValueError(f"unknown preset {preset!r} of {game}: {near(preset, known)}")
    free = getattr(found, "FREE", params)
    name = (
        preset if all(param in free or value == known[preset].get(param) for param, value in params.items()) else None
    )
    return convert(game_class(found), {**known[preset], **params, "preset": name})


def convert(cls: type[AnyGame], params: dict[str, Any]) -> AnyGame:
    """Typed construction: lists become tuples, and a parameter that is unknown or ill-typed is named."""
    fields = cls.__struct_fields__
    for name in params:
        if name not in fields:
            raise ValueError(f"unknown parameter {name!r}: {near(name, [f for f in fields if f != 'preset'])}")
    try:
        return msgspec.convert(params, type=cls)
    except msgspec.ValidationError as error:
        raise ValueError(misfit(error, cls, params)) from None


def parameters(game: AnyGame) -> dict[str, Any]:
    """All parameters of a game but the preset's name, as plain data."""
    plain: dict[str, Any] = msgspec.to_builtins(game)
    del plain["preset"]
    return plain


def home(game: AnyGame) -> ModuleType:
    """The module a game belongs to, with its PRESETS and, for a researcher's own game, its PLAYERS."""
    found = game_id(game)
    return sys.modules[found.partition(":")[0]] if ":" in found else module(found)


def game_id(game: AnyGame) -> str:
    """The name a record keeps: our own id, or `module:Class`."""
    home = type(game).__module__
    if home.startswith(_OURS):
        return home[len(_OURS) :].split(".")[0]
    return f"{home}:{type(game).__name__}"


def known_class(game: str) -> type[AnyGame]:
    """The class a record's game id names. A game that is not ours must have been imported before: reading a
    record never imports what it names."""
    home, _, name = game.partition(":")
    if not name:
        if home not in names():
            raise ValueError(f"unknown game {home!r}: {near(home, names())}")
        return game_class(module(home))
    found = sys.modules.get(home)
    cls = getattr(found, name, None)
    if not (isinstance(cls, type) and issubclass(cls, Game) and cls is not Game):
        raise ValueError(f"the game {game!r} is not loaded: nl.load its module first (--module FILE.py)")
    return cls


@cache
def state_type(cls: type[AnyGame]) -> Any:
    """The type `State[Public, Private]` of a game, with its `Hidden`, for reading records."""
    for base in getattr(cls, "__orig_bases__", ()):
        args = get_args(base)
        if len(args) == 3:
            return msgspec.defstruct(
                "State",
                [("public", args[0]), ("private", dict[str, args[1]]), ("hidden", cls.Hidden, None)],  # type: ignore[valid-type]
            )
    raise ValueError(f"{cls.__name__} must subclass Game[Public, Private, Action] with its three types")


def read_seen(cls: type[AnyGame], plain: dict[str, Any]) -> Observation[Any, Any]:
    """What a seat sees, from its plain form; `ValueError` names the field that does not fit."""
    public, private = (field.type for field in msgspec.structs.fields(state_type(cls))[:2])
    try:
        shown = msgspec.convert(plain["public"], type=public)
        own = msgspec.convert(plain["private"], type=get_args(private)[1])
    except msgspec.ValidationError as error:
        raise ValueError(f"what is seen does not fit {cls.__name__}: {error}") from None
    return Observation(plain["seat"], frozen(shown), frozen(own))


def read_state(cls: type[AnyGame], plain: Any) -> State[Any, Any]:
    """A start from its plain form; `ValueError` names the field that does not fit."""
    try:
        found = msgspec.convert(plain, type=state_type(cls))
    except msgspec.ValidationError as error:
        raise ValueError(f"the start does not fit {cls.__name__}: {error}") from None
    if set(found.private) != {"A", "B"}:
        raise ValueError(f"the start must hold what A and B know, not {sorted(found.private)}")
    private = {seat: frozen(own) for seat, own in found.private.items()}
    return State(frozen(found.public), private, None if cls.Hidden is NoneType else found.hidden)
