"""Measures of a balloon match: its deal against what was possible, and how the proposals moved."""

from __future__ import annotations

from typing import Any

from negolab.analysis.measures import flat
from negolab.game import SEATS
from negolab.games.balloon import scores
from negolab.games.balloon.stakes import pays
from negolab.games.balloon.state import Names
from negolab.record import Record, final
from negolab.theory.frontier import knapsack


def measures(record: Record) -> dict[str, Any]:
    """What `measures.of` says of balloon besides. From `Game.details`, as clembench defines them, exact: `norm` of each
    seat (its worth in percent of the most it could reach), `harmonic` (their harmonic mean, percent),
    `normalised_harmonic` (percent of the largest that is possible), `main` (clembench's Main Score; None if aborted, 0
    without a deal), `pareto`, `effort` of the deal; None without a deal.

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
    return {
        **flat({"norm": norm}),
        **{name: told[name] for name in ("harmonic", "normalised_harmonic", "main", "pareto", "effort")},
        **flat({"stubbornness": {seat: scores.stubbornness(names) for seat, names in own.items()}}),
        "pareto_proposals": _pareto([names for _, names in made], state),
        "switches": scores.switches(made),
        "change": scores.change([names for _, names in made]),
    }


def _pareto(proposed: list[Names], state: Any) -> float | None:
    terms, own = state.public.terms, state.private
    if len(terms.effort) > scores.LISTED:
        return None
    frontier = knapsack(terms.effort, own["A"].importance, own["B"].importance, terms.limit)
    worths = (pays(state, names) for names in proposed)
    return scores.pareto_share(((int(pay["A"]), int(pay["B"])) for pay in worths), frontier)
