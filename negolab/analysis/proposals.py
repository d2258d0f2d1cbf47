"""Proposals compared over matches: how players concede, and what a first offer is worth."""

from __future__ import annotations

import pandas as pd

from negolab.analysis import stats
from negolab.analysis.observations import Sample, drop_copies, frame_sample
from negolab.game import SEATS


def concession_curves(proposals: pd.DataFrame, matches: pd.DataFrame, least: int = 5) -> dict[str, dict[float, Sample]]:
    """Collect what each player claims for itself in its first proposal, its second, and so on.

    Later points are of fewer matches, those that had not ended by then: a curve may fall because its matches change.

    Args:
        proposals: The rows of `tables.proposals`.
        matches: The rows of `tables.matches` of the same source.
        least: Proposals that fewer matches reached are left out.

    Returns:
        Player -> number of the proposal -> payoffs that it would have brought its author, in the unit of the game, one
        per match (the mean of both seats if the player took both), with their deals; for `charts.trend`.
    """
    rows = _with_deals(proposals, matches)
    curves: dict[str, dict[float, Sample]] = {}
    for (player, number), part in rows.groupby(["player", "number"]):
        sample = frame_sample(part, "own_payoff")
        if len(sample.values) >= least:
            curves.setdefault(str(player), {})[float(str(number))] = sample
    return curves


def anchoring(proposals: pd.DataFrame, matches: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Regress what a seat is paid on what its first proposal claimed for it, with errors clustered by deal.

    The slope is an association, not the effect of a first offer: a seat with more at stake both claims and gets more.
    Where offers were not assigned, compare within deals or add what the seat knew as terms of `clustered_regression`.
    Matches without a deal count with what they paid; those that were stopped, and copies, are left out.

    Args:
        proposals: The rows of `tables.proposals`.
        matches: The rows of `tables.matches` of the same source.

    Returns:
        The rows of `stats.clustered_regression` for `payoff ~ first_offer`, with a term per seat where both seats make
        proposals; and the points, a row per match and seat with `player`, `seat`, `first_offer` and `payoff`, for
        `charts.anchoring`.

    Raises:
        ValueError: There are fewer than two deals.
    """
    first = proposals[proposals["number"] == 1].rename(columns={"own_payoff": "first_offer"})
    rows = _with_deals(first, matches)
    paid = {seat: rows[f"payoff_{seat.lower()}"] for seat in SEATS}
    points = rows.assign(payoff=paid["A"].where(rows["seat"] == "A", paid["B"]).astype(float)).dropna(subset=["payoff"])
    points = drop_copies(points.astype({"first_offer": float}))
    seats = " + C(seat)" if points["seat"].nunique() > 1 else ""
    fit = stats.clustered_regression(points, f"payoff ~ first_offer{seats}")
    return fit, points[["match", "player", "seat", "deal", "first_offer", "payoff"]]


def _with_deals(rows: pd.DataFrame, matches: pd.DataFrame) -> pd.DataFrame:
    """Add the columns of the rows' matches."""
    key = [name for name in ("cell", "match") if name in rows]
    return rows.merge(matches, on=key, validate="many_to_one")
