"""Routes of the servers: Voila's files and calls, behind our checks, and a participant's link, page and place in the
queue."""

from __future__ import annotations

import asyncio
import hmac
import re
import time
from typing import Any

from jupyter_server.base.handlers import FileFindHandler
from jupyter_server.services.kernels.handlers import KernelHandler
from tornado.websocket import WebSocketHandler, WebSocketProtocol, WebSocketProtocol13
from typing_extensions import override
from voila.static_file_handler import MultiStaticFileHandler, TemplateStaticFileHandler
from voila.tornado.kernel_websocket_handler import VoilaKernelWebsocketHandler

from negolab_widgets.server import config, requests
from negolab_widgets.server.guard import PROTOCOL
from negolab_widgets.server.host_client import TokenInfo
from negolab_widgets.server.limits import FRAME_COST, SOCKET_COST
from negolab_widgets.server.requests import CheckedHandler, RefusedRequest

KERNEL_ID = r"(?P<kernel_id>\w+-\w+-\w+-\w+-\w+)"
SESSION = re.compile(r"[A-Za-z0-9._~-]{1,100}")
"""A page's name for its websocket."""
MAX_CONNECTIONS = 4
"""Maximum number of websockets to one kernel; a page opens one, and one more while it reconnects."""


class CheckedFileHandler(CheckedHandler):
    """Base class of handlers for files, which need no visitor and may be cached."""

    needs, is_file, SUPPORTED_METHODS = "nothing", True, ("GET", "HEAD")

    @override
    async def get(self, path: str, include_body: bool = True) -> None:
        # Jupyter keeps every path that names a file, and a file can have any number of paths.
        if not {"", ".", ".."}.isdisjoint(re.split(r"[/\\]", path)):
            raise RefusedRequest(404)
        try:
            await super().get(path, include_body)  # type: ignore[misc]
        except (OSError, ValueError, AssertionError):  # a path that does not name a file, such as one with a null byte
            raise RefusedRequest(404) from None


class TemplateFiles(CheckedFileHandler, TemplateStaticFileHandler):  # type: ignore[misc]
    """Scripts and styles of the template."""

    @override
    def parse_url_path(self, url_path: str) -> str:
        if url_path.count("/") < 2 or url_path.split("/")[1] != "static":
            raise RefusedRequest(404)
        return str(super().parse_url_path(url_path))


class StaticFiles(CheckedFileHandler, MultiStaticFileHandler):  # type: ignore[misc]
    """Scripts and styles of Voila."""


class Extensions(CheckedFileHandler, FileFindHandler):  # type: ignore[misc]
    """Scripts of the widgets."""


class KernelInfo(CheckedHandler, KernelHandler):  # type: ignore[misc]
    """Facts about its kernel that the front end needs before it connects."""

    needs, SUPPORTED_METHODS = "kernel", ("GET",)


class ChargedFrames(WebSocketProtocol13):
    """Websocket frames that are charged before they are read, including pings and parts of messages."""

    handler: KernelSocket

    @override
    async def _receive_frame(self) -> None:
        if self.handler.pays(FRAME_COST):
            await super()._receive_frame()
        else:
            await asyncio.sleep(1)  # time to tell the page why
            self._abort()


class KernelSocket(CheckedHandler, VoilaKernelWebsocketHandler):  # type: ignore[misc]
    """The websocket to a kernel; the guard checks what passes through it."""

    needs, SUPPORTED_METHODS = "kernel", ("GET",)
    connection: Any = None
    _has_gone = False

    @override
    async def get(self, kernel_id: str) -> None:
        # The session is a name on the kernel's sockets, which accept nothing else.
        is_named = SESSION.fullmatch(self.get_query_argument("session_id", ""))
        if not is_named or PROTOCOL not in self.request.headers.get("Sec-WebSocket-Protocol", ""):
            raise RefusedRequest(400)
        if self.kernel_manager.kernel_model(kernel_id)["connections"] >= MAX_CONNECTIONS:
            raise RefusedRequest(429, after=5)
        if wait := self.server.traffic.incoming.take(self.visitor, SOCKET_COST):
            raise RefusedRequest(429, after=wait)
        try:
            await VoilaKernelWebsocketHandler.get(self, kernel_id)
        finally:
            self.on_close()  # nothing else cleans up after a handshake that fails or is broken off

    @override
    async def open(self, kernel_id: str) -> None:
        if not self._has_gone:
            await super().open(kernel_id)

    @override
    def on_close(self) -> None:
        self._has_gone = True
        if self.connection is not None:
            self.connection.disconnect()
        self.server.hear_of(self.path_kwargs["kernel_id"], is_here=False)

    @override
    def on_pong(self, data: bytes) -> None:
        # Browsers also answer for pages whose scripts they throttle, such as those in background tabs.
        super().on_pong(data)
        self.server.hear_of(self.path_kwargs["kernel_id"], is_here=True)

    def pays(self, cost: int) -> bool:
        """Charge the visitor for the bytes that the page sends; beyond the budget, close the websocket."""
        is_over = self.server.traffic.incoming.take(self.visitor, cost) > 0
        if is_over:
            self.server.refusals["traffic"] += 1
            self.close(1008, "too much was sent")
        return not is_over

    @override
    def get_websocket_protocol(self) -> WebSocketProtocol | None:
        usual = super().get_websocket_protocol()
        return ChargedFrames(self, False, usual.params) if isinstance(usual, WebSocketProtocol13) else usual

    @override
    def write_message(self, message: Any, binary: bool = False) -> Any:
        # Voila's own method would read each message again, to drop what the guard has already dropped.
        return WebSocketHandler.write_message(self, message, binary)

    @override
    def check_origin(self, origin: str | None = None) -> bool:
        return True


