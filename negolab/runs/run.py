"""A run: the games of one or several plans, played into folders, thousands of them on one event loop; it can be stopped
and resumed."""

from __future__ import annotations

import asyncio
import gc
import inspect
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AsyncExitStack, ExitStack, contextmanager
from functools import partial
from itertools import chain, groupby
from pathlib import Path
from typing import Any, get_args

import msgspec
from typing_extensions import override

from negolab._internal.cluster import cluster_jobs
from negolab._internal.validation import Count, Positive, Share, check_fields
from negolab._internal.workers import StartWorker, WorkerPool, WorkersFailed, count_workers
from negolab.catalog import AnyGame
from negolab.events import Event
from negolab.game import Ask
from negolab.llm.endpoint.call import EndpointProvider
from negolab.llm.endpoint.errors import BudgetReached, GameFailed, GameTimedOut, NoAnswer, NoLegalMove, RunFailed
from negolab.llm.models import Models
from negolab.match import Match
from negolab.protocols import Player
from negolab.record import Record
from negolab.runs.admission import Admission
from negolab.runs.answers import MAX_UNUSABLE, AnswerCounter
from negolab.runs.driver import aplay
from negolab.runs.matchup import Fixture, Matchup, missing_games
from negolab.runs.plan import Pairing
from negolab.runs.preflight import ask_once, first_asks
from negolab.runs.progress import MatchCounter, Phase, Progress, StopReason, is_waited_for, model_progress
from negolab.runs.scripted import ScriptedGames, fail_match, is_async, limit_time, log_failure, stop_match
from negolab.runs.timer import MatchTimers
from negolab.runs.workers import AUTOMATIC_FROM, PlacedGame, Played, load_games, make_setup, why_one_process
from negolab.store import MAX_LINE, REDRAW, STOPPED, iter_records

GC_THRESHOLD = 20_000
"""Generation-0 threshold of the garbage collector while a run is active."""

_lock = threading.Lock()
_active_runs = 0
_default_thresholds = gc.get_threshold()


@contextmanager
def relaxed_gc() -> Iterator[None]:
    """Freeze live objects and raise the generation-0 threshold while any run is active (reference-counted).

    With thousands of calls in flight, the default thresholds cost about 5% of CPU time and free nothing.
    """
    global _active_runs, _default_thresholds
    with _lock:
        if not _active_runs:
            _default_thresholds = gc.get_threshold()
            gc.freeze()
            if _default_thresholds[0]:  # 0: collection is disabled
                gc.set_threshold(max(GC_THRESHOLD, _default_thresholds[0]), *_default_thresholds[1:])
        _active_runs += 1
    try:
        yield
    finally:
        with _lock:
            _active_runs -= 1
            if not _active_runs:
                gc.set_threshold(*_default_thresholds)
                gc.unfreeze()


DEFAULT_CONCURRENCY = 400
"""Default number of games played at once, which exceeds the number of calls in flight, so that a free call never lacks
a game."""

_SLICE_SECONDS = 0.02
"""Seconds for which scripted games are played before yielding to the event loop."""

PREFLIGHT_SECONDS = 0.25
"""Seconds after which games begin even if a model's first answer is still pending; errors come sooner."""

_MESSAGE_SECONDS = 30.0
"""Seconds for which a message is shown."""


class RunOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options of a run, none of which changes what is played.

    Attributes:
        at_once: Number of games played at the same time (None: 400, or twice the number of calls that the endpoint
            takes at once).
        workers: Number of processes for scripted games (None: one per core if there are many games and other processes
            can load them).
        scheduler: Address of a Dask scheduler whose workers play scripted games instead.
        game_seconds: Time limit for each game in seconds, not counting time spent waiting for endpoints (None: no
            limit).
        retry: Kinds of stopped games to play again.
        unusable: Largest share of a model's answers that may be unreadable before the run stops, from 0 to 1.
        trust: Continue even if files of the run's own game or players have changed since it began.

    Raises:
        ValueError: A value is out of its range.
    """

    at_once: Count | None = None
    workers: Count | None = None
    scheduler: str | None = None
    game_seconds: Positive | None = None
    retry: frozenset[str] = frozenset()
    unusable: Share = MAX_UNUSABLE
    trust: bool = False

    def __post_init__(self) -> None:
        check_fields(self)
        if self.workers is not None and self.scheduler is not None:
            raise ValueError("choose either workers on this machine or a scheduler, not both")
        if unknown := self.retry - set(get_args(StopReason)):
            raise ValueError(
                f"retry accepts only {' and '.join(get_args(StopReason))}, not {', '.join(sorted(unknown))}"
            )


DEFAULTS = RunOptions()


class Run:
    """Play the games of the matchups that their folders lack; made by `nl.run` and `nl.tournament`.

    `await run` ends when all games are over or the run was stopped. Finished games are in the folder at all times. All
    methods must be called in the event loop's thread.

    Args:
        matchups: The matchups to play.
        folder: The folder of the run, which contains those of its matchups, or is that of its only one.
        options: Options for playing them.
        models: Endpoints for players named `llm:...`.
        closing: Resources to close when the run is over or stopped.

    Raises:
        RunFailed: When awaited: no game can continue (wrong key, budget reached, endpoint unreachable), or too many of
            a model's answers are unusable (`UnusableAnswers`).
    """

    def __init__(
        self,
        matchups: Sequence[Matchup],
        folder: Path,
        options: RunOptions = DEFAULTS,
        *,
        models: Models | EndpointProvider | None = None,
        closing: AsyncExitStack | None = None,
    ) -> None:
        self.matchups, self.folder, self.models = matchups, folder, models
        self.games = sum(matchup.plan.n for matchup in matchups)
        self.most: int | None = None
        """Number of games of each matchup to play, for a pilot (None: all)."""
        self.at_once = DEFAULT_CONCURRENCY if options.at_once is None else options.at_once
        self._notification: tuple[str, float] = ("", 0.0)
        self._closing = closing or AsyncExitStack()
        self._timers = MatchTimers(options.game_seconds)
        self._admission = Admission(matchups, models, self._may_begin)
        self._count = MatchCounter(stopped for matchup in matchups for stopped in matchup.stored.values())
        self._answers = AnswerCounter(options.unusable)
        self._phase: Phase = "playing"
        self._is_cancelled = False
        self._failure: RunFailed | None = None
        self._started_at: float | None = None
        self._ended_at: float | None = None
        self._unpaused = asyncio.Event()
        self._unpaused.set()
        self._workers: list[asyncio.Task[None]] = []
        self._processes, self._scheduler = options.workers, options.scheduler
        self._task: asyncio.Task[Progress] | None = None
        self._watchers: list[Callable[[Progress], None]] = []

    @override
    def __repr__(self) -> str:
        progress = self.progress
        parts = [repr(str(self.folder)), progress.phase, f"{progress.over} of {progress.games} matches"]
        parts += [f"{progress.failed} failed"] * bool(progress.failed)
        parts += [f"{progress.timed_out} timed out"] * bool(progress.timed_out)
        return f"Run({', '.join(parts)})"

    @property
    def progress(self) -> Progress:
        """Counts, duration, cost and state at this moment."""
        now = time.monotonic() if self._ended_at is None else self._ended_at
        return Progress(
            games=self.games,
            **self._count.numbers(),
            playing=self._admission.playing.total(),
            seconds=0.0 if self._started_at is None else now - self._started_at,
            phase=self._phase,
            message=self._message(),
            failure=None if self._failure is None else str(self._failure),
            **model_progress(self.models),
        )

    def watch(self, watcher: Callable[[Progress], None]) -> None:
        """Call `watcher` after each game and when the run's phase changes."""
        self._watchers.append(watcher)

    def records(self) -> Iterator[Record]:
        """Read the finished games from the folder."""
        return chain.from_iterable(iter_records(matchup.store.file) for matchup in self.matchups)

    def set_message(self, message: str) -> None:
        """Show a message about an endpoint in `progress`, for half a minute or as long as the run is waiting for
        one."""
        self._notification = (message, time.monotonic())
        self._changed()

    def _message(self) -> str:
        message, shown_at = self._notification
        is_current = is_waited_for(self.models) or time.monotonic() - shown_at < _MESSAGE_SECONDS
        return message if self._ended_at is None and is_current else ""

    def pause(self) -> None:
        """Send no more calls until `resume`; calls in flight are answered."""
        if self._phase == "playing":
            self._unpaused.clear()
            self._timers.set_paused(True)
            self._set_phase("paused")

    def resume(self) -> None:
        """Continue after `pause`."""
        if self._phase == "paused":
            self._unpaused.set()
            self._timers.set_paused(False)
            self._set_phase("playing")

    def finish(self) -> None:
        """Start no more games; those being played are finished."""
        self.resume()
        if self._phase == "playing":
            self._set_phase("stopping")

    def cancel(self) -> None:
        """Stop immediately and drop the games being played; their answers stay in the cache for a resumed run."""
        self._is_cancelled = True
        self.finish()
        for worker in self._workers:
            if worker is not asyncio.current_task():
                worker.cancel()

    def start(self) -> asyncio.Task[Progress]:
        """Play in a background task of the running event loop."""
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self.play())
            self._task.add_done_callback(self._mark_retrieved)
        return self._task

    def _mark_retrieved(self, task: asyncio.Task[Progress]) -> None:
        """Avoid asyncio's "never retrieved" warning for a failure that `progress` shows."""
        if self._failure is not None and not task.cancelled():
            task.exception()

    def __await__(self) -> Generator[Any, None, Progress]:
        return self.start().__await__()

    async def play(self) -> Progress:
        """Play the missing games and return the final progress; raise RunFailed if no game can continue."""
        self._started_at = time.monotonic()
        players = [player for matchup in self.matchups for player in matchup.players.values()]
        if told := dict.fromkeys(f"{each.name}: {each.amounts}" for each in players if each.amounts):
            self.set_message("; ".join(told))
        try:
            async with self._closing:
                if self.models is not None:
                    await asyncio.to_thread(self._answers.add_records, self.records())
                    self._answers.check()
                missing = missing_games(self.matchups, self.most)
                any_async = any(player.is_async for player in players)
                await (self._play_async(missing) if any_async else self._play_scripted(missing))
                if self._phase == "playing":
                    self._answers.check_any_usable()
        except RunFailed as error:
            self._failure = self._failure or error
        finally:
            self._ended_at = time.monotonic()
            self._workers = []
            self._set_phase("done" if self.progress.over >= self.games else "stopped")
        if self._failure is not None:
            raise self._failure
        return self.progress

    async def _play_scripted(self, missing: Iterator[Fixture]) -> None:
        """Play games without models, in worker processes if that is faster."""
        games = self.games - self.progress.over
        why_not = next(
            filter(None, (why_one_process(each.game, each.plan, each.players) for each in self.matchups)), ""
        )
        workers = 1 if why_not else count_workers(self._processes, games, AUTOMATIC_FROM)
        if why_not and self._processes is not None and self._processes > 1:
            self.set_message(f"playing in one process: {why_not}")
        with relaxed_gc():
            if self._scheduler is not None:
                await self._play_at_scheduler(self._scheduler, missing, games)
            else:
                await (self._play_in_workers(missing, games, workers) if workers > 1 else self._play_here(missing))

    async def _play_here(self, missing: Iterator[Fixture]) -> None:
        """Play one game after another without tasks, yielding to the event loop now and then."""
        scripted = {
            matchup: ScriptedGames(matchup.game, matchup.players, self.folder, self._timers)
            for matchup in self.matchups
        }
        until = time.monotonic() + _SLICE_SECONDS
        for matchup, pairing in missing:
            self._finish_match(matchup, scripted[matchup].play(pairing))
            if time.monotonic() > until:
                await asyncio.sleep(0)
                await self._unpaused.wait()
                until = time.monotonic() + _SLICE_SECONDS
            if self._phase != "playing":
                return

    async def _may_begin(self) -> bool:
        """Wait while the run is paused; return False if no more games may begin."""
        await self._unpaused.wait()
        return self._phase == "playing"

    async def _play_at_scheduler(self, scheduler: str, missing: Iterator[Fixture], games: int) -> None:
        """Play games in the workers of a Dask scheduler."""
        with ExitStack() as resources:
            try:
                # Connecting takes seconds, during which the event loop keeps running.
                jobs = await asyncio.to_thread(resources.enter_context, cluster_jobs(scheduler, self.folder.resolve()))
            except ValueError as error:
                raise RunFailed(str(error)) from None
            await self._play_in_workers(missing, games, jobs.slots, jobs.start)

    async def _play_in_workers(
        self, missing: Iterator[Fixture], games: int, workers: int, start: StartWorker | None = None
    ) -> None:
        setups = [
            make_setup(each.game, each.plan, each.players, self.folder, self._timers.seconds) for each in self.matchups
        ]
        places = {matchup: place for place, matchup in enumerate(self.matchups)}
        pool = WorkerPool(
            partial(load_games, setups),
            ((places[matchup], pairing) for matchup, pairing in missing),
            games,
            workers,
            keep=self._keep_played,
            fail=self._fail_unplayed,
            may_begin=self._may_begin,
            notify=self.set_message,
            what="games",
            start=start,
        )
        self._workers = [asyncio.create_task(pool.work())]
        try:
            await self._workers[0]
        except WorkersFailed as error:
            raise RunFailed(str(error)) from None
        except asyncio.CancelledError:
            if not self._is_cancelled:
                raise
        finally:
            self._workers[0].cancel()
            await asyncio.gather(*self._workers, return_exceptions=True)

    def _keep_played(self, games: Sequence[PlacedGame], played: Sequence[Played]) -> None:
        """Store and count games that a worker has played."""
        lines = zip(games, played, strict=False)
        for place, its in groupby(lines, key=lambda each: each[0][0]):
            self.matchups[place].store.append_lines(b"".join(line for _, (*_, line) in its))
        try:
            for stopped, reason, _line in played:
                self._count.add(stopped, reason)
        finally:
            self._changed()

    def _fail_unplayed(self, game: PlacedGame, reason: str) -> None:
        """Store and count a game that ends any process in which it is played."""
        matchup = self.matchups[game[0]]
        match = matchup.deal(game[1])
        stop_match(match, "failed", reason)
        self._finish_match(matchup, match)

    async def _play_async(self, missing: Iterator[Fixture]) -> None:
        """Play `at_once` games at the same time, after a preflight call to each model."""
        if (first := next(missing, None)) is None:
            return
        asked = await first_asks(self.matchups, self.models)
        preflight = [asyncio.create_task(ask_once(*each)) for each in asked if self._phase == "playing"]
        self._workers = [*preflight]
        try:
            if preflight:
                done, _ = await asyncio.wait(preflight, timeout=PREFLIGHT_SECONDS, return_when=asyncio.FIRST_EXCEPTION)
                await asyncio.gather(*done)
            # The first game uses the answers of the preflight.
            self._workers.append(asyncio.create_task(self._work(chain([first], missing), preflight)))
            for _ in range(min(self.at_once, self.games) - 1):
                self._workers.append(asyncio.create_task(self._work(missing)))
                # This lets the first call be sent before the last of the first games is dealt.
                await asyncio.sleep(0)
            with relaxed_gc():
                await asyncio.gather(*self._workers)
        except asyncio.CancelledError:
            if not self._is_cancelled:
                raise
        finally:
            for worker in self._workers:
                worker.cancel()
            await asyncio.gather(*self._workers, return_exceptions=True)

    async def _work(self, missing: Iterator[Fixture], preflight: Sequence[asyncio.Task[None]] = ()) -> None:
        """Play one game after another, once `preflight` is over, until none is left or no more may start."""
        try:
            if preflight:
                await asyncio.wait(preflight)
            while (game := await self._admission.next_game(missing)) is not None:
                await self._play_one(*game)
        except asyncio.CancelledError:
            if not self._is_cancelled:
                raise
        except BudgetReached as error:
            # Calls in flight are paid for, so wait for them; other games stop before their next call.
            self._failure = self._failure or error
            self.finish()
        except RunFailed as error:
            self._failure = self._failure or error
            self.cancel()

    async def _play_one(self, matchup: Matchup, pairing: Pairing) -> None:
        match = matchup.deal(pairing)
        self._admission.playing[matchup] += 1
        try:
            async with self._timers.game():
                # The event loop cannot end a player that blocks it, so each of such a player's replies is limited as
                # well.
                seats = limit_time(matchup.seat(match, self.models), lambda: self._timers.seconds or 0.0, self._timers)
                pausable = {
                    seat: _PausablePlayer(player, self._unpaused) if is_async(player) else player
                    for seat, player in seats.items()
                }
                await aplay(match, pausable, watch=self._check_answer)
        except RunFailed:
            raise
        except GameTimedOut as error:
            stop_match(match, "timed out", str(error))
        except GameFailed as error:
            if isinstance(error, NoLegalMove):
                match.notes[REDRAW] = True
            if isinstance(error, NoAnswer):
                self._answers.add_missing(match.players[error.seat], error)
                log_failure(self.folder, match, error)
            stop_match(match, "failed", str(error))
        except Exception as error:  # of a player: it fails only this game
            fail_match(self.folder, match, error)
        finally:
            self._admission.playing[matchup] -= 1
        if len(match.record().to_line()) >= MAX_LINE:  # neither it nor the rest of the file could be read again
            match = matchup.deal(pairing)
            stop_match(match, "failed", f"its record would be longer than {MAX_LINE >> 20} MiB")
        self._finish_match(matchup, match)

    def _check_answer(self, match: Match, events: list[Event]) -> None:
        """Count an answer; raise `UnusableAnswers` if a model gives too many unusable ones and the game is not over."""
        self._answers.add(match.players, match.notes, events)
        if match.ended is None:
            self._answers.check()

    def _finish_match(self, matchup: Matchup, match: Match) -> None:
        """Store and count a game that is over; raise RunFailed if too many games failed alike or too many answers are
        unusable."""
        matchup.store.append(match.record())
        self._admission.note_cost(matchup, match.id, match.notes.get(STOPPED))
        try:
            self._count.add(match.notes.get(STOPPED), (match.ended and match.ended.reason) or "")
        finally:
            self._changed()
            self._answers.check()

    def _set_phase(self, phase: Phase) -> None:
        self._phase = phase
        self._changed()

    def _changed(self) -> None:
        self._admission.wake()
        now = self.progress
        for watcher in self._watchers:
            watcher(now)


class _PausablePlayer:
    """A player that is not asked anything while the run is paused."""

    def __init__(self, player: Player, unpaused: asyncio.Event) -> None:
        self._player, self._unpaused = player, unpaused

    async def reply(self, told: AnyGame, ask: Ask) -> Any:
        await self._unpaused.wait()
        reply = self._player.reply(told, ask)
        return await reply if inspect.isawaitable(reply) else reply
