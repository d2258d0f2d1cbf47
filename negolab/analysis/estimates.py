"""Estimates for groups of matches, with intervals and n, for tables and figures.

Means and shares per group, checks against exact values, and the sweep frames that these are computed from.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pandas as pd

from negolab.analysis import stats, tables
from negolab.analysis.columns import to_frame
from negolab.analysis.match_frames import read_sweep
from negolab.analysis.observations import Sample, frame_sample, sample_text
from negolab.analysis.stats import Estimate
from negolab.formatting import format_significant
from negolab.game import SEATS, other


class Measure(NamedTuple):
    """A measure to estimate.

    Attributes:
        name: Its name with the unit, such as "efficiency (%)".
        column: Its column in the frame.
        how: `mean` is the mean over matches, and `share` is the percentage of matches in which the column is above 0;
            see `observations.Sample`.
        scale: Factor for the values of a mean, such as 1 / 100 for dollars.
    """

    name: str
    column: str
    how: Literal["mean", "share"] = "mean"
    scale: float = 1


def estimate_groups(
    frame: pd.DataFrame, groups: Mapping[str, str], measures: Sequence[Measure], level: float = stats.LEVEL
) -> pd.DataFrame:
    """Estimate each measure in each group.

    Args:
        frame: A row per match and seat, or per match; see `observations.frame_sample`.
        groups: Name of a column of the result -> column of `frame` to group by.
        measures: The measures to estimate.
        level: Confidence level of the intervals, from 0 to 1.

    Returns:
        A row per group and measure: the columns of `groups`, `measure`, and the fields of `stats.Estimate`. Groups are
        in the order of the frame.
    """
    rows = [
        {**dict(zip(groups, key, strict=True)), "measure": each.name, **estimate_measure(part, each, level)._asdict()}
        for key, part in frame.groupby(list(groups.values()), sort=False)
        for each in measures
    ]
    return pd.DataFrame(rows, columns=[*groups, "measure", *Estimate._fields])


def estimate_measure(part: pd.DataFrame, measure: Measure, level: float = stats.LEVEL) -> Estimate:
    """Estimate one measure in one group; missing values are left out, so n may differ between measures."""
    if measure.how == "share":
        return percent(share_of(part, part[measure.column] > 0, level))
    return frame_sample(part, measure.column, scale=measure.scale).mean(level=level)


def share_of(frame: pd.DataFrame, hit: pd.Series[bool], level: float = stats.LEVEL) -> Estimate:
    """Return the share, from 0 to 1, of games in which `hit` is True for a seat; a player's game against itself counts
    once."""
    return frame_sample(frame.assign(hit=hit.astype(float)), "hit").share(level=level)


def agreement_hazard(matches: pd.DataFrame) -> pd.DataFrame:
    """Return, for each turn, the share of matches still open that reached agreement in it, to show a deadline effect.

    A concentration of agreements in the last turns is the deadline effect of Roth, Murnighan and Schoumaker (1988).

    Args:
        matches: The rows of `tables.matches` for one game, or for one treatment.

    Returns:
        A row per turn up to the last agreement: `turn` (moves of both so far), and the fields of `stats.Estimate`: the
        share, from 0 to 1, with its interval by draws, and, as n, the number of open matches.
    """
    turns = matches["moves_a"] + matches["moves_b"]
    agreed = turns.where(matches["end"] == "AGREED")
    last = max(agreed.dropna().astype(int), default=0)
    shares = {turn: share_of(matches[turns >= turn], agreed[turns >= turn] == turn) for turn in range(1, last + 1)}
    return pd.DataFrame([{"turn": turn, **share._asdict()} for turn, share in shares.items()])


def percent(share: Estimate) -> Estimate:
    """Return a share as a percentage."""
    return share._replace(value=100 * share.value, low=100 * share.low, high=100 * share.high)


def estimate_table(found: pd.DataFrame, index: Sequence[str]) -> pd.DataFrame:
    """Format the rows of `estimate_groups` as text, with a row per group and a column per measure.

    Args:
        found: Estimates with `measure` and the columns of `index`.
        index: The columns that name a group.
    """
    return _spread(found, format_estimates(found, n=True), list(index))


def _spread(found: pd.DataFrame, texts: Sequence[str], index: list[str]) -> pd.DataFrame:
    """Arrange the texts of estimates in a row per group and a column per measure, in the order of the estimates."""
    table = found.assign(text=texts).pivot(index=index, columns="measure", values="text")
    table.columns.name = None
    return table.loc[found.set_index(index).index.drop_duplicates(), list(dict.fromkeys(found["measure"]))]


def format_estimates(found: pd.DataFrame, *, n: bool = False) -> list[str]:
    """Format the estimate in each row with its interval and, if `n` is set, with what it is based on."""
    return [format_estimate(row_estimate(row), n=n) for row in found.itertuples()]


def row_estimate(row: Any) -> Estimate:
    """Return the estimate in a row of a frame, in which integers may have become floats."""
    known = {name: getattr(row, name) for name in Estimate._fields if hasattr(row, name)}
    draws = known.get("draws")
    return Estimate(**{**known, "draws": None if draws is None or draws != draws else int(draws)})


def format_estimate(estimate: Estimate, *, n: bool = True) -> str:
    """Format an estimate with its interval, if it has one, and, if `n` is set, with its n."""
    if estimate.value != estimate.value:
        return "unknown, n = 0" if n else "unknown"
    known = estimate.low == estimate.low
    interval = f" [{format_significant(estimate.low)}, {format_significant(estimate.high)}]" if known else ""
    return f"{format_significant(estimate.value)}{interval}" + (f", {sample_text(estimate)}" if n else "")


def group_means(frame: pd.DataFrame, by: Sequence[str], column: str, level: float = stats.LEVEL) -> pd.DataFrame:
    """Return the mean of `column` for each combination of `by`, in the order of the frame.

    Args:
        frame: Same as in `observations.frame_sample`; rows without a value are left out.
        by: Columns to group by.
        column: The column to average.
        level: Confidence level of the interval, from 0 to 1.

    Returns:
        The columns of `by`, and the fields of `stats.Estimate`.
    """
    return measure_means(frame, by, {column: column}, level).drop(columns="measure")


def measure_means(
    frame: pd.DataFrame, by: Sequence[str], titles: Mapping[str, str], level: float = stats.LEVEL
) -> pd.DataFrame:
    """Stack the `group_means` of several columns, each under its title in the column `measure`.

    Args:
        frame: A row per observation.
        by: Columns to group by.
        titles: Column -> title.
        level: Confidence level of the intervals, from 0 to 1.
    """
    groups = {name: name for name in by}
    parts = [
        estimate_groups(frame.dropna(subset=[column]), groups, [Measure(title, column)], level)
        for column, title in titles.items()
    ]
    return pd.concat(parts, ignore_index=True)


_UNPLAYED = "(not played in this run)"


def estimate_text(found: pd.DataFrame, **where: object) -> str:
    """Format the estimate in the only row with these column values; a placeholder if this run did not play it."""
    for column, value in where.items():
        found = found[found[column] == value]
    known = found.dropna(subset=["value"])
    return format_estimates(known)[0] if len(known) else _UNPLAYED


def join_paragraphs(*paragraphs: Sequence[str]) -> str:
    """Join paragraphs, each a heading and independent sentences, leaving out sentences about matches that were not
    played.

    Such sentences contain the placeholder of `estimate_text`. A heading without sentences is also left out, and a
    closing line says that the run covers only part of the plan.
    """
    kept = [[sentence for sentence in sentences if _UNPLAYED not in sentence] for _, *sentences in paragraphs]
    texts = [" ".join([heading, *known]) for (heading, *_), known in zip(paragraphs, kept, strict=True) if known]
    if sum(map(len, kept)) < sum(len(paragraph) - 1 for paragraph in paragraphs):
        texts.append("*This run covers only part of the plan.*")
    return "\n\n".join(texts)


Exact = dict[str, float]
"""Expected values by column."""


def check_exact(
    frame: pd.DataFrame, by: Sequence[str], measures: Mapping[str, str], exact: Callable[..., Exact], others: int = 0
) -> pd.DataFrame:
    """Compare the mean of each measure in each group with its exact expected value.

    All intervals, including those of `others`, hold simultaneously at the 95% level (Bonferroni).

    Args:
        frame: A row per independent match.
        by: Columns to group by.
        measures: Column -> title.
        exact: Called with the group's values of `by`; returns the known expected values by column.
        others: Number of further checks in addition to these.

    Returns:
        A row per group and measure whose exact value is known: the columns of `by`, `measure`, `value`, `low`, `high`,
        `n`, `exact` and `holds`.
    """
    known = {names: exact(*names) for names in frame[list(by)].drop_duplicates().itertuples(index=False, name=None)}
    count = sum(map(len, known.values())) + others
    found = measure_means(frame, by, measures, stats.bonferroni_level(count))
    columns = {title: name for name, title in measures.items()}
    groups = found[list(by)].itertuples(index=False, name=None)
    values = [known[names].get(columns[title]) for names, title in zip(groups, found["measure"], strict=True)]
    return mark_coverage(found.assign(exact=pd.Series(values, dtype=float)).dropna(subset=["exact"]))


def mark_coverage(found: pd.DataFrame) -> pd.DataFrame:
    """Add the column `holds`: True if `exact` lies between `low` and `high`, and missing if there is no interval.

    A value that is known exactly, or is the same in all draws, must equal the exact value up to rounding.
    """
    slack = 1e-9 * found["exact"].abs().clip(lower=1)
    low, high = (found[name].fillna(found["value"]) for name in ("low", "high"))
    inside = (low - slack <= found["exact"]) & (found["exact"] <= high + slack)
    return found.assign(holds=inside.astype("boolean").mask(found["status"].isin(["one", "none"])))


def verdict(checks: pd.DataFrame) -> str:
    """Summarize checks in one sentence: how many exact values lie within their intervals, and which do not."""
    tested = checks["holds"].notna()
    met, count, left = int(checks["holds"].sum()), int(tested.sum()), int((~tested).sum())
    more = f" {left} have a single match and no interval." if left else ""
    if met == count:
        return f"**All {count} exact values lie within their intervals.**{more}"
    missed = ", ".join(checks[tested & ~checks["holds"].fillna(True)]["measure"].unique())
    return f"**{met} of {count} exact values lie within their intervals**; missed: {missed}.{more}"


def check_table(found: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """Format checks as text, with a row per group, columns for n and draws (0: known exactly), and a column per
    measure.

    Each cell contains the mean with its interval and the exact value in parentheses, marked if it is missed.

    Args:
        found: The rows of `check_exact`.
        names: The columns that name a group.
    """
    missed = (~found["holds"].fillna(True)).tolist()
    rows = zip(format_estimates(found), found["exact"], missed, strict=True)
    words = [f"{text} ({exact:.6g}){' MISSED' if out else ''}" for text, exact, out in rows]
    counts = ["n", "draws"] if found["draws"].notna().all() else ["n"]
    return _spread(found, words, [*names, *counts]).fillna("")


_OF_SEAT = re.compile(r"(.+)_[ab]")


def sweep_matches(path: str | os.PathLike[str]) -> pd.DataFrame:
    """Return one row per match of a sweep's finished cells.

    Args:
        path: The folder of a sweep.

    Returns:
        The columns of `tables.matches` and `tables.measures`, `agreed`, and the parameters of the match's cell.

    Raises:
        ValueError: The folder is not a sweep's folder, or a record cannot be read or replayed.
    """
    return tables.with_parameters(to_frame(read_sweep(Path(path))), path)


def per_round(matches: pd.DataFrame, shares: Iterable[str]) -> pd.DataFrame:
    """Convert `shares` of matches with several rounds to percentages, and add each seat's payoff per round.

    Args:
        matches: A row per match with `rounds`, `payoff_a`, `payoff_b` and the columns `shares`.
        shares: Columns of fractions.

    Returns:
        The frame with `points_a` and `points_b`.
    """
    rounds = matches["rounds"].astype(float)
    percent = {name: 100 * matches[name].astype(float) for name in shares}
    points = {f"points_{seat}": matches[f"payoff_{seat}"].astype(float) / rounds for seat in "ab"}
    return matches.assign(**percent, **points)


def without_result(matches: pd.DataFrame) -> pd.DataFrame:
    """Count the matches that were stopped, aborted, forfeited or left unfinished, by players and reason.

    Args:
        matches: The rows of `tables.matches`.

    Returns:
        Columns `player_a`, `player_b`, `what`, `reason` (for a forfeit, the code of the last rejection), `matches`, and
        `of`, the number of all matches of these players.
    """
    pair = ["player_a", "player_b"]
    what = matches["stopped"].fillna(matches["end"]).fillna("unfinished")
    of = matches.groupby(pair)["match"].transform("size")
    codes = matches["fallback_codes_a"].fillna(matches["fallback_codes_b"]).astype("string").str.split().str[-1]
    reason = matches["reason"].fillna(codes.where(what.eq("FORFEIT"))).fillna("")
    rows = matches.assign(what=what, reason=reason, of=of)
    rows = rows[~what.isin(["AGREED", "NO_DEAL", "OUT_OF_TIME"])]
    return rows.groupby([*pair, "what", "reason", "of"], sort=False).size().rename("matches").reset_index()


def fallbacks_by_player(matches: pd.DataFrame) -> pd.DataFrame:
    """Count the moves that a rule made in place of a player, by player; players without any are left out.

    Args:
        matches: The rows of `tables.matches`.

    Returns:
        Columns `player`, `moves` (all of its moves), `fallbacks` (those that a rule made), `why` (codes of the
        rejections before them, the most common first), `decided` (matches decided by such a move of either seat), and
        `matches`.
    """
    rows = [
        {
            "player": player,
            "moves": part["moves"].sum(),
            "fallbacks": part["fallbacks"].sum(),
            "why": _frequencies(code for codes in part["fallback_codes"].dropna() for code in codes.split()),
            "decided": part.drop_duplicates("at")["decided_by_fallback"].sum(),
            "matches": part["at"].nunique(),
        }
        for player, part in by_seat(matches.assign(at=range(len(matches)))).groupby("player", sort=False)
        if part["fallbacks"].any()
    ]
    return pd.DataFrame(rows, columns=["player", "moves", "fallbacks", "why", "decided", "matches"])


def _frequencies(codes: Iterable[str]) -> str:
    return ", ".join(f"{code} {count:,}" for code, count in Counter(codes).most_common())


def by_seat(
    frame: pd.DataFrame,
    names: Iterable[str] | None = None,
    about: tuple[str, str, str] = ("seat", "player", "opponent"),
) -> pd.DataFrame:
    """Reshape a frame of matches to one row per match and seat.

    A measure with a column for each seat (`gain_a`, `gain_b`) becomes one column with the seat's own value (`gain`);
    columns for the whole match are repeated. `player` is the seat's player and `opponent` the other one; both replace
    parameters with these names.

    Args:
        frame: A row per match, with `player_a` and `player_b`.
        names: The measures that get a column with the seat's own value in addition to the columns of both seats.
            Default: all that have a column for each seat, in place of those columns.
        about: Names of the columns for the seat, its player and the other one.
    """
    twice = _names_of_both(frame) if names is None else list(names)
    parts = []
    for seat in SEATS:
        players = (frame[f"player_{one.lower()}"] for one in (seat, other(seat)))
        own = {name: frame[f"{name}_{seat.lower()}"] for name in twice}
        parts.append(frame.assign(**{**own, **dict(zip(about, (seat, *players), strict=True))}))
    both = [] if names is not None else [f"{name}_{seat.lower()}" for name in twice for seat in SEATS]
    return pd.concat(parts, ignore_index=True).drop(columns=both)


def _names_of_both(frame: pd.DataFrame) -> list[str]:
    """List the measures that have a column for each seat; a column `x_a` belongs to one only if there is also an
    `x_b`."""
    columns = set(map(str, frame.columns))
    bases = dict.fromkeys(match[1] for name in map(str, frame.columns) if (match := _OF_SEAT.fullmatch(name)))
    return [base for base in bases if {f"{base}_a", f"{base}_b"} <= columns]


def payoffs_by_opponent(rows: pd.DataFrame, column: str, order: Sequence[str]) -> dict[str, dict[str, Sample]]:
    """Collect the observations of each player against each opponent, pooling both seats.

    Args:
        rows: The rows of `by_seat`.
        column: The column with the values.
        order: Players, in the order of the result.

    Returns:
        Player -> opponent -> observations; pairs that never met are left out.
    """
    met = dict(list(rows.groupby(["player", "opponent"], sort=False)))
    return {
        player: {who: frame_sample(met[player, who], column) for who in order if (player, who) in met}
        for player in order
    }
