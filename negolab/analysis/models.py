"""Results of players, especially language models: a row per match and seat, and estimates that count each deal once.

Here, a deal is a draw of the game's start; coming to terms is called an agreement.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd

from negolab.analysis import tables
from negolab.analysis.estimates import Measure, estimate_measure, format_estimate, row_estimate
from negolab.analysis.stats import Estimate
from negolab.analysis.summary import KINDS
from negolab.analysis.table_columns import COUNTED
from negolab.analysis.tables import Source

GROUP = ["setting", "player", "opponent"]
"""Columns that identify a game, a player and its opponent."""


def seat_frame(source: Source) -> pd.DataFrame:
    """Return the rows of `tables.seats` in the form used for estimates, without results of matches that have no regular
    end.

    Args:
        source: Records, or a path to them.

    Returns:
        The columns of `tables.seats` and `setting` (game and preset). `stopped` is also "unfinished" if a match has no
        regular end; for a match that was stopped, `agreed`, `payoff`, `joint` and `possible` are empty. Players without
        a name are "?".

    Raises:
        FileNotFoundError: There is neither a file nor a folder at `source`.
        ValueError: A line is not a record, or a record cannot be replayed.
    """
    frame = tables.seats(source)
    is_open = frame["end"].isna() | frame["end"].eq("ABORTED")
    stopped = frame["stopped"].mask(frame["stopped"].isna() & is_open, "unfinished")
    results = {name: frame[name].where(stopped.isna()) for name in ("agreed", "payoff", "joint", "possible")}
    setting = (frame["game"] + " " + frame["preset"].fillna("")).str.strip()
    return frame.assign(setting=setting, stopped=stopped, **results).fillna({"player": "?", "opponent": "?"})


# Estimates.


def _has_own_moves(frame: pd.DataFrame) -> pd.Series[bool]:
    """Return False for a player whose moves against an opponent were all made by rules, so that its payoffs are not its
    own."""
    sums = frame.groupby(["player", "opponent"])[["moves", "fallbacks"]].transform("sum")
    return (sums["moves"] > sums["fallbacks"]) | (sums["moves"] == 0)


def with_efficiency(frame: pd.DataFrame) -> pd.DataFrame:
    """Add `efficiency`, the percentage of the possible joint surplus that was reached; NaN if none is possible."""
    joint, possible = frame["joint"].astype(float), frame["possible"].astype(float)
    return frame.assign(efficiency=100 * joint / possible.where(possible > 0))


def estimate_seats(frame: pd.DataFrame, unit: str = "points", joint_unit: str | None = None) -> pd.DataFrame:
    """Estimate the measures of `OUTCOMES`, `CONDUCT` and, for models, `EFFORT` in each group of `GROUP`.

    Args:
        frame: The rows of `seat_frame`.
        unit: Unit of payoffs; cents are converted to dollars.
        joint_unit: Unit of the joint surplus; default: `unit`.

    Returns:
        A row per setting, player, opponent and measure, with `unit`, `value`, 95% interval `low`, `high`, `n` games and
        the other fields of `stats.Estimate`. Games that a run stopped are counted, but are not part of any share or
        mean. An unknown value is NaN with n = 0. If a rule made moves in some games (`fallbacks`), their share and that
        of games they decided come first, and each outcome is repeated for the games without such moves; a player that
        made no moves of its own has no payoff.
    """
    outcomes = [
        (Measure("agreement", "has_agreed", "share"), "%"),
        _paid("own payoff", "own_payoff", unit),
        _paid("joint surplus", "joint", joint_unit or unit),
        (Measure("efficiency", "efficiency"), "%"),
    ]
    any_fallback = bool(frame["has_fallback"].any())
    rows = []
    for group, part in frame.groupby(GROUP, sort=False):
        games, stopped = part["match"].nunique(), part[part["stopped"].notna()]["match"].nunique()
        part = part[part["stopped"].isna()]
        found = [("games", "", _exact(games, games)), ("games stopped", "", _exact(stopped, games))]
        found += _estimate(part, [*outcomes, *_CONDUCT, *(_EFFORT if part["answers"].any() else ())])
        if any_fallback:
            made, moves = int(part["fallbacks"].sum()), int(part["moves"].sum())
            found += [("moves by a rule", "", _exact(made, moves)), *_estimate(part, [_DECIDED])]
            clean = _estimate(part[~part["has_fallback"]], outcomes)
            found += [(f"{what}{NO_FALLBACK}", of, estimate) for what, of, estimate in clean]
        names = dict(zip(GROUP, group, strict=True))
        rows += [{**names, "measure": what, "unit": of, **estimate._asdict()} for what, of, estimate in found]
    return pd.DataFrame(rows)


def _exact(value: int, n: int) -> Estimate:
    return Estimate(value, value, value, n)


def _paid(name: str, column: str, unit: str) -> tuple[Measure, str]:
    in_cents = unit == "cents"
    return Measure(name, column, scale=1 / 100 if in_cents else 1), "dollars" if in_cents else unit


def _estimate(part: pd.DataFrame, measures: Iterable[tuple[Measure, str]]) -> list[tuple[str, str, Estimate]]:
    """Return the name, unit and estimate of each measure in one group."""
    lost = {f"lost by {kind}": part["lost_by"] == kind for kind in KINDS}
    paid = part["payoff"].where(_has_own_moves(part))
    rows = with_efficiency(part).assign(has_agreed=part["agreed"].eq(True), own_payoff=paid, **lost)
    return [(measure.name, unit, estimate_measure(rows, measure)) for measure, unit in measures]


NO_FALLBACK = ", no fallback"
"""Suffix of the names of measures over the games in which no rule made a move."""
_DECIDED = Measure("decided by fallback", "decided_by_fallback", "share"), "% of games"
_CONDUCT = [
    *((Measure(f"{kind} faults", f"{kind}_faults", "share"), "% of games") for kind in KINDS),
    (Measure("allowance used up", "forfeits", "share"), "% of games"),
    *((Measure(f"lost by {kind}", f"lost by {kind}", "share"), "% of games") for kind in KINDS),
]
_EFFORT = [
    (Measure("answers", "answers"), "per game"),
    *((Measure(f"tokens {name}", f"tokens_{name}"), "per game") for name in COUNTED),
    (Measure("cost", "cost", scale=1000), "US dollars per 1,000 games"),
    (Measure("seconds", "seconds"), "per game"),
]
"""Tokens, cost and time of a model's answers, per game and seat."""
_RESULTS = ("agreement", "own payoff", "joint surplus", "efficiency")
OUTCOMES = (
    *("games", "games stopped", "moves by a rule", "decided by fallback"),
    *(name for result in _RESULTS for name in (result, f"{result}{NO_FALLBACK}")),
)
CONDUCT = tuple(measure.name for measure, _ in _CONDUCT)
EFFORT = tuple(measure.name for measure, _ in _EFFORT)


