"""The parameters of trading."""

from __future__ import annotations

from functools import cache
from typing import Annotated, Literal

from msgspec import Meta
from typing_extensions import override

from negolab.game import Game
from negolab.games.trading.state import Goods, Move, Private, Public
from negolab.reading import Reading

Rules = Literal["seed", "tolerant", "textarena-0.7.4"]
Count = Annotated[int, Meta(ge=0)]
Price = Annotated[int, Meta(ge=1)]


class Parameters(Game[Public, Private, Move], frozen=True, kw_only=True):
    """Parameters of resource trading.

    `reading` says whether a text is read as meant or literally; TextArena's rules use only their own literal reading.
    `max_turns` counts messages from both seats. Values are drawn within `spread_percent` of `base_values` and
    `value_clamp`, and holdings from `holdings_range` (both ends included).
    """

    rules: Rules = "seed"
    reading: Reading = "fair"
    max_turns: Count = 10
    base_values: tuple[Price, Price, Price, Price, Price] = (5, 10, 15, 25, 40)
    spread_percent: Annotated[int, Meta(ge=0, le=100)] = 20
    value_clamp: tuple[int, int] = (5, 40)
    holdings_range: tuple[Count, Count] = (5, 25)

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        if self.max_turns < 1 and not self.lenient:
            raise ValueError(f"max_turns must be at least 1, not {self.max_turns}")
        low, high = self.holdings_range
        if low > high:
            raise ValueError(f"holdings_range must go from low to high, not {self.holdings_range}")
        if any(not 1 <= least <= most for least, most in self.value_ranges()):
            raise ValueError(f"value_clamp must leave each base value a range of at least 1, not {self.value_clamp}")

    @property
    def lenient(self) -> bool:
        """True if TextArena's own grammar and turn rules apply."""
        return self.rules == "textarena-0.7.4"

    def total_turns(self) -> int:
        """Return the number of turns played; TextArena's rules play one more than they say."""
        return self.max_turns + self.lenient

    def is_last(self, public: Public) -> bool:
        """Return True on the last turn, after which nothing can be answered."""
        return public.to_move is not None and public.turn >= self.total_turns() - 1

    def value_ranges(self) -> tuple[tuple[int, int], ...]:
        """Return the lowest and highest value of each good."""
        return _value_ranges(self.base_values, self.spread_percent, self.value_clamp)


@cache
def _value_ranges(base: Goods, percent: int, clamp: tuple[int, int]) -> tuple[tuple[int, int], ...]:
    return tuple((max(b - b * percent // 100, clamp[0]), min(b + b * percent // 100, clamp[1])) for b in base)
