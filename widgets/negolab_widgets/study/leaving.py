"""The way out of a study, in two steps."""

from __future__ import annotations

from collections.abc import Callable

import ipywidgets as w

from negolab_widgets import html
from negolab_widgets.tables.controls import row, shown_if

SURE = "Do you want to leave? What you wrote is then deleted, the study ends for you, and you cannot come back."


class Leaving(w.VBox):  # type: ignore[misc]
    """A button that asks whether it is meant; only then `leave` is called."""

    def __init__(self, leave: Callable[[], None]) -> None:
        self._ask = w.Button(description="Leave the study")
        self._ask.add_class("nl-link")
        yes, no = w.Button(description="Yes, leave the study"), w.Button(description="No, go on")
        self._sure = w.VBox([w.HTML(html.element("p", SURE, role="status")), row(yes, no)])
        self._sure.add_class("nl-panel")
        super().__init__([self._ask, self._sure])
        self.add_class("nl-leaving")
        self._ask.on_click(lambda _: self._open(self._sure.layout.display == "none"))
        no.on_click(lambda _: self._open(False))
        yes.on_click(lambda _: self._meant(leave))
        self.reset()

    def reset(self) -> None:
        """Ask again from the first step."""
        self._open(False)

    def _open(self, asked: bool) -> None:
        shown_if(self._sure, asked)

    def _meant(self, leave: Callable[[], None]) -> None:
        # A forged press of what is not shown is no answer to a question that was never asked.
        if self._sure.layout.display != "none":
            leave()
