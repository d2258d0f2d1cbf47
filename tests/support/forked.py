"""Programs of ours in processes of their own, forked from one that has imported them: they start in some 30 ms."""

from __future__ import annotations

import atexit
import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import IO

PRELOADED = (
    *("negolab.cli", "negolab.analysis.export", "negolab.llm.player", "papermill"),
    *("negolab.studies.server", "negolab.studies.export", "tests.support.fake_host"),
)

_processes = multiprocessing.get_context("forkserver")
_processes.set_forkserver_preload(list(PRELOADED))


class ForkedProcess:
    """A process with pipes for its three streams, as one of `subprocess.Popen`; it is killed if it outlives this one.

    Args:
        main: The program: a function at the top level of its module, or source text.
        args: Its arguments.
        cwd: Its working directory; None: the tests' own.
        env: Its whole environment; None: the tests' own.
    """

    def __init__(
        self,
        main: Callable[[], None] | str,
        *args: str,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
    ) -> None:
        pipes = [os.pipe() for _ in range(3)]
        theirs = [Connection(pipes[0][0], writable=False)]
        theirs += [Connection(ends[1], readable=False) for ends in pipes[1:]]
        self.args = ["-c" if isinstance(main, str) else main.__module__, *args]
        self._process = _processes.Process(
            target=_become,
            args=(main, self.args, cwd or Path.cwd(), dict(os.environ if env is None else env), theirs),
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

    def communicate(self, text: str = "", timeout: float | None = None) -> tuple[str, str]:
        """Send a text; return what it printed to stdout and stderr. It is killed after `timeout` seconds."""
        with ThreadPoolExecutor(2) as threads:
            printed = [threads.submit(stream.read) for stream in (self.stdout, self.stderr)]
            with suppress(BrokenPipeError), self.stdin:
                self.stdin.write(text)
            try:
                self.wait(timeout)
            finally:
                self.kill()
            out, err = (each.result() for each in printed)
        self.stdout.close()
        self.stderr.close()
        return out, err

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
    multiprocessing.process._current_process._config["daemon"] = False  # so that it may have children of its own
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(env)
    for number, stream in enumerate(streams):
        os.dup2(stream.fileno(), number)
        stream.close()
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        setattr(sys, name, open(number, "w" if number else "r", encoding="utf-8"))  # noqa: PTH123, SIM115
    sys.argv = argv
    # As where Python starts in that folder: with the modules there, and a `sitecustomize` of the test's.
    sys.path[:0] = [str(folder), *filter(None, env.get("PYTHONPATH", "").split(os.pathsep))]
    sys.modules.pop("sitecustomize", None)
    with suppress(ImportError):
        import sitecustomize  # noqa: F401
    try:
        exec(main, {}) if isinstance(main, str) else main()
    finally:
        atexit._run_exitfuncs()
        sys.stdout.flush()
