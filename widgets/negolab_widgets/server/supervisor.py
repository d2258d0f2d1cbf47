"""Supervise child processes: start them again when they die, and end them when this process ends, however it does."""

from __future__ import annotations

import contextlib
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from negolab_widgets.server.logs import print_warning

QUICK_DEATH = 15.0
"""Seconds: a child that ran for less died at once."""
MAX_QUICK_DEATHS = 5
"""Deaths at once, in a row, after which the child is given up."""
MAX_PAUSE = 5.0
TERMINATE_WITHIN = 12.0


class CrashLoop(RuntimeError):
    """A child dies again and again."""


@dataclass
class Child:
    """A server process.

    Its standard input is a pipe that only we hold: it ends when we are gone, killed or not. `stdin_data` is written
    there at each start: what no list of processes and no environment should show.
    """

    name: str
    command: Sequence[str]
    env: dict[str, str]
    options: dict[str, Any] = field(default_factory=dict)
    stdin_data: bytes = b""
    process: subprocess.Popen[bytes] | None = None
    _started: float = 0.0
    _quick: int = 0
    _again: float = 0.0

    def start(self) -> subprocess.Popen[bytes]:
        """Start it, in a session of its own: Ctrl-C in the terminal reaches us, and we pass it on once."""
        self._started = time.monotonic()
        self.process = subprocess.Popen(
            self.command, env=self.env, stdin=subprocess.PIPE, bufsize=0, start_new_session=True, **self.options
        )
        if self.stdin_data and self.process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):  # it died at once: that is seen at the next look
                self.process.stdin.write(self.stdin_data)
        return self.process

    def restart_if_dead(self) -> None:
        """Start it again if it died: at once the first time, then after longer and longer pauses."""
        if self.process is None:
            if time.monotonic() >= self._again:
                self.start()
            return
        code = self.process.poll()
        if code is None:
            return
        self._close()
        self._quick = self._quick + 1 if time.monotonic() - self._started < QUICK_DEATH else 0
        if self._quick >= MAX_QUICK_DEATHS:
            raise CrashLoop(f"{self.name} ended {MAX_QUICK_DEATHS} times in a row ({_exit_text(code)}); gave up")
        print_warning(f"{self.name} ended ({_exit_text(code)}) and is started again")
        self._again = time.monotonic() + (min(MAX_PAUSE, 0.5 * 2**self._quick) if self._quick else 0.0)
        self.process = None

    def terminate(self) -> None:
        """Ask it to end."""
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
        self._close()

    def wait_or_kill(self, within: float) -> None:
        """Wait for its end; after `within` seconds, kill it."""
        if self.process is None:
            return
        try:
            self.process.wait(max(0.0, within))
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def _close(self) -> None:
        for pipe in (self.process.stdin, self.process.stdout) if self.process else ():
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()


def _exit_text(code: int) -> str:
    return f"killed by signal {-code}" if code < 0 else f"code {code}"


@contextlib.contextmanager
def terminating(children: Sequence[Child]) -> Iterator[None]:
    """Terminate all children afterwards, the last that was started first, together."""
    try:
        yield
    finally:
        for child in reversed(children):
            child.terminate()
        until = time.monotonic() + TERMINATE_WITHIN
        for child in reversed(children):
            child.wait_or_kill(until - time.monotonic())


def supervise(children: Sequence[Child], pause: float = 0.2) -> None:
    """Keep the children running until one is given up or we are interrupted."""
    while True:
        for child in children:
            child.restart_if_dead()
        time.sleep(pause)
