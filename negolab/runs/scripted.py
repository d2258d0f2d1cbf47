"""Scripted games of a run, one after another, in the run's own process or a worker's."""

from __future__ import annotations

import asyncio
import inspect
import traceback
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from negolab._internal.files import append
from negolab.catalog import AnyGame
from negolab.game import Ask, Seat
from negolab.llm.endpoint.errors import GameTimedOut
from negolab.match import Match
from negolab.players.factory import PlayerFactory
from negolab.protocols import Player
from negolab.runs.driver import play, seat_players
from negolab.runs.plan import Pairing
from negolab.runs.progress import StopReason
from negolab.runs.timer import CallTimedOut, MatchTimers, call_within
from negolab.store import STOPPED

FAILURES = "errors.log"
"""The log of a run, with the traceback of each game that failed because of a player's code."""


def log_failure(folder: Path, match: Match, error: BaseException) -> None:
    """Append a game in which a player failed to the run's log, with the traceback."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    asked = " and ".join(match.pending()) or "nobody"
    players = ", ".join(f"{seat} = {name}" for seat, name in match.players.items())
    head = f"{now} game {match.id} (seed {match.seed}), {players}; asked: {asked}\n"
    text = head + "".join(traceback.format_exception(error)) + "\n"
    append(folder / FAILURES, text.encode("utf-8", "replace"))


class ScriptedGames:
    """Plays games between players that are not async.

    Args:
        game: The game.
        players: Factories of the players, by name.
        folder: The folder of the run, which contains the log of failures.
        timers: The time limits of games.
    """

    def __init__(self, game: AnyGame, players: Mapping[str, PlayerFactory], folder: Path, timers: MatchTimers) -> None:
        self.game, self.players, self.folder, self.timers = game, players, folder, timers

    def play(self, pairing: Pairing) -> Match:
        """Play one game; a player that raises an error or takes too long ends only this game."""
        match = Match(self.game, seed=pairing.seed, id=pairing.id, players=pairing.players)
        try:
            seats = seat_players(match, factories=self.players)
            play(match, limit_time(seats, self.timers.scripted_game(), self.timers))
        except GameTimedOut as error:
            stop_match(match, "timed out", str(error))
        except Exception as error:  # of a strategy: it fails only this game
            fail_match(self.folder, match, error)
        return match


def stop_match(match: Match, kind: StopReason, reason: str) -> None:
    """End a game that its players did not finish."""
    match.notes[STOPPED] = kind
    match.abort(reason or kind)


def fail_match(folder: Path, match: Match, error: Exception) -> None:
    """End a game whose player raised an error, with the traceback in the run's log."""
    log_failure(folder, match, error)
    stop_match(match, "failed", f"{type(error).__name__}: {error}")


def limit_time(seats: dict[Seat, Player], seconds_left: Callable[[], float], timers: MatchTimers) -> dict[Seat, Player]:
    """Limit the time of players that are not async, if games have a time limit."""
    if timers.seconds is None:
        return seats
    return {
        seat: player if is_async(player) else _LimitedPlayer(player, seconds_left, timers.timed_out)
        for seat, player in seats.items()
    }


class _LimitedPlayer:
    """A player whose replies fail the game once its time is up."""

    def __init__(self, player: Player, seconds_left: Callable[[], float], error: Callable[[], GameTimedOut]) -> None:
        self._player, self._seconds_left, self._error = player, seconds_left, error

    def reply(self, told: AnyGame, ask: Ask) -> Any:
        try:
            reply = call_within(self._seconds_left(), self._player.reply, told, ask)
        except CallTimedOut:
            raise self._error() from None
        return self._within(reply) if inspect.isawaitable(reply) else reply

    async def _within(self, reply: Awaitable[Any]) -> Any:
        try:
            async with asyncio.timeout(self._seconds_left()) as limit:
                return await reply
        except TimeoutError:
            if limit.expired():
                raise self._error() from None
            raise


def is_async(player: Player) -> bool:
    """Return True for a player whose `reply` is a coroutine function."""
    return inspect.iscoroutinefunction(player.reply)
