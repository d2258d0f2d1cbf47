"""Many games of one plan: `batch` returns records, `run` plays into a folder."""

from __future__ import annotations

import asyncio
import platform
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AsyncExitStack, ExitStack
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from shutil import rmtree
from typing import Any, NamedTuple

import msgspec

from negolab import catalog
from negolab._internal import manifest
from negolab._internal.version import __version__
from negolab._internal.workers import is_loop_running
from negolab.catalog import AnyGame
from negolab.ledger import paid
from negolab.llm.configuration import ModelConfiguration, open_models
from negolab.llm.endpoint.call import EndpointProvider
from negolab.llm.endpoint.policy import Limits
from negolab.llm.endpoint.prices import Prices
from negolab.llm.models import Models
from negolab.llm.player import LLM
from negolab.match import Match
from negolab.players.factory import PlayerFactory
from negolab.players.lookup import PlayerSpec, resolve_players
from negolab.record import Record
from negolab.runs.answers import MAX_UNUSABLE
from negolab.runs.driver import play, seat_players
from negolab.runs.matchup import Matchup
from negolab.runs.plan import Pairing, Plan, make_plan, resume_plan
from negolab.runs.run import DEFAULTS, Run, RunOptions
from negolab.runs.workers import why_one_process
from negolab.store import FILE, RETRIED, Store


def batch(
    game: AnyGame | str, a: PlayerSpec, b: PlayerSpec, *, n: int = 100, seed: int = 0, swap: bool = False
) -> list[Record]:
    """Play `n` matches between two scripted players in memory.

    The same arguments give the same matches.

    Args:
        game: A game, or the name of one with its default preset.
        a: Player at seat A: a name such as "time:beta=0.2", a reference to your own code such as
            "mine.py:Haggler,beta=2" or "package.module:Haggler", a class or function, which makes a new player for each
            match, or an object, which plays all matches itself.
        b: Player at seat B.
        n: Number of matches; even with `swap`.
        seed: Seed from which the seeds of deals and players are derived.
        swap: Play each deal twice, with the seats exchanged.

    Returns:
        The records of the matches, in the order of the plan.

    Raises:
        ValueError: Unknown game or player, or a player that cannot play this game.
        RuntimeError: A player failed; the message names the match and its seed.

    Example:
        >>> records = batch("trading", "greedy-honest", "random-legal", n=2)
        >>> len(records)
        2
    """
    game = catalog.load(game)
    players = resolve_players(game, a, b)
    plan = make_plan(game, *players, n=n, seed=seed, swap=swap)
    factories = {player.name: player for player in players}
    return [play_pairing(game, pairing, factories).record() for pairing in plan.pairings()]


def play_pairing(game: AnyGame, pairing: Pairing, factories: Mapping[str, PlayerFactory] | None = None) -> Match:
    """Deal and play one game of a plan, with its own players; `factories` as in `seat_players`."""
    match = Match(game, seed=pairing.seed, id=pairing.id, players=pairing.players)
    try:
        return play(match, seat_players(match, factories=factories))
    except Exception as error:
        raise RuntimeError(
            f"match {pairing.id} (seed {pairing.seed}) stopped while waiting for seat {' and '.join(match.pending())}, "
            f"played by {pairing.players}: {type(error).__name__}: {error}"
        ) from error


