"""Kernels for cells: each is used once, and the next one starts while a cell runs."""

from __future__ import annotations

import ast
import asyncio
import atexit
import json
import logging
import os
import signal
import subprocess
import threading
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jupyter_client import AsyncKernelManager

READY_SECONDS = 60.0
"""Seconds within which a kernel must start."""
TRIES = 3
_AS_JSON = "__import__('json').dumps({}, default=lambda value: type(value).__name__)"
log = logging.getLogger("negolab.sweeps")


class KernelPool:
    """Start one kernel ahead; `imports` is code that loads the notebook's modules in advance."""

    def __init__(self, environment: Mapping[str, str], cwd: str, imports: str = "") -> None:
        self._environment, self._cwd, self._imports = dict(environment), cwd, imports
        self._threads = ThreadPoolExecutor(1, thread_name_prefix="kernels")
        self._next: Future[AsyncKernelManager] | None = None

    def take(self) -> AsyncKernelManager:
        """Return an unused kernel, which the caller must end, and start the next one."""
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
    """Start a kernel and run the imports in it; retry if it ends, as when its port was taken."""
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
    # No file in the folder is imported in place of an installed or missing module; `imports` names those that cells may
    # use.
    safe = {"env": {**environment, "PYTHONSAFEPATH": "1"}, "extra_arguments": ["--InteractiveShellApp.ignore_cwd=True"]}
    await kernel.start_kernel(cwd=cwd, **safe, **quiet)
    client = kernel.client()
    client.start_channels()
    try:
        await client.wait_for_ready(timeout=READY_SECONDS)
        if imports:
            quietly = {"silent": True, "store_history": False, "reply": True}
            answer = await client.execute(imports, **quietly, timeout=READY_SECONDS)
            if answer["content"]["status"] == "error":
                raise ValueError(answer["content"]["evalue"])
    except BaseException:
        await kernel.shutdown_kernel(now=True)
        raise
    finally:
        client.stop_channels()
    return kernel


def end_kernel(kernel: AsyncKernelManager) -> None:
    """End a kernel immediately, with its process group."""
    asyncio.run(kernel.shutdown_kernel(now=True))


def kill_kernel(kernel: AsyncKernelManager) -> None:
    """Kill a kernel and its process group, from any thread."""
    pid: Any = getattr(kernel.provisioner, "pid", None)
    if pid:
        with suppress(ProcessLookupError):  # it has already ended
            os.killpg(os.getpgid(pid), signal.SIGKILL)


def read_values(kernel: AsyncKernelManager, names: Iterable[str]) -> dict[str, Any]:
    """Return variables' values in a kernel that has run: JSON, or a string that names a type or says why there is no
    value."""
    return asyncio.run(_read_values(kernel, {name: _AS_JSON.format(name) for name in names}))


async def _read_values(kernel: AsyncKernelManager, expressions: dict[str, str]) -> dict[str, Any]:
    client = kernel.client()
    client.start_channels()
    try:
        reply = await client.execute("", silent=True, user_expressions=expressions, reply=True, timeout=READY_SECONDS)
    finally:
        client.stop_channels()
    return {
        name: json.loads(ast.literal_eval(found["data"]["text/plain"]))
        if found["status"] == "ok"
        else f"{found['ename']}: {found['evalue']}"
        for name, found in reply["content"]["user_expressions"].items()
    }


_Kind = tuple[frozenset[tuple[str, str]], str, str]
_pools: dict[_Kind, KernelPool] = {}
"""This process's pool, by the arguments its kernels are started with; only for the last job."""
_lock = threading.Lock()


@contextmanager
def take_kernel(environment: Mapping[str, str], cwd: str, imports: str) -> Iterator[AsyncKernelManager]:
    """Take a kernel for one cell from this process's pool, and end it afterward."""
    kind = frozenset(environment.items()), cwd, imports
    with _lock:
        if kind not in _pools:
            _close_pools()
            _pools[kind] = KernelPool(environment, cwd, imports)
        pool = _pools[kind]
    kernel = pool.take()
    try:
        yield kernel
    finally:
        end_kernel(kernel)


@atexit.register
def close_kernels() -> None:
    """End the kernel kept ready for the next cell."""
    with _lock:
        _close_pools()


def _close_pools() -> None:
    while _pools:
        _pools.popitem()[1].close()
