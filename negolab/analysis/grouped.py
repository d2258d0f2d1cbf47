"""Estimates by group: a mean with its interval for every combination of some columns."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from negolab.analysis import stats


def means(frame: pd.DataFrame, by: Sequence[str], column: str, level: float = stats.LEVEL) -> pd.DataFrame:
    """A row per combination of `by` with the mean of `column`: `value`, `low`, `high` (Student's t, at this level) and
    `n`, the number of rows in which it is known. Assumes that the rows of a group are independent: in a sweep, that
    each is a deal of its own. The order is that of the groups in the frame."""
    known = frame.dropna(subset=[column])
    rows = []
    for names, part in known.groupby(list(by), sort=False):
        estimate = stats.mean([float(value) for value in part[column]], level)
        rows.append([*names, *estimate])
    return pd.DataFrame(rows, columns=[*by, *stats.Estimate._fields])
