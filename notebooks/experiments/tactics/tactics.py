"""Time-dependent tactics of sellers and buyers: results of a sweep compared with theory and with each other.

Gains and shares are percentages of the surplus; prices are in dollars.
"""

from __future__ import annotations

import os

import pandas as pd

from negolab.analysis import stats, tables
from negolab.analysis.comparisons import as_frame
from negolab.analysis.estimates import measure_means
from negolab.theory.equilibrium import spe_path

SIDES = ("seller", "buyer")
SETTING = ["zopa", "deadline"]
"""Columns that define a setting: width of the zone of possible agreement (dollars) and deadline (rounds)."""
Setting = tuple[int, int]


def outcomes(path: str | os.PathLike[str]) -> pd.DataFrame:
    """Read a sweep of this experiment, one row per match.

    There are no outside options, so a payoff is a gain.

    Args:
        path: The folder of the sweep.

    Returns:
        `cell`, the parameters, `draw`, `agreed`, `share` (the seller's share of both gains), `gain_seller` and
        `gain_buyer` (after waiting costs), `efficiency` (gains of both as a percentage of the surplus), and `last` (100
        if the last round's offer was accepted, else 0). Without an agreement, gains and efficiency are 0, and share and
        `last` are missing.
    """
    found = tables.with_parameters(tables.matches(path), path)
    agreed = found["end"] == "AGREED"
    seller, buyer = (found[name].astype(float).where(agreed, 0) for name in ("payoff_a", "payoff_b"))
    surplus = found["zopa"]
    last = 100.0 * (found["replies_a"] + found["replies_b"] > found["deadline"])  # all offers, and the acceptance
    return found[["cell", "beta_seller", "beta_buyer", *SETTING, "discount"]].assign(
        draw=found["draw"],
        agreed=agreed,
        share=100 * seller / (seller + buyer),
        gain_seller=seller / surplus,  # cents divided by dollars are percentages
        gain_buyer=buyer / surplus,
        efficiency=(seller + buyer) / surplus,
        last=last.where(agreed),
    )


def without_effect(frame: pd.DataFrame, side: str) -> list[Setting]:
    """Return the settings in which this side's tactic never changes the price.

    In them, the seller's mean share is the same to within 0.1 percentage points for all of this side's tactics, against
    each of the other side's.

    Args:
        frame: The rows of `outcomes`.
        side: "seller" or "buyer".
    """
    other = next(name for name in SIDES if name != side)
    shares = frame.pivot_table("share", index=[*SETTING, f"beta_{other}"], columns=f"beta_{side}")
    spread = (shares.max(axis=1) - shares.min(axis=1)).groupby(SETTING).max()
    return [(int(zopa), int(deadline)) for zopa, deadline in spread[spread < 0.1].index]


NASH_SHARE = 50.0
"""The seller's share at the Nash bargaining solution (Nash 1950) with equal power."""
SHARE = "seller's share (%)"
LAST = "agreements at the last offer (%)"
EFFICIENCY = "efficiency (%)"
_MEASURES = {
    "share": SHARE,
    "above_spe": "price above the equilibrium's ($)",
    "above_nash": "price above the Nash point's ($)",
    "last": LAST,
    "efficiency": EFFICIENCY,
}


def spe_share(deadline: int, discount: float) -> float:
    """Return the seller's share in the subgame-perfect equilibrium under complete information (Stahl 1972).

    The seller makes the first offer; the share does not depend on the surplus.

    Args:
        deadline: Number of rounds.
        discount: Discount factor per round, for both sides.
    """
    return 100 * (spe_path(deadline, 1, 0, discount, discount, "seller")[0] or 0)


def against_theory(frame: pd.DataFrame) -> pd.DataFrame:
    """Compare the results of all pairs of tactics with theory, for each setting.

    Means are over all pairs of tactics, with intervals over draws. Price differences are in dollars; on one deal, all
    matches have the same cost.

    Args:
        frame: The rows of `outcomes`.

    Returns:
        A row per setting and measure: the seller's share, the price above the equilibrium price and above the Nash
        price, the share of agreements on the last offer, and the efficiency.
    """
    width = frame["zopa"]
    spe = [spe_share(*row) for row in frame[["deadline", "discount"]].itertuples(index=False)]
    with_prices = frame.assign(
        above_spe=(frame["share"] - spe) * width / 100, above_nash=(frame["share"] - NASH_SHARE) * width / 100
    )
    return measure_means(with_prices, SETTING, _MEASURES)


