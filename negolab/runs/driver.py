"""The driver of a match, which asks the players, limits their time, and passes their replies to the match."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable, Container, Mapping
from math import inf
from typing import Any

import msgspec

from negolab._internal import clock
from negolab._internal.workers import run_blocking
from negolab.catalog import AnyGame
from negolab.events import Event
from negolab.game import SEATS, Ask, Invalid, Malformed, Reply, Seat
from negolab.llm.endpoint.call import EndpointProvider
from negolab.match import Match
from negolab.players.code import code_facts
from negolab.players.factory import PlayerFactory
from negolab.players.lookup import PlayerSpec, resolve
from negolab.protocols import Player, deterministic_seats, player_notes
from negolab.record import CODE, DETERMINISTIC
from negolab.runs.plan import derive_seed
from negolab.runs.timer import CallTimedOut, call_within

Watch = Callable[[Match, list[Event]], None]


def play(
    match: Match,
    players: Mapping[Seat, PlayerSpec],
    *,
    time_limit: float | None = None,
    watch: Watch | None = None,
) -> Match:
    """Play a match to its end; this also works in Jupyter.

    Args:
        match: The match; it is changed in place.
        players: A player for each seat: an object with `reply(told, ask)`, sync or async; or a name such as
            "time:beta=0.2", a reference such as "mine.py:Haggler,beta=2", a class or a function, from which a player is
            made with a seed derived from the match's seed.
        time_limit: Seconds for each reply; a later one is rejected as an `Invalid` of kind "time" (None: no limit). A
            player that does not stop is interrupted; see `call_within`.
        watch: Called with the match and the events of each reply.

    Returns:
        The match.

    Raises:
        ValueError: A seat has no player, or the time limit is not positive.

    Example:
        >>> import negolab as nl
        >>> game = nl.load("trading")
        >>> players = {"A": nl.player("greedy-honest", game), "B": "random-legal"}
        >>> nl.play(nl.Match(game, seed=1), players).outcome is not None
        True
    """
    players = _check_players(match, players, time_limit)
    if any(inspect.iscoroutinefunction(p.reply) for p in players.values()):
        return run_blocking(aplay(match, players, time_limit=time_limit, watch=watch))
    return play_until_asked(match, players, time_limit=time_limit, watch=watch)


def play_until_asked(
    match: Match, players: Mapping[Seat, Player], *, time_limit: float | None = None, watch: Watch | None = None
) -> Match:
    """Play a match until it is over, or until a seat without a player in `players` is asked."""
    while asks := match.pending():
        seat, ask = next(iter(asks.items()))
        if seat not in players:
            break
        reply = _call_player(players[seat], match.told(seat), ask, time_limit)
        if not isinstance(reply, _PLAIN) and inspect.isawaitable(reply):
            reply = run_blocking(_await_reply(reply, time_limit))
        events = submit_reply(match, seat, reply)
        if watch is not None:
            watch(match, events)
    return match


async def aplay(
    match: Match,
    players: Mapping[Seat, PlayerSpec],
    *,
    time_limit: float | None = None,
    watch: Watch | None = None,
) -> Match:
    """Play a match to its end as a coroutine; simultaneous replies are awaited concurrently."""
    players = _check_players(match, players, time_limit)
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
    asked_at, began = clock.time(), time.monotonic()
    reply = _call_player(player, told, ask, time_limit)
    if inspect.isawaitable(reply):
        reply = await _await_reply(reply, time_limit)
        if isinstance(reply, str):
            reply = Reply(reply)
        if isinstance(reply, Reply) and reply.asked_at is None:
            reply = msgspec.structs.replace(reply, asked_at=asked_at, answered_at=clock.time())
    return _late_reply(time_limit) if _is_late(began, time_limit) else reply


def _call_player(player: Player, told: AnyGame, ask: Ask, time_limit: float | None) -> Any:
    """Call a player's `reply`; if it takes longer than the limit, interrupt it if possible."""
    try:
        if time_limit is None:
            return player.reply(told, ask)
        return call_within(time_limit, player.reply, told, ask)
    except CallTimedOut:
        return _late_reply(time_limit)
    except SystemExit as error:
        raise _exit_error(error) from error


async def _await_reply(reply: Awaitable[Any], time_limit: float | None) -> Any:
    """Await a reply within the limit; the player's own `TimeoutError` propagates."""
    try:
        async with asyncio.timeout(time_limit) as limit:
            return await reply
    except SystemExit as error:
        raise _exit_error(error) from error
    except TimeoutError:
        if limit.expired():
            return _late_reply(time_limit)
        raise


def _exit_error(error: SystemExit) -> RuntimeError:
    """Return the error for a player that would otherwise end the whole run."""
    return RuntimeError(f"the player called sys.exit({error.code!r})")


def _is_late(began: float, time_limit: float | None) -> bool:
    return time_limit is not None and time.monotonic() - began > time_limit


