"""`negolab sweep check | run | report | show`: run one notebook over a grid of parameters."""

from __future__ import annotations

import os
import sys
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Annotated, Any, Never

import typer
from tqdm import tqdm

from negolab._internal import manifest
from negolab.analysis.stats import Estimate, estimate_mean
from negolab.cli import serve
from negolab.cli.batch import print_above_bar
from negolab.cli.options import BaseUrls, Group, Modules, Scheduler, Trust, TrustChanges, advanced, import_games
from negolab.cli.play import RUNS, escape_line, treat_signals_as_interrupt
from negolab.formatting import counted
from negolab.sweeps import folder
from negolab.sweeps.folder import SweepFolder, check_folder
from negolab.sweeps.plan import SweepPlan, notebook_path, plan_name, read_plan, report_path
from negolab.sweeps.run import Sweep, SweepProgress
from negolab.sweeps.sources import Notebook, own_players, own_scenarios, player_facts, scenario_facts
from negolab.sweeps.status import RETRYABLE, CellStatus, State

app = Group("sweep", "Run one notebook over a grid of parameters.")

PlanFile = Annotated[Path, typer.Argument(metavar="PLAN.toml", help="The sweep plan.")]
Out = Annotated[Path | None, typer.Option(help="Folder for the sweep (default: data/runs/PLAN).")]
Tiny = Annotated[
    bool, typer.Option("--tiny", help="Use a trial plan: only the first and last value of each axis, once.")
]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="Set a parameter that the plan fixes or omits. Repeatable."),
]
Workers = Annotated[int, typer.Option(min=1, max=1000, help="Worker processes on this machine.")]
_WORDS: Mapping[State, str] = {
    "done": "done",
    "failed": "failed",
    "timeout": "timed out",
    "died": "died",
    "refused": "refused",
}


@app.command()
def check(file: PlanFile, out: Out = None, tiny: Tiny = False, workers: Workers = 2, values: Set = None) -> None:
    """Show the cells, duration and cost of a plan without running it."""
    plan, folder = _read(file, tiny, values), _folder(file, out, tiny)
    notebook = Notebook(notebook_path(plan, file))
    notebook.check_parameters([*plan.names, *plan.tiny])
    report_path(plan, file)
    code = player_facts(own_players(plan, file.parent)) | scenario_facts(own_scenarios(plan, file.parent))
    check_folder(SweepFolder(folder), plan, notebook.sha256, code)
    cells = [cell.id for cell in plan.cells()]
    done = SweepFolder(folder).done()
    finished = list((done or SweepFolder(_folder(file, None, True)).done()).values())
    missing = sum(1 for id in cells if id not in done)
    for axis in plan.axes():
        names = " and ".join(axis[0])
        print(escape_line(f"{names}: {', '.join(' and '.join(map(str, point.values())) for point in axis)}"))
    print(f"{counted(len(cells), 'cell')} ({counted(plan.repeats, 'repeat')}), {missing:,} to be run in {folder}")
    scale = 1.0 if done else _games_ratio(plan, finished)
    print(_estimate(finished, missing * scale, plan, workers))
    if plan.models is not None and missing:
        print(_cost(finished, missing * scale, plan))
    if finished and missing and not done:
        print(f"(from the trial's cells, assuming that a cell is {scale:g} times as large)")


_GAMES = ("games", "matches", "deals", "n")
"""Names of parameters that say how many games a cell plays."""


def _games_ratio(plan: SweepPlan, trial: list[CellStatus]) -> float:
    """Return how many times as many games the plan's cells have as those of a trial, as far as a parameter says it."""
    for name in _GAMES:
        full, small = ([cell.params.get(name, 0) for cell in cells] for cells in (plan.cells(), trial))
        if full and small and all(isinstance(value, int) and value > 0 for value in (*full, *small)):
            return fmean(full) / fmean(small)
    return 1.0


def _estimate(done: list[CellStatus], left: float, plan: SweepPlan, workers: int) -> str:
    """Estimate the duration of the remaining cells from the finished ones."""
    if not left:
        return "nothing left to do"
    most = plan.limits.cell_seconds
    if done:
        each = estimate_mean([cell.seconds for cell in done])
        words = f"{each.value:.1f} s per cell{_interval(each, '.1f', ' s')}"
        return f"about {_lasting(left * each.value / workers)} more on {workers} workers: {words}"
    bound = f", at most {_lasting(left * most / workers)} on {workers} workers" if most else ""
    return f"the duration is unknown until a cell has run: try --tiny{bound}"


def _cost(done: list[CellStatus], left: float, plan: SweepPlan) -> str:
    """Estimate the model costs of the remaining cells from the finished ones."""
    paid = [cell.usd for cell in done if cell.usd is not None]
    cap = "" if plan.limits.usd is None else f"; the sweep stops at ${plan.limits.usd:.2f}"
    if not paid:
        return f"the cost of models is unknown until a cell with known prices has run{cap}"
    each = estimate_mean(paid)
    return f"models about ${left * each.value:.2f} more: ${each.value:.4f} per cell{_interval(each, '.4f')}{cap}"


def _interval(each: Estimate, digits: str, unit: str = "") -> str:
    if each.low != each.low:
        return f" (n = {each.n:,}: no interval)"
    return f" (95% interval [{each.low:{digits}}, {each.high:{digits}}]{unit}, n = {each.n:,})"


