"""Measures of a balloon match: its deal against what was possible, as clembench defines them but exact, and how the
proposals moved."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from math import hypot
from statistics import fmean
from typing import Any

import msgspec

from negolab.analysis import measures as general
from negolab.game import SEATS, End, Seat
from negolab.games.balloon.effects import deal_payoffs, total
from negolab.games.balloon.reading import Reader
from negolab.games.balloon.state import Names, Rules, Say, State
from negolab.record import Record, final_state, start_state
from negolab.theory.frontier import Frontier, best_set, is_undominated, knapsack, max_harmonic_mean

Worths = tuple[int, int]
Numbers = Mapping[str, int]
MAX_LISTED = 50
"""Largest number of items for which the frontier is listed to score a deal; for 300 items that can take hours."""


class Scores(msgspec.Struct, frozen=True):
    """Percentages; None if undefined, or if too many sets had to be compared (see `theory.frontier`). `main` is
    clembench's Main Score."""

    norm: dict[Seat, float | None] | None
    harmonic: float | None
    normalised_harmonic: float | None
    main: float | None
    pareto: bool | None


class Attainable(msgspec.Struct, frozen=True):
    """Attainable values in an instance: the most each seat can reach, and the largest harmonic mean of the two norms
    (None if too many sets had to be compared)."""

    max_a: int
    max_b: int
    max_harmonic: float | None


def attainable(effort: Numbers, a: Numbers, b: Numbers, limit: int) -> Attainable:
    """Return what can be reached within the LIMIT."""
    frontier = _listed(effort, a, b, limit)
    if frontier is not None:
        return Attainable(frontier.max_a, frontier.max_b, max_harmonic(frontier))
    tops = (sum(a[name] for name in best_set(effort, a, limit)), sum(b[name] for name in best_set(effort, b, limit)))
    return Attainable(*tops, max_harmonic_mean(effort, a, b, limit, tops) if all(tops) else None)


def is_pareto(worths: Worths, effort: Numbers, a: Numbers, b: Numbers, limit: int) -> bool | None:
    """Return True if no set within the LIMIT is at least as good for both and better for one."""
    frontier = _listed(effort, a, b, limit)
    if frontier is not None:
        return worths in frontier.points
    return is_undominated(effort, a, b, limit, worths)


def harmonic_mean(x: float | None, y: float | None) -> float | None:
    """Return the harmonic mean; None if both numbers are zero or one is undefined."""
    return None if x is None or y is None or x + y == 0 else 2 * x * y / (x + y)


def norms_of(worths: Worths, max_a: int, max_b: int) -> tuple[float | None, float | None]:
    """Return each seat's worth as a percentage of the most it could reach; None if it can reach nothing."""
    return (100 * worths[0] / max_a if max_a else None, 100 * worths[1] / max_b if max_b else None)


def max_harmonic(frontier: Frontier) -> float | None:
    """Return the largest harmonic mean of the two norms over all sets within the LIMIT."""
    means = (harmonic_mean(*norms_of(point, frontier.max_a, frontier.max_b)) for point in frontier.points)
    return max((h for h in means if h is not None), default=None)


def scores(state: State, rules: Rules) -> Scores:
    """Score a match's deal; without one, only `main` and `pareto` are defined."""
    public, own = state.public, state.private
    if public.deal is None:
        return no_deal_scores(public.end)
    terms = public.terms
    if total(terms.effort, public.deal) > terms.limit:
        return over_limit_scores()
    instance = (terms.effort, own["A"].importance, own["B"].importance, terms.limit)
    worths = total(own["A"].importance, public.deal), total(own["B"].importance, public.deal)
    nothing = 0 if rules == "stated" else None
    return deal_scores(worths, attainable(*instance), is_pareto(worths, *instance), nothing)


def no_deal_scores(end: End | None) -> Scores:
    """Score a match without a deal: no main score if it was aborted or is not over, otherwise 0."""
    return Scores(None, None, None, None if end in (None, "ABORTED") else 0, False)


def over_limit_scores() -> Scores:
    """Score a deal over the LIMIT: 0 throughout."""
    return Scores({"A": 0, "B": 0}, 0, 0, 0, False)


def deal_scores(worths: Worths, reach: Attainable, pareto: bool | None, nothing: float | None) -> Scores:
    """Score a deal within the LIMIT; `nothing` is the harmonic mean for a deal worth 0 to both."""
    a, b = norms_of(worths, reach.max_a, reach.max_b)
    harmonic = nothing if worths == (0, 0) else harmonic_mean(a, b)
    normalised = _normalise(harmonic, reach.max_harmonic)
    return Scores({"A": a, "B": b}, harmonic, normalised, normalised, pareto)


def _normalise(harmonic: float | None, top: float | None) -> float | None:
    if not harmonic:
        return harmonic
    return 100 * harmonic / top if top else None


def clemscore(experiments: Mapping[str, Sequence[float | None]]) -> dict[str, float | None]:
    """Return %played, quality and clemscore from the main scores of all matches by experiment (None: not played).

    %played is the share of matches not aborted, and quality is their mean main score; both are first averaged over the
    experiments, then multiplied.
    """
    played = [100 * sum(main is not None for main in mains) / len(mains) for mains in experiments.values() if mains]
    kept = [[main for main in mains if main is not None] for mains in experiments.values()]
    quality = fmean(fmean(mains) for mains in kept if mains) if any(kept) else None
    share = fmean(played) if played else None
    score = share / 100 * quality if share is not None and quality is not None else None
    return {"played": share, "quality": quality, "clemscore": score}


