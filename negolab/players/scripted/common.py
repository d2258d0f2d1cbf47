"""Players for any game, a researcher's own included: they know only its `options`."""

from __future__ import annotations

import random
from typing import Any

from typing_extensions import override

from negolab.catalog import AnyGame
from negolab.game import Observation
from negolab.players.player import Scripted


class RandomLegal(Scripted):
    """Draws uniformly from the game's `options` with its own generator. The usual lower baseline: whatever it does
    is legal and nothing it does is meant."""

    def __init__(self, *, seed: int = 0) -> None:
        super().__init__(seed=seed)
        self._rng = random.Random(seed)

    @override
    def act(self, game: AnyGame, seen: Observation[Any, Any]) -> Any:
        options = game.options(seen)
        if not options:
            raise ValueError(f"{type(game).__name__}.options gives none for seat {seen.seat}, which is asked")
        return self._rng.choice(options)


class FirstOption(Scripted):
    """Takes the first of the game's `options`, always. A fixed point to compare with."""

    @override
    def act(self, game: AnyGame, seen: Observation[Any, Any]) -> Any:
        return game.options(seen)[0]


PLAYERS: dict[str, type[Scripted]] = {"random-legal": RandomLegal, "first-option": FirstOption}
