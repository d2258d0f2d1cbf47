"""What every route of ours has: the checks at the door, the headers, and error pages that tell nothing."""

from __future__ import annotations

import inspect
from typing import Any, ClassVar, Literal

from tornado.web import RequestHandler
from tornado.websocket import WebSocketHandler
from typing_extensions import override

from negolab_widgets.dashboard import pages
from negolab_widgets.dashboard.front import Refused

Needs = Literal["nothing", "visitor", "kernel"]

HEADERS = {
    "Content-Security-Policy": pages.POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


class Door(RequestHandler):
    """Mixed in before any other handler. `needs`: nothing, a visitor whom the server knows, or a kernel of that visitor
    (named `kernel_id` in the path). Files are counted apart and may be cached."""

    needs: ClassVar[Needs] = "visitor"
    is_file: ClassVar[bool] = False
    visitor: str = ""

    @property
    def server(self) -> Any:
        """Our Voila application."""
        return self.settings["server"]

    @override
    def set_default_headers(self) -> None:
        for name, value in HEADERS.items():
            self.set_header(name, value)
        self.clear_header("Server")
        if not self.is_file:
            self.set_header("Cache-Control", "no-store")

    @override
    async def prepare(self) -> None:
        self.server.front.check(self.request, is_file=self.is_file, is_socket=isinstance(self, WebSocketHandler))
        if self.needs != "nothing":
            self.visitor = await self.server.admitted(self)
        if self.needs == "kernel" and not self.server.owns(self.visitor, self.path_kwargs["kernel_id"]):
            raise Refused(403)
        coming: Any = super().prepare()
        if inspect.isawaitable(coming):
            await coming

    @override
    def check_xsrf_cookie(self) -> None:
        """The Origin was checked instead."""

    @override
    def compute_etag(self) -> None:
        """None: of what changes with every visitor."""

    @override
    def write_error(self, status_code: int, **kwargs: Any) -> None:
        error = kwargs.get("exc_info", (None, None))[1]
        refused = error if isinstance(error, Refused) else None
        self.set_header("Content-Type", "text/html; charset=utf-8")
        self.set_header("Content-Security-Policy", pages.POLICY)
        self.set_header("Cache-Control", "no-store")
        if refused is not None and refused.after:
            self.set_header("Retry-After", str(refused.after))
            self.set_header("Refresh", str(refused.after))  # a page that a person looks at tries again by itself
        self.finish(pages.refusal(status_code, refused.why if refused else "", self.server.words))


class Nothing(Door):
    """Every path that is not ours."""

    needs = "nothing"

    @override
    async def prepare(self) -> None:
        await super().prepare()
        raise Refused(404)
