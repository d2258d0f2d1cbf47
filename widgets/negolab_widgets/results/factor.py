"""What tells matches apart: the parameters of the grid, players, game, end. Each value of one is known by its text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from negolab.game import SEATS
from negolab_widgets.html import label
from negolab_widgets.results.reading import REPEAT, Played

SEATED = ("(seat)", "(player)", "(opponent)")
"""Columns of frames that have a row per match and seat; no parameter of a notebook is called so."""
OTHERS = ("game", "preset", "player_a", "player_b", "end", REPEAT)
"""Columns besides the parameters."""
MOST_VALUES = 100
"""A column of more values tells no groups apart."""
MISSING = "none"
_WORDS = {"player_a": "player at A", "player_b": "player at B"}
_WORDS |= {"(seat)": "seat", "(player)": "player", "(opponent)": "opponent"}


class Factor(NamedTuple):
    """A column by which matches are grouped, and the texts of its values in order; `places` are their numbers, where
    all are numbers."""

    column: str
    title: str
    texts: tuple[str, ...]
    places: tuple[float, ...] | None = None

    @property
    def key(self) -> str:
        """The column of summaries; no parameter's name is like one of their own."""
        return f"by {self.column}"

    def codes(self, frame: pd.DataFrame) -> pd.Series[Any]:
        """Per row, which of the values it has."""
        return texts(frame, self.column).map({text: code for code, text in enumerate(self.texts)})


def texts(frame: pd.DataFrame, column: str) -> pd.Series[Any]:
    """A column as texts."""
    codes, found = pd.factorize(frame[column], use_na_sentinel=False)
    said = pd.Series([_said(value) for value in found], dtype=object)
    return pd.Series(said.take(codes).to_numpy(), index=frame.index, dtype=object)


def _said(value: Any) -> str:
    if value is None or value is pd.NA or value != value:
        return MISSING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return short if float(short := f"{value:g}") == value else repr(value)
    return str(value)


def factor(frame: pd.DataFrame, column: str, order: Sequence[Any] = ()) -> Factor:
    """A column as a factor: numbers by size, texts in the plan's `order`, others after them by name."""
    found = dict.fromkeys(texts(frame, column))
    numbers = {text: _number(text) for text in found}
    title = _WORDS.get(column) or label(column.removeprefix("param_"))
    if found and all(number is not None for number in numbers.values()):
        by_size = sorted(numbers.items(), key=lambda pair: float(pair[1] or 0))
        return Factor(column, title, tuple(text for text, _ in by_size), tuple(float(n or 0) for _, n in by_size))
    first = [text for text in map(_said, order) if text in found]
    return Factor(column, title, tuple(dict.fromkeys([*first, *sorted(found)])))


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def factors(played: Played, orders: Mapping[str, Sequence[Any]] | None = None) -> list[Factor]:
    """The columns that tell these matches apart: those with several values, the parameters of the grid first. `orders`
    are its parameters with their values."""
    frame, own = played.frame, {**played.parameters}
    grid = {own.pop(name): values for name, values in (orders or {}).items() if name in own}
    others = [name for name in OTHERS if not _is_parameter(played, name)]
    columns = {**grid, **dict.fromkeys((*own.values(), *others), ())}
    made = [factor(frame, column, order) for column, order in columns.items() if column in frame]
    if "player_a" in frame:
        pairs = by_seat(frame[["player_a", "player_b"]])
        made += [factor(pairs, name) for name in SEATED]
    return [one for one in made if 1 < len(one.texts) <= MOST_VALUES]


def _is_parameter(played: Played, name: str) -> bool:
    """Whether what a record says is a parameter of that name as well."""
    frame, column = played.frame, played.parameters.get(name)
    return column is not None and name in frame and texts(frame, column).equals(texts(frame, name))


def by_seat(frame: pd.DataFrame, base: str | None = None) -> pd.DataFrame:
    """A row per match and seat: the seat, its player, its opponent, and as `base` what it has in that measure."""
    seats = [seat.lower() for seat in SEATS]
    parts = []
    for own, other in zip(seats, reversed(seats), strict=True):
        about: dict[str, Any] = dict(zip(SEATED, (own.upper(), *_players(frame, own, other)), strict=True))
        more = {} if base is None else {base: frame[f"{base}_{own}"]}
        parts.append(frame.assign(**about, **more))
    return pd.concat(parts, ignore_index=True)


def _players(frame: pd.DataFrame, *seats: str) -> list[pd.Series[Any]]:
    return [frame[f"player_{seat}"] for seat in seats]


def filtered(frame: pd.DataFrame, out: Mapping[str, Iterable[str]]) -> pd.DataFrame:
    """The rows that have none of the values (as texts) that are left out, by column."""
    kept = pd.Series(True, index=frame.index)
    for column, values in out.items():
        if column in frame and (left := set(values)):
            kept &= ~texts(frame, column).isin(left)
    return frame[kept]
