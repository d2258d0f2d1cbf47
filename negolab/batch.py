"""A batch: many games of one plan, as records in memory or as a run in a folder."""

from __future__ import annotations

import asyncio
import platform
from collections.abc import Callable, Collection, Mapping
from contextlib import AsyncExitStack, ExitStack
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, get_args

import msgspec

from negolab import catalog
from negolab.catalog import AnyGame
from negolab.game import Seat
from negolab.match import Match
from negolab.plan import Pairing, Plan, plan_of
from negolab.play import made, play, seated
from negolab.players.endpoint.limits import Limits
from negolab.players.endpoint.models import Models
from negolab.players.endpoint.prices import Prices
from negolab.players.player import MODEL, Places
from negolab.progress import Stopped
from negolab.record import Record
from negolab.run import AT_ONCE, Run
from negolab.store import Store
from negolab.version import __version__
from negolab.wiring import Wiring, wired


def batch(game: AnyGame | str, a: str, b: str, *, n: int = 100, seed: int = 0, swap: bool = False) -> list[Record]:
    """Play `n` games of two scripted players, named as `time:beta=0.2`, and return their records. With `swap` every
    deal is played from both seats. The same arguments give the same games."""
    game = catalog.load(game)
    plan = plan_of(game, a, b, n=n, seed=seed, swap=swap)
    return [play_pairing(game, pairing).record() for pairing in plan.pairings()]


def play_pairing(game: AnyGame, pairing: Pairing) -> Match:
    """Deal and play one game of a batch, with players made for it alone."""
    match = Match(game, seed=pairing.seed, id=pairing.id, players=pairing.players)
    try:
        return play(match, seated(match))
    except Exception as error:
        raise RuntimeError(
            f"game {pairing.id} (seed {pairing.seed}) stopped at {' and '.join(match.pending())}, "
            f"played by {pairing.players}: {type(error).__name__}: {error}"
        ) from error


def run(
    game: AnyGame | str,
    a: str,
    b: str,
    *,
    out: Path | str,
    n: int = 100,
    seed: int = 0,
    swap: bool = False,
    models: Models | Places | None = None,
    base_url: str | None = None,
    budget: float | None = None,
    budget_tokens: int | None = None,
    prices: Mapping[str, str] | None = None,
    limits: Limits | None = None,
    at_once: int | None = None,
    game_seconds: float | None = None,
    retry: Collection[str] | str = (),
) -> Run:
    """Play `n` games, also of models (`llm:MODEL`), into the folder `out`; the same call goes on where it stopped.

    In a notebook it returns at once and the games go on behind it: look at `run.progress` or `RunProgress(run)`,
    `run.pause()`, `resume()`, `finish()`, `cancel()`, and `await run` for the end. In a script it returns at the end.
    `budget` is in US dollars, for the run as a whole; `prices` are by model, as `{"mine": "0.15,0.60"}` for input and
    output in US dollars per million tokens; `limits` are what each model allows. `retry` names what is played again, of
    "failed" and "timed out". `models` are reached as they say, else at `base_url`, with answers kept in the user's
    cache.
    """
    retry = {retry} if isinstance(retry, str) else retry
    said = (base_url, budget, budget_tokens, prices, limits)
    if models is not None and any(value is not None for value in said):
        raise ValueError("base_url, budget, prices and limits are said to Models(...) where models is given")
    game = catalog.load(game)
    plan = plan_of(game, a, b, n=n, seed=seed, swap=swap)
    wiring = Wiring(
        base_url=base_url,
        usd=budget,
        tokens=budget_tokens,
        prices=Prices(prices) if prices else None,
        limits=limits or Limits(),
    )
    made = opened(game, plan, out, models or wiring, at_once=at_once, game_seconds=game_seconds, retry=retry)
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        asyncio.run(made.play())
    else:
        made.start()
    return made


def opened(
    game: AnyGame,
    plan: Plan,
    folder: Path | str,
    wiring: Wiring | Models | Places,
    *,
    at_once: int | None = None,
    game_seconds: float | None = None,
    retry: Collection[str] = (),
) -> Run:
    """A run in its folder, with its manifest written, before its first call. The run closes what was opened for it.
    `ValueError` if the folder holds another run."""
    if unknown := set(retry) - set(get_args(Stopped)):
        raise ValueError(f"retry names {' and '.join(get_args(Stopped))}, not {', '.join(sorted(unknown))}")
    heard: list[Callable[[str], None]] = []
    closing = AsyncExitStack()
    with ExitStack() as held:
        store = Store(folder)
        held.callback(store.close)
        models: Models | Places | None = None if isinstance(wiring, Wiring) else wiring
        if isinstance(wiring, Wiring) and _asks_models(plan):
            models = wired(wiring, store.folder, store.run, heard, held)
            at_once = 2 * wiring.limits.at_once if at_once is None else at_once
        players = _lineup(game, plan, models)
        store.claim(plan, players, **_about(wiring, models, players))
        if retry:
            store.set_aside(retry)
        made = Run(
            game,
            plan,
            store,
            models=models,
            at_once=AT_ONCE if at_once is None else at_once,
            game_seconds=game_seconds,
            closing=closing,
        )
        closing.push(held.pop_all())
        if isinstance(wiring, Wiring) and isinstance(models, Models):
            closing.push_async_callback(models.close)
    heard.append(made.tell)
    return made


def _asks_models(plan: Plan) -> bool:
    return any(name.startswith(MODEL) for name in (plan.a, plan.b))


def _lineup(game: AnyGame, plan: Plan, models: Places | None) -> dict[str, dict[str, Any]]:
    """What each player is, by name: for a model all that shapes its answers, with the text of its prompt."""
    first = next(plan.pairings())
    return {name: _facts(name, game, seat, models) for seat, name in first.players.items()}


def _facts(name: str, game: AnyGame, seat: Seat, models: Places | None) -> dict[str, Any]:
    who = made(name, game, 0, seat, models=models)
    if not name.startswith(MODEL):
        return {}
    from negolab.players.llm.player import LLM  # only those who talk to a model load it

    assert isinstance(who, LLM)
    facts = who.notes()
    if isinstance(models, Models):
        models.check(facts["model"], facts["parameters"])
    if who.persona is not None:
        facts["persona"] = {**facts["persona"], "text": who.persona.text}
    return facts


def _about(wiring: Any, models: Any, players: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """What a manifest says besides plan and players."""
    versions = {"negolab": __version__, "python": platform.python_version()}
    about: dict[str, Any] = {"written": datetime.now(UTC).isoformat(timespec="seconds"), "versions": versions}
    if isinstance(models, Models):
        versions["openai"] = version("openai")
        about["prices"] = models.prices.notes(facts["model"] for facts in players.values() if "model" in facts)
    if isinstance(wiring, Wiring) and models is not None:
        about["budget"] = {"usd": wiring.usd, "tokens": wiring.tokens}
        about["limits"] = msgspec.to_builtins(wiring.limits)
    return about
