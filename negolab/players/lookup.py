"""Players by name: `player("time", game, beta=0.2, seed=3)`, `player("llm:MODEL,temperature=0.7", game)`."""

from __future__ import annotations

from typing import Any

from negolab import catalog
from negolab._internal.validation import suggest
from negolab.catalog import AnyGame
from negolab.game import Seat
from negolab.llm.endpoint.call import EndpointProvider
from negolab.llm.player import LLM
from negolab.llm.settings import model_settings
from negolab.players import any_game
from negolab.players.factory import PlayerFactory, class_factory, model_factory
from negolab.players.spec import parse_model_name, parse_settings
from negolab.protocols import MODEL_PREFIX, Scripted


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
    own = catalog.part(game, "PLAYERS") or {}
    return {**own, **{name: cls for name, cls in any_game.PLAYERS.items() if name not in own}}


def compatible_players(game: AnyGame, seat: Seat) -> list[str]:
    """List the players that play this seat of a game with their defaults, in the order of `list_players`."""
    return [name for name in list_players(game) if _is_compatible(name, game, seat)]


def _is_compatible(name: str, game: AnyGame, seat: Seat) -> bool:
    """Check that a player needs no parameter and accepts the game and the seat."""
    try:
        resolve(name, game).check_seat(seat)
    except ValueError:
        return False
    return True


def resolve(spec: str | PlayerFactory, game: AnyGame, **params: Any) -> PlayerFactory:
    """Find a player and check its parameters, once for all matches that it will play.

    Args:
        spec: The player's name, with parameters or not; a factory is returned as it is.
        game: The game it will play; checked and not kept.
        params: Further parameters, which may not repeat those in the name.

    Raises:
        ValueError: The name or a parameter does not exist, or the player cannot play the game.
    """
    if isinstance(spec, PlayerFactory):
        return spec
    if not isinstance(spec, str):
        raise ValueError(f"a player is named by a word such as 'greedy', not {spec!r}")
    if spec.startswith(MODEL_PREFIX):
        if "model" in params:
            raise ValueError(f"model is given twice: {spec!r} names the model already")
        return _resolve_model({**parse_model_name(spec), **params}, game)
    name, _, tail = spec.partition(":")
    classes = list_players(game)
    if name not in classes:
        is_model = name.startswith("llm") or (tail and "=" not in tail)
        more = " A language model is named llm:MODEL." if is_model else ""
        raise ValueError(f"unknown player {name!r} for {catalog.game_id(game)}: {suggest(name, classes)}{more}")
    return class_factory(name, classes[name], game, {**parse_settings(tail), **params}, spec=spec)


def resolve_players(
    game: AnyGame, a: str | PlayerFactory, b: str | PlayerFactory
) -> tuple[PlayerFactory, PlayerFactory]:
    """Resolve the two players of a run; ValueError as `resolve` says."""
    return resolve(a, game), resolve(b, game)


def _resolve_model(given: dict[str, Any], game: AnyGame) -> PlayerFactory:
    settings = model_settings(given)
    strategy = None if settings.strategy is None else _resolve_strategy(settings.strategy, game)
    return model_factory(settings, given, strategy)


def _resolve_strategy(name: str, game: AnyGame) -> PlayerFactory:
    # Commas separate the settings of the model, so semicolons separate those of its strategy.
    strategy = resolve(name.replace(";", ","), game)
    if strategy.is_model:
        raise ValueError(f"strategy must be a scripted player of the game, not {name!r}")
    return strategy


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
    made = resolve(name, catalog.load(game), **params).make(seed=draws, match=match, models=models)
    assert isinstance(made, Scripted | LLM)
    return made
