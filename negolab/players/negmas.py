"""NegMAS agents as players: `negmas:negotiator=MiCRONegotiator`.

NegMAS is not part of negolab and is never imported: a Python that has it, named by the user, runs `negmas_child.py`,
which is told the match so far and answers with a move. Nothing is kept here between two moves, so a match that is
resumed or branched is like any other. A game takes part through three functions in its submodule `negmas`:

- `domain(game, seen)`: what the seat knows from the start. Each of the `issues` has a `name`, a `size`, `options` or
  the `low` of a range, and the seat's `utilities` per option, or `slope` and `bias` for a number. `reservation` is the
  utility of no deal, and `steps` is the number of messages; each message multiplies the utility of an agreement by
  `discount` and, if `no_deal_is_discounted`, also that of no deal.
- `heard(game, seen)`: the moves so far, from both seats in turn: an option's number per issue, or None without an
  offer.
- `act(game, seen, move)`: the action for a move; None if the rules have none.
"""

from __future__ import annotations

import atexit
import os
import subprocess
import threading
import weakref
from collections import deque
from contextlib import suppress
from itertools import count
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import IO, Any, Literal

import msgspec
from typing_extensions import override

from negolab import catalog
from negolab._internal.environment import scrubbed_environment
from negolab.protocols import Scripted

NEGMAS = "NEGOLAB_NEGMAS"
"""Environment variable that names a Python in which NegMAS is installed."""
OLDEST = (0, 16)
START_SECONDS = 120.0

Move = tuple[int, ...] | Literal["accept", "reject", "end"]
"""An offer, as an option's number per issue, or a reply without one."""


class NegmasFailed(ValueError):
    """NegMAS or one of its agents produced no move; the text names it and says why."""


class Answer(msgspec.Struct):
    """A line from NegMAS's process: versions when it starts, then a move, all agents, or an error."""

    versions: dict[str, str] = {}
    move: Move | None = None
    agents: list[str] = []
    error: str = ""


_decode = msgspec.json.Decoder(Answer).decode


class Child:
    """A process running the interpreter `python`, in which the agents of all matches play; it ends with this
    process."""

    def __init__(self, python: str) -> None:
        self.python, self.versions = python, dict[str, str]()
        command = [python, "-s", "-P", str(Path(__file__).with_name("negmas_child.py"))]
        # NegMAS's sets must have a fixed order; in a session of its own, Ctrl-C reaches only this process.
        env, pipe = scrubbed_environment(PYTHONHASHSEED="0", PYTHONPATH=""), subprocess.PIPE
        try:
            self._process = subprocess.Popen(
                command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, env=env, start_new_session=True
            )
        except OSError as error:
            raise NegmasFailed(f"{NEGMAS}={python} cannot be started: {error.strerror}") from None
        assert self._process.stdin is not None and self._process.stdout is not None
        self._questions, self._answers = self._process.stdin, SimpleQueue[bytes]()
        threading.Thread(target=_pass_on, args=(self._process.stdout, self._answers), daemon=True).start()
        atexit.register(self.end)

    def serves(self, python: str) -> bool:
        """Return True if it is a process of this Python and is running."""
        return self.python == python and self._process.poll() is None

    def greet(self) -> None:
        """Hear which versions it has; raise `NegmasFailed` if it has none that this bridge knows."""
        hello = self._hear(f"{NEGMAS}={self.python}", START_SECONDS)
        version = hello.versions.get("negmas", "0")
        if tuple(map(int, version.split(".")[:2])) < OLDEST:
            found = hello.error or f"it has NegMAS {version}"
            needed = ".".join(map(str, OLDEST))
            raise NegmasFailed(f"{NEGMAS}={self.python} needs NegMAS {needed} or later: {found}")
        self.versions = hello.versions

    def ask(self, who: str, seconds: float, question: dict[str, Any]) -> Answer:
        """Ask a question; a `NegmasFailed` says what `who` did instead of answering within `seconds`."""
        with suppress(BrokenPipeError):  # it has ended, which is heard next
            self._questions.write(msgspec.json.encode(question) + b"\n")
            self._questions.flush()
        return self._hear(who, seconds)

    def _hear(self, who: str, seconds: float) -> Answer:
        try:
            line = self._answers.get(timeout=seconds)
            return _decode(line)
        except Empty:
            raise NegmasFailed(f"{who} did not answer within {seconds:g} s") from None
        except msgspec.DecodeError:
            did = f"answered {line[:60]!r}" if line else f"ended its process with status {self._process.wait()}"
            raise NegmasFailed(f"{who} {did}") from None

    def end(self) -> None:
        """End it, whatever it is doing."""
        self._process.kill()
        self._process.wait()
        with suppress(BrokenPipeError):
            self._questions.close()


