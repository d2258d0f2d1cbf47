"""Measures of a balloon match: its deal against what was possible, and how the proposals moved."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from math import hypot
from typing import Any

from negolab.analysis import measures as general
from negolab.game import SEATS, Seat
from negolab.games.balloon import scores
from negolab.games.balloon.stakes import pays
from negolab.games.balloon.state import Names
from negolab.record import Record, final, start
from negolab.theory.frontier import Frontier, knapsack

Norms = dict[Seat, float | None]


def measures(record: Record) -> dict[str, Any]:
    """What `measures.of` says of balloon besides. From `Game.details`, as clembench defines them, exact: `norm` of each
    seat (its worth in percent of the most it could reach), `harmonic` (their harmonic mean, percent),
    `normalised_harmonic` (percent of the largest that is possible), `main` (clembench's Main Score; None if aborted, 0
    without a deal), `pareto`, `effort` of the deal; None without a deal.

    `norm_distance` is how far both norms are from the nearest point of the frontier, straight line, in percentage
    points, so that deals on other items compare; None without a deal and for more than 50 items. `norm_concession` of
    each seat is its `concession` in percent of the most it could reach.

    Of the proposals, as in the literature, from 0 to 1 and None where there are too few: `stubbornness` of each seat
    (repeats among its own), `pareto_proposals` (share that no set within the LIMIT dominates; None too for more than 50
    items), `switches` (how often the proposer changes), and `change` (mean part of a set that differs from the one
    proposed before; may exceed 1).
    """
    game: Any = record.game
    state = final(record)
    told = game.details(state)
    made = scores.proposals(game.reader, state)
    own = {seat: [names for by, names in made if by == seat] for seat in SEATS}
    norm = told["norm"] or dict.fromkeys(SEATS)
    frontier = _frontier(state)
    return {
        **general.flat({"norm": norm}),
        **{name: told[name] for name in ("harmonic", "normalised_harmonic", "main", "pareto", "effort")},
        "norm_distance": _distance(norm, frontier),
        **general.flat({"norm_concession": _conceded(record, state)}),
        **general.flat({"stubbornness": {seat: scores.stubbornness(names) for seat, names in own.items()}}),
        "pareto_proposals": _pareto([names for _, names in made], state, frontier),
        "switches": scores.switches(made),
        "change": scores.change([names for _, names in made]),
    }


def reach(record: Record, shares: Sequence[float]) -> list[float] | None:
    """The frontier of a match's start in percent of the most each seat could reach: the most that B can have while A
    has at least each of `shares` (from 0 to 100). None for more than 50 items, and where a seat can reach nothing."""
    frontier = _frontier(start(record))
    if frontier is None or not (frontier.max_a and frontier.max_b):
        return None
    points = _percent(frontier)
    rising = [a for a, _ in points]
    return [points[bisect_left(rising, share)][1] for share in shares]


def _frontier(state: Any) -> Frontier | None:
    terms, own = state.public.terms, state.private
    if len(terms.effort) > scores.LISTED:
        return None
    return knapsack(terms.effort, own["A"].importance, own["B"].importance, terms.limit)


def _percent(frontier: Frontier) -> list[tuple[float, float]]:
    return [(100 * a / frontier.max_a, 100 * b / frontier.max_b) for a, b in frontier.points]


def _distance(norm: Norms, frontier: Frontier | None) -> float | None:
    a, b = norm["A"], norm["B"]
    if frontier is None or a is None or b is None:
        return None
    return min(hypot(a - x, b - y) for x, y in _percent(frontier))


def _conceded(record: Record, state: Any) -> Norms:
    terms, own = state.public.terms, state.private
    most = scores.possible(terms.effort, own["A"].importance, own["B"].importance, terms.limit)
    tops = {"A": most.max_a, "B": most.max_b}
    points = general.concession(record)
    return {seat: 100 * step / tops[seat] if step is not None and tops[seat] else None for seat, step in points.items()}


def _pareto(proposed: list[Names], state: Any, frontier: Frontier | None) -> float | None:
    if frontier is None:
        return None
    worths = (pays(state, names) for names in proposed)
    return scores.pareto_share(((int(pay["A"]), int(pay["B"])) for pay in worths), frontier)
