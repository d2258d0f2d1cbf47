"""Running a cell: papermill executes the notebook in its own kernel, and the finished folder is published.

Also the notebook itself: reading it, its hash and its parameters.
"""

from __future__ import annotations

import asyncio
import atexit
import hashlib
import os
import re
import signal
import socket
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from negolab import store, user_code
from negolab._internal import clock
from negolab._internal.files import atomic_write, check_in_place
from negolab._internal.validation import suggest
from negolab.analysis.summary import tally_records
from negolab.sweeps import status
from negolab.sweeps.folder import NOTEBOOK, SweepFolder
from negolab.sweeps.kernels import KernelPool, end_kernel
from negolab.sweeps.plan import SWEEP_PARAMETERS, Cell
from negolab.sweeps.status import CellError, CellStatus, State

if TYPE_CHECKING:
    from jupyter_client import AsyncKernelManager


MAX_ERROR_TEXT = 2000
"""Characters of an error that a status keeps; the notebook has all."""


class CellJob(msgspec.Struct, frozen=True, kw_only=True):
    """The part of a job that all cells of a sweep have in common, as it is sent to workers.

    Attributes:
        folder: The sweep's folder.
        cwd: Working directory of the kernel.
        environment: All environment variables of the kernel.
        imports: Code that imports the notebook's modules.
        parameters: Names of the notebook's parameters.
        cell_seconds: Time limit of a cell.
        models: The plan has models, so that the cost of a cell is computed.
        files: Absolute paths of the user's own players (`file.py:Class`) and scenarios, by the text in the plan.
    """

    folder: str
    cwd: str
    environment: dict[str, str]
    imports: str = ""
    parameters: tuple[str, ...] = ()
    cell_seconds: float | None = None
    models: bool = False
    files: dict[str, str] = {}


def run_cell(job: CellJob, cell: Cell) -> CellStatus:
    """Run a cell in a worker and publish its folder, unless it is finished already; errors are in its status."""
    folder = SweepFolder(job.folder)
    if (finished := status.read_status(folder.cell(cell.id))) is not None:
        return finished
    attempt, number = folder.new_attempt(cell.id)
    opened, began, worker = attempt.stat(), clock.time(), f"{socket.gethostname()}:{os.getpid()}"
    folder.log(cell=cell.id, attempt=number, worker=worker, state="began")
    try:
        state, error = _execute_cell(job, cell, attempt)
        check_in_place(attempt, opened)
    except Exception as raised:  # such as a full disk: it fails this cell only
        state, error = "failed", CellError(kind=type(raised).__name__, text=str(raised)[:MAX_ERROR_TEXT])
    folder.log(cell=cell.id, attempt=number, worker=worker, state=state)
    usd = _model_cost(attempt) if job.models else None
    records = record_sizes(attempt) if state == "done" else {}
    cell_status = cell.status(state, number, began, clock.time(), worker=worker, error=error, usd=usd, records=records)
    status.write_status(attempt, cell_status)
    if state == "done":
        _keep_matches(attempt)
    if state == "done" and not folder.publish(attempt, cell.id):
        return status.read_status(folder.cell(cell.id)) or cell_status
    return cell_status


def record_sizes(attempt: Path) -> dict[str, int]:
    """Return the bytes of each file of records in an attempt's folder, by its path there."""
    return {file.relative_to(attempt).as_posix(): file.stat().st_size for file in store.record_files(attempt)}


def _execute_cell(job: CellJob, cell: Cell, attempt: Path) -> tuple[State, CellError | None]:
    from nbclient.exceptions import DeadKernelError
    from papermill.exceptions import PapermillExecutionError

    if unknown := [name for name in cell.params if name not in job.parameters or name in SWEEP_PARAMETERS]:
        return "refused", CellError(kind="ValueError", text=f"the notebook has no parameter {unknown[0]!r}")
    with _kernel(job) as kernel, _time_limit(kernel, job.cell_seconds) as timed_out:
        try:
            parameters = {**_with_paths(cell.params, job.files), "out": str(attempt), "seed": cell.seed}
            execute_notebook(Path(job.folder) / NOTEBOOK, attempt / NOTEBOOK, parameters, kernel)
        except PapermillExecutionError as error:
            return "failed", CellError(kind=error.ename, text=error.evalue[:MAX_ERROR_TEXT], cell=error.cell_index + 1)
        except (DeadKernelError, RuntimeError, OSError):
            if timed_out():
                return "timeout", CellError(kind="TimeoutError", text=f"not over after {job.cell_seconds:g} s")
            if asyncio.run(kernel.is_alive()):
                raise
            return "died", CellError(kind="DeadKernelError", text="its kernel ended under it")
    return "done", None


def _with_paths(value: Any, files: Mapping[str, str]) -> Any:
    """Replace texts that name files of the user's own by their paths."""
    if isinstance(value, dict):
        return {name: _with_paths(inner, files) for name, inner in value.items()}
    if isinstance(value, list):
        return [_with_paths(inner, files) for inner in value]
    return files.get(value, value) if isinstance(value, str) else value


def _keep_matches(attempt: Path) -> None:
    """Keep the measured matches beside the records, so that pages and reports need not replay them."""
    from negolab.analysis.match_frames import read_matches  # pandas is slow to import

    with suppress(ValueError, OSError):  # such as a measure that fails: who reads the cell is told
        read_matches(attempt)


