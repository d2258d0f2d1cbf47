"""What a visitor asks for before there is a game: a link, the page behind it, and the place in the line."""

from __future__ import annotations

import hmac
import time

from typing_extensions import override

from negolab_widgets.dashboard import config, pages
from negolab_widgets.dashboard.door import Door
from negolab_widgets.dashboard.front import Refused


class Join(Door):
    """A personal or open link. Looking at it does nothing; the button on it does."""

    needs = "nothing"

    @override
    def set_default_headers(self) -> None:
        super().set_default_headers()
        self.set_header("Referrer-Policy", "same-origin")  # so that the browser names the origin of the form

    @override
    async def get(self, token: str) -> None:
        held = self.server.shown(self)
        if hmac.compare_digest(held.encode(), token.encode()):
            self._enter()
            return
        link = await self.server.admission(self, token, self._query())
        known = link.visitor is None and bool(held) and await self.server.is_good(held)
        self.finish(pages.join(link.title, known))

    head = get

    @override
    async def post(self, token: str) -> None:
        link = await self.server.admission(self, token, self._query())
        held = self.server.shown(self)
        again = link.visitor is None and held and not self.get_body_argument("new", "")
        if not (again and await self.server.is_good(held)):
            own = await self.server.join(self, token, self._query(), is_open=link.visitor is None)
            self.set_cookie(
                self.server.cookie,
                own,
                path=self.server.base_url,
                httponly=True,
                # Lax: who comes back by a link in a mail is known at once. Nothing but GET is ever sent along from
                # elsewhere, and no GET of ours does anything that cannot be undone.
                samesite="Lax",
                secure=self.server.address.scheme == "https",
            )
        self._enter()

    def _query(self) -> dict[str, str]:
        """What the link carries besides its token; the form posts to the whole address."""
        return {name: self.get_query_argument(name) for name in self.request.query_arguments}

    def _enter(self) -> None:
        self.set_header("Referrer-Policy", "no-referrer")
        self.redirect(self.server.base_url, status=303)


class Entry(Door):
    """The page itself, with a warm kernel; or a place in the line."""

    @override
    async def get(self) -> None:
        if self.request.headers.get("Sec-Purpose", "").startswith("prefetch"):
            raise Refused(503)
        warm = await self.server.hand_out(self)
        if warm is None:
            self.finish(pages.waiting(self.server.visitors.ahead(self.visitor)))
            return
        self.set_header("Content-Security-Policy", config.POLICY)
        self.finish(warm.html)

    @override
    async def head(self) -> None:
        self.finish()


class Waiting(Door):
    """What the waiting page asks; asking keeps the place in the line."""

    SUPPORTED_METHODS = ("GET",)

    @override
    async def get(self) -> None:
        server = self.server
        ready = not server.crowded(self) and server.visitors.may_enter(self.visitor, len(server.pool), time.monotonic())
        self.finish({"ready": ready, "ahead": server.visitors.ahead(self.visitor)})
