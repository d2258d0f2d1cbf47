"""What was played against what is known exactly of it: does each value lie in its interval?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pandas as pd

from negolab.analysis import stats
from negolab.analysis.estimates import texts
from negolab.analysis.grouped import measured

Exact = dict[str, float]
"""Expected values by column."""


def checked(
    frame: pd.DataFrame, by: Sequence[str], measures: Mapping[str, str], exact: Callable[..., Exact], others: int = 0
) -> pd.DataFrame:
    """A row per group and measure that is known exactly: `exact`, the mean of the matches with the interval that holds
    it `value, low, high, n`, and `holds`. The intervals hold all at once at the 95 % level, together with `others`
    that are checked beside them. `measures` are titles by column of the frame, which has a row per independent match;
    `exact` is called with the group's values of `by`."""
    known = {names: exact(*names) for names in frame[list(by)].drop_duplicates().itertuples(index=False, name=None)}
    count = sum(map(len, known.values())) + others
    found = measured(frame, by, measures, stats.simultaneous(count))
    columns = {title: name for name, title in measures.items()}
    groups = found[list(by)].itertuples(index=False, name=None)
    values = [known[names].get(columns[title]) for names, title in zip(groups, found["measure"], strict=True)]
    return held(found.assign(exact=pd.Series(values, dtype=float)).dropna(subset=["exact"]))


def held(found: pd.DataFrame) -> pd.DataFrame:
    """With a column `holds`: whether `exact` lies from `low` to `high`; missing where one match gives no interval.
    Where chance plays no part the interval has no width, and the mean must be exact but for rounding."""
    slack = 1e-9 * found["exact"].abs().clip(lower=1)
    inside = (found["low"] - slack <= found["exact"]) & (found["exact"] <= found["high"] + slack)
    return found.assign(holds=inside.astype("boolean").mask(found["low"].isna()))


def verdict(checks: pd.DataFrame) -> str:
    """In one sentence, whether the exact values are met."""
    tested = checks["holds"].notna()
    met, count, left = int(checks["holds"].sum()), int(tested.sum()), int((~tested).sum())
    more = f" {left} have a single match and no interval." if left else ""
    if met == count:
        return f"**All {count} exact values lie within their interval.**{more}"
    missed = ", ".join(checks[tested & ~checks["holds"].fillna(True)]["measure"].unique())
    return f"**{met} of {count} exact values lie within their interval**; missed: {missed}.{more}"


def wide(found: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """The checks for reading: a row per group, and in a column per measure the mean with its interval and, in round
    brackets, the exact value; where that is missed, so it says."""
    missed = (~found["holds"].fillna(True)).tolist()
    rows = zip(texts(found), found["exact"], missed, strict=True)
    words = [f"{text} ({exact:.6g}){' MISSED' if out else ''}" for text, exact, out in rows]
    table = found.assign(text=words).pivot(index=[*names, "n"], columns="measure", values="text")
    order = found.set_index([*names, "n"]).index.drop_duplicates()
    table.columns.name = None
    return table.loc[order, list(dict.fromkeys(found["measure"]))].fillna("")
