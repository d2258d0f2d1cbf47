"""One match, step by step: a slider, buttons and a list of steps, what happened, and what stood on the table then."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import ipywidgets as w

from negolab.catalog import AnyGame
from negolab.game import SEATS, Seat
from negolab_widgets import html
from negolab_widgets.replay.steps import Step, card, line
from negolab_widgets.slider import Slider
from negolab_widgets.tables import table
from negolab_widgets.tables.controls import column, row

PACE = 0.9
"""Seconds a step is shown for while it plays."""


class Scrubber:
    """`moved(step)` is called when another step is shown. `put` shows another match, or the same as another sees it."""

    def __init__(self, moved: Callable[[Step], None], guard: Callable[..., Callable[..., None]]) -> None:
        self._moved, self._guard = moved, guard
        self._steps: list[Step] = []
        self._told: dict[Seat, AnyGame] = {}
        self._drawn: dict[Seat, tuple[Any, Any]] = {}
        self._playing: asyncio.Task[None] | None = None
        self.slider = Slider(description="Step", min=1, max=1, value=1)
        self._list = w.Select(description="Steps", rows=14)
        self._play = w.Button(description="Play")
        self._card = w.HTML()
        self._tables = {seat: w.HTML() for seat in SEATS}
        buttons = [self._button(*pair) for pair in (("First", -(10**9)), ("Back", -1))]
        buttons += [self._play, *(self._button(*pair) for pair in (("Next", 1), ("Last", 10**9)))]
        self._play.on_click(lambda _: guard(self._play_or_pause)())
        self.slider.observe(lambda _: guard(self._show)(), "value")
        self._list.observe(lambda _: guard(self._listed)(), "value")
        left, right = column(self._list), column(self._card)
        left.add_class("nl-side")
        right.add_class("nl-main")
        top = w.Box([left, right])
        below = w.Box(list(self._tables.values()))
        top.add_class("nl-columns")
        below.add_class("nl-columns")
        below.add_class("nl-halves")
        self.widget = column(self.slider, row(*buttons), top, below)

    @property
    def step(self) -> Step:
        """The step that is shown."""
        return self._steps[self._number - 1]

    @property
    def _number(self) -> int:
        """Which step the slider shows: a page can send any number."""
        return max(1, min(int(self.slider.value), len(self._steps)))

    def put(self, steps: list[Step], game: AnyGame, *, at: int = 1) -> None:
        """Show these steps of a match of `game`; a seat's table gets the game as told to that seat."""
        self._pause()
        self._steps = steps
        self._told = {seat: game.told(seat) for seat in SEATS}
        self._game = game
        self._drawn = {}
        self.slider.put(1, 1, len(steps))
        self._list.options = [(f"{number}  {line(step)}", number) for number, step in enumerate(steps, 1)]
        for seat, shown in self._tables.items():
            shown.layout.display = None if seat in steps[0].seen else "none"
            shown.value = ""
        self.slider.value = at
        self._show()

    def _show(self) -> None:
        if not self._steps:
            return
        number, step = self._number, self.step
        self.slider.text = f"step {number} of {len(self._steps)}: {line(step)}"
        self._list.value = number
        self._card.value = card(step, self._game)
        for seat, seen in step.seen.items():
            if self._drawn.get(seat) != (id(seen.public), id(seen.private)):
                self._drawn[seat] = (id(seen.public), id(seen.private))
                self._tables[seat].value = self._table(seat, seen)
        self._moved(step)

    def _table(self, seat: Seat, seen: Any) -> str:
        told = self._told[seat]
        looks = table(told)
        name, clock = looks.role(told, seat), looks.clock(told, seen)
        title = f"Seat {seat} sees" if name.endswith(f" {seat}") else f"Seat {seat}, {name}, sees"
        head = html.element("h2", title, html.element("span", clock, cls="nl-clock"), cls="nl-seat")
        return html.element("div", head, looks.render(told, seen), cls=f"nl-view nl-view-{seat.lower()}")

    def _listed(self) -> None:
        if self._list.value is not None:
            self.slider.value = self._list.value

    # Moving.

    def _button(self, text: str, by: int) -> w.Button:
        button = w.Button(description=text)
        button.on_click(lambda _: self._guard(self._move)(by))
        return button

    def _move(self, by: int) -> None:
        self._pause()
        self.slider.value += by

    def _play_or_pause(self) -> None:
        if self._playing is not None:
            self._pause()
            return
        if self.slider.value == self.slider.max:
            self.slider.value = 1
        self._play.description = "Pause"
        self._playing = asyncio.ensure_future(self._go())

    def _pause(self) -> None:
        if self._playing is not None:
            self._playing.cancel()
            self._playing = None
        self._play.description = "Play"

    async def _go(self) -> None:
        while self.slider.value < self.slider.max:
            await asyncio.sleep(PACE)
            self.slider.value += 1
        self._pause()
