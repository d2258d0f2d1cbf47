"""Scripted games in several processes: workers play and encode, the run's own process is the only one that writes.

Workers are plain subprocesses and not those of `multiprocessing` or `concurrent.futures`, which import the user's main
script again: a script that calls `nl.run` needs no `if __name__ == "__main__"`. Run and worker take turns, over two
pipes: games go there, and those that were played within `SLICE_SECONDS` come back.
"""

from __future__ import annotations

import asyncio
import gc
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, cast

import msgspec

from negolab import catalog, user_code
from negolab.catalog import AnyGame
from negolab.llm.endpoint.errors import RunFailed
from negolab.players.code import parse_reference
from negolab.players.factory import PlayerFactory
from negolab.players.lookup import resolve
from negolab.runs.plan import Pairing, Plan
from negolab.runs.progress import StopReason
from negolab.runs.scripted import ScriptedGames
from negolab.runs.timer import MatchTimers
from negolab.store import STOPPED
from negolab.user_code import CodeSource

WORKERS = "NEGOLAB_WORKERS"
"""Environment variable: worker processes of a run that is not told how many; 1 inside a sweep's cell."""
AUTOMATIC_FROM = 5_000
"""Games above which a run takes a worker per core by itself: below, their start takes longer than they save."""
SLICE_SECONDS = 0.2
"""Seconds of games after which a worker sends their records: what is lost if all processes are killed."""
MAX_DEATHS = 3
"""Times in a row that a worker may end before it was given a game, before the run stops."""


class Setup(msgspec.Struct, kw_only=True):
    """All that a worker needs to play the games of a run.

    Attributes:
        game, preset, params: The game, as in a record.
        source: Where the game's code comes from (None: it is installed).
        modules: Modules to load because they offer a player by its name alone.
        players: The text by which each player is found, by the name it has in the run.
        code: Hash of each player's own code ("": negolab's).
        folder: The folder of the run.
        game_seconds: Time limit of a game.
    """

    game: str
    preset: str | None
    params: dict[str, Any]
    source: CodeSource | None
    modules: list[str]
    players: dict[str, str]
    code: dict[str, str]
    folder: str
    game_seconds: float | None


PlacedGame = tuple[int, Pairing]
"""A game, and the place of its matchup in the run."""


class Played(msgspec.Struct):
    """Games that are over: why each was stopped, if it was (reason, text), the lines of their records, and the seconds
    that they took."""

    stopped: list[tuple[StopReason | None, str]]
    lines: bytes
    seconds: float


# How many, and for what.


def count_workers(asked: int | None, games: int, why_not: str) -> int:
    """Return how many processes play a run's games; 1 is the run's own.

    Args:
        asked: The number that the user asked for (None: a worker per core above AUTOMATIC_FROM games).
        games: Games to play.
        why_not: Reason why workers cannot play them, see `why_one_process`.

    Raises:
        ValueError: The environment variable NEGOLAB_WORKERS is no number.
    """
    if why_not:
        return 1
    if asked is None and (text := os.environ.get(WORKERS)):
        if not (text.isascii() and text.isdigit() and int(text)):
            raise ValueError(f"{WORKERS} must be a whole number above 0, not {text!r}")
        asked = int(text)
    if asked is None:
        asked = _cores() if games > AUTOMATIC_FROM else 1
    return max(1, min(asked, games))


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def why_one_process(game: AnyGame, plan: Plan, players: Mapping[str, PlayerFactory]) -> str:
    """Return the reason why another process cannot load this game and these players; "" if it can."""
    for player in players.values():
        if not isinstance(player.origin, str):
            return f"the player {player.name} was given as an object, which only this process has"
    if ":" in plan.game and catalog.source(game) is None:
        return f"the game {plan.game} is not in a file, so only this process has it"
    try:
        same = catalog.stored_game(plan.game, plan.preset, plan.params) == game
    except ValueError as error:
        return str(error)
    return "" if same else f"the game {plan.game} cannot be made from its parameters alone"


