"""The grid of a sweep: axes, groups that vary together, and excluded combinations."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable, Iterator, Mapping
from decimal import Decimal
from math import isfinite
from typing import Any

import msgspec

from negolab._internal.validation import TomlTable, suggest

MAX_CELLS = 1_000_000
"""Most cells of a plan; more are taken to be a mistake."""
MAX_RULES = 100
"""Most rules that leave out combinations: each cell is compared with all of them."""


class Range(TomlTable, frozen=True):
    """Numbers from `first` to `last`, both included: by `step`, or `count` of them at equal distances."""

    first: int | float
    last: int | float
    step: int | float | None = None
    count: int | None = None

    def __post_init__(self) -> None:
        if not all(isfinite(number) for number in (self.first, self.last, self.step or 0)):
            raise ValueError("a range needs two finite ends")
        if (self.step is None) == (self.count is None):
            raise ValueError("a range needs a step or a count")
        if self.step is not None and not (self.last - self.first) * self.step > 0:
            raise ValueError(f"steps of {self.step:g} do not lead from {self.first:g} to {self.last:g}")
        if self.count is not None and self.count < 2:
            raise ValueError(f"count must be at least 2, not {self.count}")
        if len(self.values()) > MAX_CELLS:
            raise ValueError(f"more than {MAX_CELLS:,} values")

    def values(self) -> list[int | float]:
        """Return the numbers, by decimal arithmetic; whole numbers stay whole.

        Example:
            >>> Range(first=0.1, last=0.3, step=0.1).values()
            [0.1, 0.2, 0.3]
        """
        first, last = Decimal(repr(self.first)), Decimal(repr(self.last))
        step = Decimal(repr(self.step)) if self.step is not None else (last - first) / ((self.count or 2) - 1)
        count = int((last - first) / step) + 1 if self.count is None else self.count
        if count > MAX_CELLS:
            return [self.first] * (MAX_CELLS + 1)
        numbers = [first + step * i for i in range(count)]
        is_whole = type(self.first) is int and all(number == number.to_integral_value() for number in numbers)
        return [int(number) if is_whole else float(number) for number in numbers]


Axis = list[Any] | Range
Point = dict[str, Any]
"""Values by parameter."""


def axes(grid: Mapping[str, Axis], together: tuple[dict[str, list[Any]], ...]) -> list[list[Point]]:
    """Return each axis as its points: values of one parameter, or rows of several that vary together.

    Raises:
        ValueError: An axis is empty or has a value twice, or a parameter stands on two axes.
    """
    axes = [[{name: value} for value in _values(name, axis)] for name, axis in grid.items()]
    axes += [_rows(group) for group in together]
    names = [name for axis in axes for name in axis[0]]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"{name} appears twice: a parameter belongs to one axis")
    return axes


def _values(name: str, axis: Axis) -> list[Any]:
    values = axis.values() if isinstance(axis, Range) else axis
    if not values:
        raise ValueError(f"grid: {name} has no values")
    seen = set[Hashable]()
    for value in values:
        if (key := _key(value)) in seen:
            raise ValueError(f"grid: {name} has the value {value!r} twice")
        seen.add(key)
    return values


def contains(values: Iterable[Any], value: Any) -> bool:
    """Return True if the value is among those, where 1 is not True."""
    return _key(value) in map(_key, values)


def _key(value: Any) -> Hashable:
    """Return what tells a value from all others: 1 and 1.0 are alike, 1 and True are not."""
    plain = value if isinstance(value, Hashable) else msgspec.json.encode(value, order="sorted")
    return isinstance(value, bool), plain


def _rows(group: dict[str, list[Any]]) -> list[Point]:
    lengths = {len(values) for values in group.values()}
    if len(lengths) != 1 or lengths == {0}:
        counts = ", ".join(f"{name} has {len(values)}" for name, values in group.items()) or "it is empty"
        raise ValueError(f"together: parameters need the same number of values ({counts})")
    return [dict(zip(group, row, strict=True)) for row in zip(*group.values(), strict=True)]


def points(axes: list[list[Point]], without: tuple[dict[str, Any], ...]) -> Iterator[Point]:
    """Yield every combination that is not excluded, the last axis fastest."""
    rules = [{name: set(map(_key, as_list(excluded))) for name, excluded in rule.items()} for rule in without]
    for parts in itertools.product(*axes):
        point = {name: value for part in parts for name, value in part.items()}
        if not any(all(_key(point[name]) in excluded for name, excluded in rule.items()) for rule in rules):
            yield point


def as_list(excluded: Any) -> list[Any]:
    """Return the values that a rule excludes for one parameter: those of a list, or a single one."""
    return excluded if isinstance(excluded, list) else [excluded]


def axis_values(axes: list[list[Point]]) -> dict[str, list[Any]]:
    """Return the values of each parameter on the axes."""
    return {name: [point[name] for point in axis] for axis in axes for name in axis[0]}


def check_exclusions(axes: list[list[Point]], without: tuple[dict[str, Any], ...]) -> None:
    """Raise ValueError for a rule on a parameter or value that is on no axis."""
    if len(without) > MAX_RULES:
        raise ValueError(f"without: {len(without):,} rules, and at most {MAX_RULES} are allowed")
    values = {name: set(map(_key, on_axis)) for name, on_axis in axis_values(axes).items()}
    for i, rule in enumerate(without, 1):
        for name, excluded in rule.items():
            if name not in values:
                raise ValueError(f"without {i}: {name} is on no axis: {suggest(name, list(values))}")
            for value in as_list(excluded):
                if _key(value) not in values[name]:
                    raise ValueError(f"without {i}: {name} is never {value!r}")
        if not rule:
            raise ValueError(f"without {i} is empty: it would leave out everything")
