"""Child processes that are started again when they die, and that end when this process does, however it ends."""

from __future__ import annotations

import contextlib
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from negolab_widgets.dashboard.telling import warn

QUICK = 15.0
"""Seconds: a child that ran for less died at once."""
MOST_QUICK = 5
"""Deaths at once, in a row, after which the child is given up."""
LONGEST_PAUSE = 5.0
ENDS_WITHIN = 12.0


class GivenUp(RuntimeError):
    """A child dies again and again."""


@dataclass
class Child:
    """A server. Its standard input is a pipe that only we hold: it ends when we are gone, killed or not. `told` is
    written there at each start: what no list of processes and no environment should show."""

    name: str
    command: Sequence[str]
    env: dict[str, str]
    options: dict[str, Any] = field(default_factory=dict)
    told: bytes = b""
    process: subprocess.Popen[bytes] | None = None
    _started: float = 0.0
    _quick: int = 0
    _again: float = 0.0

    def start(self) -> None:
        """Start it, in a session of its own: Ctrl-C in the terminal reaches us, and we pass it on once."""
        self._started = time.monotonic()
        self.process = subprocess.Popen(
            self.command, env=self.env, stdin=subprocess.PIPE, bufsize=0, start_new_session=True, **self.options
        )
        if self.told and self.process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):  # it died at once: that is seen at the next look
                self.process.stdin.write(self.told)

    def look(self) -> None:
        """Start it again if it died: at once the first time, then after longer and longer pauses."""
        if self.process is None:
            if time.monotonic() >= self._again:
                self.start()
            return
        code = self.process.poll()
        if code is None:
            return
        self._close()
        self._quick = self._quick + 1 if time.monotonic() - self._started < QUICK else 0
        if self._quick >= MOST_QUICK:
            raise GivenUp(f"{self.name} ended {MOST_QUICK} times in a row ({_how(code)}); gave up")
        warn(f"{self.name} ended ({_how(code)}) and is started again")
        self._again = time.monotonic() + (min(LONGEST_PAUSE, 0.5 * 2**self._quick) if self._quick else 0.0)
        self.process = None

    def end(self) -> None:
        """Ask it to end."""
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
        self._close()

    def gone(self, within: float) -> None:
        """Wait for its end; after that time, end it."""
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


def _how(code: int) -> str:
    return f"killed by signal {-code}" if code < 0 else f"code {code}"


@contextlib.contextmanager
def ending(children: Sequence[Child]) -> Iterator[None]:
    """End all children afterwards, the last that was started first, together."""
    try:
        yield
    finally:
        for child in reversed(children):
            child.end()
        until = time.monotonic() + ENDS_WITHIN
        for child in reversed(children):
            child.gone(until - time.monotonic())


def watch(children: Sequence[Child], pause: float = 0.2) -> None:
    """Keep the children running until one is given up or we are interrupted."""
    while True:
        for child in children:
            child.look()
        time.sleep(pause)
