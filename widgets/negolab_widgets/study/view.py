"""One scene on the page: what it shows, and what its buttons ask for."""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable
from typing import Any, Protocol

import ipywidgets as w

from negolab.people.scenes import Shown
from negolab_widgets import html
from negolab_widgets.tables.controls import column, warning

log = logging.getLogger("negolab.widgets")

FAULT = "Something went wrong on our side. Nothing that was kept is lost. Please try again."


class Do(Protocol):
    """Asks the host for something. It says whether that was done; what stood in the way is shown by the page."""

    def __call__(self, kind: str, /, **more: Any) -> bool: ...


class View:
    """A subclass builds its widgets in `build` and brings them up to date in `update`. `notice` is where the page says
    why a click did nothing."""

    def __init__(self, scene: Any, do: Do) -> None:
        self.scene, self.do = scene, do
        self.notice = w.HTML(warning(""))
        self.box = column(*self.build())
        self.update(scene)

    @classmethod
    def key(cls, scene: Any) -> Hashable:
        """As long as it is the same the view stays, with all that was entered."""
        return type(scene).__name__

    def leaving(self, scene: Any) -> bool:
        """Whether the page offers to leave the study now; not to those who have finished it."""
        return True

    def build(self) -> list[w.Widget]:
        """Make the widgets, from `self.scene`."""
        raise NotImplementedError

    def update(self, scene: Any) -> None:
        """The host has said the same scene anew."""

    def refuse(self, why: str) -> None:
        """Say why nothing was done."""
        self.notice.value = warning(why)

    def button(self, text: str, work: Callable[[], Any], *, cls: str = "") -> w.Button:
        """A button; a fault in `work` is told in one plain sentence."""

        def run(_: w.Button) -> None:
            self.refuse("")
            try:
                work()
            except Exception:
                log.exception("a page failed")
                self.refuse(FAULT)

        button = w.Button(description=text)
        button.on_click(run)
        if cls:
            button.add_class(cls)
        return button


def heading(scene: Shown, text: str) -> w.HTML:
    """The study's title, and what this page of it is."""
    return w.HTML(html.join([html.element("div", scene.title, cls="nl-study", dir="auto"), html.element("h1", text)]))


def panel(*children: w.Widget) -> w.VBox:
    """Text to read, on a panel of its own."""
    box = column(*children)
    box.add_class("nl-panel")
    return box
