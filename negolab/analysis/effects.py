"""Effects: the difference of each outcome between the values of each factor of a design.

A difference is the least-squares slope on "the second value in place of the first" within each setting of the other
factors, with clusters of draws (Liang and Zeger 1986): what both values share, such as a draw, does not count as chance
twice. All intervals of a report hold at once (Bonferroni), because the largest differences are picked afterwards.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from negolab.analysis import stats
from negolab.analysis.observations import drop_copies, is_exact, with_value
from negolab.analysis.stats import NAN, Estimate

if TYPE_CHECKING:
    import pandas as pd


_ROUNDING = 1e-9


class Effect(NamedTuple):
    """The difference of an outcome between two values of a factor.

    Attributes:
        outcome: Its column.
        factor: The factor's column.
        first: The value that is compared against.
        second: The value whose outcome is larger by `difference`.
        difference: In the outcome's unit; its interval holds together with those of all other effects.
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
        """True if the difference is not 0, as far as its interval tells."""
        found = self.difference
        return found.value != 0 if found.status == "exact" else found.low > 0 or found.high < 0


def find_effects(
    frame: pd.DataFrame, factors: Mapping[str, Sequence[str]], outcomes: Iterable[str], ordered: Iterable[str] = ()
) -> list[Effect]:
    """Compare the values of each factor with each other, the clear and large differences first.

    Args:
        frame: A row per match, or per match and seat, as of `observations.frame_sample`.
        factors: Column -> its values in order.
        outcomes: Columns of numbers, or of yes and no.
        ordered: Factors whose values are an order, such as numbers: their last is compared with their first alone.

    Returns:
        An effect for each outcome and pair of values that were played in a same setting of the other factors. The
        confidence level is 1 - 0.05 / (number of these).
    """
    pairs = {
        name: [(values[0], values[-1])] if name in set(ordered) else list(combinations(values, 2))
        for name, values in factors.items()
        if len(values) > 1
    }
    asked = [(outcome, name, *pair) for outcome in outcomes for name in pairs for pair in pairs[name]]
    level = stats.bonferroni_level(max(1, len(asked)))
    found = [effect for question in asked for effect in _compare(frame, list(factors), *question, level)]
    return sorted(found, key=lambda effect: (not effect.is_clear, -effect.size))


def _compare(
    frame: pd.DataFrame, factors: Sequence[str], outcome: str, factor: str, first: str, second: str, level: float
) -> Iterator[Effect]:
    rows = drop_copies(with_value(frame[frame[factor].isin((first, second))], outcome))
    values, is_second = rows[outcome].astype(float), rows[factor] == second
    others = [name for name in factors if name != factor]
    strata = rows.groupby(others, dropna=False).ngroup() if others else [0] * len(rows)
    draws = list(rows["draw"])
    try:
        found = stats.estimate_slope(list(values), list(is_second), list(strata), draws, level=level)
    except ValueError:  # never played in a same setting
        return
    if abs(found.value) + found.half <= _ROUNDING * values.abs().max():  # alike throughout, but for rounding
        found = found._replace(value=0.0, low=0.0, high=0.0)
    if is_exact(rows):
        found = found._replace(low=NAN, high=NAN, draws=0, status="exact")
    spread = float(values.groupby(is_second).var(ddof=0).mean()) ** 0.5
    size = abs(found.value) / spread if spread else inf if found.value else 0.0
    yield Effect(outcome, factor, first, second, found, size)
