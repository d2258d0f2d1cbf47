"""The study of preferences: what a balloon player with itself comes to, and what each deal allowed."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

import pandas as pd

from negolab import store
from negolab.analysis import balloon, stats, tables
from negolab.analysis.contrasts import contrasts
from negolab.analysis.estimates import Measure, of
from negolab.analysis.games import games
from negolab.record import Record

DEALS = Measure("deals (% of matches)", "agreed", "share")
SCORE = Measure("normalised harmonic mean (%)", "main", "bootstrap")
TURNS = Measure("messages to a deal", "turns_to_deal")
DISTANCE = Measure("distance to the frontier (percentage points)", "norm_distance", "bootstrap")
MEASURES = (DEALS, SCORE, TURNS, DISTANCE)
"""A match without a deal scores 0; messages and distance are those of deals alone."""

MODES = {"equal": "equal preferences", "independent": "independent preferences", "inverse": "inverse preferences"}
PACE = ("boulware", "linear", "conceder")
"""Those who concede by the clock, the slowest first."""
SHARES = [float(share) for share in range(101)]
"""Percent of A's best at which frontiers are averaged."""


def played(run: Path | str) -> pd.DataFrame:
    """The matches of a sweep of `preferences.ipynb` by preferences, items and falling score of their player, with words
    for preferences (`column`) and items (`row`), and `agreed` (0 or 1)."""
    frame = games(run)
    found = frame.assign(
        agreed=(frame["end"] == "AGREED").astype(float),
        main=frame["main"].astype(float),
        column=frame["mode"].map(MODES),
        row=frame["items"].map("{} items".format),
    )
    rank = found.groupby("player")["main"].mean()
    place = {"mode": found["mode"].map(list(MODES).index), "player": -found["player"].map(rank)}
    order = found.assign(**place).sort_values(["mode", "items", "player"], kind="stable").index
    ordered: pd.DataFrame = found.loc[order].reset_index(drop=True)
    return ordered


def plane(frame: pd.DataFrame) -> pd.DataFrame:
    """Where the deals of each player lie on average, a row per player, preferences and items: `a` and `b` in percent of
    the most that each seat could reach, with bounds (`a_low`, `a_high`, `b_low`, `b_high`) and `n` deals. Without those
    who agreed in less than half of their matches: the few deals that they agreed on allowed more than others."""
    rows = []
    for (row, column, name), part in frame.groupby(["row", "column", "player"], sort=False):
        if part["agreed"].mean() < 0.5:
            continue
        a, b = of(part, Measure("", "norm_a")), of(part, Measure("", "norm_b"))
        bounds = {"a_low": a.low, "a_high": a.high, "b_low": b.low, "b_high": b.high}
        rows.append({"row": row, "column": column, "name": name, "a": a.value, "b": b.value, **bounds, "n": a.n})
    return pd.DataFrame(rows)


def frontiers(run: Path | str) -> pd.DataFrame:
    """The mean frontier of the deals by preferences (`column`) and items (`row`): the most that B can have (`b`,
    percent of its best) while A has at least `a`. All players met the same deals: the first one's are read."""
    cells = tables.cells(run)
    done = cells[cells["state"] == "done"]
    own = done[done["player"] == done["player"].iloc[0]]
    parts = []
    for (items, mode), part in own.groupby(["items", "mode"], sort=False):
        records = (record for id in part["id"] for record in store.iterate(Path(run) / "cells" / id))
        parts.append(_mean_frontier(records).assign(row=f"{items} items", column=MODES[str(mode)]))
    found = pd.concat(parts, ignore_index=True)
    return found.assign(rank=found["column"].map(list(MODES.values()).index)).sort_values(
        ["row", "rank", "a"], kind="stable"
    )


def _mean_frontier(records: Iterable[Record]) -> pd.DataFrame:
    known = [line for record in records if (line := balloon.reach(record, SHARES)) is not None]
    means = [float(mean) for mean in pd.DataFrame(known, columns=SHARES).mean()]
    return pd.DataFrame({"a": [*SHARES, 100.0], "b": [*means, 0.0]})


def possible(frame: pd.DataFrame) -> dict[str, float]:
    """By preferences, the mean over deals of the largest harmonic mean of both norms that any set of items allows
    (percent), from the matches that ended in a deal."""
    dealt = frame[frame["normalised_harmonic"].astype(float) > 0]
    most = 100 * dealt["harmonic"].astype(float) / dealt["normalised_harmonic"].astype(float)
    by_deal = dealt.assign(most=most).groupby(["column", "items", "deal"], sort=False)["most"].first()
    return {str(column): float(value) for column, value in by_deal.groupby("column", sort=False).mean().items()}


def by_mode(frame: pd.DataFrame) -> pd.DataFrame:
    """By player, by how much its score is larger with inverse than with equal preferences on the same deals: a row per
    `player` with the columns of `contrasts`; `holm` is corrected for the number of players."""
    rows = frame.assign(seat="both").drop(columns="player").rename(columns={"mode": "player"})
    found = [
        contrasts(rows[frame["player"] == name], "main", ["inverse", "equal"]).assign(player=name)
        for name in dict.fromkeys(frame["player"])
    ]
    whole = pd.concat(found, ignore_index=True)
    return whole.assign(holm=stats.corrected(list(whole["p"])))


def by_pace(frame: pd.DataFrame) -> pd.DataFrame:
    """Of those who concede by the clock, each slower one less the next faster one on the same deals: a row per two of
    them with the columns of `contrasts`, of the score (`holm` is corrected for the number of rows), and `messages`, how
    many more the slower one needs to a deal."""
    rows = frame.assign(seat="both", turns=frame["turns_to_deal"].astype(float))
    there = [name for name in PACE if (frame["player"] == name).any()]
    found = [
        contrasts(rows, "main", pair).assign(messages=contrasts(rows, "turns", pair)["value"])
        for pair in pairwise(there)
    ]
    if not found:
        return contrasts(rows, "main", []).assign(messages=[])
    whole = pd.concat(found, ignore_index=True)
    return whole.assign(holm=stats.corrected(list(whole["p"])))


def best_scores(frame: pd.DataFrame) -> list[str]:
    """The player with the highest mean score, and after it those whose scores on the same deals do not differ from its
    own by more than chance (5 %, Holm)."""
    names = list(frame.groupby("player")["main"].mean().sort_values(ascending=False).index)
    found = contrasts(frame.assign(seat="both"), "main", names)
    found = found[found["one"] == names[0]]
    alike = [p >= 0.05 for p in stats.corrected(list(found["p"]))]
    return [names[0], *found["two"][alike]]
