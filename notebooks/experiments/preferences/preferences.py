"""Self-play of balloon players under three kinds of preferences: scores, and what each deal allowed."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

import pandas as pd

from negolab import store
from negolab.analysis import stats, tables
from negolab.analysis.comparisons import behind_best, contrasts
from negolab.analysis.estimates import Measure, estimate_measure, sweep_matches
from negolab.games.balloon import measures
from negolab.record import Record

DEALS = Measure("deals (% of matches)", "agreed", "share")
SCORE = Measure("normalised harmonic mean (%)", "main")
TURNS = Measure("messages to a deal", "turns_to_deal")
DISTANCE = Measure("distance to the frontier (percentage points)", "norm_distance")
MEASURES = (DEALS, SCORE, TURNS, DISTANCE)
"""Measures in the report. A match without a deal scores 0; messages and distance are means over deals only."""

MODES = {"equal": "equal preferences", "independent": "independent preferences", "inverse": "inverse preferences"}
SETTING = ["mode", "items"]
PACE = ("boulware", "linear", "conceder")
"""Time-dependent players, slowest to concede first."""
SHARES = [float(share) for share in range(101)]
"""A's values, as percentages of its best, at which frontiers are averaged."""


def played(run: Path | str) -> pd.DataFrame:
    """Read the matches in a sweep of this experiment.

    Returns:
        The rows of `sweep_matches`, sorted by preferences, items and the mean score of the player (highest first), with
        `agreed` (0 or 1), and titles for preferences (`column`) and items (`row`).
    """
    frame = sweep_matches(run)
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
    """Return the mean deal for each player, kind of preferences and number of items.

    Players that agreed in less than half of their matches are left out, because their few deals allowed more than
    others.

    Args:
        frame: The rows of `played`.

    Returns:
        `row`, `column`, `name` (player), `a` and `b` (percentages of the most that each seat could reach), their 95%
        bounds `a_low`, `a_high`, `b_low`, `b_high`, and the numbers of matches (`n`) and `draws`.
    """
    rows = []
    for (row, column, name), part in frame.groupby(["row", "column", "player"], sort=False):
        if part["agreed"].mean() < 0.5:
            continue
        a, b = estimate_measure(part, Measure("", "norm_a")), estimate_measure(part, Measure("", "norm_b"))
        bounds = {"a_low": a.low, "a_high": a.high, "b_low": b.low, "b_high": b.high}
        sample = {"n": a.n, "draws": a.draws}
        rows.append({"row": row, "column": column, "name": name, "a": a.value, "b": b.value, **bounds, **sample})
    return pd.DataFrame(rows)


def frontiers(run: Path | str) -> pd.DataFrame:
    """Return the deals' mean Pareto frontier, by preferences and number of items.

    All players met the same deals, so only the records of the first player are read.

    Args:
        run: The folder of the sweep.

    Returns:
        `row`, `column`, `a`, and `b`: the most that B can have while A has at least `a`, both as percentages of their
        best.
    """
    cells = tables.cells(run)
    done = cells[cells["state"] == "done"]
    own = done[done["player"] == done["player"].iloc[0]]
    parts = []
    for (items, mode), part in own.groupby(["items", "mode"], sort=False):
        records = (record for id in part["cell"] for record in store.iter_records(Path(run) / "cells" / id))
        parts.append(_mean_frontier(records).assign(row=f"{items} items", column=MODES[str(mode)]))
    found = pd.concat(parts, ignore_index=True)
    return found.assign(rank=found["column"].map(list(MODES.values()).index)).sort_values(
        ["row", "rank", "a"], kind="stable"
    )


def _mean_frontier(records: Iterable[Record]) -> pd.DataFrame:
    known = [line for record in records if (line := measures.frontier_in_percent(record, SHARES)) is not None]
    means = [float(mean) for mean in pd.DataFrame(known, columns=SHARES).mean()]
    return pd.DataFrame({"a": [*SHARES, 100.0], "b": [*means, 0.0]})


def possible(frame: pd.DataFrame) -> dict[str, float]:
    """Return the mean over deals of the largest harmonic mean of both norms (percentages), by preferences.

    It is derived from matches that ended in a deal: harmonic mean divided by normalized harmonic mean.
    """
    dealt = frame[frame["normalised_harmonic"].astype(float) > 0]
    most = 100 * dealt["harmonic"].astype(float) / dealt["normalised_harmonic"].astype(float)
    by_deal = dealt.assign(most=most).groupby(["column", "items", "deal"], sort=False)["most"].first()
    return {str(column): float(value) for column, value in by_deal.groupby("column", sort=False).mean().items()}


def by_mode(frame: pd.DataFrame) -> pd.DataFrame:
    """Test, for each player, whether it scores higher with inverse than with equal preferences on the same draws.

    Args:
        frame: The rows of `played`.

    Returns:
        A row per `player` with the columns of `contrasts`; `holm` is corrected for the number of players.
    """
    found = [
        contrasts(part, "main", ["inverse", "equal"], side="mode", by=["items"]).assign(player=name)
        for name, part in frame.groupby("player", sort=False)
    ]
    whole = pd.concat(found, ignore_index=True)
    return whole.assign(holm=stats.adjust_p_values(list(whole["p"])))


def by_pace(frame: pd.DataFrame) -> pd.DataFrame:
    """Compare each time-dependent player with the next faster one on the same deals.

    Args:
        frame: The rows of `played`.

    Returns:
        A row per pair with the columns of `contrasts` for the score (`holm` is corrected for the number of rows), and
        `messages`: how many more messages the slower player needs to reach a deal.
    """
    rows = frame.assign(turns=frame["turns_to_deal"].astype(float))
    there = [name for name in PACE if (frame["player"] == name).any()]
    found = [
        contrasts(rows, "main", pair, by=SETTING).assign(messages=contrasts(rows, "turns", pair, by=SETTING)["value"])
        for pair in pairwise(there)
    ]
    if not found:
        return contrasts(rows, "main", [], by=()).assign(messages=[])
    whole = pd.concat(found, ignore_index=True)
    return whole.assign(holm=stats.adjust_p_values(list(whole["p"])))


def best_scores(frame: pd.DataFrame) -> list[str]:
    """Return the player with the highest mean score, then those that do not score significantly lower (5%, Holm).

    Scores are compared on the same deals, and p-values are corrected for all pairs.
    """
    found = behind_best(frame, "main", by=SETTING)
    return [str(found["best"].iloc[0]), *found["player"][found["holm"] >= 0.05]]
