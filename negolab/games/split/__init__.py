"""Two seats may talk, then both say at once what they keep of a stock; each is paid its units times own value."""

from __future__ import annotations

from typing import Any

from negolab.games.split.allocation import allocate
from negolab.games.split.draws import corpus_scenarios
from negolab.games.split.rules import Split
from negolab.games.split.state import Action, Draw, EndTalk, Message, Private, Proposal, Public, Schedule, Sent, Settled

TITLE = "Split: divide what is there"
_TRUST: dict[str, Any] = {"source": "rps", "roles": "random", "show": "hand"}
_TEN_ONE: dict[str, Any] = {"source": "ten_one_ties", "equal_totals": True}

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
    "mila-tas-rps": _TRUST,
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

__all__ = [
    "PRESETS",
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
