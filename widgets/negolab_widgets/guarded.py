"""What a control asks for, done so that no fault is lost: it is told on the page, and what is ours is logged."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import ipywidgets as w

from negolab_widgets.following import FAULT
from negolab_widgets.tables.controls import warning

log = logging.getLogger("negolab.widgets")

LONGEST = 500
"""Characters of what is told."""


class Guarded:
    """Runs work for a page with a place for `trouble`; `part` is the page's part, for the log."""

    def __init__(self, trouble: w.HTML, part: str) -> None:
        self._trouble, self._part = trouble, part

    def __call__(self, work: Callable[[], object]) -> None:
        """Do it now. A `ValueError` or an `OSError` says itself what is wrong."""
        try:
            work()
        except (ValueError, OSError) as error:
            self._trouble.value = warning(str(error)[:LONGEST])
        except Exception:
            log.exception("%s failed", self._part)
            self._trouble.value = warning(FAULT)

    def button(self, text: str, work: Callable[[], object], **more: Any) -> w.Button:
        """A button that does it."""
        made = w.Button(description=text, **more)
        made.on_click(lambda _: self(work))
        return made
