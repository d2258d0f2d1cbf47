"""A sweep's plan: a TOML file that says which notebook is run, over which grid, how often and within which limits."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from math import isfinite, prod
from pathlib import Path
from typing import Any

import msgspec

from negolab import tomlfile
from negolab.plan import derived
from negolab.players.endpoint.keys import base_url
from negolab.players.endpoint.limits import Limits as Allowed
from negolab.players.endpoint.prices import Prices
from negolab.status import State, Status
from negolab.sweep.grid import MOST, Axis, Point, Range, axes, checked, points
from negolab.tomlfile import Part

OURS = ("out", "seed")
"""Parameters of the notebook that a sweep sets: where its records go, and the seed of everything that is drawn."""


class Limits(Part, frozen=True):
    """`cell_seconds`: time that a cell may take; `usd` and `tokens`: what the models of all cells together may."""

    cell_seconds: float | None = None
    usd: float | None = None
    tokens: int | None = None

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if value is not None and not (isfinite(value) and value > 0):
                raise ValueError(f"{name} must be a number above 0, not {value:g}")


class Reach(Part, frozen=True):
    """How the models of a sweep are reached, by all cells together: the address, the environment variable that holds
    the key, what the provider allows, prices by model as `INPUT,OUTPUT` in US dollars per million tokens."""

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
        """What holds for each model."""
        return Allowed(
            at_once=self.concurrency,
            requests_per_minute=self.requests_per_minute,
            tokens_per_minute=self.tokens_per_minute,
        )


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """One run of the notebook. `params` are all that the plan sets, `seed` is the notebook's."""

    id: str
    params: Point
    repeat: int
    seed: int

    def ended(self, state: State, attempt: int, began: float, ended: float, **more: Any) -> Status:
        """The status of an attempt at it; `more` are other fields of a status."""
        own: dict[str, Any] = {"id": self.id, "params": self.params, "repeat": self.repeat, "seed": self.seed}
        times = {"began": began, "ended": ended, "seconds": ended - began}
        return Status(state=state, attempts=attempt, **own, **{**times, **more})


class Plan(Part, frozen=True, kw_only=True):
    """A plan as its file says it. `report` is the notebook that looks at the whole sweep, `together` are groups whose
    values go row by row, `without` the combinations that are left out, `tiny` what a trial changes."""

    notebook: str
    report: str | None = None
    grid: dict[str, Axis] = {}
    together: tuple[dict[str, list[Any]], ...] = ()
    without: tuple[dict[str, Any], ...] = ()
    fixed: dict[str, Any] = {}
    repeats: int = 1
    seed: int = 0
    limits: Limits = Limits()
    models: Reach | None = None
    tiny: dict[str, Any] = {}

    def __post_init__(self) -> None:
        if self.repeats < 1:
            raise ValueError(f"repeats must be at least 1, not {self.repeats}")
        found = self.axes()
        checked(found, self.without)
        names = [name for axis in found for name in axis[0]]
        for name in [*names, *self.fixed, *self.tiny]:
            if name in OURS:
                raise ValueError(f"{name} is set by the sweep: leave it out")
        if both := next((name for name in names if name in self.fixed), None):
            raise ValueError(f"{both} is on an axis and fixed: leave one out")
        if self.models is None and (self.limits.usd or self.limits.tokens):
            raise ValueError("limits: usd and tokens are of models: say in [models] how they are reached")
        if prod(map(len, found)) * self.repeats > MOST:
            raise ValueError(f"more than {MOST:,} cells")
        if next(self.points(), None) is None:
            raise ValueError("without: everything is left out")
        if broken := next((name for name, value in self._said() if not _plain(value)), None):
            raise ValueError(f"{broken}: a parameter is a number, a text, true, false, a list or a table of those")

    def axes(self) -> list[list[Point]]:
        """The axes, each as its points."""
        return axes(self.grid, self.together)

    def _said(self) -> Iterator[tuple[str, Any]]:
        yield from self.fixed.items()
        yield from self.tiny.items()
        for axis in self.axes():
            for point in axis:
                yield from point.items()

    @property
    def varied(self) -> list[str]:
        """The parameters of the axes, in their order."""
        return [name for axis in self.axes() for name in axis[0]]

    @property
    def names(self) -> list[str]:
        """All parameters that the plan sets."""
        return [*self.varied, *self.fixed]

    def points(self) -> Iterator[Point]:
        """The combinations of the grid."""
        return points(self.axes(), self.without)

    def cells(self) -> Iterator[Cell]:
        """All runs of the notebook, repeat by repeat, so that a sweep that is stopped has seen the whole grid. A seed
        depends on the repeat alone: cells of one repeat draw the same deals, so that differences are paired."""
        for repeat in range(self.repeats):
            seed = derived(self.seed, "repeat", repeat)
            for point in self.points():
                yield cell(point, self.fixed, repeat, seed)

    def cut(self) -> Plan:
        """A trial of the plan: each axis cut to its ends, one repeat, and what `tiny` says."""
        own = set(self.tiny)
        grid: dict[str, Axis] = {name: _ends(axis) for name, axis in self.grid.items() if name not in own}
        groups = [{name: _ends(values) for name, values in group.items() if name not in own} for group in self.together]
        together = tuple(filter(None, groups))
        there = axes(grid, together)
        return msgspec.structs.replace(
            self,
            grid=grid,
            together=together,
            without=tuple(filter(None, (_narrowed(rule, there) for rule in self.without))),
            repeats=1,
            fixed={**self.fixed, **self.tiny},
            tiny={},
        )

    def changed(self, values: dict[str, Any]) -> Plan:
        """The plan with other values of what it fixes, or more of them; `ValueError` for what stands on an axis."""
        return msgspec.structs.replace(self, fixed={**self.fixed, **values})


