"""What time-dependent tactics bring, from a sweep of `tactics.ipynb`: prices and gains against theory, and which tactics
are best replies to each other. Gains and shares are in percent of the surplus, prices in dollars."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import product

import pandas as pd

from negolab.analysis import stats
from negolab.analysis.games import games
from negolab.theory.equilibrium import spe_path

SIDES = ("seller", "buyer")
SETTING = ["zopa", "deadline"]
"""What two sides meet in: the width of the zone of possible agreement (dollars) and the deadline (rounds)."""


def outcomes(path: str | os.PathLike[str]) -> pd.DataFrame:
    """One row per match: `deal`, the parameters, `round` of the agreement, `price` and how far it is above that of the
    subgame-perfect equilibrium and of the Nash point (`price_less_spe`, `price_less_nash`), `share` of the seller in
    what both gained, `efficiency`, and what each gained after waiting costs (`gain_seller`, `gain_buyer`)."""
    found = games(path)
    surplus = found["zopa"]
    return found[["cell", "beta_seller", "beta_buyer", *SETTING, "discount"]].assign(
        deal=found["seed"],
        round=found["rounds"],
        **{name: found[name].astype(float) / 100 for name in ("price", "price_less_spe", "price_less_nash")},
        share=100 * found["surplus_share_a"].astype(float),
        efficiency=100 * found["efficiency"].astype(float),
        gain_seller=found["gain_a"].astype(float) / surplus,
        gain_buyer=found["gain_b"].astype(float) / surplus,
    )


def spe_share(deadline: int, discount: float) -> float:
    """The seller's share at the price of the subgame-perfect equilibrium under complete information (Stahl 1972), where
    the seller makes the first offer; it does not depend on the surplus."""
    return 100 * spe_path(deadline, 1, 0, discount, discount, "seller")[0]


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


def mutual_best_replies(frame: pd.DataFrame, slack: float = 0.0) -> pd.DataFrame:
    """The pairs of tactics of which neither side gains, on average over the deals, more than `slack` percent of the
    surplus by any other beta of the plan while the other side keeps its own: pure equilibria of the game in which
    tactics are chosen once. A row per pair: setting, both betas, both gains."""
    return pd.DataFrame(
        _mutual(frame, slack), columns=[*SETTING, "beta_seller", "beta_buyer", "gain_seller", "gain_buyer"]
    )


def _mutual(frame: pd.DataFrame, slack: float) -> Iterator[list[float]]:
    for (zopa, deadline), part in frame.groupby(SETTING):
        seller, buyer = (
            part.pivot_table(f"gain_{side}", index="beta_seller", columns="beta_buyer", aggfunc="mean")
            for side in SIDES
        )
        for s, b in product(seller.index, seller.columns):
            mine, theirs = float(seller.loc[s, b]), float(buyer.loc[s, b])
            if mine >= seller[b].max() - slack - 1e-9 and theirs >= buyer.loc[s].max() - slack - 1e-9:
                yield [zopa, deadline, s, b, mine, theirs]
