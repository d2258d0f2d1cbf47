"""A new study file: the template with a game that works as it is."""

from __future__ import annotations

import re
import secrets
from pathlib import Path
from string import Template

from negolab import catalog
from negolab.people.parts import ENDINGS

_PLAYERS = {
    "balloon": ("linear", "boulware"),
    "bargaining": ("linear", "boulware"),
    "split": ("truthful", "greedy"),
    "trading": ("fair-split", "greedy-honest"),
}
"""Two opponents that make two treatments of a game; others have only those that play any game."""
_SEATS = {"bargaining": "B"}
"""Where a participant sits, if not anywhere: the bargaining page tells a buyer most."""

_COMMENTS = 53
"""The column at which comments begin."""


def write(path: Path, game: str) -> None:
    """Write a new study file; `ValueError` if the game does not exist, `FileExistsError` if the file does."""
    beside = str(path.parent / game) if game.endswith(".py") else game
    presets = catalog.presets(catalog.module(beside))
    first, second = _PLAYERS.get(game, ("random-legal", "first-option"))
    template = Template((Path(__file__).parent / "template.toml").read_text("utf-8"))
    text = template.substitute(
        {ending: _code() for ending in ENDINGS},
        name=path.stem,
        game=game,
        preset=next(iter(presets)),
        first=first,
        second=second,
        seat=_SEATS.get(game, "random"),
    )
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write("".join(map(_aligned, text.splitlines(keepends=True))))
    except FileExistsError:
        raise
    except OSError as error:
        raise ValueError(f"{path}: cannot be written: {error.strerror}") from None


def _aligned(line: str) -> str:
    """A line with its comment where the comments of the file stand."""
    code, comment = re.fullmatch(r"(.*?)(\s{2,}# .*\n)?", line, re.DOTALL).groups()  # type: ignore[union-attr]
    return line if comment is None else f"{code:<{_COMMENTS - 2}}  {comment.lstrip()}"


def _code() -> str:
    """Eight characters that nobody guesses, without those that are taken for one another."""
    return "".join(secrets.choice("ABCDEFGHJKLMNPQRSTUVWXYZ23456789") for _ in range(8))
