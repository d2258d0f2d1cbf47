"""Plans of sweeps: TOML files that name a notebook, a grid of parameters, repeats and limits; and their cells.

A grid has axes, groups of parameters that vary together, and excluded combinations.
"""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Hashable, Iterable, Iterator, Mapping
from decimal import Decimal
from math import isfinite, prod
from pathlib import Path
from typing import Any

import msgspec

from negolab._internal.validation import Count, Positive, TomlTable, read_toml, suggest
from negolab.llm.endpoint.keys import base_url
from negolab.llm.endpoint.policy import Limits as Allowed
from negolab.llm.endpoint.prices import Prices
from negolab.runs.plan import derive_seed
from negolab.sweeps.status import CellStatus, State

SWEEP_PARAMETERS = ("out", "seed")
"""Notebook parameters that the sweep sets: the folder of the records, and the seed of all random draws."""
MAX_CELLS = 1_000_000
"""Most cells in a plan; more are assumed to be a mistake."""
MAX_RULES = 100
"""Most rules that exclude combinations: each cell is compared with all of them."""


class Range(TomlTable, frozen=True):
    """Numbers from `first` to `last`, both included: in steps of `step`, or `count` evenly spaced ones."""

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
        """Return the numbers, computed in decimal arithmetic; whole numbers stay whole.

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


class SweepLimits(TomlTable, frozen=True):
    """Limits of a sweep: `cell_seconds` for each cell, `usd` and `tokens` for the models in all cells together."""

    cell_seconds: Positive | None = None
    usd: Positive | None = None
    tokens: Count | None = None


class ModelAccess(TomlTable, frozen=True):
    """Access to the models for all cells: address, name of the variable with the key, limits and prices.

    `prices` are `INPUT,OUTPUT` in US dollars per million tokens, by model.
    """

    base_url: str | None = None
    key: str | None = None
    concurrency: int = 200
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    prices: dict[str, str] = {}

    def __post_init__(self) -> None:
        self.limits()
        Prices(self.prices)
        if self.base_url is not None:
            base_url(self.base_url, {})

    def limits(self) -> Allowed:
        """Return the limits of each model."""
        return Allowed(
            at_once=self.concurrency,
            requests_per_minute=self.requests_per_minute,
            tokens_per_minute=self.tokens_per_minute,
        )


class SweepCell(msgspec.Struct, frozen=True, kw_only=True):
    """One run of the notebook, with all parameters that the plan sets and the notebook's seed."""

    id: str
    params: Point
    repeat: int
    seed: int

    def status(self, state: State, attempt: int, began: float, ended: float, **more: Any) -> CellStatus:
        """Create the status of an attempt; `more` holds other fields of the status."""
        cell: dict[str, Any] = {"id": self.id, "params": self.params, "repeat": self.repeat, "seed": self.seed}
        times = {"began": began, "ended": ended, "seconds": ended - began}
        return CellStatus(state=state, attempts=attempt, **cell, **{**times, **more})


