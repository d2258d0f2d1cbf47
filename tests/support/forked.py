"""Programs of ours in processes of their own, forked from one that has imported them: they start in some 30 ms."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from multiprocessing.connection import Connection
from pathlib import Path
from typing import IO

from tests.support.command import _processes


class ForkedProcess:
    """A process with pipes for its three streams, as one of `subprocess.Popen`; it is killed if it outlives this one.

    Args:
        main: The program: a function at the top level of its module, or source text.
        args: Its arguments.
        env: Its whole environment; None: the tests' own.
    """

    def __init__(self, main: Callable[[], None] | str, *args: str, env: Mapping[str, str] | None = None) -> None:
        pipes = [os.pipe() for _ in range(3)]
        theirs = [Connection(pipes[0][0], writable=False)]
        theirs += [Connection(ends[1], readable=False) for ends in pipes[1:]]
        self.args = ["-c" if isinstance(main, str) else main.__module__, *args]
        self._process = _processes.Process(
            target=_become,
            args=(main, self.args, Path.cwd(), dict(os.environ if env is None else env), theirs),
            daemon=True,
        )
        self._process.start()
        for end in theirs:
            end.close()
        self.stdin: IO[str] = os.fdopen(pipes[0][1], "w", encoding="utf-8")
        self.stdout: IO[str] = os.fdopen(pipes[1][0], encoding="utf-8")
        self.stderr: IO[str] = os.fdopen(pipes[2][0], encoding="utf-8")

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    def poll(self) -> int | None:
        """Return its exit code, negative after a signal; None: it runs."""
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end and return its exit code."""
        self._process.join(timeout)
        code = self.poll()
        if code is None:
            raise subprocess.TimeoutExpired(self.args, timeout or 0)
        return code

    def send_signal(self, sign: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, sign)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def _become(
    main: Callable[[], None] | str, argv: list[str], folder: Path, env: dict[str, str], streams: list[Connection]
) -> None:
    """Become the program: its arguments, working directory, environment and streams."""
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(env)
    for number, stream in enumerate(streams):
        os.dup2(stream.fileno(), number)
        stream.close()
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        setattr(sys, name, open(number, "w" if number else "r", encoding="utf-8"))  # noqa: PTH123, SIM115
    sys.argv = argv
    exec(main, {}) if isinstance(main, str) else main()
