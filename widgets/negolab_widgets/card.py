"""The card of a game in a notebook: what it is about, what each side sees, and its figure with two sliders."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Any

import msgspec
from typing_extensions import override

from negolab import catalog
from negolab.catalog import AnyGame
from negolab.formatting import first_paragraph, format_amount, label
from negolab.game import SEATS, Game, Seat, State, observe
from negolab.match import Match
from negolab_widgets.faults import FaultGuard
from negolab_widgets.fields import Slider
from negolab_widgets.html import Markup, StableHTML, element, format_value, join, still
from negolab_widgets.layout import column, row, set_visible, styled
from negolab_widgets.page import Page
from negolab_widgets.play.pictures import picture
from negolab_widgets.replay.plane import Course, deal_surroundings, render_plane
from negolab_widgets.tables import table

SEED, _REDRAWS = 1, 8
"""Seed of the deal that a card shows, and how often what a seat alone knows is drawn anew to find out what that is."""

Figure = Callable[[AnyGame, State[Any, Any]], Markup]


class Card(Page):
    """Show a game: its aim, its sides and its figure, which two sliders redraw.

    Args:
        game: The game.
        large: Draw it as wide as the page, with the figure below the sliders.
    """

    def __init__(self, game: AnyGame, *, large: bool = False) -> None:
        self._game, self._deal, self._guard = game, example(game), FaultGuard("a card")
        self._figure, self._code = StableHTML(), StableHTML()
        self._sliders = {declared[0]: Choice(game, *declared) for declared in sliders(self._deal)}
        self._place = column()
        self._play = self._guard.button("Play", self._open_lobby, cls="nl-primary")
        self._guard.on_change(self.refresh, *self._sliders.values())
        moved = [row(column(*self._sliders.values()), self._figure, cls="nl-explore")] if self._sliders else []
        head = row(StableHTML(value=render_head(game)), *([self._play] if game.preset else []))
        parts = [styled(head, "nl-card-head"), StableHTML(value=render_sides(game)), *moved, self._code]
        card = styled(column(*parts), "nl-card", *(["nl-large"] if large else []))
        set_visible(self._place, False)
        super().__init__([card, self._guard.notice, self._place], self._guard.show)
        self.refresh()

    @override
    def kept(self) -> Markup:
        return render_card(self._game)

    def refresh(self) -> None:
        """Draw the figure and the line of code for where the sliders stand."""
        changes = changed(self._deal, {path: slider.chosen for path, slider in self._sliders.items()})
        for slider in self._sliders.values():
            slider.say()
        self._figure.value = render_figure(self._deal, changes)
        self._code.value = render_code(self._game, changes)

    def _open_lobby(self) -> None:
        from negolab_widgets.play.lobby import Lobby  # slow to import

        set_visible(self._place, True)
        self._place.children = (Lobby(catalog.game_id(self._game), preset=self._game.preset),)


def render_card(game: AnyGame) -> Markup:
    """Render the card as it stands in a saved notebook."""
    figure = (
        element("div", still(render_figure(example(game), {}), "An example draw"), cls="nl-explore")
        if explored(game)
        else ""
    )
    return element(
        "div", still(render_head(game), ""), render_sides(game), figure, render_code(game, {}), cls="nl-card nl-column"
    )


def explored(game: AnyGame) -> Mapping[str, Any]:
    """Return what the game's module declares for its card; nothing of a game that declares nothing.

    `sliders` maps a parameter (or a part of one: `reservation.A`, `stock.0`, `seller_costs.*` for a single value) to
    its name on screen, its ends, which may be names of parameters, and its step. `figure` names the function that draws
    a deal; by default the payoffs of all agreements are drawn. `changes` are parameters of what is drawn alone, and
    `change` is an example of a change.
    """
    return catalog.part(game, "EXPLORE") or {}


def example(game: AnyGame) -> AnyGame:
    """Return the game with one deal of those that it draws from lists."""
    lists = (path.removesuffix(".*") for path in explored(game).get("sliders", {}) if path.endswith(".*"))
    return catalog.load(game, **{name: getattr(game, name)[:1] for name in lists})


def render_head(game: AnyGame) -> Markup:
    """Render what the game is about."""
    module, id = catalog.module_of(game), catalog.game_id(game)
    about = first_paragraph(module.__doc__)
    note = catalog.preset_notes(module).get(game.preset or "", "")
    named = game.preset and catalog.preset_title(module, game.preset)
    preset = f"Preset: {named}. {note}" if named else "Custom parameters."
    title = element("h2", catalog.title(id).partition(":")[0])
    words = element("div", title, element("p", about), element("p", preset, cls="nl-small"))
    return element("div", picture(id), words, cls="nl-card-about")


def render_sides(game: AnyGame) -> Markup:
    """Render what each side of an example deal wants, sees and alone knows."""
    game = example(game)
    state = Match(game, seed=SEED).state
    return element("div", *(_side(game, state, seat) for seat in SEATS), cls="nl-card-sides")


def _side(game: AnyGame, state: State[Any, Any], seat: Seat) -> Markup:
    told, seen, kind = game.told(seat), observe(state, seat), table(game)
    facts, private = game.facts(seen), own_secrets(game, state, seat)
    rows = [("Sees", _named(facts)), ("Keeps private", _named({name: facts[name] for name in private}) or "nothing")]
    if hidden := [label(name) for name in game.secrets(seat)]:
        rows.append(("Is not told", ", ".join(hidden)))
    name = element("h3", kind.role(told, seat).removeprefix("the "), cls=f"nl-person nl-person-{seat.lower()}")
    goal = element("p", *list(kind.rules(told, seen))[:1])
    return element("section", name, goal, *(element("p", element("b", f"{what}: "), text) for what, text in rows))


def _named(facts: Mapping[str, Any]) -> str:
    """Name facts, with the value of those that are a number or a word."""
    plain = {name: value for name, value in facts.items() if value not in ("", None)}
    words = (name[:1].lower() + name[1:] if name[1:2].islower() else name for name in plain)
    values = ("" if isinstance(of, dict | list) else f" {format_value(of)}" for of in plain.values())
    return "; ".join(map("".join, zip(words, values, strict=True)))


def own_secrets(game: AnyGame, state: State[Any, Any], seat: Seat) -> list[str]:
    """List the facts of a seat that the other one does not know: those that change when the rules redraw them.

    Of a game that cannot redraw them, all that is filed as the seat's own counts.
    """
    facts, rng = game.facts(observe(state, seat)), random.Random(SEED)
    if type(game).vary is Game.vary:
        return list(facts)
    redrawn = [game.vary(state, seat, rng) for _ in range(_REDRAWS)]
    others = [game.facts(observe(one, seat)) for one in redrawn if one is not None]
    return [name for name in facts if any(other.get(name) != facts[name] for other in others)]


def sliders(game: AnyGame) -> Iterator[tuple[str, str, float, float, float]]:
    """Yield the first two declared sliders that change the figure of this game: path, name, ends and step."""
    found, figure = 0, render_figure(game, {})
    for path, (name, low, high, step) in explored(game).get("sliders", {}).items():
        low, high = (_value(game, end) if isinstance(end, str) else end for end in (low, high))
        ends = [changed(game, {path: end}) for end in (low, high) if found < 2 and _value(game, path) is not None]
        if any(render_figure(game, end) != figure for end in ends):
            found += 1
            yield path, name, low, high, step


class Choice(Slider):
    """A slider over the round values of a parameter, and the one that it has in the game.

    Args:
        game: The game.
        declared: A slider as `sliders` yields it.
    """

    def __init__(self, game: AnyGame, path: str, name: str, low: float, high: float, step: float) -> None:
        steps = range(int((high - low) / step + 1.5))
        self._unit, now = game.measure_units.get(path.partition(".")[0]), _value(game, path)
        self.values = sorted({now, *(round(low + k * step, 6) for k in steps)})
        super().__init__(description=name, max=len(self.values) - 1, value=self.values.index(now))

    @property
    def chosen(self) -> Any:
        """The value where the slider stands."""
        return self.values[self.value]

    def say(self) -> None:
        """Write the value with its unit."""
        self.text = format_amount(self.chosen, self._unit) if self._unit else format_value(self.chosen)


def _value(game: AnyGame, path: str) -> Any:
    """Return the number that a path names; None if the game has none there."""
    name, _, part = path.partition(".")
    value = getattr(game, name)
    if part and isinstance(value, tuple):
        value = value[0 if part == "*" else int(part)] if value else None
    elif part:
        value = getattr(value, part, None)
    return value if isinstance(value, int | float) else None


def changed(game: AnyGame, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters that differ from the game's if these numbers stand at their paths."""
    changes: dict[str, Any] = {}
    for path, value in values.items():
        name, _, part = path.partition(".")
        old = changes.get(name, getattr(game, name))
        if value == _value(game, path):
            continue
        if isinstance(old, tuple):
            changes[name] = (value,) if part == "*" else (*old[: int(part)], value, *old[int(part) + 1 :])
        else:
            changes[name] = msgspec.structs.replace(old, **{part: value}) if part else value
    return changes


