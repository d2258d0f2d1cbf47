"""Estimates by group: means with their intervals, for every combination of some columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from negolab.analysis import stats
from negolab.analysis.estimates import texts


def by_deal(rows: pd.DataFrame, by: Sequence[str], column: str) -> pd.DataFrame:
    """One row per combination of `by` and deal with the mean of `column` over the games on it, which are alike; as
    `means` wants them, from the rows of `games.by_seat`."""
    return rows.groupby([*by, "deal"], sort=False, as_index=False)[[column]].mean()


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


def measured(
    frame: pd.DataFrame, by: Sequence[str], titles: Mapping[str, str], level: float = stats.LEVEL
) -> pd.DataFrame:
    """The `means` of several columns one below the other, each under its title in `measure`."""
    parts = [means(frame, by, column, level).assign(measure=title) for column, title in titles.items()]
    return pd.concat(parts, ignore_index=True)


_UNPLAYED = "(not played in this run)"


def at(found: pd.DataFrame, **where: object) -> str:
    """The estimate of the one row that has these values, as text; words that say so where there is none."""
    for column, value in where.items():
        found = found[found[column] == value]
    known = found.dropna(subset=["value"])
    return texts(known)[0] if len(known) else _UNPLAYED


def told(*paragraphs: Sequence[str]) -> str:
    """Paragraphs, each a heading and sentences that can stand alone, as one text. What tells of estimates (`at`) that
    were not played is left out, with the heading if nothing else is left; the end says so, once."""
    kept = [[sentence for sentence in sentences if _UNPLAYED not in sentence] for _, *sentences in paragraphs]
    texts = [" ".join([heading, *known]) for (heading, *_), known in zip(paragraphs, kept, strict=True) if known]
    if sum(map(len, kept)) < sum(len(paragraph) - 1 for paragraph in paragraphs):
        texts.append("*The whole plan says more than this run, which is a part of it.*")
    return "\n\n".join(texts)
