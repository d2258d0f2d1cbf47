"""Players compared on the deals that both played."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Any

import pandas as pd

from negolab.analysis import stats


def contrasts(rows: pd.DataFrame, column: str, players: Sequence[str] | None = None) -> pd.DataFrame:
    """A row per two players, `one` and `two`: by how much more `one` has in `column`, the `value` with its 95 %
    interval (`low`, `high`), over `n` deals, each the mean over the seats that both took; `p` of no difference (a
    permutation test of signs) and `holm`, the same corrected for the number of pairs (Holm 1979).

    `rows` has a row per match and seat with `deal`, `seat` and `player`, such as `games.by_seat` gives.
    """
    names = list(dict.fromkeys(rows["player"])) if players is None else list(players)
    pairs = list(combinations(names, 2))
    return _tested(["one", "two"], pairs, [stats.differences(rows, one, two, column) for one, two in pairs])


def leads(rows: pd.DataFrame, one: str, two: str, column: str, by: Sequence[str]) -> pd.DataFrame:
    """A row per combination of `by`: how much more player `one` has in `column` than `two`, against the same opponents
    in the same seats of the same deals; numbers and `rows` as in `contrasts`, `holm` for the number of rows."""
    groups = dict(list(rows.groupby(list(by), sort=False)))
    return _tested(by, list(groups), [stats.differences(part, one, two, column) for part in groups.values()])


def _tested(heads: Sequence[str], names: Sequence[Any], differences: Sequence[Iterable[float]]) -> pd.DataFrame:
    """A row per name and its differences, with p corrected for their number."""
    rows = [[*name, *stats.paired(list(of))] for name, of in zip(names, differences, strict=True)]
    frame = pd.DataFrame(rows, columns=[*heads, *stats.Paired._fields])
    return frame.assign(holm=stats.corrected(list(frame["p"])))
