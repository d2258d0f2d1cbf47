"""Dask workers for cells: processes on this machine, or those of a running scheduler.

Local workers preload this module, so that Ctrl-C in a terminal stops only the driver.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError
from urllib.request import urlopen
from uuid import uuid4

from negolab._internal.files import atomic_write

if TYPE_CHECKING:
    from distributed import Client


ANSWER_SECONDS, WORKER_SECONDS = 10.0, 30.0
"""Time limits for a scheduler to answer, and to have a worker."""
_SETTINGS = {
    # A worker holds little: a notebook's memory is its kernel's.
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
    """Connect to a scheduler with workers (None: start them here); ValueError for an address that does not work."""
    import dask
    import distributed  # noqa: F401  (imported under the settings, its defaults would end with them)

    cluster = _local_cluster(workers) if scheduler is None else _remote_cluster(scheduler)
    with dask.config.set(_SETTINGS), cluster as client:
        yield client


@contextmanager
def _local_cluster(workers: int) -> Iterator[Client]:
    from distributed import Client, LocalCluster

    cluster = LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        processes=True,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
        memory_limit=0,
        silence_logs=50,
        preload=["negolab.sweeps.cluster"],
    )
    with cluster, Client(cluster.scheduler_address, set_as_default=False) as client:
        yield client


@contextmanager
def _remote_cluster(scheduler: str) -> Iterator[Client]:
    from distributed import Client

    if not scheduler.startswith(("tcp://", "tls://")):
        raise ValueError(f"a scheduler's address begins with tcp:// or tls://, not {scheduler!r}")
    try:
        client = Client(scheduler, timeout=ANSWER_SECONDS, set_as_default=False)
    except OSError:
        raise ValueError(f"no scheduler answers at {scheduler}: start one with dask scheduler") from None
    with client:
        try:
            client.wait_for_workers(1, timeout=WORKER_SECONDS)
        except TimeoutError:
            raise ValueError(f"the scheduler at {scheduler} has no worker: start one with dask worker") from None
        yield client


def check_broker(client: Client, url: str) -> None:
    """Raise ValueError for a worker that cannot connect to the broker."""
    for address, error in client.run(_broker_error, url).items():
        if error:
            raise ValueError(
                f"the worker at {address} does not reach the models' broker at {url} ({error}): name an address of "
                "this machine that all workers see with --broker"
            )


def _broker_error(url: str) -> str:
    """Return the error of a connection, "" if it works; without the sweep's token the broker answers 401."""
    try:
        with urlopen(url, timeout=ANSWER_SECONDS):
            return ""
    except HTTPError:
        return ""
    except OSError as error:
        return str(getattr(error, "reason", error))


def check_shared_folder(client: Client, folder: Path) -> None:
    """Raise ValueError for a worker that does not see the sweep's folder."""
    token = uuid4().hex
    mark = folder / ".shared"
    atomic_write(mark, token.encode())
    try:
        tokens = client.run(_read_mark, str(mark))
    finally:
        mark.unlink()
    blind = [address for address, read in tokens.items() if read != token]
    if blind:
        raise ValueError(f"{folder} is not seen by the worker at {blind[0]}: choose a folder that all machines share")


def _read_mark(mark: str) -> str:
    try:
        return Path(mark).read_text("ascii")
    except OSError:
        return ""


def dask_setup(worker: Any) -> None:
    """Ignore Ctrl-C in a worker; Dask calls this in its main thread."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
