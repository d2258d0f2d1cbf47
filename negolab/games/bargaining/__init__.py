"""A seller (seat A) and a buyer (seat B) alternate price offers until one is accepted or the rounds are over.

rules.py is the game, reading.py what replies mean, presets.py the designs.
"""

from __future__ import annotations

from negolab.games.bargaining.presets import PRESETS
from negolab.games.bargaining.rules import Bargaining, fair_price
from negolab.games.bargaining.state import Accept, Action, Offer, Private, Public, Reject, Terms

__all__ = [
    "PRESETS",
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
