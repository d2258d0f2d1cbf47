"""The driver of a sweep: sends missing cells to workers and counts the results."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import CancelledError
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import msgspec

from negolab import catalog, store, user_code
from negolab._internal import clock, environment, manifest
from negolab._internal.cluster import check_shared_folder, connect
from negolab._internal.files import atomic_write, check_in_place
from negolab._internal.workers import WORKERS
from negolab.llm.configuration import ModelConfiguration, open_models
from negolab.llm.endpoint.prices import Prices
from negolab.sweeps import status
from negolab.sweeps.broker import Broker, check_broker, serve_broker
from negolab.sweeps.cell import MAX_ERROR_TEXT, CellJob, run_cell, stop_cells
from negolab.sweeps.folder import NOTEBOOK, REPORT, SweepFolder, claim_folder, missing_cells
from negolab.sweeps.plan import SweepCell, SweepPlan
from negolab.sweeps.sources import (
    Notebook,
    own_players,
    own_scenarios,
    player_facts,
    scenario_facts,
    write_modules,
)
from negolab.sweeps.status import RETRYABLE, CellError, CellStatus, State

if TYPE_CHECKING:
    from distributed import Client


QUEUED_PER_WORKER = 4
"""Cells at the scheduler per worker: enough that none is idle, few enough that stopping is quick."""


class SweepProgress(msgspec.Struct, frozen=True, kw_only=True):
    """Progress of a sweep.

    Attributes:
        cells: Number of cells in the plan.
        states: Number of ended cells by state.
        new: Number of cells that have ended since this start.
        last: The latest status.
    """

    cells: int
    states: dict[State, int]
    new: int
    last: CellStatus | None = None

    @property
    def over(self) -> int:
        """Number of cells that have ended, in any state."""
        return sum(self.states.values())


class Sweep:
    """Run the cells of a plan that are missing from its folder. Finished cells are always in the folder.

    Args:
        plan: The plan.
        notebook_file: The notebook that each cell runs.
        out: The sweep's folder.
        report: The report notebook to copy into the folder.
        retry: States of unsuccessful cells to run again.
        notify: Called with one line about the models, such as that an endpoint is unreachable.
        base: Folder to which the paths of players and scenarios in the plan are relative (None: the notebook's).
        trust: Continue even if their files have changed since cells were run.

    Raises:
        ValueError: The notebook lacks a parameter that the plan sets, or `retry` has an unknown state.
    """

    def __init__(
        self,
        plan: SweepPlan,
        notebook_file: Path,
        out: Path | str,
        *,
        report: Path | None = None,
        retry: frozenset[str] = frozenset(),
        notify: Callable[[str], None] = lambda line: None,
        base: Path | None = None,
        trust: bool = False,
    ) -> None:
        self._notebook = Notebook(notebook_file)
        self._notebook.check_parameters(plan.names)
        if unknown := retry - set(RETRYABLE):
            raise ValueError(f"--retry accepts only {', '.join(RETRYABLE)}, not {', '.join(sorted(unknown))}")
        self.plan, self.folder = plan, SweepFolder(out)
        self._report, self._retry, self._notify, self._trust = report, retry, notify, trust
        self._players = own_players(plan, base or notebook_file.parent)
        self._scenarios = own_scenarios(plan, base or notebook_file.parent)

    def run(
        self,
        *,
        workers: int = 2,
        scheduler: str | None = None,
        broker_host: str = "127.0.0.1",
        watch: Callable[[SweepProgress], None] = lambda progress: None,
    ) -> SweepProgress:
        """Run the missing cells; KeyboardInterrupt drops those that are running.

        Args:
            workers: Worker processes on this machine, unless `scheduler` is given.
            scheduler: Address of a running Dask scheduler.
            broker_host: This machine's address at which cells reach the models, if the plan has any.
            watch: Called each time a cell ends.

        Returns:
            The final progress.

        Raises:
            ValueError: The folder is in use or holds other cells, or workers cannot reach the folder or the broker.
            OSError: The folder was removed, moved or replaced.
            RuntimeError: Finished cells are gone.
            RunFailed: The models can no longer be called, as when the budget is used up.
        """
        code = player_facts(self._players) | scenario_facts(self._scenarios)
        claim = claim_folder(self.folder, self.plan, self._notebook.sha256, code, trust=self._trust)
        with claim as sweep_id, ExitStack() as resources:
            broker = self._open_broker(sweep_id, broker_host, resources)
            ended = self.folder.ended()
            job = self._prepare_job(broker, ended)
            opened, kept = self.folder.path.stat(), self.folder.path / manifest.FILE
            written = kept.stat()
            missing = missing_cells(self.plan, ended, self._retry)
            missing_ids = {cell.id for cell in missing}
            states = Counter(last.state for id, last in ended.items() if id not in missing_ids)
            counter = _CellCounter(self.plan.count, states, watch)
            if missing:
                try:
                    with connect(workers, scheduler) as client:
                        check_shared_folder(client, self.folder.path)
                        if broker is not None:
                            check_broker(client, broker.url)
                        for cell, future in _run_cells(client, job, missing, broker):
                            check_in_place(self.folder.path, opened)
                            check_in_place(kept, written, written.st_size)
                            counter.add(self._status(cell, future))
                except KeyboardInterrupt:
                    if scheduler is not None:  # its workers continue; by now, they have no more cells of this sweep
                        with connect(workers, scheduler) as client:
                            client.run(stop_cells, self.folder.path)
                    raise
            if broker is not None and broker.failure is not None:
                raise broker.failure
            if (gone := states["done"] - len(self.folder.done())) > 0:
                raise RuntimeError(f"{gone} finished cells are missing from {self.folder.path}: run the sweep again")
            return counter.progress()

    def _status(self, cell: SweepCell, future: Any) -> CellStatus:
        """Return the status that a worker sent, or write one for a cell that failed without one."""
        from distributed.scheduler import KilledWorker

        try:
            cell_status: CellStatus = future.result()
        except CancelledError:
            raise RuntimeError(
                "lost the connection to the scheduler: finished cells are kept; run the sweep again"
            ) from None
        except KilledWorker as killed:
            error = CellError(kind="KilledWorker", text="every worker that ran it died")
            cell_status = self._write_status(cell, "died", killed.last_worker.address, error)
        except Exception as raised:  # raised in the worker before it could write a status
            error = CellError(kind=type(raised).__name__, text=str(raised)[:MAX_ERROR_TEXT])
            cell_status = self._write_status(cell, "failed", "", error)
        return cell_status

    def _write_status(self, cell: SweepCell, state: State, worker: str, error: CellError) -> CellStatus:
        """Write a status that no worker wrote; if that is not possible, it applies only to this run."""
        now = clock.time()
        try:
            attempt, number = self.folder.new_attempt(cell.id)
            cell_status = cell.status(state, number, now, now, worker=worker, error=error)
            status.write_status(attempt, cell_status)
        except OSError as unwritable:
            self._notify(f"{cell.id}: its status could not be saved ({unwritable.strerror})")
            cell_status = cell.status(state, 0, now, now, worker=worker, error=error)
        return cell_status

    def _open_broker(self, run: str, host: str, resources: ExitStack) -> Broker | None:
        """Start the broker, if the plan has models; it ends with `resources`."""
        models, limits = self.plan.models, self.plan.limits
        if models is None:
            return None
        prices = Prices(models.prices) if models.prices else None
        configuration = ModelConfiguration(
            base_url=models.base_url, limits=models.limits(), usd=limits.usd, tokens=limits.tokens, prices=prices
        )
        opened = open_models(configuration, self.folder.path, run, [self._notify], resources)
        broker = Broker(opened, models.key)
        resources.enter_context(serve_broker(broker, host))
        return broker

    def _prepare_job(self, broker: Broker | None, ended: Mapping[str, CellStatus]) -> CellJob:
        """Copy the notebooks and the modules next to them into the folder; return the part of a job that all cells
        share."""
        atomic_write(self.folder.path / NOTEBOOK, self._notebook.text.encode())
        modules = {**self._notebook.modules}
        if self._report is not None:
            modules |= Notebook(self._report).modules
        for each in self._players.values():
            modules |= user_code.read_modules([Path(each.head).stem], Path(each.head).parent)
        write_modules(modules, self.folder.path)
        (self.folder.path / REPORT).unlink(missing_ok=True)
        if self._report is not None:
            atomic_write(self.folder.path / REPORT, self._report.read_bytes())
            user_code.trust(user_code.CodeSource(REPORT, Notebook(self.folder.path / REPORT).sha256))
        return CellJob(
            folder=str(self.folder.path),
            notebook=self._notebook.text,
            cwd=str(self._notebook.path.parent),
            # The sweep's own workers already use the cores.
            environment=environment.scrubbed_environment(
                **{WORKERS: "1", catalog.BEGUN_WITH: json.dumps(self._begun_with(ended))},
                **({} if broker is None else broker.cell_environment()),
            ),
            imports=self._notebook.startup(Path(each.head) for each in self._players.values()),
            parameters=tuple(self._notebook.parameters),
            cell_seconds=self.plan.limits.cell_seconds,
            models=broker is not None,
            files={text: str(file) for text, file in (*self._players.items(), *self._scenarios.items())},
            hashes={fact["path"]: fact["sha256"] for fact in scenario_facts(self._scenarios).values()},
        )

    def _begun_with(self, ended: Mapping[str, CellStatus]) -> dict[str, list[str]]:
        """Return the parameters of the games in finished cells, so that all cells read replies in the same way."""
        done = (id for id, cell in ended.items() if cell.state == "done")
        files = (file for id in done for file in store.record_files(self.folder.cell(id)))
        begun: dict[str, set[str]] = {}
        for record in filter(None, (next(store.iter_records(file), None) for file in files)):
            names = {*record.header.params}
            begun[record.header.game] = begun.get(record.header.game, names) & names
        return {game: sorted(names) for game, names in begun.items()}


class _CellCounter:
    """Count cells as they end."""

    def __init__(self, cells: int, states: Counter[State], watch: Callable[[SweepProgress], None]) -> None:
        self._cells, self._states, self._watch = cells, states, watch
        self._last: CellStatus | None = None
        self._new = 0

    def progress(self) -> SweepProgress:
        return SweepProgress(cells=self._cells, states=dict(self._states), new=self._new, last=self._last)

    def add(self, cell_status: CellStatus) -> None:
        self._states[cell_status.state] += 1
        self._last = cell_status
        self._new += 1
        self._watch(self.progress())


def _run_cells(
    client: Client, job: CellJob, missing: list[SweepCell], broker: Broker | None
) -> Iterator[tuple[SweepCell, Any]]:
    """Submit cells, a few at a time, and yield each with its future as it ends."""
    from distributed import as_completed

    sweep, waiting = uuid4().hex[:8], iter(missing)
    cells: dict[str, SweepCell] = {}

    def submit(cell: SweepCell) -> Any:
        # A cell may kill its worker; the scheduler then gives the cell to another worker, a few times.
        key = f"{cell.id}-{sweep}"
        cells[key] = cell
        return client.submit(run_cell, job, cell, key=key, pure=False)

    ahead = QUEUED_PER_WORKER * max(1, sum(client.nthreads().values()))
    running = as_completed([submit(cell) for cell in itertools.islice(waiting, ahead)], loop=client.loop)
    for future in running:
        has_failed = broker is not None and broker.failure is not None
        if not has_failed and (following := next(waiting, None)) is not None:
            running.add(submit(following))
        yield cells.pop(future.key), future
