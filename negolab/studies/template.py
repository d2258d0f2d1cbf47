"""The text of a new study file, from a template."""

from __future__ import annotations

import re
import secrets
from pathlib import Path
from string import Template

from negolab import catalog, user_code
from negolab.game import other
from negolab.players.lookup import compatible_players
from negolab.studies.endings import ENDINGS

_COMMENTS = 53
"""Column at which comments begin."""


def study_text(path: Path, game: str) -> str:
    """Return the text of a new study file that can be served as it is.

    Args:
        path: The file that will hold it; its stem becomes the study's name.
        game: Name of a game, or a .py file relative to the folder of `path`.

    Raises:
        ValueError: There is no such game.
    """
    loaded = catalog.load(user_code.beside(game, path.parent))
    seat = catalog.front_seat(catalog.game_id(loaded))
    first, second = compatible_players(loaded, other(seat or "A"))[:2]
    template = Template((Path(__file__).parent / "template.toml").read_text("utf-8"))
    text = template.substitute(
        {ending: _code() for ending in ENDINGS},
        name=path.stem,
        game=game,
        preset=loaded.preset,
        unit=loaded.unit,
        first=first,
        second=second,
        seat=seat or "random",
    )
    return "".join(map(_aligned, text.splitlines(keepends=True)))


def _aligned(line: str) -> str:
    """Move the trailing comment of a line to column `_COMMENTS`."""
    code, comment = re.fullmatch(r"(.*?)(\s{2,}# .*\n)?", line, re.DOTALL).groups()  # type: ignore[union-attr]
    return line if comment is None else f"{code:<{_COMMENTS - 2}}  {comment.lstrip()}"


def _code() -> str:
    """Draw a random completion code of eight characters, without 0, 1, I and O, which are easily confused."""
    return "".join(secrets.choice("ABCDEFGHJKLMNPQRSTUVWXYZ23456789") for _ in range(8))
