"""`negolab batch`: play many matches, with a progress bar."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Annotated, Any, Literal, Self

import typer
from tqdm import tqdm

from negolab.analysis import summary
from negolab.cli.options import GameName, Preset, Set, load_game
from negolab.llm.configuration import ModelConfiguration
from negolab.llm.endpoint.errors import RunFailed
from negolab.llm.endpoint.policy import Limits
from negolab.llm.endpoint.prices import Prices
from negolab.protocols import MODEL_PREFIX
from negolab.runs.batch import open_run
from negolab.runs.plan import make_plan
from negolab.runs.progress import Progress
from negolab.runs.run import Run
from negolab.store import iter_records

_PACE = 0.5
"""Seconds between updates of calls and costs."""


class RunBar:
    """Progress bar of a run: games, games per second, calls, costs; messages of the run are printed above it.

    Enter it inside the event loop of the run.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._said = ""
        before = run.progress.over
        self._bar = tqdm(
            total=run.plan.n, initial=before, unit="game", file=sys.stderr, mininterval=_PACE, disable=None
        )
        self._looking: asyncio.Task[None] | None = None
        run.watch(self._watch)

    def say(self, line: str) -> None:
        """Print a message above the bar, or on its own where there is no bar."""
        tqdm.write(f"negolab: {line}", file=sys.stderr)

    def _watch(self, now: Progress) -> None:
        self._bar.update(now.over - self._bar.n)
        if now.message and now.message != self._said:
            self.say(now.message)
        self._said = now.message

    async def _look(self) -> None:
        while True:
            self._bar.set_postfix_str(postfix(self._run.progress), refresh=False)
            await asyncio.sleep(_PACE)

    def __enter__(self) -> Self:
        self._looking = asyncio.ensure_future(self._look())
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        if self._looking is not None:
            self._looking.cancel()
        self._bar.set_postfix_str(postfix(self._run.progress))
        self._bar.close()


def postfix(now: Progress) -> str:
    """Summarise calls in flight, costs and failures for the end of the progress bar."""
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


def batch(
    game: GameName,
    a: Annotated[str, typer.Option(help="First player, at seat A, such as `time:beta=0.2` or `llm:MODEL`.")],
    b: Annotated[str, typer.Option(help="Second player, at seat B.")],
    out: Annotated[Path, typer.Option(help="The run's folder.")],
    n: Annotated[int, typer.Option(help="Games in all.")] = 100,
    seed: Annotated[int, typer.Option(help="Seed of the run.")] = 0,
    preset: Preset = None,
    set_: Set = None,
    swap: Annotated[bool, typer.Option("--swap", help="Play every deal from both seats.")] = False,
    retry: Annotated[str, typer.Option(metavar="KINDS", help="Play again: failed, timeout, or failed,timeout.")] = "",
    game_seconds: Annotated[float | None, typer.Option(help="Time limit of a game, waits in a queue apart.")] = None,
    on_stop: Annotated[
        Literal["finish", "drop"], typer.Option(help="What the first Ctrl-C does with games at play.")
    ] = "finish",
    base_url: Annotated[str | None, _model("Where models are reached (default: $NEGOLAB_BASE_URL).")] = None,
    concurrency: Annotated[int | None, _model("Calls at the same time, to each model (default: 200).", min=1)] = None,
    budget: Annotated[float | None, _model("US dollars that the run may cost in all.", min=0)] = None,
    budget_tokens: Annotated[int | None, _model("Tokens that the run may take in all, in and out.", min=0)] = None,
    requests_per_minute: Annotated[float | None, _model("What the provider allows to each model.")] = None,
    tokens_per_minute: Annotated[float | None, _model("What the provider allows to each model.")] = None,
    price: Annotated[
        list[str] | None,
        _model("US dollars per million tokens: MODEL=INPUT,OUTPUT or MODEL=INPUT,CACHED,OUTPUT; repeatable."),
    ] = None,
    call_seconds: Annotated[float | None, _model("Time limit of one call, from sending it (default: 600).")] = None,
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Keep answers in the run's own folder only.")] = False,
) -> None:
    """Play many games of two players: strategies, models, or one of each. Run it again to go on where it stopped.

    Answers of models are kept on disk, so that none is paid for twice; for new answers choose another seed."""
    loaded = load_game(game, preset, set_)
    plan = make_plan(loaded, a, b, n=n, seed=seed, swap=swap)
    limits: dict[str, Any] = {
        "at_once": concurrency,
        "requests_per_minute": requests_per_minute,
        "tokens_per_minute": tokens_per_minute,
        "call_seconds": call_seconds,
    }
    said = {name: value for name, value in limits.items() if value is not None}
    wiring = ModelConfiguration(
        base_url=base_url,
        limits=Limits(**said),
        usd=budget,
        tokens=budget_tokens,
        prices=Prices.parse(price) if price else None,
        private=no_cache,
    )
    if wiring != ModelConfiguration() and not any(name.startswith(MODEL_PREFIX) for name in (a, b)):
        raise ValueError(
            f"no player is a model: {_MODELS.lower()} are named {MODEL_PREFIX}MODEL, and their options need one"
        )
    run = open_run(loaded, plan, out, wiring, game_seconds=game_seconds, retry=_kinds(retry))
    failure = _play(run, on_stop)
    _say(run, loaded.unit, failure)