class SweepPlan(TomlTable, frozen=True, kw_only=True):
    """A plan as in its file.

    Attributes:
        notebook: The notebook that each cell runs.
        report: The notebook that reports on the whole sweep.
        grid: Axes of parameters.
        together: Groups of parameters whose values vary row by row.
        without: Excluded combinations.
        fixed: Parameters with a single value.
        repeats: Runs of each combination, with different seeds.
        tiny: Changes for a trial.

    Raises:
        ValueError: The parts contradict each other, or there are no cells or too many.
    """

    notebook: str
    report: str | None = None
    grid: dict[str, Axis] = {}
    together: tuple[dict[str, list[Any]], ...] = ()
    without: tuple[dict[str, Any], ...] = ()
    fixed: dict[str, Any] = {}
    repeats: Count = 1
    seed: int = 0
    limits: SweepLimits = SweepLimits()
    models: ModelAccess | None = None
    tiny: dict[str, Any] = {}

    def __post_init__(self) -> None:
        axes = self.axes()
        check_exclusions(axes, self.without)
        names = [name for axis in axes for name in axis[0]]
        for name in [*names, *self.fixed, *self.tiny]:
            if name in SWEEP_PARAMETERS:
                raise ValueError(f"{name} is set by the sweep: remove it")
        if both := next((name for name in names if name in self.fixed), None):
            raise ValueError(f"{both} is both on an axis and fixed: remove one")
        if self.models is None and (self.limits.usd or self.limits.tokens):
            raise ValueError("limits: usd and tokens need [models]")
        if prod(map(len, axes)) * self.repeats > MAX_CELLS:
            raise ValueError(f"more than {MAX_CELLS:,} cells")
        if next(self.points(), None) is None:
            raise ValueError("without: no combinations are left")
        points = [self.fixed, self.tiny, *itertools.chain.from_iterable(axes)]
        invalid = [name for point in points for name, value in point.items() if not _is_parameter_value(value)]
        if invalid:
            raise ValueError(
                f"{invalid[0]}: a parameter must be a number, a string, true, false, or a list or table of these"
            )

    def axes(self) -> list[list[Point]]:
        """Return the axes, each as a list of its points."""
        return axes(self.grid, self.together)

    @property
    def varied(self) -> list[str]:
        """The parameters of the axes, in their order."""
        return [name for axis in self.axes() for name in axis[0]]

    @property
    def names(self) -> list[str]:
        """All parameters that the plan sets."""
        return [*self.varied, *self.fixed]

    def points(self) -> Iterator[Point]:
        """Yield the combinations of the grid."""
        return points(self.axes(), self.without)

    @property
    def count(self) -> int:
        """The number of cells."""
        return sum(1 for _ in self.points()) * self.repeats

    def cells(self) -> Iterator[SweepCell]:
        """Yield all runs of the notebook, repeat by repeat, so that a stopped sweep has covered the whole grid.

        Seeds depend only on the repeat: cells in one repeat draw the same deals, so that differences are paired.
        """
        encoded = _encode_values(self.fixed)  # only once, because they may be long
        for repeat in range(self.repeats):
            seed = derive_seed(self.seed, "repeat", repeat)
            for point in self.points():
                yield make_cell(point, self.fixed, repeat, seed, encoded)

    def tiny_plan(self) -> SweepPlan:
        """Return a trial of the plan: the ends of each axis, one repeat, and the changes in `tiny`."""
        changed = set(self.tiny)
        grid: dict[str, Axis] = {name: _ends(axis) for name, axis in self.grid.items() if name not in changed}
        groups = [
            {name: _ends(values) for name, values in group.items() if name not in changed} for group in self.together
        ]
        together = tuple(filter(None, groups))
        tiny_axes = axes(grid, together)
        return msgspec.structs.replace(
            self,
            grid=grid,
            together=together,
            without=tuple(filter(None, (_restrict_rule(rule, tiny_axes) for rule in self.without))),
            repeats=1,
            fixed={**self.fixed, **self.tiny},
            tiny={},
        )

    def with_fixed(self, values: dict[str, Any]) -> SweepPlan:
        """Return the plan with these fixed parameters changed or added; raise ValueError for one on an axis."""
        return msgspec.structs.replace(self, fixed={**self.fixed, **values})


def axes(grid: Mapping[str, Axis], together: tuple[dict[str, list[Any]], ...]) -> list[list[Point]]:
    """Return each axis as its points: values of one parameter, or rows of several that vary together.

    Raises:
        ValueError: An axis is empty or has a value twice, or a parameter is on two axes.
    """
    axes = [[{name: value} for value in _values(name, axis)] for name, axis in grid.items()]
    axes += [_rows(group) for group in together]
    names = [name for axis in axes for name in axis[0]]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"{name} appears twice: a parameter can belong to only one axis")
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
    """Return True if `value` is among `values`; 1 and True are distinct."""
    return _key(value) in map(_key, values)


def _key(value: Any) -> Hashable:
    """Return a key that distinguishes a value from all others: 1 and 1.0 are equal, 1 and True are not."""
    plain = value if isinstance(value, Hashable) else msgspec.json.encode(value, order="sorted")
    return isinstance(value, bool), plain


def _rows(group: dict[str, list[Any]]) -> list[Point]:
    lengths = {len(values) for values in group.values()}
    if len(lengths) != 1 or lengths == {0}:
        counts = ", ".join(f"{name} has {len(values)}" for name, values in group.items()) or "it is empty"
        raise ValueError(f"together: parameters must have the same number of values ({counts})")
    return [dict(zip(group, row, strict=True)) for row in zip(*group.values(), strict=True)]


def points(axes: list[list[Point]], without: tuple[dict[str, Any], ...]) -> Iterator[Point]:
    """Yield every combination that is not excluded; the last axis varies fastest."""
    rules = [{name: set(map(_key, as_list(excluded))) for name, excluded in rule.items()} for rule in without]
    for parts in itertools.product(*axes):
        point = {name: value for part in parts for name, value in part.items()}
        if not any(all(_key(point[name]) in excluded for name, excluded in rule.items()) for rule in rules):
            yield point


