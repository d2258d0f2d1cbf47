"""Small pictures of the games, one file each, in the colors of the surrounding page."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from negolab_widgets.html import Markup

NEUTRAL = "own"


@cache
def _pictures() -> dict[str, str]:
    drawn = (file for file in files(__name__).iterdir() if file.name.endswith(".svg"))
    return {file.name.removesuffix(".svg"): file.read_text("utf-8") for file in drawn}


def picture(game: str) -> Markup:
    """Return the picture of a game by its ID, as SVG; a neutral one for a game that has none."""
    return Markup(_pictures().get(game, _pictures()[NEUTRAL]))
