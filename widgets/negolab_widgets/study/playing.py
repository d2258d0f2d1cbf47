"""A match at its table, with what stands above it: which round it is, how much time is left, and how to go on."""

from __future__ import annotations

from collections.abc import Callable, Hashable

import ipywidgets as w
from typing_extensions import override

from negolab.people.client import HostChair
from negolab.people.scenes import Playing
from negolab_widgets import html
from negolab_widgets.countdown import Countdown
from negolab_widgets.seat import Seated
from negolab_widgets.study.view import Do, View
from negolab_widgets.tables.controls import row, shown_if

WORDS = {
    "reply": "{left} left for your answer",
    "match": "{left} left for this match",
    "onward": "{left} left to go on",
}


class PlayingView(View):
    """The same table as long as the match is the same, so that nothing is lost that a participant writes."""

    def __init__(self, scene: Playing, do: Do, chair: Callable[[], HostChair]) -> None:
        self._chair = chair
        super().__init__(scene, do)

    @classmethod
    @override
    def key(cls, scene: Playing) -> Hashable:
        return scene.match

    @override
    def leaving(self, scene: Playing) -> bool:
        return bool(scene.label) or not scene.onward

    @override
    def build(self) -> list[w.Widget]:
        self._label = w.HTML()
        self._clock = Countdown(urgent=True, over="Time is up.")
        self._onward = self.button("", lambda: self.do("next"), cls="nl-primary")
        # A game's own last words may sound as if nothing more were to be done.
        self._over = w.HTML(html.element("span", "This match is over. The next step is behind this button:"))
        self._strip = row(self._label, self._clock, self._over, self._onward)
        self._strip.add_class("nl-strip")
        return [self._strip, self.notice, Seated(self._chair(), title=self.scene.title)]

    @override
    def refuse(self, why: str) -> None:
        super().refuse(why)
        shown_if(self.notice, bool(why))

    @override
    def update(self, scene: Playing) -> None:
        shown_if(self.notice, False)
        self._label.value = html.element("span", scene.label, cls="nl-badge") if scene.label else ""
        self._onward.description = scene.onward
        if scene.left is not None:
            self._clock.start(scene.left, words=WORDS.get(scene.limit, "{left} left"))
        shown_if(self._label, bool(scene.label))
        shown_if(self._clock, scene.left is not None)
        shown_if(self._over, bool(scene.onward))
        shown_if(self._onward, bool(scene.onward))
        shown_if(self._strip, bool(scene.label or scene.onward) or scene.left is not None)
