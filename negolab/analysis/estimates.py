"""Estimates for groups of matches, with intervals and n, for tables and figures.

Means and shares per group, checks against exact values, contrasts between players on the deals that both played, and
the frames of a sweep that these are computed from.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any, Literal, NamedTuple

import pandas as pd

from negolab.analysis import models, stats, tables
from negolab.analysis.models import deal_means
from negolab.analysis.observations import Sample, drop_copies, frame_sample, sample_text
from negolab.analysis.stats import Estimate
from negolab.game import SEATS, other


class Measure(NamedTuple):
    """A measure to estimate.

    Attributes:
        name: Its name with the unit, such as "efficiency (%)".
        column: Its column in the frame.
        how: `mean` is the mean over games, with Student's t interval for games clustered by deal; `bootstrap` takes one
            value per deal, with a bootstrap interval for skewed values such as those at an end of their scale; `share`
            is the percentage of games in which the column is above 0, with Wilson's interval for clustered games.
    """

    name: str
    column: str
    how: Literal["mean", "bootstrap", "share"] = "mean"


def estimate_groups(frame: pd.DataFrame, groups: Mapping[str, str], measures: Sequence[Measure]) -> pd.DataFrame:
    """Estimate each measure in each group.

    Args:
        frame: A row per match and seat, or per match, with `match` and `deal`.
        groups: Name of a column of the result -> column of `frame` to group by.
        measures: The measures to estimate.

    Returns:
        A row per group and measure: the columns of `groups`, `measure`, `value`, `low`, `high`, `n`. Groups are in the
        order of the frame.
    """
    rows = [
        {**dict(zip(groups, key, strict=True)), "measure": measure.name, **estimate_measure(part, measure)._asdict()}
        for key, part in frame.groupby(list(groups.values()), sort=False)
        for measure in measures
    ]
    return pd.DataFrame(rows, columns=[*groups, "measure", *Estimate._fields])


def estimate_measure(part: pd.DataFrame, measure: Measure) -> Estimate:
    """Estimate one measure of one group; missing values are left out, so n may differ between measures."""
    if measure.how == "share":
        return models.percent(models.faulty_share(part, measure.column))
    if measure.how == "mean":
        return frame_sample(part, measure.column).mean()
    values = models.deal_means(part, measure.column)
    return stats.bootstrap_interval(values)._replace(deals=len(values))


def estimate_table(found: pd.DataFrame, index: Sequence[str]) -> pd.DataFrame:
    """Format the rows of `estimate_groups` as text: a row per group, a column per measure.

    Args:
        found: Estimates with `measure` and the columns of `index`.
        index: The columns that name a group.
    """
    shown = found.assign(text=format_estimates(found, n=True)).pivot(
        index=list(index), columns="measure", values="text"
    )
    rows = found.set_index(list(index)).index.drop_duplicates()
    shown.columns.name = None
    return shown.loc[rows, list(dict.fromkeys(found["measure"]))]


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


def format_estimates(found: pd.DataFrame, *, n: bool = False) -> list[str]:
    """Format the estimate of each row with its interval, and with its n if `n` is set."""
    fields = [name for name in Estimate._fields if name in found]
    rows = found[fields].itertuples(index=False, name=None)
    return [format_estimate(Estimate(**dict(zip(fields, values, strict=True))), n=n) for values in rows]


def format_estimate(estimate: Estimate | stats.PairedDifference, *, n: bool = True) -> str:
    """Format an estimate with its interval, if it has one, and with its n if `n` is set."""
    if estimate.value != estimate.value:
        return "unknown, n = 0" if n else "unknown"
    known = estimate.low == estimate.low
    interval = f" [{_number(estimate.low)}, {_number(estimate.high)}]" if known else ""
    return f"{_number(estimate.value)}{interval}" + (f", {_sample_text(estimate)}" if n else "")


def _sample_text(estimate: Estimate | stats.PairedDifference) -> str:
    return f"n = {estimate.n} deals" if isinstance(estimate, stats.PairedDifference) else sample_text(estimate)


def _number(value: float) -> str:
    """Format with three significant digits, but without decimals from 100 on and with at most three decimals."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{round(value, 3) + 0:.3g}"


