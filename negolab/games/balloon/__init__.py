"""Two players agree on one set of items under an effort limit; each earns the set's importance to that player."""

from __future__ import annotations

from typing import Any

from negolab.games.balloon.instance import Instance, importances
from negolab.games.balloon.rules import Balloon
from negolab.games.balloon.state import Fault, Message, Private, Public, Say, Terms

TITLE = "Balloon: agree on a set of items"
TABLE = "negolab_widgets.tables.balloon.controls:BalloonTable"
PRESETS: dict[str, dict[str, Any]] = {
    "seed": {},
    "clembench": {
        "rules": "reference",
        "reading": "literal",
        "empty_turn_limit": 8,
        "turn_limit": None,
        "importance_seed": 1,
    },
}
PRESET_TITLES = {"seed": "The rules as stated", "clembench": "Published episodes of clembench"}
REPLICATIONS = ("clembench",)
PRESET_NOTES = {
    "seed": "The rules as the prompt states them; at most 40 messages.",
    "clembench": "The rules as the reference program plays them, so that published episodes replay.",
}

ALIASES = ("hot_air_balloon", "air_balloon_survival")

EXPLORE = {
    "sliders": {"limit_ratio": ("Limit, of all effort", 0.05, 1, 0.05), "items": ("Items", 2, 20, 1)},
    "change": "items=8",
}
"""Sliders and figure on the game's card in a notebook."""

__all__ = [
    "ALIASES",
    "EXPLORE",
    "PRESETS",
    "PRESET_NOTES",
    "PRESET_TITLES",
    "REPLICATIONS",
    "TABLE",
    "Balloon",
    "Fault",
    "Instance",
    "Message",
    "Private",
    "Public",
    "Say",
    "Terms",
    "importances",
]
