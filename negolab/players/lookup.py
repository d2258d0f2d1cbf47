"""Players by name, reference to code or object: `resolve("time:beta=0.2", game)`, `resolve("mine.py:Mine", game)`."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

from negolab import catalog
from negolab._internal.validation import parse_value, suggest
from negolab.catalog import AnyGame
from negolab.game import Seat
from negolab.llm.endpoint.call import EndpointProvider
from negolab.llm.settings import model_settings
from negolab.players import agreements, any_game, negmas
from negolab.players.code import CodeReference, PlayerClass, find_player, offered_players, parse_reference
from negolab.players.factory import PlayerFactory, class_factory, model_factory, object_factory
from negolab.protocols import MODEL_PREFIX, Player, Scripted

SHORT = {"tft": "tft_relative"}
"""Short names for players in games that have several of the kind, and the one that each stands for."""
PlayerSpec = str | Player | PlayerClass | PlayerFactory
"""A player as a user gives it: a name, a reference such as `mine.py:Haggler,beta=2`, a class or function, or an
object."""


def list_players(game: AnyGame | str) -> dict[str, PlayerClass]:
    """List the scripted players for a game.

    Args:
        game: A game, or the name of one.

    Returns:
        Classes by name: the game's own in the order of its PLAYERS, those that play any game or any with the methods
        of `players.agreements.Agreements`, and those that installed packages and loaded modules offer.

    Example:
        >>> "random-legal" in list_players("trading")
        True
    """
    shipped = _shipped_players(catalog.load(game))
    return {**shipped, **{name: made for name, made in offered_players().items() if name not in shipped}}


def _shipped_players(game: AnyGame) -> dict[str, PlayerClass]:
    """Return the game's own players and those for any game, whose names no other code can take over."""
    own = catalog.part(game, "PLAYERS") or {}
    bargainers = agreements.PLAYERS if isinstance(game, agreements.Agreements) else {}
    bridged = negmas.PLAYERS if catalog.part(game, "NEGMAS") else {}
    general = bargainers | any_game.PLAYERS | bridged
    return {**own, **{name: cls for name, cls in general.items() if name not in own}}


def compatible_players(game: AnyGame, seat: Seat) -> list[str]:
    """List the players that play this seat of a game with their defaults, in the order of `list_players`."""
    return [name for name in list_players(game) if _is_compatible(name, game, seat)]


def _is_compatible(name: str, game: AnyGame, seat: Seat) -> bool:
    """Return True if a player needs no parameters and accepts the game and the seat."""
    try:
        resolve(name, game, load=False).check_seat(seat)
    except ValueError:
        return False
    return True


def resolve(spec: PlayerSpec, game: AnyGame, *, load: bool = True, **params: Any) -> PlayerFactory:
    """Find a player and check its parameters, once for all matches that it will play.

    Args:
        spec: A player's name, with or without parameters; `file.py:Class` or `package.module:Class`, where a class may
            also be a function that returns a player, or a key of the module's PLAYERS; a class or function, which makes
            a player for each match; or an object, which plays all of its matches itself. A factory is returned as is.
        game: The game it will play; checked and not kept.
        load: Import the file or module that it names. False for a name from a record or a page: then only code that the
            user has already named in this process is run.
        params: Further parameters, which may not repeat those in the name.

    Raises:
        ValueError: There is no such player, file or parameter, its code failed, or it cannot play the game.
    """
    if isinstance(spec, str):
        found = _resolve_text(spec, game, load, params)
        check_label(found.name, found.called or found.name, game)
        return found
    if isinstance(spec, PlayerFactory):
        return spec
    if isinstance(spec, type) or inspect.isroutine(spec):
        return class_factory(spec.__name__, spec, game, params, origin=spec)
    if not callable(getattr(spec, "reply", None)):
        raise ValueError(
            f"a player must be a name such as 'greedy', a reference such as 'mine.py:Haggler', a class, a function or "
            f"an object with reply(told, ask), not {spec!r:.80}"
        )
    if params:
        raise ValueError(f"{type(spec).__name__} is already an object, so it takes no parameters")
    return object_factory(spec, game)


def _resolve_text(spec: str, game: AnyGame, load: bool, params: dict[str, Any]) -> PlayerFactory:
    if spec.startswith(MODEL_PREFIX):
        if "model" in params:
            raise ValueError(f"model appears twice: {spec!r} already names the model")
        return _resolve_model({**parse_model_name(spec), **params}, game, load)
    name, _, tail = spec.partition(":")
    classes = _shipped_players(game)
    reference = parse_reference(spec)
    if name not in classes and (reference is None or not reference.is_file):
        classes = list_players(game)
    if name not in classes and SHORT.get(name) in classes:
        return _resolve_text(f"{SHORT[name]}{spec.removeprefix(name)}", game, load, params)
    if name in classes:
        return class_factory(name, classes[name], game, {**parse_settings(tail), **params}, spec=spec, origin=spec)
    if reference is not None and (reference.is_file or reference.is_importable()):
        return _resolve_reference(reference, game, load, params)
    if Path(name).suffix == ".py" and Path(name).is_file():
        raise ValueError(f"player {spec!r}: name the class in this file, such as {name}:Haggler")
    is_model = name.startswith("llm") or (tail and "=" not in tail)
    more = " A language model is named llm:MODEL." if is_model else ""
    raise ValueError(f"unknown player {name!r} for {catalog.game_id(game)}: {suggest(name, classes)}{more}")