def _pass_on(lines: IO[bytes], answers: SimpleQueue[bytes]) -> None:
    with lines:
        for line in lines:
            answers.put(line)
    answers.put(b"")


_lock = threading.Lock()
_child: Child | None = None


def ask(who: str, seconds: float, **question: Any) -> tuple[Answer, dict[str, str]]:
    """Ask NegMAS, starting it if it is not running; return its answer and its versions.

    Raises:
        NegmasFailed: There is no NegMAS, or no answer; its process is then ended, unless it reported the problem
            itself.
    """
    global _child
    if not (python := os.environ.get(NEGMAS)):
        raise NegmasFailed(f"set {NEGMAS} to a Python that has NegMAS: see negolab guide negmas")
    with _lock:
        if _child is None or not _child.serves(python):
            if _child is not None:
                _child.end()
            _child = Child(python)
        try:
            if not _child.versions:
                _child.greet()
            gone = [_gone.popleft() for _ in range(len(_gone))]
            answer = _child.ask(who, seconds, {**question, "gone": gone})
        except BaseException:
            _child.end()
            raise
        if answer.error:
            raise NegmasFailed(f"{who}: {answer.error}")
        return answer, _child.versions


def is_running() -> bool:
    """Return True if this process is already playing with NegMAS."""
    return _child is not None and _child.serves(os.environ.get(NEGMAS, ""))


_numbers = count()
_gone: deque[int] = deque()
"""Numbers of players that are gone; their agents are kept until the next question."""


class NegMAS(Scripted):
    """Plays an agent of NegMAS: `negotiator` is its class, such as MiCRONegotiator or negmas_negolog.HybridAgent, and
    `params` are its own parameters. The Python named by NEGOLAB_NEGMAS runs it; a reply that takes longer than
    `seconds` fails the match."""

    def __init__(
        self, *, negotiator: str, params: dict[str, Any] | None = None, seconds: float = 60, seed: int = 0
    ) -> None:
        super().__init__(seed=seed)
        if not seconds > 0:
            raise ValueError(f"seconds must be above 0, not {seconds!r}")
        self.negotiator, self.params, self.seconds = negotiator, params or {}, seconds
        self.program_versions: dict[str, str] = {}
        self._number = next(_numbers)
        weakref.finalize(self, _gone.append, self._number)

    @override
    def check(self, game: Any) -> None:
        _, versions = ask(self.negotiator, START_SECONDS, do="find", agent=self.negotiator)
        package = self.negotiator.partition(".")[0].replace("_", "-")
        names = ("negmas", package, "python")
        self.program_versions = {name: versions[name] for name in names if name in versions}

    @override
    def act(self, game: Any, seen: Any) -> Any:
        bridge = catalog.part(game, "NEGMAS")
        domain, moves = bridge.domain(game, seen), bridge.heard(game, seen)
        match = {"agent": self.negotiator, "params": self.params, "seed": self.seed, "domain": domain}
        move = ask(self.negotiator, self.seconds, do="move", id=self._number, moves=moves, **match)[0].move
        sizes = [issue["size"] for issue in domain["issues"]]
        if isinstance(move, tuple) and [n for n, size in zip(move, sizes, strict=False) if 0 <= n < size] != [*move]:
            raise NegmasFailed(f"{self.negotiator} offered {move}, which is not an agreement in this game")
        action = None if move is None else bridge.act(game, seen, move)
        if action is None:
            raise NegmasFailed(f"{self.negotiator} made no offer where the rules require one")
        return action


def list_agents() -> tuple[list[str], dict[str, str]]:
    """Return the names of all agents, and the versions; raise `NegmasFailed` as `ask` does."""
    answer, versions = ask("NegMAS", START_SECONDS, do="list")
    return answer.agents, versions


PLAYERS: dict[str, type[Scripted]] = {"negmas": NegMAS}
