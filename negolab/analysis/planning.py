"""Plans for comparisons: the number of draws they need for a given power of Student's t test on one difference per
draw.

The variance of a difference is s_b**2 + s_w**2 / m, between draws and within a draw, which m repeats average out.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import variance
from typing import TYPE_CHECKING, NamedTuple

from negolab.analysis.comparisons import blocked_rows, contrast

if TYPE_CHECKING:
    import pandas as pd

LEVEL = 0.05
MAX_DRAWS = 10**7
"""Number of draws beyond which no design is planned."""
_ROUNDING = 1e-9
"""Standard deviation of differences, relative to the largest value, that counts as zero."""
_TRUST = 0.2
"""Share of pilots whose variance is too small by more than `Plan.draws_upper` allows for."""


class Plan(NamedTuple):
    """The draws that a comparison needs.

    Attributes:
        s: Standard deviation of one draw's difference, in the outcome's unit.
        draws: Number of draws that reach the power.
        power: Their power, from 0 to 1.
        s_between: Part of `s` between draws; None if the pilot has no repeats.
        s_within: Part of `s` within a draw, for one repeat.
        pilot_draws: Number of draws in the pilot; 0 without one.
        draws_upper: Number of draws that suffice with 80% confidence, given that the pilot's own variance is an
            estimate.
    """

    s: float
    draws: int
    power: float
    s_between: float | None
    s_within: float | None
    pilot_draws: int = 0
    draws_upper: int = 0


def plan(effect: float, power: float, s_between: float, s_within: float = 0.0, repeats: int = 1) -> Plan:
    """Return the smallest number of draws (at least two) with which a comparison has the power.

    Args:
        effect: The difference to find, in the outcome's unit.
        power: The probability of finding it at the 5% level, from 0 to 1.
        s_between: Standard deviation of a difference between draws.
        s_within: Standard deviation of a difference within a draw, for one repeat.
        repeats: Number of matches of each side on each draw.

    Raises:
        ValueError: The effect is 0, nothing varies, or no design is large enough.
    """
    s = (s_between**2 + s_within**2 / repeats) ** 0.5
    draws = _least(effect, power, s)
    return Plan(s, draws, _power(draws, effect / s), s_between, s_within)


def plan_from_pilot(
    rows: pd.DataFrame,
    one: str,
    two: str,
    column: str,
    effect: float,
    power: float,
    *,
    repeats: int = 1,
    side: str = "player",
    by: Sequence[str] = (),
) -> Plan:
    """Return the draws that a comparison like a pilot needs.

    Args:
        rows: The pilot's rows, as in `comparisons.contrast`.
        one: The first side.
        two: The side to compare it with.
        column: The outcome.
        effect: The difference to find, in the outcome's unit.
        power: The probability of finding it at the 5% level, from 0 to 1.
        repeats: Planned number of matches of each side on each draw.
        side: The column that names the sides.
        by: The columns that name a setting.

    Raises:
        ValueError: As in `contrast` and `plan`, or repeats are planned but the pilot has none.
    """
    from scipy.special import chdtri

    differences = contrast(rows, one, two, column, side=side, by=by).differences
    if differences.exact:
        raise ValueError(
            "nothing is random in the pilot, so more matches would add no information: play a preset with random draws"
        )
    if len(differences.values) < 2:
        raise ValueError("the pilot has fewer than two random draws: play more matches")
    found, blocks = blocked_rows(rows, one, two, column, side, by, None)
    found = found[found["draw"].isin(differences.draws or ())]
    cells = found.assign(all=0).groupby([side, "all", "draw", *blocks])[column]
    count, total = cells.count(), variance(differences.values)
    if total**0.5 <= _ROUNDING * found[column].abs().max():
        total = 0.0
    between = within = None
    if (count > 1).any():
        spread = cells.var().fillna(0) * (count - 1)
        pooled = spread.groupby(side).sum() / (count - 1).groupby(side).sum()
        width = float(pooled.sum()) / (len(found[blocks].drop_duplicates()) if blocks else 1)
        between, within = max(0.0, total - width * float((1 / count).mean())) ** 0.5, width**0.5
        s = (between**2 + width / repeats) ** 0.5
    elif repeats > 1:
        raise ValueError("the pilot has no repeats, so it cannot estimate their effect")
    else:
        s = total**0.5
    df, draws = len(differences.values) - 1, _least(effect, power, s)
    upper = _least(effect, power, s * (df / float(chdtri(df, 1 - _TRUST))) ** 0.5)
    return Plan(s, draws, _power(draws, effect / s), between, within, df + 1, upper)


def _power(draws: int, size: float) -> float:
    """Return the power of a two-sided t test with `draws` differences whose mean is `size` standard deviations."""
    from scipy.special import nctdtr, stdtrit

    critical, shift = float(stdtrit(draws - 1, 1 - LEVEL / 2)), abs(size) * draws**0.5
    return 1 - float(nctdtr(draws - 1, shift, critical)) + float(nctdtr(draws - 1, shift, -critical))


def _least(effect: float, power: float, s: float) -> int:
    if not effect:
        raise ValueError("the effect is 0: no number of draws can detect it")
    if not s:
        raise ValueError("the differences do not vary: two draws suffice (those of one seat may vary: --seat)")
    low, high = 1, 2
    while _power(high, effect / s) < power:
        if high > MAX_DRAWS:
            raise ValueError(f"more than {MAX_DRAWS:,} draws would be needed: choose a larger effect")
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _power(middle, effect / s) >= power else (middle, high)
    return high