def _model_cost(attempt: Path) -> float | None:
    """Return the US dollars of an attempt's games; None where a price is unknown or records cannot be read."""
    try:
        taken = tally_records(store.iter_records(attempt)).taken
    except ValueError:
        return None
    return None if taken.unpriced else taken.paid + taken.saved


def execute_notebook(source: Path, target: Path, parameters: Mapping[str, Any], kernel: AsyncKernelManager) -> Any:
    """Run the notebook `source` in a kernel, write it to `target` and return it; raises what papermill raises."""
    import papermill

    # Papermill would fill in braces in a path.
    paths = (str(path).replace("{", "{{").replace("}", "}}") for path in (source, target))
    return papermill.execute_notebook(*paths, dict(parameters), km=kernel, progress_bar=False, kernel_name="python3")


@contextmanager
def _time_limit(kernel: AsyncKernelManager, seconds: float | None) -> Iterator[Callable[[], bool]]:
    """Kill the kernel after so many seconds; yield a function that returns True if that happened."""
    timed_out = threading.Event()

    def stop() -> None:
        timed_out.set()
        kill_kernel(kernel)

    timer = None if seconds is None else threading.Timer(seconds, stop)
    if timer is not None:
        timer.daemon = True
        timer.start()
    try:
        yield timed_out.is_set
    finally:
        if timer is not None:
            timer.cancel()


def kill_kernel(kernel: AsyncKernelManager) -> None:
    """Kill a kernel and its process group, from any thread."""
    pid: Any = getattr(kernel.provisioner, "pid", None)
    if pid:
        with suppress(ProcessLookupError):  # it has ended by itself
            os.killpg(os.getpgid(pid), signal.SIGKILL)


_pools: dict[bytes, KernelPool] = {}
"""The pool of this worker by its job; of the last job only."""
_lock = threading.Lock()


@contextmanager
def _kernel(job: CellJob) -> Iterator[AsyncKernelManager]:
    """Take a kernel for one cell from the worker's pool, and end it afterwards."""
    key = msgspec.json.encode([job.environment, job.cwd, job.imports])
    with _lock:
        if key not in _pools:
            _close_pools()
            _pools[key] = KernelPool(job.environment, job.cwd, job.imports)
        pool = _pools[key]
    kernel = pool.take()
    try:
        yield kernel
    finally:
        end_kernel(kernel)


@atexit.register
def close_kernels() -> None:
    """End the kernel that is ready for the next cell."""
    with _lock:
        _close_pools()


def _close_pools() -> None:
    while _pools:
        _pools.popitem()[1].close()


def load_notebook(path: Path) -> Any:
    """Read a notebook, of Python unless it says otherwise; ValueError if the file holds none."""
    import nbformat  # a third of a second to import

    try:
        nb: Any = nbformat.read(path, 4)
    except Exception as error:  # nbformat raises whatever its readers raise
        raise ValueError(f"{path} is no notebook: {error}") from None
    nb.metadata.setdefault("kernelspec", {"name": "python3", "language": "python", "display_name": "Python 3"})
    nb.metadata.setdefault("language_info", {"name": "python"})
    return nb


def code_sources(notebook: Any) -> list[str]:
    """Return the sources of a notebook's code cells."""
    return [cell.source for cell in notebook.cells if cell.cell_type == "code"]


def own_modules(path: Path) -> dict[str, bytes]:
    """Read the modules beside a notebook that it imports, directly or indirectly, and the files of players that it
    names, such as `mine.py:Haggler`."""
    sources = code_sources(load_notebook(path))
    modules = user_code.read_modules(user_code.imported_modules(sources), path.parent)
    for file in [path.parent / name for source in sources for name in _PLAYER_FILE.findall(source)]:
        modules |= user_code.read_modules([file.stem], file.parent)
    return modules


def write_modules(modules: Mapping[str, bytes], folder: Path) -> None:
    """Write modules that were read into a folder."""
    for name, data in modules.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        atomic_write(file, data)


_PLAYER_FILE = re.compile(r"""["']([\w./-]+\.py):[A-Za-z_]""")


def notebook_hash(path: Path, modules: Mapping[str, bytes] | None = None) -> str:
    """Hash a notebook's cells, without outputs, and the modules beside it that it imports (None: read them)."""
    cells = [(cell.cell_type, cell.source, cell.metadata.get("tags", [])) for cell in load_notebook(path).cells]
    digest = hashlib.sha256(repr(cells).encode())
    for name, data in sorted((own_modules(path) if modules is None else modules).items()):
        digest.update(name.encode() + b"\0" + data)
    return digest.hexdigest()


def notebook_parameters(path: Path) -> list[str]:
    """Return the names in the cell tagged `parameters`; ValueError if there is none, or `out` or `seed` is missing."""
    from papermill import inspect_notebook  # half a second to import

    names = list(inspect_notebook(load_notebook(path)))
    if not names:
        raise ValueError(f"{path} has no parameters: tag the cell that sets them with `parameters`")
    for name in SWEEP_PARAMETERS:
        if name not in names:
            raise ValueError(f"{path} has no parameter {name}: a sweep sets where records go (out) and the seed (seed)")
    return names


def check_parameters(path: Path, names: Sequence[str]) -> None:
    """Raise ValueError for the first parameter that the notebook does not have, with near names."""
    settable = [name for name in notebook_parameters(path) if name not in SWEEP_PARAMETERS]
    for name in names:
        if name not in settable:
            raise ValueError(f"{path.name} has no parameter {name!r}: {suggest(name, settable)}")