def _kinds(said: str) -> set[str]:
    """Parse `--retry` into kinds of a record."""
    kinds = {kind.strip() for kind in said.split(",") if kind.strip()}
    for kind in kinds:
        if kind not in _RETRY:
            raise ValueError(f"--retry names failed, timeout or both with a comma between, not {kind!r}")
    return {_RETRY[kind] for kind in kinds}


def _play(run: Run, on_stop: str) -> RunFailed | None:
    """Play until the run ends or is stopped; return the failure if no game could go on."""
    # The bar shows the run's messages; without a handler, logging would print them as well.
    logging.getLogger("negolab.models").addHandler(logging.NullHandler())

    async def play() -> None:
        with RunBar(run) as bar, _interrupts(run, bar, on_stop):
            await run.play()

    try:
        asyncio.run(play())
    except RunFailed as failure:
        return failure
    return None


@contextmanager
def _interrupts(run: Run, bar: RunBar, on_stop: str) -> Iterator[None]:
    """Handle Ctrl-C: the first acts as `on_stop` says, the second drops the games in play."""
    loop = asyncio.get_running_loop()
    pressed = 0

    def stop() -> None:
        nonlocal pressed
        pressed += 1
        playing = run.progress.playing
        if pressed == 1 and on_stop == "finish":
            if playing:
                bar.say(f"no more games begin; {playing} at play are finished first (Ctrl-C again drops them)")
            run.finish()
        else:
            run.cancel()

    before = signal.signal(signal.SIGINT, lambda *_: loop.call_soon_threadsafe(stop))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _say(run: Run, unit: str, failure: RunFailed | None) -> None:
    """Print the results in the folder and how to continue; exit with an error unless all games are over.

    Raises:
        RuntimeError: No game could go on, or none finished.
        typer.Exit: The run was stopped (code 130).
    """
    now, file = run.progress, run.file
    print("\n".join(summary.tally_lines(summary.tally_records(iter_records(file)), unit)))
    print(f"\n{file}")
    if now.failed or now.timed_out:
        kinds = ",".join(said for said, there in (("failed", now.failed), ("timeout", now.timed_out)) if there)
        print(f"play the games that {_broken(now.failed, now.timed_out)} again with --retry {kinds}", file=sys.stderr)
    if failure is not None:
        raise RuntimeError(str(failure))
    if now.over < now.games:
        print(f"stopped after {now.over} of {now.games} games: run the same command again to go on", file=sys.stderr)
        raise typer.Exit(130)
    if not now.finished:
        raise RuntimeError(f"none of {now.games} games could be finished")


def _broken(failed: int, timed_out: int) -> str:
    return " or ".join(word for word, there in (("failed", failed), ("timed out", timed_out)) if there)


def add_to(app: typer.Typer) -> None:
    app.command()(batch)
