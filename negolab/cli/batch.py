"""`negolab batch`: play many matches, with a progress bar."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import inf
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import typer
from tqdm import tqdm

from negolab import catalog
from negolab.analysis import summary
from negolab.analysis.observations import draws_start
from negolab.catalog import AnyGame, game_id
from negolab.cli.options import (
    PRICE_HELP,
    GameName,
    Group,
    Preset,
    Scheduler,
    Set,
    TrustChanges,
    advanced,
    load_game,
    with_options,
)
from negolab.cli.play import escape_line
from negolab.formatting import escape_control
from negolab.llm.configuration import ModelConfiguration
from negolab.llm.endpoint.errors import RunFailed, parse_duration
from negolab.llm.endpoint.policy import Limits
from negolab.llm.endpoint.prices import Prices
from negolab.llm.models import Models
from negolab.players.factory import PlayerFactory
from negolab.players.lookup import resolve_players
from negolab.protocols import MODEL_PREFIX
from negolab.record import parse_record
from negolab.runs.answers import UnusableAnswers
from negolab.runs.batch import open_run
from negolab.runs.estimate import estimate_lines, pilot_games
from negolab.runs.plan import make_plan
from negolab.runs.progress import Progress
from negolab.runs.run import Run, RunOptions
from negolab.runs.scripted import FAILURES
from negolab.store import iter_records

app = Group()
_REFRESH_SECONDS = 0.5
"""Seconds between updates of calls and costs."""
_SLICE_SECONDS = 0.02
"""Seconds spent counting records before the run continues."""


class _RunningTally:
    """Summarizes a run's records while it plays, so that nothing has to be read again at the end.

    Only the run's own process writes to the file, so each line with a line break is complete.
    """

    def __init__(self, file: Path) -> None:
        self._path, self._tally = file, summary.Tally()
        self._lines = file.open("rb")
        self._is_damaged = False

    async def follow(self) -> None:
        """Count what has been written, in slices, until canceled."""
        while True:
            is_behind = self._count(time.monotonic() + _SLICE_SECONDS)
            await asyncio.sleep(0 if is_behind else _SLICE_SECONDS)

    def _count(self, until: float) -> bool:
        """Count records; return True if there are more."""
        try:
            for line in self._lines:
                self._tally.add(parse_record(line))
                if time.monotonic() > until:
                    return True
        except ValueError:
            self._is_damaged = True
        return False

    def result(self) -> summary.Tally:
        """Return the summary of all records; a `ValueError` names a line that is not a record."""
        with self._lines:
            self._count(inf)
        return summary.tally_records(iter_records(self._path)) if self._is_damaged else self._tally


@contextmanager
def _progress_bar(run: Run) -> Iterator[None]:
    """Show a run's games, games per second, calls and costs, with its messages above.

    Enter it inside the event loop of the run.
    """
    message = ""

    def advance(now: Progress) -> None:
        nonlocal message
        bar.update(now.over - bar.n)
        if now.message and now.message != message:
            print_above_bar(now.message)
        message = now.message

    async def refresh() -> None:
        while True:
            bar.set_postfix_str(postfix(run.progress), refresh=False)
            await asyncio.sleep(_REFRESH_SECONDS)

    over = run.progress.over
    with tqdm(
        total=run.games, initial=over, unit="match", file=sys.stderr, mininterval=_REFRESH_SECONDS, disable=None
    ) as bar:
        run.watch(advance)
        refreshing = asyncio.ensure_future(refresh())
        try:
            yield
        finally:
            refreshing.cancel()
            bar.set_postfix_str(postfix(run.progress))


def print_above_bar(line: str) -> None:
    """Print a message above the progress bar, or by itself if there is none."""
    tqdm.write(escape_line(f"negolab: {line}"), file=sys.stderr)


def postfix(now: Progress) -> str:
    """Summarize calls in flight, costs and failures for the end of the progress bar."""
    parts = []
    if now.calls is not None:
        parts.append(f"{now.calls} calls" + (f", {now.waiting} waiting" if now.waiting else ""))
    if now.usd is not None:
        parts.append(f"${now.usd:.2f}" + (f" of {now.usd_limit:.2f}" if now.usd_limit is not None else ""))
    elif now.calls is not None:
        parts.append("cost unknown")
    if now.failed or now.timed_out:
        parts.append(f"{now.failed + now.timed_out} failed")
    return ", ".join(parts)


_RETRY = {"failed": "failed", "timeout": "timed out"}
"""Kind of failure on the command line -> kind in a record."""
_MODELS = "Models"


def _model(help: str, **more: Any) -> Any:
    return typer.Option(help=help, rich_help_panel=_MODELS, **more)


class RunFlags(NamedTuple):
    """The options of a command that plays many games, as `read_flags` reads them."""

    configuration: ModelConfiguration
    options: RunOptions
    on_stop: str
    estimate: bool


def read_flags(
    *,
    retry: Annotated[
        str, typer.Option(metavar="KINDS", help="Repeat matches with this status: failed, timeout, or failed,timeout.")
    ] = "",
    game_seconds: Annotated[
        float | None, advanced(help="Time limit per match in seconds, excluding time in queues.")
    ] = None,
    workers: Annotated[
        int | None,
        advanced(
            help="Number of processes for scripted players (default: one per core for more than 5,000 matches).",
            min=1,
        ),
    ] = None,
    scheduler: Scheduler = None,
    on_stop: Annotated[
        Literal["finish", "drop"], advanced(help="Effect of the first Ctrl-C on running matches.")
    ] = "finish",
    base_url: Annotated[str | None, _model("Endpoint for models (default: $NEGOLAB_BASE_URL).")] = None,
    concurrency: Annotated[
        int | None, advanced(help="Maximum number of simultaneous calls per model (default: 200).", min=1)
    ] = None,
    budget: Annotated[float | None, _model("Maximum cost of the run in US dollars.", min=0)] = None,
    budget_tokens: Annotated[
        int | None, _model("Maximum number of tokens in the run, input and output together.", min=0)
    ] = None,
    requests_per_minute: Annotated[float | None, advanced(help="Provider's rate limit per model.")] = None,
    tokens_per_minute: Annotated[float | None, advanced(help="Provider's token limit per model.")] = None,
    price: Annotated[list[str] | None, _model(PRICE_HELP)] = None,
    unusable: Annotated[
        str,
        _model("Stop the run when more than this share of answers is unreadable; checked once there are 20 answers."),
    ] = "50%",
    call_seconds: Annotated[float | None, advanced(help="Time limit per call in seconds (default: 600).")] = None,
    patience: Annotated[str, _model("How long to wait for a service that is overloaded or unavailable.")] = "10m",
    trust: TrustChanges = False,
    no_cache: Annotated[bool, advanced("--no-cache", help="Keep answers only in the run's folder.")] = False,
    estimate: Annotated[
        bool,
        typer.Option("--estimate", help="Play a pilot, print the expected cost and precision, and stop."),
    ] = False,
) -> RunFlags:
    """Read the options that commands share: how games are played, and with which models."""
    defaults = Limits()
    limits = Limits(
        at_once=defaults.at_once if concurrency is None else concurrency,
        requests_per_minute=requests_per_minute,
        tokens_per_minute=tokens_per_minute,
        call_seconds=defaults.call_seconds if call_seconds is None else call_seconds,
        patience=parse_duration(patience),
    )
    configuration = ModelConfiguration(
        base_url=base_url,
        limits=limits,
        usd=budget,
        tokens=budget_tokens,
        prices=Prices.parse(price) if price else None,
        private=no_cache,
    )
    options = RunOptions(
        workers=workers,
        scheduler=scheduler,
        game_seconds=game_seconds,
        retry=_kinds(retry),
        unusable=_share(unusable),
        trust=trust,
    )
    return RunFlags(configuration, options, on_stop, estimate)


@app.command()
@with_options(read_flags, "flags")
def batch(
    game: GameName,
    a: Annotated[str, typer.Option(help="Player in seat A: `time:beta=0.2`, `llm:MODEL` or `mine.py:Haggler,beta=2`.")],
    b: Annotated[str, typer.Option(help="Player in seat B.")],
    out: Annotated[Path, typer.Option(help="Folder for the run.")],
    *,
    n: Annotated[int, typer.Option(help="Total number of matches.")] = 100,
    seed: Annotated[int, typer.Option(help="Seed for the run.")] = 0,
    preset: Preset = None,
    set_: Set = None,
    swap: Annotated[bool, typer.Option("--swap", help="Play each draw (random setup) from both seats.")] = False,
    flags: RunFlags,
) -> None:
    """Play many matches between two players. Run the same command again to resume.

    Model responses are cached, so you never pay for the same response twice; to get new ones, change the seed.
    """
    loaded = load_game(game, preset, set_)
    players = resolve_players(loaded, a, b)
    plan = make_plan(loaded, *players, n=n, seed=seed, swap=swap)
    if flags.configuration != ModelConfiguration() and not any(name.startswith(MODEL_PREFIX) for name in (a, b)):
        raise ValueError(f"options for models need a player named {MODEL_PREFIX}MODEL")
    run = open_run(loaded, plan, out, flags.configuration, flags.options, players=players)
    if flags.estimate:
        print_estimate(run, flags)
        return
    if told := _copies(loaded, players, n, swap=swap):
        print(escape_line(told), file=sys.stderr)
    tally = _RunningTally(run.matchups[0].store.file)
    failure = play_run(run, flags.on_stop, tally)
    _print_results(run, tally.result(), loaded.unit, failure)


def _copies(game: AnyGame, players: Sequence[PlayerFactory], n: int, *, swap: bool) -> str:
    """Say how many games will differ if neither the game nor the players draw anything; "" if all may."""
    different = len({player.name for player in players}) if swap else 1
    if n <= different or draws_start(game) or not all(player.deterministic for player in players):
        return ""
    module = catalog.module_of(game)
    own = [name for name in catalog.presets(module) if name not in catalog.replications(module)]
    chance = next((name for name in own if draws_start(catalog.load(game_id(game), name))), "")
    other = f" For random draws, try --preset {chance}." if chance else ""
    are = "is" if different == 1 else "are"
    return f"Nothing is random in this batch: only {different:,} of the {n:,} matches {are} distinct.{other}"


def print_estimate(run: Run, flags: RunFlags) -> None:
    """Play a pilot, and print what the rest of the run will take."""
    run.most = pilot_games(run)
    if (failure := play_run(run, flags.on_stop)) is not None:
        raise RuntimeError(str(failure))
    for line in estimate_lines(run):
        print(escape_line(line))


def _kinds(retry: str) -> frozenset[str]:
    """Parse `--retry` into the kinds used in records."""
    kinds = {kind.strip() for kind in retry.split(",") if kind.strip()}
    for kind in kinds:
        if kind not in _RETRY:
            raise ValueError(f"--retry must be failed, timeout or failed,timeout, not {kind!r}")
    return frozenset(_RETRY[kind] for kind in kinds)


def _share(text: str) -> float:
    """Parse a share such as `50%` or `0.5`."""
    number, sign, rest = text.strip().partition("%")
    try:
        share = float(number) / (100 if sign else 1)
    except ValueError:
        share = -1.0
    if rest or not 0 <= share <= 1:
        raise ValueError(f"--unusable must be a share from 0% to 100%, such as 50%, not {text!r}")
    return share


def play_run(run: Run, on_stop: str, tally: _RunningTally | None = None) -> RunFailed | None:
    """Play until the run ends or is stopped; return the failure if no game could continue."""
    # The bar shows the run's messages; without a handler, logging would print them too.
    logging.getLogger("negolab.models").addHandler(logging.NullHandler())

    async def play() -> None:
        with _progress_bar(run), _interrupts(run, on_stop):
            counting = None if tally is None else asyncio.ensure_future(tally.follow())
            try:
                await run.play()
            finally:
                if counting is not None:
                    counting.cancel()

    try:
        asyncio.run(play())
    except RunFailed as failure:
        return failure
    return None


@contextmanager
def _interrupts(run: Run, on_stop: str) -> Iterator[None]:
    """Handle Ctrl-C: the first acts as `on_stop` says; the second drops the games in progress."""
    loop = asyncio.get_running_loop()
    pressed = 0

    def stop() -> None:
        nonlocal pressed
        pressed += 1
        playing = run.progress.playing
        if pressed == 1 and on_stop == "finish":
            if playing:
                print_above_bar(f"stopping when {playing} running matches have ended (press Ctrl-C again to drop them)")
            run.finish()
        else:
            run.cancel()

    default = signal.signal(signal.SIGINT, lambda *_: loop.call_soon_threadsafe(stop))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, default)


def _print_results(run: Run, tally: summary.Tally, unit: str, failure: RunFailed | None) -> None:
    """Print the results in the folder and how to continue; raise what `end_run` does."""
    now, file = run.progress, run.matchups[0].store.file
    paid = run.models.usage if isinstance(run.models, Models) else None
    if failure is not None and not (tally.n or (paid and (paid.answers or paid.pico or paid.tokens))):
        raise RuntimeError(str(failure))
    print(escape_control("\n".join(summary.tally_lines(tally, unit, paid))))
    print(f"\n{file}")
    if tally.n > now.games:
        print(
            f"the folder has {tally.n} matches, more than --n {now.games}; the results above include all of them",
            file=sys.stderr,
        )
    end_run(run, failure)


def end_run(run: Run, failure: RunFailed | None) -> None:
    """Print how to continue a run; exit with an error unless all games are over.

    Raises:
        RuntimeError: No game could continue, or none finished.
        typer.Exit: Too many of a model's answers were unusable (code 3), or the run was stopped (code 130).
    """
    now = run.progress
    unfinished = {"failed": now.failed, "timeout": now.timed_out}
    if kinds := [kind for kind, count in unfinished.items() if count]:
        how = " or ".join(_RETRY[kind] for kind in kinds)
        print(f"play the matches that {how} again with --retry {','.join(kinds)}", file=sys.stderr)
    if now.failed and (log := run.folder / FAILURES).is_file():
        print(f"failures are explained in {log}", file=sys.stderr)
    if isinstance(failure, UnusableAnswers):
        print(f"negolab: {failure}", file=sys.stderr)
        raise typer.Exit(3)
    if failure is not None:
        print(f"{now.over} of {now.games} matches are over; run the same command again to resume", file=sys.stderr)
        raise RuntimeError(str(failure))
    if now.over < now.games:
        print(f"stopped after {now.over} of {now.games} matches: run the same command again to resume", file=sys.stderr)
        raise typer.Exit(130)
    if not now.finished:
        raise RuntimeError(f"all {now.games} matches failed")
