"""A run: the games of a plan, played into a folder, thousands on one event loop; it can be stopped and gone on with."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from negolab import collector
from negolab.catalog import AnyGame
from negolab.clock import Clocks
from negolab.game import Ask, Seat
from negolab.match import Match
from negolab.plan import Pairing, Plan
from negolab.play import aplay, play, seated
from negolab.players.endpoint.failures import BudgetReached, GameFailed, GameTimedOut, NoMove, RunFailed
from negolab.players.endpoint.models import Models
from negolab.players.player import Places, Player
from negolab.progress import Count, Phase, Progress, Stopped, of_models, silent
from negolab.record import Record
from negolab.store import REDRAW, STOPPED, Store, iterate

AT_ONCE = 400
"""Games at play at the same time, where nothing else is said: more than calls in flight, so that none of those waits
for a game."""

_SLICE = 0.02
"""Seconds for which scripted games are played before the event loop has its turn."""

_LISTEN = 0.25
"""Seconds between two looks whether endpoints answer."""

_STANDS = 30.0
"""Seconds for which a message stands."""


class Run:
    """Plays what a folder lacks of a plan. `await run` (or `run.play()`) ends when all games are over or it was
    stopped; `RunFailed` says why no game could go on. What is finished is in the folder at every moment.

    `models` answers for the players `llm:...`; `game_seconds` limits each game, waiting apart. All methods are for the
    event loop's own thread.
    """

    def __init__(
        self,
        game: AnyGame,
        plan: Plan,
        store: Store,
        *,
        models: Models | Places | None = None,
        at_once: int = AT_ONCE,
        game_seconds: float | None = None,
        closing: AsyncExitStack | None = None,
    ) -> None:
        """`closing` is closed when the run is over or was stopped."""
        if type(at_once) is not int or at_once < 1:
            raise ValueError(f"at_once must be a whole number of games above 0, not {at_once!r}")
        self.game, self.plan, self.models, self.at_once = game, plan, models, at_once
        self.folder = store.folder
        self._said: tuple[str, float] = ("", 0.0)
        self._store, self._closing = store, closing or AsyncExitStack()
        self._clocks = Clocks(game_seconds)
        found = store.stopped()
        # The folder may hold more games than this plan has by now.
        self._there = {pairing.id: found[pairing.id] for pairing in plan.pairings() if pairing.id in found}
        self._redrawn = store.redrawn()
        self._count = Count(self._there.values())
        self._phase: Phase = "playing"
        self._dropped = False
        self._failure: RunFailed | None = None
        self._began: float | None = None
        self._took: float | None = None
        self._open = asyncio.Event()
        self._open.set()
        self._workers: list[asyncio.Task[None]] = []
        self._task: asyncio.Task[Progress] | None = None
        self._watchers: list[Callable[[Progress], None]] = []

    # Looking.

    @property
    def progress(self) -> Progress:
        """How far it is now."""
        now = time.monotonic() if self._took is None else self._took
        return Progress(
            games=self.plan.n,
            **self._count.numbers(),
            seconds=0.0 if self._began is None else now - self._began,
            phase=self._phase,
            message=self._message(),
            failure=None if self._failure is None else str(self._failure),
            **of_models(self.models),
        )

    def watch(self, seen: Callable[[Progress], None]) -> None:
        """Call `seen` after each game, and when the run's phase changes."""
        self._watchers.append(seen)

    def records(self) -> Iterator[Record]:
        """The finished games, read from the folder."""
        return iterate(self.file)

    @property
    def file(self) -> Path:
        """Where its records are."""
        return self._store.file

    def tell(self, message: str) -> None:
        """Note what is to be said of an endpoint, such as that it does not answer. It stands there for as long as that
        is so, or half a minute."""
        self._said = (message, time.monotonic())
        self._changed()

    def _message(self) -> str:
        said, at = self._said
        return said if self._took is None and (silent(self.models) or time.monotonic() - at < _STANDS) else ""

    # Steering.

    def pause(self) -> None:
        """Ask no more questions until `resume`; calls in flight are answered."""
        if self._phase == "playing":
            self._open.clear()
            self._clocks.still(True)
            self._turn("paused")

    def resume(self) -> None:
        """Go on after `pause`."""
        if self._phase == "paused":
            self._open.set()
            self._clocks.still(False)
            self._turn("playing")

    def finish(self) -> None:
        """Begin no more games; those at play are finished."""
        self.resume()
        if self._phase == "playing":
            self._turn("stopping")

    def cancel(self) -> None:
        """Drop the games at play. What was answered is kept where answers are kept, for when the run goes on."""
        self._dropped = True
        self.finish()
        for worker in self._workers:
            if worker is not asyncio.current_task():
                worker.cancel()

    # Playing.

    def start(self) -> asyncio.Task[Progress]:
        """Play in the running event loop, behind what else happens there."""
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self.play())
            self._task.add_done_callback(self._told)
        return self._task

    def _told(self, task: asyncio.Task[Progress]) -> None:
        """A failure that `progress` says need not be awaited too."""
        if self._failure is not None and not task.cancelled():
            task.exception()

    def __await__(self) -> Generator[Any, None, Progress]:
        return self.start().__await__()

    async def play(self) -> Progress:
        """Play what is missing."""
        self._began = time.monotonic()
        try:
            async with self._closing:
                missing = (pairing for pairing in self.plan.pairings() if pairing.id not in self._there)
                await (self._crowd(missing) if self._talks() else self._alone(missing))
        except RunFailed as error:
            self._failure = self._failure or error
        finally:
            self._took = time.monotonic()
            self._workers = []
            self._turn("done" if self.progress.over >= self.plan.n else "stopped")
        if self._failure is not None:
            raise self._failure
        return self.progress

    def _talks(self) -> bool:
        """Whether a player has to be waited for."""
        _, seats = self._dealt(next(self.plan.pairings()))
        return any(map(_waits, seats.values()))

    async def _alone(self, missing: Iterator[Pairing]) -> None:
        """Scripted games, one after the other: no task and no wait, but a turn for the event loop now and then."""
        until = time.monotonic() + _SLICE
        for pairing in missing:
            match, seats = self._dealt(pairing)
            try:
                play(match, seats)
            except Exception as error:  # of a strategy: this game's fault, kept with its reason
                _stop(match, "failed", f"{type(error).__name__}: {error}")
            self._keep(match)
            if time.monotonic() > until:
                await asyncio.sleep(0)
                await self._open.wait()
                until = time.monotonic() + _SLICE
            if self._phase != "playing":
                return

    async def _crowd(self, missing: Iterator[Pairing]) -> None:
        """Games of players that are waited for, `at_once` of them at the same time."""
        size = min(self.at_once, self.plan.n)
        for _ in range(size):
            self._workers.append(asyncio.create_task(self._work(missing)))
            # The first question leaves before the last of the first games is dealt.
            await asyncio.sleep(0)
        listening = asyncio.create_task(self._listen())
        try:
            with collector.seldom():
                await asyncio.gather(*self._workers)
        except asyncio.CancelledError:
            if not self._dropped:
                raise
        finally:
            for task in (left := [*self._workers, listening]):
                task.cancel()
            await asyncio.gather(*left, return_exceptions=True)

    async def _listen(self) -> None:
        """While an endpoint does not answer at all, no game's time runs."""
        while self._clocks.seconds is not None:
            self._clocks.still(self._phase == "paused" or silent(self.models))
            await asyncio.sleep(_LISTEN)

    async def _work(self, missing: Iterator[Pairing]) -> None:
        """One game after the other, until none is left or no more may begin."""
        try:
            while True:
                await self._open.wait()
                if self._phase != "playing" or (pairing := next(missing, None)) is None:
                    return
                await self._one(pairing)
        except asyncio.CancelledError:
            if not self._dropped:
                raise
        except BudgetReached as error:
            # What is in flight is paid for: let it come in. Other games stop where they would have to pay again.
            self._failure = self._failure or error
            self.finish()
        except RunFailed as error:
            self._failure = self._failure or error
            self.cancel()

    async def _one(self, pairing: Pairing) -> None:
        match, seats = self._dealt(pairing)
        self._count.playing += 1
        try:
            async with self._clocks.game():
                await aplay(match, {s: _Held(who, self._open) if _waits(who) else who for s, who in seats.items()})
        except RunFailed:
            raise
        except GameTimedOut as error:
            _stop(match, "timed out", str(error))
        except GameFailed as error:
            if isinstance(error, NoMove):
                match.notes[REDRAW] = True
            _stop(match, "failed", str(error))
        except Exception as error:  # of a player: this game's fault, kept with its reason
            _stop(match, "failed", f"{type(error).__name__}: {error}")
        finally:
            self._count.playing -= 1
        self._keep(match)

    def _dealt(self, pairing: Pairing) -> tuple[Match, dict[Seat, Player]]:
        match = Match(self.game, seed=pairing.seed, id=pairing.id, players=pairing.players)
        return match, seated(match, self.models, draw=self._redrawn[pairing.id])

    def _keep(self, match: Match) -> None:
        """A game is over: keep it, count it, and stop if too many have gone wrong in the same way."""
        self._store.append(match.record())
        try:
            self._count.add(match.notes.get(STOPPED), (match.ended and match.ended.reason) or "")
        finally:
            self._changed()

    def _turn(self, phase: Phase) -> None:
        self._phase = phase
        self._changed()

    def _changed(self) -> None:
        now = self.progress
        for seen in self._watchers:
            seen(now)


def _stop(match: Match, how: Stopped, reason: str) -> None:
    match.notes[STOPPED] = how
    match.abort(reason or how)


class _Held:
    """A player that is asked nothing while the run is paused."""

    def __init__(self, who: Player, is_open: asyncio.Event) -> None:
        self._who, self._open = who, is_open

    async def reply(self, told: AnyGame, ask: Ask) -> Any:
        await self._open.wait()
        reply = self._who.reply(told, ask)
        return await reply if inspect.isawaitable(reply) else reply


def _waits(who: Player) -> bool:
    """Whether it has to be waited for."""
    return inspect.iscoroutinefunction(who.reply)
