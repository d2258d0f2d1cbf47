"""The driver: players answer a match, or many matches at once, with time limits."""

from __future__ import annotations

import asyncio
import inspect
import threading
import time
from collections.abc import Awaitable, Callable, Container, Coroutine, Mapping
from math import inf
from typing import Any, TypeVar

import msgspec

from negolab.catalog import AnyGame
from negolab.events import Event
from negolab.game import SEATS, Ask, Invalid, Malformed, Reply, Seat
from negolab.match import Match
from negolab.plan import derived
from negolab.players.player import Places, Player, noted, player

Watch = Callable[[Match, list[Event]], None]
T = TypeVar("T")


def play(
    match: Match,
    players: Mapping[Seat, Player],
    *,
    time_limit: float | None = None,
    watch: Watch | None = None,
) -> Match:
    """Play `match` to its end and return it. Works inside a running event loop, as in Jupyter.

    `time_limit` is in seconds per reply: a later one is rejected as an `Invalid` of kind "time". `watch` is called with
    the events of each reply.
    """
    _seat(match, players, time_limit)
    if any(inspect.iscoroutinefunction(p.reply) for p in players.values()):
        return blocking(aplay(match, players, time_limit=time_limit, watch=watch))
    while asks := match.pending():
        seat, ask = next(iter(asks.items()))
        began = time.monotonic()
        reply = players[seat].reply(match.told(seat), ask)
        if inspect.isawaitable(reply):
            reply = blocking(_awaited(reply, time_limit))
        events = hear(match, seat, _late(time_limit) if _over(began, time_limit) else reply)
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
    """`play` for a running event loop: seats that are asked at once answer at once."""
    _seat(match, players, time_limit)
    while asks := match.pending():
        tasks = [
            asyncio.ensure_future(answer(players[seat], match.told(seat), ask, time_limit))
            for seat, ask in asks.items()
        ]
        try:
            replies = await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
        for seat, reply in zip(asks, replies, strict=True):
            if match.asks(seat):
                events = hear(match, seat, reply)
                if watch is not None:
                    watch(match, events)
    return match


async def answer(who: Player, told: AnyGame, ask: Ask, time_limit: float | None) -> Any:
    """One player's reply with its times, or an `Invalid` of kind "time" if it did not come within the limit."""
    asked_at, began = time.time(), time.monotonic()
    reply = who.reply(told, ask)
    if inspect.isawaitable(reply):
        reply = await _awaited(reply, time_limit)
        if isinstance(reply, str):
            reply = Reply(reply)
        if isinstance(reply, Reply) and reply.asked_at is None:
            reply = msgspec.structs.replace(reply, asked_at=asked_at, answered_at=time.time())
    return _late(time_limit) if _over(began, time_limit) else reply


async def _awaited(reply: Awaitable[Any], time_limit: float | None) -> Any:
    """What is awaited, or an `Invalid` if our own limit came first; a player's own `TimeoutError` is its failure."""
    try:
        async with asyncio.timeout(time_limit) as limit:
            return await reply
    except TimeoutError:
        if limit.expired():
            return _late(time_limit)
        raise


def _over(began: float, time_limit: float | None) -> bool:
    return time_limit is not None and time.monotonic() - began > time_limit


def hear(match: Match, seat: Seat, answer: Any) -> list[Event]:
    """Hand a player's answer to the match: words, a `Reply`, an `Invalid` instead of words, a `Malformed` answer, or a
    typed action."""
    if isinstance(answer, str | Reply):
        return match.submit(seat, answer)
    if isinstance(answer, Invalid):
        return match.reject(seat, answer)
    if isinstance(answer, Malformed):
        return match.reject(seat, answer.invalid, answer.reply)
    if answer is None or isinstance(answer, bytes | int | float | list | dict):
        found = type(answer).__name__
        return match.reject(seat, Invalid(("not_text",), f"Your reply was {found}, not text: send text.", "format"))
    return match.act(seat, answer)


def blocking(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end, also where an event loop is running already (then in a thread of its own)."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    result: list[T] = []
    failure: list[BaseException] = []

    def run() -> None:
        try:
            result.append(asyncio.run(work))
        except BaseException as error:  # raised again below, in the caller's thread
            failure.append(error)

    thread = threading.Thread(target=run, name="negolab-play")
    thread.start()
    thread.join()
    if failure:
        raise failure[0]
    return result[0]


def made(name: str, game: AnyGame, seed: int, seat: Seat, *, models: Places | None = None, match: str = "") -> Player:
    """A player for one game: its seed derives from the deal's and the seat, unless its name carries one. A language
    model is reached through `models` and answers for the match of this id."""
    found = player(name, game, models=models, match=match, draws=derived(seed, "player", seat))
    if seat not in found.seats:
        raise ValueError(f"player {name!r} sits at {' or '.join(found.seats)} only, not at {seat}")
    return found


def seated(
    match: Match, models: Places | None = None, people: Container[Seat] = (), draw: int = 0
) -> dict[Seat, Player]:
    """The players of a match by the names it gives its seats, but for those where `people` sit. What is worth knowing
    of them is noted in the match. Each `draw` has answers of its own where answers are kept."""
    asked = f"{match.id}/{draw}" if draw else match.id
    players = {
        seat: made(name, match.game, match.seed or 0, seat, models=models, match=asked)
        for seat, name in match.players.items()
        if seat not in people
    }
    if notes := noted(players):
        match.notes["models"] = notes
    return players


def _seat(match: Match, players: Mapping[Seat, Player], time_limit: float | None) -> None:
    """Check and note who plays; `ValueError` for a seat without a player or a limit that is none."""
    for seat in SEATS:
        if not callable(getattr(players.get(seat), "reply", None)):
            raise ValueError(f"seat {seat} needs a player with a method reply(told, ask), not {players.get(seat)!r}")
        match.players.setdefault(seat, getattr(players[seat], "name", None) or type(players[seat]).__name__)
    if set(players) != set(SEATS):
        raise ValueError(f"players sit at A and B, not {sorted(players)}")
    if "models" not in match.notes and (notes := noted(players)):
        match.notes["models"] = notes
    if time_limit is not None and not 0 < time_limit < inf:
        raise ValueError(f"time_limit must be seconds above 0 or None, not {time_limit!r}")


def _late(limit: float | None) -> Invalid:
    return Invalid(("late",), f"Your reply did not come within {limit:g} s: answer sooner.", "time")
