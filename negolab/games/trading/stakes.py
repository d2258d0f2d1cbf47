"""What offers would bring: gains, because who wins depends on the whole match."""

from __future__ import annotations

from typing import TYPE_CHECKING

from negolab.game import Seat, other
from negolab.games.trading.goods import covers
from negolab.games.trading.position import Move, Position, gain, traded
from negolab.theory.surplus import exchanges

if TYPE_CHECKING:
    from negolab.games.trading.rules import Trading


def stakes(game: Trading, state: Position, seat: Seat, move: Move) -> tuple[dict[Seat, int | float], ...]:
    """Both gains since the start if the offer were carried out at once, after what the message itself accepts."""
    after = game.step(state, {seat: move})
    offer, taker = after.public.messages[-1].offer, other(seat)
    if offer is None or not covers(after.private[taker].holdings, offer.want):
        return ()
    own = traded(after.private, offer, taker)
    return ({"A": gain(own["A"]), "B": gain(own["B"])},)


def frontier(state: Position) -> tuple[tuple[float, float], ...]:
    """The corners of the frontier of gains over all reallocations of the goods, taken as divisible."""
    a, b = state.private["A"], state.private["B"]
    return exchanges(a.values, b.values, a.start, b.start)
