"""The grid of a sweep: axes, what goes together, and what is left out."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from decimal import Decimal
from math import isfinite
from typing import Any

from negolab import catalog
from negolab.tomlfile import Part

MOST = 1_000_000
"""Cells of a plan; more are a mistake."""


class Range(Part, frozen=True):
    """Numbers from one to another, both included: by `step`, or `count` of them at equal distances."""

    first: int | float
    last: int | float
    step: int | float | None = None
    count: int | None = None

    def __post_init__(self) -> None:
        if not all(isfinite(number) for number in (self.first, self.last, self.step or 0)):
            raise ValueError("a range goes from one finite number to another")
        if (self.step is None) == (self.count is None):
            raise ValueError("a range has a step or a count")
        if self.step is not None and not (self.last - self.first) * self.step > 0:
            raise ValueError(f"steps of {self.step:g} do not lead from {self.first:g} to {self.last:g}")
        if self.count is not None and self.count < 2:
            raise ValueError(f"count must be at least 2, not {self.count}")
        if len(self.values()) > MOST:
            raise ValueError(f"more than {MOST:,} values")

    def values(self) -> list[int | float]:
        """The numbers. Decimal arithmetic: 0.1 to 0.3 by 0.1 ends at 0.3. Whole numbers stay whole."""
        first, last = Decimal(repr(self.first)), Decimal(repr(self.last))
        step = Decimal(repr(self.step)) if self.step is not None else (last - first) / ((self.count or 2) - 1)
        many = int((last - first) / step) + 1 if self.count is None else self.count
        if many > MOST:
            return [self.first] * (MOST + 1)
        found = [first + step * i for i in range(many)]
        whole = type(self.first) is int and all(value == value.to_integral_value() for value in found)
        return [int(value) if whole else float(value) for value in found]


Axis = list[Any] | Range
Point = dict[str, Any]
"""Values by parameter."""


def axes(grid: Mapping[str, Axis], together: tuple[dict[str, list[Any]], ...]) -> list[list[Point]]:
    """Each axis as its points: one parameter, or several that go together, row by row. `ValueError` for an axis that is
    empty or says a value twice, and for a parameter that stands on two."""
    found = [[{name: value} for value in _values(name, axis)] for name, axis in grid.items()]
    found += [_rows(group) for group in together]
    names = [name for axis in found for name in axis[0]]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"{name} stands there twice: a parameter belongs to one axis")
    return found


def _values(name: str, axis: Axis) -> list[Any]:
    values = axis.values() if isinstance(axis, Range) else axis
    if not values:
        raise ValueError(f"grid: {name} has no values")
    if again := [value for i, value in enumerate(values) if _among(value, values[:i])]:
        raise ValueError(f"grid: {name} has the value {again[0]!r} twice")
    return values


def _among(value: Any, values: list[Any]) -> bool:
    """Whether it is one of them, where 1 is not true."""
    return any(value == other and isinstance(value, bool) == isinstance(other, bool) for other in values)


def _rows(group: dict[str, list[Any]]) -> list[Point]:
    lengths = {len(values) for values in group.values()}
    if len(lengths) != 1 or lengths == {0}:
        said = ", ".join(f"{name} has {len(values)}" for name, values in group.items()) or "it is empty"
        raise ValueError(f"together: what goes together has as many values each ({said})")
    return [dict(zip(group, row, strict=True)) for row in zip(*group.values(), strict=True)]


def points(axes: list[list[Point]], without: tuple[dict[str, Any], ...]) -> Iterator[Point]:
    """Every combination, the last axis fastest, but for those that are left out."""
    for parts in itertools.product(*axes):
        point = {name: value for part in parts for name, value in part.items()}
        if not any(_fits(point, rule) for rule in without):
            yield point


def _fits(point: Point, rule: dict[str, Any]) -> bool:
    return all(_among(point[name], value if isinstance(value, list) else [value]) for name, value in rule.items())


def checked(axes: list[list[Point]], without: tuple[dict[str, Any], ...]) -> None:
    """`ValueError` for a rule about a parameter that is on no axis, or that leaves out nothing."""
    values = {name: [point[name] for point in axis] for axis in axes for name in axis[0]}
    for i, rule in enumerate(without, 1):
        for name, wanted in rule.items():
            if name not in values:
                raise ValueError(f"without {i}: {name} is on no axis: {catalog.near(name, list(values))}")
            for value in wanted if isinstance(wanted, list) else [wanted]:
                if not _among(value, values[name]):
                    raise ValueError(f"without {i}: {name} is never {value!r}")
        if not rule:
            raise ValueError(f"without {i} is empty: it would leave out everything")
