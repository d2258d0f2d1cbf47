"""Nobody to play with yet."""

from __future__ import annotations

import ipywidgets as w
from typing_extensions import override

from negolab.people.scenes import Waiting
from negolab_widgets import html
from negolab_widgets.countdown import Countdown
from negolab_widgets.study.view import View, heading, panel


class WaitingView(View):
    """Who is waited for, for how long already, and for how long at most."""

    @override
    def build(self) -> list[w.Widget]:
        self._clock = Countdown(words="You have waited {gone} of at most {total}.", over="The waiting time is over.")
        said = html.join(
            [
                html.element("p", "Waiting for another participant.", cls="nl-strong", role="status"),
                html.element("p", "Keep this page open: it goes on by itself as soon as somebody comes."),
            ]
        )
        return [heading(self.scene, "Please wait"), panel(w.HTML(said), self._clock), self.notice]

    @override
    def update(self, scene: Waiting) -> None:
        self._clock.start(scene.left, total=scene.waited + scene.left)
