"""The pages of the guide, and what they say about a game's parameters and how its replies are read."""

from __future__ import annotations

import re
from functools import cache

from negolab._internal.files import notebooks

_LINK = re.compile(r"\[([^]]*)\]\([^)]*\)")


@cache
def guide_pages() -> dict[str, str]:
    """Return the guide's texts by page."""
    return {path.stem: path.read_text("utf-8") for path in sorted((notebooks() / "guide").glob("*.md"))}


@cache
def parameter_meanings(game: str) -> dict[str, str]:
    """Return what a game's parameters mean, from the table on its page in the guide; {} if there is no such page."""
    _, _, rest = guide_pages().get(game, "").partition("\n## Parameters\n")
    rows = [line.strip("|").split(" | ") for line in rest.partition("\n## ")[0].splitlines() if line.startswith("| `")]
    plain = {names: _LINK.sub(r"\1", meaning).replace("`", "").strip() for names, *_, meaning in rows}
    return {name: meaning for names, meaning in plain.items() for name in re.findall(r"`(\w+)`", names)}


def readings(game: str) -> list[str]:
    """Return the lines of a table of replies and how they are read, from the one in the guide; [] if the game has no
    rows."""
    rows = [
        line.strip("| ").split(" | ")
        for line in guide_pages()["decisions"].splitlines()
        if line.startswith(f"| {game} |")
    ]
    return [f"{reply.strip('`'):60}{fair:36}{literal}" for _, reply, fair, literal in rows]
