"""Scripted games in several processes: workers play and encode, the run's own process is the only one that writes.

Workers are plain subprocesses and not those of `multiprocessing`, which import the user's main script again: a script
that calls `nl.run` needs no `if __name__ == "__main__"`. Messages are MessagePack, each after its length.
"""

from __future__ import annotations

import asyncio
import gc
import os
import queue
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from negolab import catalog, user_code
from negolab.catalog import AnyGame
from negolab.llm.endpoint.errors import RunFailed
from negolab.match import Match
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
SEND_SECONDS = 0.2
"""Seconds of games after which a worker sends their records: what is lost if all processes are killed."""
MAX_DEATHS = 3
"""Times that a worker may end in a row, without a game played in between, before the run stops."""


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


class Play(msgspec.Struct, tag=True):
    """Play these games."""

    pairings: list[Pairing]


class Stop(msgspec.Struct, tag=True):
    """Finish the game at play, send what was played, and end."""


class Played(msgspec.Struct, tag=True):
    """Games that are over: why each was stopped, if it was (reason, text), the lines of their records, and the seconds
    that they took."""

    stopped: list[tuple[StopReason | None, str]]
    lines: bytes
    seconds: float


class Unable(msgspec.Struct, tag=True):
    """The worker cannot play the run's games at all."""

    why: str


_encode = msgspec.msgpack.Encoder().encode
_setup = msgspec.msgpack.Decoder(Setup)
_request = msgspec.msgpack.Decoder(Play | Stop)
_result = msgspec.msgpack.Decoder(Played | Unable)
_LENGTH = 8
"""Bytes of a message's length."""


