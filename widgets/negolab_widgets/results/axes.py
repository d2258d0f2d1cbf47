"""The axes of a figure: where values of a factor stand, and from where to where numbers go."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import isfinite, log10
from typing import Any

from negolab_widgets.charts.look import plain
from negolab_widgets.results.factor import Factor
from negolab_widgets.results.panels import LONGEST_TICK

ASIDE = 0.012
"""Part of an axis by which marks of two series stand apart, so that one does not hide the other."""
LONG = 25
"""An axis is logarithmic if its last number is that many times its first."""


class Along:
    """The x axis: at the numbers of a factor that has numbers, else one place per name. Marks of series `at` of `many`
    stand a little aside."""

    def __init__(self, x: Factor | None, shown: Sequence[int], width: int) -> None:
        self._x, self._shown, self._width = x, list(shown) or [0], width
        self.numbers = x.places if x is not None else None
        self._places = [self.numbers[code] for code in self._shown] if self.numbers else []
        self.log = bool(self._places) and self._places[0] > 0 and self._places[-1] / self._places[0] >= LONG
        self._scaled = [log10(place) if self.log else place for place in self._places]

    def at(self, code: int, series: int, many: int) -> float:
        """Where a mark stands."""
        aside = series - (many - 1) / 2
        if not self.numbers:
            return self._shown.index(code) + aside * min(0.14, 0.6 / many)
        place = self._scaled[self._shown.index(code)] + aside * min(ASIDE, 0.08 / many) * self._length()
        return float(10**place) if self.log else place

    def axis(self) -> dict[str, Any]:
        """As plotly takes it."""
        if not self.numbers:
            return {**names(self._x, self._shown), "range": [-0.5, len(self._shown) - 0.5]}
        room = 0.07 * self._length()
        ends = {"range": [self._scaled[0] - room, self._scaled[-1] + room]}
        return {"type": "log" if self.log else "linear", **ends, **(self._ticks() if self._apart() else {})}

    def _ticks(self) -> dict[str, Any]:
        assert self._x is not None
        return {"tickvals": self._places, "ticktext": [plain(self._x.texts[code]) for code in self._shown]}

    def _length(self) -> float:
        return (self._scaled[-1] - self._scaled[0]) or 1

    def _apart(self) -> bool:
        """Whether ticks at the numbers themselves can be read."""
        gaps = [b - a for a, b in pairwise(self._scaled)]
        return not gaps or min(gaps) / self._length() * self._width >= 26


def named(factor: Factor | None, shown: Sequence[int]) -> list[str]:
    """The names of an axis that has a place for each value."""
    return [factor.texts[code] for code in shown] if factor else []


def names(factor: Factor | None, shown: Sequence[int]) -> dict[str, Any]:
    """An axis with a place for each value, named."""
    if factor is None:
        return {"showticklabels": False, "showgrid": False}
    texts = [plain(factor.texts[code], LONGEST_TICK) for code in shown]
    return {"tickvals": list(range(len(texts))), "ticktext": texts}


def reach(numbers: Iterable[float]) -> dict[str, Any]:
    """An axis from the least to the largest of these numbers, with some room."""
    there = [number for number in numbers if isfinite(number)]
    low, high = min(there, default=0.0), max(there, default=1.0)
    room = 0.06 * (high - low) or max(abs(high) * 0.1, 0.5)
    return {"range": [low - room, high + room]}
