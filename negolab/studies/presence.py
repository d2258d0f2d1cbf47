"""Presence of pages: long polls that wake when a page state changes, and whose absence means a closed page."""

from __future__ import annotations

import asyncio
import time

GONE = 12.0
"""Seconds without a poll after which a page counts as closed."""


class PagePresence:
    """Version and presence of one participant's page.

    Versions start at the current time in milliseconds, so that they also rise over restarts of the host.
    """

    def __init__(self) -> None:
        self.version = int(time.time() * 1000)
        self._asking = 0
        self._left = 0.0
        self._change = asyncio.Event()
        self.away = False
        """True while the page's browser is silent; its kernel keeps polling for a while."""

    @property
    def asked(self) -> bool:
        """True if the page is polling, or stopped less than `GONE` seconds ago."""
        return self._asking > 0 or time.monotonic() - self._left < GONE

    @property
    def present(self) -> bool:
        """True if the page is polling and its browser is not away."""
        return self.asked and not self.away

    def touch(self) -> None:
        """Raise the version and wake the polls, after a change of the page state."""
        self.version += 1
        self._change.set()
        self._change = asyncio.Event()

    async def newer(self, than: int, seconds: float) -> None:
        """Wait until the version differs from `than`, for at most `seconds`."""
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


class PresenceRegistry:
    """Presence of the pages of many participants, by id."""

    def __init__(self) -> None:
        self._visits: dict[str, PagePresence] = {}

    def of(self, id: str) -> PagePresence:
        """Return the presence of a participant's page, adding one if there is none."""
        return self._visits.setdefault(id, PagePresence())

    def present(self, id: str) -> bool:
        """Return True if a participant's page is open; unlike `of`, adds nothing."""
        return id in self._visits and self._visits[id].present

    def sweep(self) -> None:
        """Drop closed pages; versions of a page that comes back are higher than before."""
        self._visits = {id: visit for id, visit in self._visits.items() if visit.asked}
