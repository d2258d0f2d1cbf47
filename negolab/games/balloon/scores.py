"""Measures of a deal against what was possible: as clembench defines them, exact, never read from a file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from statistics import fmean

import msgspec

from negolab.game import End, Seat
from negolab.games.balloon.reading import Reader
from negolab.games.balloon.state import Names, Say, State
from negolab.theory.frontier import Frontier, best, knapsack
from negolab.theory.targets import is_undominated, largest_mean

Worths = tuple[int, int]
Numbers = Mapping[str, int]
LISTED = 50
"""Items up to which the whole frontier is listed (and kept) to score a deal; listing that of 300 can take hours."""


class Scores(msgspec.Struct, frozen=True):
    """Percentages; None where undefined. `main` is clembench's Main Score."""

    norm: dict[Seat, float | None] | None
    harmonic: float | None
    normalised_harmonic: float | None
    main: float | None
    pareto: bool


class Possible(msgspec.Struct, frozen=True):
    """What an instance allows: the most each seat can reach alone, and the largest mean of the two norms."""

    max_a: int
    max_b: int
    max_harmonic: float | None


def _listed(effort: Numbers, a: Numbers, b: Numbers) -> bool:
    """Whether to list the frontier; the other way computes its bounds in floats, and huge numbers are none for it."""
    return len(effort) <= LISTED or max(sum(numbers.values()) for numbers in (effort, a, b)) >= 1 << 40


def possible(effort: Numbers, a: Numbers, b: Numbers, limit: int) -> Possible:
    """What can be reached within the LIMIT."""
    if _listed(effort, a, b):
        frontier = knapsack(effort, a, b, limit)
        return Possible(frontier.max_a, frontier.max_b, max_harmonic(frontier))
    tops = (sum(a[name] for name in best(effort, a, limit)), sum(b[name] for name in best(effort, b, limit)))
    return Possible(*tops, largest_mean(effort, a, b, limit, tops) if all(tops) else None)


def is_pareto(worths: Worths, effort: Numbers, a: Numbers, b: Numbers, limit: int) -> bool:
    """Whether no set within the LIMIT is at least as good for both and better for one."""
    if _listed(effort, a, b):
        return worths in knapsack(effort, a, b, limit).points
    return is_undominated(effort, a, b, limit, worths)


def mean(x: float | None, y: float | None) -> float | None:
    """The harmonic mean; undefined (None) of two zeros and of what is undefined."""
    return None if x is None or y is None or x + y == 0 else 2 * x * y / (x + y)


def norms(worths: Worths, max_a: int, max_b: int) -> tuple[float | None, float | None]:
    """Each seat's worth as a percentage of the most it could reach."""
    return (100 * worths[0] / max_a if max_a else None, 100 * worths[1] / max_b if max_b else None)


def max_harmonic(frontier: Frontier) -> float | None:
    """The largest harmonic mean of the two norms over all sets within the LIMIT."""
    means = (mean(*norms(point, frontier.max_a, frontier.max_b)) for point in frontier.points)
    return max((h for h in means if h is not None), default=None)


def without_deal(end: End | None) -> Scores:
    """A match that was aborted (or is not over) has no main score; any other without a deal has 0."""
    return Scores(None, None, None, None if end in (None, "ABORTED") else 0, False)


def over_limit() -> Scores:
    """A deal over the LIMIT scores 0 throughout."""
    return Scores({"A": 0, "B": 0}, 0, 0, 0, False)


def of_deal(worths: Worths, reach: Possible, pareto: bool, nothing: float | None) -> Scores:
    """The scores of a deal within the LIMIT; `nothing` is the harmonic mean of a deal that is worth 0 to both."""
    a, b = norms(worths, reach.max_a, reach.max_b)
    harmonic = nothing if worths == (0, 0) else mean(a, b)
    normalised = _share(harmonic, reach.max_harmonic)
    return Scores({"A": a, "B": b}, harmonic, normalised, normalised, pareto)


def _share(harmonic: float | None, top: float | None) -> float | None:
    if not harmonic:
        return harmonic
    return 100 * harmonic / top if top else None


def clemscore(experiments: Mapping[str, Sequence[float | None]]) -> dict[str, float | None]:
    """%played, quality and clemscore from the main scores of all matches by experiment (None: not played).

    %played is the share of matches not aborted, quality the mean main score of those; both are averaged over the
    experiments first, then multiplied.
    """
    played = [100 * sum(main is not None for main in mains) / len(mains) for mains in experiments.values() if mains]
    kept = [[main for main in mains if main is not None] for mains in experiments.values()]
    quality = fmean(fmean(mains) for mains in kept if mains) if any(kept) else None
    share = fmean(played) if played else None
    score = share / 100 * quality if share is not None and quality is not None else None
    return {"played": share, "quality": quality, "clemscore": score}


def proposals(reader: Reader, state: State) -> list[tuple[Seat, Names]]:
    """Every proposal of an accepted message, in order: those of a hidden reasoning block count where the rules do."""
    thoughts = {seat: iter(private.reasoning) for seat, private in state.private.items()}
    found: list[tuple[Seat, Names]] = []
    for message in state.public.messages:
        if message.accepted:
            said = reader.read(reader.write(Say(message.text, next(thoughts[message.seat], None))))
            found += [(message.seat, names) for names in said.propose] if isinstance(said, Say) else []
    return found


def stubbornness(own: Sequence[Names]) -> float | None:
    """Repeated own proposals per own proposal."""
    return (len(own) - len(set(own))) / len(own) if own else None


def pareto_share(worths: Iterable[Worths], frontier: Frontier) -> float | None:
    """The share of proposals (by their worths to A and B) that no set within the LIMIT dominates."""
    points = set(frontier.points)
    flags = [pair in points for pair in worths]
    return fmean(flags) if flags else None


def switches(proposals: Sequence[tuple[Seat, Names]]) -> float | None:
    """How often the proposer changes from one proposal to the next, per step."""
    steps = [before[0] != after[0] for before, after in pairwise(proposals)]
    return fmean(steps) if steps else None


def change(proposals: Sequence[Names]) -> float | None:
    """The mean of `|symmetric difference| / |previous|` over consecutive proposals."""
    steps = [len(old ^ new) / len(old) for old, new in pairwise(proposals) if old]
    return fmean(steps) if steps else None
