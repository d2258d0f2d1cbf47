"""The participant's page: one scene after the other, as the host says. It holds nothing but what the scenes say."""

from __future__ import annotations

import logging
from typing import Any

import ipywidgets as w

from negolab.people.client import HostChair, Page
from negolab.people.room import Unheard
from negolab.people.scenes import Asked, Closed, Consent, Instructions, Playing, Shown, Waiting
from negolab_widgets import html, page
from negolab_widgets.study.leaving import Leaving
from negolab_widgets.study.playing import PlayingView
from negolab_widgets.study.questions import AskedView
from negolab_widgets.study.reading import ClosedView, ConsentView, InstructionsView
from negolab_widgets.study.view import FAULT, Do, View
from negolab_widgets.study.waiting import WaitingView
from negolab_widgets.tables.controls import column, shown_if

log = logging.getLogger("negolab.widgets")

VIEWS: dict[type[Shown], type[View]] = {
    Consent: ConsentView,
    Asked: AskedView,
    Instructions: InstructionsView,
    Waiting: WaitingView,
    Playing: PlayingView,
    Closed: ClosedView,
}


class StudyPage(w.VBox):  # type: ignore[misc]
    """Blank until `show` gives it somebody's `Page`."""

    def __init__(self) -> None:
        self._page: Page | None = None
        self._drawn: Shown | None = None
        self._view: View | None = None
        self._banner, self._body = w.HTML(), column()
        self._leaving = Leaving(self._leave)
        style, self._shield = page.head()
        super().__init__([style, self._shield, self._banner, self._body, self._leaving])
        self.add_class("nl-page")
        shown_if(self._leaving, False)
        self._body.children = [w.HTML(html.element("p", "One moment, please.", role="status"))]

    def show(self, of: Page) -> None:
        """Show what the host says, and go on with it."""
        self._page = of
        of.watch(self._changed)
        self._changed()

    def trouble(self, why: str) -> None:
        """Say above all else why the page does not go on just now; "": it does."""
        said = html.element("div", why, cls="nl-banner", role="alert") if why else ""
        if self._banner.value != said:
            self._banner.value = said
        shown_if(self._banner, bool(why))

    # Scenes.

    def _changed(self) -> None:
        assert self._page is not None
        self.trouble(self._page.trouble)
        if self._page.replaced:
            self._part()
        elif self._page.scene is not self._drawn:
            # An old scene is not drawn again when only the connection has changed: its clock would start anew.
            self._draw(self._page.scene)
            self._drawn = self._page.scene

    def _draw(self, scene: Shown) -> None:
        """Bring the scene that stands there up to date, or put another in its place."""
        kind = VIEWS[type(scene)]
        if self._view is not None and type(self._view) is kind and kind.key(self._view.scene) == kind.key(scene):
            self._view.update(scene)
            shown_if(self._leaving, self._view.leaving(scene))
            return
        before, self._view = self._body.children, self._made(scene, kind)
        self._body.children = [self._view.box]
        self._leaving.reset()
        shown_if(self._leaving, self._view.leaving(scene))
        _close(*before)
        self._shield.focus()

    def _made(self, scene: Shown, kind: type[View]) -> View:
        of = self._page
        assert of is not None
        view: View
        do: Do = lambda act, /, **more: self._act(view, act, **more)
        view = PlayingView(scene, do, lambda: HostChair(of)) if isinstance(scene, Playing) else kind(scene, do)
        return view

    def _part(self) -> None:
        """A newer page has taken over: only the sentence that says so stays."""
        before, self._view, self._body.children = self._body.children, None, []
        shown_if(self._leaving, False)
        _close(*before)

    # Clicks.

    def _act(self, view: View, kind: str, **more: Any) -> bool:
        """Ask the host for something. A click on what is not shown any more does nothing: a double click is one."""
        if view is not self._view or self._page is None:
            return False
        try:
            self._page.act(kind, **more)
        except Unheard as why:
            view.refuse(str(why))
            return False
        except Exception:
            log.exception("a click could not be told to the host")
            view.refuse(FAULT)
            return False
        return True

    def _leave(self) -> None:
        if self._view is not None:
            self._act(self._view, "leave")


def _close(*widgets: w.Widget) -> None:
    """Take widgets that are shown no more out of the kernel's memory."""
    for widget in widgets:
        _close(*getattr(widget, "children", ()))
        for part in ("layout", "style"):
            if isinstance(inner := getattr(widget, part, None), w.Widget):
                inner.close()
        widget.close()