def run(
    game: AnyGame | str,
    a: PlayerSpec,
    b: PlayerSpec,
    *,
    out: Path | str,
    n: int = 100,
    seed: int = 0,
    swap: bool = False,
    models: Models | EndpointProvider | None = None,
    base_url: str | None = None,
    budget: float | None = None,
    budget_tokens: int | None = None,
    prices: Mapping[str, str] | None = None,
    limits: Limits | None = None,
    at_once: int | None = None,
    workers: int | None = None,
    scheduler: str | None = None,
    game_seconds: float | None = None,
    retry: Collection[str] | str = (),
    unusable: float = MAX_UNUSABLE,
    trust: bool = False,
) -> Run:
    """Play `n` matches, optionally with models, into the folder `out`, and resume any run that is there.

    Inside a running event loop (a notebook), the run starts in the background and the call returns immediately;
    elsewhere, it returns when the run is over.

    Args:
        game: A game, or the name of one with its default preset.
        a: Player at seat A: "llm:gpt-5-mini", or one that `batch` takes.
        b: Player at seat B.
        out: Folder for the run. Repeating the call with the same plan continues it.
        n: Number of matches; even with `swap`.
        seed: Seed from which the seeds of deals and players are derived.
        swap: Play each deal twice, with the seats exchanged.
        models: Endpoints with their own limits, prices, budget and cache, instead of the five arguments that follow.
        base_url: Address of the models' endpoint (None: from the environment).
        budget: Limit on model costs in US dollars, over all calls of this run, including resumed ones.
        budget_tokens: Limit on input and output tokens, counted in the same way.
        prices: US dollars per million input and output tokens, by model, such as {"mine": "0.15,0.60"}.
        limits: What the endpoint allows: concurrency, calls and tokens per minute, timeouts.
        at_once: Number of matches played at the same time.
        workers: Number of processes that play strategies (None: one per core above 5,000 matches, or the value of the
            environment variable NEGOLAB_WORKERS). Your own players and games must be in files; anything given as an
            object is played in one process.
        scheduler: Address of a Dask scheduler, "tcp://...", whose workers play strategies instead. They see the folder
            `out` and your own files at the same paths.
        game_seconds: Time limit for each match in seconds, not counting time spent waiting for endpoints.
        retry: Matches to play again: "failed", "timed out", or both.
        unusable: Largest share of a model's answers that may be unreadable (empty, cut, refused, no JSON, ...), from 0
            to 1. A run that exceeds it after 20 answers is stopped, because rules play in place of the model; so is one
            in which a model gives no usable answer at all. 1 sets no limit.
        trust: Continue a run even if files of its own game or players have changed since it began.

    Returns:
        The run: `await run`, `run.progress`, `run.pause()`, `run.resume()`, `run.finish()`, `run.cancel()`,
        `run.records()`.

    Raises:
        ValueError: Unknown game or player, mutually exclusive arguments, or `out` contains a different run.
        RunFailed: No match can continue (wrong key, budget reached, endpoint unreachable), or too many answers are
            unusable.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     finished = run("trading", "greedy-honest", "random-legal", n=4, out=folder)
        >>> finished.progress.finished
        4
    """
    game = catalog.load(game)
    players = resolve_players(game, a, b)
    plan = make_plan(game, *players, n=n, seed=seed, swap=swap)
    configuration, options = read_arguments(
        models=models,
        base_url=base_url,
        budget=budget,
        budget_tokens=budget_tokens,
        prices=prices,
        limits=limits,
        at_once=at_once,
        workers=workers,
        scheduler=scheduler,
        game_seconds=game_seconds,
        retry=retry,
        unusable=unusable,
        trust=trust,
    )
    opened = open_run(game, plan, out, configuration, options, players=players)
    if is_loop_running():
        opened.start()
    else:
        asyncio.run(opened.play())
    return opened


def read_arguments(
    *,
    models: Models | EndpointProvider | None = None,
    base_url: str | None = None,
    budget: float | None = None,
    budget_tokens: int | None = None,
    prices: Mapping[str, str] | None = None,
    limits: Limits | None = None,
    retry: Collection[str] | str = (),
    **options: Any,
) -> tuple[ModelConfiguration | Models | EndpointProvider, RunOptions]:
    """Return the models and options that arguments of `run` stand for; raise ValueError if they are mutually
    exclusive."""
    endpoint_options = (base_url, budget, budget_tokens, prices, limits)
    if models is not None and any(value is not None for value in endpoint_options):
        raise ValueError("pass base_url, budget, prices and limits to Models(...) if you pass models")
    configuration = ModelConfiguration(
        base_url=base_url,
        usd=budget,
        tokens=budget_tokens,
        prices=Prices(prices) if prices else None,
        limits=limits or Limits(),
    )
    retry = {retry} if isinstance(retry, str) else retry
    return models or configuration, RunOptions(retry=frozenset(retry), **options)


class Part(NamedTuple):
    """A matchup to open: the games to play, their players and the folder that stores them."""

    game: AnyGame
    plan: Plan
    folder: Path
    players: Sequence[PlayerFactory]


def open_run(
    game: AnyGame,
    plan: Plan,
    folder: Path | str,
    models: ModelConfiguration | Models | EndpointProvider,
    options: RunOptions = DEFAULTS,
    *,
    players: tuple[PlayerFactory, PlayerFactory] | None = None,
) -> Run:
    """Open a run of one matchup; see `open_matchups`. `players` are those of the plan (None: they are found by
    name)."""
    part = Part(game, plan, Path(folder), players or resolve_players(game, plan.a, plan.b))
    return open_matchups([part], Path(folder), models, options)


