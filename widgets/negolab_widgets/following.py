"""Work that goes on behind a page, in the kernel's event loop."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

from negolab.people.client import Page

log = logging.getLogger("negolab.widgets")

FAULT = "Something went wrong on our side. Nothing that was kept is lost. It is tried again by itself."
AGAIN = 0.5
"""Seconds between two attempts."""

_TASKS: set[asyncio.Task[None]] = set()
"""Kept so that none is collected while it runs."""


def behind(work: Callable[[], Coroutine[Any, Any, None]]) -> asyncio.Task[None] | None:
    """Start `work`; where no event loop runs, as in a plain script, there is nothing behind a page."""
    try:
        task = asyncio.get_running_loop().create_task(work())
    except RuntimeError:
        return None
    _TASKS.add(task)
    task.add_done_callback(_TASKS.discard)
    return task


async def followed(page: Page, trouble: Callable[[str], None]) -> None:
    """Keep a page up to date until it is replaced, whatever goes wrong in between."""
    while not page.replaced:
        try:
            await page.follow()
        except Exception:
            log.exception("a page lost what the host says")
            trouble(FAULT)
            await asyncio.sleep(AGAIN)
