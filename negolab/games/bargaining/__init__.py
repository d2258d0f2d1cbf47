"""A seller and a buyer alternate price offers until one is accepted or the rounds end.

The seller has seat A, the buyer seat B. The presets are designs from published experiments and our own, written as
changes to the default, `exact`, in cents. The treatments with complete information and the cells of `interview` follow
the project johnjosephhorton/interview (2026).
"""

from __future__ import annotations

from typing import Any

from negolab.games.bargaining.rules import Bargaining, fair_price
from negolab.games.bargaining.state import Accept, Action, Offer, Private, Public, Reject, Terms

TITLE = "Bargaining: agree on a price"
_LITERAL = {"whole_a": False, "veto": False, "unit_guard": False, "refusal_guard": False, "reading": "literal"}
_TIGHT = {"rounds": 3, "buyer_values": (4200, 4500), "reject_named": True}
_UNEVEN = {
    "buyer_values": (8000,),
    "seller_costs": (5000,),
    "default_opening": 7000,
    "examples": (6500, 5500),
}
_MUG = {
    "item": "mug",
    "price_hi": 1500,
    "frame": "keeps_item",
    "buyer_values": (800,),
    "seller_costs": (600,),
}
_SIX_MUGS = {
    **_MUG,
    "seller_told": ("none",),
    "default_opening": 900,
    "examples": (700, 500),
}
_TALK = {
    **_MUG,
    "rounds": 4,
    "buyer_told": ("range", 400, 1000),
    "seller_told": ("range", 400, 1000),
    "default_opening": 950,
    "examples": (500, 700),
    "extra_accept": ("ok", "okay", "sure", "agreed"),
}

