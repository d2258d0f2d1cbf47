"""What to keep of the stock: a slider and a number for every item type, and what that would bring."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import ipywidgets as w

from negolab.game import other
from negolab.games.split.position import Seen, Units
from negolab.games.split.rules import Split
from negolab_widgets.slider import Slider
from negolab_widgets.tables.controls import Controls
from negolab_widgets.tables.split.worth import brings, values_of
from negolab_widgets.tables.stepper import MOST, Stepper


class Share:
    """Slider and number of an item type show the same; `changed` is called when one is moved. All start at 0: any
    other share that stood there would suggest itself. `chosen` says whether one was moved: a press too many must not
    ask for nothing."""

    def __init__(self, controls: Controls, game: Split, changed: Callable[[], None]) -> None:
        self._controls, self._game, self._changed = controls, game, changed
        self.sliders = [Slider() for _ in game.items]
        self.numbers = [
            Stepper(controls, f"Keep {item}", f"of {item} to keep", partial(self._typed, at))
            for at, item in enumerate(game.items)
        ]
        self.chosen = False
        lines = []
        for at, (slider, number) in enumerate(zip(self.sliders, self.numbers, strict=True)):
            controls.on_change(slider, partial(self._slid, at))
            line = w.Box([slider, number.widget])
            line.add_class("nl-share")
            lines.append(line)
        self.widget = w.VBox(lines)
        self.widget.add_class("nl-goods")
        self.sum = w.HTML()

    @property
    def keep(self) -> Units:
        return tuple(number.value for number in self.numbers)

    def clear(self) -> None:
        """Nothing is chosen."""
        for number in self.numbers:
            number.put(0)
        self.chosen = False

    def draw(self, *, enabled: bool) -> None:
        stock = self._seen.public.stock
        for at, (slider, number) in enumerate(zip(self.sliders, self.numbers, strict=True)):
            slider.description = self._label(at)
            slider.max = max(0, min(stock[at], MOST))
            slider.disabled = not enabled
            number.draw(most=stock[at], asked=enabled)
        self.draw_sum()

    def draw_sum(self) -> None:
        """What this share would bring."""
        stock = self._seen.public.stock
        # What a page sends may be out of range; it is refused when it is sent.
        keep = tuple(min(units, most) for units, most in zip(self.keep, stock, strict=True))
        self.sum.value = brings(self._game, self._seen, keep)

    @property
    def _seen(self) -> Seen:
        return self._controls.seen

    def _label(self, at: int) -> str:
        """`hats: 10 to divide, worth 3 each to you`."""
        seen = self._seen
        item, units = self._game.items[at], seen.public.stock[at]
        own, theirs = values_of(seen, seen.seat), values_of(seen, other(seen.seat))
        if own is None:
            return f"{item}: {units} to divide"
        if theirs is None:
            return f"{item}: {units} to divide, worth {own[at]} each to you"
        return f"{item}: {units}, worth {own[at]} each to you, {theirs[at]} to {other(seen.seat)}"

    def _slid(self, at: int) -> None:
        self.numbers[at].put(self.sliders[at].value)

    def _typed(self, at: int) -> None:
        slider, value = self.sliders[at], self.numbers[at].value
        slider.value = value
        slider.text = f"keep {value} of {self._seen.public.stock[at]} {self._game.items[at]}"
        self.chosen = True
        self._changed()
