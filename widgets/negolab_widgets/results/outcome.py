"""What was reached in a match: the numbers and the yes or no that a figure can show, with their units."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

import pandas as pd

from negolab import catalog
from negolab.game import SEATS
from negolab_widgets.html import label

RESULTS = ("payoff", "agreed", "replies", "rejected", "forfeits")
"""What every record says; all else is measured."""
_WORDS = {
    "agreed": "ended in a deal",
    "joint": "joint surplus",
    "possible": "possible surplus",
    "surplus_share": "share of the joint surplus",
    "gain": "gain over no deal",
    "turns_to_deal": "turns to a deal",
    "price_less_spe": "price less subgame-perfect price",
    "price_less_nash": "price less Nash price",
    "frontier_distance": "distance to the frontier",
    "nash_distance": "distance to the Nash solution",
    "concession": "concession per proposal",
    "format_faults": "unreadable replies",
    "rule_faults": "replies against the rules",
    "time_faults": "late replies",
    "rejected": "rejected replies",
}
_STAKES = {"joint", "possible", "gain", "first_offer", "concession", "frontier_distance", "nash_distance"}
_PARTS = {"efficiency", "surplus_share", "truth", "stubbornness", "pareto_proposals", "share", "mutual_share"}
_PARTS |= {"mean_efficiency", "agreement_rate", "overclaim_rate", "winner_share", "pareto_rate", "honesty_rate"}
_NO_OUTCOMES = {"seed", "repeat"}
PART = "1 = all"


class Outcome(NamedTuple):
    """A column, or with `either` what A and B have in it, a row per seat. Values are divided by `scale`; `unit` is
    what they are counted in then ("" for a number of things)."""

    column: str
    words: str
    group: str
    unit: str = ""
    scale: float = 1
    yes_no: bool = False
    either: bool = False

    @property
    def title(self) -> str:
        """For an axis."""
        return f"{self.words} ({self.unit})" if self.unit else self.words

    @property
    def mean(self) -> str:
        """For an axis of means."""
        return self.title if self.yes_no else f"mean {self.title}"

    @property
    def things(self) -> str:
        """What its values are of."""
        return "seats" if self.either else "matches"

    @property
    def key(self) -> str:
        """By which it is found again."""
        return f"{self.column} of either seat" if self.either else self.column


def outcomes(frame: pd.DataFrame, parameters: Collection[str] = ()) -> list[Outcome]:
    """Every column of numbers or of yes and no that has a value, what records say first; where A and B have one each,
    also both together."""
    games = sorted(set(frame["game"])) if "game" in frame else []
    plain = {*parameters, *_NO_OUTCOMES}
    names = [str(name) for name in frame if name not in plain and _counts(frame[name])]
    found: list[Outcome] = []
    for name in names:
        base, seat = _seat(name)
        pair = {f"{base}_{one.lower()}" for one in SEATS} <= set(names)
        if seat == "A" and pair:
            found.append(_outcome(frame, base, "of either seat", name, games)._replace(column=base, either=True))
        found.append(_outcome(frame, base, f"of {seat}" if seat else "", name, games))
    order = {f"{base}{end}": at for at, base in enumerate(RESULTS) for end in ("", "_a", "_b")}
    return sorted(found, key=lambda one: order.get(one.column, len(order)))


def _counts(column: pd.Series[Any]) -> bool:
    kind = column.dtype
    return bool(pd.api.types.is_bool_dtype(kind) or pd.api.types.is_numeric_dtype(kind)) and bool(column.notna().any())


def _seat(name: str) -> tuple[str, str]:
    base, _, last = name.rpartition("_")
    return (base, last.upper()) if base and last.upper() in SEATS else (name, "")


def _outcome(frame: pd.DataFrame, base: str, whose: str, column: str, games: list[str]) -> Outcome:
    words = f"{_WORDS.get(base, label(base))} {whose}".rstrip()
    group = "result" if base in RESULTS else "measure"
    if pd.api.types.is_bool_dtype(frame[column].dtype):
        return Outcome(column, words, group, "% of matches", 0.01, yes_no=True)
    units = {_unit(base, game) for game in games}
    unit = units.pop() if len(units) == 1 else ""
    return Outcome(column, words, group, *(("dollars", 100) if unit == "cents" else (unit, 1)))


def _unit(base: str, game: str) -> str:
    """What a column is counted in, as far as the game says; "" where it does not, or where things are counted."""
    if base in _PARTS:
        return PART
    if game not in catalog.names():
        return ""
    rules = type(catalog.load(game))
    if base == "payoff":
        return rules.unit
    if base in _STAKES:
        return rules.measure_units.get(base) or rules.stake_unit or rules.unit
    return rules.measure_units.get("price" if base.startswith("price_less") else base, "")