TABLE = "negolab_widgets.tables.bargaining.controls:BargainingTable"
PRESETS: dict[str, dict[str, Any]] = {
    "exact": {},
    "exact-literal": _LITERAL,
    "interview": {**_LITERAL, "buyer_values": (5000, 6500), "seller_retries": 0},
    "range": {
        "treatment": "range",
        "buyer_told": ("range", 3000, 5000),
        "seller_told": ("range", 4500, 7500),
        "default_opening": 5500,
        "examples": (4500, 5500),
    },
    "none": {
        "treatment": "none",
        "buyer_told": ("none",),
        "seller_told": ("none",),
        "default_opening": 5500,
        "examples": (4500, 5500),
    },
    "tight-exact": {**_TIGHT, "treatment": "tight-exact", "examples": ("fair", 4100)},
    "tight-range": {
        **_TIGHT,
        "treatment": "tight-range",
        "buyer_told": ("range", 3500, 5000),
        "seller_told": ("range", 3800, 5500),
        "default_opening": 4500,
        "examples": (4100, 4300),
    },
    "tight-none": {
        **_TIGHT,
        "treatment": "tight-none",
        "buyer_told": ("none",),
        "seller_told": ("none",),
        "default_opening": 4500,
        "examples": (4100, 4300),
    },
    "unsourced": {**_UNEVEN, "treatment": "unsourced", "buyer_told": ("none",)},
    "verified": {**_UNEVEN, "treatment": "verified", "buyer_told": ("verified", 4500, 5500)},
    "claimed": {**_UNEVEN, "treatment": "claimed", "buyer_told": ("claimed", 4500, 5500)},
    "one-sided": {
        "treatment": "one-sided",
        "buyer_values": (6000, 7000, 8000),
        "seller_costs": (3000, 4000, 5000),
        "buyer_told": ("set", 3000, 4000, 5000),
        "default_opening": 5500,
        "examples": (5500, 4500),
    },
    "asymmetric": {
        "treatment": "asymmetric",
        "rounds": 5,
        "opener": "buyer",
        "buyer_values": (6000, 7000, 8000, 9000),
        "seller_costs": (2000, 3000, 4000, 5000),
        "buyer_told": ("set", 2000, 3000, 4000, 5000),
        "seller_told": ("set", 6000, 7000, 8000, 9000),
        "default_opening": 5500,
        "examples": (5000, 4000),
    },
    "mug": {**_SIX_MUGS, "treatment": "mug", "buyer_told": ("none",)},
    "mug-range": {**_SIX_MUGS, "treatment": "mug-range", "buyer_told": ("range", 400, 800)},
    "cheap-talk": {**_TALK, "treatment": "cheap-talk", "talk": "seller"},
    "cheap-talk-two-way": {**_TALK, "treatment": "cheap-talk-two-way", "talk": "both"},
}
PRESET_TITLES = {
    "exact": "Both know both numbers",
    "exact-literal": "Both know both numbers, read by the letter",
    "interview": "Interview sessions",
    "range": "Each is told a range",
    "none": "Neither is told anything",
    "tight-exact": "Three rounds, both know both numbers",
    "tight-range": "Three rounds, each is told a range",
    "tight-none": "Three rounds, neither is told anything",
    "unsourced": "Seller knows your value, you know nothing",
    "verified": "Seller knows your value, you a checked range",
    "claimed": "Seller knows your value, you a claimed range",
    "one-sided": "Seller knows your value",
    "asymmetric": "Each is told four numbers",
    "mug": "A mug, neither is told anything",
    "mug-range": "A mug, the buyer is told a range",
    "cheap-talk": "A mug, the seller may write",
    "cheap-talk-two-way": "A mug, both may write",
}
REPLICATIONS = ("exact-literal", "interview")
PRESET_NOTES = {
    "exact": "Each side knows what the item is worth to the other.",
    "exact-literal": "Like exact, with replies read by the letter of the rules.",
    "interview": "Like exact-literal, with the parameters of published sessions, which it replays.",
    "range": "Each side knows a range for the other's number.",
    "none": "Neither side knows anything about the other's number.",
    "tight-exact": "Three rounds; each side knows the other's number.",
    "tight-range": "Three rounds; each side knows a range for the other's number.",
    "tight-none": "Three rounds; neither side knows anything about the other's number.",
    "unsourced": "The seller knows the buyer's value; the buyer knows nothing about the cost.",
    "verified": "The seller knows the buyer's value; the buyer knows a verified range for the cost.",
    "claimed": "The seller knows the buyer's value; the buyer knows a range for the cost that the seller claims.",
    "one-sided": "The seller knows the buyer's value; the buyer knows three costs, one of them the seller's.",
    "asymmetric": "Five rounds, the buyer begins; each side knows four numbers, one of them the other's.",
    "mug": "A mug, which the seller keeps without a deal; neither side knows anything about the other's number.",
    "mug-range": "A mug, which the seller keeps without a deal; the buyer knows a range for its worth to the seller.",
    "cheap-talk": "The mug in four rounds; each side knows a range, and the seller may write messages.",
    "cheap-talk-two-way": "The mug in four rounds; each side knows a range, and both may write messages.",
}
"""Sentences that both seats may read, because they give away no numbers."""


EXPLORE = {
    "figure": "negolab_widgets.tables.bargaining.zone:price_zone",
    "sliders": {
        "seller_costs.*": ("Seller\N{RIGHT SINGLE QUOTATION MARK}s cost", "price_lo", "price_hi", 50),
        "buyer_values.*": ("Buyer\N{RIGHT SINGLE QUOTATION MARK}s value", "price_lo", "price_hi", 50),
    },
    "changes": {
        "buyer_told": ("none",),
        "seller_told": ("none",),
        "examples": (0, 0),
        "default_opening": None,
        "allow_no_zopa": True,
    },
    "change": "rounds=4",
}
"""Sliders and figure on the game's card in a notebook; they do not depend on what the seats are told about prices."""

__all__ = [
    "EXPLORE",
    "PRESETS",
    "PRESET_NOTES",
    "PRESET_TITLES",
    "REPLICATIONS",
    "TABLE",
    "Accept",
    "Action",
    "Bargaining",
    "Offer",
    "Private",
    "Public",
    "Reject",
    "Terms",
    "fair_price",
]
