"""Base of both servers: Voila with our checks before every route. `Gate` serves participants, and `AdminServer` serves
the researcher."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import shutil
import time
from collections import Counter
from collections.abc import Coroutine, Mapping
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import msgspec
import tornado.ioloop
import tornado.web
from jupyter_server.auth.identity import IdentityProvider, User
from traitlets import Bool, Float, Integer, Unicode
from traitlets.config import Config
from typing_extensions import override
from voila.app import Voila

from negolab.studies.texts import gate_texts
from negolab.texts import install
from negolab_widgets.server import addresses, config, guard, logs
from negolab_widgets.server.admission import KernelState
from negolab_widgets.server.door import make_door
from negolab_widgets.server.kernels import KernelPool, WarmKernel, render_page
from negolab_widgets.server.limits import Traffic, Turns
from negolab_widgets.server.requests import CheckedHandler, NotFound, RequestChecks
from negolab_widgets.server.routes import routes

SWEEP_INTERVAL = 2.0
"""Seconds between two sweeps over the kernels."""


class AnyIdentity(IdentityProvider):  # type: ignore[misc]
    """Jupyter's identity of a request. Our checks identify the requester before Jupyter does."""

    def get_user(self, handler: Any) -> User:
        return User("visitor")


class DashboardServer(Voila):  # type: ignore[misc]
    """Voila for our notebooks, with its own routes, pool of kernels, and shutdown."""

    public_url = Unicode("", config=True, help="The address that browsers use; empty: this machine and port.")
    behind_proxy = Bool(False, config=True, help="Believe the proxy's X-Forwarded-For.")
    certfile = Unicode("", config=True)
    keyfile = Unicode("", config=True)
    pool_size = Integer(1, config=True, help="Kernels that are kept warm.")
    absent_after = Float(90.0, config=True, help="Seconds without a sign of the page after which a kernel is ended.")
    folder = Unicode("", config=True, help="A folder to remove when that process is gone.")
    tied = Bool(False, config=True, help="End when standard input does: with the process that started this one.")

    own_texts = Unicode("{}", config=True, help="A study's own texts of small pages by key, as JSON.")

    kind = "page"
    kernel_memory = 0
    """Maximum bytes of a kernel's data; 0: unlimited."""
    max_frame = 1 << 20
    """Maximum bytes of a frame from a browser."""
    texts: ClassVar[Mapping[str, str]] = {}
    """Texts of refused requests in place of the usual ones, by status."""
    kernel_options: ClassVar[dict[str, Any]] = {}
    """Options of `Popen` for a kernel."""

    # Before it listens.

    @override
    def load_config_file(self, *_: Any, **__: Any) -> None:
        ours: Config = config.voila_config()
        ours.merge(self.cli_config)
        self.update_config(ours)

    @override
    def initialize(self, argv: list[str] | None = None) -> None:
        super().initialize(argv)
        logs.configure_logging(self.log, *map(logging.getLogger, ("tornado", "asyncio", "traitlets", "httpx2")))
        self.address = (
            addresses.parse_public_url(self.public_url) if self.public_url else addresses.local_address(self.port)
        )
        self.base_url = self.address.prefix
        hosts = {self.address.host}
        if addresses.is_loopback(self.address.host.rpartition(":")[0]) and not self.public_url:
            hosts.add(f"localhost:{self.port}")
        origins = frozenset(f"{self.address.scheme}://{host}" for host in hosts)
        self.checks = RequestChecks(frozenset(hosts), origins, behind_proxy=self.behind_proxy)
        self.cookie = f"negolab-{self.kind}-{self.port}"
        install(msgspec.json.decode(self.own_texts, type=dict[str, str]))
        self.set_resources(nl_banners=gate_texts["banners"])
        self.config.HTMLExporter.language_code = gate_texts.LANGUAGE
        self.traffic = Traffic()
        """Budgets for what pages send and receive."""
        self.turns = Turns()
        self.refusals: Counter[str] = Counter()
        """Number of refusals, by status or reason."""

    @override
    def init_settings(self) -> dict[str, Any]:
        return {
            **super().init_settings(),
            "server": self,
            "default_handler_class": NotFound,
            "log_function": lambda handler: None,
            "disable_check_xsrf": True,
            "websocket_max_message_size": self.max_frame,
            "ws_ping_interval": 2000,  # milliseconds; a page that answers is present
        }

    @override
    def init_handlers(self) -> list[tuple[Any, ...]]:
        prefix = re.escape(self.base_url)
        return [(prefix + path, *rest) for path, *rest in [*self.pages(), *routes(self)]]

    def set_resources(self, **more: Any) -> None:
        """Pass these values to the template."""
        self._resources = {**getattr(self, "_resources", {}), **more}
        self.config.VoilaConfiguration.resources = self._resources
        self.voila_configuration.config.VoilaConfiguration.resources = self._resources

    def pages(self) -> list[tuple[Any, ...]]:
        """Return the routes that this server has besides those for its kernels."""
        raise NotImplementedError

    def disabled_defence(self) -> str:
        """Name the first defense that is off; "" if all are on."""
        handlers = [handler for _, handler, *_ in self.init_handlers()]
        checks = {
            "the guard at the websocket": issubclass(self.kernel_websocket_connection_class, guard.GuardedConnection),
            "the door before every route": all(issubclass(handler, CheckedHandler) for handler in handlers),
            "one notebook only": self.notebook_path is not None,
            "hidden tracebacks": not self.voila_configuration.show_tracebacks,
            "hidden sources": bool(self.voila_configuration.strip_sources),
            "our own template": self.voila_configuration.template == "negolab",
            "no kernel that comes back empty": not self.config.KernelManager.autorestart,
            "kernels that other users cannot hear": os.name != "posix" or self.config.KernelManager.transport == "ipc",
        }
        return next((name for name, is_on in checks.items() if not is_on), "")

    # While it listens.

    @override
    def listen(self) -> None:
        if fault := self.disabled_defence():
            self.log.error("not serving: %s is switched off", fault)
            self.exit(3)
        tls = {"certfile": self.certfile, "keyfile": self.keyfile} if self.certfile else None
        self.door = make_door(self.app, behind_proxy=self.behind_proxy, ssl_options=tls)
        try:
            self.door.listen(self.port, self.ip)
        except OSError as error:
            self.log.error("port %s cannot be used (%s): choose another", self.port, error.strerror)
            self.exit(2)
        if self.tied:
            logs.print_line("ready")  # for the process that started this one
        self.ioloop = tornado.ioloop.IOLoop.current()
        self.ioloop.add_callback(self._on_loop_started)
        try:
            self.ioloop.start()
        except KeyboardInterrupt:
            pass
        finally:
            self.stop()

    async def _on_loop_started(self) -> None:
        self._orphaned = False
        self._tasks: set[asyncio.Task[Any]] = set()
        log_failure = partial(self.log.error, "a kernel did not start: %s")
        self.pool = KernelPool(
            self.start_warm_kernel, self.is_alive, log_failure, self.pool_size, at_once=os.cpu_count() or 1
        )
        self.pool.fill()
        tornado.ioloop.PeriodicCallback(self.sweep, 1000 * SWEEP_INTERVAL).start()
        if self.tied:
            self.ioloop.add_handler(0, self._on_stdin, tornado.ioloop.IOLoop.READ)

    def _on_stdin(self, fd: Any, events: int) -> None:
        if not os.read(0, 4096):
            self.ioloop.remove_handler(0)
            self._orphaned = True
            self.ioloop.stop()

    async def start_warm_kernel(self) -> WarmKernel:
        """Start a kernel with the page of the server's only notebook."""
        return await render_page(self, os.path.relpath(self.notebook_path, self.root_dir))

    async def sweep(self) -> None:
        """Fill the pool, and end kernels that have died or that nobody is looking at."""
        self.door.connections.prune()
        await self.pool.tidy()
        now = time.monotonic()
        for kernel, seen in self.handed_out().items():
            if not await self.is_alive(kernel) or (now - seen > self.absent_after and not self._connections(kernel)):
                await self.end(kernel)

    def handed_out(self) -> dict[str, float]:
        """Return the kernels that have been handed out, and when their pages were last heard from."""
        raise NotImplementedError

    async def is_alive(self, kernel: str) -> bool:
        """Return True if the kernel's process is running."""
        if kernel not in self.kernel_manager:
            return False
        return bool(await self.kernel_manager.get_kernel(kernel).is_alive())

    def _connections(self, kernel: str) -> int:
        return int(self.kernel_manager.kernel_model(kernel)["connections"]) if kernel in self.kernel_manager else 0

    # Methods that the checks and routes call.

    async def authenticate(self, handler: CheckedHandler) -> str:
        """Return the requester's identity, or raise the refusal."""
        raise NotImplementedError

    def holder(self, handler: CheckedHandler) -> str:
        """Return the holder of the requests and connections: a known visitor, or else an address."""
        return self.checks.address(handler.request)

    def owns(self, visitor: str, kernel: str) -> bool:
        """Return True if the kernel exists and belongs to the visitor."""
        raise NotImplementedError

    async def state(self, visitor: str, kernel: str) -> KernelState:
        """Return the state to report to the kernel's page."""
        raise NotImplementedError

    def hear_of(self, kernel: str, *, is_here: bool) -> None:
        """Note a sign of life from a kernel's page, or that it closed a websocket."""

    async def end(self, kernel: str) -> None:
        """End, in the background, a kernel whose page is gone."""
        self.run_later(self._shutdown(kernel))

    async def _shutdown(self, kernel: str, *, now: bool = False) -> None:
        if kernel in self.kernel_manager:
            await self.kernel_manager.shutdown_kernel(kernel, now=now or not await self.is_alive(kernel))

    def run_later(self, work: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine in the background; failures are logged."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()):
            self.log.error("%s: %s", type(error).__name__, error)

    @override
    def stop(self) -> None:
        """End all kernels; any that are missed end by themselves once this process is gone."""

        async def end_all() -> None:
            self.pool.close()
            await self.kernel_manager.shutdown_all(now=self.kind != "admin")

        # The launcher also closes our standard input, which must not cut this short.
        self.ioloop.remove_handler(0)
        try:
            self.ioloop.run_sync(end_all, timeout=8)
        except Exception as error:
            self.log.error("at the end: %s: %s", type(error).__name__, error)
        finally:
            shutil.rmtree(self.connection_dir, ignore_errors=True)
            if self._orphaned and self.folder:
                _remove_folder(Path(self.folder))


def _remove_folder(folder: Path, within: float = 20.0) -> None:
    """Remove a folder in which other processes, which are ending at the same time, may still write a last file."""
    end = time.monotonic() + within
    while folder.exists() and time.monotonic() < end:
        shutil.rmtree(folder, ignore_errors=True)
        time.sleep(0.1)