def _narrowed(rule: dict[str, Any], there: list[list[Point]]) -> dict[str, Any]:
    """A rule about the values that are there; empty if it leaves out nothing any more."""
    found: dict[str, Any] = {}
    for name, wanted in rule.items():
        values = wanted if isinstance(wanted, list) else [wanted]
        found[name] = [value for value in values if _speaks(name, value, there)]
    return found if all(found.values()) else {}


def _speaks(name: str, value: Any, there: list[list[Point]]) -> bool:
    try:
        checked(there, ({name: value},))
    except ValueError:
        return False
    return True


def _ends(axis: Axis) -> list[Any]:
    values = axis.values() if isinstance(axis, Range) else axis
    return [values[0], values[-1]] if len(values) > 1 else list(values)


def _plain(value: Any) -> bool:
    """Whether it can be a notebook's parameter and a line of JSON."""
    if isinstance(value, dict):
        return all(map(_plain, value.values()))
    if isinstance(value, list):
        return all(map(_plain, value))
    return isinstance(value, str | bool | int) or (isinstance(value, float) and isfinite(value))


def cell(point: Point, fixed: Point, repeat: int, seed: int) -> Cell:
    """A cell, whose id follows from its parameters, so that a plan can grow: what was run keeps its name."""
    params = {**fixed, **point}
    whole = msgspec.json.encode([params, repeat, seed], order="sorted")
    said = ",".join(f"{name}={_short(value)}" for name, value in point.items())
    words = re.sub(r"[^\w.=,+-]+", "-", said)[:60].strip("-,.")
    return Cell(
        id=f"{words or 'cell'}-r{repeat}-{hashlib.sha256(whole).hexdigest()[:10]}",
        params=params,
        repeat=repeat,
        seed=seed,
    )


def _short(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def read(path: str | Path) -> Plan:
    """Read a plan; `ValueError` names file, place and what to do."""
    path = Path(path)
    words = tomlfile.text(path)
    try:
        return tomlfile.converted(tomlfile.table(words, Plan), Plan)
    except ValueError as error:
        raise ValueError(f"{path}: {' '.join(str(error).split())}") from None


def notebook_of(plan: Plan, path: Path) -> Path:
    """The notebook's file; its name goes from where the plan is."""
    return _beside(path, plan.notebook)


def report_of(plan: Plan, path: Path) -> Path | None:
    """The file of the notebook that reports on the sweep, if the plan names one."""
    return None if plan.report is None else _beside(path, plan.report)


def _beside(path: Path, name: str) -> Path:
    found = (path.parent / name).resolve()
    if not found.is_file():
        raise ValueError(f"{path}: there is no notebook {found}")
    return found
