"""The researcher's server: `python -m negolab_widgets.server.admin NOTEBOOK ...`, on this machine, behind a token.

The token is read from the environment, where nothing else sees it, and removed from it before a kernel starts.
"""

from __future__ import annotations

import asyncio
import hmac
import os
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from prometheus_client import CONTENT_TYPE_LATEST
from traitlets import Unicode
from typing_extensions import override

from negolab.studies.client import HostClient, HostUnreachable
from negolab.studies.metrics import render
from negolab.studies.page_state import NotDelivered
from negolab_widgets.page import ADMIN
from negolab_widgets.server import config, requests
from negolab_widgets.server.admission import KernelState
from negolab_widgets.server.kernels import WarmKernel, render_page
from negolab_widgets.server.limits import Traffic
from negolab_widgets.server.requests import CheckedHandler, RefusedRequest
from negolab_widgets.server.server import DashboardServer


class AdminPage(CheckedHandler):
    """A page by name; the first request carries the token in the address, which then becomes a cookie."""

    SUPPORTED_METHODS = ("GET",)

    @override
    async def prepare(self) -> None:
        await super().prepare()
        if "token" in self.request.arguments:
            self.server.give_cookie(self)
            query = {name: self.get_query_argument(name) for name in self.request.arguments if name != "token"}
            self.redirect(self.request.path + ("?" + urlencode(query) if query else ""), status=303)

    @override
    async def get(self, name: str | None) -> None:
        warm = await self.server.open(name or self.server.first)
        self.set_header("Content-Security-Policy", config.PAGE_POLICY)
        self.finish(warm.html)


class Metrics(CheckedHandler):
    """Metrics for Prometheus, which identify nobody and require no token."""

    needs, SUPPORTED_METHODS = "nothing", ("GET",)

    @override
    async def get(self) -> None:
        text, why = await self.server.ask_host()
        self.set_header("Content-Type", CONTENT_TYPE_LATEST)
        self.finish(render(None, None, database_up=False) if why else text)


class Health(CheckedHandler):
    """Status 200 while people can be served, otherwise 503 with the reason."""

    needs, SUPPORTED_METHODS = "nothing", ("GET",)

    @override
    async def get(self) -> None:
        _, why = await self.server.ask_host()
        self.set_status(503 if why else 200)
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        self.finish(f"{why or 'ok'}\n")


class AdminServer(DashboardServer):
    """Serve every page and kernel to anyone who has the token."""

    names = Unicode("play", config=True, help="The pages beside the notebook, by name, with spaces between.")

    kind = "admin"
    texts = requests.ADMIN_TEXTS

    @override
    def initialize(self, argv: list[str] | None = None) -> None:
        self.secret = os.environ.pop(config.ADMIN_TOKEN, "")
        self.host = HostClient(os.environ[ADMIN]) if os.environ.get(ADMIN) else None
        super().initialize(argv)
        self.traffic = Traffic.wide()
        folder, self.first = Path(self.notebook_path).parent, Path(self.notebook_path).stem
        self.available = [name for name in self.names.split() if (folder / f"{name}.ipynb").is_file()]
        shown = self.available if len(self.available) > 1 else []
        self.set_resources(nl_pages=[{"name": config.PAGE_TITLES[name], "path": name} for name in shown])
        self._opened: dict[str, float] = {}

    @override
    def disabled_defence(self) -> str:
        return super().disabled_defence() if self.secret else "the token"

    @override
    def pages(self) -> list[tuple[Any, ...]]:
        return [(r"metrics", Metrics), (r"healthz", Health), (rf"({'|'.join(self.available)})?", AdminPage)]

    async def ask_host(self) -> tuple[str, str]:
        """Return the host's metrics, and the reason if there are none; both are empty without a host."""
        if self.host is None:
            return "", ""
        try:
            return str((await asyncio.to_thread(self.host.ask, "/metrics"))["text"]), ""
        except (HostUnreachable, NotDelivered) as error:
            return "", str(error)

    @override
    async def authenticate(self, handler: CheckedHandler) -> str:
        token = handler.get_query_argument("token", "") or handler.get_cookie(self.cookie) or ""
        if not token or not hmac.compare_digest(token.encode(), self.secret.encode()):
            if token:
                self.checks.count_guess(handler.request)
            raise RefusedRequest(403)
        return "researcher"

    def give_cookie(self, handler: CheckedHandler) -> None:
        """Have the browser send the token from now on."""
        handler.set_cookie(self.cookie, self.secret, path="/", httponly=True, samesite="Lax")

    async def open(self, name: str) -> WarmKernel:
        """Return a kernel with that page: from the pool for the first page, otherwise started now."""
        if name == self.first:
            await self.pool.tidy()
            warm = self.pool.take() or await self.start_warm_kernel()
        else:
            warm = await render_page(self, f"{name}.ipynb")
        self._opened[warm.kernel] = time.monotonic()
        return warm

    @override
    def owns(self, visitor: str, kernel: str) -> bool:
        return kernel in self.kernel_manager

    @override
    async def state(self, visitor: str, kernel: str) -> KernelState:
        if kernel not in self._opened or not await self.is_alive(kernel):
            return "gone"
        self._opened[kernel] = time.monotonic()
        return "here"

    @override
    def handed_out(self) -> dict[str, float]:
        return dict(self._opened)

    @override
    async def end(self, kernel: str) -> None:
        self._opened.pop(kernel, None)
        await super().end(kernel)


if __name__ == "__main__":
    AdminServer.launch_instance()