def means_by_deal(rows: pd.DataFrame, by: Sequence[str], column: str) -> pd.DataFrame:
    """Return one row per combination of `by` and deal: the mean of `column` over the games on that deal.

    `group_means` can then treat rows as independent.

    Args:
        rows: A row per match and seat, such as those of `by_seat`.
        by: Columns to group by.
        column: The column to average.
    """
    return rows.groupby([*by, "deal"], sort=False, as_index=False)[[column]].mean()


def group_means(frame: pd.DataFrame, by: Sequence[str], column: str, level: float = stats.LEVEL) -> pd.DataFrame:
    """Return a row per combination of `by` with the mean of `column`, in the order of the frame.

    Assumes that the rows of a group are independent: in a sweep, that each is a deal of its own.

    Args:
        frame: A row per observation; rows without a value are left out.
        by: Columns to group by.
        column: The column to average.
        level: Confidence level of the interval, from 0 to 1.

    Returns:
        The columns of `by`, `value`, `low`, `high` (Student's t) and `n`, the number of rows with a value.
    """
    known = frame.dropna(subset=[column])
    rows = []
    for names, part in known.groupby(list(by), sort=False):
        estimate = stats.mean_interval([float(value) for value in part[column]], level)
        rows.append([*names, *estimate])
    return pd.DataFrame(rows, columns=[*by, *stats.Estimate._fields])


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
    parts = [group_means(frame, by, column, level).assign(measure=title) for column, title in titles.items()]
    return pd.concat(parts, ignore_index=True)


_UNPLAYED = "(not played in this run)"


def estimate_text(found: pd.DataFrame, **where: object) -> str:
    """Format the estimate of the one row with these column values; a placeholder if this run did not play it."""
    for column, value in where.items():
        found = found[found[column] == value]
    known = found.dropna(subset=["value"])
    return format_estimates(known)[0] if len(known) else _UNPLAYED


def join_paragraphs(*paragraphs: Sequence[str]) -> str:
    """Join paragraphs of a heading and independent sentences, leaving out sentences about matches that were not played.

    Such sentences contain the placeholder of `estimate_text`. A heading without sentences is left out too, and a
    closing line says that the run is only a part of the plan.
    """
    kept = [[sentence for sentence in sentences if _UNPLAYED not in sentence] for _, *sentences in paragraphs]
    texts = [" ".join([heading, *known]) for (heading, *_), known in zip(paragraphs, kept, strict=True) if known]
    if sum(map(len, kept)) < sum(len(paragraph) - 1 for paragraph in paragraphs):
        texts.append("*The whole plan says more than this run, which is a part of it.*")
    return "\n\n".join(texts)


Exact = dict[str, float]
"""Expected values by column."""


def check_exact(
    frame: pd.DataFrame, by: Sequence[str], measures: Mapping[str, str], exact: Callable[..., Exact], others: int = 0
) -> pd.DataFrame:
    """Compare the mean of each measure in each group with its exact expected value.

    All intervals hold simultaneously at the 95 % level (Bonferroni), together with those of `others`.

    Args:
        frame: A row per independent match.
        by: Columns to group by.
        measures: Column -> title.
        exact: Called with the group's values of `by`; returns the expected values by column, for those that are known.
        others: Number of further checks beside these.

    Returns:
        A row per group and measure that is known exactly: the columns of `by`, `measure`, `value`, `low`, `high`, `n`,
        `exact` and `holds`.
    """
    known = {names: exact(*names) for names in frame[list(by)].drop_duplicates().itertuples(index=False, name=None)}
    count = sum(map(len, known.values())) + others
    found = measure_means(frame, by, measures, stats.bonferroni_level(count))
    columns = {title: name for name, title in measures.items()}
    groups = found[list(by)].itertuples(index=False, name=None)
    values = [known[names].get(columns[title]) for names, title in zip(groups, found["measure"], strict=True)]
    return mark_coverage(found.assign(exact=pd.Series(values, dtype=float)).dropna(subset=["exact"]))


