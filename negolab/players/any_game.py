"""Scripted players for any game, including a researcher's own; they use only its `options`."""

from __future__ import annotations

from typing import Any

from typing_extensions import override

from negolab.catalog import AnyGame
from negolab.game import Observation
from negolab.protocols import Scripted


class RandomLegal(Scripted):
    """Acts at random: draws uniformly from the game's `options`, the usual lower baseline."""

    @override
    def act(self, game: AnyGame, seen: Observation[Any, Any]) -> Any:
        options = game.options(seen)
        if not options:
            raise ValueError(f"{type(game).__name__}.options is empty for seat {seen.seat}, whose turn it is")
        return self.rng.choice(options)


class FirstOption(Scripted):
    """Takes its first option: the first of the game's `options`, as a fixed baseline."""

    deterministic = True

    @override
    def act(self, game: AnyGame, seen: Observation[Any, Any]) -> Any:
        return game.options(seen)[0]


PLAYERS: dict[str, type[Scripted]] = {"random-legal": RandomLegal, "first-option": FirstOption}
