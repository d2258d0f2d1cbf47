"""Forms: what a model fills in instead of writing a game's own words, as a JSON schema of what is legal now.

`<game>.py` holds the form of a game, found by the game's name; a game without one, also a researcher's own, has that
of `plain.py`. The game's `say` writes the words.
"""

from __future__ import annotations

import importlib
from functools import cache
from typing import cast

from negolab import catalog
from negolab.catalog import AnyGame
from negolab.players.forms.form import Form


def form_of(game: AnyGame) -> Form:
    """The form of a game."""
    return _form(catalog.game_id(game))


@cache
def _form(game_id: str) -> Form:
    own = game_id if ":" not in game_id else "plain"
    try:
        return cast(Form, importlib.import_module(f"{__name__}.{own}"))
    except ModuleNotFoundError as error:
        if error.name != f"{__name__}.{own}":
            raise
        return cast(Form, importlib.import_module(f"{__name__}.plain"))
