"""A sweep is run: its missing cells go to workers, and what comes back is counted."""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import msgspec

from negolab import environment, status
from negolab.disk import written
from negolab.players.endpoint.prices import Prices
from negolab.status import BROKEN, Fault, State, Status
from negolab.sweep import execution, notebook
from negolab.sweep.cluster import connected, reach, share
from negolab.sweep.execution import Job
from negolab.sweep.folder import NOTEBOOK, REPORT, Claim, Folder, missing
from negolab.sweep.kernels import imports_of
from negolab.sweep.plan import Cell, Plan
from negolab.wiring import Wiring, wired

if TYPE_CHECKING:
    from distributed import Client

    from negolab.sweep.broker import Broker

AHEAD = 4
"""Cells at the scheduler for each worker: enough that none waits, few enough that a stop is short."""


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """How far a sweep is: `cells` in all; `done` and the broken by state, of which `new` were run this time, in
    `seconds`; `running` are with workers. `last`: the newest."""

    cells: int
    states: dict[State, int]
    new: int
    running: int
    seconds: float
    last: Status | None = None

    @property
    def over(self) -> int:
        """Cells that came to an end, good or bad."""
        return sum(self.states.values())

    @property
    def left(self) -> float | None:
        """Seconds that the rest will take at this rate; None as long as that is not known."""
        rest = self.cells - self.over
        return rest * self.seconds / self.new if self.new else None


class Sweep:
    """Runs what a folder lacks of a plan. What is finished is in the folder at every moment."""

    def __init__(
        self,
        plan: Plan,
        notebook_file: Path,
        out: Path | str,
        *,
        report: Path | None = None,
        retry: frozenset[str] = frozenset(),
    ) -> None:
        """`report`: the notebook that goes into the folder for `sweep report`. `ValueError` if the notebook lacks a
        parameter that the plan sets."""
        notebook.check(notebook_file, plan.names)
        if strange := retry - set(BROKEN):
            raise ValueError(f"what is tried again is of {', '.join(BROKEN)}, not {', '.join(sorted(strange))}")
        self.plan, self.folder, self._file = plan, Folder(out), notebook_file
        self._report, self._retry = report, retry
        self.heard: Callable[[str], None] = lambda line: None
        """Called with what is to be said of models, such as that they do not answer."""

    def _heard(self, line: str) -> None:
        self.heard(line)

    def run(
        self,
        *,
        workers: int = 2,
        scheduler: str | None = None,
        broker_host: str = "127.0.0.1",
        told: Callable[[Progress], None] = lambda now: None,
    ) -> Progress:
        """Run what is missing; `told` hears of every cell that ends. KeyboardInterrupt drops the cells that run.
        `broker_host` is this machine's address at which cells reach the models, if the plan has any."""
        with Claim(self.folder, self.plan, notebook.sha256(self._file)) as claim, ExitStack() as held:
            broker = self._broker(claim.run, broker_host, held)
            job = self._prepared(broker)
            before = {**self.folder.broken(), **self.folder.done()}
            todo = list(missing(self.plan, self.folder, self._retry))
            wanted = {cell.id for cell in todo}
            states = Counter(found.state for id, found in before.items() if id not in wanted)
            counted = _Counted(sum(1 for _ in self.plan.cells()), states, told)
            if todo:
                with connected(workers, scheduler) as client:
                    share(client, self.folder.path)
                    if broker is not None:
                        reach(client, broker.url)
                    for cell, future in _ended(client, job, todo, counted, broker):
                        counted.add(self._status(cell, future))
            if broker is not None and broker.failure is not None:
                raise broker.failure
            return counted.now()

    def _status(self, cell: Cell, future: Any) -> Status:
        """What came back; of a cell that ended its workers again and again, that is what is known."""
        from distributed.scheduler import KilledWorker

        try:
            found: Status = future.result()
        except CancelledError:
            raise RuntimeError("the scheduler is gone: what is finished is kept; run the sweep again") from None
        except KilledWorker as killed:
            fault = Fault(kind="KilledWorker", text="each worker that ran it ended under it")
            found = self._noted(cell, "died", killed.last_worker.address, fault)
        except Exception as error:  # of a worker's own, before it could write a status
            fault = Fault(kind=type(error).__name__, text=str(error)[: execution.LONGEST])
            found = self._noted(cell, "failed", "", fault)
        return found

    def _noted(self, cell: Cell, state: State, worker: str, fault: Fault) -> Status:
        """A status that no worker wrote; where it cannot be written, it holds for this run."""
        now = time.time()
        try:
            attempt, number = self.folder.attempt(cell.id)
            found = cell.ended(state, number, now, now, worker=worker, error=fault)
            status.write(attempt, found)
        except OSError as error:
            self._heard(f"{cell.id}: its status cannot be kept ({error.strerror})")
            found = cell.ended(state, 0, now, now, worker=worker, error=fault)
        return found

    def _broker(self, run: str, host: str, held: ExitStack) -> Broker | None:
        """Who calls the models, if the plan has any; it listens until `held` is closed."""
        models, limits = self.plan.models, self.plan.limits
        if models is None:
            return None
        from negolab.sweep.broker import Broker, serving  # a quarter of a second to import

        prices = Prices(models.prices) if models.prices else None
        wiring = Wiring(
            base_url=models.base_url, limits=models.limits(), usd=limits.usd, tokens=limits.tokens, prices=prices
        )
        broker = Broker(wired(wiring, self.folder.path, run, [self._heard], held), models.key)
        held.enter_context(serving(broker, host))
        return broker

    def _prepared(self, broker: Broker | None) -> Job:
        """The notebook as all cells run it, and what they have in common."""
        import nbformat

        nb = notebook.loaded(self._file)
        text: str = nbformat.writes(nb)
        written(self.folder.path / NOTEBOOK, text.encode())
        if self._report is not None:
            written(self.folder.path / REPORT, self._report.read_bytes())
        else:
            (self.folder.path / REPORT).unlink(missing_ok=True)
        beside = self._file.parent
        return Job(
            folder=str(self.folder.path),
            cwd=str(beside),
            environment=environment.scrubbed(**({} if broker is None else broker.told())),
            imports=imports_of([cell.source for cell in nb.cells if cell.cell_type == "code"]),
            known=tuple(notebook.parameters(self._file)),
            cell_seconds=self.plan.limits.cell_seconds,
            models=broker is not None,
        )


