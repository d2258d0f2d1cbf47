"""Groups of matches as numbers: means with their intervals, and how many matches and deals are behind them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from negolab.analysis import stats
from negolab_widgets.results.factor import Factor
from negolab_widgets.results.outcome import Outcome

NUMBERS = ("mean", "low", "high", "n", "deals", "median", "lower", "upper")
"""Columns of a summary beside those of its factors: a mean with its 95 % interval, rows and deals that it is of, and
the three quartiles."""


def values(frame: pd.DataFrame, outcome: Outcome, by: Sequence[Factor]) -> pd.DataFrame:
    """The rows that have the outcome: its `value` in its unit, its `deal`, and per factor which value it has."""
    column = frame[outcome.column]
    known = frame[column.notna()]
    found = {"value": column[column.notna()].astype(float) / outcome.scale, "deal": _deals(known)}
    return pd.DataFrame({**found, **{factor.key: factor.codes(known) for factor in by}})


def _deals(frame: pd.DataFrame) -> pd.Series[Any]:
    """What was drawn alike: matches of one game with one seed; a match that was dealt by hand stands for itself."""
    if frame.empty:
        return pd.Series(dtype=str)
    own = frame["cell"].astype(str) + "/" + frame["match"].astype(str)
    seed = frame["seed"].astype("Int64").astype("string")
    return (frame["game"].astype(str) + ":" + seed).fillna(own)


def summary(data: pd.DataFrame, outcome: Outcome, by: Sequence[Factor]) -> pd.DataFrame:
    """A row per group that has values, in the factors' order. `data` is what `values` gives."""
    names = [factor.key for factor in by]
    groups = data.groupby(names, sort=True) if names else [((), data)]
    rows = [{**dict(zip(names, key, strict=True)), **_numbers(rows, outcome)} for key, rows in groups if not rows.empty]
    return pd.DataFrame(rows, columns=[*names, *NUMBERS])


def _numbers(rows: pd.DataFrame, outcome: Outcome) -> dict[str, float]:
    estimate = _estimate(rows, outcome)
    lower, median, upper = rows["value"].quantile([0.25, 0.5, 0.75])
    return {
        "mean": estimate.value,
        "low": estimate.low,
        "high": estimate.high,
        "n": len(rows),
        "deals": estimate.n,
        "median": median,
        "lower": lower,
        "upper": upper,
    }


def _estimate(rows: pd.DataFrame, outcome: Outcome) -> stats.Estimate:
    """A deal counts once, with the mean of its matches: those are alike. Wilson's interval where each deal says yes or
    no, else Student's t."""
    means = rows.groupby("deal")["value"].mean()
    if not outcome.yes_no:
        return stats.mean(list(means))
    whole = 1 / outcome.scale
    if means.isin([0, whole]).all():
        share = stats.share(int((means == whole).sum()), len(means))
        return stats.Estimate(whole * share.value, whole * share.low, whole * share.high, share.n)
    found = stats.mean(list(means))
    return found._replace(low=max(found.low, 0.0), high=min(found.high, whole))


def table(found: pd.DataFrame, by: Sequence[Factor]) -> pd.DataFrame:
    """A summary with the values' texts in place of their numbers, under the factors' titles."""
    named: dict[str, Any] = {}
    for factor in by:
        title = factor.title
        while title in NUMBERS or title in named:
            title += " (parameter)"
        named[title] = found[factor.key].map(dict(enumerate(factor.texts)))
    return pd.DataFrame({**named, **{name: found[name] for name in NUMBERS}})
