"""Factors that group matches, outcomes that a figure can show, and numerical summaries of groups."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from negolab import catalog
from negolab.analysis.estimates import by_seat, percent
from negolab.analysis.measures import COUNTED_IN_STAKES
from negolab.analysis.observations import SEAT_COLUMNS, drop_copies, frame_sample, present, sample_text
from negolab.analysis.stats import Estimate
from negolab.analysis.table_columns import DOLLARS
from negolab.formatting import display_unit, format_money, format_significant, label, parse_number
from negolab.game import SEATS, Game
from negolab_widgets.results.data import REPEAT, SweepFrame

RECORD_COLUMNS = ("game", "preset", "treatment", "player_a", "player_b", "end", REPEAT)
"""Columns besides the parameters."""
MAX_VALUES = 100
"""A column with more values than this does not define groups."""
MAX_OUTCOMES = 8
"""Maximum number of outcomes that a report compares."""
MISSING = "none"
_WORDS = {"player_a": "player at A", "player_b": "player at B"}
_WORDS |= {"(seat)": "seat", "(player)": "player", "(opponent)": "opponent"}


class Factor(NamedTuple):
    """A column that groups matches, and the texts of its values in order; `places` are the values as numbers, if all
    are numeric."""

    column: str
    title: str
    texts: tuple[str, ...]
    places: tuple[float, ...] | None = None

    @property
    def key(self) -> str:
        """The factor's column in summaries, named so that no parameter clashes with a summary's own columns."""
        return f"by {self.column}"

    def codes(self, frame: pd.DataFrame) -> pd.Series[Any]:
        """Return the index of each row's value in `texts`."""
        return column_texts(frame, self.column).map({text: code for code, text in enumerate(self.texts)})


def column_texts(frame: pd.DataFrame, column: str) -> pd.Series[Any]:
    """Convert a column to texts."""
    codes, found = pd.factorize(frame[column], use_na_sentinel=False)
    said = pd.Series([format_value(value) for value in found], dtype=object)
    return pd.Series(said.take(codes).to_numpy(), index=frame.index, dtype=object)


def format_value(value: Any) -> str:
    """Format a parameter, or another value of a column that groups matches."""
    if value is None or value is pd.NA or value != value:
        return MISSING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return short if float(short := f"{value:g}") == value else repr(value)
    return str(value)


def make_factor(frame: pd.DataFrame, column: str, order: Sequence[Any] = ()) -> Factor:
    """Make a factor from a column: numbers in ascending order, texts in the plan's `order`, and others after them by
    name."""
    found = dict.fromkeys(column_texts(frame, column))
    numbers = {text: parse_number(text) for text in found}
    title = _WORDS.get(column) or label(column.removeprefix("param_"))
    if found and all(number is not None for number in numbers.values()):
        by_size = sorted(numbers.items(), key=lambda pair: float(pair[1] or 0))
        return Factor(column, title, tuple(text for text, _ in by_size), tuple(float(n or 0) for _, n in by_size))
    first = [text for text in map(format_value, order) if text in found]
    return Factor(column, title, tuple(dict.fromkeys([*first, *sorted(found)])))


def factors(played: SweepFrame, orders: Mapping[str, Sequence[Any]] | None = None) -> list[Factor]:
    """List the columns that have several values, starting with the parameters of the grid.

    `orders` are the grid's parameters with their values.
    """
    frame, own = played.frame, {**played.parameters}
    grid = {own.pop(name): values for name, values in (orders or {}).items() if name in own}
    others = [name for name in RECORD_COLUMNS if not _is_parameter(played, name)]
    columns = {**grid, **dict.fromkeys((*own.values(), *others), ())}
    made = [make_factor(frame, column, order) for column, order in columns.items() if column in frame]
    if "player_a" in frame:
        pairs = by_seat(frame[["player_a", "player_b"]].drop_duplicates(), (), SEAT_COLUMNS)
        made += [make_factor(pairs, name) for name in SEAT_COLUMNS]
    return [one for one in made if 1 < len(one.texts) <= MAX_VALUES]


