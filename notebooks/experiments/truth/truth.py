"""Truth-telling in split games: results of matches, and draws of deals, compared with their exact expectations.

Points are per round; efficiency and shares are percentages.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

import pandas as pd

from negolab.analysis import stats, tables
from negolab.analysis.estimates import Exact, mark_coverage, measure_means, per_round, percent, sweep_matches
from negolab.analysis.tables import Place
from negolab.games.split.state import Draw, Schedule
from negolab.record import start_state
from negolab.theory import division

SHARES = {"mean_efficiency": "efficiency (%)", "winner_share": "winner's share (%)"}
MEASURES = {**SHARES, "points_a": "points of A per round", "points_b": "points of B per round"}
"""Columns of `outcomes` with an exact value for some pairs of players -> their titles."""
PLAYERS = ("truthful", "welfare", "tit-for-tat", "equal", "greedy", "liar")
"""Players that tell the truth, then those that say nothing, then the one that lies."""
_UNITS = 10


def outcomes(path: Place) -> pd.DataFrame:
    """Read a sweep of this experiment, one row per match, sorted by variant and players as the report lists them.

    The columns are those of `sweep_matches`, with shares as percentages and points per round.
    """
    place = {name: at for at, name in enumerate((*_VALUES, *PLAYERS))}
    return per_round(sweep_matches(path), SHARES).sort_values(
        ["variant", "a", "b"], key=lambda column: column.map(place).fillna(-1), kind="stable"
    )


# Exact expectations.

_VALUES: dict[str, Sequence[division.Values]] = {
    "trust-and-split": division.TEN_ONE_PAIRS,
    "classic": division.uniform_pairs(),
}
_DIVISIONS: dict[str, division.Division] = {
    "truthful": division.proportional_division,
    "welfare": division.efficient_division,
    "tit-for-tat": division.efficient_division,
    "equal": division.equal_division,
    "greedy": division.equal_division,
    # Two liars: in the classic game, both claim the highest value; in Trust-and-Split, the second speaker claims the
    # hand that beats the other's claim and gets nine of ten coins, whatever the hands, which is half on average.
    "liar": division.equal_division,
}


def with_its_like(variant: str, player: str) -> Exact:
    """Return the exact expected results of a player against itself, by column of `outcomes`; {} if unknown."""
    if variant not in _VALUES or player not in _DIVISIONS:
        return {}
    values, divided = _VALUES[variant], _DIVISIONS[player]
    points = float(division.expected_joint_points(divided, _UNITS, values) / 2)
    return {
        "mean_efficiency": float(100 * division.expected_efficiency(divided, _UNITS, values)),
        "winner_share": float(100 * division.expected_winner_share(divided, _UNITS, values)),
        "points_a": points,
        "points_b": points,
    }


# Figure.


def kinds(frame: pd.DataFrame, known: pd.DataFrame, who: str) -> pd.DataFrame:
    """Estimate efficiency and the winner's share for the report's figure.

    Both seats of a deal are one observation.

    Args:
        frame: The rows of `outcomes`.
        known: Exact values with `variant`, `a`, `measure` and `exact`.
        who: The player to show with every other player, in addition to the pairs of equal players.

    Returns:
        A row per variant (`facet`), pair (`name`) and measure with its 95% interval, and `exact` for equal players.
    """
    a, b = frame["a"], frame["b"]
    away = b.where(a == who, a)
    alike = a + " with its like"
    named = frame.assign(name=alike.where(a == b, who + " with " + away), facet=frame["variant"])
    met = named[(a == b) | (a == who) | (b == who)]
    by_deal = met.groupby(["facet", "name", "seed"], sort=False, as_index=False)[list(SHARES)].mean()
    found = measure_means(by_deal, ["facet", "name"], SHARES)
    exact = known.assign(name=known["a"] + " with its like", facet=known["variant"])[
        ["facet", "name", "measure", "exact"]
    ]
    order = [f"{name} with its like" for name in PLAYERS] + [f"{who} with {name}" for name in PLAYERS]
    merged = found.merge(exact, how="left", on=["facet", "name", "measure"])
    return merged.sort_values("name", key=lambda names: names.map(order.index), kind="stable")


# Draws of deals.


def draws(path: Place) -> pd.DataFrame:
    """Return one row per round dealt, with both values and, in variants that have hands, both hands.

    All cells of a variant and repeat play the same deals, so only one cell is kept.

    Args:
        path: The folder of the sweep.

    Returns:
        Columns `variant`, `value_a`, `value_b`, `hand_a` and `hand_b`.
    """
    cells = tables.cells(path)
    done = cells[cells["state"] == "done"].drop_duplicates(["variant", "repeat"])
    variants = dict(zip(done["cell"], done["variant"], strict=True))
    return pd.DataFrame(_draws(path, variants), columns=["variant", "value_a", "value_b", "hand_a", "hand_b"])


def _draws(path: Place, variants: dict[str, str]) -> Iterator[list[object]]:
    for cell, record in tables.records(path):
        if cell in variants:
            schedule = start_state(record).hidden
            assert isinstance(schedule, Schedule)
            yield from ([variants[cell], *_drawn(drawn)] for drawn in schedule.rounds)


def _drawn(drawn: Draw) -> list[object]:
    hands = [None, None] if drawn.hands is None else [drawn.hands["A"], drawn.hands["B"]]
    return [drawn.values["A"][0], drawn.values["B"][0], *hands]


def checked_draws(dealt: pd.DataFrame, others: int = 0) -> pd.DataFrame:
    """Compare the rounds dealt with the exact probabilities of the deals, as `check_exact` does for results.

    Args:
        dealt: The rows of `draws`.
        others: Number of other checks at the same simultaneous level.

    Returns:
        A row per variant and measure: who has the higher value, each hand, ties, and the mean of the maximum joint
        points, with `exact`, `value`, `low`, `high`, `n` rounds and `holds`.
    """
    level = stats.bonferroni_level(CHANCES + others)
    rows = [
        [variant, measure, float(exact), *estimate]
        for variant, part in dealt.groupby("variant", sort=False)
        for measure, exact, estimate in _chances(str(variant), part, level)
    ]
    found = pd.DataFrame(rows, columns=["variant", "measure", "exact", *stats.Estimate._fields])
    return mark_coverage(found)


CHANCES = 7
"""Number of checks in `checked_draws`, over both variants."""


def _chances(variant: str, part: pd.DataFrame, level: float) -> Iterator[tuple[str, Fraction, stats.Estimate]]:
    def share(flags: pd.Series[bool]) -> stats.Estimate:
        return percent(stats.estimate_share(list(flags), level=level))

    a, b = part["value_a"], part["value_b"]
    if variant == "classic":
        yield "values tie (% of rounds)", Fraction(100, 20), share(a == b)
        best = [float(_UNITS * max(pair)) for pair in zip(a, b, strict=True)]
        yield (
            "largest joint points",
            division.expected_joint_points(division.efficient_division, _UNITS, division.uniform_pairs()),
            stats.estimate_mean(best, level=level),
        )
        yield "value of A (points per coin)", Fraction(21, 2), stats.estimate_mean(list(a), level=level)
    else:
        yield "A has the high value (% of rounds)", Fraction(50), share(a > b)
        for hand in ("rock", "paper", "scissors"):
            yield f"A holds {hand} (% of rounds)", Fraction(100, 3), share(part["hand_a"] == hand)
