"""What proposals would pay, and the best that any could."""

from __future__ import annotations

from negolab.game import Seat
from negolab.games.balloon import play
from negolab.games.balloon.scores import LISTED
from negolab.games.balloon.state import Names, State
from negolab.theory.frontier import knapsack


def pays(state: State, names: Names) -> dict[Seat, int | float]:
    """What both seats are paid for a deal on this set; nothing if it is over the LIMIT."""
    terms, own = state.public.terms, state.private
    if play.total(terms.effort, names) > terms.limit:
        return {"A": 0, "B": 0}
    return {"A": play.total(own["A"].importance, names), "B": play.total(own["B"].importance, names)}


def frontier(state: State) -> tuple[tuple[float, float], ...]:
    """All undominated pairs within the LIMIT; () for more than `LISTED` items, whose frontier can take hours."""
    terms, own = state.public.terms, state.private
    if len(terms.effort) > LISTED:
        return ()
    return knapsack(terms.effort, own["A"].importance, own["B"].importance, terms.limit).points