def _is_parameter(played: SweepFrame, name: str) -> bool:
    """Return True if a record's column is also a parameter with that name."""
    frame, column = played.frame, played.parameters.get(name)
    return column is not None and name in frame and column_texts(frame, column).equals(column_texts(frame, name))


def without_values(frame: pd.DataFrame, out: Mapping[str, Iterable[str]]) -> pd.DataFrame:
    """Return the rows that have none of the excluded values (as texts, by column)."""
    kept = pd.Series(True, index=frame.index)
    for column, values in out.items():
        if column in frame and (left := set(values)):
            kept &= ~column_texts(frame, column).isin(left)
    return frame[kept]


RESULTS = ("payoff", "agreed", "replies", "rejected", "forfeits", "moves", "fallbacks", "decided_by_fallback")
"""Outcomes that every record has; all others are measured."""
_OUTCOME_WORDS = {
    "agreed": "ended in agreement",
    "joint": "joint surplus",
    "possible": "possible surplus",
    "surplus_share": "share of the joint surplus",
    "gain": "gain over no deal",
    "turns_to_deal": "turns to a deal",
    "price_less_spe": "price less subgame-perfect price",
    "price_less_nash": "price less Nash price",
    "frontier_distance": "distance to the frontier",
    "nash_distance": "distance to the Nash solution",
    "kalai_smorodinsky_distance": "distance to the Kalai-Smorodinsky solution",
    "loss_no_deal": "lost by no deal",
    "loss_bad_deal": "lost by a bad deal",
    "loss_delay": "lost by delay",
    "irrational_deals": "deals worse than none",
    "irrational_offers": "proposals worse than no deal",
    "first_offer_share": "first offer's share of the zone",
    "concession": "concession per proposal",
    "format_faults": "unreadable replies",
    "rule_faults": "replies against the rules",
    "time_faults": "late replies",
    "rejected": "rejected replies",
    "fallbacks": "moves by a rule",
    "decided_by_fallback": "decided by a rule's move",
    "cost": "model cost",
}
_PARTS = {
    *("efficiency", "surplus_share", "first_offer_share", "truth", "stubbornness", "pareto_proposals"),
    *("mean_efficiency", "agreement_rate", "overclaim_rate", "winner_share", "pareto_rate", "honesty_rate"),
}
_NO_OUTCOMES = {"seed", "repeat", "deterministic", "chance"}


class Quantity(NamedTuple):
    """A column, or, with `either`, the values of A and B in it, with a row per seat.

    Values are divided by `scale`; `unit` is their unit after that ("" for a number of things).
    """

    column: str
    words: str
    group: str
    unit: str = ""
    scale: float = 1
    yes_no: bool = False
    either: bool = False

    @property
    def title(self) -> str:
        """Title of an axis."""
        return f"{self.words} ({self.unit})" if self.unit else self.words

    @property
    def mean(self) -> str:
        """Title of an axis of means."""
        return self.title if self.yes_no else f"mean {self.title}"

    @property
    def things(self) -> str:
        """The noun for what is counted."""
        return "seats" if self.either else "matches"

    def format(self, value: float) -> str:
        """Format a value, or a mean of values, whose unit is in the column's head."""
        return format_money(100 * value) if self.unit == "dollars" else format_significant(value, 4)

    @property
    def key(self) -> str:
        """The name by which the quantity can be found again."""
        return f"{self.column} of either seat" if self.either else self.column


