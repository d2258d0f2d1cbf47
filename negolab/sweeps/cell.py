"""Running a cell: papermill executes the notebook in its own kernel, and the finished folder is published."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from negolab import store
from negolab._internal import clock
from negolab._internal.files import check_in_place, read_bytes
from negolab.analysis.replies import model_cost
from negolab.ledger import PICO, Cost
from negolab.record import Record
from negolab.sweeps import status
from negolab.sweeps.folder import NOTEBOOK, SweepFolder
from negolab.sweeps.kernels import close_kernels, kill_kernel, read_values, take_kernel
from negolab.sweeps.plan import SWEEP_PARAMETERS, SweepCell
from negolab.sweeps.sources import execute_notebook, leaving_cell
from negolab.sweeps.status import CellError, CellStatus, State

if TYPE_CHECKING:
    from jupyter_client import AsyncKernelManager


MAX_ERROR_TEXT = 2000
"""Most characters of an error that a status keeps; the notebook has all of them."""


class CellJob(msgspec.Struct, frozen=True, kw_only=True):
    """The part of a job that all cells of a sweep have in common, as sent to workers.

    Attributes:
        folder: The sweep's folder.
        notebook: The notebook, as hashed.
        cwd: Working directory of the kernel.
        environment: All environment variables of the kernel.
        imports: Code that imports the notebook's modules.
        parameters: Names of the notebook's parameters.
        cell_seconds: Time limit of a cell.
        models: True if the plan has models, so that the cost of a cell is computed.
        files: Absolute paths of the user's own players (`file.py:Class`) and scenarios, by the text in the plan.
        hashes: SHA-256 of the scenarios, by their paths.
    """

    folder: str
    notebook: str
    cwd: str
    environment: dict[str, str]
    imports: str = ""
    parameters: tuple[str, ...] = ()
    cell_seconds: float | None = None
    models: bool = False
    files: dict[str, str] = {}
    hashes: dict[str, str] = {}


_running: dict[Path, AsyncKernelManager] = {}
"""The kernels of the attempts running in this worker."""
_stopped: set[Path] = set()
"""Attempts whose sweep has ended."""


class SweepStopped(Exception):
    """A cell's sweep has ended: the attempt gets no status, so that the next run deletes it and runs the cell."""


def stop_cells(folder: Path) -> None:
    """End a sweep's kernels in this worker: those of its running cells, and the one that is ready."""
    for attempt, kernel in list(_running.items()):
        if attempt.is_relative_to(folder):
            _stopped.add(attempt)
            kill_kernel(kernel)
    threading.Thread(target=close_kernels).start()  # not in the event loop, which it would block


class _Ran(NamedTuple):
    """The outcome of executing a cell, with its kernel's values for a `CellStatus`."""

    state: State
    error: CellError | None = None
    values: dict[str, str] = {}


def run_cell(job: CellJob, cell: SweepCell) -> CellStatus:
    """Run a cell in a worker and publish its folder, unless it is already finished; errors are in its status."""
    folder = SweepFolder(job.folder)
    if (finished := status.read_status(folder.cell(cell.id))) is not None:
        return finished
    attempt, number = folder.new_attempt(cell.id)
    opened, began, worker = attempt.stat(), clock.time(), f"{socket.gethostname()}:{os.getpid()}"
    folder.log(cell=cell.id, attempt=number, worker=worker, state="began")
    try:
        _check_scenarios(job)
        state, error, values = _execute_cell(job, cell, attempt)
        _check_scenarios(job)
        check_in_place(attempt, opened)
    except SweepStopped:
        raise
    except Exception as raised:  # such as a full disk: it fails only this cell
        error = CellError(kind=type(raised).__name__, text=str(raised)[:MAX_ERROR_TEXT])
        state, error, values = _Ran("failed", error)
    ended = clock.time()
    folder.log(cell=cell.id, attempt=number, worker=worker, state=state)
    usd = _read_records(attempt, measure=state == "done", price=job.models)
    records = record_sizes(attempt) if state == "done" else {}
    found = {"error": error, "usd": usd, "records": records, "values": values}
    cell_status = cell.status(state, number, began, ended, worker=worker, **found)
    status.write_status(attempt, cell_status)
    if state == "done" and not folder.publish(attempt, cell.id):
        return status.read_status(folder.cell(cell.id)) or cell_status
    return cell_status


