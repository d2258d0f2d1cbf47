"""Jobs in worker processes, such as scripted games or the records of an export; only the caller's own process keeps
their results.

Workers are plain subprocesses and not those of `multiprocessing` or `concurrent.futures`, which import the user's main
script again, so a script that calls `nl.run` needs no `if __name__ == "__main__"`. Caller and worker take turns, over
two pipes: jobs go out, and the results of those done within `SLICE_SECONDS` come back.
"""

from __future__ import annotations

import asyncio
import gc
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Protocol, TypeVar, cast

import msgspec

WORKERS = "NEGOLAB_WORKERS"
"""Environment variable: number of worker processes for a run that is not told how many; 1 inside a sweep's cell."""
SLICE_SECONDS = 0.2
"""Seconds of jobs after which a worker sends their results; this much is lost if all processes are killed."""
_FIRST_JOBS = 8
"""Number of jobs in a worker's first slice, before it is known how long they take."""
MAX_DEATHS = 3
"""Number of times in a row that a worker may end before it is given a job; then all is given up."""
Work = Callable[[Any], Any]
"""Function that does a job and returns its result."""
Load = Callable[[], Work]
"""Function that is called once in each worker, which finds it by its module and name."""
T = TypeVar("T")


class WorkersFailed(Exception):
    """Workers cannot do any job; the text says why."""


