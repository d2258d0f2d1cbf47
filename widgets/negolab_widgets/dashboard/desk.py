"""`python -m negolab_widgets.dashboard.desk NOTEBOOK ...`: the researcher's Voila, on this machine, behind a token.

The token is read from the environment, where nothing else sees it, and taken out of it before a kernel starts.
"""

from __future__ import annotations

import hmac
import os
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from traitlets import Unicode
from typing_extensions import override

from negolab_widgets.dashboard import config, pages
from negolab_widgets.dashboard.door import Door
from negolab_widgets.dashboard.front import Refused
from negolab_widgets.dashboard.pool import Warm
from negolab_widgets.dashboard.rendering import rendered
from negolab_widgets.dashboard.server import Server
from negolab_widgets.dashboard.visitors import State

TOKEN = "NEGOLAB_DESK_TOKEN"
"""The environment variable that brings the token."""

NAMES = {"play": "Play", "replay": "Replay", "monitor": "Monitor"}
"""The pages, as they are linked at the top of each; those whose notebooks are there are served."""


class Page(Door):
    """A page by name; the first time with the token in the address, which then becomes a cookie."""

    SUPPORTED_METHODS = ("GET",)

    @override
    async def prepare(self) -> None:
        await super().prepare()
        if "token" in self.request.arguments:
            self.server.give_cookie(self)
            more = {name: self.get_query_argument(name) for name in self.request.arguments if name != "token"}
            self.redirect(self.request.path + ("?" + urlencode(more) if more else ""), status=303)

    @override
    async def get(self, name: str | None) -> None:
        warm = await self.server.open(name or self.server.first)
        self.set_header("Content-Security-Policy", config.POLICY)
        self.finish(warm.html)


class Desk(Server):
    """The researcher's server: whoever has the token may use every page and every kernel."""

    names = Unicode("play", config=True, help="The pages beside the notebook, by name, with spaces between.")

    kind = "desk"
    words = pages.DESK_WORDS

    @override
    def initialize(self, argv: list[str] | None = None) -> None:
        self.secret = os.environ.pop(TOKEN, "")
        super().initialize(argv)
        folder, self.first = Path(self.notebook_path).parent, Path(self.notebook_path).stem
        self.there = [name for name in self.names.split() if (folder / f"{name}.ipynb").is_file()]
        links = [{"name": NAMES[name], "path": name} for name in self.there] if len(self.there) > 1 else []
        self.config.VoilaConfiguration.resources = {"nl_pages": links}
        self.voila_configuration.config.VoilaConfiguration.resources = {"nl_pages": links}
        self._opened: dict[str, float] = {}

    @override
    def fault(self) -> str:
        return super().fault() if self.secret else "the token"

    @override
    def pages(self) -> list[tuple[Any, ...]]:
        return [(rf"({'|'.join(self.there)})?", Page)]

    @override
    async def admitted(self, door: Door) -> str:
        shown = door.get_query_argument("token", "") or door.get_cookie(self.cookie) or ""
        if not shown or not hmac.compare_digest(shown.encode(), self.secret.encode()):
            if shown:
                self.front.attempt(door.request)
            raise Refused(403)
        return "researcher"

    def give_cookie(self, door: Door) -> None:
        """Let the browser show the token from now on."""
        door.set_cookie(self.cookie, self.secret, path="/", httponly=True, samesite="Lax")

    async def open(self, name: str) -> Warm:
        """A kernel with that page: from the pool for the first page, else started now."""
        if name == self.first:
            await self.pool.tidy()
            warm = self.pool.take() or await self.heat()
        else:
            warm = await rendered(self, f"{name}.ipynb")
        self._opened[warm.kernel] = time.monotonic()
        return warm

    @override
    def owns(self, visitor: str, kernel: str) -> bool:
        return kernel in self.kernel_manager

    @override
    async def state(self, visitor: str, kernel: str) -> State:
        if kernel not in self._opened or not await self.lives(kernel):
            return "gone"
        self._opened[kernel] = time.monotonic()
        return "here"

    @override
    def watched(self) -> dict[str, float]:
        return dict(self._opened)

    @override
    async def end(self, kernel: str) -> None:
        self._opened.pop(kernel, None)
        await super().end(kernel)


if __name__ == "__main__":
    Desk.launch_instance()
