"""The games of a sweep as frames to compare by: one row per match, or one per match and seat."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

import pandas as pd

from negolab.analysis import tables
from negolab.analysis.models import by_deal
from negolab.game import SEATS, other

_OF_SEAT = re.compile(r"(.+)_[ab]")


def games(path: str | os.PathLike[str]) -> pd.DataFrame:
    """One row per match of a sweep's finished cells: the columns of `tables.matches` and `tables.measures`, the
    parameters of its cell, and as `deal` its seed. Errors as `tables.matches`."""
    found = tables.matches(path)
    measured = tables.measures(path)
    if len(found):
        found = found.merge(measured, on=["match", "cell"], validate="one_to_one")
    return tables.with_parameters(found.assign(deal=found["seed"]), path)


def by_seat(frame: pd.DataFrame) -> pd.DataFrame:
    """One row per match and seat. What has a column for each seat (`gain_a`, `gain_b`) becomes one column, the seat's
    own (`gain`); `player` is who sat there, `opponent` who sat across, whatever parameters are called so. What both
    share is repeated."""
    ends = {name: match[1] for name in map(str, frame.columns) if (match := _OF_SEAT.fullmatch(name))}
    # `x_a` is of a seat only where there is `x_b` too.
    twice = [name for name in dict.fromkeys(ends.values()) if {f"{name}_a", f"{name}_b"} <= ends.keys()]
    parts = []
    for seat in SEATS:
        own = {f"{name}_{seat.lower()}": name for name in twice}
        gone = [*(f"{name}_{other(seat).lower()}" for name in twice), *(name for name in twice if name in frame)]
        part = frame.assign(seat=seat, opponent=frame[f"player_{other(seat).lower()}"])
        parts.append(part.drop(columns=gone).rename(columns=own))
    return pd.concat(parts, ignore_index=True)


def against(rows: pd.DataFrame, column: str, order: Sequence[str]) -> dict[str, dict[str, list[float]]]:
    """By player and then by opponent, in this order, one value per deal of what the player had: of the rows of
    `by_seat`, both seats alike. Those who never met are left out."""
    met = dict(list(rows.groupby(["player", "opponent"], sort=False)))
    return {
        player: {who: by_deal(met[player, who], column) for who in order if (player, who) in met} for player in order
    }
