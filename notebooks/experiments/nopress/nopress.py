"""Split games without talk: results of matches compared with their exact expectations.

Points are per round; efficiency and shares are percentages.
"""

from __future__ import annotations

import os
from typing import get_args

import pandas as pd

from negolab.analysis.estimates import Exact, per_round, sweep_matches
from negolab.theory import division

SHARES = {"mean_efficiency": "efficiency (%)", "winner_share": "winner's share (%)"}
MEASURES = {**SHARES, "points_a": "points of A per round", "points_b": "points of B per round"}
"""Columns of `outcomes` with a known exact value -> their titles."""
_STYLES: dict[str, division.Style] = {
    "greedy": "greedy",
    "welfare": "cooperative",
    "tit-for-tat": "tit-for-tat",
}


def outcomes(path: str | os.PathLike[str]) -> pd.DataFrame:
    """Read a sweep of this experiment, one row per match, sorted by roles, then by players as the report lists them.

    The columns are those of `sweep_matches`, with shares as percentages and points per round.
    """
    place = {name: at for at, name in enumerate((*get_args(division.Roles), "welfare", "tit-for-tat", "greedy"))}
    return per_round(sweep_matches(path), SHARES).sort_values(
        ["roles", "a", "b"], key=lambda column: column.map(place).fillna(-1), kind="stable"
    )


def without_a_word(roles: division.Roles, a: str, b: str, rounds: int) -> Exact:
    """Return the exact expected results of two players without talk, by column of `outcomes`.

    Args:
        roles: Who values a unit highly in which round: "fixed", "alternate" or "random".
        a, b: Players in seats A and B: "greedy", "welfare" or "tit-for-tat".
        rounds: Rounds per match.
    """
    found = division.repeated_play(_STYLES[a], _STYLES[b], roles, rounds)
    return {
        "mean_efficiency": float(found.first + found.second),  # out of 100 points: ten coins at ten points
        "winner_share": float(100 * found.winner_share),
        "points_a": float(found.first),
        "points_b": float(found.second),
    }
