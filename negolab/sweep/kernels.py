"""Kernels for cells: each is used once, and the next one gets ready while a cell runs."""

from __future__ import annotations

import ast
import asyncio
import logging
import subprocess
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jupyter_client import AsyncKernelManager

READY_SECONDS = 60.0
"""Time in which a kernel must come up."""
TRIES = 3
log = logging.getLogger("negolab.sweep")


class Kernels:
    """Gets kernels ready, one ahead. `imports` are modules that the notebook loads anyway."""

    def __init__(self, environment: Mapping[str, str], cwd: str, imports: str = "") -> None:
        self._environment, self._cwd, self._imports = dict(environment), cwd, imports
        self._threads = ThreadPoolExecutor(1, thread_name_prefix="kernels")
        self._next: Future[AsyncKernelManager] | None = None

    def take(self) -> AsyncKernelManager:
        """A kernel that nobody has used; whoever takes it ends it. The next one starts meanwhile."""
        ready = self._next or self._begun()
        self._next = None
        kernel = ready.result()
        self._next = self._begun()
        return kernel

    def _begun(self) -> Future[AsyncKernelManager]:
        return self._threads.submit(started, self._environment, self._cwd, self._imports)

    def close(self) -> None:
        """End the kernel that nobody took."""
        ready, self._next = self._next, None
        if ready is not None:
            ended(ready.result())
        self._threads.shutdown()


def started(environment: Mapping[str, str], cwd: str, imports: str = "") -> AsyncKernelManager:
    """A kernel that is ready and has run the imports. One that ends at its start, as it does where another program was
    faster to take its port, is started anew."""
    for _ in range(TRIES - 1):
        try:
            return asyncio.run(_started(dict(environment), cwd, imports))
        except RuntimeError as error:
            log.info("a kernel did not start: %s", error)
    return asyncio.run(_started(dict(environment), cwd, imports))


async def _started(environment: dict[str, str], cwd: str, imports: str) -> AsyncKernelManager:
    from jupyter_client import AsyncKernelManager

    kernel = AsyncKernelManager(kernel_name="python3")
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    await kernel.start_kernel(env=environment, cwd=cwd, **quiet)
    client = kernel.client()
    client.start_channels()
    try:
        await client.wait_for_ready(timeout=READY_SECONDS)
        if imports:
            # Whatever fails here fails again in the notebook, where it is seen.
            client.execute(imports, silent=True, store_history=False)
            await client.get_shell_msg(timeout=READY_SECONDS)
    except BaseException:
        await kernel.shutdown_kernel(now=True)
        raise
    finally:
        client.stop_channels()
    return kernel


def ended(kernel: AsyncKernelManager) -> None:
    """End a kernel at once, with what it started in its own process group."""
    asyncio.run(kernel.shutdown_kernel(now=True))


def imports_of(sources: list[str]) -> str:
    """The imports at the top level of a notebook's cells, as code. What is no Python is left out."""
    found: dict[str, None] = {}
    for source in sources:
        try:
            tree: Any = ast.parse(source)
        except SyntaxError:  # such as a cell with a magic
            continue
        for node in tree.body:
            if isinstance(node, ast.Import):
                found |= dict.fromkeys(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found[node.module] = None
    return "\n".join(f"try:\n    __import__({name!r})\nexcept Exception:\n    pass" for name in found)
