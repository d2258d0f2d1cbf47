"""Published balloon episodes as frames: models' results, and a check of the stored scores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pandas as pd

from negolab.analysis import measures
from negolab.analysis.comparisons import behind_best
from negolab.analysis.estimates import Measure
from negolab.events import Stepped
from negolab.formats import clembench
from negolab.game import SEATS, Seat, other
from negolab.record import Record, final_state


def episodes(records: Iterable[Record]) -> pd.DataFrame:
    """Return one row per episode and seat.

    Args:
        records: Episodes imported by `formats.clembench`.

    Returns:
        Columns for the episode: `match`, `draw` (the instance, the same for all models: language, experiment and
        number), `experiment`, `end`, `score` (the Main Score as a percentage, 0 if aborted), `quality` (the Main Score,
        missing if aborted), `deals` and `aborted` (0 or 1), and `turns` (accepted messages up to a deal, missing
        without one).

        Columns for the seat: `seat`, `player` and `opponent` (models), `concession` (percentage of its best, per
        proposal), `format` and `rule` (faults of each kind), and `lost` (1 if its fault ended the episode, else 0).
    """
    return pd.DataFrame([row for record in records for row in _rows(record)], columns=_COLUMNS)


_COLUMNS = [
    *("match", "draw", "deterministic", "experiment", "seat", "player", "opponent", "end", "score", "quality", "deals"),
    *("aborted", "turns", "concession", "format", "rule", "lost"),
]


def _rows(record: Record) -> Iterator[dict[str, Any]]:
    found, notes, players = measures.measure_match(record), record.header.notes, record.header.players
    game: Any = record.game
    experiment = notes.get("experiment", "?")
    lost_by = final_state(record).public.ended_by
    # A legal message, such as one that refuses the same set twice, can lose the match at once; there is then no
    # rejected reply.
    at_once = record.end == "FORFEIT" and isinstance(record.events[-2], Stepped)
    whole = {
        "match": record.id,
        "draw": f"{game.language}/{experiment}/{notes.get('game_id', record.id)}",
        "deterministic": False,
        "experiment": experiment,
        "end": record.end,
        "score": found["main"] or 0.0,
        "quality": found["main"],
        "deals": float(record.end == "AGREED"),
        "aborted": float(record.end == "ABORTED"),
        "turns": found["turns_to_deal"],
    }
    for seat in SEATS:
        away: Seat = other(seat)
        yield {
            **whole,
            "seat": seat,
            "player": players.get(seat) or "?",
            "opponent": players.get(away) or "?",
            "concession": found[f"norm_concession_{seat.lower()}"],
            "format": found[f"format_faults_{seat.lower()}"],
            "rule": found[f"rule_faults_{seat.lower()}"] + (at_once and lost_by == seat),
            "lost": float(lost_by == seat),
        }


MEASURES = (
    Measure("score (%)", "score"),
    Measure("deals (% of episodes)", "deals", "share"),
    Measure("accepted messages to a deal", "turns"),
    Measure("concession (% of own best, per proposal)", "concession"),
    Measure("a fault of form (% of episodes)", "format", "share"),
    Measure("a broken rule (% of episodes)", "rule", "share"),
)
"""Measures on the rows of `episodes` that compare models; a share counts an episode with faults by both seats once."""


# The stored scores.


def stored(records: Iterable[Record]) -> pd.DataFrame:
    """Return one row per episode and stored score: `match`, `name`, `stored`, `derived` (from the dialogue) and `same`.

    Values are strings; "undefined" if there is none.
    """
    rows = [
        {"match": record.id, "name": pair.name, "stored": _said(pair.theirs), "derived": _said(pair.ours), "same": same}
        for record in records
        for pair in clembench.score_pairs(record)
        for same in (pair.same,)
    ]
    return pd.DataFrame(rows, columns=["match", "name", "stored", "derived", "same"])


def _said(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return "undefined" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)


# Comparisons.


def behind(frame: pd.DataFrame) -> pd.DataFrame:
    """Compare each model's score with that of the model with the highest mean score, on the same instances.

    Args:
        frame: The rows of `episodes`; models need not have played the same instances.

    Returns:
        The rows of `comparisons.behind_best` (percentage points, `n` instances), without those that have no instance.
    """
    found = behind_best(frame.drop(columns="opponent"), "score", by=())
    return found[found["n"] > 0].reset_index(drop=True)
