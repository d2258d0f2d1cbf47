"""Small records of talk for the tests of coding."""

from __future__ import annotations

from typing import Any

import negolab as nl
from negolab.match import Match

TALK = ("60\nMESSAGE: My cost is $40.", "50\nMESSAGE: Too much for me.", "55\nMESSAGE: Take it or leave it.", "accept")


def bargained(*texts: str, id: str = "m1", cost: int = 4000, value: int = 6500, **header: Any) -> nl.Record:
    """A match of bargaining in which both talk: the seller first."""
    game: Any = nl.load("bargaining", talk="both", rounds=10, opener="seller")
    match = Match(game, start=game.start(value, cost), id=id, players={"A": "anna-bot", "B": "llm:secret"}, **header)
    for text in texts or TALK:
        match.submit(next(iter(match.pending())), text)
    return match.record()
