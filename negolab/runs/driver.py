"""The driver of a match: asks the players, limits their time and hands their replies to the match."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable, Container, Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from math import inf
from typing import Any, TypeVar

import msgspec

from negolab.catalog import AnyGame
from negolab.events import Event
from negolab.game import SEATS, Ask, Invalid, Malformed, Reply, Seat
from negolab.llm.endpoint.call import EndpointProvider
from negolab.match import Match
from negolab.players.factory import PlayerFactory
from negolab.players.lookup import resolve
from negolab.protocols import Player, deterministic_seats, player_notes
from negolab.record import DETERMINISTIC
from negolab.runs.plan import derive_seed

Watch = Callable[[Match, list[Event]], None]
T = TypeVar("T")


def play(
    match: Match,
    players: Mapping[Seat, Player],
    *,
    time_limit: float | None = None,
    watch: Watch | None = None,
) -> Match:
    """Play a match to its end, also inside a running event loop, as in Jupyter.

    Args:
        match: The match; it is changed in place.
        players: A player for each seat: an object with `reply(told, ask)`, sync or async.
        time_limit: Seconds for each reply; a later one is rejected as an `Invalid` of kind "time" (None: no limit).
        watch: Called with the match and the events of each reply.

    Returns:
        The match.

    Raises:
        ValueError: A seat has no player, or the time limit is not above 0.

    Example:
        >>> import negolab as nl
        >>> game = nl.load("trading")
        >>> players = {"A": nl.player("greedy-honest", game), "B": nl.player("random-legal", game)}
        >>> nl.play(nl.Match(game, seed=1), players).outcome is not None
        True
    """
    _check_players(match, players, time_limit)
    if any(inspect.iscoroutinefunction(p.reply) for p in players.values()):
        return run_blocking(aplay(match, players, time_limit=time_limit, watch=watch))
    while asks := match.pending():
        seat, ask = next(iter(asks.items()))
        began = time.monotonic()
        reply = players[seat].reply(match.told(seat), ask)
        if inspect.isawaitable(reply):
            reply = run_blocking(_await_reply(reply, time_limit))
        events = submit_reply(match, seat, _late_reply(time_limit) if _is_late(began, time_limit) else reply)
        if watch is not None:
            watch(match, events)
    return match


async def aplay(
    match: Match,
    players: Mapping[Seat, Player],
    *,
    time_limit: float | None = None,
    watch: Watch | None = None,
) -> Match:
    """Play a match as `play` does, as a coroutine: seats that are asked at once answer at once."""
    _check_players(match, players, time_limit)
    while asks := match.pending():
        tasks = [
            asyncio.ensure_future(ask_player(players[seat], match.told(seat), ask, time_limit))
            for seat, ask in asks.items()
        ]
        try:
            replies = await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
        for seat, reply in zip(asks, replies, strict=True):
            if match.asks(seat):
                events = submit_reply(match, seat, reply)
                if watch is not None:
                    watch(match, events)
    return match


async def ask_player(player: Player, told: AnyGame, ask: Ask, time_limit: float | None) -> Any:
    """Return a player's reply with its times, or an `Invalid` of kind "time" if it came too late."""
    asked_at, began = time.time(), time.monotonic()
    reply = player.reply(told, ask)
    if inspect.isawaitable(reply):
        reply = await _await_reply(reply, time_limit)
        if isinstance(reply, str):
            reply = Reply(reply)
        if isinstance(reply, Reply) and reply.asked_at is None:
            reply = msgspec.structs.replace(reply, asked_at=asked_at, answered_at=time.time())
    return _late_reply(time_limit) if _is_late(began, time_limit) else reply


async def _await_reply(reply: Awaitable[Any], time_limit: float | None) -> Any:
    """Await a reply within the limit; a player's own `TimeoutError` is raised."""
    try:
        async with asyncio.timeout(time_limit) as limit:
            return await reply
    except TimeoutError:
        if limit.expired():
            return _late_reply(time_limit)
        raise


