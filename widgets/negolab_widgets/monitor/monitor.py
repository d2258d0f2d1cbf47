"""Who is where in a study, kept up to date; the experimenter can end it for somebody."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager

import ipywidgets as w

from negolab.people.client import Host
from negolab.people.room import Unheard
from negolab_widgets import html, page
from negolab_widgets.following import FAULT, behind
from negolab_widgets.monitor import view
from negolab_widgets.monitor.ending import Ending
from negolab_widgets.monitor.watched import Watched, is_over, read
from negolab_widgets.places import DESK
from negolab_widgets.steady import Steady
from negolab_widgets.tables.controls import shown_if

log = logging.getLogger("negolab.widgets")

EVERY = 2.0
"""Seconds between two looks."""


class Monitor(w.VBox):  # type: ignore[misc]
    """The study of the host at `socket` (default: `$NEGOLAB_DESK`)."""

    def __init__(self, socket: str | None = None) -> None:
        socket = socket or os.environ.get(DESK)
        self._host = Host(socket) if socket else None
        self._banner, self._shown, self._ending = w.HTML(), Steady(), Ending(self._end)
        style, shield = page.head()
        super().__init__([style, shield, self._banner, self._shown, self._ending])
        self.add_class("nl-page")
        self._draw(None)
        self.refresh()
        if self._host is not None:
            behind(self._watch)

    def refresh(self) -> None:
        """Ask the host and show what it says."""
        with self._telling():
            self._draw(self._asked())

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(EVERY)
            with self._telling():
                # Not in the event loop: while the host is away, what is typed here must go on.
                self._draw(await asyncio.to_thread(self._asked))

    @contextmanager
    def _telling(self) -> Iterator[None]:
        """Whatever goes wrong is told, and the next look tries again."""
        try:
            yield
        except Unheard as why:
            self._trouble(str(why))
        except Exception:
            log.exception("the monitor failed")
            self._trouble(FAULT)

    def _asked(self) -> Watched | None:
        return None if self._host is None else read(self._host.ask("/monitor"))

    def _draw(self, seen: Watched | None) -> None:
        self._trouble("")
        if self._shown.value != (drawn := view.whole(seen)):
            self._shown.value = drawn
        self._ending.offer([] if seen is None else [person for person in seen.people if not is_over(person)])
        shown_if(self._ending, seen is not None)

    def _trouble(self, why: str) -> None:
        said = html.element("div", why, cls="nl-banner", role="alert") if why else ""
        if self._banner.value != said:
            self._banner.value = said

    def _end(self, number: int, reason: str) -> None:
        assert self._host is not None
        self._host.ask("/end", participant=number, reason=reason)
        self.refresh()
