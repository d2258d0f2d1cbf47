"""Comparisons of players on the deals that both played, with tests that are corrected for their number."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Any, Literal

import pandas as pd

from negolab.analysis import stats
from negolab.analysis.estimates import format_estimates

Pairing = Literal["deal", "draw"]


def contrasts(
    rows: pd.DataFrame,
    column: str,
    players: Sequence[str] | None = None,
    *,
    by: Sequence[str],
    on: Pairing = "deal",
) -> pd.DataFrame:
    """Compare every pair of players on the deals that both played, within settings.

    Args:
        rows: A row per match and seat with `deal`, `seat` and `player`, such as those of `by_seat`.
        column: The column to compare.
        players: The players, in order; default: all of `rows`.
        by: The columns that name a setting, such as the game's parameters; () where all rows are of one setting.
        on: `draw` pairs deals that differ in parameters on the same chance.

    Returns:
        A row per pair `one`, `two`: `value` (mean of `one` less `two`) with its 95 % interval `low`, `high`; `n` deals,
        each the mean over the seats that both took; `p` of no difference (a permutation test of signs); `holm`, the
        same corrected for the number of pairs (Holm 1979). Intervals are of one pair each, not simultaneous.

    Raises:
        ValueError: A player did not play all settings, so that its mean would be one of other settings.
    """
    names = list(dict.fromkeys(rows["player"])) if players is None else list(players)
    _check_settings(rows, names, by)
    pairs = list(combinations(names, 2))
    differences = [_differences(rows, *pair, column, by, on) for pair in pairs]
    return _test_differences(["one", "two"], pairs, differences)


def behind_best(
    rows: pd.DataFrame, column: str, *, by: Sequence[str], on: Pairing = "deal", players: Sequence[str] | None = None
) -> pd.DataFrame:
    """Compare the player with the highest mean with each other one, corrected for the choice of the best.

    Which player is the best is read from the same data, so that p is corrected for all pairs (Holm 1979), not only for
    those with the best: where all are alike, at most 5 % of studies find anyone behind.

    Args:
        rows: As of `contrasts`.
        column: The column to compare; more is better.
        by: The columns that name a setting.
        on: What is paired.
        players: The players; default: all of `rows`.

    Returns:
        The rows of `contrasts` with the best: `best`, `player`, and what the best has more.
    """
    chosen = rows if players is None else rows[rows["player"].isin(list(players))]
    names = list(chosen.groupby("player")[column].mean().sort_values(ascending=False).index)
    found = contrasts(chosen, column, names, by=by, on=on).rename(columns={"one": "best", "two": "player"})
    return found[found["best"].isin(names[:1])]


def matched_contrasts(rows: pd.DataFrame, one: str, two: str, column: str, by: Sequence[str]) -> pd.DataFrame:
    """Compare player `one` with `two` on the same deals, in a row per combination of `by`.

    Args:
        rows: A row per match and seat with `deal`, `seat` and `player`.
        one: The first player.
        two: The player whose values are subtracted.
        column: The column to compare.
        by: Columns to group by, such as the opponent.

    Returns:
        The columns of `by`, then the numbers of `contrasts`; `holm` is corrected for the number of rows.
    """
    groups = dict(list(rows.groupby(list(by), sort=False)))
    return _test_differences(
        by, list(groups), [stats.paired_differences(part, one, two, column) for part in groups.values()]
    )


def _check_settings(rows: pd.DataFrame, names: Sequence[str], by: Sequence[str]) -> None:
    """Raise `ValueError` unless all players played the same settings."""
    if not by:
        return
    columns = rows[list(by)]
    played = {name: set(columns[rows["player"] == name].itertuples(index=False, name=None)) for name in names}
    for name, own in played.items():
        if missing := sorted(set().union(*played.values()) - own, key=str):
            setting = ", ".join(f"{column} {value}" for column, value in zip(by, missing[0], strict=True))
            raise ValueError(
                f"{name} did not play {setting}, which others did: leave out the player or the setting to compare"
            )


def _differences(rows: pd.DataFrame, one: str, two: str, column: str, by: Sequence[str], on: Pairing) -> list[float]:
    """Return the paired differences within each setting; those that settings share a draw for are averaged."""
    parts = [part for _, part in rows.groupby(list(by), sort=False)] if by else [rows]
    found = pd.concat([stats.paired_differences(part, one, two, column, on) for part in parts])
    return list(found.groupby(level=0, sort=False).mean())


def _test_differences(
    heads: Sequence[str], names: Sequence[Any], differences: Sequence[Iterable[float]]
) -> pd.DataFrame:
    """Test each list of differences against zero, one row each, and correct p for their number."""
    rows = [[*name, *stats.paired_test(list(of))] for name, of in zip(names, differences, strict=True)]
    frame = pd.DataFrame(rows, columns=[*heads, *stats.PairedDifference._fields])
    return frame.assign(holm=stats.adjust_p_values(list(frame["p"])))


def comparison_table(found: pd.DataFrame, what: str = "difference") -> pd.DataFrame:
    """Format comparisons, such as those of `contrasts`, as text.

    Args:
        found: Comparisons with `value`, `low`, `high`, `p` and `holm`; other columns are kept as they are.
        what: Name of the column that holds the difference and its interval; it should tell the unit.
    """
    tested = {name: format_p_values(found, name) for name in ("p", "holm")}
    shown = found.assign(value=format_estimates(found), **tested).drop(columns=["low", "high"])
    return shown.rename(columns={"value": what})


_FLOOR = 2 / 10_000
"""The smallest p that `stats.paired_test` can return from its 9,999 random sign flips."""


def format_p(p: float, tests: int = 1) -> str:
    """Format a p value with two digits, as a bound where it is the smallest that random sign flips can give.

    Args:
        p: The p value; NaN becomes a dash.
        tests: Number of tests that `p` is corrected for.
    """
    if p != p:
        return "–"
    floor = _FLOOR * tests
    return f"≤ {floor:.2g}" if p <= floor * (1 + 1e-9) < 1 else f"{p:.2g}"


def format_p_values(found: pd.DataFrame, column: str = "holm") -> list[str]:
    """Format the column `p` or `holm` of comparisons; a dash where differences do not vary or were not tested."""
    tests = int(found["p"].notna().sum()) if column == "holm" else 1
    fixed = found["low"] == found["high"]
    return ["–" if same else format_p(p, tests) for p, same in zip(found[column], fixed, strict=True)]