def make_setup(
    game: AnyGame, plan: Plan, players: Mapping[str, PlayerFactory], folder: Path, game_seconds: float | None
) -> Setup:
    """Describe a run's games to a worker."""
    return Setup(
        game=plan.game,
        preset=plan.preset,
        params=plan.params,
        source=catalog.source(game),
        modules=[module for player in players.values() if (module := _offering_module(player))],
        players={name: player.origin for name, player in players.items()},
        code={name: player.facts.get("sha256", "") for name, player in players.items()},
        folder=str(folder.resolve()),
        game_seconds=game_seconds,
    )


def _offering_module(player: PlayerFactory) -> str:
    """Return the file or module of a player that has a name because its module was loaded; "" for any other."""
    facts = player.facts
    if not facts or parse_reference(player.origin):
        return ""
    return str(facts.get("path", "") if facts["source"].endswith(".py") else facts["source"])


# The run's side.


class WorkerPool:
    """Plays games in worker processes; one that dies is replaced.

    The games that it was given are then played one at a time: one that ends its worker again fails alone.

    Args:
        setups: The matchups of the run, for the workers.
        pairings: The games to play.
        games: Their number.
        workers: Number of processes.
        keep: Called with the games that a worker has played, to write and count them.
        fail: Called with a game that cannot be played, and why.
        may_begin: Waits while the run is paused; returns False if no more games may begin.
        notify: Shows a message.
    """

    def __init__(
        self,
        setups: Sequence[Setup],
        pairings: Iterator[PlacedGame],
        games: int,
        workers: int,
        *,
        keep: Callable[[Sequence[PlacedGame], Played], None],
        fail: Callable[[PlacedGame, str], None],
        may_begin: Callable[[], Awaitable[bool]],
        notify: Callable[[str], None],
    ) -> None:
        self._setups, self._pairings, self._left, self._count = setups, pairings, games, workers
        self._keep, self._fail, self._may_begin, self._notify = keep, fail, may_begin, notify

    async def play(self) -> None:
        """Play all games, or those that may begin.

        Raises:
            RunFailed: Workers cannot load the game or its players, or end again and again while they do.
        """
        with ThreadPoolExecutor(self._count, thread_name_prefix="negolab-worker") as threads:
            slots = [asyncio.create_task(self._fill_slot(threads)) for _ in range(self._count)]
            try:
                await asyncio.gather(*slots)
            finally:
                for slot in slots:
                    slot.cancel()
                await asyncio.gather(*slots, return_exceptions=True)

    async def _fill_slot(self, threads: ThreadPoolExecutor) -> None:
        """Run a worker until no game is left, and a new one when it dies."""
        ask = partial(asyncio.get_running_loop().run_in_executor, threads)
        owed: deque[PlacedGame] = deque()
        alone = deaths = 0
        while True:
            worker = _Worker(self._setups)
            games: list[PlacedGame] = []
            try:
                await ask(worker.load)
                while games := await self._next_games(owed, 1 if alone else worker.games_a_slice):
                    played = await ask(worker.play, games)
                    owed.extendleft(reversed(games[len(played.stopped) :]))
                    alone = max(0, alone - len(played.stopped))
                    self._keep(games, played)
                await ask(worker.end)
                return
            except WorkerDied as death:
                deaths = 0 if games else deaths + 1
                if deaths == MAX_DEATHS:
                    raise RunFailed(f"workers ended {deaths} times in a row, the last {death}") from None
                if alone and games:
                    alone -= 1
                    self._fail(games[0], f"its worker ended {death}, twice")
                else:
                    self._notify(f"worker {worker.pid} ended {death}: a new one plays its {len(games)} games")
                    owed.extendleft(reversed(games))
                    alone = alone or len(games)
            finally:
                worker.kill()

    async def _next_games(self, owed: deque[PlacedGame], wanted: int) -> list[PlacedGame]:
        """Take games for a slice, with a fair share near the end; none if no more may begin."""
        if not await self._may_begin():
            return []
        wanted = min(wanted, max(1, self._left // (2 * self._count)))
        games = [owed.popleft() for _ in range(min(wanted, len(owed)))]
        new = list(islice(self._pairings, wanted - len(games)))
        self._left -= len(new)
        return games + new


class WorkerDied(Exception):
    """A worker ended by itself; the text says with which status or signal."""


class _Worker:
    """A worker process as the run sees it; its methods wait, each in a thread."""

    def __init__(self, setups: Sequence[Setup]) -> None:
        code = f"import sys; sys.path[:] = {sys.path!r}; from negolab.runs.workers import serve; serve()"
        pipe = subprocess.PIPE
        # In a session of its own, so that Ctrl-C reaches the run only.
        self._process = subprocess.Popen([sys.executable, "-c", code], stdin=pipe, stdout=pipe, start_new_session=True)
        self._setups = setups
        self.pid = self._process.pid
        self.games_a_slice = 8

    def load(self) -> None:
        """Let it load the game and its players; RunFailed if it cannot."""
        if why_not := self._ask(self._setups):
            raise RunFailed(f"a worker process cannot play: {why_not}")

    def play(self, games: Sequence[PlacedGame]) -> Played:
        """Let it play games, in order, for as long as a slice takes, and at least one."""
        played = cast("Played", self._ask(games))
        self.games_a_slice = max(1, int(SLICE_SECONDS * len(played.stopped) / max(played.seconds, 1e-6)))
        return played

    def _ask(self, message: object) -> Any:
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            pickle.dump(message, self._process.stdin)
            self._process.stdin.flush()
            return pickle.load(self._process.stdout)
        except (EOFError, OSError, pickle.UnpicklingError):
            code = self._process.wait()
            how = f"with status {code}" if code >= 0 else f"by signal {-code} ({signal.strsignal(-code)})"
            raise WorkerDied(how) from None

    def end(self) -> None:
        """Let it end by itself: it has no more games to wait for."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()

    def kill(self) -> None:
        """End it, whatever it does."""
        self._process.kill()
        with suppress(BrokenPipeError), self._process:
            pass


# The worker's side.


def serve() -> None:
    """Play the games that come in by standard input and send their records by standard output, until there are none.

    What players print goes to standard error. If the run's process dies, so does this one.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_after, args=(os.getppid(),), daemon=True).start()
    requests, results = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    with Path(os.devnull).open() as nothing:
        os.dup2(nothing.fileno(), 0)
    try:
        games = [_load(setup) for setup in pickle.load(requests)]
    except Exception as error:
        results.write(pickle.dumps(str(error) or repr(error)))
        return
    results.write(pickle.dumps(""))
    gc.freeze()
    gc.set_threshold(20_000)
    with suppress(EOFError, BrokenPipeError):
        while True:
            results.write(pickle.dumps(_play(games, pickle.load(requests))))


def _end_after(run: int) -> None:
    """End this process, also in the middle of a game, once that of the run has ended."""
    while os.getppid() == run:
        time.sleep(0.5)
    os._exit(1)


def _load(setup: Setup) -> ScriptedGames:
    """Load the game and its players; ValueError if their files are not those of the run."""
    if (source := setup.source) is not None:
        user_code.load(source.pinned)
    for module in setup.modules:
        user_code.load(module)
    game = catalog.stored_game(setup.game, setup.preset, setup.params)
    players = {name: resolve(origin, game) for name, origin in setup.players.items()}
    for name, player in players.items():
        if player.facts.get("sha256", "") != setup.code[name]:
            raise ValueError(f"the code of player {name} has changed since the run began: run it again")
    return ScriptedGames(game, players, Path(setup.folder), MatchTimers(setup.game_seconds))


def _play(games: Sequence[ScriptedGames], pairings: Sequence[PlacedGame]) -> Played:
    stopped: list[tuple[StopReason | None, str]] = []
    lines: list[bytes] = []
    began, seconds = time.monotonic(), 0.0
    for place, pairing in pairings:
        match = games[place].play(pairing)
        stopped.append((match.notes.get(STOPPED), (match.ended and match.ended.reason) or ""))
        lines.append(match.record().to_line())
        if (seconds := time.monotonic() - began) > SLICE_SECONDS:
            break
    return Played(stopped, b"".join(lines), seconds)
