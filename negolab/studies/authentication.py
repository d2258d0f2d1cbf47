"""Authentication of participants by signed links and cookies, and the lease of each participant's newest page."""

from __future__ import annotations

import asyncio
import hashlib
import re
import secrets
from collections.abc import Callable, Mapping

from negolab.formatting import FORMULA_STARTS
from negolab.studies import clock, links
from negolab.studies.database import Database, Participant
from negolab.studies.database.connection import DatabaseClosed
from negolab.studies.links import AccessDenied
from negolab.studies.study_config import Study
from negolab.studies.texts import texts

_UNCLEAR = re.compile(
    r"%[0-9A-Fa-f]{2}"
    "|[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\ufffd\U000e0100-\U000e01ef]"
)
"""Parts that no panel's id has: characters percent-encoded twice, and invisible ones that Python calls printable."""


class LeaseTaken(Exception):
    """The lease is not valid: usually a newer page of the same participant holds it."""


MAX_ID = 200
"""Most characters in a panel's id."""


def hash_panel_id(panel_id: str, salt: str) -> str:
    """Return the salted hash of an outside panel's id; the database keeps nothing else of it."""
    return hashlib.scrypt(panel_id.encode(), salt=salt.encode(), n=2**12, r=8, p=1).hex()[:32]


class Authenticator:
    """Admits participants to one study and hands out leases.

    A lease is "<kernel id>.<random token>". It is stored in the database, so it stays valid when the host restarts.

    Args:
        database: The database; the study and its consent text are added to it if they are new.
        study: The study.
        arrived: Called with the id of each participant who opens a page.
    """

    def __init__(self, database: Database, study: Study, arrived: Callable[[str], None]) -> None:
        self.study = study
        self._database, self._arrived = database, arrived
        self._stored = database.study(study.name, study.text)
        for consent in study.consents:
            database.keep_consent(study.name, consent)
        self._arrivals: dict[str, asyncio.Future[str]] = {}

    def close(self) -> None:
        """Send away those waiting for a lease: they will ask again."""
        for waiting in self._arrivals.values():
            waiting.set_exception(DatabaseClosed())

    def admit(self, token: str, query: Mapping[str, str] | None = None) -> Participant | None:
        """Check a link or cookie without changing anything.

        Args:
            token: Token of the link or cookie.
            query: Query parameters of the link; None: not known yet, so a panel's id is not required.

        Returns:
            The participant; None for the open link.

        Raises:
            AccessDenied: The link is invalid, expired or unknown, or the open link lacks the panel's id.
        """
        participant = self._verify(token)
        if participant is None and query is not None:
            self._panel_id(query)
        return participant

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
        participant = self._verify(token) or self._newcomer(query)
        return links.personal_token(self._stored, participant), participant.id

    def _verify(self, token: str) -> Participant | None:
        """Return the participant whom a token names; None for the open link."""
        try:
            id = links.read_token(self._stored.secret, self.study.name, token, None)
            participant = None if id == links.OPEN else self._database.participant(id)
            if participant is None or participant.opened is None:  # those who opened theirs in time may come back later
                links.read_token(self._stored.secret, self.study.name, token, self.study.expires * 86400)
        except KeyError:
            raise AccessDenied(texts.LINK_UNKNOWN) from None
        return participant

    def _newcomer(self, query: Mapping[str, str]) -> Participant:
        """Return the participant with the same panel id, or a new one."""
        panel_id = self._panel_id(query)
        hashed = None if panel_id is None else hash_panel_id(panel_id, self._stored.salt)
        known = None if hashed is None else self._database.external(self.study.name, hashed)
        return known or self._database.invite(self.study.name, link="open", external=hashed)[0]

    def _panel_id(self, query: Mapping[str, str]) -> str | None:
        """Return the panel's id in the open link's query; None if the study requires none.

        Two ids that look the same must not be two people, so an id with an invisible character is refused, as is one
        given twice, whose values are separated by a line break.
        """
        name = self.study.external
        if name is None:
            return None
        panel_id = query.get(name, "").strip()
        # "{{%PROLIFIC_PID%}}" is what the panel should have filled in.
        if not panel_id or len(panel_id) > MAX_ID or panel_id.startswith("{{"):
            raise AccessDenied(texts.LINK_WITHOUT_ID.format(name=name))
        # `study bonus` refuses an id that begins like a formula.
        if not panel_id.isprintable() or _UNCLEAR.search(panel_id) or panel_id.startswith(FORMULA_STARTS):
            raise AccessDenied(texts.LINK_UNCLEAR_ID.format(name=name))
        return panel_id

    def bind(self, token: str, kernel: str) -> str | None:
        """Give a participant's lease to a kernel.

        Args:
            token: Personal token of the participant.
            kernel: Id of the kernel that serves their page.

        Returns:
            Id of the kernel that held the lease before; None if there was none.

        Raises:
            AccessDenied: The token is not valid, or it is the open link's.
        """
        participant = self._verify(token)
        if participant is None:
            raise AccessDenied(texts.LINK_NOT_PERSONAL)
        lease = f"{kernel}.{secrets.token_urlsafe(24)}"
        note = "resumed" if participant.opened else "opened"
        self._database.change(participant.id, note, lease=lease, opened=participant.opened or clock.time())
        if kernel in self._arrivals:
            self._arrivals.pop(kernel).set_result(lease)
        self._arrived(participant.id)
        return participant.lease.split(".")[0] if participant.lease else None

    async def arrive(self, kernel: str, seconds: float) -> str | None:
        """Wait until a kernel is bound and return its lease; None if that takes longer than `seconds`."""
        participant = self._database.leased(self.study.name, kernel=kernel)
        if participant is not None:
            return participant.lease
        waiting = self._arrivals.setdefault(kernel, asyncio.get_running_loop().create_future())
        try:
            return await asyncio.wait_for(asyncio.shield(waiting), seconds)
        except TimeoutError:
            self._arrivals.pop(kernel, None)
            return None
