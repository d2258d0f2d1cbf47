"""Scripted players that can be offered in a list: those that play a game with their defaults."""

from __future__ import annotations

import inspect

from negolab.catalog import AnyGame
from negolab.game import Seat
from negolab.players.player import Scripted, players

FIRST = ("linear", "truthful", "fair-split", "greedy")
"""Players that make a first game worth playing."""


def suitable(game: AnyGame, seat: Seat) -> list[str]:
    """Names of the players that suit a seat of a game, a good first one at the head."""
    found = [name for name, cls in players(game).items() if seat in cls.seats and _plays(cls, game)]
    first = next((name for name in FIRST if name in found), found[0])
    return [first, *(name for name in found if name != first)]


def _plays(cls: type[Scripted], game: AnyGame) -> bool:
    """Whether a player suits a game by its defaults."""
    needs = [p for p in inspect.signature(cls).parameters.values() if p.default is p.empty]
    if needs:
        return False
    try:
        cls().check(game)
    except ValueError:
        return False
    return True
