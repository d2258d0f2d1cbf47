"""Published balloon episodes as frames: what models made of them, and whether their stored scores hold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import pandas as pd

from negolab.analysis import measures, stats
from negolab.formats import official
from negolab.game import SEATS, Seat, other
from negolab.record import Record


def episodes(records: Iterable[Record]) -> pd.DataFrame:
    """One row per episode and seat. `deal` is the instance (language, experiment and number), the same for all models;
    `player` and `opponent` are models. Of both together: `end`, `score` (percent: the Main Score, 0 if the episode was
    aborted), `quality` (the Main Score, missing if aborted), `deals` and `aborted` (0 or 1), `turns` (accepted messages
    to a deal, missing without one). Of the seat: `concession` (percent of the most that it could reach, per proposal),
    `format` and `rule` (how many replies were rejected for it) and `lost` (whether its fault ended the episode)."""
    return pd.DataFrame([row for record in records for row in _rows(record)], columns=_COLUMNS)


_COLUMNS = [
    *("match", "deal", "experiment", "seat", "player", "opponent", "end", "score", "quality", "deals", "aborted"),
    *("turns", "concession", "format", "rule", "lost"),
]


def _rows(record: Record) -> Iterator[dict[str, Any]]:
    found, notes, players = measures.of(record), record.header.notes, record.header.players
    game: Any = record.game
    experiment = notes.get("experiment", "?")
    lost = measures.lost_by(record)
    whole = {
        "match": record.id,
        "deal": f"{game.language}/{experiment}/{notes.get('game_id', record.id)}",
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
            "rule": found[f"rule_faults_{seat.lower()}"],
            "lost": float(lost is not None and lost[0] == seat),
        }


# Estimates.


class _Measure(NamedTuple):
    """A measure to show, by its column; `counted`: a share of episodes, else a mean over instances."""

    name: str
    column: str
    counted: bool


MEASURES = (
    _Measure("score (%)", "score", False),
    _Measure("deals (% of episodes)", "deals", True),
    _Measure("accepted messages to a deal", "turns", False),
    _Measure("concession (% of own best per proposal)", "concession", False),
    _Measure("format fault (% of episodes)", "format", True),
    _Measure("rule fault (% of episodes)", "rule", True),
)


def estimates(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows of `episodes` as estimates: a row per model (`name`) and `measure` with `value`, `low`, `high`, `n`.
    Shares count an episode once (Wilson's interval), whoever of two seats made the fault. Means are over instances,
    each the mean of its episodes (a bootstrap interval, because scores crowd at 0 and 100)."""
    rows = [
        {"name": player, "measure": measure.name, **_estimate(part, measure)._asdict()}
        for player, part in frame.groupby("player", sort=False)
        for measure in MEASURES
    ]
    return pd.DataFrame(rows, columns=["name", "measure", *stats.Estimate._fields])


def _estimate(part: pd.DataFrame, measure: _Measure) -> stats.Estimate:
    if measure.counted:
        hit = (part[measure.column] > 0).groupby(part["match"]).any()
        share = stats.share(int(hit.sum()), len(hit))
        return stats.Estimate(100 * share.value, 100 * share.low, 100 * share.high, share.n)
    known = part.dropna(subset=[measure.column]).astype({measure.column: float})
    return stats.bootstrap(list(known.groupby("deal")[measure.column].mean()))


# The stored scores.


def stored(records: Iterable[Record]) -> pd.DataFrame:
    """One row per episode and stored score: its `name` in the files, what they say (`stored`), what the dialogue comes
    to (`derived`), and whether these are the `same`. Values are text; "undefined" is what has none."""
    rows = [
        {"match": record.id, "name": pair.name, "stored": _said(pair.theirs), "derived": _said(pair.ours), "same": same}
        for record in records
        for pair in official.pairs(record)
        for same in (pair.same,)
    ]
    return pd.DataFrame(rows, columns=["match", "name", "stored", "derived", "same"])


def _said(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return "undefined" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)
