"""A pool of kernels that have already run a page's cells, so that no visitor has to wait for one to start."""

from __future__ import annotations

import asyncio
import os
import resource
import sys
import time
from collections import deque
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, NamedTuple

from voila.notebook_renderer import NotebookRenderer
from voila.utils import get_page_config

from negolab_widgets.server.config import PLOTLY, WITH_FIGURES

MAX_PAUSE = 30.0
"""Maximum number of seconds between attempts when kernels do not start."""
CALM = 2.0
"""Seconds until a kernel that was taken is replaced, unless somebody comes; starting one slows the page being
loaded."""


class WarmKernel(NamedTuple):
    """A kernel and the page that it rendered."""

    kernel: str
    html: str


class KernelPool:
    """Keep `size` warm kernels, starting at most `at_once` at a time, so that a few are ready soon rather than all of
    them late."""

    def __init__(
        self,
        heat: Callable[[], Awaitable[WarmKernel]],
        alive: Callable[[str], Awaitable[bool]],
        failed: Callable[[Exception], None],
        size: int,
        at_once: int = 2,
    ) -> None:
        self._heat, self._alive, self._failed, self._size, self._at_once = heat, alive, failed, size, at_once
        self._warm: deque[WarmKernel] = deque()
        self._heating: set[asyncio.Task[None]] = set()
        self._failures = 0
        self._again = 0.0
        self._closed = False

    def __len__(self) -> int:
        return len(self._warm)

    def take(self) -> WarmKernel | None:
        """Take the kernel that has been warm longest; its replacement starts once the page that took it has loaded."""
        if not self._warm:
            self.fill()
            return None
        asyncio.get_running_loop().call_later(CALM, self.fill)
        return self._warm.popleft()

    def fill(self) -> None:
        """Start missing kernels, but after a failure only once some time has passed."""
        while not self._closed and time.monotonic() >= self._again:
            if len(self._heating) >= self._at_once or len(self._warm) + len(self._heating) >= self._size:
                return
            task = asyncio.ensure_future(self._add())
            self._heating.add(task)
            task.add_done_callback(self._heated)

    async def tidy(self) -> None:
        """Drop kernels that died while waiting, and refill the pool."""
        for warm in list(self._warm):
            if not await self._alive(warm.kernel) and warm in self._warm:
                self._warm.remove(warm)
        self.fill()

    def close(self) -> None:
        """Start no more kernels."""
        self._closed = True
        for task in self._heating:
            task.cancel()

    async def _add(self) -> None:
        try:
            self._warm.append(await self._heat())
            self._failures = 0
        except Exception as error:
            self._failures += 1
            self._again = time.monotonic() + min(MAX_PAUSE, 2.0**self._failures)
            self._failed(error)

    def _heated(self, task: asyncio.Task[None]) -> None:
        self._heating.discard(task)
        self.fill()


async def render_page(app: Any, notebook: str) -> WarmKernel:
    """Start a kernel, let it run a notebook's cells, and return it with the resulting page."""
    about = {"settings": app.app.settings, "log": app.log, "voila_configuration": app.voila_configuration}
    page = get_page_config(base_url=app.base_url, **about)
    if Path(notebook).stem not in WITH_FIGURES:
        page["federated_extensions"] = [each for each in page["federated_extensions"] if each["name"] != PLOTLY]
    renderer = NotebookRenderer(
        voila_configuration=app.voila_configuration,
        traitlet_config=app.config,
        notebook_path=notebook,
        template_paths=app.template_paths,
        config_manager=app.config_manager,
        contents_manager=app.contents_manager,
        base_url=app.base_url,
        kernel_spec_manager=app.kernel_spec_manager,
        page_config=page,
    )
    await renderer.initialize()
    manager = app.kernel_manager
    kernel = await manager.start_kernel(
        kernel_name=renderer.notebook.metadata.kernelspec.name, path="", env=dict(os.environ), **app.kernel_options
    )
    limit_process(manager.get_kernel(kernel).provisioner.pid, app.kernel_memory)
    try:
        return WarmKernel(kernel, await renderer.generate_content_str(kernel, manager.get_kernel(kernel)))
    except BaseException:
        await manager.shutdown_kernel(kernel, now=True)
        raise


KERNEL_NICENESS = 5
"""Kernels give way to the servers, which all pages wait for."""


def limit_process(pid: int, memory: int) -> None:
    """Limit a process's data (heap and private mappings, in bytes; 0: unlimited), and lower its priority."""
    if memory and sys.platform == "linux":
        resource.prlimit(pid, resource.RLIMIT_DATA, (memory, memory))
    os.setpriority(os.PRIO_PROCESS, pid, KERNEL_NICENESS)


def processor_seconds(pid: int) -> float:
    """Return the processor time of a process in seconds; 0 if it cannot be determined."""
    try:
        user, system = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[11:13]
    except OSError:
        return 0.0
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")
