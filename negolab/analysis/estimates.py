"""Groups of games as estimates: a value with its interval and n for each group and measure, to draw and to read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import pandas as pd

from negolab.analysis import models, stats
from negolab.analysis.stats import Estimate


class Measure(NamedTuple):
    """What is estimated: its name with the unit, its column, and how. `mean` is of one value per deal, with Student's t
    interval; `bootstrap` the same for values that crowd at an end of their scale; `share` the games in which the column
    is above 0, in percent, with Wilson's."""

    name: str
    column: str
    how: Literal["mean", "bootstrap", "share"] = "mean"


def estimates(frame: pd.DataFrame, groups: Mapping[str, str], measures: Sequence[Measure]) -> pd.DataFrame:
    """A row per group and measure with `measure, value, low, high, n`, before them a column for each of `groups`: its
    name here -> its column in `frame`, which has `match` and `deal` besides. Groups keep the order of the frame."""
    rows = [
        {**dict(zip(groups, key, strict=True)), "measure": measure.name, **of(part, measure)._asdict()}
        for key, part in frame.groupby(list(groups.values()), sort=False)
        for measure in measures
    ]
    return pd.DataFrame(rows, columns=[*groups, "measure", *Estimate._fields])


def of(part: pd.DataFrame, measure: Measure) -> Estimate:
    """One measure of one group. What is missing in a game is left out, so n may differ from one measure to the next."""
    if measure.how == "share":
        share = stats.share(*models.faulty(part, measure.column))
        return Estimate(100 * share.value, 100 * share.low, 100 * share.high, share.n)
    values = models.by_deal(part, measure.column)
    return stats.mean(values) if measure.how == "mean" else stats.bootstrap(values)


def wide(found: pd.DataFrame, index: Sequence[str]) -> pd.DataFrame:
    """`estimates` for reading: a row per group, a column per measure."""
    shown = found.assign(text=texts(found, n=True)).pivot(index=list(index), columns="measure", values="text")
    rows = found.set_index(list(index)).index.drop_duplicates()
    shown.columns.name = None
    return shown.loc[rows, list(dict.fromkeys(found["measure"]))]


def compared(found: pd.DataFrame, what: str = "difference") -> pd.DataFrame:
    """Comparisons for reading, such as `contrasts` gives: `value` with its interval as `what`, which says the unit, and
    `p` and `holm` as `chances`; the other columns as they are."""
    tested = {name: chances(found, name) for name in ("p", "holm")}
    shown = found.assign(value=texts(found), **tested).drop(columns=["low", "high"])
    return shown.rename(columns={"value": what})


_FLOOR = 2 / 10_000
"""The smallest p that the 9,999 random signs of `stats.paired` can give."""


def chance(p: float, tests: int = 1) -> str:
    """A p to two digits, corrected for this number of tests; one that is as small as random signs can show is told as
    a bound."""
    if p != p:
        return "–"
    floor = _FLOOR * tests
    return f"≤ {floor:.2g}" if p <= floor * (1 + 1e-9) < 1 else f"{p:.2g}"


def chances(found: pd.DataFrame, column: str = "holm") -> list[str]:
    """The `p` or `holm` of comparisons, as text; a dash where the difference does not vary, or was not tested."""
    tests = int(found["p"].notna().sum()) if column == "holm" else 1
    fixed = found["low"] == found["high"]
    return ["–" if same else chance(p, tests) for p, same in zip(found[column], fixed, strict=True)]


def texts(found: pd.DataFrame, *, n: bool = False) -> list[str]:
    """Each row's estimate as text, with its interval, and with its n if that is asked for."""
    return [said(Estimate(*values), n=n) for values in found[[*Estimate._fields]].itertuples(index=False)]


def said(estimate: Estimate | stats.Paired, *, n: bool = True) -> str:
    """A number with its interval in square brackets, three digits of each, and its n."""
    if estimate.value != estimate.value:
        return "unknown, n = 0" if n else "unknown"
    known = estimate.low == estimate.low
    interval = f" [{_number(estimate.low)}, {_number(estimate.high)}]" if known else ""
    return f"{_number(estimate.value)}{interval}" + (f", n = {estimate.n}" if n else "")


def _number(value: float) -> str:
    """Three digits, but whole numbers whole, and nothing below a thousandth."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{round(value, 3) + 0:.3g}"
