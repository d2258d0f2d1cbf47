"""What is drawn: the outcome, the kind of figure, and which factor is on which side of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import ipywidgets as w

from negolab_widgets.results.factor import SEATED, Factor
from negolab_widgets.results.outcome import Outcome

LINES, HEAT, BOXES, VIOLINS = "means, 95 % intervals", "heat map of means", "box plots", "violins"
NONE = ""
FIRST = ("efficiency", "agreed", "payoff_a")
"""Outcomes that are shown first, if they are there."""


class Choice(NamedTuple):
    """A figure to be drawn; a factor that is None is not shown, and all its values count together."""

    outcome: Outcome
    view: str
    x: Factor | None
    colour: Factor | None
    facet: Factor | None

    @property
    def by(self) -> list[Factor]:
        """The factors, each once."""
        return list({one.column: one for one in (self.x, self.colour, self.facet) if one is not None}.values())


class Choices:
    """The controls. `changed()` is called when something else is chosen."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed, self._still = changed, True
        self._own: set[w.Dropdown] = set()
        self._outcomes: dict[str, Outcome] = {}
        self._factors: dict[str, Factor] = {}
        self.outcome = w.Dropdown(description="Outcome")
        self.view = w.Dropdown(description="Figure", options=[LINES, HEAT, BOXES, VIOLINS])
        self.x, self.colour, self.facet = (w.Dropdown(description=name) for name in ("X axis", "Colour", "Panels"))
        for control in (self.outcome, self.view, self.x, self.colour, self.facet):
            control.observe(self._heard, "value")
        self.widget = w.Box([self.outcome, self.view, self.x, self.colour, self.facet])
        self.widget.add_class("nl-sides")
        self._still = False

    def offer(self, outcomes: Sequence[Outcome], factors: Sequence[Factor]) -> None:
        """What there is to choose now. What was chosen stays, if it is there; else the first parameters are shown."""
        self._outcomes = {one.key: one for one in outcomes}
        first = next((name for name in FIRST if name in self._outcomes), next(iter(self._outcomes), None))
        self._still = True
        self._put(self.outcome, [(f"{one.group}: {one.title}", one.key) for one in outcomes], first)
        self._factors = {one.column: one for one in factors if self._seated() or one.column not in SEATED}
        names = [("none", NONE), *((one.title, one.column) for one in self._factors.values())]
        usual = [*[column for column in self._factors if column not in SEATED][:2], NONE, NONE]
        for control, default in zip((self.x, self.colour, self.facet), (*usual[:2], NONE), strict=True):
            self._put(control, names, NONE if control in self._own else default)
        self._still = False

    def chosen(self) -> Choice | None:
        """None: there is nothing to choose from. A factor is on one side only, the first that names it."""
        outcome = self._outcomes.get(self.outcome.value)
        if outcome is None:
            return None
        x, colour, facet = (self._factors.get(control.value) for control in (self.x, self.colour, self.facet))
        colour = None if colour == x else colour
        facet = None if facet in (x, colour) else facet
        return Choice(outcome, self.view.value, x, colour, facet)

    def _seated(self) -> bool:
        """Whether rows are of seats, so that they differ by seat and player."""
        chosen = self._outcomes.get(self.outcome.value)
        return chosen is not None and chosen.either

    def _put(self, control: w.Dropdown, options: list[tuple[str, str]], default: str | None) -> None:
        before = control.value
        if tuple(control.options) != tuple(options):
            control.options = options
        there = {value for _, value in options}
        stays = control in self._own and before in there
        control.value = before if stays else default if default in there else None

    def _heard(self, change: Any) -> None:
        if not self._still:
            self._own.add(change["owner"])
            self.colour.description = "Y axis" if self.view.value == HEAT else "Colour"
            self._changed()