def _frame(message: msgspec.Struct) -> bytes:
    body = _encode(message)
    return len(body).to_bytes(_LENGTH, "big") + body


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
    """Plays games in worker processes; one that dies is replaced, and its games are played again.

    Args:
        setup: The games, for the workers.
        pairings: The games to play.
        games: Their number.
        workers: Number of processes.
        keep: Called with the games that a worker has played, to write and count them.
        may_begin: Waits while the run is paused; returns False if no more games may begin.
        notify: Shows a message.
    """

    def __init__(
        self,
        setup: Setup,
        pairings: Iterator[Pairing],
        games: int,
        workers: int,
        *,
        keep: Callable[[Played], None],
        may_begin: Callable[[], Awaitable[bool]],
        notify: Callable[[str], None],
    ) -> None:
        self._setup, self._pairings, self._left, self._count = _frame(setup), pairings, games, workers
        self._keep, self._may_begin, self._notify = keep, may_begin, notify
        self._returned: deque[Pairing] = deque()
        self._workers: set[_Worker] = set()

    async def play(self) -> None:
        """Play all games, or those that begin before `stop`.

        Raises:
            RunFailed: Workers cannot load the game or its players, or die again and again.
        """
        slots = [asyncio.create_task(self._fill_slot()) for _ in range(self._count)]
        try:
            await asyncio.gather(*slots)
        finally:
            for slot in slots:
                slot.cancel()
            await asyncio.gather(*slots, return_exceptions=True)

    def stop(self) -> None:
        """Begin no more games; those at play are finished."""
        for worker in self._workers:
            worker.stop()

    async def _fill_slot(self) -> None:
        """Run a worker until no game is left, and a new one when it dies."""
        deaths = 0
        while True:
            worker = await _Worker.start(self._setup)
            self._workers.add(worker)
            try:
                if await self._use(worker):
                    return
                deaths = 1 if worker.has_played else deaths + 1
                how = await worker.how_it_ended()
            finally:
                self._workers.discard(worker)
                await worker.kill()
            self._returned.extendleft(reversed(worker.games))
            self._left += len(worker.games)
            if deaths == MAX_DEATHS:
                raise RunFailed(f"workers ended {deaths} times in a row, the last {how}, so the run was stopped")
            self._notify(f"worker {worker.pid} ended {how}: a new one plays its {len(worker.games)} games")

    async def _use(self, worker: _Worker) -> bool:
        """Give a worker games and keep what it has played; return False if it died."""
        try:
            while True:
                await self._assign(worker)
                if not worker.games or worker.is_stopping:
                    worker.stop()
                if (played := await worker.receive()) is None:
                    return worker.is_stopping
                self._keep(played)
        except (ConnectionError, asyncio.IncompleteReadError):
            return False

    async def _assign(self, worker: _Worker) -> None:
        """Keep a worker in games for twice the time after which it sends records, with a fair share near the end."""
        wanted = min(worker.games_ahead, max(1, self._left // (2 * self._count)))
        if worker.is_stopping or len(worker.games) > wanted // 2 or not await self._may_begin():
            return
        batch = [self._returned.popleft() for _ in range(min(wanted, len(self._returned)))]
        batch += islice(self._pairings, wanted - len(batch))
        self._left -= len(batch)
        if batch:
            await worker.send(batch)


class _Worker:
    """A worker process as the run sees it: `games` are those that it was given and has not sent back."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None and process.stdout is not None
        self._process, self._in, self._out = process, process.stdin, process.stdout
        self.pid = process.pid
        self.games: deque[Pairing] = deque()
        self.games_ahead = 8
        self.has_played = self.is_stopping = False

    @classmethod
    async def start(cls, setup: bytes) -> _Worker:
        """Start a process in a session of its own, so that Ctrl-C reaches the run only."""
        code = f"import sys; sys.path[:] = {sys.path!r}; from negolab.runs.workers import serve; serve()"
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", code, stdin=pipe, stdout=pipe, start_new_session=True, limit=2**22
        )
        worker = cls(process)
        worker._in.write(setup)
        return worker

    async def send(self, pairings: Sequence[Pairing]) -> None:
        """Give it games."""
        self.games.extend(pairings)
        self._in.write(_frame(Play(list(pairings))))
        await self._in.drain()

    def stop(self) -> None:
        """Let it finish the game at play and end."""
        if not self.is_stopping:
            self.is_stopping = True
            self._in.write(_frame(Stop()))

    async def receive(self) -> Played | None:
        """Return the next games that were played, None when it has ended; RunFailed if it cannot play."""
        head = await self._out.read(1)
        if not head:
            return None
        head += await self._out.readexactly(_LENGTH - 1)
        result: Played | Unable = _result.decode(await self._out.readexactly(int.from_bytes(head, "big")))
        if isinstance(result, Unable):
            raise RunFailed(result.why)
        for _ in result.stopped:
            self.games.popleft()
        self.has_played = True
        self.games_ahead = max(1, int(2 * SEND_SECONDS * len(result.stopped) / max(result.seconds, 1e-6)))
        return result

    async def how_it_ended(self) -> str:
        """Say with which status or signal it ended."""
        code = await self._process.wait()
        return f"with status {code}" if code >= 0 else f"by signal {-code} ({signal.strsignal(-code)})"

    async def kill(self) -> None:
        """End the process, whatever it does."""
        if self._process.returncode is None:
            self._process.kill()
            await self._process.wait()
        self._in.close()
        self._process._transport.close()  # type: ignore[attr-defined]  # else its pipes outlive the event loop


# The worker's side.


def serve() -> None:
    """Play the games that come in by standard input and send their records by standard output, until told to stop.

    What players print goes to standard error. If the run's process dies, so does this one.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    requests, results = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    with Path(os.devnull).open() as nothing:
        os.dup2(nothing.fileno(), 0)
    setup = _setup.decode(_read(requests))
    try:
        games = _load(setup)
    except Exception as error:
        _send(results, Unable(f"a worker process cannot play: {error}"))
        return
    inbox = _Inbox(requests)
    threading.Thread(target=inbox.read, daemon=True).start()
    gc.freeze()
    gc.set_threshold(20_000)
    _play(games, inbox, results)


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


class _Inbox:
    """Games to play; a thread reads them, so that the end of the run's process is noticed during a game."""

    def __init__(self, requests: BinaryIO) -> None:
        self._requests = requests
        self._games: queue.SimpleQueue[Pairing | None] = queue.SimpleQueue()
        self.is_stopped = False

    def read(self) -> None:
        """Read requests until told to stop; end this process if there will be none."""
        while not self.is_stopped:
            try:
                request = _request.decode(_read(self._requests))
            except (EOFError, msgspec.DecodeError):
                os._exit(1)
            if isinstance(request, Stop):
                self.is_stopped = True
                self._games.put(None)
            else:
                for pairing in request.pairings:
                    self._games.put(pairing)
        if not self._requests.read():  # the run's process has ended while the last game is played
            os._exit(1)

    def __iter__(self) -> Iterator[Pairing]:
        while not self.is_stopped and (pairing := self._games.get()) is not None:
            yield pairing

    def is_empty(self) -> bool:
        return self._games.empty()


def _play(games: ScriptedGames, inbox: _Inbox, results: BinaryIO) -> None:
    played: list[Match] = []
    began = time.monotonic()
    for pairing in inbox:
        if not played:
            began = time.monotonic()
        played.append(games.play(pairing))
        seconds = time.monotonic() - began
        if seconds > SEND_SECONDS or inbox.is_empty():
            _send(results, _summarise(played, seconds))
            played = []
    if played:
        _send(results, _summarise(played, time.monotonic() - began))


def _summarise(played: Sequence[Match], seconds: float) -> Played:
    stopped = [(match.notes.get(STOPPED), (match.ended and match.ended.reason) or "") for match in played]
    return Played(stopped, b"".join([match.record().to_line() for match in played]), seconds)


def _read(requests: BinaryIO) -> bytes:
    """Read one message; EOFError if there will be none."""
    head = requests.read(_LENGTH)
    if len(head) < _LENGTH:
        raise EOFError
    return requests.read(int.from_bytes(head, "big"))


def _send(results: BinaryIO, message: Played | Unable) -> None:
    try:
        results.write(_frame(message))
        results.flush()
    except BrokenPipeError:
        os._exit(1)  # the run's process has ended
