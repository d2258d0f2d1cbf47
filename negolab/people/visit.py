"""A page that is open somewhere: woken when what it shows changes, and known to be there while it asks."""

from __future__ import annotations

import asyncio
import time

GONE = 12.0
"""Seconds without a question after which a page counts as closed."""


class Visit:
    """One participant's page. Versions rise over restarts of the host too, so that no page misses a change."""

    def __init__(self) -> None:
        self.version = int(time.time() * 1000)
        self._asking = 0
        self._left = 0.0
        self._change = asyncio.Event()
        self.away = False
        """Whether the browser of the page is silent: its kernel asks on for a while all the same."""

    @property
    def asked(self) -> bool:
        """Whether a page asks now, or did a moment ago."""
        return self._asking > 0 or time.monotonic() - self._left < GONE

    @property
    def present(self) -> bool:
        """Whether a page asks, and its browser is there."""
        return self.asked and not self.away

    def touch(self) -> None:
        """What the page shows has changed."""
        self.version += 1
        self._change.set()
        self._change = asyncio.Event()

    async def newer(self, than: int, seconds: float) -> None:
        """Return when the version is another than `than`, at the latest after `seconds`."""
        self._asking += 1
        try:
            async with asyncio.timeout(seconds):
                while self.version == than:
                    await self._change.wait()
        except TimeoutError:
            return
        finally:
            self._asking -= 1
            self._left = time.monotonic()


class Visits:
    """The pages of many participants, by their ids."""

    def __init__(self) -> None:
        self._visits: dict[str, Visit] = {}

    def of(self, id: str) -> Visit:
        return self._visits.setdefault(id, Visit())

    def present(self, id: str) -> bool:
        """Whether somebody's page is open; looking makes no visit."""
        return id in self._visits and self._visits[id].present

    def sweep(self) -> None:
        """Forget those who are gone; a page that comes back finds later versions."""
        self._visits = {id: visit for id, visit in self._visits.items() if visit.asked}