def mark_coverage(found: pd.DataFrame) -> pd.DataFrame:
    """Add the column `holds`: True where `exact` lies from `low` to `high`, missing where there is no interval.

    Results without chance have an interval of no width, and must equal the exact value up to rounding.
    """
    slack = 1e-9 * found["exact"].abs().clip(lower=1)
    inside = (found["low"] - slack <= found["exact"]) & (found["exact"] <= found["high"] + slack)
    return found.assign(holds=inside.astype("boolean").mask(found["low"].isna()))


def verdict(checks: pd.DataFrame) -> str:
    """Summarise checks in one sentence: how many exact values lie within their interval, and which are missed."""
    tested = checks["holds"].notna()
    met, count, left = int(checks["holds"].sum()), int(tested.sum()), int((~tested).sum())
    more = f" {left} have a single match and no interval." if left else ""
    if met == count:
        return f"**All {count} exact values lie within their interval.**{more}"
    missed = ", ".join(checks[tested & ~checks["holds"].fillna(True)]["measure"].unique())
    return f"**{met} of {count} exact values lie within their interval**; missed: {missed}.{more}"


def check_table(found: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """Format checks as text: a row per group, a column per measure.

    Each cell holds the mean with its interval and the exact value in parentheses, marked where it is missed.

    Args:
        found: The rows of `check_exact`.
        names: The columns that name a group.
    """
    missed = (~found["holds"].fillna(True)).tolist()
    rows = zip(format_estimates(found), found["exact"], missed, strict=True)
    words = [f"{text} ({exact:.6g}){' MISSED' if out else ''}" for text, exact, out in rows]
    table = found.assign(text=words).pivot(index=[*names, "n"], columns="measure", values="text")
    order = found.set_index([*names, "n"]).index.drop_duplicates()
    table.columns.name = None
    return table.loc[order, list(dict.fromkeys(found["measure"]))].fillna("")


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
        same corrected for the number of pairs (Holm 1979).

    Raises:
        ValueError: A player did not play all settings, so that its mean would be one of other settings.
    """
    names = list(dict.fromkeys(rows["player"])) if players is None else list(players)
    _check_settings(rows, names, by)
    pairs = list(combinations(names, 2))
    differences = [_differences(rows, *pair, column, by, on) for pair in pairs]
    return _test_differences(["one", "two"], pairs, differences)


Pairing = Literal["deal", "draw"]


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


def _test_differences(
    heads: Sequence[str], names: Sequence[Any], differences: Sequence[Iterable[float]]
) -> pd.DataFrame:
    """Test each list of differences against zero, one row each, and correct p for their number."""
    rows = [[*name, *stats.paired_test(list(of))] for name, of in zip(names, differences, strict=True)]
    frame = pd.DataFrame(rows, columns=[*heads, *stats.PairedDifference._fields])
    return frame.assign(holm=stats.adjust_p_values(list(frame["p"])))


_OF_SEAT = re.compile(r"(.+)_[ab]")


def sweep_matches(path: str | os.PathLike[str]) -> pd.DataFrame:
    """Return one row per match of a sweep's finished cells.

    Args:
        path: The folder of a sweep.

    Returns:
        The columns of `tables.matches` and `tables.measures`, and the parameters of the match's cell.

    Raises:
        FileNotFoundError: There is nothing at `path`.
        ValueError: The folder is not a sweep's, or a record cannot be read or replayed.
    """
    found = tables.matches(path)
    measured = tables.measures(path)
    if len(found):
        found = found.merge(measured, on=["match", "cell"], validate="one_to_one")
    return tables.with_parameters(found, path)


def per_round(matches: pd.DataFrame, shares: Iterable[str]) -> pd.DataFrame:
    """Convert `shares` of matches with several rounds to percent, and add each seat's payoff per round.

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
    """Count the matches that were stopped, aborted, forfeited or not finished, by players and reason.

    Args:
        matches: The rows of `tables.matches`.

    Returns:
        Columns `player_a`, `player_b`, `what`, `reason`, `matches`, and `of`: all matches of these players.
    """
    pair = ["player_a", "player_b"]
    what = matches["stopped"].fillna(matches["end"]).fillna("unfinished")
    of = matches.groupby(pair)["match"].transform("size")
    rows = matches.assign(what=what, reason=matches["reason"].fillna(""), of=of)
    rows = rows[~what.isin(["AGREED", "NO_DEAL", "OUT_OF_TIME"])]
    return rows.groupby([*pair, "what", "reason", "of"], sort=False).size().rename("matches").reset_index()


def by_seat(frame: pd.DataFrame) -> pd.DataFrame:
    """Reshape a frame of matches to one row per match and seat.

    A measure with a column for each seat (`gain_a`, `gain_b`) becomes one column with the seat's own value (`gain`);
    columns of the whole match are repeated. `player` is the seat's player and `opponent` the other one, and both
    replace parameters of these names.
    """
    ends = {name: match[1] for name in map(str, frame.columns) if (match := _OF_SEAT.fullmatch(name))}
    # A column `x_a` belongs to a seat only if there is an `x_b` too.
    twice = [name for name in dict.fromkeys(ends.values()) if {f"{name}_a", f"{name}_b"} <= ends.keys()]
    parts = []
    for seat in SEATS:
        own = {f"{name}_{seat.lower()}": name for name in twice}
        gone = [*(f"{name}_{other(seat).lower()}" for name in twice), *(name for name in twice if name in frame)]
        part = frame.assign(seat=seat, opponent=frame[f"player_{other(seat).lower()}"])
        parts.append(part.drop(columns=gone).rename(columns=own))
    return pd.concat(parts, ignore_index=True)


def concession_curves(proposals: pd.DataFrame, matches: pd.DataFrame, least: int = 5) -> dict[str, dict[float, Sample]]:
    """Collect what each player claims for itself in its first proposal, its second, and so on.

    Args:
        proposals: The rows of `tables.proposals`.
        matches: The rows of `tables.matches` of the same source.
        least: Proposals that fewer matches reached are left out.

    Returns:
        Player -> number of the proposal -> payoffs that it would have brought its author, for `charts.trend`.
    """
    rows = _with_deals(proposals, matches)
    curves: dict[str, dict[float, Sample]] = {}
    for (player, number), part in rows.groupby(["player", "number"]):
        sample = frame_sample(part, "own_payoff")
        if len(sample.values) >= least:
            curves.setdefault(str(player), {})[float(str(number))] = sample
    return curves


def anchoring(proposals: pd.DataFrame, matches: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Regress what a seat is paid on what its first proposal claimed for it, with errors clustered by deal.

    Args:
        proposals: The rows of `tables.proposals`.
        matches: The rows of `tables.matches` of the same source.

    Returns:
        The rows of `stats.clustered_regression` for `payoff ~ first_offer`, with a term per seat where both seats make
        proposals; and the points, a row per match and seat with `player`, `seat`, `first_offer` and `payoff`, for
        `charts.anchoring`.

    Raises:
        ValueError: There are fewer than two deals.
    """
    first = proposals[proposals["number"] == 1].rename(columns={"own_payoff": "first_offer"})
    rows = _with_deals(first, matches)
    paid = {seat: rows[f"payoff_{seat.lower()}"] for seat in SEATS}
    points = rows.assign(payoff=paid["A"].where(rows["seat"] == "A", paid["B"]).astype(float)).dropna(subset=["payoff"])
    points = drop_copies(points.astype({"first_offer": float}))
    seats = " + C(seat)" if points["seat"].nunique() > 1 else ""
    fit = stats.clustered_regression(points, f"payoff ~ first_offer{seats}")
    return fit, points[["match", "player", "seat", "deal", "first_offer", "payoff"]]


def _with_deals(rows: pd.DataFrame, matches: pd.DataFrame) -> pd.DataFrame:
    """Add the columns of the rows' matches."""
    key = [name for name in ("cell", "match") if name in rows]
    return rows.merge(matches, on=key, validate="many_to_one")


def payoffs_by_opponent(rows: pd.DataFrame, column: str, order: Sequence[str]) -> dict[str, dict[str, list[float]]]:
    """Collect one value per deal for each player against each opponent, both seats alike.

    Args:
        rows: The rows of `by_seat`.
        column: The column to average per deal.
        order: Players, in the order of the result.

    Returns:
        Player -> opponent -> values; pairs that never met are left out.
    """
    met = dict(list(rows.groupby(["player", "opponent"], sort=False)))
    return {
        player: {who: deal_means(met[player, who], column) for who in order if (player, who) in met} for player in order
    }
