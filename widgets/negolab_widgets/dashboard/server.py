"""Voila with a door of ours before every route. `Gate` serves participants, `Desk` the researcher."""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import time
from collections.abc import Coroutine, Mapping
from pathlib import Path
from typing import Any, ClassVar

import tornado.ioloop
import tornado.web
from jupyter_server.auth.identity import IdentityProvider, User
from tornado.httpserver import HTTPServer
from traitlets import Bool, Float, Integer, Unicode
from traitlets.config import Config
from typing_extensions import override
from voila.app import Voila

from negolab_widgets.dashboard import addresses, config, guard, pages, quiet
from negolab_widgets.dashboard.door import Door, Nothing
from negolab_widgets.dashboard.front import Front
from negolab_widgets.dashboard.pool import Pool, Warm
from negolab_widgets.dashboard.rendering import rendered
from negolab_widgets.dashboard.routes import is_ours, routes
from negolab_widgets.dashboard.visitors import State

SWEEP = 2.0
"""Seconds between two looks at which kernels live."""


class Anyone(IdentityProvider):  # type: ignore[misc]
    """Jupyter's idea of who asks. Our door decides that, before Jupyter is asked."""

    def get_user(self, handler: Any) -> User:
        return User("visitor")


class Server(Voila):  # type: ignore[misc]
    """Voila on notebooks of ours: own routes only, own pool of kernels, own end."""

    public_url = Unicode("", config=True, help="The address that browsers use; empty: this machine and port.")
    behind_proxy = Bool(False, config=True, help="Believe the proxy's X-Forwarded-For.")
    certfile = Unicode("", config=True)
    keyfile = Unicode("", config=True)
    pool_size = Integer(1, config=True, help="Kernels that are kept warm.")
    absent_after = Float(90.0, config=True, help="Seconds without a sign of the page after which a kernel is ended.")
    folder = Unicode("", config=True, help="A folder to remove when that process is gone.")
    tied = Bool(False, config=True, help="End when standard input does: with the process that started this one.")

    # Each defence can be switched off, so that a test can show which attack it stops.
    self_test = Bool(True, config=True)
    check_host = Bool(True, config=True)
    check_origin = Bool(True, config=True)
    limit_rates = Bool(True, config=True)

    kind = "page"
    words: ClassVar[Mapping[int, str]] = pages.WORDS
    """What is said of a refused request, by its status."""
    kernel_options: ClassVar[dict[str, Any]] = {}
    """How the process of a kernel is started."""

    # Before it listens.

    @override
    def load_config_file(self, *_: Any, **__: Any) -> None:
        ours: Config = config.settings()
        ours.merge(self.cli_config)
        self.update_config(ours)

    @override
    def initialize(self, argv: list[str] | None = None) -> None:
        super().initialize(argv)
        quiet.hush(self.log, *map(logging.getLogger, ("tornado", "asyncio", "traitlets", "httpx")))
        self.address = addresses.public(self.public_url) if self.public_url else addresses.local(self.port)
        self.base_url = self.address.prefix
        hosts, origins = {self.address.host}, {self.address.origin}
        if addresses.is_loopback(self.address.host.rpartition(":")[0]) and not self.public_url:
            hosts.add(f"localhost:{self.port}")
            origins.add(f"http://localhost:{self.port}")
        self.front = Front(
            frozenset(hosts),
            frozenset(origins),
            behind_proxy=self.behind_proxy,
            check_host=self.check_host,
            check_origin=self.check_origin,
            limit_rates=self.limit_rates,
        )
        self.cookie = f"negolab-{self.kind}-{self.port}"

    @override
    def init_settings(self) -> dict[str, Any]:
        return {
            **super().init_settings(),
            "server": self,
            "default_handler_class": Nothing,
            "log_function": lambda handler: None,
            "disable_check_xsrf": True,
            "websocket_max_message_size": 1 << 20,
        }

    @override
    def init_handlers(self) -> list[tuple[Any, ...]]:
        found = [*self.pages(), *routes(self)]
        return [(self._pattern(path), *rest) for path, *rest in found]

    def _pattern(self, path: str) -> str:
        return self.base_url.replace(".", r"\.") + path

    def pages(self) -> list[tuple[Any, ...]]:
        """The routes that this server has besides those of its kernels."""
        raise NotImplementedError

    def fault(self) -> str:
        """The first setting that did not take, in words; empty if all did."""
        handlers = [handler for _, handler, *_ in self.init_handlers()]
        checks = {
            "the guard at the websocket": issubclass(self.kernel_websocket_connection_class, guard.GuardedConnection),
            "the door before every route": all(map(is_ours, handlers)),
            "the Host check": self.check_host,
            "the Origin check": self.check_origin,
            "the rate limit": self.limit_rates,
            "one notebook only": self.notebook_path is not None,
            "hidden tracebacks": not self.voila_configuration.show_tracebacks,
            "hidden sources": bool(self.voila_configuration.strip_sources),
            "our own template": self.voila_configuration.template == "negolab",
            "no kernel that comes back empty": not self.config.KernelManager.autorestart,
            "kernels that other users cannot hear": os.name != "posix" or self.config.KernelManager.transport == "ipc",
        }
        return next((name for name, took in checks.items() if not took), "")

    # While it listens.

    @override
    def listen(self) -> None:
        if self.self_test and (fault := self.fault()):
            self.log.error("not serving: %s is switched off", fault)
            self.exit(3)
        tls = {"certfile": self.certfile, "keyfile": self.keyfile} if self.certfile else None
        server = HTTPServer(
            self.app, ssl_options=tls, max_body_size=1 << 16, idle_connection_timeout=75, body_timeout=10
        )
        try:
            server.listen(self.port, self.ip)
        except OSError as error:
            self.log.error("port %s cannot be used: %s", self.port, error.strerror)
            self.exit(2)
        self.ioloop = tornado.ioloop.IOLoop.current()
        self.ioloop.add_callback(self._begin)
        try:
            self.ioloop.start()
        except KeyboardInterrupt:
            pass
        finally:
            self.stop()

    async def _begin(self) -> None:
        self._orphaned = False
        self._tasks: set[asyncio.Task[Any]] = set()
        self._seen: dict[str, float] = {}
        self.pool = Pool(self.heat, self.lives, self._cold, self.pool_size, at_once=os.cpu_count() or 1)
        self.pool.fill()
        tornado.ioloop.PeriodicCallback(self.sweep, 1000 * SWEEP).start()
        if self.tied:
            self.ioloop.add_handler(0, self._tie, tornado.ioloop.IOLoop.READ)

    def _tie(self, fd: Any, events: int) -> None:
        if not os.read(0, 4096):
            self.ioloop.remove_handler(0)
            self._orphaned = True
            self.ioloop.stop()

    def _cold(self, error: Exception) -> None:
        self.log.error("a kernel did not start: %s", error)

    async def heat(self) -> Warm:
        """A kernel with the page of the one notebook."""
        return await rendered(self, os.path.relpath(self.notebook_path, self.root_dir))

    async def sweep(self) -> None:
        """Fill the pool, and end the kernels that have died or that nobody looks at."""
        await self.pool.tidy()
        now = time.monotonic()
        for kernel, seen in self.watched().items():
            if not await self.lives(kernel) or (now - seen > self.absent_after and not self._connections(kernel)):
                await self.end(kernel)

    def watched(self) -> dict[str, float]:
        """The kernels that have been handed out, and when their pages were last heard of."""
        raise NotImplementedError

    async def lives(self, kernel: str) -> bool:
        """Whether the kernel's process runs."""
        if kernel not in self.kernel_manager:
            return False
        return bool(await self.kernel_manager.get_kernel(kernel).is_alive())

    def _connections(self, kernel: str) -> int:
        return int(self.kernel_manager.kernel_model(kernel)["connections"]) if kernel in self.kernel_manager else 0

    # What the door and the routes ask.

    async def admitted(self, door: Door) -> str:
        """Who asks; raises what is to be answered instead."""
        raise NotImplementedError

    def owns(self, visitor: str, kernel: str) -> bool:
        """Whether that kernel is there and the visitor's."""
        raise NotImplementedError

    async def state(self, visitor: str, kernel: str) -> State:
        """What a page of that kernel is to be told."""
        raise NotImplementedError

    async def end(self, kernel: str) -> None:
        """End a kernel whose page is gone, in the background."""
        self.later(self._shutdown(kernel))

    async def _shutdown(self, kernel: str) -> None:
        if kernel in self.kernel_manager:
            await self.kernel_manager.shutdown_kernel(kernel, now=not await self.lives(kernel))

    def later(self, work: Coroutine[Any, Any, None]) -> None:
        """Do something beside; what fails there is logged."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()):
            self.log.error("%s: %s", type(error).__name__, error)

    @override
    def stop(self) -> None:
        """End all kernels; those that are missed end by themselves when this process is gone."""

        async def end_all() -> None:
            self.pool.close()
            await self.kernel_manager.shutdown_all(now=self.kind != "desk")

        # The launcher lets go of our standard input as well: that must not cut this short.
        self.ioloop.remove_handler(0)
        try:
            self.ioloop.run_sync(end_all, timeout=8)
        except Exception as error:
            self.log.error("at the end: %s: %s", type(error).__name__, error)
        finally:
            shutil.rmtree(self.connection_dir, ignore_errors=True)
            if self._orphaned and self.folder:
                _removed(Path(self.folder))


def _removed(folder: Path, within: float = 20.0) -> None:
    """Remove a folder in which others, who end as we do, may still write a last file."""
    end = time.monotonic() + within
    while folder.exists() and time.monotonic() < end:
        shutil.rmtree(folder, ignore_errors=True)
        time.sleep(0.1)