def outcomes(frame: pd.DataFrame, parameters: Collection[str] = ()) -> list[Quantity]:
    """List every numeric or Boolean column that has a value, starting with those of records; if A and B have one each,
    also list both together."""
    games = sorted(set(frame["game"])) if "game" in frame else []
    plain = {*parameters, *_NO_OUTCOMES}
    names = [str(name) for name in frame if name not in plain and _is_countable(frame[name])]
    found: list[Quantity] = []
    for name in names:
        base, seat = split_seat(name)
        pair = {f"{base}_{one.lower()}" for one in SEATS} <= set(names)
        if seat == "A" and pair:
            found.append(_outcome(frame, base, "of either seat", name, games)._replace(column=base, either=True))
        found.append(_outcome(frame, base, f"of {seat}" if seat else "", name, games))
    order = {f"{base}{end}": at for at, base in enumerate(RESULTS) for end in ("", "_a", "_b")}
    return sorted(found, key=lambda one: order.get(one.column, len(order)))


def main_outcomes(frame: pd.DataFrame, found: Iterable[Quantity], *, either: bool = False) -> list[Quantity]:
    """Return the outcomes that the games declare to be reported, at most `MAX_OUTCOMES`.

    Args:
        frame: The matches.
        found: All outcomes.
        either: True for outcomes of either seat; False for those of a match or of one seat.
    """
    games = sorted(set(frame["game"])) if len(frame) else []
    known = {one.key: one for one in found if one.either == either}
    declared = dict.fromkeys(name for game in games for name in game_class(game).report_outcomes)
    names = [key for name in declared for key in (name, f"{name} of either seat", f"{name}_a", f"{name}_b")]
    # Payoffs of different games have different units.
    told = [name for name in names if len(games) == 1 or not name.startswith("payoff")]
    return [known[name] for name in told if name in known][:MAX_OUTCOMES]


def game_class(game: str) -> type[Game[Any, Any, Any]]:
    """Return a game's class; the base class if the code of a researcher's own game is not available here."""
    try:
        return catalog.imported_class(game)
    except ValueError:
        return Game


def most_varied(frame: pd.DataFrame, found: Sequence[Quantity], by: Sequence[Factor]) -> Quantity | None:
    """Return the outcome for which the factors explain the largest share of the variance; None if no outcome varies."""
    keys = [factor.codes(frame) for factor in by]

    def explained(one: Quantity) -> float:
        column = frame[one.column].astype(float)
        means = column.groupby(keys).transform("mean") if keys else column
        return float(means.var() / column.var()) if column.var() > 0 else 0.0

    shares = {one: explained(one) for one in found}
    return max(shares, key=shares.__getitem__) if any(shares.values()) else None


def _is_countable(column: pd.Series[Any]) -> bool:
    kind = column.dtype
    return bool(pd.api.types.is_bool_dtype(kind) or pd.api.types.is_numeric_dtype(kind)) and bool(column.notna().any())


def split_seat(name: str) -> tuple[str, str]:
    base, _, last = name.rpartition("_")
    return (base, last.upper()) if base and last.upper() in SEATS else (name, "")


def _outcome(frame: pd.DataFrame, base: str, whose: str, column: str, games: list[str]) -> Quantity:
    words = f"{_OUTCOME_WORDS.get(base, label(base))} {whose}".rstrip()
    group = "result" if base in RESULTS else "measure"
    if pd.api.types.is_bool_dtype(frame[column].dtype):
        return Quantity(column, words, group, "% of matches", 0.01, yes_no=True)
    if base in _PARTS:
        return Quantity(column, words, group, "%", 0.01)
    units = {_unit(base, game) for game in games}
    unit = units.pop() if len(units) == 1 else ""
    return Quantity(column, words, group, *display_unit(unit))


def _unit(base: str, game: str) -> str:
    """Return the unit of a column; "" if the game does not specify one, or if things are counted."""
    if base == "cost":
        return DOLLARS
    rules = game_class(game)
    if rules is Game:
        return ""
    if base == "payoff":
        return rules.unit
    if base in COUNTED_IN_STAKES:
        return rules.measure_units.get(base) or rules.stake_unit or rules.unit
    return rules.measure_units.get(base, "")


