"""Proposals compared across matches: how players concede, and what a first offer is worth."""

from __future__ import annotations

import pandas as pd

from negolab.analysis import stats
from negolab.analysis.observations import Sample, drop_copies, frame_sample, with_value
from negolab.analysis.stats import Estimate
from negolab.game import SEATS


def concession_curves(proposals: pd.DataFrame, matches: pd.DataFrame, least: int = 5) -> dict[str, dict[float, Sample]]:
    """Collect what each player claims for itself in its first proposal, its second, and so on.

    Later points come from fewer matches, those that had not ended by then, so a curve may fall because its matches
    change.

    Args:
        proposals: The rows of `tables.proposals`.
        matches: The rows of `tables.matches` of the same source.
        least: Proposals reached by fewer matches are left out.

    Returns:
        Player -> number of the proposal -> payoffs that the proposal would have brought its author, in the game's unit,
        one per match (the mean over both seats if the player took both), with their draws; for `charts.trend`.
    """
    rows = _with_deals(proposals, matches)
    curves: dict[str, dict[float, Sample]] = {}
    for (player, number), part in rows.groupby(["player", "number"]):
        sample = frame_sample(part, "own_payoff")
        if len(sample.values) >= least:
            curves.setdefault(str(player), {})[float(str(number))] = sample
    return curves


def anchoring(proposals: pd.DataFrame, matches: pd.DataFrame) -> tuple[Estimate, pd.DataFrame]:
    """Regress what a seat is paid on what its first proposal claimed for it, holding players and seats fixed.

    The slope is an association, not the effect of a first offer, because a seat with more at stake both claims and gets
    more. Matches without a deal count with what they paid; stopped matches and copies are left out.

    Args:
        proposals: The rows of `tables.proposals`.
        matches: The rows of `tables.matches` of the same source. With `gain_a` and `gain_b` from `tables.measures`,
            gains are explained instead of payoffs, which is necessary in trading, where a payoff is a win or a loss.

    Returns:
        The slope, in payoff per unit of the claim; and the points, a row per match and seat with `player`, `seat`,
        `first_offer_payoff` and `payoff`, for `charts.anchoring`.

    Raises:
        ValueError: No player's claims vary at any seat.
    """
    first = proposals[proposals["number"] == 1].rename(columns={"own_payoff": "first_offer_payoff"})
    rows = _with_deals(first, matches)
    of = "gain" if "gain_a" in rows else "payoff"
    paid = {seat: rows[f"{of}_{seat.lower()}"] for seat in SEATS}
    points = rows.assign(payoff=paid["A"].where(rows["seat"] == "A", paid["B"]).astype(float))
    points = drop_copies(with_value(points, "payoff").astype({"first_offer_payoff": float}))
    return slope(points, "payoff", "first_offer_payoff"), points[
        ["match", "player", "seat", "deal", "first_offer_payoff", "payoff"]
    ]


def slope(rows: pd.DataFrame, column: str, x: str) -> Estimate:
    """Estimate the slope of one column on another, with an intercept for each player and seat, clustered by draw.

    Args:
        rows: A row per match and seat with `draw`, `player` and `seat`; copies are left out.
        column: The column to explain.
        x: The column that may explain it.

    Raises:
        ValueError: `x` does not vary within any player and seat; the message names the players.
    """
    known = drop_copies(with_value(rows.dropna(subset=[x]), column))
    strata = list(zip(known["player"], known["seat"], strict=True))
    try:
        return stats.estimate_slope(list(known[column]), list(known[x]), strata, list(known["draw"]))
    except ValueError:
        players = ", ".join(sorted(set(map(str, known["player"]))))
        raise ValueError(f"no slope: {x} does not vary within a player and seat ({players})") from None


def _with_deals(rows: pd.DataFrame, matches: pd.DataFrame) -> pd.DataFrame:
    """Add the columns of the rows' matches."""
    key = [name for name in ("cell", "match") if name in rows]
    return rows.merge(matches, on=key, validate="many_to_one")
