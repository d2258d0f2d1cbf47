"""Two players trade goods that each values differently; the player with the larger gain in its own values wins.

After TextArena's two-player Negotiation.
"""

from __future__ import annotations

from typing import Any

from negolab.games.trading.rules import Trading
from negolab.games.trading.state import GOODS, Entry, Goods, Move, Offer, Private, Public

TITLE = "Trading: exchange goods"
TABLE = "negolab_widgets.tables.trading.controls:TradingTable"
PRESETS: dict[str, dict[str, Any]] = {
    "seed": {},
    "tolerant": {"rules": "tolerant"},
    "textarena-0.7.4": {"rules": "textarena-0.7.4", "reading": "literal"},
}
PRESET_TITLES = {
    "seed": "Every offer is answered",
    "tolerant": "Silence denies an offer",
    "textarena-0.7.4": "Games of TextArena 0.7.4",
}
REPLICATIONS = ("textarena-0.7.4",)
PRESET_NOTES = {
    "seed": "An offer must be answered, and an invalid message ends the game.",
    "tolerant": "Silence denies an offer; an invalid message gets one retry.",
    "textarena-0.7.4": "The rules and the lenient reading of TextArena 0.7.4, so that its games replay.",
}
ALIASES = ("negotiation", "simple-negotiation")
FREE = ("max_turns", "reading")
"""Parameters that may change under a preset's name; a game that differs in any other does not carry the name."""

EXPLORE = {
    "sliders": {
        "spread_percent": ("Values differ by (%)", 0, 100, 5),
        "holdings_range.1": ("Most of a good", "holdings_range.0", 50, 1),
    },
    "change": "max_turns=20",
}
"""Sliders and figure on the game's card in a notebook."""

__all__ = [
    "ALIASES",
    "EXPLORE",
    "FREE",
    "GOODS",
    "PRESETS",
    "PRESET_NOTES",
    "PRESET_TITLES",
    "REPLICATIONS",
    "TABLE",
    "Entry",
    "Goods",
    "Move",
    "Offer",
    "Private",
    "Public",
    "Trading",
]