def open_matchups(
    parts: Sequence[Part],
    folder: Path,
    models: ModelConfiguration | Models | EndpointProvider,
    options: RunOptions = DEFAULTS,
    about: Mapping[str, Any] | None = None,
) -> Run:
    """Open a run in its folder and write its manifests; no call is made yet.

    All matchups share models, budget and cache. The run closes what was opened for it, including models given as a
    `ModelConfiguration`. `about` has the manifest fields of a folder that contains the folders of its matchups.

    Raises:
        ValueError: A folder contains another run, or a player cannot be made.
    """
    if options.scheduler is not None:
        _check_sendable(parts)
    configuration = models if isinstance(models, ModelConfiguration) else None
    listeners: list[Callable[[str], None]] = []
    closing = AsyncExitStack()
    with ExitStack() as resources:
        stores = []
        if not folder.exists():
            resources.callback(_remove_unused, folder)
        for part in parts:
            stores.append(Store(part.folder))
            resources.callback(stores[-1].close)
        run_id = manifest.read(folder).get("run") or stores[0].run
        if about is not None:
            manifest.write(folder, {"run": run_id, **about, **_versions()})
        provider: Models | EndpointProvider | None = None if isinstance(models, ModelConfiguration) else models
        if configuration is not None and any(player.is_model for part in parts for player in part.players):
            provider = open_models(configuration, folder, run_id, listeners, resources)
            if options.at_once is None:
                options = msgspec.structs.replace(options, at_once=2 * configuration.limits.at_once)
        matchups = [
            _open_matchup(part, store, configuration, provider, options)
            for part, store in zip(parts, stores, strict=True)
        ]
        run = Run(matchups, folder, options, models=provider, closing=closing)
        closing.push(resources.pop_all())
        if configuration is not None and isinstance(provider, Models):
            closing.push_async_callback(provider.close)
    listeners.append(run.set_message)
    return run


def _check_sendable(parts: Sequence[Part]) -> None:
    """Raise ValueError for a player or a game that only this process can play."""
    for part in parts:
        for player in part.players:
            if player.is_async:
                kind = "a model" if player.is_model else "async"
                raise ValueError(
                    f"a scheduler's workers play only strategies, but {player.name} is {kind}: leave out the scheduler"
                )
        if why_not := why_one_process(part.game, part.plan, {player.name: player for player in part.players}):
            raise ValueError(f"a scheduler's workers cannot play this: {why_not}")


def _open_matchup(
    part: Part,
    store: Store,
    configuration: ModelConfiguration | None,
    provider: Models | EndpointProvider | None,
    options: RunOptions,
) -> Matchup:
    game, plan = resume_plan(part.game, part.plan, manifest.read(store.folder).get("plan", {}))
    facts = {player.name: _facts_of(player, provider) for player in part.players}
    store.note_game(game, changed=options.trust)
    store.claim(plan, facts, changed=options.trust, **_manifest_fields(configuration, provider, facts))
    if options.retry:
        store.set_aside(options.retry)
    return Matchup(game, plan, store, part.players)


def _remove_unused(folder: Path) -> None:
    """Remove the folder of a run that failed before it played or paid anything."""
    has_games = any(file.stat().st_size for name in (FILE, RETRIED) for file in folder.rglob(name))
    taken = paid(folder)
    if not (has_games or taken.answers or taken.pico or taken.tokens):
        rmtree(folder, ignore_errors=True)


def _facts_of(factory: PlayerFactory, models: EndpointProvider | None) -> dict[str, Any]:
    """Return the facts about a player: for a model, everything that shapes its answers, including its system
    message."""
    player = factory.make(models=models)
    if not isinstance(player, LLM):
        return {**factory.facts, **({"player": factory.called} if factory.called else {})}
    facts = {**player.notes(), **factory.facts}
    if isinstance(models, Models):
        models.check_key(player.settings.base_url, player.settings.key)
        models.policy.check(facts["model"])
    if player.persona is not None:
        facts["persona"] = {**facts["persona"], "text": player.persona.text}
    return facts


def _versions() -> dict[str, Any]:
    """Return the manifest fields that say when and by which versions it was written."""
    versions = {"negolab": __version__, "python": platform.python_version()}
    return {"written": datetime.now(UTC).isoformat(timespec="seconds"), "versions": versions}


def _manifest_fields(
    configuration: ModelConfiguration | None, models: object, players: dict[str, dict[str, Any]]
) -> dict[str, Any]:
    """Return the fields of a manifest besides plan and players."""
    fields = _versions()
    if isinstance(models, Models):
        fields["versions"]["openai"] = version("openai")
        fields["prices"] = models.policy.prices.as_dict(
            facts["model"] for facts in players.values() if "model" in facts
        )
    if configuration is not None and models is not None:
        fields["budget"] = {"usd": configuration.usd, "tokens": configuration.tokens}
        fields["limits"] = msgspec.to_builtins(configuration.limits)
    return fields
