"""Comparisons of players or treatments on shared draws of chance, corrected for their number, and the largest effects
of a sweep's factors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from math import inf
from typing import Any, NamedTuple

import pandas as pd

from negolab.analysis import stats
from negolab.analysis.estimates import format_estimates
from negolab.analysis.observations import Sample, drop_copies, is_exact, present, with_value
from negolab.analysis.stats import NAN, Estimate


class NotSharedError(ValueError):
    """The two sides played nothing on the same draw."""


EACH_OTHER = "each other"
"""The opponent of two players in their matches against each other."""
NUMBERS = ("value", "low", "high", "n", "p")
"""Columns of a comparison: the mean difference with its 95% interval, the number of draws, and the p value for no
difference."""


class Contrast(NamedTuple):
    """A comparison of two sides.

    Attributes:
        differences: One difference per draw; a single one if nothing is drawn.
        left_out: Number of draws on which one of the sides did not play everything.
    """

    differences: Sample
    left_out: int = 0

    @property
    def estimate(self) -> Estimate:
        """The mean difference; `n` counts draws."""
        if self.differences.exact:
            return self.differences.mean()
        return stats.estimate_difference(self.differences.values, left_out=self.left_out)


def contrast(
    rows: pd.DataFrame,
    one: str,
    two: str,
    column: str,
    *,
    side: str = "player",
    by: Sequence[str] = (),
    opponents: Sequence[str] | None = None,
) -> Contrast:
    """Compare `one` with `two` on each draw that both played.

    A block is a setting, an opponent and a seat, among the seats that both took. Repeats are averaged within a block,
    blocks have equal weights, and a draw counts if both sides have every block on it. Between players, matches against
    themselves are left out, and meeting each other counts as one opponent.

    Args:
        rows: A row per match and seat with `match`, `draw`, `seat`, `player` and `opponent`, such as those of
            `models.seat_frame`; missing columns are ignored.
        one: The first side.
        two: The side whose values are subtracted.
        column: The column to compare.
        side: The column that names the sides: `player`, or a treatment.
        by: The columns that name a setting.
        opponents: The opponents to compare against, taken literally; default: those that both met.

    Raises:
        ValueError: A side is missing, only one side has a setting or met an opponent, or no draw is shared.
    """
    found, blocks = blocked_rows(rows, one, two, column, side, by, opponents)
    if is_exact(found):
        cells = found.groupby([side, *blocks])[column].mean()
        return Contrast(Sample([float((cells[one] - cells[two]).mean())], [0], exact=True))
    # Without such columns, all settings, opponents and seats are one block.
    cells = found.assign(all=0).groupby([side, "draw", "all", *blocks])[column].mean()
    apart = [cells[name].unstack(["all", *blocks]) for name in (one, two)]
    more = apart[0].reindex(apart[0].index.union(apart[1].index)) - apart[1]
    complete = more.dropna().mean(axis=1)
    if complete.empty:
        raise NotSharedError(f"there is no draw on which {one} and {two} both played every setting, opponent and seat")
    return Contrast(Sample(list(complete), list(complete.index)), len(more) - len(complete))


def blocked_rows(
    rows: pd.DataFrame,
    one: str,
    two: str,
    column: str,
    side: str,
    by: Sequence[str],
    opponents: Sequence[str] | None,
) -> tuple[pd.DataFrame, list[str]]:
    """Return the rows that `contrast` compares and the columns that define their blocks; raises the same errors."""
    known = with_value(rows, column).astype({column: float})
    found = known[known[side].isin([one, two])]
    if side == "player" and "opponent" in found:
        if opponents is None:
            found = found[found["opponent"] != found["player"]]
            found = found.assign(opponent=found["opponent"].where(~found["opponent"].isin([one, two]), EACH_OTHER))
        else:
            found = found[found["opponent"].isin(list(opponents))]
    found = pd.concat([drop_copies(found[found[side] == name], by) for name in (one, two)])
    for name in (one, two):
        if not len(found[found[side] == name]):
            others = "any other player" if opponents is None else "these opponents"
            lacks = f"value in {column}" if known[known[side] == name].empty else f"match against {others}"
            raise NotSharedError(f"{one} and {two} cannot be compared: {name} has no {lacks}")
    if "seat" in found:
        found = found[found["seat"].isin(_shared(found, side, one, two, ["seat"]))]
        if found.empty:
            raise NotSharedError(f"{one} and {two} never took the same seat: play each match from both seats (--swap)")
    for names in ([name] for name in (*by, *present(found, "opponent"))):
        _check_balance(found, side, one, two, names)
    _check_balance(found, side, one, two, [*by, *present(found, "opponent")])
    blocks = [*by, *present(found, "opponent", "seat")]
    return found, blocks


def _values(found: pd.DataFrame, side: str, name: str, columns: Sequence[str]) -> set[Any]:
    return set(found.loc[found[side] == name, list(columns)].itertuples(index=False, name=None))


def _shared(found: pd.DataFrame, side: str, one: str, two: str, columns: Sequence[str]) -> list[Any]:
    return [key[0] for key in _values(found, side, one, columns) & _values(found, side, two, columns)]


def _check_balance(found: pd.DataFrame, side: str, one: str, two: str, columns: Sequence[str]) -> None:
    """Raise ValueError unless both sides have the same values in these columns."""
    own, others = (_values(found, side, name, columns) for name in (one, two))
    for name, missing in ((one, others - own), (two, own - others)):
        if missing and columns:
            lacks = ", ".join(f"{c} {v}" for c, v in zip(columns, sorted(missing, key=str)[0], strict=True))
            raise ValueError(
                f"{name} has no match with {lacks}, which the other side has: remove it from the rows to compare"
            )


def contrasts(
    rows: pd.DataFrame,
    column: str,
    names: Sequence[str] | None = None,
    *,
    side: str = "player",
    by: Sequence[str],
    opponents: Sequence[str] | None = None,
) -> pd.DataFrame:
    """Compare every pair of players (or treatments) on the draws that both played, within settings.

    Args:
        rows: Same as in `contrast`.
        column: The column to compare.
        names: The sides, in order; default: all of `rows`.
        side: The column that names them.
        by: The columns that name a setting, such as the game's parameters; () if all rows have the same setting.
        opponents: The opponents to compare against.

    Returns:
        A row per pair `one`, `two` with `NUMBERS`, and `holm`: p corrected for the number of pairs tested (Holm 1979).
        A pair that shares no draws has n = 0. Each interval is for one pair; they are not simultaneous.

    Raises:
        ValueError: Only one side of a pair has a setting or met an opponent.
    """
    pairs = list(combinations(dict.fromkeys(rows[side]) if names is None else names, 2))
    found = []
    for pair in pairs:
        try:
            found.append(contrast(rows, *pair, column, side=side, by=by, opponents=opponents).estimate)
        except NotSharedError:
            found.append(stats.unknown())
    return as_frame(["one", "two"], pairs, found)


def behind_best(
    rows: pd.DataFrame, column: str, *, side: str = "player", by: Sequence[str], names: Sequence[str] | None = None
) -> pd.DataFrame:
    """Compare the best player with every other one, corrected for the choice of the best.

    The best is the one with the largest mean of its own contrasts, so it is chosen by the numbers that are tested. p is
    corrected for all pairs (Holm 1979): if all are alike, at most 5% of studies find anyone behind.

    Args:
        rows: Same as in `contrast`.
        column: The column to compare; larger is better.
        side: The column that names the sides.
        by: The columns that name a setting.
        names: The sides; default: all of `rows`.

    Returns:
        The rows of `contrasts` that involve the best: `best`, `player`, and by how much the best is ahead.
    """
    pairs = contrasts(rows, column, names, side=side, by=by)
    turned = pairs.assign(one=pairs["two"], two=pairs["one"], value=-pairs["value"], low=-pairs["high"])
    both = pd.concat([pairs, turned.assign(high=-pairs["low"])])
    order = both.groupby("one")["value"].sum().sort_values(ascending=False, kind="stable").index
    found = both[both["one"].isin(order[:1])].set_index("two").loc[list(order[1:])].reset_index()
    return found.rename(columns={"one": "best", "two": "player"})[["best", "player", *NUMBERS, "holm"]]


def matched_contrasts(rows: pd.DataFrame, one: str, two: str, column: str, by: Sequence[str]) -> pd.DataFrame:
    """Compare player `one` with `two` on the same draws, with a row per combination of `by`.

    Args:
        rows: Same as in `contrast`.
        one: The first player.
        two: The player whose values are subtracted.
        column: The column to compare.
        by: Columns to group by, such as the opponent, which is then taken literally.

    Returns:
        The columns of `by`, then those of `contrasts`; `holm` is corrected for the number of rows.
    """
    groups = dict(list(rows.groupby(list(by), sort=False)))
    whom = "opponent" in by
    found = [
        contrast(part, one, two, column, opponents=list(part["opponent"].unique()) if whom else None).estimate
        for part in groups.values()
    ]
    return as_frame(by, list(groups), found)


def as_frame(heads: Sequence[str], names: Sequence[Any], found: Iterable[Estimate]) -> pd.DataFrame:
    """Return a row per comparison: its names, `NUMBERS`, and `holm` (p corrected for the number of tests)."""
    rows = [[*name, *(getattr(e, field) for field in NUMBERS)] for name, e in zip(names, found, strict=True)]
    frame = pd.DataFrame(rows, columns=[*heads, *NUMBERS])
    return frame.assign(holm=stats.adjust_p_values(list(frame["p"])))


def comparison_table(found: pd.DataFrame, what: str = "difference") -> pd.DataFrame:
    """Format comparisons, such as those of `contrasts`, as text.

    Args:
        found: Comparisons with `value`, `low`, `high`, `p` and `holm`; other columns are kept as they are.
        what: Name of the column with the difference and its interval; it should include the unit.
    """
    tested = {name: [format_p(p) for p in found[name]] for name in ("p", "holm")}
    shown = found.assign(value=format_estimates(found), **tested).drop(columns=["low", "high"])
    return shown.rename(columns={"value": what})


def format_p(p: float) -> str:
    """Format a p value with two digits; a dash if nothing was tested."""
    return "–" if p != p else "< 0.0001" if p < 1e-4 else f"{p:.2g}"


# Effects: the difference of each outcome between the values of each factor of a design. It is the least-squares slope
# on "the second value in place of the first" within each setting of the other factors, with clusters of draws (Liang
# and Zeger 1986), so that chance that both values share, such as a draw, does not count twice. All intervals of a
# report hold simultaneously (Bonferroni), because the largest differences are picked afterward.

_ROUNDING, _LEVEL = 1e-9, 0.05


class Effect(NamedTuple):
    """The difference in an outcome between two values of a factor.

    Attributes:
        outcome: The outcome's column.
        factor: The factor's column.
        first: The value compared against.
        second: The value whose outcome is larger by `difference`.
        difference: The difference in the outcome's unit; its interval, or the p of a constant, holds simultaneously
            with those of all other effects.
        size: The absolute difference in standard deviations of matches at the two values.
    """

    outcome: str
    factor: str
    first: str
    second: str
    difference: Estimate
    size: float

    @property
    def is_clear(self) -> bool:
        """True if, according to its interval, the difference is not 0."""
        found = self.difference
        return found.value != 0 if found.status == "exact" else found.low > 0 or found.high < 0 or found.p < _LEVEL


def find_effects(
    frame: pd.DataFrame, factors: Mapping[str, Sequence[str]], outcomes: Iterable[str], ordered: Iterable[str] = ()
) -> list[Effect]:
    """Compare the values of each factor with each other, and list clear and large differences first.

    Args:
        frame: A row per match, or per match and seat, as in `observations.frame_sample`.
        factors: Column -> its values in order.
        outcomes: Numeric or Boolean columns.
        ordered: Factors whose values are ordered, such as numbers; only the last value is compared with the first.

    Returns:
        An effect for each outcome and pair of values that were played in the same setting of the other factors. The
        confidence level is 1 - 0.05 / (number of pairs compared). A value with a single draw gives no interval (`one`),
        and differences without variation are `constant`: with n draws of the value that has fewer, p is that of a sign
        test, 2**(1 - n), with Bonferroni's correction.
    """
    pairs = {
        name: [(values[0], values[-1])] if name in set(ordered) else list(combinations(values, 2))
        for name, values in factors.items()
        if len(values) > 1
    }
    asked = [(outcome, name, *pair) for outcome in outcomes for name in pairs for pair in pairs[name]]
    found = [effect for question in asked for effect in _compare(frame, list(factors), *question, len(asked))]
    return sorted(found, key=lambda effect: (not effect.is_clear, effect.difference.status == "one", -effect.size))


def _compare(
    frame: pd.DataFrame, factors: Sequence[str], outcome: str, factor: str, first: str, second: str, count: int
) -> Iterator[Effect]:
    rows = drop_copies(with_value(frame[frame[factor].isin((first, second))], outcome))
    values, is_second = rows[outcome].astype(float), rows[factor] == second
    others = [name for name in factors if name != factor]
    strata = rows.groupby(others, dropna=False).ngroup() if others else [0] * len(rows)
    draws, level = list(rows["draw"]), stats.bonferroni_level(count)
    try:
        found = stats.estimate_slope(list(values), list(is_second), list(strata), draws, level=level)
    except ValueError:  # never played in the same setting
        return
    least, rounding = int(rows.groupby(factor)["draw"].nunique().min()), _ROUNDING * values.abs().max()
    if abs(found.value) <= rounding:
        found = found._replace(value=0.0)
    if is_exact(rows):
        found = found._replace(low=NAN, high=NAN, draws=0, status="exact")
    elif least < 2:
        found = found._replace(low=NAN, high=NAN, status="one")
    elif found.half <= rounding:
        p = min(1.0, count * 2.0 ** (1 - least)) if found.value else 1.0
        found = found._replace(low=NAN, high=NAN, status="constant", groups=least, p=p)
    if "match" in rows:  # which may have a row for each seat
        found = found._replace(n=len(rows[present(rows, "cell", "match")].drop_duplicates()))
    spread = float(values.groupby(is_second).var(ddof=0).mean()) ** 0.5
    size = abs(found.value) / spread if spread else inf if found.value else 0.0
    yield Effect(outcome, factor, first, second, found, size)
