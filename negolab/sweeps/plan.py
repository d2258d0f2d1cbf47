"""Plans of sweeps: TOML files that name a notebook, a grid of parameters, repeats and limits."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from itertools import chain
from math import isfinite, prod
from pathlib import Path
from typing import Any

import msgspec

from negolab._internal.validation import Count, Positive, TomlTable, read_toml
from negolab.llm.endpoint.keys import base_url
from negolab.llm.endpoint.policy import Limits as Allowed
from negolab.llm.endpoint.prices import Prices
from negolab.players.code import CodeReference, code_facts, find_player, parse_reference
from negolab.runs.plan import derive_seed
from negolab.scenarios import SUFFIX
from negolab.sweeps.grid import (
    MAX_CELLS,
    Axis,
    Point,
    Range,
    as_list,
    axes,
    axis_values,
    check_exclusions,
    contains,
    points,
)
from negolab.sweeps.status import CellStatus, State

SWEEP_PARAMETERS = ("out", "seed")
"""Notebook parameters that the sweep sets: the folder of the records, and the seed of all random draws."""


class SweepLimits(TomlTable, frozen=True):
    """Limits of a sweep: `cell_seconds` for each cell, `usd` and `tokens` for the models of all cells together."""

    cell_seconds: Positive | None = None
    usd: Positive | None = None
    tokens: Count | None = None


class ModelAccess(TomlTable, frozen=True):
    """Access of all cells to their models: address, name of the variable with the key, limits and prices.

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
        """Make the status of an attempt; `more` are further fields of a status."""
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
        without: Combinations that are left out.
        fixed: Parameters with one value.
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
            raise ValueError("without: no combination is left")
        points = [self.fixed, self.tiny, *chain.from_iterable(axes)]
        invalid = [name for point in points for name, value in point.items() if not _is_parameter_value(value)]
        if invalid:
            raise ValueError(f"{invalid[0]}: a parameter is a number, a text, true, false, a list or a table of those")

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

        Seeds depend only on the repeat: cells of one repeat draw the same deals, so that differences are paired.
        """
        for repeat in range(self.repeats):
            seed = derive_seed(self.seed, "repeat", repeat)
            for point in self.points():
                yield make_cell(point, self.fixed, repeat, seed)

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
        """Return the plan with these fixed parameters changed or added; ValueError for one on an axis."""
        return msgspec.structs.replace(self, fixed={**self.fixed, **values})


def own_players(plan: SweepPlan, folder: Path) -> dict[str, CodeReference]:
    """Load the players `file.py:Class` that a plan's parameters name.

    Args:
        plan: The plan.
        folder: The folder that paths refer to: that of the plan's file.

    Returns:
        The references with absolute paths, by the text in the plan.

    Raises:
        ValueError: There is no such file or player, or its import failed.
    """
    found = {text: reference for text in _plan_texts(plan) if (reference := parse_reference(text))}
    references = {text: reference.beside(folder) for text, reference in found.items() if reference.is_file}
    for reference in references.values():
        find_player(reference, load=True)
    return references


def player_facts(players: Mapping[str, CodeReference]) -> dict[str, dict[str, Any]]:
    """Return the facts about the code of loaded players, by their text in the plan."""
    return {text: code_facts(find_player(reference, load=False)) for text, reference in players.items()}


def own_scenarios(plan: SweepPlan, folder: Path) -> dict[str, Path]:
    """Return the scenario files beside a plan that its parameters name, by the text in the plan."""
    named = {text for text in _plan_texts(plan) if text.endswith(SUFFIX)}
    return {text: file for text in sorted(named) if (file := (folder / text).resolve()).is_file()}


def scenario_facts(scenarios: Mapping[str, Path]) -> dict[str, dict[str, Any]]:
    """Return the name, hash and path of scenario files, by their text in the plan."""
    return {
        text: {"source": file.name, "sha256": hashlib.sha256(file.read_bytes()).hexdigest(), "path": str(file)}
        for text, file in scenarios.items()
    }


def _plan_texts(plan: SweepPlan) -> Iterator[str]:
    """Yield the texts in the parameters of a plan."""
    for point in (plan.fixed, plan.tiny, *chain.from_iterable(plan.axes())):
        yield from _texts(point)


def _texts(value: Any) -> Iterator[str]:
    """Yield the texts in a parameter's value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _texts(inner)


def _restrict_rule(rule: dict[str, Any], axes: list[list[Point]]) -> dict[str, Any]:
    """Restrict an exclusion to the values on these axes; empty if it excludes nothing any more."""
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


def make_cell(point: Point, fixed: Point, repeat: int, seed: int) -> SweepCell:
    """Make a cell; its id depends only on its parameters, so that it stays the same when the plan grows."""
    params = {**fixed, **point}
    identity = msgspec.json.encode([params, repeat, seed], order="sorted")
    text = ",".join(f"{name}={_text(value)}" for name, value in point.items())
    label = re.sub(r"[^\w.=,+-]+", "-", text)[:60].strip("-,.")
    return SweepCell(
        id=f"{label or 'cell'}-r{repeat}-{hashlib.sha256(identity).hexdigest()[:10]}",
        params=params,
        repeat=repeat,
        seed=seed,
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def read_plan(path: str | Path) -> SweepPlan:
    """Read a plan; ValueError names the file, the place in it and what to do."""
    return read_toml(Path(path), SweepPlan)


def plan_name(path: Path) -> str:
    """Name a sweep after its plan's file; a `plan.toml` is named after its folder."""
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
