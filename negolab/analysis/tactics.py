"""What time-dependent tactics bring, from a sweep of `tactics.ipynb`: against theory, and against each other.

Gains and shares are in percent of the surplus, prices in dollars.
"""

from __future__ import annotations

import os

import pandas as pd

from negolab.analysis import stats, tables
from negolab.analysis.grouped import measured
from negolab.theory.equilibrium import spe_path

SIDES = ("seller", "buyer")
SETTING = ["zopa", "deadline"]
"""What two sides meet in: the width of the zone of possible agreement (dollars) and the deadline (rounds)."""
Setting = tuple[int, int]


def outcomes(path: str | os.PathLike[str]) -> pd.DataFrame:
    """One row per match: `deal`, the parameters, whether it `agreed`, the seller's `share` of what both gained,
    `efficiency` (what waiting left of the surplus), the gains of both after waiting costs (`gain_seller`,
    `gain_buyer`), and `last`, 100 where it took the offer of the last round, else 0. As there are no outside options, a
    payoff is a gain. Without a deal gains and efficiency are 0, share and `last` missing."""
    found = tables.with_parameters(tables.matches(path), path)
    agreed = found["end"] == "AGREED"
    seller, buyer = (found[name].astype(float).where(agreed, 0) for name in ("payoff_a", "payoff_b"))
    surplus = found["zopa"]
    last = 100.0 * (found["replies_a"] + found["replies_b"] > found["deadline"])  # all offers, and the acceptance
    return found[["cell", "beta_seller", "beta_buyer", *SETTING, "discount"]].assign(
        deal=found["seed"],
        agreed=agreed,
        share=100 * seller / (seller + buyer),
        gain_seller=seller / surplus,  # cents by dollars are percent
        gain_buyer=buyer / surplus,
        efficiency=(seller + buyer) / surplus,
        last=last.where(agreed),
    )


def without_effect(frame: pd.DataFrame, side: str) -> list[Setting]:
    """The settings in which this side's tactic changes the price nowhere: whatever the other's, the seller's mean share
    is the same to a tenth of a percent."""
    other = next(name for name in SIDES if name != side)
    shares = frame.pivot_table("share", index=[*SETTING, f"beta_{other}"], columns=f"beta_{side}")
    spread = (shares.max(axis=1) - shares.min(axis=1)).groupby(SETTING).max()
    return [(int(zopa), int(deadline)) for zopa, deadline in spread[spread < 0.1].index]


NASH_SHARE = 50.0
"""The seller's share at the Nash point (Nash 1950), with equal power."""
SHARE = "seller's share (%)"
LAST = "deals at the last offer (%)"
EFFICIENCY = "efficiency (%)"
_MEASURES = {
    "share": SHARE,
    "above_spe": "price above the equilibrium's ($)",
    "above_nash": "price above the Nash point's ($)",
    "last": LAST,
    "efficiency": EFFICIENCY,
}


def spe_share(deadline: int, discount: float) -> float:
    """The seller's share at the price of the subgame-perfect equilibrium under complete information (Stahl 1972), where
    the seller makes the first offer; it does not depend on the surplus."""
    return 100 * spe_path(deadline, 1, 0, discount, discount, "seller")[0]


def against_theory(frame: pd.DataFrame) -> pd.DataFrame:
    """The mean over all pairs of tactics, per setting and measure: the seller's share, how far the price was above that
    of the equilibrium and of the Nash point (dollars; on one deal both have the same cost), how many deals took the
    last offer, and the efficiency, with the interval over deals."""
    width = frame["zopa"]
    spe = [spe_share(*row) for row in frame[["deadline", "discount"]].itertuples(index=False)]
    with_prices = frame.assign(
        above_spe=(frame["share"] - spe) * width / 100, above_nash=(frame["share"] - NASH_SHARE) * width / 100
    )
    by_deal = with_prices.groupby([*SETTING, "deal"], as_index=False)[list(_MEASURES)].mean()
    return measured(by_deal, SETTING, _MEASURES)