def _is_late(began: float, time_limit: float | None) -> bool:
    return time_limit is not None and time.monotonic() - began > time_limit


def submit_reply(match: Match, seat: Seat, answer: Any) -> list[Event]:
    """Hand a player's answer to the match: a text, `Reply`, `Invalid`, `Malformed` or typed action."""
    if isinstance(answer, str | Reply):
        return match.submit(seat, answer)
    if isinstance(answer, Invalid):
        return match.reject(seat, answer)
    if isinstance(answer, Malformed):
        return match.reject(seat, answer.invalid, answer.reply)
    if answer is None or isinstance(answer, bytes | int | float | list | dict):
        kind = type(answer).__name__
        return match.reject(seat, Invalid(("not_text",), f"Your reply was {kind}, not text: send text.", "format"))
    return match.act(seat, answer)


def run_blocking(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end; where an event loop is running already, in a thread of its own."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    with ThreadPoolExecutor(1, thread_name_prefix="negolab-play") as thread:
        return thread.submit(asyncio.run, coroutine).result()


def make_player(
    name: str, game: AnyGame, seed: int, seat: Seat, *, models: EndpointProvider | None = None, match: str = ""
) -> Player:
    """Make a player for one seat of the match with the id `match`; ValueError if it cannot play that seat.

    Its seed derives from the deal's seed and the seat, unless its name carries one.
    """
    factory = resolve(name, game)
    factory.check_seat(seat)
    return factory.make(seed=derive_seed(seed, "player", seat), models=models, match=match)


def seat_players(
    match: Match,
    models: EndpointProvider | None = None,
    people: Container[Seat] = (),
    draw: int = 0,
    *,
    factories: Mapping[str, PlayerFactory] | None = None,
) -> dict[Seat, Player]:
    """Make the players that a match names, except at the seats of `people`, and note facts about them in the match.

    Args:
        match: The match.
        models: Endpoints for language models.
        people: Seats that get no player.
        draw: Each draw of a match has cached answers of its own.
        factories: The factories of a run by name (None: the players are found by their names).

    Raises:
        ValueError: A player does not exist, or cannot play its seat.
    """
    cache_id = f"{match.id}/{draw}" if draw else match.id
    players: dict[Seat, Player] = {}
    for seat, name in match.players.items():
        if seat in people:
            continue
        factory = resolve(name, match.game) if factories is None else factories[name]
        factory.check_seat(seat)
        seed = derive_seed(match.seed or 0, "player", seat)
        players[seat] = factory.make(seed=seed, match=cache_id, models=models)
    _note_players(match, players)
    return players


def _note_players(match: Match, players: Mapping[Seat, Player]) -> None:
    """Note in the match what models its players are, and which seats are played without chance."""
    if notes := player_notes(players):
        match.notes["models"] = notes
    if seats := deterministic_seats(players):
        match.notes[DETERMINISTIC] = seats


def _check_players(match: Match, players: Mapping[Seat, Player], time_limit: float | None) -> None:
    """Check players and time limit, and note the players' names in the match."""
    for seat in SEATS:
        if not callable(getattr(players.get(seat), "reply", None)):
            raise ValueError(f"seat {seat} needs a player with a method reply(told, ask), not {players.get(seat)!r}")
        match.players.setdefault(seat, getattr(players[seat], "name", None) or type(players[seat]).__name__)
    if set(players) != set(SEATS):
        raise ValueError(f"players sit at A and B, not {sorted(players)}")
    if not {"models", DETERMINISTIC} & match.notes.keys():
        _note_players(match, players)
    if time_limit is not None and not 0 < time_limit < inf:
        raise ValueError(f"time_limit must be seconds above 0 or None, not {time_limit!r}")


def _late_reply(limit: float | None) -> Invalid:
    return Invalid(("late",), f"Your reply did not come within {limit:g} s: answer sooner.", "time")