def _resolve_reference(reference: CodeReference, game: AnyGame, load: bool, params: dict[str, Any]) -> PlayerFactory:
    make = find_player(reference, load=load)
    given = {**parse_settings(reference.tail), **params}
    origin = str(reference.beside(Path()))
    return class_factory(reference.shown, make, game, given, spec=reference.full_name, origin=origin)


def check_label(label: str, name: str, game: AnyGame) -> None:
    """Raise `ValueError` for a label that is the name of another of negolab's or the game's players."""
    if label != name and label.strip().casefold() in map(str.casefold, (*_shipped_players(game), *SHORT)):
        raise ValueError(f"label {label!r} is the name of another player: choose another label for {name}")


def load_player(text: str, folder: Path) -> str:
    """Load the code of a player that a study file or a plan names, and return the player's name in records.

    Args:
        text: The player as the file names it; one that is not a reference to code is returned as is.
        folder: The file's folder, which relative paths refer to.

    Raises:
        ValueError: There is no such file, module or player, or its import failed.
    """
    reference = None if text.startswith(MODEL_PREFIX) else parse_reference(text)
    if reference is None or not (reference.is_file or reference.is_importable()):
        return text
    find_player(reference.beside(folder), load=True)
    return reference.full_name


def resolve_players(game: AnyGame, a: PlayerSpec, b: PlayerSpec) -> tuple[PlayerFactory, PlayerFactory]:
    """Resolve the two players of a run; raise `ValueError` as `resolve` does, or if two different players share a
    name."""
    one, two = resolve(a, game), resolve(b, game)
    same = one.origin is two.origin or (isinstance(one.origin, str) and one.origin == two.origin)
    if one.name == two.name and not same:
        raise ValueError(f"two different players are called {one.name!r}: give one of them another `name`")
    return one, two


def _resolve_model(given: dict[str, Any], game: AnyGame, load: bool) -> PlayerFactory:
    settings = model_settings(given)
    if settings.strategy is None:
        return model_factory(settings, given, None)
    strategy = _resolve_strategy(settings.strategy, game, load)
    if (reference := parse_reference(settings.strategy.replace(";", ","))) is not None and reference.is_file:
        # Names hold no folder, so that folders can be moved.
        given = {**given, "strategy": settings.strategy.replace(reference.head, Path(reference.head).name, 1)}
        settings = model_settings(given)
    return model_factory(settings, given, strategy)


def _resolve_strategy(name: str, game: AnyGame, load: bool) -> PlayerFactory:
    # Commas separate the settings of the model, so semicolons separate those of its strategy.
    strategy = resolve(name.replace(";", ","), game, load=load)
    if not isinstance(strategy.make(), Scripted):
        raise ValueError(f"strategy must be a scripted player of the game, not {name!r}")
    return strategy


def player(
    name: str | PlayerClass,
    game: AnyGame | str,
    *,
    models: EndpointProvider | None = None,
    match: str = "",
    draws: int | None = None,
    **params: Any,
) -> Any:
    """Make a player by name.

    Args:
        name: The player's name, with or without parameters: "time:beta=0.2,seed=3", "llm:MODEL,temperature=0.7"; or
            your own code, "mine.py:Haggler,beta=2" or "package.module:Haggler", which is imported.
        game: The game it will play, or the name of one; checked and not kept.
        models: Endpoints for a language model (None: one shared set for this process).
        match: Id of the match in which a language model plays, so that cached answers are found again.
        draws: Seed for a scripted player whose name carries none.
        params: Further parameters, which may not repeat those in the name.

    Returns:
        The player, an object with `reply(told, ask)`.

    Raises:
        ValueError: The name or a parameter does not exist (the message suggests similar ones), the code fails, or the
            player cannot play the game.

    Example:
        >>> player("random-legal", "trading", seed=3).name
        'random-legal'
    """
    return resolve(name, catalog.load(game), **params).make(seed=draws, match=match, models=models)


# The text that specifies a player: `time:beta=0.2,seed=3`, `llm:MODEL,temperature=0.7`, `mine.py:Haggler,beta=2`.


def parse_model_name(name: str) -> dict[str, Any]:
    """Split `llm:qwen2.5:0.5b,seed=3` into settings; the model's name may contain colons, and values stay texts."""
    model, _, tail = name.removeprefix(MODEL_PREFIX).partition(",")
    if "=" in model:
        begin, _, first = model.rpartition(":")
        raise ValueError(f"write a model's settings after a comma: {MODEL_PREFIX}{begin or 'MODEL'},{first}")
    return {"model": model, **dict(_pairs(tail, {"model"}))}


def parse_settings(text: str) -> dict[str, Any]:
    """Parse `a=1,b=fair`; values are JSON or else texts, and a label is always a text."""
    return {key: value if key == "label" else parse_value(value) for key, value in _pairs(text)}


def _split(text: str) -> list[str]:
    """Split at commas, except inside lists and objects."""
    cuts, depth = [-1], 0
    for at, char in enumerate(text):
        depth += (char in "[{") - (char in "]}")
        if char == "," and depth <= 0:
            cuts.append(at)
    return [text[start + 1 : end] for start, end in pairwise([*cuts, len(text)])]


def _pairs(text: str, given: Collection[str] = ()) -> Iterator[tuple[str, str]]:
    """Yield names and values; raise `ValueError` for a name that appears twice or is already `given`."""
    seen = set(given)
    for part in filter(None, _split(text)):
        key, sign, value = part.partition("=")
        if not sign or not key:
            raise ValueError(f"{part!r} must have the form name=value")
        key = key.strip()
        if key in seen:
            raise ValueError(f"{key} appears twice: write it once")  # its value may be a secret
        seen.add(key)
        yield key, value.strip()
