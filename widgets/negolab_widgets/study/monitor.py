"""The monitor: who is where in a study, kept up to date; from a row, a match is watched or the study ended for one."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from pathlib import Path

import ipywidgets as w

from negolab import catalog
from negolab.record import Record, parse_record
from negolab.studies.client import HostClient, HostUnreachable
from negolab.studies.model_seats import Fallback
from negolab.studies.page_state import NotDelivered
from negolab_widgets import html
from negolab_widgets.faults import FaultGuard, run_in_background
from negolab_widgets.html import StableHTML
from negolab_widgets.layout import framed, row, set_visible, warning
from negolab_widgets.page import ADMIN, Page
from negolab_widgets.picks import Picks
from negolab_widgets.server.supervisor import NOTICE
from negolab_widgets.study import monitor_view
from negolab_widgets.study.monitor_view import MonitorState, decode_state


class EndStudyForm(w.VBox):  # type: ignore[misc]
    """A form to end the study for a participant, with a reason; hidden until `ask` is called.

    Args:
        end: Called with the participant's number and the reason; its `NotDelivered` says why nothing was done.
    """

    def __init__(self, end: Callable[[int, str], None]) -> None:
        self._end = end
        self._number: int | None = None
        self._reason = w.Text(
            description="Reason (it will be stored)", placeholder="why the study ends for them", continuous_update=False
        )
        yes, no = w.Button(description="Yes, end it"), w.Button(description="No, continue")
        self._title, self._notice = w.HTML(), w.HTML(warning(""))
        self._form = framed(self._title, self._reason, row(yes, no))
        super().__init__([self._form, self._notice])
        no.on_click(lambda _: self._close(warning("")))
        yes.on_click(lambda _: self._end_study())
        self._close(warning(""))

    def ask(self, number: int) -> None:
        """Ask whether the study is to end for a participant, and why."""
        self._close(warning(""))
        self._number = number
        title = html.element("h2", f"End the study for participant {number}?", cls="nl-heading nl-ending")
        self._title.value = html.join([title, html.element("p", "The match they are playing ends too.")])
        set_visible(self._form, True)

    def _end_study(self) -> None:
        """End the study for the participant; a forged press of a hidden button finds none."""
        if self._number is None:
            return
        number, why = self._number, self._reason.value.strip()
        if not why:
            self._notice.value = warning("Give a reason; it will be stored.")
            return
        try:
            self._end(number, why)
        except NotDelivered as refused:
            self._close(warning(str(refused)))
        else:
            self._reason.value = ""
            self._close(html.element("div", f"Ended for participant {number}.", role="status"))

    def _close(self, notice: str) -> None:
        self._number = None
        self._notice.value = notice
        set_visible(self._form, False)


POLL_INTERVAL = 2.0
"""Seconds between two looks."""


class Monitor(Page):
    """Show the progress of a study's participants.

    Args:
        socket: The host's socket for the researcher (default: `$NEGOLAB_ADMIN`).
    """

    def __init__(self, socket: str | None = None) -> None:
        socket = socket or os.environ.get(ADMIN)
        self._host = HostClient(socket) if socket else None
        self._lost = ""
        self._guard = FaultGuard("the monitor", expected=(NotDelivered,), show=self._show_error)
        self._banner, self._top, self._rest = w.HTML(), StableHTML(), StableHTML()
        self._ending, self._match = EndStudyForm(self._end), StableHTML()
        self._fallbacks: dict[str, Fallback] = {}
        self._watched: str | None = None
        self._picks = Picks(self._pick, self._guard)
        self._watching = framed(self._match, self._guard.button("Close the match", self._stop_watching))
        opened = self._ending, self._watching
        super().__init__([self._picks, self._banner, self._top, *opened, self._rest], self._guard.show)
        set_visible(self._watching, False)
        self._draw(None)
        self.refresh()
        if self._host is not None:
            run_in_background(self._watch)

    def refresh(self) -> None:
        """Ask the host for the study's state and show it."""
        with self._guard:
            self._draw(self._ask_host())
            self._draw_match(self._ask_match())

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(POLL_INTERVAL)
            with self._guard:
                # Not in the event loop: while the host is away, what is typed here must go on.
                self._draw(await asyncio.to_thread(self._ask_host))
                self._draw_match(await asyncio.to_thread(self._ask_match))

    def _ask_host(self) -> MonitorState | None:
        if self._host is None:
            return None
        try:
            state = decode_state(self._host.ask("/monitor"))
        except HostUnreachable:
            self._lost = self._lost or time.strftime("%H:%M:%S")
            since = f"The host has been unreachable since {self._lost}. It restarts automatically."
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
        self._fallbacks = {} if seen is None else seen.fallbacks
        self._top.value, self._rest.value = monitor_view.render_top(seen), monitor_view.render_rest(seen)

    def _show_error(self, why: str) -> None:
        why = why or self._away()
        self._banner.value = html.element("div", why, cls="nl-banner", role="alert") if why else ""

    # What is opened from a row.

    def _pick(self, token: str) -> None:
        kind, _, of = token.partition(" ")
        if kind == "end" and of.isascii() and of.isdigit() and len(of) < 9:
            self._ending.ask(int(of))
            self._picks.focus(".nl-ending")
        elif kind == "watch":
            self._watched = of
            self._draw_match(self._ask_match())
            self._picks.focus(".nl-watching")

    def _ask_match(self) -> Record | None:
        """Ask the host for the match that is watched; None if none is."""
        if self._host is None or self._watched is None:
            return None
        found = self._host.ask("/watch", match=self._watched)
        if found["module"] is not None:
            catalog.game_module(found["module"])
        return parse_record(found["record"])

    def _draw_match(self, record: Record | None) -> None:
        if record is not None:
            fallback = self._fallbacks.get(record.id)
            self._match.value = monitor_view.render_watched(record, fallback)
        set_visible(self._watching, record is not None)

    def _stop_watching(self) -> None:
        self._watched = None
        self._draw_match(None)
        self._picks.focus("h1")

    def _end(self, number: int, reason: str) -> None:
        assert self._host is not None
        self._host.ask("/end", participant=number, reason=reason)
        self.refresh()
