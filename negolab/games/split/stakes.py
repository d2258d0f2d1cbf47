"""What proposals would pay if the other seat kept just what they leave."""

from __future__ import annotations

from math import prod

from negolab.game import SEATS, Seat, other
from negolab.games.split.allocation import complement, points
from negolab.games.split.measures import frontier as divisions
from negolab.games.split.position import Action, Position, Proposal, Schedule

MOST = 20_000
"""Divisions of a stock up to which its frontier is listed."""


def stakes(state: Position, seat: Seat, action: Action) -> tuple[dict[Seat, int | float], ...]:
    """Points earned before and those of this round; words and `no deal` propose nothing."""
    if not isinstance(action, Proposal) or action.keep is None:
        return ()
    keep = {seat: action.keep, other(seat): complement(state.public.stock, action.keep)}
    own, values = state.private, _schedule(state).rounds[state.public.round - 1].values
    return ({s: sum((*own[s].earned, points(keep[s], values[s])), 0.0) for s in SEATS},)


def frontier(state: Position) -> tuple[tuple[float, float], ...]:
    """Over the divisions of this round's whole stock in whole units, on top of what was earned before; () when the
    match is over and for more than `MOST` divisions."""
    public = state.public
    if public.phase == "over" or prod(units + 1 for units in public.stock) > MOST:
        return ()
    values = _schedule(state).rounds[public.round - 1].values
    a, b = (sum(state.private[seat].earned, 0.0) for seat in SEATS)
    return tuple((a + x, b + y) for x, y in reversed(divisions(public.stock, values["A"], values["B"])))


def _schedule(state: Position) -> Schedule:
    assert isinstance(state.hidden, Schedule)
    return state.hidden
