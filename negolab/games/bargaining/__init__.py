"""Alternating-offer price negotiation: rules.py; what replies mean: reading.py; the designs: presets.py."""

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