NUMBERS = ("mean", "low", "high", "n", "draws", "median", "lower", "upper")
"""Columns of a summary besides those of its factors: a mean with its 95% interval, the numbers of matches (excluding
copies) and of draws (0: nothing is drawn, and the mean is known exactly), and the three quartiles."""
WITHOUT_FALLBACK = ("mean_no_fallback", "n_no_fallback")
"""Further columns if a rule made moves in some matches: mean and n over the others."""
BASIS = "basis"
"""Column of a summary that says what a mean is based on, and how far its interval can be trusted."""


def values(frame: pd.DataFrame, outcome: Quantity, by: Sequence[Factor]) -> pd.DataFrame:
    """Return the rows that have the outcome.

    Returns:
        `value` in the outcome's unit; the columns that `observations.frame_sample` needs, with IDs as numbers;
        `fallback`, True if a rule made a move in the match; and, for each factor, the index of the row's value.
    """
    known = frame[frame[outcome.column].notna()]
    found = {
        "value": known[outcome.column].astype(float) / outcome.scale,
        **{name: pd.factorize(known[name])[0] for name in ("cell", "deal", "draw")},
        "match": _number(known, "cell", "match"),
        "player": _number(known, *present(known, "player_a", "player_b", "seat", "player", "opponent")),
        **{name: known[name].astype(bool) for name in present(known, "deterministic", "chance")},
        "fallback": with_fallback(known),
    }
    return pd.DataFrame({**found, **{factor.key: factor.codes(known) for factor in by}})


def _number(frame: pd.DataFrame, *columns: str) -> pd.Series[int]:
    return frame.groupby(list(columns), sort=False, dropna=False).ngroup()


def with_fallback(frame: pd.DataFrame) -> pd.Series[bool]:
    """Return True for each row in whose match a rule made a move."""
    counts = [frame[name] for name in ("fallbacks_a", "fallbacks_b") if name in frame]
    return sum(counts, pd.Series(0, index=frame.index)) > 0


def summary(data: pd.DataFrame, outcome: Quantity, by: Sequence[Factor]) -> pd.DataFrame:
    """Return a row per group that has values, in the factors' order; `data` is what `values` returns."""
    names = [factor.key for factor in by]
    groups = data.groupby(names, sort=True) if names else [((), data)]
    rows = [
        {**dict(zip(names, key, strict=True)), **_summary_row(rows, outcome)} for key, rows in groups if not rows.empty
    ]
    beside = WITHOUT_FALLBACK if data["fallback"].any() else ()
    return pd.DataFrame(rows, columns=[*names, *NUMBERS, *beside, BASIS])


def _summary_row(rows: pd.DataFrame, outcome: Quantity) -> dict[str, Any]:
    estimate, clean = (_estimate(part, outcome) for part in (rows, rows[~rows["fallback"]]))
    lower, median, upper = drop_copies(rows)["value"].quantile([0.25, 0.5, 0.75])
    return {
        "mean": estimate.value,
        "low": estimate.low,
        "high": estimate.high,
        "n": estimate.n,
        "draws": estimate.draws or 0,
        "median": median,
        "lower": lower,
        "upper": upper,
        **dict(zip(WITHOUT_FALLBACK, (clean.value, clean.n), strict=True)),
        BASIS: sample_text(estimate),
    }


def _estimate(seen: pd.DataFrame, outcome: Quantity) -> Estimate:
    sample = frame_sample(seen, "value")
    return percent(sample.share()) if outcome.yes_no else sample.mean()


def summary_table(found: pd.DataFrame, by: Sequence[Factor]) -> pd.DataFrame:
    """Return a summary with the texts of values in place of their indices, under the factors' titles."""
    named: dict[str, Any] = {}
    own = (*NUMBERS, *WITHOUT_FALLBACK, BASIS)
    for factor in by:
        title = factor.title
        while title in own or title in named:
            title += " (parameter)"
        named[title] = found[factor.key].map(dict(enumerate(factor.texts)))
    return pd.DataFrame({**named, **{name: found[name] for name in own if name in found}})