class _Counted:
    """What has come back so far."""

    def __init__(self, cells: int, states: Counter[State], told: Callable[[Progress], None]) -> None:
        self._cells, self._states, self._told = cells, states, told
        self._began = time.monotonic()
        self._last: Status | None = None
        self.new = self.running = 0

    def now(self) -> Progress:
        return Progress(
            cells=self._cells,
            states=dict(self._states),
            new=self.new,
            running=self.running,
            seconds=time.monotonic() - self._began,
            last=self._last,
        )

    def add(self, found: Status) -> None:
        self._states[found.state] += 1
        self._last = found
        self.new += 1
        self._told(self.now())


def _ended(
    client: Client, job: Job, todo: list[Cell], counted: _Counted, broker: Broker | None
) -> Iterator[tuple[Cell, Any]]:
    """The cells as they end, with what came back; a few at a time are at the scheduler."""
    from distributed import as_completed

    sweep, waiting = uuid4().hex[:8], iter(todo)
    cells: dict[str, Cell] = {}

    def submitted(cell: Cell) -> Any:
        # A cell may end its worker: the scheduler gives it to another, a few times.
        key = f"{cell.id}-{sweep}"
        cells[key] = cell
        return client.submit(execution.run, job, cell, key=key, pure=False)

    ahead = AHEAD * max(1, sum(client.nthreads().values()))
    running = as_completed([submitted(cell) for cell in itertools.islice(waiting, ahead)], loop=client.loop)
    for future in running:
        stopped = broker is not None and broker.failure is not None
        if not stopped and (following := next(waiting, None)) is not None:
            running.add(submitted(following))
        ended = cells.pop(future.key)
        counted.running = len(cells)
        yield ended, future
