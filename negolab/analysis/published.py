"""Published balloon episodes as frames: what models made of them, and whether their stored scores hold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pandas as pd

from negolab.analysis import measures, stats
from negolab.analysis.estimates import Measure
from negolab.events import Stepped
from negolab.formats import official
from negolab.game import SEATS, Seat, other
from negolab.record import Record, final


def episodes(records: Iterable[Record]) -> pd.DataFrame:
    """One row per episode and seat. `deal` is the instance (language, experiment and number), the same for all models;
    `player` and `opponent` are models. Of both together: `end`, `score` (percent: the Main Score, 0 if the episode was
    aborted), `quality` (the Main Score, missing if aborted), `deals` and `aborted` (0 or 1), `turns` (accepted messages
    to a deal, missing without one). Of the seat: `concession` (percent of the most that it could reach, per proposal),
    `format` and `rule` (how many replies broke either) and `lost` (whether its fault ended the episode)."""
    return pd.DataFrame([row for record in records for row in _rows(record)], columns=_COLUMNS)


_COLUMNS = [
    *("match", "deal", "experiment", "seat", "player", "opponent", "end", "score", "quality", "deals", "aborted"),
    *("turns", "concession", "format", "rule", "lost"),
]


def _rows(record: Record) -> Iterator[dict[str, Any]]:
    found, notes, players = measures.of(record), record.header.notes, record.header.players
    game: Any = record.game
    experiment = notes.get("experiment", "?")
    lost_by = final(record).public.ended_by
    # Such as a set that is refused twice in one message: legal to say, and lost by it.
    at_once = record.end == "FORFEIT" and isinstance(record.events[-2], Stepped)
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
            "rule": found[f"rule_faults_{seat.lower()}"] + (at_once and lost_by == seat),
            "lost": float(lost_by == seat),
        }


MEASURES = (
    Measure("score (%)", "score", "bootstrap"),
    Measure("deals (% of episodes)", "deals", "share"),
    Measure("accepted messages to a deal", "turns", "bootstrap"),
    Measure("concession (% of own best, per proposal)", "concession", "bootstrap"),
    Measure("a fault of form (% of episodes)", "format", "share"),
    Measure("a broken rule (% of episodes)", "rule", "share"),
)
"""What models are compared by, of the rows of `episodes`. A share counts an episode once, whoever of two seats made the
fault."""


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


# Comparisons.


def behind(frame: pd.DataFrame) -> pd.DataFrame:
    """How far each model's score is from that of the `best` (the highest mean), a row per other `model`: `value` in
    percentage points with `low` and `high`, `p`, `holm` (the same corrected for the number of models), `n` episodes and
    `instances`. By regression on model and experiment over all episodes, errors clustered by instance: models need
    not have played the same ones. Empty where there is nothing to compare."""
    means = frame.groupby("player")["score"].mean().sort_values(ascending=False)
    columns = ["best", "model", "value", "low", "high", "p", "holm", "n", "instances"]
    if len(means) < 2 or frame["deal"].nunique() < 2:
        return pd.DataFrame(columns=columns)
    rows = frame.drop_duplicates(["match", "player"])
    # The first category is what the others are compared with.
    rows = rows.assign(model=pd.Categorical(rows["player"], list(means.index)))
    formula = "score ~ C(model)" + (" + C(experiment)" if rows["experiment"].nunique() > 1 else "")
    fit = stats.regression(rows, formula)
    fit = fit[fit["term"].str.startswith("C(model)")]
    names = fit["term"].str.extract(r"^C\(model\)\[(?:T\.)?(.*)\]$", expand=False)
    fit = fit.assign(best=means.index[0], model=names, value=fit["estimate"], instances=fit["clusters"])
    fit = fit.assign(
        n=fit["model"].map(rows.groupby("player")["match"].nunique()), holm=stats.corrected(list(fit["p"]))
    )
    return fit[columns].reset_index(drop=True)