def proposals(reader: Reader, state: State) -> list[tuple[Seat, Names]]:
    """Return every proposal in accepted messages, in order; those in reasoning blocks count if the rules count them."""
    thoughts = {seat: iter(private.reasoning) for seat, private in state.private.items()}
    found: list[tuple[Seat, Names]] = []
    for message in state.public.messages:
        if message.accepted:
            said = reader.read(reader.write(Say(message.text, next(thoughts[message.seat], None))))
            found += [(message.seat, names) for names in said.propose] if isinstance(said, Say) else []
    return found


def stubbornness(own: Sequence[Names]) -> float | None:
    """Return the share of a seat's proposals that repeat an earlier one; None if there are none."""
    return (len(own) - len(set(own))) / len(own) if own else None


def pareto_share(worths: Iterable[Worths], frontier: Frontier) -> float | None:
    """Return the share of proposals (given by their worth to A and B) that no set within the LIMIT dominates."""
    points = set(frontier.points)
    flags = [pair in points for pair in worths]
    return fmean(flags) if flags else None


def proposer_switches(proposals: Sequence[tuple[Seat, Names]]) -> float | None:
    """Return the share of steps from one proposal to the next at which the proposer changes."""
    steps = [before[0] != after[0] for before, after in pairwise(proposals)]
    return fmean(steps) if steps else None


def mean_change(proposals: Sequence[Names]) -> float | None:
    """Return the mean of `|symmetric difference| / |previous|` over consecutive proposals."""
    steps = [len(old ^ new) / len(old) for old, new in pairwise(proposals) if old]
    return fmean(steps) if steps else None


def listed_frontier(state: State) -> Frontier | None:
    """Return all undominated payoffs within the LIMIT; None for more than `MAX_LISTED` items or too many sets."""
    terms, own = state.public.terms, state.private
    return _listed(terms.effort, own["A"].importance, own["B"].importance, terms.limit)


def _listed(effort: Numbers, a: Numbers, b: Numbers, limit: int) -> Frontier | None:
    return knapsack(effort, a, b, limit) if len(effort) <= MAX_LISTED else None


# Measures of a record.

Norms = dict[Seat, float | None]


def measures(record: Record) -> dict[str, Any]:
    """Return the measures of a balloon match beyond those common to all games.

    The first six are as clembench defines them, but exact. Those of proposals are None if there are too few.

    Returns:
        norm: the deal's worth to the seat as a percentage of the most it could reach; empty: no deal
        harmonic: harmonic mean of both norms; empty: no deal
        normalised_harmonic: harmonic mean as a percentage of the largest possible one; empty: no deal, or too many sets
            to compare
        main: clembench's Main Score; empty if aborted or too many sets, 0 without a deal
        pareto: true: no set within the limit is better for one seat and not worse for the other; empty: too many sets
        effort: effort of the deal
        norm_distance: distance from both norms to the nearest point of the frontier, in percentage points; empty: no
            deal, or more than 50 items
        norm_concession: the seat's mean concession as a percentage of the most it could reach
        stubbornness: share of repeats among the seat's own proposals
        pareto_proposals: share of the proposals that no set within the limit dominates; empty: more than 50 items
        switches: share of the proposals that follow one by the other seat
        change: mean part of a set that differs from the previous proposal; may exceed 1
    """
    game: Any = record.game
    state = final_state(record)
    told = game.details(state)
    made = proposals(game.reader, state)
    own = {seat: [names for by, names in made if by == seat] for seat in SEATS}
    norm = told["norm"] or dict.fromkeys(SEATS)
    frontier = listed_frontier(state)
    return {
        **general.flatten_by_seat({"norm": norm}),
        **{name: told[name] for name in ("harmonic", "normalised_harmonic", "main", "pareto", "effort")},
        "norm_distance": _norm_distance(norm, frontier),
        **general.flatten_by_seat({"norm_concession": _norm_concession(record, state)}),
        **general.flatten_by_seat({"stubbornness": {seat: stubbornness(names) for seat, names in own.items()}}),
        "pareto_proposals": _pareto_proposals([names for _, names in made], state, frontier),
        "switches": proposer_switches(made),
        "change": mean_change([names for _, names in made]),
    }


def frontier_in_percent(record: Record, shares: Sequence[float]) -> list[float] | None:
    """Return the frontier of a match in percentages of the most each seat could reach: for each of `shares` (0 to 100),
    the most that B can have while A has at least that share. None for more than 50 items, or if a seat can reach
    nothing."""
    frontier = listed_frontier(start_state(record))
    if frontier is None or not (frontier.max_a and frontier.max_b):
        return None
    points = _points_in_percent(frontier)
    rising = [a for a, _ in points]
    return [points[bisect_left(rising, share)][1] for share in shares]


def _points_in_percent(frontier: Frontier) -> list[tuple[float, float]]:
    return [(100 * a / frontier.max_a, 100 * b / frontier.max_b) for a, b in frontier.points]


def _norm_distance(norm: Norms, frontier: Frontier | None) -> float | None:
    a, b = norm["A"], norm["B"]
    if frontier is None or a is None or b is None:
        return None
    return min(hypot(a - x, b - y) for x, y in _points_in_percent(frontier))


def _norm_concession(record: Record, state: Any) -> Norms:
    terms, own = state.public.terms, state.private
    most = attainable(terms.effort, own["A"].importance, own["B"].importance, terms.limit)
    tops = {"A": most.max_a, "B": most.max_b}
    points = general.concession(record)
    return {seat: 100 * step / tops[seat] if step is not None and tops[seat] else None for seat, step in points.items()}


def _pareto_proposals(proposed: list[Names], state: Any, frontier: Frontier | None) -> float | None:
    if frontier is None:
        return None
    worths = (deal_payoffs(state, names) for names in proposed)
    return pareto_share(((int(pay["A"]), int(pay["B"])) for pay in worths), frontier)


MEASURES = measures
"""All measures of a match together, because they share one replay."""
