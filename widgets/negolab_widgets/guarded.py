"""What a control or a look asks for, done so that no fault is lost: told on the page, and logged if it is ours."""

from __future__ import annotations

import logging
from collections.abc import Callable
from types import TracebackType
from typing import Any

import ipywidgets as w

from negolab_widgets.following import FAULT
from negolab_widgets.tables.controls import warning

log = logging.getLogger("negolab.widgets")

LONGEST = 500
"""Characters of what is told."""


class Guarded:
    """`with guarded:` runs a part of a page, whose name is for the log; `place` tells what went wrong, until the next
    time that it goes well. What the user does and what goes on by itself have one each: they go wrong apart."""

    def __init__(self, part: str) -> None:
        self._part = part
        self.place = w.HTML(warning(""))

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        """A `ValueError` or an `OSError` says itself what is wrong."""
        if isinstance(error, ValueError | OSError):
            self.place.value = warning(str(error)[:LONGEST])
        elif isinstance(error, Exception):
            log.error("%s failed", self._part, exc_info=error)
            self.place.value = warning(FAULT)
        elif error is None:
            self.place.value = warning("")
        return isinstance(error, Exception)

    def __call__(self, work: Callable[[], object]) -> None:
        """Do it now."""
        with self:
            work()

    def button(self, text: str, work: Callable[[], object], **more: Any) -> w.Button:
        """A button that does it."""
        made = w.Button(description=text, **more)
        made.on_click(lambda _: self(work))
        return made
