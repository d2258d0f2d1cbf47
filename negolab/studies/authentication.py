"""Authentication of participants by signed links and cookies, and the lease of each participant's newest page."""

from __future__ import annotations

import asyncio
import hashlib
import secrets
import time
from collections.abc import Callable, Mapping

from negolab.studies import links
from negolab.studies.database import Database, Participant
from negolab.studies.study_file import Study


class AccessDenied(Exception):
    """An invalid link or request; the text is shown to the person."""


class LeaseTaken(Exception):
    """The lease is not valid: usually a newer page of the same participant holds it."""


class Authenticator:
    """Admits participants to one study and hands out leases.

    A lease is "<kernel id>.<random token>". It is stored in the database, so it stays valid over a restart of the
    host. Set `came` to a callback that takes the id of a participant who has opened a page.

    Args:
        database: The database; the study and its consent text are added to it if they are new.
        study: The study.
    """

    def __init__(self, database: Database, study: Study) -> None:
        self.study = study
        self._database = database
        self._kept = database.study(study.name, study.text)
        database.keep_consent(study.name, study.consent)
        self._arrivals: dict[str, asyncio.Future[str]] = {}
        self.came: Callable[[str], None] = lambda id: None

    def admit(self, token: str, query: Mapping[str, str] | None = None) -> tuple[str | None, str]:
        """Check a link or cookie without changing anything.

        Args:
            token: Token of the link or cookie.
            query: Query parameters of the link; None: not known yet, so a panel's id is not required.

        Returns:
            The participant's id (None for the open link), and the study's title.

        Raises:
            AccessDenied: The link is invalid, expired or unknown, or the open link lacks the panel's id.
        """
        id = self._named(token)
        if id is None and query is not None:
            self._outside(query)
        return id, self.study.title

    def join(self, token: str, query: Mapping[str, str]) -> tuple[str, str]:
        """Exchange a link for a personal token; the open link adds a participant unless the panel's id is known.

        Args:
            token: Token of the link.
            query: Query parameters of the link.

        Returns:
            The personal token and the participant's id.

        Raises:
            AccessDenied: The link is invalid, expired or unknown, or the open link lacks the panel's id.
        """
        id = self._named(token)
        if id is None:
            id = self._newcomer(query)
        created = self.participant(id).created
        return links.make_token(self._kept.secret, self.study.name, id, created=created), id

    def _named(self, token: str) -> str | None:
        try:
            id = links.read_token(self._kept.secret, self.study.name, token, None)
            who = None if id == links.OPEN else self._database.participant(id)
            if who is None or who.opened is None:  # links do not expire for those who opened theirs in time
                links.read_token(self._kept.secret, self.study.name, token, self.study.expires * 86400)
        except links.InvalidLink as why:
            raise AccessDenied(str(why)) from None
        if id == links.OPEN:
            return None
        if who is None:
            raise AccessDenied("This link is not known here. Ask the person who sent it for a new one.")
        return id

    def _newcomer(self, query: Mapping[str, str]) -> str:
        """Return the id of the participant with the same panel's id, or of a new one."""
        outside, hashed = self._outside(query), None
        if outside is not None:
            hashed = hashlib.scrypt(outside.encode(), salt=self._kept.salt.encode(), n=2**12, r=8, p=1).hex()[:32]
            known = self._database.external(self.study.name, hashed)
            if known is not None:
                return known.id
        return self._database.invite(self.study.name, link="open", external=hashed)[0].id

    def _outside(self, query: Mapping[str, str]) -> str | None:
        """Return the panel's id in the open link's query; None if the study requires none."""
        name = self.study.external
        if name is None:
            return None
        outside = query.get(name, "").strip()
        if not outside or len(outside) > 200:
            raise AccessDenied(
                f"This link must carry your id ({name}). Come by the link of the panel that invited you."
            )
        return outside

    def bind(self, token: str, kernel: str) -> str | None:
        """Give a participant's lease to a kernel.

        Args:
            token: Personal token of the participant.
            kernel: Id of the kernel that serves their page.

        Returns:
            Id of the kernel that held the lease before; None if there was none.

        Raises:
            AccessDenied: The token is not valid, or that of the open link.
        """
        id = self._named(token)
        if id is None:
            raise AccessDenied("This page needs your personal link.")
        who = self.participant(id)
        lease = f"{kernel}.{secrets.token_urlsafe(24)}"
        note = "resumed" if who.opened else "opened"
        self._database.change(id, note, lease=lease, opened=who.opened or time.time())
        if kernel in self._arrivals:
            self._arrivals.pop(kernel).set_result(lease)
        self.came(id)
        return who.lease.split(".")[0] if who.lease else None

    async def arrive(self, kernel: str, seconds: float) -> str | None:
        """Wait until a kernel is bound and return its lease; None if that takes longer than `seconds`."""
        who = self._database.leased(self.study.name, kernel=kernel)
        if who is not None:
            return who.lease
        waiting = self._arrivals.setdefault(kernel, asyncio.get_running_loop().create_future())
        try:
            return await asyncio.wait_for(asyncio.shield(waiting), seconds)
        except TimeoutError:
            self._arrivals.pop(kernel, None)
            return None

    def participant(self, id: str) -> Participant:
        """Return an existing participant."""
        who = self._database.participant(id)
        assert who is not None
        return who

    def leased(self, lease: str) -> Participant:
        """Return the participant who holds a lease; `LeaseTaken` if nobody does."""
        who = self._database.leased(self.study.name, lease=lease)
        if who is None:
            raise LeaseTaken
        return who
