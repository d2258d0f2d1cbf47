"""Faults of controls and of work in the background: shown on the page in plain words, and logged if they are ours."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import Any, TypeVarTuple

import ipywidgets as w

from negolab.studies.client import PageClient
from negolab.studies.page_state import NotDelivered
from negolab.studies.texts import texts
from negolab_widgets.layout import styled, warning

log = logging.getLogger("negolab.widgets")

Given = TypeVarTuple("Given")

RETRY_AFTER = 0.5
"""Seconds between two attempts of work in the background."""
MAX_CHARACTERS = 500
"""Characters of an error that are shown."""


class FaultGuard:
    """Run parts of a page so that a fault ends neither the page nor goes unseen.

    What a control does and what goes on by itself have a guard each, so that one does not clear the other's notice.

    Args:
        part: The part of the page, for the log.
        expected: Errors whose own words are shown; of any other error, which could say what a seat may not see, only
            `texts.FAULT` is shown.
        show: Shows a text, "" to clear it; by default it appears in `notice`, a widget that the page places.
        report: Called with each error that is not expected, after it was shown.
    """

    def __init__(
        self,
        part: str,
        *,
        expected: tuple[type[Exception], ...] = (ValueError, OSError, NotDelivered),
        show: Callable[[str], None] | None = None,
        report: Callable[[Exception], None] | None = None,
    ) -> None:
        self._part, self._expected, self._report = part, expected, report
        self.show = show or self._show_in_notice
        self._depth, self._failed, self._is_shown = 0, False, False
        self.notice = w.HTML(warning(""))

    def __enter__(self) -> None:
        if not self._depth:
            self._failed = False
        self._depth += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        """Show the fault, or clear the last one when the outermost part went well."""
        self._depth -= 1
        if isinstance(error, Exception):
            is_expected = isinstance(error, self._expected)
            if not is_expected:
                log.error("%s failed", self._part, exc_info=error)
            self._failed = self._is_shown = True
            self.show(str(error)[:MAX_CHARACTERS] if is_expected else texts.FAULT)
            if self._report is not None and not is_expected:
                self._report(error)
        elif error is None and self._is_shown and not (self._depth or self._failed):
            self._is_shown = False
            self.show("")
        return isinstance(error, Exception)

    def __call__(self, work: Callable[[*Given], object], *given: *Given) -> None:
        """Run `work` now, with what it is given."""
        with self:
            work(*given)

    def button(
        self, text: str, work: Callable[[*Given], object], *given: *Given, cls: str = "", **options: Any
    ) -> w.Button:
        """Make a button of these classes whose press runs `work`, with what it is given."""
        button = styled(w.Button(description=text, **options), *cls.split())
        button.on_click(lambda _: self(work, *given))
        return button

    def on_change(self, work: Callable[[], object], *controls: w.Widget) -> None:
        """Run `work` whenever the value of one of these controls changes."""
        for control in controls:
            control.observe(lambda _: self(work), "value")

    def _show_in_notice(self, text: str) -> None:
        self.notice.value = warning(text)


_RUNNING: set[asyncio.Task[None]] = set()
"""Tasks in the background: the event loop alone would let them be collected while they run."""


def run_in_background(work: Callable[[*Given], Coroutine[Any, Any, None]], *given: *Given) -> asyncio.Task[None] | None:
    """Start `work` in the kernel's event loop; without a running loop, as in a plain script, do nothing."""
    try:
        task = asyncio.get_running_loop().create_task(work(*given))
    except RuntimeError:
        return None
    _RUNNING.add(task)
    task.add_done_callback(_RUNNING.discard)
    return task


async def follow_page(page: PageClient, guard: FaultGuard) -> None:
    """Keep a page up to date until another one replaces it, whatever goes wrong in between."""
    while not page.replaced:
        with guard:
            await page.follow()
            continue
        await asyncio.sleep(RETRY_AFTER)
