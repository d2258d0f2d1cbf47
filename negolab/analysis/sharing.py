"""Split games of a sweep against what is known exactly of them: how efficiently two players share, and with whom the
coins end up. Points are per round, efficiency and shares in percent."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import get_args

import pandas as pd

from negolab.analysis.checks import Exact
from negolab.analysis.games import games
from negolab.analysis.grouped import measured
from negolab.theory import division, reciprocity

Place = str | os.PathLike[str]
MEASURES = {
    "mean_efficiency": "efficiency (%)",
    "winner_share": "winner's share (%)",
    "points_a": "points of A per round",
    "points_b": "points of B per round",
}
"""Columns of `outcomes` that are known exactly for some pairs, and their titles."""
_SHARES = ("mean_efficiency", "winner_share")
PLAYERS = ("truthful", "welfare", "tit-for-tat", "equal", "greedy", "liar")
"""Of the study of truth: those that tell it, those that say nothing, and the one that lies."""


def outcomes(path: Place) -> pd.DataFrame:
    """One row per match, as `games.games`, with efficiency and winner's share in percent, and points per round."""
    found = games(path)
    rounds = found["rounds"].astype(float)
    return _ordered(
        found.assign(
            **{name: 100 * found[name].astype(float) for name in _SHARES},
            **{f"points_{seat}": found[f"payoff_{seat}"].astype(float) / rounds for seat in "ab"},
        )
    )


def _ordered(found: pd.DataFrame) -> pd.DataFrame:
    """By variant or roles, then by players, in the order in which they are told of; others come first."""
    names = [*_VALUES, *get_args(reciprocity.Roles), *PLAYERS]
    place = {name: at for at, name in enumerate(names)}
    by = [name for name in ("variant", "roles", "a", "b") if name in found]
    return found.sort_values(by, key=lambda column: column.map(place).fillna(-1), kind="stable")


# What is known exactly, by column of `outcomes`.

_UNITS = 10
_VALUES: dict[str, Sequence[division.Values]] = {
    "trust-and-split": division.TEN_ONE,
    "classic": division.uniform(),
}
_DIVISIONS: dict[str, division.Division] = {
    "truthful": division.in_proportion,
    "welfare": division.to_the_higher,
    "tit-for-tat": division.to_the_higher,
    "equal": division.halved,
    "greedy": division.halved,
    # Two liars: in the classic game both claim the highest value; in Trust-and-Split who speaks second claims the hand
    # that beats the other's claim and gets nine coins of ten, whoever holds what, which is half on average.
    "liar": division.halved,
}


def with_its_like(variant: str, player: str) -> Exact:
    """What a player of the study of truth gets against another of its kind, exactly, `{}` where it is not known."""
    if variant not in _VALUES or player not in _DIVISIONS:
        return {}
    values, divided = _VALUES[variant], _DIVISIONS[player]
    points = float(division.joint(divided, _UNITS, values) / 2)
    return {
        "mean_efficiency": float(100 * division.efficiency(divided, _UNITS, values)),
        "winner_share": float(100 * division.winner_share(divided, _UNITS, values)),
        "points_a": points,
        "points_b": points,
    }


_STYLES: dict[str, reciprocity.Style] = {
    "greedy": "greedy",
    "welfare": "cooperative",
    "tit-for-tat": "tit-for-tat",
}


def without_a_word(roles: reciprocity.Roles, a: str, b: str, rounds: int) -> Exact:
    """What two players of the study without talk get, exactly."""
    found = reciprocity.expected(_STYLES[a], _STYLES[b], roles, rounds)
    return {
        "mean_efficiency": float(found.first + found.second),  # of 100 points, ten coins at ten
        "winner_share": float(100 * found.winner_share),
        "points_a": float(found.first),
        "points_b": float(found.second),
    }


# For a figure.


def kinds(frame: pd.DataFrame, known: pd.DataFrame, who: str) -> pd.DataFrame:
    """For the figure of the study of truth: a row per variant (`facet`), pair (`name`) and measure with 95 % interval,
    of two of each kind (`exact` from `known`) and of `who` with each other player, both seats of a deal as one
    observation."""
    a, b = frame["a"], frame["b"]
    away = b.where(a == who, a)
    alike = a + " with its like"
    named = frame.assign(name=alike.where(a == b, who + " with " + away), facet=frame["variant"])
    met = named[(a == b) | (a == who) | (b == who)]
    by_deal = met.groupby(["facet", "name", "seed"], sort=False, as_index=False)[list(_SHARES)].mean()
    found = measured(by_deal, ["facet", "name"], {name: MEASURES[name] for name in _SHARES})
    exact = known.assign(name=known["a"] + " with its like", facet=known["variant"])[
        ["facet", "name", "measure", "exact"]
    ]
    order = [f"{name} with its like" for name in PLAYERS] + [f"{who} with {name}" for name in PLAYERS]
    merged = found.merge(exact, how="left", on=["facet", "name", "measure"])
    return merged.sort_values("name", key=lambda names: names.map(order.index), kind="stable")
