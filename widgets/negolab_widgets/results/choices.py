"""Controls that choose a figure (outcome, kind, factors) and the matches that are in it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import ipywidgets as w

from negolab.analysis.observations import SEAT_COLUMNS
from negolab_widgets.html import element
from negolab_widgets.layout import box, column, framed, is_visible, row, set_visible
from negolab_widgets.results.variables import Factor, Quantity

LINES, HEAT, BOXES, VIOLINS = "means, 95% intervals", "heat map of means", "box plots", "violins"
NONE = ""


class FigureChoice(NamedTuple):
    """A figure to be drawn; a factor that is None is not shown, and all its values count together."""

    outcome: Quantity
    view: str
    x: Factor | None
    colour: Factor | None
    facet: Factor | None

    @property
    def by(self) -> list[Factor]:
        """The factors, each once."""
        return list({one.column: one for one in (self.x, self.colour, self.facet) if one is not None}.values())


class FigureControls:
    """The controls of a figure; `changed()` is called when something else is chosen."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed, self._updating = changed, False
        self._user_set: set[w.Dropdown] = set()
        self._outcomes: dict[str, Quantity] = {}
        self._factors: dict[str, Factor] = {}
        self.outcome = w.Dropdown(description="Outcome")
        self.view = w.Dropdown(description="Figure", options=[LINES, HEAT, BOXES, VIOLINS])
        self.every = w.Checkbox(description="All measures", indent=False)
        self.x, self.colour, self.facet = (w.Dropdown(description=name) for name in ("X axis", "Color", "Panels"))
        for control in (self.outcome, self.every, self.view, self.x, self.colour, self.facet):
            control.observe(self._on_change, "value")
        figure = box(self.outcome, self.view, self.x, self.colour, self.facet, cls="nl-sides")
        self.widget = column(figure, self.every)

    def offer(self, outcomes: Sequence[Quantity], main: Sequence[Quantity], factors: Sequence[Factor]) -> None:
        """Set what can be chosen; choices of the user stay if they are still there, else the first parameters are
        shown, and the first of the main outcomes.

        Args:
            outcomes: All outcomes, behind "All measures".
            main: The main ones, what to show first before the others.
            factors: The factors.
        """
        offered = outcomes if self.every.value or not main else main
        self._outcomes = {one.key: one for one in offered}
        first = next((one.key for one in (*main, *offered)), None)
        self._updating = True
        self._set_options(self.outcome, [(f"{one.group}: {one.title}", one.key) for one in offered], first)
        self._factors = {one.column: one for one in factors if self._is_by_seat() or one.column not in SEAT_COLUMNS}
        names = [("none", NONE), *((one.title, one.column) for one in self._factors.values())]
        usual = [*[column for column in self._factors if column not in SEAT_COLUMNS][:2], NONE, NONE]
        for control, default in zip((self.x, self.colour, self.facet), (*usual[:2], NONE), strict=True):
            self._set_options(control, names, NONE if control in self._user_set else default)
        self._updating = False

    def chosen(self) -> FigureChoice | None:
        """Return the chosen figure, None if there is nothing to choose; a factor counts on the first side that names
        it."""
        outcome = self._outcomes.get(self.outcome.value)
        if outcome is None:
            return None
        x, colour, facet = (self._factors.get(control.value) for control in (self.x, self.colour, self.facet))
        colour = None if colour == x else colour
        facet = None if facet in (x, colour) else facet
        return FigureChoice(outcome, self.view.value, x, colour, facet)

    def _is_by_seat(self) -> bool:
        """Return True if rows are of seats, so that they differ by seat and player."""
        chosen = self._outcomes.get(self.outcome.value)
        return chosen is not None and chosen.either

    def _set_options(self, control: w.Dropdown, options: list[tuple[str, str]], default: str | None) -> None:
        before = control.value
        control.options = options
        there = {value for _, value in options}
        stays = control in self._user_set and before in there
        control.value = before if stays else default if default in there else None

    def _on_change(self, change: Any) -> None:
        if not self._updating:
            self._user_set.add(change["owner"])
            self.colour.description = "Y axis" if self.view.value == HEAT else "Color"
            self._changed()


MAX_BOXES = 12
"""Values of a factor that have a box each; more are a list."""


class MatchFilters:
    """Boxes for the values of each factor.

    `excluded` are the values that are left out, by column; values that appear later are in. `changed()` is called
    when they change.
    """

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self._shown: tuple[Factor, ...] = ()
        self.excluded: dict[str, set[str]] = {}
        self._boxes = box(cls="nl-form")
        self._panel = framed(self._boxes)
        set_visible(self._panel, False)
        self._open = w.Button(description="Choose matches")
        self._open.on_click(lambda _: set_visible(self._panel, not is_visible(self._panel)))
        self.widget = column(self._open, self._panel)

    def offer(self, factors: Sequence[Factor]) -> None:
        """Set the factors."""
        wanted = tuple(factor for factor in factors if factor.column not in SEAT_COLUMNS)
        if wanted != self._shown:
            self._shown = wanted
            self._boxes.children = [self._controls_for(factor) for factor in wanted]
            set_visible(self._open, bool(wanted))

    def describe(self) -> str:
        """Say what is left out; "" for nothing."""
        titles = {factor.column: factor.title for factor in self._shown}
        said = [
            f"{titles[column]} {', '.join(sorted(values))}"
            for column, values in self.excluded.items()
            if values and column in titles
        ]
        return f"Without {'; '.join(said)}." if said else ""

    def _controls_for(self, factor: Factor) -> w.Widget:
        out = self.excluded.setdefault(factor.column, set())
        if len(factor.texts) > MAX_BOXES:
            return self._list(factor, out)
        boxes = [self._box(factor, text, text not in out) for text in factor.texts]
        line = row(*boxes, cls="nl-ticks")
        return column(w.HTML(element("h2", factor.title)), line)

    def _box(self, factor: Factor, text: str, ticked: bool) -> w.Checkbox:
        box = w.Checkbox(description=text, value=ticked, indent=False)

        def tick(change: Any) -> None:
            (self.excluded[factor.column].discard if change["new"] else self.excluded[factor.column].add)(text)
            self._changed()

        box.observe(tick, "value")
        return box

    def _list(self, factor: Factor, out: set[str]) -> w.SelectMultiple:
        kept = [text for text in factor.texts if text not in out]
        many = w.SelectMultiple(description=factor.title, options=list(factor.texts), value=kept, rows=8)

        def choose(change: Any) -> None:
            self.excluded[factor.column] = set(factor.texts) - set(change["new"])
            self._changed()

        many.observe(choose, "value")
        return many
