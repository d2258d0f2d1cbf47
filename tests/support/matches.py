"""Matches in which given texts were said."""

from __future__ import annotations

from typing import Any

from negolab.catalog import AnyGame
from negolab.game import Observation, Seat
from negolab.match import Match


def said(game: Any, *texts: str | tuple[Seat, str], start: Any = None, seed: int = 1) -> Match:
    """A match in which these texts were said, each by the first seat that is asked unless it names one."""
    match = Match(game, start=start, seed=None if start else seed)
    for one in texts:
        seat, text = (next(iter(match.pending())), one) if isinstance(one, str) else one
        match.submit(seat, text)
    return match


def on_turn(match: Match) -> tuple[AnyGame, Observation[Any, Any]]:
    """The game as it is told to the first seat that is asked, and what this seat sees."""
    seat = next(iter(match.pending()))
    return match.told(seat), match.seen(seat)