def holding_out(frame: pd.DataFrame) -> pd.DataFrame:
    """A row per setting and side: how much more the side gained with its smallest beta (the latest concession) than
    with its largest, on the same deal and against the same opponents, the mean over these: `value` with its 95 %
    interval, `n` deals, `p` and `holm`, corrected for the number of rows."""
    rows = []
    for (zopa, deadline), part in frame.groupby(SETTING):
        for side in SIDES:
            by_deal = part.pivot_table(f"gain_{side}", index="deal", columns=f"beta_{side}", aggfunc="mean")
            more = (by_deal.iloc[:, 0] - by_deal.iloc[:, -1]).dropna()
            rows.append([zopa, deadline, side, *stats.paired(list(more))])
    found = pd.DataFrame(rows, columns=[*SETTING, "side", *stats.Paired._fields])
    return found.assign(holm=stats.corrected(list(found["p"])))


Pair = tuple[float, float]
"""Of the seller and of the buyer: betas, or gains."""


def mutual_best_replies(part: pd.DataFrame) -> list[Pair]:
    """Of the matches of one setting: the pairs of which neither side gains, on average over the deals, by any other
    beta while the other side keeps its own: pure equilibria of the game in which tactics are chosen once."""
    seller, buyer = (
        part.pivot_table(f"gain_{side}", index="beta_seller", columns="beta_buyer", aggfunc="mean") for side in SIDES
    )
    # Rounding apart, ties are best replies too.
    best = seller.ge(seller.max() - _TIE) & buyer.ge(buyer.max(axis=1) - _TIE, axis=0)
    return [(float(s), float(b)) for s in best.index for b in best.columns if best.loc[s, b]]


_TIE = 1e-9


def dilemmas(frame: pd.DataFrame) -> pd.DataFrame:
    """A row per setting: `best`, the pairs of tactics (betas of seller and buyer) that are best replies to each other;
    `stable`, whether both conceding latest is among them; for which sides that is `better` than both conceding
    earliest, by mean gains ("seller", "buyer", "both" or "neither"); and `dilemma`, whether it is stable and better for
    neither."""
    rows = []
    for setting, part in frame.groupby(SETTING):
        best, late, early = mutual_best_replies(part), *_ends(part)
        better = _better(_gains(part, late), _gains(part, early))
        stable = (late, late) in best
        said = ", ".join(f"{s:g}/{b:g}" for s, b in best)
        rows.append([*setting, said, stable, better, stable and better == "neither"])
    return pd.DataFrame(rows, columns=[*SETTING, "best", "stable", "better", "dilemma"])


def _gains(part: pd.DataFrame, beta: float) -> Pair:
    """Mean gains of seller and buyer where both have this beta."""
    both = part[(part["beta_seller"] == beta) & (part["beta_buyer"] == beta)]
    return float(both["gain_seller"].mean()), float(both["gain_buyer"].mean())


def _better(one: Pair, two: Pair) -> str:
    """Who has more in the first than in the second."""
    sides = [side for side, mine, other in zip(SIDES, one, two, strict=True) if mine > other]
    return "both" if len(sides) == 2 else sides[0] if sides else "neither"


def _ends(frame: pd.DataFrame) -> Pair:
    """The smallest and the largest beta."""
    return float(frame["beta_seller"].min()), float(frame["beta_seller"].max())


def alike(frame: pd.DataFrame) -> pd.DataFrame:
    """A row per setting, `when` and measure, with the interval over deals: gains of both and efficiency where both
    concede latest ("late") and where both concede earliest ("early")."""
    when = dict(zip(_ends(frame), ("late", "early"), strict=True))
    both = frame[(frame["beta_seller"] == frame["beta_buyer"]) & frame["beta_seller"].isin(when)]
    measures = {"gain_seller": "seller's gain (%)", "gain_buyer": "buyer's gain (%)", "efficiency": EFFICIENCY}
    return measured(both.assign(when=both["beta_seller"].map(when)), [*SETTING, "when"], measures)
