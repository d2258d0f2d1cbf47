"""The scores that clembench stored with an episode, beside those that its dialogue comes to by the rules."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from negolab.game import End
from negolab.games.balloon import Balloon
from negolab.games.balloon.state import State
from negolab.record import Record, final

NOTE = "official"
"""In the notes of an imported record: what its files say, by their own names."""
END = "end"
MAIN = "Main Score"
"""Of `scores.json`; all others are of `interactions.json`."""

_ENDS: dict[str, End] = {"Success": "AGREED", "Lose": "FORFEIT", "Aborted": "ABORTED"}


class Pair(NamedTuple):
    """One score: its name in the file, what stands there, and what the dialogue comes to; None where undefined."""

    name: str
    theirs: Any
    ours: Any

    @property
    def same(self) -> bool:
        """Equal, numbers to within rounding."""
        if all(isinstance(value, int | float) for value in self[1:]):
            return math.isclose(self.theirs, self.ours, rel_tol=1e-9, abs_tol=1e-9)
        return bool(self.theirs == self.ours)


def stored(played: Mapping[str, Any], scored: Mapping[str, Any]) -> dict[str, Any]:
    """What `interactions.json` and `scores.json` say of the result, as far as they say it; their NaN is None. The
    Pareto flag is left alone: it is wrong by design where both seats value alike."""
    ends = [end for name, end in _ENDS.items() if played.get(name)]
    found: dict[str, Any] = {END: " and ".join(ends)} if ends else {}
    found |= {name: _defined(played[name]) for name in _SCORES if name in played}
    main = scored.get("episode scores", {}).get(MAIN, math.inf)
    return found if main == math.inf else found | {MAIN: _defined(main)}


def _defined(value: Any) -> Any:
    if isinstance(value, list):
        return sorted(value)
    return None if isinstance(value, float) and math.isnan(value) else value


_SCORES = (
    "final deal",
    "Total weight deal",
    "Normalized Utility Player 1",
    "Normalized Utility Player 2",
    "Normalized harmonic mean",
)


def compared(theirs: Mapping[str, Any], game: Balloon, state: State) -> Iterator[Pair]:
    """Each stored score beside ours."""
    end = state.public.end
    details = game.details(state)
    norm = details["norm"] or {"A": None, "B": None}
    of_deal = (details["deal"], details["effort"], norm["A"], norm["B"], details["normalised_harmonic"])
    ours = {END: end, **dict(zip(_SCORES, of_deal, strict=True)), MAIN: details["main"]}
    yield from (Pair(name, value, ours[name]) for name, value in theirs.items())


def pairs(record: Record) -> tuple[Pair, ...]:
    """The stored scores of an imported episode beside those of its dialogue, played again; () for other records."""
    theirs = record.header.notes.get(NOTE)
    game = record.game
    return tuple(compared(theirs, game, final(record))) if theirs and isinstance(game, Balloon) else ()