def as_list(excluded: Any) -> list[Any]:
    """Return the values that a rule excludes for one parameter: those in a list, or a single one."""
    return excluded if isinstance(excluded, list) else [excluded]


def axis_values(axes: list[list[Point]]) -> dict[str, list[Any]]:
    """Return the values of each parameter on the axes."""
    return {name: [point[name] for point in axis] for axis in axes for name in axis[0]}


def check_exclusions(axes: list[list[Point]], without: tuple[dict[str, Any], ...]) -> None:
    """Raise ValueError for a rule on a parameter or value that is on no axis."""
    if len(without) > MAX_RULES:
        raise ValueError(f"without: {len(without):,} rules exceed the maximum of {MAX_RULES}")
    values = {name: set(map(_key, on_axis)) for name, on_axis in axis_values(axes).items()}
    for i, rule in enumerate(without, 1):
        for name, excluded in rule.items():
            if name not in values:
                raise ValueError(f"without {i}: {name} is not on any axis: {suggest(name, list(values))}")
            for value in as_list(excluded):
                if _key(value) not in values[name]:
                    raise ValueError(f"without {i}: {name} is never {value!r}")
        if not rule:
            raise ValueError(f"without {i} is empty: it would leave out everything")


def _restrict_rule(rule: dict[str, Any], axes: list[list[Point]]) -> dict[str, Any]:
    """Restrict an exclusion to the values on these axes; return an empty rule if it no longer excludes anything."""
    on_axes = axis_values(axes)
    restricted = {
        name: [value for value in as_list(excluded) if contains(on_axes.get(name, []), value)]
        for name, excluded in rule.items()
    }
    return restricted if all(restricted.values()) else {}


def _ends(axis: Axis) -> list[Any]:
    values = axis.values() if isinstance(axis, Range) else axis
    return [values[0], values[-1]] if len(values) > 1 else list(values)


def _is_parameter_value(value: Any) -> bool:
    """Return True for a value that a notebook parameter and JSON can hold."""
    if isinstance(value, dict):
        return all(map(_is_parameter_value, value.values()))
    if isinstance(value, list):
        return all(map(_is_parameter_value, value))
    return isinstance(value, str | bool | int) or (isinstance(value, float) and isfinite(value))


def make_cell(
    point: Point, fixed: Point, repeat: int, seed: int, encoded: Mapping[str, bytes] | None = None
) -> SweepCell:
    """Make a cell; its id depends only on its parameters, so that it stays the same when the plan grows.

    `encoded` is `fixed` as JSON, which is the same for all cells of a plan.
    """
    parts = {**(encoded or _encode_values(fixed)), **_encode_values(point)}
    identity = b"[{%b},%d,%d]" % (b",".join(parts[name] for name in sorted(parts)), repeat, seed)
    text = ",".join(f"{name}={_text(value)}" for name, value in point.items())
    label = re.sub(r"[^\w.=,+-]+", "-", text)[:60].strip("-,.")
    return SweepCell(
        id=f"{label or 'cell'}-r{repeat}-{hashlib.sha256(identity).hexdigest()[:10]}",
        params={**fixed, **point},
        repeat=repeat,
        seed=seed,
    )


def _encode_values(values: Point) -> dict[str, bytes]:
    """Return each name and its value as written in a JSON object."""
    return {
        name: b"%b:%b" % (msgspec.json.encode(name), msgspec.json.encode(value, order="sorted"))
        for name, value in values.items()
    }


def _text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def read_plan(path: str | Path) -> SweepPlan:
    """Read a plan; a ValueError names the file, the place in it and the remedy."""
    return read_toml(Path(path), SweepPlan)


def plan_name(path: Path) -> str:
    """Name a sweep after its plan's file, or after the folder of a `plan.toml`."""
    return path.resolve().parent.name if path.name == "plan.toml" else path.stem


def notebook_path(plan: SweepPlan, path: Path) -> Path:
    """Return the notebook's file; its name is relative to the plan's folder."""
    return _resolve(path, plan.notebook)


def report_path(plan: SweepPlan, path: Path) -> Path | None:
    """Return the file of the report notebook, if the plan names one."""
    return None if plan.report is None else _resolve(path, plan.report)


def _resolve(path: Path, name: str) -> Path:
    file = (path.parent / name).resolve()
    if not file.is_file():
        raise ValueError(f"{path}: there is no notebook {file}")
    return file