def render_figure(game: AnyGame, changes: Mapping[str, Any]) -> Markup:
    """Draw the deal of the game with these changes; where they do not fit the rules, say why."""
    declared = explored(game)
    if not declared:
        return Markup("")
    module, _, name = declared.get("figure", "negolab_widgets.card:draw_plane").partition(":")
    try:
        drawn = catalog.load(game, **{**declared.get("changes", {}), **changes})
        return Markup(getattr(import_module(module), name)(drawn, Match(drawn, seed=SEED).state))
    except ValueError as error:
        return element("p", str(error), cls="nl-small")


def draw_plane(game: AnyGame, state: State[Any, Any]) -> Markup:
    """Draw what agreements pay both, and what both have without one."""
    drawn = render_plane({"": Course((), 1, None, False)}, deal_surroundings(game, state))
    words = "Payoffs of the best agreements: no other agreement gives one side more without giving the other less."
    return join([drawn, element("p", words)])


def render_code(game: AnyGame, changes: Mapping[str, Any]) -> Markup:
    """Render the line of code that makes these changes, or one as an example."""
    plain = {name: msgspec.to_builtins(value) for name, value in changes.items()}
    written = ", ".join(f"{name}={value!r}" for name, value in plain.items()) or explored(game).get("change", "")
    named = [
        f'"{catalog.game_id(game).partition(":")[0]}"',
        *([f'preset="{game.preset}"'] if game.preset else []),
        written,
    ]
    code = element("code", f"nl.load({', '.join(filter(None, named))})")
    fault = ""
    try:
        catalog.load(game, **changes)
    except ValueError as error:
        fault = f" {error}"
    return element("p", "Change this: ", code, fault, cls="nl-card-code") if written else Markup("")
