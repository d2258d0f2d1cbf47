"""One real call to a model before the first game, so that a wrong set-up is told before anything is recorded."""

from __future__ import annotations

from negolab.game import Ask, Seat, other
from negolab.llm.endpoint.errors import RunFailed
from negolab.llm.player import LLM
from negolab.match import Match
from negolab.players.lookup import player
from negolab.protocols import Scripted
from negolab.runs.driver import submit_reply

MAX_MOVES = 20
"""Moves of the other side after which a seat is taken to be never asked."""


async def ask_once(match: Match, seat: Seat, model: LLM) -> None:
    """Ask a model for its first reply in a match that is thrown away, where the other side plays at random.

    The answer is counted, cached, and used by the match itself if it comes to the same question.

    Args:
        match: A match that has just been dealt.
        seat: The model's seat.
        model: The model's player.

    Raises:
        RunFailed: The set-up is wrong, or the budget too small.
    """
    try:
        if (ask := _first_ask(match, seat)) is not None:
            await model.reply(match.told(seat), ask)
    except RunFailed:
        raise
    except Exception:  # of this game or its players: the games that fail likewise tell it
        return


def _first_ask(match: Match, seat: Seat) -> Ask | None:
    """Play up to the first time that a seat is asked; None if it never is."""
    opponent = player("random-legal", match.game, seed=0)
    assert isinstance(opponent, Scripted)
    for _ in range(MAX_MOVES):
        asks = match.pending()
        if seat in asks or not asks:
            return asks.get(seat)
        submit_reply(match, other(seat), opponent.reply(match.told(other(seat)), asks[other(seat)]))
    return None
