"""The manager as a prompt: the seed's own document, for those who want a model in this role."""

from __future__ import annotations

from pathlib import Path

from negolab.game import State
from negolab.games.bargaining.money import dollars
from negolab.games.bargaining.rules import Bargaining, fair_price
from negolab.games.bargaining.state import Private, Public

_DOCUMENT = Path(__file__).with_name("manager.md")
_FIXED = (
    *("rounds", "opener", "price_lo", "price_hi", "buyer_told", "seller_told", "frame", "talk", "walk_away"),
    *("outside_seller", "outside_buyer", "discount_seller", "discount_buyer", "extra_accept"),
)
"""What the document says in words, so that a game with other parameters is another game."""


def manager_prompt(game: Bargaining, state: State[Public, Private]) -> str:
    """The document with its placeholders filled in; `ValueError` for any game but the one it describes."""
    if game.treatment != "exact":
        raise ValueError(f"the document describes treatment 'exact', not {game.treatment!r}")
    described = Bargaining()
    for name in _FIXED:
        if getattr(game, name) != getattr(described, name):
            raise ValueError(f"the document describes {name}={getattr(described, name)!r}, not {getattr(game, name)!r}")
    value, cost = state.public.value, state.public.cost
    assert value is not None and cost is not None
    text = _DOCUMENT.read_text("utf-8")
    for name, cents in {
        "buyer_value": value,
        "seller_cost": cost,
        "fair_price": fair_price(value, cost),
        "zopa": value - cost,
    }.items():
        text = text.replace("{{" + name + "}}", dollars(cents))
    return text
