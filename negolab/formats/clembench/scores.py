"""Stored scores of published episodes, and the same scores derived from the dialogue."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from negolab.events import Replied
from negolab.game import End
from negolab.games.balloon import Balloon
from negolab.games.balloon.state import State
from negolab.record import Record, final_state

NOTE = "official"
"""Name of the note in an imported record that holds the scores of its files, under their own names."""
END = "end"

_ENDS: dict[str, End] = {"Success": "AGREED", "Lose": "FORFEIT", "Aborted": "ABORTED"}
_PARETO = "Is Pareto Optimum Deal"
_PLAYED = (
    "final deal",
    "Total weight deal",
    "Normalized Utility Player 1",
    "Normalized Utility Player 2",
    "Normalized harmonic mean",
    _PARETO,
    "Played turns",
    "Violations Player 1",
    "Violations Player 2",
    "Total Violations",
    "Percent Violations Player 1",
    "Percent Violations Player 2",
)
"""Scores of `interactions.json`."""
_SCORED = (
    "Main Score",
    "Harmonic Mean Score",
    "Request Count",
    "Parsed Request Count",
    "Violated Request Count",
    "Request Success Ratio",
)
"""Scores of `scores.json` that `interactions.json` does not have, or only by round."""
_IN_SCORES = " (scores.json)"
"""Added to the name of a score on which the two files disagree."""


class ScorePair(NamedTuple):
    """One score: its name in the file, the stored value and the one derived from the dialogue; None where undefined."""

    name: str
    theirs: Any
    ours: Any

    @property
    def same(self) -> bool:
        """True if both values are equal, numbers up to rounding."""
        if all(isinstance(value, int | float) for value in self[1:]):
            return math.isclose(self.theirs, self.ours, rel_tol=1e-9, abs_tol=1e-9)
        return bool(self.theirs == self.ours)


def stored_scores(played: Mapping[str, Any], scored: Mapping[str, Any]) -> dict[str, Any]:
    """Return the scores stored in an episode's files that follow from its dialogue, with None for NaN.

    Left out are what the instance states (`Max harmonic mean`, `Max weight allowed`, `Pareto Optima Count`), counts by
    round, and the Pareto flag where both seats value items alike: clembench stores a fixed False there.

    Args:
        played: The content of `interactions.json`.
        scored: The content of `scores.json`; may be empty.
    """
    ends = [end for name, end in _ENDS.items() if played.get(name)]
    found = {name: _defined(played[name]) for name in _PLAYED if name in played}
    scores = {name: _defined(value) for name, value in scored.get("episode scores", {}).items()}
    return {
        **({END: " and ".join(ends)} if ends else {}),
        **found,
        **{name: scores[name] for name in _SCORED if name in scores},
        **{name + _IN_SCORES: scores[name] for name, value in found.items() if scores.get(name, value) != value},
    }


def _defined(value: Any) -> Any:
    if isinstance(value, list):
        return sorted(value)
    return None if isinstance(value, float) and math.isnan(value) else value


def _derive(game: Balloon, state: State, replies: int) -> dict[str, Any]:
    details = game.details(state)
    norm = details["norm"] or {"A": None, "B": None}
    of_deal = (details["deal"], details["effort"], norm["A"], norm["B"], details["normalised_harmonic"])
    # clembench counts a fault of form as a violation only where it aborts the episode.
    faults = {seat: int(state.public.end == "ABORTED" and state.public.ended_by == seat) for seat in ("A", "B")}
    fatal = sum(faults.values())
    percent = {seat: 100.0 * count for seat, count in faults.items()}
    played = (*of_deal, details["pareto"], replies, faults["A"], faults["B"], fatal, percent["A"], percent["B"])
    parsed = replies - fatal
    ratio = parsed / replies if replies else None
    scored = (details["main"], details["normalised_harmonic"], replies, parsed, fatal, ratio)
    return {
        END: state.public.end,
        **dict(zip(_PLAYED, played, strict=True)),
        **dict(zip(_SCORED, scored, strict=True)),
    }


def score_pairs(record: Record) -> tuple[ScorePair, ...]:
    """Return the stored scores of an imported episode with those of its replayed dialogue; () for other records."""
    theirs = record.header.notes.get(NOTE)
    game = record.game
    if not theirs or not isinstance(game, Balloon):
        return ()
    ours = _derive(game, final_state(record), sum(isinstance(event, Replied) for event in record.events))
    names = (name for name in theirs if name != _PARETO or game.mode != "equal")
    return tuple(ScorePair(name, theirs[name], ours.get(name.removesuffix(_IN_SCORES))) for name in names)


def score_lines(records: Iterable[Record], *, by_name: bool = False) -> Iterator[str]:
    """Yield how many stored scores were derived again, and the names of those that differ with their counts.

    Args:
        records: The records; those without stored scores are ignored.
        by_name: Yield first a line per name: how often it is stored and derived again, and the first record in which it
            differs.
    """
    pairs = [(record.id, pair) for record in records for pair in score_pairs(record)]
    stored = Counter(pair.name for _, pair in pairs)
    differing: dict[str, list[tuple[str, ScorePair]]] = {name: [] for name in stored}
    for id, pair in pairs:
        differing[pair.name] += [] if pair.same else [(id, pair)]
    width = max(map(len, stored), default=0)
    for name, wrong in differing.items() if by_name else ():
        line = f"{name:{width}}  {stored[name] - len(wrong):,} of {stored[name]:,}"
        if wrong:
            id, pair = wrong[0]
            line += f"; first: record {id}, {_said(pair.theirs)} in the file, {_said(pair.ours)} by the rules"
        yield line
    which = ", ".join(f"{name} {len(wrong):,}" for name, wrong in differing.items() if wrong)
    where = {id for wrong in differing.values() for id, _ in wrong}
    yield (
        f"{len(pairs) - sum(map(len, differing.values())):,} of {len(pairs):,} stored scores of "
        f"{len({id for id, _ in pairs}):,} episodes re-derived; "
        f"differences: {which or 'none'}{f' (in {len(where):,} of the episodes)' if where else ''}"
    )


def _said(value: Any) -> str:
    return "undefined" if value is None else str(value)


def describe_pair(pair: ScorePair) -> str:
    """Say in words how a stored score and the derived one differ."""
    if pair.name == END:
        return f"the file says {pair.theirs}, the rules {pair.ours or 'that the match continues'}"
    return f"{pair.name} is {_said(pair.theirs)} in the file, {pair.ours} by the rules"
