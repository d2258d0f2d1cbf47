"""Two players divide a stock: each states privately what it keeps, and earns its units times its own value."""

from __future__ import annotations

from typing import Any

from negolab.games.split.allocation import allocate
from negolab.games.split.draws import corpus_scenarios
from negolab.games.split.rules import Split
from negolab.games.split.state import Action, Draw, EndTalk, Message, Private, Proposal, Public, Schedule, Sent, Settled

TITLE = "Split: divide what is there"
_TRUST: dict[str, Any] = {"source": "rps", "roles": "random", "show": "hand"}
_TEN_ONE: dict[str, Any] = {"source": "ten_one_ties", "equal_totals": True, "reading": "literal"}

TABLE = "negolab_widgets.tables.split.controls:SplitTable"
PRESETS: dict[str, dict[str, Any]] = {
    "classic": {},
    "trust-and-split": _TRUST,
    "deal-or-no-deal": {
        "items": ("books", "hats", "balls"),
        "stock": None,
        "source": "dond",
        "rule": "exact",
        "max_chars": 400,
    },
    "lewis-2017": {
        "items": ("books", "hats", "balls"),
        "stock": None,
        "source": "corpus",
        "rule": "exact",
        "rounds": 1,
        "talk": "free",
        "max_chars": 400,
    },
    "no-press": {"source": "fixed", "show": "both", "quota": 0},
    "mila-tas-rps": {**_TRUST, "reading": "literal"},
    "mila-tas": {"items": ("hats", "books"), "stock": (10, 10), **_TEN_ONE},
    "mila-no-press": {
        "items": ("hats", "books", "balls"),
        "stock": (10, 10, 10),
        **_TEN_ONE,
        "conflict": True,
        "show": "both",
        "quota": 0,
    },
}
"""The four variants of the family, Deal or No Deal as people played it (arXiv 1706.05125), and parameter sets that
replay published runs (arXiv 2511.19405, 2406.14662)."""

PRESET_TITLES = {
    "classic": "Each sees own values only",
    "trust-and-split": "Rock, paper, scissors decides",
    "deal-or-no-deal": "Deal or No Deal",
    "lewis-2017": "Deal or No Deal as people played it",
    "no-press": "Both see both values, no talk",
    "mila-tas-rps": "Published runs: rock, paper, scissors",
    "mila-tas": "Published runs: hats and books",
    "mila-no-press": "Published runs: no talk",
}
REPLICATIONS = ("lewis-2017", "mila-tas-rps", "mila-tas", "mila-no-press")
PRESET_NOTES = {
    "classic": "Ten coins; in each round a coin's worth to you is drawn from 1 to 20, and the other does not see it.",
    "trust-and-split": "A hand of rock, paper, scissors decides to whom a coin is worth 10 and to whom 1; you see "
    "your own hand only.",
    "deal-or-no-deal": "Books, hats and balls with private values; both must divide them exactly, or nobody gets any.",
    "lewis-2017": "Deal or No Deal as people played it: one round, and talk in turns until one of them ends it.",
    "no-press": "Ten coins, worth 10 to one and 1 to the other, as both know; nobody can say a word.",
    "mila-tas-rps": "Trust-and-Split with the parameters of published runs (arXiv 2511.19405).",
    "mila-tas": "Hats and books, ten of each, worth 10 or 1 to you, in private; parameters of published runs.",
    "mila-no-press": "Hats, books and balls, ten of each, worth 10 or 1, as both know; nobody can say a word; "
    "parameters of published runs.",
}

EXPLORE = {
    "sliders": {
        "high": ("Highest value", "low", 40, 1),
        "stock.0": ("Units", 1, 40, 1),
    },
    "change": "rounds=3",
}
"""Sliders and figure on the game's card in a notebook."""

__all__ = [
    "EXPLORE",
    "PRESETS",
    "PRESET_NOTES",
    "PRESET_TITLES",
    "REPLICATIONS",
    "TABLE",
    "Action",
    "Draw",
    "EndTalk",
    "Message",
    "Private",
    "Proposal",
    "Public",
    "Schedule",
    "Sent",
    "Settled",
    "Split",
    "allocate",
    "corpus_scenarios",
]
