"""What the services behind all pages have in common: long polls, and a match as the page of one seat shows it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from negolab import catalog
from negolab.game import Seat
from negolab.studies.page_state import Answer, NotDelivered, PageState, Playing, PresenceRegistry
from negolab.studies.session import MatchSession
from negolab.studies.sessions import SessionManager
from negolab.studies.texts import texts


class PageService:
    """Base of the services that pages talk to; a page shows its lease and gets its state.

    Not thread-safe: call it from one event loop only.
    """

    def __init__(self) -> None:
        self.presence = PresenceRegistry()
        self._sessions: SessionManager

    def close(self) -> None:
        """Stop what goes on by itself and wake all polls; close the database first, so that nothing more is saved."""
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
            after: Version that the page shows already.
            seconds: Time after which the current state is returned even if nothing changed.

        Raises:
            AccessDenied: The match of the page does not exist.
            LeaseTaken: A newer page holds the lease, or nobody has this one.
        """
        page = self.presence[self._page(lease)]
        await page.newer(after, seconds)
        id = self._page(lease)  # a newer page may have come meanwhile
        kept = page.pop_answer()
        return kept if kept is not None and kept.version != after else self._answer(id)

    def now(self, lease: str) -> Answer:
        """Return the current state of a page without waiting; raises what `poll` does."""
        return self._answer(self._page(lease))

    def _answer(self, id: str, **reasons: str) -> Answer:
        state = self._state(id)
        return Answer(self.presence[id].version, state, **reasons)

    def act(self, lease: str, action: Mapping[str, Any]) -> Answer:
        """Carry out an action of a page and return the new state.

        Args:
            lease: Lease of the page.
            action: Its `kind`, and the fields of that kind.

        Returns:
            The page state. `refused` holds the rules' reason against a reply, `not_done` the reason for which nothing
            was done, such as a click on an outdated page.

        Raises:
            AccessDenied: The kind is unknown, or the match of the page does not exist.
            LeaseTaken: A newer page holds the lease, or nobody has this one.
        """
        raise NotImplementedError


def reply_of(action: Mapping[str, Any]) -> tuple[str, int]:
    """Return the `text` and `turn` of a reply; `NotDelivered` if they are no reply."""
    text, turn = action.get("text"), action.get("turn")
    if not isinstance(text, str) or type(turn) is not int:
        raise NotDelivered(texts.NO_TEXT)
    return text, turn


def playing(
    title: str, session: MatchSession, seat: Seat, left: tuple[float, str] | None = None, **more: Any
) -> Playing:
    """Build the page state of a match for one seat.

    Args:
        title: Title of the page.
        session: The match session.
        seat: Seat of the person whose page it is.
        left: Seconds until the nearest time limit, and its kind; None: no limit runs.
        **more: Further fields of `Playing`.
    """
    return Playing(
        title=title,
        match=session.match.id,
        game=catalog.game_id(session.match.game),
        params=catalog.parameters(session.match.told(seat)),
        seat=seat,
        fronted=session.seat_sessions[seat].fronted,
        table=msgspec.to_builtins(session.view(seat), order="deterministic"),
        left=None if left is None else max(0.0, left[0]),
        limit="" if left is None else left[1],
        paused=session.paused,
        **more,
    )
