"""Tables: how a game looks to the person who plays it, one module per game; `plain` serves any game.

A table's module has

- `role(game, seat) -> str`: what the seat is called, "the buyer"
- `clock(game, seen) -> str`: how far the match is, "Round 3 of 6"; "" if nothing counts
- `render(game, seen) -> Markup`: all that stands before this seat, without controls, for replays and notebooks
- `Controls`: what stands before it and the controls by which it answers

each from the game as told to the seat and its observation alone.
"""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any, Protocol

from negolab import catalog
from negolab.catalog import AnyGame
from negolab.game import Observation, Seat
from negolab_widgets.html import Markup
from negolab_widgets.tables import plain
from negolab_widgets.tables.controls import TableControls


class Table(Protocol):
    """A game's table: a module of this package."""

    Controls: type[TableControls]

    def role(self, game: AnyGame, seat: Seat) -> str: ...

    def clock(self, game: AnyGame, seen: Observation[Any, Any]) -> str: ...

    def render(self, game: AnyGame, seen: Observation[Any, Any]) -> Markup: ...


def table(game: AnyGame) -> Table:
    """Find the table of a game by the game's name; `plain` serves a game that has none of its own."""
    name = f"{__name__}.{catalog.game_id(game)}"
    found: Any = plain
    if ":" not in name and importlib.util.find_spec(name) is not None:
        found = importlib.import_module(name)
    return found  # type: ignore[no-any-return]
