"""Players by name: `player("time", game, beta=0.2, seed=3)`, `player("llm:MODEL,temperature=0.7", game)`."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any, get_type_hints

from negolab import catalog
from negolab._internal.validation import convert_value, parse_value, suggest
from negolab.catalog import AnyGame
from negolab.game import Seat
from negolab.llm.endpoint.call import EndpointProvider
from negolab.llm.player import LLM
from negolab.llm.settings import model_settings
from negolab.players import any_game
from negolab.protocols import MODEL_PREFIX, Scripted

if TYPE_CHECKING:
    from negolab.llm.player import LLM


def list_players(game: AnyGame | str) -> dict[str, type[Scripted]]:
    """List the scripted players for a game.

    Args:
        game: A game, or the name of one.

    Returns:
        Classes by name: the game's own in the order of its PLAYERS, then those that play any game.

    Example:
        >>> "random-legal" in list_players("trading")
        True
    """
    game = catalog.load(game)
    game_id = catalog.game_id(game)
    if ":" in game_id:
        own = getattr(catalog.module_of(game), "PLAYERS", {})
    else:
        own = getattr(catalog.part(game_id, "players"), "PLAYERS", {})
    return {**own, **{name: cls for name, cls in any_game.PLAYERS.items() if name not in own}}


def compatible_players(game: AnyGame, seat: Seat) -> list[str]:
    """List the players that play this seat of a game with their defaults, in the order of `list_players`."""
    return [name for name, cls in list_players(game).items() if seat in cls.seats and _is_compatible(cls, game)]


def _is_compatible(cls: type[Scripted], game: AnyGame) -> bool:
    """Check that a player needs no parameter and accepts the game."""
    if any(param.default is param.empty for param in inspect.signature(cls).parameters.values()):
        return False
    try:
        cls().check(game)
    except ValueError:
        return False
    return True


def player(
    name: str,
    game: AnyGame | str,
    *,
    models: EndpointProvider | None = None,
    match: str = "",
    draws: int | None = None,
    **params: Any,
) -> Scripted | LLM:
    """Make a player by name.

    Args:
        name: The player's name, with parameters or not: "time:beta=0.2,seed=3", "llm:MODEL,temperature=0.7".
        game: The game it will play, or the name of one; checked and not kept.
        models: Endpoints for a language model (None: one shared set for this process).
        match: Id of the match whose seat a language model plays, so that cached answers are found again.
        draws: Seed of a scripted player whose name carries none.
        params: Further parameters, which may not repeat those in the name.

    Returns:
        The player.

    Raises:
        ValueError: The name or a parameter does not exist (the message suggests near ones), or the player cannot play
            the game.

    Example:
        >>> player("random-legal", "trading", seed=3).name
        'random-legal'
    """
    if not isinstance(name, str):
        raise ValueError(f"a player is named by a word such as 'greedy', not {name!r}")
    game = catalog.load(game)
    if name.startswith(MODEL_PREFIX):
        if "model" in params:
            raise ValueError(f"model is given twice: {name!r} names the model already")
        return model_player({**_parse_model_name(name), **params}, game, models=models, match=match, draws=draws)
    name, _, tail = name.partition(":")
    classes = list_players(game)
    if name not in classes:
        is_model = name.startswith("llm") or (tail and "=" not in tail)
        more = " A language model is named llm:MODEL." if is_model else ""
        raise ValueError(f"unknown player {name!r} for {catalog.game_id(game)}: {suggest(name, classes)}{more}")
    seeded = {} if draws is None else {"seed": draws}
    return _scripted_player(name, classes[name], game, {**seeded, **parse_settings(tail), **params})


def _scripted_player(name: str, cls: type[Scripted], game: AnyGame, params: dict[str, Any]) -> Scripted:
    accepted = inspect.signature(cls).parameters
    for param in params:
        if param not in accepted:
            raise ValueError(f"player {name!r} has no parameter {param!r}: {suggest(param, accepted)}")
    try:
        made = cls(**{param: _convert(cls, param, value) for param, value in params.items()})
    except TypeError as error:
        raise ValueError(f"player {name!r}: {error}") from None
    made.check(game)
    made.name = ":".join(filter(None, (name, ",".join(f"{k}={v}" for k, v in params.items() if k != "seed"))))
    return made


def _convert(cls: type[Scripted], param: str, value: Any) -> Any:
    """Convert a parameter to the type that `__init__` declares; ValueError names it."""
    return convert_value(value, get_type_hints(cls.__init__).get(param, Any), param, "parameter {} of the player")


def _parse_model_name(name: str) -> dict[str, Any]:
    """Split `llm:qwen2.5:0.5b,seed=3` into settings; the model's name may hold colons, and values stay texts."""
    model, _, tail = name.removeprefix(MODEL_PREFIX).partition(",")
    if "=" in model:
        begin, _, first = model.rpartition(":")
        raise ValueError(f"settings of a model follow a comma: {MODEL_PREFIX}{begin or 'MODEL'},{first}")
    return {"model": model, **dict(_pairs(tail, {"model"}))}


def parse_settings(text: str) -> dict[str, Any]:
    """Parse `a=1,b=fair`; values are JSON, else texts."""
    return {key: parse_value(value) for key, value in _pairs(text)}


def _split(text: str) -> list[str]:
    """Split at commas, except inside of lists and objects."""
    parts, depth = [""], 0
    for char in text:
        depth += (char in "[{") - (char in "]}")
        if char == "," and depth <= 0:
            parts.append("")
        else:
            parts[-1] += char
    return parts


def _pairs(text: str, given: Collection[str] = ()) -> Iterator[tuple[str, str]]:
    """Yield names and values; ValueError for a name that comes twice or is `given` already."""
    seen = set(given)
    for part in filter(None, _split(text)):
        key, sign, value = part.partition("=")
        if not sign or not key:
            raise ValueError(f"{part!r} is not of the form name=value")
        key = key.strip()
        if key in seen:
            raise ValueError(f"{key} is given twice: give it once")  # its value may be a secret
        seen.add(key)
        yield key, value.strip()


def model_player(
    given: dict[str, Any],
    game: AnyGame,
    *,
    models: EndpointProvider | None = None,
    match: str = "",
    draws: int | None = None,
) -> LLM:
    """Make a language model from its settings; `draws` seeds the strategy that decides for it, if there is one."""
    settings = model_settings(given)
    strategy = None if settings.strategy is None else _parse_strategy(settings.strategy, game, draws)
    made = LLM(settings, models=models, match=match, strategy=strategy)
    parameters = ",".join(f"{name}={value}" for name, value in given.items() if name != "model")
    made.name = ",".join(filter(None, (f"llm:{settings.model}", parameters)))
    return made


def _parse_strategy(name: str, game: AnyGame, draws: int | None) -> Scripted:
    # Commas separate the settings of the model, so semicolons separate those of its strategy.
    strategy = player(name.replace(";", ","), game, draws=draws)
    if not isinstance(strategy, Scripted):
        raise ValueError(f"strategy must be a scripted player of the game, not {name!r}")
    return strategy