def holding_out(frame: pd.DataFrame) -> pd.DataFrame:
    """Compare, for each setting and side, the gain with the smallest beta (latest concession) and with the largest.

    Gains are compared on the same draws, as means over the same opponents.

    Args:
        frame: The rows of `outcomes`.

    Returns:
        The setting, `side`, `value` (percentage points) with its 95% interval `low`, `high`, `n` draws, `p`, and
        `holm`, corrected for the number of rows.
    """
    found = {}
    for (zopa, deadline), part in frame.groupby(SETTING):
        for side in SIDES:
            by_draw = part.pivot_table(f"gain_{side}", index="draw", columns=f"beta_{side}", aggfunc="mean")
            more = (by_draw.iloc[:, 0] - by_draw.iloc[:, -1]).dropna()
            found[zopa, deadline, side] = stats.estimate_difference(list(more))
    return as_frame([*SETTING, "side"], list(found), found.values())


Pair = tuple[float, float]
"""The seller's and buyer's betas or gains."""


def mutual_best_replies(part: pd.DataFrame) -> list[Pair]:
    """Return the pairs of betas at which neither side gains, on average over the deals, by changing only its own beta.

    These are the pure-strategy equilibria of the game in which both sides choose a tactic once.

    Args:
        part: The rows of `outcomes` for one setting.
    """
    seller, buyer = (
        part.pivot_table(f"gain_{side}", index="beta_seller", columns="beta_buyer", aggfunc="mean") for side in SIDES
    )
    # Ties, up to rounding, are best replies too.
    best = seller.ge(seller.max() - _TIE) & buyer.ge(buyer.max(axis=1) - _TIE, axis=0)
    return [(float(s), float(b)) for s in best.index for b in best.columns if best.loc[s, b]]


_TIE = 1e-9


def dilemmas(frame: pd.DataFrame) -> pd.DataFrame:
    """Look for a prisoner's dilemma in the choice of tactics in each setting.

    Args:
        frame: The rows of `outcomes`.

    Returns:
        A row per setting: the setting; `best`, the pairs of betas (seller/buyer) that are best replies to each other;
        `stable`, True if both conceding latest is one of them; `better`, the sides for which that pays more than both
        conceding earliest ("seller", "buyer", "both" or "neither"); `dilemma`, True if it is stable and better for
        neither.
    """
    rows = []
    for setting, part in frame.groupby(SETTING):
        best, late, early = mutual_best_replies(part), *_ends(part)
        better = _better(_gains(part, late), _gains(part, early))
        stable = (late, late) in best
        said = ", ".join(f"{s:g}/{b:g}" for s, b in best)
        rows.append([*setting, said, stable, better, stable and better == "neither"])
    return pd.DataFrame(rows, columns=[*SETTING, "best", "stable", "better", "dilemma"])


def _gains(part: pd.DataFrame, beta: float) -> Pair:
    """Return the mean gains of seller and buyer when both use this beta."""
    both = part[(part["beta_seller"] == beta) & (part["beta_buyer"] == beta)]
    return float(both["gain_seller"].mean()), float(both["gain_buyer"].mean())


def _better(one: Pair, two: Pair) -> str:
    """Name the sides that have more in `one` than in `two`."""
    sides = [side for side, mine, other in zip(SIDES, one, two, strict=True) if mine > other]
    return "both" if len(sides) == 2 else sides[0] if sides else "neither"


def _ends(frame: pd.DataFrame) -> Pair:
    """Return the smallest and the largest beta."""
    return float(frame["beta_seller"].min()), float(frame["beta_seller"].max())


def alike(frame: pd.DataFrame) -> pd.DataFrame:
    """Estimate gains and efficiency when both sides concede latest and when both concede earliest.

    Args:
        frame: The rows of `outcomes`.

    Returns:
        A row per setting, `when` ("late" or "early") and measure, with the interval over deals.
    """
    when = dict(zip(_ends(frame), ("late", "early"), strict=True))
    both = frame[(frame["beta_seller"] == frame["beta_buyer"]) & frame["beta_seller"].isin(when)]
    measures = {"gain_seller": "seller's gain (%)", "gain_buyer": "buyer's gain (%)", "efficiency": EFFICIENCY}
    return measure_means(both.assign(when=both["beta_seller"].map(when)), [*SETTING, "when"], measures)
