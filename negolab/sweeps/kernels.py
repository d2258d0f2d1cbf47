"""Kernels for cells: each is used once, and the next one starts while a cell runs."""

from __future__ import annotations

import asyncio
import logging
import subprocess
from collections.abc import Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING

from negolab.user_code import imported_modules

if TYPE_CHECKING:
    from jupyter_client import AsyncKernelManager

READY_SECONDS = 60.0
"""Time limit for the start of a kernel."""
TRIES = 3
log = logging.getLogger("negolab.sweeps")


class KernelPool:
    """Start kernels one ahead; `imports` is code that loads the notebook's modules in advance."""

    def __init__(self, environment: Mapping[str, str], cwd: str, imports: str = "") -> None:
        self._environment, self._cwd, self._imports = dict(environment), cwd, imports
        self._threads = ThreadPoolExecutor(1, thread_name_prefix="kernels")
        self._next: Future[AsyncKernelManager] | None = None

    def take(self) -> AsyncKernelManager:
        """Return an unused kernel, which the caller ends, and start the next one."""
        starting = self._next or self._start()
        self._next = None
        kernel = starting.result()
        self._next = self._start()
        return kernel

    def _start(self) -> Future[AsyncKernelManager]:
        return self._threads.submit(start_kernel, self._environment, self._cwd, self._imports)

    def close(self) -> None:
        """End the kernel that was not taken."""
        starting, self._next = self._next, None
        if starting is not None:
            end_kernel(starting.result())
        self._threads.shutdown()


def start_kernel(environment: Mapping[str, str], cwd: str, imports: str = "") -> AsyncKernelManager:
    """Start a kernel and run the imports in it; try again if it ends, as when its port was taken."""
    for _ in range(TRIES - 1):
        try:
            return asyncio.run(_start_kernel(dict(environment), cwd, imports))
        except RuntimeError as error:
            log.info("a kernel did not start: %s", error)
    return asyncio.run(_start_kernel(dict(environment), cwd, imports))


async def _start_kernel(environment: dict[str, str], cwd: str, imports: str) -> AsyncKernelManager:
    from jupyter_client import AsyncKernelManager

    kernel = AsyncKernelManager(kernel_name="python3")
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    await kernel.start_kernel(env=environment, cwd=cwd, **quiet)
    client = kernel.client()
    client.start_channels()
    try:
        await client.wait_for_ready(timeout=READY_SECONDS)
        if imports:
            client.execute(imports, silent=True, store_history=False)
            await client.get_shell_msg(timeout=READY_SECONDS)
    except BaseException:
        await kernel.shutdown_kernel(now=True)
        raise
    finally:
        client.stop_channels()
    return kernel


def end_kernel(kernel: AsyncKernelManager) -> None:
    """End a kernel at once, with its process group."""
    asyncio.run(kernel.shutdown_kernel(now=True))


def preload_code(sources: Iterable[str]) -> str:
    """Return code that imports what a notebook imports; failures are left to the notebook, where they are seen."""
    modules = imported_modules(sources)
    return "\n".join(f"try:\n    __import__({name!r})\nexcept Exception:\n    pass" for name in modules)
