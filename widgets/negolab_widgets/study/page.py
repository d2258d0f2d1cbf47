"""The participant's page: one scene after the other, as the host says. It holds nothing but what the scenes say."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ipywidgets as w
from ipykernel.connect import get_connection_file

from negolab import catalog
from negolab.studies.client import HostClient, HostSeat, PageClient, PageReplaced
from negolab.studies.page_state import Asked, Closed, Consent, Instructions, Playing, Shown, Waiting
from negolab.studies.session import NotDelivered
from negolab_widgets import html, page
from negolab_widgets.faults import RETRY_AFTER, FaultGuard, follow_page, run_in_background
from negolab_widgets.page import SEATS
from negolab_widgets.study.questions import AskedView
from negolab_widgets.study.views import (
    ClosedView,
    ConsentView,
    InstructionsView,
    PlayingView,
    SceneView,
    SendAct,
    WaitingView,
)
from negolab_widgets.tables.controls import column, row, set_visible

LEAVE_QUESTION = (
    "Do you want to leave? What you wrote is then deleted, the study ends for you, and you cannot come back."
)


class LeaveControl(w.VBox):  # type: ignore[misc]
    """A button to leave the study, which asks for confirmation before it calls `leave`."""

    def __init__(self, leave: Callable[[], None]) -> None:
        self._ask = w.Button(description="Leave the study")
        self._ask.add_class("nl-link")
        yes, no = w.Button(description="Yes, leave the study"), w.Button(description="No, go on")
        self._confirmation = w.VBox([w.HTML(html.element("p", LEAVE_QUESTION, role="status")), row(yes, no)])
        self._confirmation.add_class("nl-panel")
        super().__init__([self._ask, self._confirmation])
        self.add_class("nl-leaving")
        self._ask.on_click(lambda _: self._set_open(self._confirmation.layout.display == "none"))
        no.on_click(lambda _: self._set_open(False))
        yes.on_click(lambda _: self._confirm(leave))
        self.reset()

    def reset(self) -> None:
        """Start again from the first step."""
        self._set_open(False)

    def _set_open(self, asked: bool) -> None:
        set_visible(self._confirmation, asked)

    def _confirm(self, leave: Callable[[], None]) -> None:
        # A forged press of what is not shown is no answer to a question that was never asked.
        if self._confirmation.layout.display != "none":
            leave()


VIEWS: dict[type[Shown], type[SceneView]] = {
    Consent: ConsentView,
    Asked: AskedView,
    Instructions: InstructionsView,
    Waiting: WaitingView,
    Playing: PlayingView,
    Closed: ClosedView,
}


class StudyPage(w.VBox):  # type: ignore[misc]
    """A participant's page, blank until `show` gives it somebody's `Page`."""

    def __init__(self) -> None:
        self._page: PageClient | None = None
        self._drawn: Shown | None = None
        self._view: SceneView | None = None
        self._banner, self._body = w.HTML(), column()
        self._leaving = LeaveControl(self._leave)
        style, self._shield = page.page_head()
        super().__init__([style, self._shield, self._banner, self._body, self._leaving])
        self.add_class("nl-page")
        set_visible(self._leaving, False)
        self._body.children = [w.HTML(html.element("p", "One moment, please.", role="status"))]

    def show(self, of: PageClient) -> None:
        """Show what the host says, and follow it."""
        self._page = of
        of.watch(self._on_change)
        self._on_change()

    def trouble(self, why: str) -> None:
        """Show above all else why the page does not go on just now; "" clears it."""
        said = html.element("div", why, cls="nl-banner", role="alert") if why else ""
        if self._banner.value != said:
            self._banner.value = said
        set_visible(self._banner, bool(why))

    # Scenes.

    def _on_change(self) -> None:
        assert self._page is not None
        self.trouble(self._page.trouble)
        if self._page.replaced:
            self._show_replaced()
        elif self._page.scene is not self._drawn:
            # An old scene is not drawn again when only the connection has changed: its clock would start anew.
            self._draw(self._page.scene)
            self._drawn = self._page.scene

    def _draw(self, scene: Shown) -> None:
        """Update the scene that is shown, or replace it by another."""
        kind = VIEWS[type(scene)]
        if self._view is not None and type(self._view) is kind and kind.key(self._view.scene) == kind.key(scene):
            self._view.update(scene)
            set_visible(self._leaving, self._view.may_leave(scene))
            return
        before, self._view = self._body.children, self._make_view(scene, kind)
        self._body.children = [self._view.box]
        self._leaving.reset()
        set_visible(self._leaving, self._view.may_leave(scene))
        _close_widgets(*before)
        self._shield.focus()

    def _make_view(self, scene: Shown, kind: type[SceneView]) -> SceneView:
        of = self._page
        assert of is not None
        view: SceneView
        do: SendAct = lambda act, /, **details: self._send_act(view, act, **details)
        view = PlayingView(scene, do, lambda: HostSeat(of)) if isinstance(scene, Playing) else kind(scene, do)
        return view

    def _show_replaced(self) -> None:
        """Remove the scene: a newer page has taken over, and only the sentence that says so stays."""
        before, self._view, self._body.children = self._body.children, None, []
        set_visible(self._leaving, False)
        _close_widgets(*before)

    # Clicks.

    def _send_act(self, view: SceneView, kind: str, **details: Any) -> None:
        """Ask the host for something; a click on what is not shown any more, as of a double click, does nothing."""
        if view is self._view and self._page is not None:
            self._page.act(kind, **details)

    def _leave(self) -> None:
        if (view := self._view) is not None:
            view.guard(lambda: self._send_act(view, "leave"))


def _close_widgets(*widgets: w.Widget) -> None:
    """Close widgets that are shown no more, to free the kernel's memory."""
    for widget in widgets:
        _close_widgets(*getattr(widget, "children", ()))
        for part in ("layout", "style"):
            if isinstance(inner := getattr(widget, part, None), w.Widget):
                inner.close()
        widget.close()


NOT_SERVED = "This page is for the participants of a study: `negolab serve STUDY.toml` starts one."


def open_study_page() -> StudyPage:
    """Return the page of the participant whom this kernel is given to, perhaps long after it was started."""
    shown = StudyPage()
    if socket := os.environ.get(SEATS):
        run_in_background(lambda: run_page(shown, HostClient(socket), kernel_id()))
    else:
        shown.trouble(NOT_SERVED)
    return shown


def kernel_id() -> str:
    """Return this kernel's id, which the server knows too, from the name of its connection file."""
    return Path(get_connection_file()).stem.removeprefix("kernel-")


async def run_page(shown: StudyPage, host: HostClient, kernel: str) -> None:
    """Wait for a participant, then show what the host says until another page takes over."""
    guard = FaultGuard("a study's page", expected=(NotDelivered,), show=shown.trouble)
    with guard:
        lease, module = await host.arrival(kernel)
        if module is not None:
            catalog.game_module(module)  # the researcher's own game: the host says which file
        page = await _open_page(shown, host, lease)
        shown.show(page)
        await follow_page(page, guard)


async def _open_page(shown: StudyPage, host: HostClient, lease: str) -> PageClient:
    """Open the page as soon as the host answers."""
    while True:
        try:
            return PageClient(host, lease)
        except PageReplaced:
            raise
        except NotDelivered as why:
            shown.trouble(str(why))
            await asyncio.sleep(RETRY_AFTER)
