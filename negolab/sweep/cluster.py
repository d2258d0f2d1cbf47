"""Where cells run: worker processes on this machine, or those of a Dask scheduler that is there already."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.error import HTTPError
from urllib.request import urlopen
from uuid import uuid4

if TYPE_CHECKING:
    from distributed import Client

ANSWER_SECONDS, WORKER_SECONDS = 10.0, 30.0
"""Time in which a scheduler must answer, and have a worker."""
_SETTINGS = {
    # What a worker holds is small, and a notebook's memory is its kernel's.
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.terminate": False,
    # One cell at a time: what waits, waits at the scheduler, where any free worker finds it.
    "distributed.scheduler.worker-saturation": 1.0,
    "distributed.comm.timeouts.connect": f"{ANSWER_SECONDS:g}s",
}


@contextmanager
def connected(workers: int, scheduler: str | None) -> Iterator[Client]:
    """A client of a scheduler with workers. `ValueError` says what is wrong with an address."""
    import dask
    from distributed import Client

    with dask.config.set(_SETTINGS):
        if scheduler is None:
            with _local(workers) as address, Client(address, set_as_default=False) as client:
                yield client
            return
        with _remote(scheduler) as client:
            yield client


@contextmanager
def _local(workers: int) -> Iterator[str]:
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        processes=True,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
        memory_limit=0,
        silence_logs=50,
        preload=["negolab.sweep.unheeding"],
    ) as cluster:
        yield cluster.scheduler_address


@contextmanager
def _remote(scheduler: str) -> Iterator[Client]:
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


def reach(client: Client, url: str) -> None:
    """`ValueError` names a worker that does not reach the broker there."""
    for address, trouble in client.run(_reached, url).items():
        if trouble:
            raise ValueError(
                f"the worker at {address} does not reach the models' broker at {url} ({trouble}): name an address of "
                "this machine that all workers see with --broker"
            )


def _reached(url: str) -> str:
    """What is in the way; empty if nothing is. Without the sweep's token the broker only says that it is there."""
    try:
        with urlopen(url, timeout=ANSWER_SECONDS):
            return ""
    except HTTPError:
        return ""
    except OSError as error:
        return str(getattr(error, "reason", error))


def share(client: Client, folder: Path) -> None:
    """`ValueError` names the workers that do not see the folder: cells are published there."""
    token = uuid4().hex
    mark = folder / ".shared"
    mark.write_text(token, "ascii")
    try:
        found = client.run(_seen, str(mark))
    finally:
        mark.unlink()
    blind = [address for address, seen in found.items() if seen != token]
    if blind:
        raise ValueError(f"{folder} is not seen by the worker at {blind[0]}: choose a folder that all machines share")


def _seen(mark: str) -> str:
    try:
        return Path(mark).read_text("ascii")
    except OSError:
        return ""
