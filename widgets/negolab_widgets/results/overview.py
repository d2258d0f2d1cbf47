"""A sweep at a glance: one figure for each of the outcomes that most ask for first, for a report on any sweep."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from negolab.sweep import standing
from negolab_widgets.results.choices import LINES, Choice
from negolab_widgets.results.drawing import drawn
from negolab_widgets.results.factor import Factor, factors
from negolab_widgets.results.outcome import outcomes
from negolab_widgets.results.reading import Played, Reading

if TYPE_CHECKING:
    import pandas as pd
    from plotly.graph_objects import Figure

FIRST = ("agreed", "efficiency", "payoff_a", "payoff_b", "surplus_share_a", "turns_to_deal")
"""Outcomes, where a sweep has them."""


class Shown(NamedTuple):
    """An outcome's figure, and the table of its means with intervals and n."""

    title: str
    figure: Figure
    numbers: pd.DataFrame


class Overview(NamedTuple):
    """The figures; titles of the parameters over which they are `pooled`; cells that could not be read, and why."""

    shown: list[Shown]
    pooled: list[str]
    faults: dict[str, str]


def overview(run: Path | str, width: int = 980) -> Overview:
    """The first outcomes over the first three parameters that vary: on the x axis, in colour and in panels."""
    reading = Reading(run)
    for cell in reading.left():
        reading.read(cell)
    played = reading.played()
    varied = _varied(played, Path(run))
    return Overview(list(_figures(played, varied, width)), [one.title for one in varied[3:]], reading.faults)


def _figures(played: Played, varied: list[Factor], width: int) -> Iterator[Shown]:
    x, colour, facet = [*varied, None, None, None][:3]
    there = outcomes(played.frame, played.parameters.values())
    found = {one.column: one for one in there if not one.either}
    for outcome in (found[name] for name in FIRST if name in found):
        made = drawn(played.frame, played.frame, Choice(outcome, LINES, x, colour, facet), width)
        if made.figure is not None and made.numbers is not None:
            yield Shown(outcome.title, made.figure, made.numbers)


def _varied(played: Played, run: Path) -> list[Factor]:
    """The parameters that have several values, in the plan's order."""
    plan = standing.plan_of(run)
    orders = {name: [point[name] for point in axis] for axis in plan.axes() for name in axis[0]}
    return [one for one in factors(played, orders) if one.column in played.parameters.values()]
