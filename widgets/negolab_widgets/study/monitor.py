"""The monitor: who is where in a study, kept up to date, with a form to end the study for somebody."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import ipywidgets as w

from negolab.studies.client import HostClient, HostUnreachable
from negolab.studies.page_state import NotDelivered
from negolab.studies.status import Person
from negolab_widgets import html, page
from negolab_widgets.faults import FaultGuard, run_in_background
from negolab_widgets.html import StableHTML
from negolab_widgets.page import ADMIN
from negolab_widgets.server.supervisor import NOTICE
from negolab_widgets.study import monitor_view
from negolab_widgets.study.monitor_view import MonitorState, decode_state, is_over, status_word
from negolab_widgets.tables.controls import framed, row, set_visible, warning

NO_PARTICIPANT = ("(choose)", 0)


class EndStudyForm(w.VBox):  # type: ignore[misc]
    """A form to end the study for a participant: with a reason, in two steps.

    Args:
        end: Called with the participant's number and the reason once both steps were taken; its `NotDelivered` says why
            nothing was done.
    """

    def __init__(self, end: Callable[[int, str], None]) -> None:
        self._end = end
        self._confirmed: tuple[int, str] | None = None
        self._participant = w.Dropdown(description="Participant", options=[NO_PARTICIPANT], value=0)
        self._reason = w.Text(
            description="Reason (it is kept)", placeholder="why the study ends for them", continuous_update=False
        )
        ask = w.Button(description="End for this participant")
        yes, no = w.Button(description="Yes, end it"), w.Button(description="No, go on")
        self._question, self._notice = w.HTML(), w.HTML(warning(""))
        self._confirmation = framed(self._question, row(yes, no))
        title = w.HTML(html.element("h2", "End the study for somebody", cls="nl-heading"))
        fields = w.Box([self._participant, self._reason])
        fields.add_class("nl-form")
        super().__init__([framed(title, fields, ask, self._confirmation, self._notice)])
        ask.on_click(lambda _: self._ask())
        no.on_click(lambda _: self._close(""))
        yes.on_click(lambda _: self._end_study())
        self._close("")

    def offer(self, people: Sequence[Person]) -> None:
        """Set whom the study can be ended for; who is chosen stays chosen."""
        numbers = [person.number for person in people]
        options = [NO_PARTICIPANT, *((f"{person.number}, {status_word(person)}", person.number) for person in people)]
        if list(self._participant.options) != options:
            chosen = self._participant.value
            with self._participant.hold_sync():
                self._participant.options = options
                self._participant.value = chosen if chosen in numbers else 0

    def _ask(self) -> None:
        number, why = int(self._participant.value or 0), self._reason.value.strip()
        if not number:
            self._close("Choose a participant.")
        elif not why:
            self._close("Give a reason: it is kept.")
        else:
            self._close("")
            self._confirmed = number, why
            question = f"End the study for participant {number}? The match they play ends too. The reason:"
            self._question.value = html.element(
                "div", html.element("p", question), html.preformatted(why), role="status"
            )
            set_visible(self._confirmation, True)

    def _end_study(self) -> None:
        """End the study for the confirmed participant; a forged press of a hidden button finds none."""
        if self._confirmed is None:
            return
        number, why = self._confirmed
        try:
            self._end(number, why)
        except NotDelivered as refused:
            self._close(str(refused))
        else:
            self._reason.value = ""
            self._close("")
            self._notice.value = html.element("div", f"Ended for participant {number}.", role="status")

    def _close(self, why: str) -> None:
        self._confirmed = None
        self._notice.value = warning(why)
        set_visible(self._confirmation, False)


POLL_INTERVAL = 2.0
"""Seconds between two looks."""


class Monitor(w.VBox):  # type: ignore[misc]
    """Show who is where in a study.

    Args:
        socket: The host's socket for the researcher (default: `$NEGOLAB_ADMIN`).
    """

    def __init__(self, socket: str | None = None) -> None:
        socket = socket or os.environ.get(ADMIN)
        self._host = HostClient(socket) if socket else None
        self._lost = ""
        self._guard = FaultGuard("the monitor", expected=(NotDelivered,), show=self._show_error)
        self._banner, self._shown, self._ending = w.HTML(), StableHTML(), EndStudyForm(self._end)
        style, shield = page.page_head()
        super().__init__([style, shield, self._banner, self._shown, self._ending])
        self.add_class("nl-page")
        self._draw(None)
        self.refresh()
        if self._host is not None:
            run_in_background(self._watch)

    def refresh(self) -> None:
        """Ask the host for the study's state and show it."""
        with self._guard:
            self._draw(self._ask_host())

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(POLL_INTERVAL)
            with self._guard:
                # Not in the event loop: while the host is away, what is typed here must go on.
                self._draw(await asyncio.to_thread(self._ask_host))

    def _ask_host(self) -> MonitorState | None:
        if self._host is None:
            return None
        try:
            state = decode_state(self._host.ask("/monitor"))
        except HostUnreachable:
            self._lost = self._lost or time.strftime("%H:%M:%S")
            since = f"The host cannot be reached since {self._lost}. It is started again by itself."
            raise HostUnreachable(self._away() or since) from None
        self._lost = ""
        return state

    def _away(self) -> str:
        """Return since when and why processes are away, as the launcher says; "" if all run."""
        if self._host is None:
            return ""
        try:
            return Path(self._host.socket).with_name(NOTICE).read_text()
        except OSError:
            return ""

    def _draw(self, seen: MonitorState | None) -> None:
        self._show_error("")
        if self._shown.value != (drawn := monitor_view.render_monitor(seen)):
            self._shown.value = drawn
        self._ending.offer([] if seen is None else [person for person in seen.people if not is_over(person)])
        set_visible(self._ending, seen is not None)

    def _show_error(self, why: str) -> None:
        why = why or self._away()
        banner = html.element("div", why, cls="nl-banner", role="alert") if why else ""
        if self._banner.value != banner:
            self._banner.value = banner

    def _end(self, number: int, reason: str) -> None:
        assert self._host is not None
        self._host.ask("/end", participant=number, reason=reason)
        self.refresh()