def _check_scenarios(job: CellJob) -> None:
    for path, sha256 in job.hashes.items():
        if hashlib.sha256(read_bytes(Path(path))).hexdigest() != sha256:
            raise ValueError(f"{path} has changed since its hash was taken; run the same command again")


def record_sizes(attempt: Path) -> dict[str, int]:
    """Return the size in bytes of each file of records in an attempt's folder, by its path there."""
    return {file.relative_to(attempt).as_posix(): file.stat().st_size for file in store.record_files(attempt)}


def _execute_cell(job: CellJob, cell: SweepCell, attempt: Path) -> _Ran:
    from nbclient.exceptions import DeadKernelError
    from papermill.exceptions import PapermillExecutionError

    if unknown := [name for name in cell.params if name not in job.parameters or name in SWEEP_PARAMETERS]:
        return _Ran("refused", CellError(kind="ValueError", text=f"the notebook has no parameter {unknown[0]!r}"))
    with (
        take_kernel(job.environment, job.cwd, job.imports) as kernel,
        _time_limit(kernel, job.cell_seconds) as timed_out,
    ):
        _running[attempt] = kernel
        try:
            given = _with_paths(cell.params, job.files)
            parameters = {**given, "out": str(attempt), "seed": cell.seed}
            executed = execute_notebook(job.notebook, attempt / NOTEBOOK, parameters, kernel)
            values = read_values(kernel, given)
        except PapermillExecutionError as error:
            where = error.cell_index + 1
            return _Ran("failed", CellError(kind=error.ename, text=error.evalue[:MAX_ERROR_TEXT], cell=where))
        except (DeadKernelError, RuntimeError, OSError):
            if attempt in _stopped:
                raise SweepStopped from None
            if timed_out():
                return _Ran("timeout", CellError(kind="TimeoutError", text=f"not done after {job.cell_seconds:g} s"))
            if asyncio.run(kernel.is_alive()):
                raise
            return _Ran("died", CellError(kind="DeadKernelError", text="its kernel died"))
        finally:
            del _running[attempt]
    if (left := leaving_cell(executed)) is not None:
        return _Ran("failed", CellError(kind="SystemExit", text="it ended the notebook", cell=left))
    if not any(file.name != NOTEBOOK for file in attempt.iterdir()):
        text = "no records in the folder `out`: the notebook played no matches"
        return _Ran("failed", CellError(kind="ValueError", text=text))
    # The user's own files are given as absolute paths, which another machine would not have.
    planned = {name: cell.params[name] if value == given[name] else value for name, value in values.items()}
    return _Ran("done", None, {name: json.dumps(value) for name, value in planned.items()})


def _with_paths(value: Any, files: Mapping[str, str]) -> Any:
    """Replace strings that name the user's own files with the files' paths."""
    if isinstance(value, dict):
        return {name: _with_paths(inner, files) for name, inner in value.items()}
    if isinstance(value, list):
        return [_with_paths(inner, files) for inner in value]
    return files.get(value, value) if isinstance(value, str) else value


def _read_records(attempt: Path, *, measure: bool, price: bool) -> float | None:
    """Read the records of an attempt once.

    Args:
        attempt: The attempt's folder.
        measure: Keep the measured matches next to the records, so that pages and reports need not replay them.
        price: Add up the cost of its models.

    Returns:
        US dollars at list prices; None if a price is unknown, a record cannot be read, or `price` is False.
    """
    taken, complete = Cost(), False

    def counted() -> Iterator[Record]:
        nonlocal taken, complete
        for record in store.iter_records(attempt):
            taken = taken.plus(model_cost(record))
            yield record
        complete = True

    records = counted()
    if measure:
        from negolab.analysis.match_frames import measure_folder  # pandas is slow to import

        with suppress(ValueError, OSError):  # such as a measure that fails: readers of the cell are told
            measure_folder(attempt, records)
    if price:
        with suppress(ValueError):
            for _ in records:  # the records that the measures did not reach
                pass
    is_known = price and complete and not (taken.unpriced or taken.unsaved or taken.uncounted)
    return (taken.pico + taken.saved) / PICO if is_known else None


@contextmanager
def _time_limit(kernel: AsyncKernelManager, seconds: float | None) -> Iterator[Callable[[], bool]]:
    """Kill the kernel after this many seconds; yield a function that returns True if that happened."""
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
