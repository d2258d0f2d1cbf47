"""Every two players compared on the deals that both played."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import pandas as pd

from negolab.analysis import stats


def contrasts(rows: pd.DataFrame, column: str, players: Sequence[str] | None = None) -> pd.DataFrame:
    """A row per two players, `one` and `two`: by how much more `one` has in `column`, the `value` with its 95 %
    interval (`low`, `high`), over `n` deals, each the mean over the seats that both took; `p` of no difference (a
    permutation test of signs) and `holm`, the same corrected for the number of pairs (Holm 1979).

    `rows` has a row per match and seat with `deal`, `seat` and `player`, such as `games.by_seat` gives.
    """
    names = list(dict.fromkeys(rows["player"])) if players is None else list(players)
    found = [
        {"one": one, "two": two, **stats.paired(list(stats.differences(rows, one, two, column)))._asdict()}
        for one, two in combinations(names, 2)
    ]
    frame = pd.DataFrame(found, columns=["one", "two", *stats.Paired._fields])
    return frame.assign(holm=stats.corrected(list(frame["p"])))
