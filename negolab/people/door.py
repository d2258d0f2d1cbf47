"""Who comes in: links and cookies name participants, and the newest page of each holds the lease."""

from __future__ import annotations

import asyncio
import hashlib
import secrets
import time
from collections.abc import Callable, Mapping

from negolab.people import links
from negolab.people.database import Database, Participant
from negolab.people.study import Study


class Refused(Exception):
    """A link, a lease or a request that does not count; the reason is for the person."""


class Replaced(Exception):
    """A newer page of the same participant holds the lease."""


class Door:
    """The door of one study. A lease begins with the id of the kernel that holds it, and outlives the host."""

    def __init__(self, database: Database, study: Study) -> None:
        self.study = study
        self._database = database
        self._kept = database.study(study.name, study.text)
        database.keep_consent(study.name, study.consent)
        self._arrivals: dict[str, asyncio.Future[str]] = {}
        self.came: Callable[[str], None] = lambda id: None

    def admit(self, token: str, query: Mapping[str, str] | None = None) -> tuple[str | None, str]:
        """Who a link or a cookie names (None: the open link), and the study's title; nothing is changed. `query`: what
        came with the link, None: it is not known yet."""
        id = self._named(token)
        if id is None and query is not None:
            self._outside(query)
        return id, self.study.title

    def join(self, token: str, query: Mapping[str, str]) -> tuple[str, str]:
        """The personal token and the participant of a link: for the open link a new one."""
        id = self._named(token)
        if id is None:
            id = self._newcomer(query)
        created = self.participant(id).created
        return links.token(self._kept.secret, self.study.name, id, created=created), id

    def _named(self, token: str) -> str | None:
        try:
            id = links.read(self._kept.secret, self.study.name, token, None)
            who = None if id == links.OPEN else self._database.participant(id)
            if who is None or who.opened is None:  # who has come in time may go on for as long as it takes
                links.read(self._kept.secret, self.study.name, token, self.study.expires * 86400)
        except links.BadLink as why:
            raise Refused(str(why)) from None
        if id == links.OPEN:
            return None
        if who is None:
            raise Refused("This link is not known here. Ask the person who sent it for a new one.")
        return id

    def _newcomer(self, query: Mapping[str, str]) -> str:
        """A participant for the open link; who comes again with the same outside id is the same."""
        outside, hashed = self._outside(query), None
        if outside is not None:
            hashed = hashlib.scrypt(outside.encode(), salt=self._kept.salt.encode(), n=2**12, r=8, p=1).hex()[:32]
            known = self._database.external(self.study.name, hashed)
            if known is not None:
                return known.id
        return self._database.invite(self.study.name, link="open", external=hashed)[0].id

    def _outside(self, query: Mapping[str, str]) -> str | None:
        """The id of an outside panel that came with the open link; None: the study asks for none."""
        name = self.study.external
        if name is None:
            return None
        outside = query.get(name, "").strip()
        if not outside or len(outside) > 200:
            raise Refused(f"This link must carry your id ({name}). Come by the link of the panel that invited you.")
        return outside

    def bind(self, token: str, kernel: str) -> str | None:
        """Give the lease to a kernel; the kernel that had it before."""
        id = self._named(token)
        if id is None:
            raise Refused("This page needs your personal link.")
        who = self.participant(id)
        lease = f"{kernel}.{secrets.token_urlsafe(24)}"
        note = "resumed" if who.opened else "opened"
        self._database.change(id, note, lease=lease, opened=who.opened or time.time())
        if kernel in self._arrivals:
            self._arrivals.pop(kernel).set_result(lease)
        self.came(id)
        return who.lease.split(".")[0] if who.lease else None

    async def arrive(self, kernel: str, seconds: float) -> str | None:
        """The lease of a kernel, once it has one; None if it has none within `seconds`."""
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
        who = self._database.participant(id)
        assert who is not None
        return who

    def leased(self, lease: str) -> Participant:
        who = self._database.leased(self.study.name, lease=lease)
        if who is None:
            raise Replaced
        return who
