"""Ranks of entrants that met the same opponents on the same draws, with intervals that hold for all ranks
simultaneously.

Ranks follow Mogstad, Romano, Shaikh and Wilhelm (2024). The underlying tests flip the signs of whole draws and take the
largest statistic over all pairs (Romano and Wolf 2005), which is valid for any order of strengths.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, product
from typing import TYPE_CHECKING, Any, NamedTuple

from negolab.analysis import stats
from negolab.analysis.observations import drop_copies, with_value

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

LEAST_DRAWS = 10
"""Number of draws below which no ranks are given."""
ALL_FLIPS, FLIPS = 12, 9_999
"""Number of draws up to which all flips are tried, and number of random flips beyond that."""
_AT_ONCE = 1_000
"""Number of random flips held at once; with many draws, all of them would take more memory than the matches."""
_SAME = 1e-9
"""Relative size below which differences between numbers are due to rounding."""


class Pair(NamedTuple):
    """The mean difference between two entrants over draws, its t, and its p corrected for all pairs."""

    one: str
    two: str
    difference: float
    t: float
    p: float


class Ranking(NamedTuple):
    """Strengths and ranks of entrants.

    Attributes:
        draws: Number of draws on which everybody played everything.
        left_out: Number of other draws.
        mean: Mean per entrant, with equal weights for all seats and opponents.
        strength: Mean minus that of all entrants on the same draws.
        half: Half-width of the strength's 95% interval.
        ranks: First and last rank that the data allow, with 95% confidence for all entrants simultaneously; None below
            `LEAST_DRAWS` draws.
        critical: The t beyond which a pair differs.
        pairs: All pairs.
    """

    draws: int
    left_out: int
    mean: dict[str, float]
    strength: dict[str, float]
    half: dict[str, float]
    ranks: dict[str, tuple[int, int]] | None
    critical: float
    pairs: list[Pair]


def rank(rows: pd.DataFrame, column: str, entrants: Sequence[str], opponents: Sequence[str] | None = None) -> Ranking:
    """Rank entrants by what they achieved against the same opponents on the same draws, in the same seats.

    Args:
        rows: A row per match and seat with `draw`, `seat`, `player` and `opponent`; stopped matches are left out.
        column: The outcome, such as the payoff.
        entrants: The players to rank.
        opponents: Their opponents; default: each entrant meets all others.

    Raises:
        ValueError: A pairing was never played, or fewer than two draws are complete.
    """
    means, left_out = _complete(rows, column, entrants, opponents)
    values, draws = means.to_numpy(float), len(means)
    centred = values - values.mean(axis=1, keepdims=True)
    half = stats.t_quantile(draws - 1) * centred.std(axis=0, ddof=1) / draws**0.5
    mean, strength, width = (
        dict(zip(entrants, map(float, row), strict=True)) for row in (values.mean(0), centred.mean(0), half)
    )
    if draws < LEAST_DRAWS:
        return Ranking(draws, left_out, mean, strength, width, None, stats.NAN, [])
    names = list(combinations(range(len(entrants)), 2))
    apart = values[:, [one for one, _ in names]] - values[:, [two for _, two in names]]
    found, critical, p = _flip(apart)
    pairs = [
        Pair(entrants[one], entrants[two], float(apart[:, at].mean()), float(found[at]), float(p[at]))
        for at, (one, two) in enumerate(names)
    ]
    return Ranking(draws, left_out, mean, strength, width, _ranks(entrants, pairs), critical, pairs)


def _complete(
    rows: pd.DataFrame, column: str, entrants: Sequence[str], opponents: Sequence[str] | None
) -> tuple[pd.DataFrame, int]:
    """Return the mean of each entrant on each complete draw, and the number of other draws."""
    others = list(opponents or entrants)
    wanted = [(one, two) for one, two in product(entrants, others) if one != two]
    known = drop_copies(with_value(rows, column)).astype({column: float})
    own, met_each_other = known["player"].isin(list(entrants)), known["player"] != known["opponent"]
    found = known[own & known["opponent"].isin(others) & met_each_other]
    met = set(found[["player", "opponent", "seat"]].drop_duplicates().itertuples(index=False, name=None))
    seats = sorted(found["seat"].unique())
    if missing := next(((*pair, seat) for pair, seat in product(wanted, seats) if (*pair, seat) not in met), None):
        raise ValueError("unbalanced: {} never played {} at seat {}, so they cannot be ranked".format(*missing))
    cells = found.groupby(["draw", "player", "opponent", "seat"])[column].mean().unstack(["player", "opponent", "seat"])
    complete = cells.dropna()
    if len(complete) < 2:
        raise ValueError("fewer than two draws on which everybody played everything: play more draws")
    means = complete.T.groupby(level=["player", "opponent"]).mean().groupby(level="player").mean().T
    return means[list(entrants)], rows["draw"].nunique() - len(complete)


def _flip(apart: NDArray[Any]) -> tuple[NDArray[Any], float, NDArray[Any]]:
    """Return the t of each pair, the critical one, and the p of each.

    `apart` has a row per draw and a column per pair.
    """
    import numpy as np

    draws = len(apart)
    found = _t(np.ones((1, draws)), apart)[0]
    largest = np.concatenate([_t(signs, apart).max(axis=1) for signs in _flips(draws)])
    reached, flips = (largest[:, None] >= found * (1 - _SAME)).sum(axis=0), len(largest)
    p = reached / flips if draws <= ALL_FLIPS else (1 + reached) / (flips + 1)
    return found, float(np.sort(largest)[int(np.ceil(0.95 * flips)) - 1]), p


def _flips(draws: int) -> Iterator[NDArray[Any]]:
    """Yield the signs of the draws in each flip, a row per flip, `_AT_ONCE` rows at a time."""
    import numpy as np

    if draws <= ALL_FLIPS:
        yield np.array(list(product((1.0, -1.0), repeat=draws)))
        return
    random = np.random.default_rng(0)
    for begin in range(0, FLIPS, _AT_ONCE):
        yield random.choice((1.0, -1.0), (min(_AT_ONCE, FLIPS - begin), draws))


def _t(signs: NDArray[Any], apart: NDArray[Any]) -> NDArray[Any]:
    """Return t per row of signs and pair: infinite for a difference that is the same on all draws, and 0 for no
    difference."""
    import numpy as np

    draws, squares = len(apart), (apart**2).sum(axis=0)
    mean = np.abs(signs @ apart) / draws
    rest = squares - draws * mean**2
    flat, size = rest <= _SAME * squares, np.sqrt(squares / draws)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = mean / np.sqrt(rest / (draws - 1) / draws)
    return np.where(flat, np.where(mean > _SAME * size, np.inf, 0.0), t)


def _ranks(entrants: Sequence[str], pairs: Sequence[Pair]) -> dict[str, tuple[int, int]]:
    clear = [pair for pair in pairs if pair.p <= 0.05]
    won = [(pair.one, pair.two) if pair.difference > 0 else (pair.two, pair.one) for pair in clear]
    return {
        name: (1 + sum(name == loser for _, loser in won), len(entrants) - sum(name == winner for winner, _ in won))
        for name in entrants
    }
