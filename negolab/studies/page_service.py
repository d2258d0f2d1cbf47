"""Base of the services behind all pages: the version that a page shows, whether it is open, and long polls."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from negolab.studies import clock
from negolab.studies.page_state import Answer, NotDelivered, PageState
from negolab.studies.sessions import SessionManager
from negolab.studies.texts import texts

GONE = 12.0
"""Seconds without a poll after which nothing about a page is kept."""

BETWEEN_POLLS = 2.0
"""Seconds that an open page may take until its next poll."""


class PagePresence:
    """Version and presence of one page, known from its long polls.

    Versions start at the current time in milliseconds, so that they keep rising when the host restarts.
    """

    def __init__(self) -> None:
        self.version = int(clock.time() * 1000)
        self._polls = 0
        self._last_poll = 0.0
        self._change = asyncio.Event()
        self._answer: Answer | None = None
        self.away = False
        """True while the page's browser is silent; its kernel keeps polling for a while."""

    @property
    def polled(self) -> bool:
        """True if the page is polling, or stopped less than `GONE` seconds ago."""
        return self._polls > 0 or clock.monotonic() - self._last_poll < GONE

    @property
    def present(self) -> bool:
        """True if the page is there at this moment: it is polling, and its browser is not away."""
        return not self.away and (self._polls > 0 or clock.monotonic() - self._last_poll < BETWEEN_POLLS)

    def touch(self) -> None:
        """Raise the version and wake the polls, after the page state changes."""
        self.version += 1
        self._answer = None
        self._change.set()
        self._change = asyncio.Event()

    def keep_answer(self, answer: Answer) -> None:
        """Keep the answer to a click for the poll that it woke, if one waits, so that the poll need not build the same
        state again."""
        self._answer = answer if self._polls else None

    def pop_answer(self) -> Answer | None:
        """Return the answer kept for a poll, if nothing has changed since."""
        answer, self._answer = self._answer, None
        return answer

    async def newer(self, than: int, seconds: float) -> None:
        """Wait until the version differs from `than`, for at most `seconds`."""
        # A later version comes from a previous host, whose clock has since been set back.
        self.version = max(self.version, than + (than > self.version))
        self._polls += 1
        try:
            async with asyncio.timeout(seconds):
                while self.version == than:
                    await self._change.wait()
        except TimeoutError:
            return
        finally:
            self._polls -= 1
            self._last_poll = clock.monotonic()


class PresenceRegistry(defaultdict[str, PagePresence]):
    """Presence of many pages by id; looking one up adds it."""

    def __init__(self) -> None:
        super().__init__(PagePresence)

    def is_present(self, id: str) -> bool:
        """Return True if a page is open; adds nothing."""
        return id in self and self[id].present

    def sweep(self, kept: Callable[[str], bool] = lambda id: False) -> None:
        """Drop closed pages, except those `kept`; a page that comes back gets higher versions than before."""
        for id in [id for id, page in self.items() if not (page.polled or kept(id))]:
            del self[id]


class PageService:
    """Base of the services that pages talk to; a page presents its lease and gets its state.

    Not thread-safe: call it from one event loop only.
    """

    def __init__(self) -> None:
        self.presence = PresenceRegistry()
        self._sessions: SessionManager

    def close(self) -> None:
        """Stop background work and wake all polls; close the database first, so that nothing more is saved."""
        self._sessions.cancel()
        for page in self.presence.values():
            page.touch()

    def _page(self, lease: str) -> str:
        """Return the id of the page that holds a lease; raise `LeaseTaken` if none does."""
        raise NotImplementedError

    def _state(self, id: str) -> PageState:
        """Return the current state of a page."""
        raise NotImplementedError

    async def poll(self, lease: str, after: int, seconds: float) -> Answer:
        """Return the state of a page once its version differs from `after` (long poll).

        Args:
            lease: Lease of the page.
            after: Version that the page already shows.
            seconds: Time after which the current state is returned even if nothing changed.

        Raises:
            AccessDenied: The match of the page does not exist.
            LeaseTaken: A newer page holds the lease, or nobody has it.
        """
        page = self.presence[self._page(lease)]
        await page.newer(after, seconds)
        id = self._page(lease)  # a newer page may have come meanwhile
        kept = page.pop_answer()
        return kept if kept is not None and kept.version != after else self._answer(id)

    def now(self, lease: str) -> Answer:
        """Return the current state of a page without waiting; raise what `poll` does."""
        return self._answer(self._page(lease))

    def _answer(self, id: str, not_done: str = "") -> Answer:
        state = self._state(id)
        return Answer(self.presence[id].version, state, not_done=not_done)

    def _done(self, id: str, refused: str = "") -> Answer:
        """Return the answer to an action that was carried out; its state is kept for the poll that it wakes."""
        page = self.presence[id]
        page.touch()
        answer = self._answer(id)
        page.keep_answer(answer)
        return msgspec.structs.replace(answer, refused=refused)

    def act(self, lease: str, action: Mapping[str, Any]) -> Answer:
        """Carry out an action of a page and return the new state.

        Args:
            lease: Lease of the page.
            action: Its `kind`, and the fields of that kind.

        Returns:
            The page state. `refused` holds the rules' reason for refusing a reply, `not_done` the reason why nothing
            was done, such as a click on an outdated page.

        Raises:
            AccessDenied: The kind is unknown, or the match of the page does not exist.
            LeaseTaken: A newer page holds the lease, or nobody has it.
        """
        raise NotImplementedError


def reply_of(action: Mapping[str, Any]) -> tuple[str, int]:
    """Return the `text` and `turn` of a reply; `NotDelivered` if they are not a reply."""
    text, turn = action.get("text"), action.get("turn")
    if not isinstance(text, str) or type(turn) is not int:
        raise NotDelivered(texts.NO_TEXT)
    return text, turn
