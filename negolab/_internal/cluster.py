"""Dask workers: processes on this machine, or those of a running scheduler, for a sweep's cells and other jobs.

Local workers preload this module, so that Ctrl-C in a terminal stops only the driver.
"""

from __future__ import annotations

import logging
import signal
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4

from negolab._internal.files import atomic_write
from negolab._internal.lean import skip_iri_parser
from negolab._internal.workers import Load, ProcessWorker, Slice, StartWorker, WorkerDied, WorkersFailed, searched

if TYPE_CHECKING:
    from distributed import Client, Future


ANSWER_SECONDS, WORKER_SECONDS = 10.0, 30.0
"""Time limits for a scheduler to answer, and to have a worker."""
_SETTINGS = {
    # A worker holds little, because a notebook's memory is its kernel's.
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.terminate": False,
    # One cell at a time: others wait at the scheduler, where any free worker finds them.
    "distributed.scheduler.worker-saturation": 1.0,
    "distributed.comm.timeouts.connect": f"{ANSWER_SECONDS:g}s",
}


@contextmanager
def connect(workers: int, scheduler: str | None) -> Iterator[Client]:
    """Connect to a scheduler with workers (None: start them here); raise `ValueError` for an address that does not
    work."""
    import dask
    import distributed  # noqa: F401  (imported under the settings, its defaults would end with them)

    cluster = _local_cluster(workers) if scheduler is None else _remote_cluster(scheduler)
    with dask.config.set(_SETTINGS), cluster as client:
        yield client


@contextmanager
def _local_cluster(workers: int) -> Iterator[Client]:
    from distributed import Client, LocalCluster

    # Dask passes on this process's search path.
    path, sys.path[:] = list(sys.path), searched()
    try:
        cluster = LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            memory_limit=0,
            silence_logs=50,
            preload=["negolab._internal.cluster"],
        )
        with cluster, Client(cluster.scheduler_address, set_as_default=False) as client:
            yield client
    finally:
        sys.path[:] = path


@contextmanager
def _remote_cluster(scheduler: str) -> Iterator[Client]:
    from distributed import Client

    if not scheduler.startswith(("tcp://", "tls://")):
        raise ValueError(f"a scheduler's address must begin with tcp:// or tls://, not {scheduler!r}")
    try:
        client = Client(scheduler, timeout=ANSWER_SECONDS, set_as_default=False)
        # Whoever waits for a result says what goes wrong, in one line.
        logging.getLogger("distributed.client").setLevel(logging.CRITICAL)
    except OSError:
        raise ValueError(f"no scheduler answers at {scheduler}: start one with dask scheduler") from None
    with client:
        try:
            client.wait_for_workers(1, timeout=WORKER_SECONDS)
        except TimeoutError:
            raise ValueError(f"the scheduler at {scheduler} has no worker: start one with dask worker") from None
        yield client


def check_shared_folder(client: Client, folder: Path) -> None:
    """Raise `ValueError` for a worker that does not see a folder."""
    token = uuid4().hex
    mark = folder / ".shared"
    atomic_write(mark, token.encode())
    try:
        tokens = client.run(_read_mark, str(mark))
    finally:
        mark.unlink()
    blind = [address for address, read in tokens.items() if read != token]
    if blind:
        raise ValueError(f"the worker at {blind[0]} cannot see {folder}: choose a folder that all machines share")


def _read_mark(mark: str) -> str:
    try:
        return Path(mark).read_text("ascii")
    except OSError:
        return ""


def dask_setup(worker: Any) -> None:
    """Ignore Ctrl-C in a worker, and start it lean; Dask calls this in the worker's main thread."""
    skip_iri_parser()
    signal.signal(signal.SIGINT, signal.SIG_IGN)


# Jobs of a `WorkerPool`. Each thread of a Dask worker has them done by a process of its own, as on one machine: code is
# loaded anew for each pool, time limits hold, and a job that ends its process leaves the Dask worker alive.

_AHEAD = 2
"""Number of slices at the scheduler per thread, so that none waits for the next one."""


class ClusterJobs(NamedTuple):
    """A scheduler's workers, as a `WorkerPool` starts them."""

    start: StartWorker
    slots: int


@contextmanager
def cluster_jobs(scheduler: str, folder: Path) -> Iterator[ClusterJobs]:
    """Connect to a scheduler whose workers see a folder; raise the errors of `connect` and `check_shared_folder`."""
    with connect(0, scheduler) as client:
        check_shared_folder(client, folder)
        pool = uuid4().hex
        try:
            yield ClusterJobs(partial(_ClusterWorker, client, pool), _AHEAD * sum(client.nthreads().values()))
        finally:
            with suppress(OSError):  # the scheduler is gone, and its workers follow
                client.run(_end_workers, pool)


class _ClusterWorker:
    """A `Worker` that has slices done where the scheduler has room; a dead worker's slices go to another."""

    name = "a worker of the scheduler"

    def __init__(self, client: Client, pool: str, load: Load) -> None:
        self._client, self._pool, self._load = client, pool, load
        self._future: Future[Slice] | None = None

    def load(self) -> None:
        """Do nothing: the worker that gets a slice loads what it needs."""

    def do(self, jobs: Sequence[Any]) -> Slice:
        from distributed.scheduler import KilledWorker

        self._future = self._client.submit(_do_there, self._pool, self._load, jobs, pure=False)
        try:
            return self._future.result()
        except KilledWorker:
            raise WorkerDied("with its machine, again and again") from None
        except (CancelledError, OSError):
            raise WorkersFailed(
                "lost the connection to the scheduler: finished work is kept; run the same command again"
            ) from None

    def end(self) -> None:
        self._future = None

    def kill(self) -> None:
        if self._future is not None:
            self._future.cancel()


_workers: defaultdict[str, list[ProcessWorker]] = defaultdict(list)
_idle: defaultdict[str, list[ProcessWorker]] = defaultdict(list)
"""The workers that were started in this process for each pool, and those among them that are idle."""


def _do_there(pool: str, load: Load, jobs: Sequence[Any]) -> Slice:
    """Do jobs in a Dask worker, using a separate process."""
    try:
        worker = _idle[pool].pop()
    except IndexError:
        worker = ProcessWorker(load)
        _workers[pool].append(worker)
        worker.load()
    done = worker.do(jobs)
    _idle[pool].append(worker)
    return done


def _end_workers(pool: str) -> None:
    """End the processes that a pool has in a Dask worker, whatever they are doing."""
    _idle.pop(pool, None)
    for worker in _workers.pop(pool, ()):
        worker.kill()