def count_workers(asked: int | None, jobs: int, automatic_from: int) -> int:
    """Return how many processes do the jobs; 1 is the caller's own.

    Args:
        asked: The number that the user asked for (None: a worker per core above `automatic_from` jobs).
        jobs: Number of jobs.
        automatic_from: Number of jobs above which workers are started automatically; below it, starting them takes
            longer than they save.

    Raises:
        ValueError: The environment variable NEGOLAB_WORKERS is not a number.
    """
    if asked is None and (text := os.environ.get(WORKERS)):
        if not (text.isascii() and text.isdigit() and int(text)):
            raise ValueError(f"{WORKERS} must be a whole number above 0, not {text!r}")
        asked = int(text)
    if asked is None:
        asked = _cores() if jobs > automatic_from else 1
    return max(1, min(asked, jobs))


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_blocking(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end, in a thread of its own if an event loop is already running."""
    if not is_loop_running():
        return asyncio.run(coroutine)
    with ThreadPoolExecutor(1, thread_name_prefix="negolab-play") as thread:
        return thread.submit(asyncio.run, coroutine).result()


def is_loop_running() -> bool:
    """Return True inside a running event loop, as in Jupyter."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


# The caller's side.


class Slice(msgspec.Struct):
    """Results of jobs, and the seconds they took."""

    results: list[Any]
    seconds: float

    @property
    def jobs_a_slice(self) -> int:
        """Number of jobs that fill a slice, if they are like these."""
        return max(1, int(SLICE_SECONDS * len(self.results) / max(self.seconds, 1e-6)))


class Worker(Protocol):
    """A worker as its caller sees it; its methods wait, each in a thread, and raise `WorkerDied` if it ends on its own.

    Attributes:
        name: Its name in messages.
    """

    name: str

    def load(self) -> None:
        """Let it load what does the jobs; raise `WorkersFailed` if it cannot."""

    def do(self, jobs: Sequence[Any]) -> Slice:
        """Let it do jobs, in order, for as long as a slice takes, and at least one."""

    def end(self) -> None:
        """Let it end on its own, because it has no more jobs to wait for."""

    def kill(self) -> None:
        """End it, whatever it is doing."""


StartWorker = Callable[[Load], Worker]


class WorkerPool:
    """Does jobs in workers; one that dies is replaced.

    The jobs that it was given are then done one at a time, so that one that ends its worker again fails alone.

    Args:
        load: Returns, in each worker, the function that does a job.
        jobs: The jobs; they and their results must be picklable.
        count: Number of jobs.
        workers: Number of workers.
        keep: Called with jobs that a worker has done, and with their results.
        fail: Called with a job that cannot be done, and the reason.
        may_begin: Waits while work is paused; returns False if no more jobs may begin.
        notify: Shows a message.
        what: Name of several jobs in messages.
        start: Starts a worker (None: a process on this machine).
    """

    def __init__(
        self,
        load: Load,
        jobs: Iterator[Any],
        count: int,
        workers: int,
        *,
        keep: Callable[[Sequence[Any], Sequence[Any]], None],
        fail: Callable[[Any, str], None],
        may_begin: Callable[[], Awaitable[bool]],
        notify: Callable[[str], None],
        what: str,
        start: StartWorker | None = None,
    ) -> None:
        self._load, self._jobs, self._left, self._count = load, jobs, count, workers
        self._start = start or ProcessWorker
        self._keep, self._fail, self._may_begin, self._notify = keep, fail, may_begin, notify
        self._what = what

    async def work(self) -> None:
        """Do all jobs, or those that may begin.

        Raises:
            WorkersFailed: Workers cannot load what does the jobs, or end again and again while doing so.
        """
        with ThreadPoolExecutor(self._count, thread_name_prefix="negolab-worker") as threads:
            slots = [asyncio.create_task(self._fill_slot(threads)) for _ in range(self._count)]
            try:
                await asyncio.gather(*slots)
            finally:
                for slot in slots:
                    slot.cancel()
                await asyncio.gather(*slots, return_exceptions=True)

    async def _fill_slot(self, threads: ThreadPoolExecutor) -> None:
        """Run a worker until no job is left, and start a new one when it dies."""
        ask = partial(asyncio.get_running_loop().run_in_executor, threads)
        owed: deque[Any] = deque()
        alone = deaths = 0
        while True:
            worker, wanted = self._start(self._load), _FIRST_JOBS
            jobs: list[Any] = []
            try:
                await ask(worker.load)
                while jobs := await self._next_jobs(owed, 1 if alone else wanted):
                    done = await ask(worker.do, jobs)
                    results, wanted = done.results, done.jobs_a_slice
                    owed.extendleft(reversed(jobs[len(results) :]))
                    alone = max(0, alone - len(results))
                    self._keep(jobs[: len(results)], results)
                await ask(worker.end)
                return
            except WorkerDied as death:
                deaths = 0 if jobs else deaths + 1
                if deaths == MAX_DEATHS:
                    raise WorkersFailed(f"workers ended {deaths} times in a row, the last {death}") from None
                if alone and jobs:
                    alone -= 1
                    self._fail(jobs[0], f"its worker ended {death}, twice")
                else:
                    self._notify(f"{worker.name} ended {death}: a new one plays its {len(jobs)} {self._what}")
                    owed.extendleft(reversed(jobs))
                    alone = alone or len(jobs)
            finally:
                worker.kill()

    async def _next_jobs(self, owed: deque[Any], wanted: int) -> list[Any]:
        """Take jobs for a slice, with a fair share near the end; none if no more may begin."""
        if not await self._may_begin():
            return []
        wanted = min(wanted, max(1, self._left // (2 * self._count)))
        jobs = [owed.popleft() for _ in range(min(wanted, len(owed)))]
        new = list(islice(self._jobs, wanted - len(jobs)))
        self._left -= len(new)
        return jobs + new


class WorkerDied(Exception):
    """A worker ended on its own; the text gives the status or signal."""


prelude = ""
"""Code that a process runs first if a notebook's folder is open to cells, to open it in the same way."""


def searched() -> list[str]:
    """Return where a new process searches for modules: in a notebook's folder only once that is opened."""
    return [entry for entry in sys.path if entry or not prelude]


class ProcessWorker:
    """A `Worker` that is a process on this machine."""

    def __init__(self, load: Load) -> None:
        code = f"import sys; sys.path[:] = {searched()!r}; {prelude}from {__name__} import serve; serve()"
        pipe = subprocess.PIPE
        # In a session of its own, so that Ctrl-C reaches only the caller.
        self._process = subprocess.Popen([sys.executable, "-c", code], stdin=pipe, stdout=pipe, start_new_session=True)
        self._load = load
        self.name = f"worker {self._process.pid}"

    def load(self) -> None:
        if why_not := self._ask(self._load):
            raise WorkersFailed(f"a worker process cannot work: {why_not}")

    def do(self, jobs: Sequence[Any]) -> Slice:
        return cast("Slice", self._ask(jobs))

    def _ask(self, message: object) -> Any:
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            pickle.dump(message, self._process.stdin)
            self._process.stdin.flush()
            return pickle.load(self._process.stdout)
        except (EOFError, OSError, pickle.UnpicklingError):
            code = self._process.wait()
            how = f"with status {code}" if code >= 0 else f"by signal {-code} ({signal.strsignal(-code)})"
            raise WorkerDied(how) from None

    def end(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()

    def kill(self) -> None:
        self._process.kill()
        with suppress(BrokenPipeError), self._process:
            pass


# The worker's side.


def serve() -> None:
    """Do the jobs that arrive on standard input and send their results on standard output, until there are none.

    What players print goes to standard error. If the caller's process dies, so does this one.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_after, args=(os.getppid(),), daemon=True).start()
    requests, results = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    with Path(os.devnull).open() as nothing:
        os.dup2(nothing.fileno(), 0)
    try:
        work = pickle.load(requests)()
    except Exception as error:
        results.write(pickle.dumps(str(error) or repr(error)))
        return
    results.write(pickle.dumps(""))
    gc.freeze()
    gc.set_threshold(20_000)
    with suppress(EOFError, BrokenPipeError):
        while True:
            pickle.dump(_do(work, pickle.load(requests)), results)


def _end_after(caller: int) -> None:
    """End this process, even in the middle of a job, once its caller's process has ended."""
    while os.getppid() == caller:
        time.sleep(0.5)
    os._exit(1)


def _do(work: Work, jobs: Sequence[Any]) -> Slice:
    done = Slice([], 0.0)
    began = time.monotonic()
    for job in jobs:
        done.results.append(work(job))
        done.seconds = time.monotonic() - began
        if done.seconds > SLICE_SECONDS:
            break
    return done
