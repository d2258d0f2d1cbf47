"""From a name such as `llm:qwen2.5:0.5b,temperature=0.7,strategy=time:beta=0.2` to a player."""

from __future__ import annotations

from typing import Any

from negolab.catalog import AnyGame
from negolab.players.llm.player import LLM
from negolab.players.llm.settings import settings
from negolab.players.player import Places, Scripted, player


def model_player(
    given: dict[str, Any],
    game: AnyGame,
    *,
    models: Places | None = None,
    match: str = "",
    draws: int | None = None,
) -> LLM:
    """A model for one seat of one match; `draws` seeds the strategy that decides for it, if there is one."""
    found = settings(given)
    strategy = None if found.strategy is None else _strategy(found.strategy, game, draws)
    made = LLM(found, models=models, match=match, strategy=strategy)
    shown = ",".join(f"{name}={value}" for name, value in given.items() if name != "model")
    made.name = ",".join(filter(None, (f"llm:{found.model}", shown)))
    return made


def _strategy(name: str, game: AnyGame, draws: int | None) -> Scripted:
    # Commas already part the settings of the model.
    found = player(name.replace(";", ","), game, draws=draws)
    if not isinstance(found, Scripted):
        raise ValueError(f"strategy must be a scripted player of the game, not {name!r}")
    return found
