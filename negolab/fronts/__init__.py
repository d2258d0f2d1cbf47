"""A game's own fixed text front, where its seed document has one: what a person reads instead of prompt and reasons."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from negolab import catalog
from negolab.events import Event
from negolab.game import Seat

Texts = Callable[[Sequence[Event]], list[str]]
"""Every text so far, folded from a match's events; safe to show to the seat it is for."""


def front(game: catalog.AnyGame, seat: Seat) -> Texts | None:
    """The front of a game for a seat; None: it has none."""
    name = f"{__name__}.{catalog.game_id(game)}"
    if ":" in name or importlib.util.find_spec(name) is None:
        return None
    found: Any = importlib.import_module(name)
    return partial(found.texts, game) if seat == found.SEAT else None