def _lasting(seconds: float) -> str:
    for unit, size in (("h", 3600), ("min", 60)):
        if seconds >= 1.5 * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.0f} s"


@app.command()
def run(
    file: PlanFile,
    workers: Workers = 2,
    scheduler: Scheduler = None,
    broker: Annotated[
        str, advanced(metavar="ADDRESS", help="Address at which workers on other machines reach this machine's models.")
    ] = "127.0.0.1",
    out: Out = None,
    tiny: Tiny = False,
    values: Set = None,
    retry: Annotated[
        str, typer.Option(metavar="KINDS", help="Repeat cells with these statuses: failed, timeout, died or refused.")
    ] = "",
    trust: TrustChanges = False,
) -> None:
    """Run the missing cells of a plan. Run the same command again to resume."""
    plan, folder = _read(file, tiny, values), _folder(file, out, tiny)
    kinds = frozenset(kind.strip() for kind in retry.split(",") if kind.strip())
    sweep = Sweep(
        plan,
        notebook_path(plan, file),
        folder,
        report=report_path(plan, file),
        retry=kinds,
        notify=print_above_bar,
        base=file.parent,
        trust=trust,
    )
    # Workers take no file in the working directory for a module of Python. Kernels have an environment of their own.
    os.environ["PYTHONSAFEPATH"] = "1"
    treat_signals_as_interrupt()
    try:
        with tqdm(unit="cell", file=sys.stderr, disable=None) as bar:
            advance = partial(_advance, bar)
            end = sweep.run(workers=workers, scheduler=scheduler, broker_host=broker, watch=advance)
    except KeyboardInterrupt:
        over, cells = len(sweep.folder.done()), plan.count
        print(f"stopped after {over:,} of {cells:,} cells: run the same command again to resume", file=sys.stderr)
        raise typer.Exit(130) from None
    _print_copies(folder)
    print(escape_line(f"{end.states.get('done', 0):,} of {end.cells:,} cells are done; {folder}"))
    broken = {state: end.states[state] for state in RETRYABLE if end.states.get(state)}
    if broken:
        counts = ", ".join(f"{count:,} {_WORDS[state]}" for state, count in broken.items())
        raise RuntimeError(f"{counts}: see {folder / 'attempts'}; rerun these cells with --retry {','.join(broken)}")


def _print_copies(folder: Path) -> None:
    """Say how many matches of a sweep are copies, if any are."""
    from negolab.analysis.match_frames import read_sweep
    from negolab.analysis.observations import drop_copies

    with suppress(OSError, ValueError):  # what cannot be read, the report names
        frame = read_sweep(folder).to_pandas()
        if (distinct := len(drop_copies(frame))) < len(frame):
            said = f"nothing is random in some cells: only {distinct:,} of the {len(frame):,} matches are distinct"
            print(f"{said}; choose a preset with random draws, or fewer games", file=sys.stderr)


def _advance(bar: tqdm[Never], now: SweepProgress) -> None:
    """Advance the progress bar by one cell, and print its error if it failed."""
    if bar.total is None:
        bar.total = now.cells
        bar.initial = bar.n = now.over - 1
    bar.update(now.over - bar.n)
    last = now.last
    if last is not None and last.error is not None:
        where = f" in cell {last.error.cell} of the notebook" if last.error.cell else ""
        why = f"{last.error.kind}: {' '.join(last.error.text.split())[:300]}"
        print_above_bar(f"{last.id} {_WORDS[last.state]}{where}: {why}")


def _read(file: Path, tiny: bool, values: list[str] | None) -> SweepPlan:
    plan = read_plan(file)
    return (plan.tiny_plan() if tiny else plan).with_fixed(dict(map(_value, values or [])))


def _value(change: str) -> tuple[str, Any]:
    """Parse `NAME=VALUE`; a value that is not TOML is taken as text."""
    name, sign, value = change.partition("=")
    if not name or not sign:
        raise ValueError(f"--set must be NAME=VALUE, not {change!r}")
    try:
        return name, tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return name, value


def _folder(file: Path, out: Path | None, tiny: bool) -> Path:
    name = plan_name(file)
    return out or RUNS / (f"{name}-tiny" if tiny else name)


@app.command()
def show(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of the sweep or tournament.")],
    module: Modules = None,
    trust: Trust = False,
    port: Annotated[int, advanced(min=1, max=65535, help="Port of the page on this machine.")] = 8867,
    out: Annotated[Path, advanced(help="Folder for branches created in the browser.")] = RUNS / "branches",
    base_urls: BaseUrls = None,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the browser.")] = True,
) -> None:
    """Show a sweep or tournament in the browser, even while it is running."""
    from negolab.analysis.standings import is_tournament  # pandas is slow to import

    modules = import_games(run, module, trust)
    about = manifest.read(run)
    if not is_tournament(about) and "notebook" not in about:
        raise ValueError(
            f"{run} was not written by negolab sweep run or negolab tournament: specify the folder of a sweep or "
            "tournament"
        )
    if not is_tournament(about):
        folder.read_folder_plan(run)
    serve.start(
        serve.PageOptions(
            page="results", source=run, modules=modules, port=port, out=out, base_urls=base_urls, browser=browser
        )
    )