def overview_table(estimates: pd.DataFrame, chosen: Sequence[str] = OUTCOMES) -> pd.DataFrame:
    """Format estimates as text, with a row per player and opponent and a column per measure, each `value [low, high],
    n`.

    A value that no game has, or that no endpoint reported, is "unknown, n = 0".

    Args:
        estimates: The rows of `estimate_seats` for one setting.
        chosen: The measures to show.
    """
    shown = estimates[estimates.measure.isin(chosen)]
    shown = shown.assign(
        column=[f"{what} ({of})" if of else what for what, of in zip(shown.measure, shown.unit, strict=True)],
        text=[_text(row) for row in shown.itertuples()],
    )
    rows = list(dict.fromkeys(zip(shown.player, shown.opponent, strict=True)))
    wide = shown.pivot(index=["player", "opponent"], columns="column", values="text")
    wide.columns.name = None
    order = shown.drop_duplicates("column").sort_values(
        "measure", key=lambda names: names.map(list(chosen).index), kind="stable"
    )
    return wide.loc[rows, list(order.column)]


_COUNTS = ("games", "games stopped")


def _text(row: Any) -> str:
    if row.measure == "moves by a rule":
        return f"{row.value:.0f} of {row.n}"
    if row.measure in _COUNTS:
        return f"{row.value:.0f}"
    return format_estimate(row_estimate(row))
