"""A cell is run: a papermill run in a kernel of its own, and a folder that appears when it is finished."""

from __future__ import annotations

import asyncio
import atexit
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from negolab import status, store
from negolab.analysis.summary import tally
from negolab.status import Fault, State, Status
from negolab.sweep.folder import NOTEBOOK, Folder
from negolab.sweep.kernels import Kernels, ended
from negolab.sweep.plan import OURS, Cell

if TYPE_CHECKING:
    from jupyter_client import AsyncKernelManager

LONGEST = 2000
"""Characters of an error's words that a status keeps; the notebook has all."""


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """What all cells of a sweep have in common, as a worker needs it. `cwd` is where the notebook runs, `environment`
    all that its kernel sees; `models`: that the plan has some."""

    folder: str
    cwd: str
    environment: dict[str, str]
    imports: str = ""
    known: tuple[str, ...] = ()
    cell_seconds: float | None = None
    models: bool = False


def run(job: Job, cell: Cell) -> Status:
    """Run a cell and publish its folder; what goes wrong with it is in its status. One that is finished is not run
    again."""
    folder = Folder(job.folder)
    if (there := status.read(folder.cell(cell.id))) is not None:
        return there
    attempt, number = folder.attempt(cell.id)
    began, worker = time.time(), f"{socket.gethostname()}:{os.getpid()}"
    folder.log(cell=cell.id, attempt=number, worker=worker, state="began")
    try:
        state, error = _executed(job, cell, attempt)
    except Exception as trouble:  # of ours or of this machine's, such as a disk that is full: this cell's alone
        state, error = "failed", Fault(kind=type(trouble).__name__, text=str(trouble)[:LONGEST])
    folder.log(cell=cell.id, attempt=number, worker=worker, state=state)
    usd = _paid(attempt) if job.models else None
    found = cell.ended(state, number, began, time.time(), worker=worker, error=error, usd=usd)
    status.write(attempt, found)
    if state == "done" and not folder.publish(attempt, cell.id):
        return status.read(folder.cell(cell.id)) or found
    return found


def _executed(job: Job, cell: Cell, attempt: Path) -> tuple[State, Fault | None]:
    from nbclient.exceptions import DeadKernelError
    from papermill.exceptions import PapermillExecutionError

    if strange := [name for name in cell.params if name not in job.known or name in OURS]:
        return "refused", Fault(kind="ValueError", text=f"the notebook has no parameter {strange[0]!r}")
    with _kernel(job) as kernel, _limited(kernel, job.cell_seconds) as late:
        try:
            given = {**cell.params, "out": str(attempt), "seed": cell.seed}
            executed(Path(job.folder) / NOTEBOOK, attempt / NOTEBOOK, given, kernel)
        except PapermillExecutionError as error:
            return "failed", Fault(kind=error.ename, text=error.evalue[:LONGEST], cell=error.cell_index + 1)
        except (DeadKernelError, RuntimeError, OSError):
            if late():
                return "timeout", Fault(kind="TimeoutError", text=f"not over after {job.cell_seconds:g} s")
            if _runs(kernel):
                raise
            return "died", Fault(kind="DeadKernelError", text="its kernel ended under it")
    return "done", None


def _paid(attempt: Path) -> float | None:
    """US dollars that the models of the games in it took; None where an answer has no known price, or what is there
    cannot be read."""
    try:
        taken = tally(store.iterate(attempt)).taken
    except ValueError:
        return None
    return None if taken.unpriced else taken.paid + taken.saved


def _runs(kernel: AsyncKernelManager) -> bool:
    return bool(asyncio.run(kernel.is_alive()))


def executed(source: Path, target: Path, given: Mapping[str, Any], kernel: AsyncKernelManager) -> Any:
    """The notebook `source`, run in that kernel with these parameters and kept as `target`; what papermill raises."""
    import papermill

    # Braces in a path would be blanks for papermill to fill.
    paths = (str(path).replace("{", "{{").replace("}", "}}") for path in (source, target))
    return papermill.execute_notebook(*paths, dict(given), km=kernel, progress_bar=False, kernel_name="python3")


@contextmanager
def _limited(kernel: AsyncKernelManager, seconds: float | None) -> Iterator[Callable[[], bool]]:
    """End the kernel after so many seconds, whatever its cell does; what is yielded says whether that happened."""
    late = threading.Event()

    def stop() -> None:
        late.set()
        kill(kernel)

    timer = None if seconds is None else threading.Timer(seconds, stop)
    if timer is not None:
        timer.daemon = True
        timer.start()
    try:
        yield late.is_set
    finally:
        if timer is not None:
            timer.cancel()


def kill(kernel: AsyncKernelManager) -> None:
    """End a kernel and what it started, from any thread."""
    pid: Any = getattr(kernel.provisioner, "pid", None)
    if pid:
        with suppress(ProcessLookupError):  # it was faster
            os.killpg(os.getpgid(pid), signal.SIGKILL)


# The worker's kernels.

_kernels: dict[bytes, Kernels] = {}
_lock = threading.Lock()


@contextmanager
def _kernel(job: Job) -> Iterator[AsyncKernelManager]:
    """A kernel for one cell."""
    key = msgspec.json.encode([job.environment, job.cwd, job.imports])
    with _lock:
        if key not in _kernels:
            for left in _kernels.values():
                left.close()
            _kernels.clear()
            _kernels[key] = Kernels(job.environment, job.cwd, job.imports)
        kernels = _kernels[key]
    kernel = kernels.take()
    try:
        yield kernel
    finally:
        ended(kernel)


@atexit.register
def close() -> None:
    """End the kernel that waits for a cell."""
    with _lock:
        for left in _kernels.values():
            left.close()
        _kernels.clear()