class PageClosed(CheckedHandler):
    """A page's notice that it was closed, so that its kernel may end."""

    needs, SUPPORTED_METHODS = "kernel", ("POST",)

    @override
    async def post(self, kernel_id: str) -> None:
        await self.server.end(kernel_id)
        self.set_status(204)


class KernelStateHandler(CheckedHandler):
    """The state of a page's kernel, which the page requests every few seconds."""

    SUPPORTED_METHODS = ("GET",)

    @override
    async def get(self, kernel_id: str) -> None:
        self.finish({"state": await self.server.state(self.visitor, kernel_id)})


def routes(server: Any) -> list[tuple[Any, ...]]:
    """List all routes, relative to the server's prefix."""
    return [
        (rf"api/kernels/{KERNEL_ID}", KernelInfo),
        (rf"api/kernels/{KERNEL_ID}/channels", KernelSocket),
        (rf"voila/api/shutdown/{KERNEL_ID}", PageClosed),
        (rf"alive/{KERNEL_ID}", KernelStateHandler),
        (r"voila/templates/(.*)", TemplateFiles),
        (r"voila/static/(.*)", StaticFiles, {"paths": server.static_paths}),
        (r"voila/labextensions/(.*)", Extensions, {"path": server.labextensions_path}),
    ]


class JoinPage(CheckedHandler):
    """A personal or open link. Viewing it does nothing; the button on it does."""

    needs = "nothing"

    @override
    def set_default_headers(self) -> None:
        super().set_default_headers()
        self.set_header("Referrer-Policy", "same-origin")  # so that the browser sends the form's origin

    @override
    async def get(self, token: str) -> None:
        if hmac.compare_digest(self.server.browser_token(self).encode(), token.encode()):
            self._enter()
            return
        link = await self.server.look_up_token(self, token, self._query())
        self.finish(requests.join_page(link.title, await self._has_taken_part(link)))

    head = get

    @override
    async def post(self, token: str) -> None:
        link = await self.server.look_up_token(self, token, self._query())
        if self.get_body_argument("new", "") or not await self._has_taken_part(link):
            personal_token = await self.server.join(self, token, self._query(), is_open=link.visitor is None)
            self.set_cookie(
                self.server.cookie,
                personal_token,
                path=self.server.base_url,
                httponly=True,
                # Lax: a visitor who comes back through a link in an email is recognized immediately. Only GET requests
                # from elsewhere carry the cookie, and none of ours does anything that cannot be undone.
                samesite="Lax",
                secure=self.server.address.scheme == "https",
            )
        self._enter()

    async def _has_taken_part(self, link: TokenInfo) -> bool:
        """Return True if this is an open link that names nobody, in a browser that has a participant's valid token."""
        token = self.server.browser_token(self)
        return link.visitor is None and not link.names and bool(token) and await self.server.is_valid(token)

    def _query(self) -> dict[str, str]:
        """Return what the link carries besides its token, unchanged; the form posts to the full address.

        A line break separates different values of one name.
        """
        found = self.request.query_arguments.items()
        return {name: "\n".join(dict.fromkeys(map(self.decode_argument, values))) for name, values in found}

    def _enter(self) -> None:
        self.set_header("Referrer-Policy", "no-referrer")
        self.redirect(self.server.base_url, status=303)


class ParticipantPage(CheckedHandler):
    """The page itself, with a warm kernel, or a place in the queue."""

    @override
    async def get(self) -> None:
        if self.request.headers.get("Sec-Purpose", "").startswith("prefetch"):
            raise RefusedRequest(503)
        warm = await self.server.hand_out_kernel(self)
        if warm is None:
            self.finish(requests.waiting_page(self.server.queue.count_ahead(self.visitor)))
            return
        self.set_header("Content-Security-Policy", config.PAGE_POLICY)
        self.finish(warm.html)

    @override
    async def head(self) -> None:
        self.finish()


class WaitingStatus(CheckedHandler):
    """The place in the queue; asking keeps it."""

    SUPPORTED_METHODS = ("GET",)

    @override
    async def get(self) -> None:
        server = self.server
        ready = not server.is_over_quota(self) and server.queue.may_enter(
            self.visitor, len(server.pool), time.monotonic()
        )
        self.finish({"ready": ready, "ahead": server.queue.count_ahead(self.visitor)})


class ProxyCheck(CheckedHandler):
    """Tell a visitor at which address the gate sees them, and which headers of their request came through a proxy
    (requested by `negolab study doctor`)."""

    needs, SUPPORTED_METHODS = "nothing", ("GET",)

    @override
    async def get(self) -> None:
        checks, headers = self.server.checks, self.request.headers
        self.finish(
            {
                "address": checks.address(self.request),
                "behind_proxy": checks.behind_proxy,
                "named": "X-Forwarded-For" in headers,
                "upgrade": headers.get("Upgrade", "").lower() == "websocket",
            }
        )
