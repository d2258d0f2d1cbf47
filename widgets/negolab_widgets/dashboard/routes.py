"""Voila's own routes behind our door: the files of its front end, and the few calls that concern one kernel."""

from __future__ import annotations

from typing import Any

from jupyter_server.base.handlers import FileFindHandler
from jupyter_server.services.kernels.handlers import KernelHandler
from jupyterlab_server.themes_handler import ThemesHandler
from tornado.web import RequestHandler
from typing_extensions import override
from voila.static_file_handler import MultiStaticFileHandler, TemplateStaticFileHandler
from voila.tornado.kernel_websocket_handler import VoilaKernelWebsocketHandler

from negolab_widgets.dashboard.door import Door
from negolab_widgets.dashboard.front import Refused

KERNEL = r"(?P<kernel_id>\w+-\w+-\w+-\w+-\w+)"
MOST_CONNECTIONS = 4
"""Websockets at one kernel: a page opens one, and one more while it reconnects."""

READ = ("GET", "HEAD")


class TemplateFiles(Door, TemplateStaticFileHandler):  # type: ignore[misc]
    """Scripts and styles of the template."""

    needs, is_file, SUPPORTED_METHODS = "nothing", True, READ

    @override
    def initialize(self) -> None:
        TemplateStaticFileHandler.initialize(self)

    @override
    def parse_url_path(self, url_path: str) -> str:
        if url_path.count("/") < 2 or url_path.split("/")[1] != "static":
            raise Refused(404)
        return str(super().parse_url_path(url_path))


class StaticFiles(Door, MultiStaticFileHandler):  # type: ignore[misc]
    """Scripts and styles of Voila."""

    needs, is_file, SUPPORTED_METHODS = "nothing", True, READ


class Extensions(Door, FileFindHandler):  # type: ignore[misc]
    """Scripts of the widgets."""

    needs, is_file, SUPPORTED_METHODS = "nothing", True, READ


class Themes(Door, ThemesHandler):
    """Colours of JupyterLab."""

    needs, is_file, SUPPORTED_METHODS = "nothing", True, READ


class KernelInfo(Door, KernelHandler):  # type: ignore[misc]
    """What the front end asks about its kernel before it connects."""

    needs, SUPPORTED_METHODS = "kernel", ("GET",)


class KernelSocket(Door, VoilaKernelWebsocketHandler):  # type: ignore[misc]
    """The websocket to a kernel; what passes through it is the guard's business."""

    needs, SUPPORTED_METHODS = "kernel", ("GET",)

    @override
    async def get(self, kernel_id: str) -> None:
        if self.kernel_manager.kernel_model(kernel_id)["connections"] >= MOST_CONNECTIONS:
            raise Refused(429, after=5)
        await VoilaKernelWebsocketHandler.get(self, kernel_id)

    @override
    def check_origin(self, origin: str | None = None) -> bool:
        """The door has checked it."""
        return True


class Goodbye(Door):
    """What a page says when it is closed: its kernel may end."""

    needs, SUPPORTED_METHODS = "kernel", ("POST",)

    @override
    async def post(self, kernel_id: str) -> None:
        await self.server.end(kernel_id)
        self.set_status(204)


class Alive(Door):
    """What a page asks every few seconds."""

    SUPPORTED_METHODS = ("GET",)

    @override
    async def get(self, kernel_id: str) -> None:
        self.finish({"state": await self.server.state(self.visitor, kernel_id)})


def routes(server: Any) -> list[tuple[Any, ...]]:
    """All of them, relative to the server's prefix."""
    theme = {
        "themes_url": f"{server.base_url}voila/api/themes",
        "path": server.themes_dir,
        "labextensions_path": server.labextensions_path,
        "no_cache_paths": ["/"],
    }
    return [
        (rf"api/kernels/{KERNEL}", KernelInfo),
        (rf"api/kernels/{KERNEL}/channels", KernelSocket),
        (rf"voila/api/shutdown/{KERNEL}", Goodbye),
        (rf"alive/{KERNEL}", Alive),
        (r"voila/templates/(.*)", TemplateFiles),
        (r"voila/static/(.*)", StaticFiles, {"paths": server.static_paths}),
        (r"voila/api/themes/(.*)", Themes, theme),
        (r"voila/labextensions/(.*)", Extensions, {"path": server.labextensions_path}),
    ]


def is_ours(handler: type[RequestHandler]) -> bool:
    """Whether a route has the door before it."""
    return issubclass(handler, Door)