# Tuples: `isinstance` with a union takes twice the time.
_PLAIN = (str, msgspec.Struct)
_WORDS = (str, Reply)
_NO_ACTION = (bytes, int, float, list, dict)


def submit_reply(match: Match, seat: Seat, answer: Any) -> list[Event]:
    """Pass a player's answer (a text, `Reply`, `Invalid`, `Malformed` or typed action) to the match."""
    if isinstance(answer, _WORDS):
        return match.submit(seat, answer)
    if isinstance(answer, Invalid):
        return match.reject(seat, answer)
    if isinstance(answer, Malformed):
        return match.reject(seat, answer.invalid, answer.reply)
    if answer is None or isinstance(answer, _NO_ACTION):
        kind = type(answer).__name__
        return match.reject(seat, Invalid(("not_text",), f"Your reply was {kind}, not text: send text.", "format"))
    return match.act(seat, answer)


def make_player(
    name: str,
    game: AnyGame,
    seed: int,
    seat: Seat,
    *,
    models: EndpointProvider | None = None,
    match: str = "",
    load: bool = True,
) -> Player:
    """Make a player for one seat of the match with the ID `match`; raise ValueError if it cannot play that seat.

    Its seed is derived from the deal's seed and the seat, unless its name contains one; `load` as in `resolve`.
    """
    return _seated(resolve(name, game, load=load), seed, seat, models=models, match=match)


def _seated(factory: PlayerFactory, seed: int, seat: Seat, **more: Any) -> Player:
    """Make the factory's player for this seat, with a seed derived from the deal's seed."""
    factory.check_seat(seat)
    return factory.make(seed=derive_seed(seed, "player", seat), **more)


def seat_players(
    match: Match,
    models: EndpointProvider | None = None,
    people: Container[Seat] = (),
    draw: int = 0,
    *,
    factories: Mapping[str, PlayerFactory] | None = None,
    load: bool = True,
) -> dict[Seat, Player]:
    """Make the players that a match names, except for the seats in `people`, and note facts about them in the match.

    Args:
        match: The match.
        models: Endpoints for language models.
        people: Seats that get no player.
        draw: Number of the draw; each draw of a match has its own cached answers.
        factories: The factories of a run by name (None: the players are found by name).
        load: Import files that the names refer to, as in `resolve`: False for names from a record or a page.

    Raises:
        ValueError: A player does not exist or cannot play its seat.
    """
    cache_id = f"{match.id}/{draw}" if draw else match.id
    players: dict[Seat, Player] = {}
    facts: dict[Seat, Mapping[str, Any]] = {}
    for seat, name in match.players.items():
        if seat in people:
            continue
        factory = resolve(name, match.game, load=load) if factories is None else factories[name]
        players[seat] = _seated(factory, match.seed or 0, seat, match=cache_id, models=models)
        facts[seat] = factory.facts
    _note_players(match, players, facts)
    return players


def _note_players(match: Match, players: Mapping[Seat, Player], facts: Mapping[Seat, Mapping[str, Any]]) -> None:
    """Note in the match which models its players are, whose code they are, and which seats are played without
    chance."""
    if notes := player_notes(players):
        match.notes["models"] = notes
    if code := {
        seat: {k: v for k, v in found.items() if k not in ("path", "files")} for seat, found in facts.items() if found
    }:
        match.notes[CODE] = code
    if seats := deterministic_seats(players):
        match.notes[DETERMINISTIC] = seats


def _check_players(match: Match, players: Mapping[Seat, PlayerSpec], time_limit: float | None) -> dict[Seat, Player]:
    """Check the players and time limit, make players not yet made, and note their names in the match."""
    if time_limit is not None and not 0 < time_limit < inf:
        raise ValueError(f"time_limit must be seconds above 0 or None, not {time_limit!r}")
    if set(players) - set(SEATS):
        raise ValueError(f"players must be given for A and B, not {sorted(players)}")
    made: dict[Seat, Player] = {}
    facts: dict[Seat, Mapping[str, Any]] = {}
    for seat in SEATS:
        player: Any = players.get(seat)
        if player is None:
            raise ValueError(f"seat {seat} needs a player: a name, or an object with reply(told, ask)")
        if isinstance(player, type) or not callable(getattr(player, "reply", None)):
            factory = resolve(player, match.game)
            player = _seated(factory, match.seed or 0, seat, match=match.id)
            match.players.setdefault(seat, factory.name)
            facts[seat] = factory.facts
        else:
            match.players.setdefault(seat, getattr(player, "name", None) or type(player).__name__)
            facts[seat] = code_facts(type(player))
        made[seat] = player
    if not {"models", DETERMINISTIC, CODE} & match.notes.keys():
        _note_players(match, made, facts)
    return made


def _late_reply(limit: float | None) -> Invalid:
    return Invalid(("late",), f"Your reply did not come within {limit:g} s: answer sooner.", "time")
