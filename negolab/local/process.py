"""Starting and ending the server's process."""

from __future__ import annotations

import importlib.util
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import msgspec

from negolab.local import server
from negolab.local.server import Served

READY = 120.0
"""Seconds that weights may take to load."""

_PAUSE = 0.1
_GRACE = 10.0


class LocalModel(msgspec.Struct, frozen=True):
    """A server that answers: its OpenAI-compatible address and its process."""

    url: str
    process: subprocess.Popen[bytes]


def default_threads() -> int:
    """One core is left to the games: on a busy machine a thread for each core is far slower than one less."""
    return max(1, (os.cpu_count() or 1) - 1)


@contextmanager
def running(served: Served) -> Iterator[LocalModel]:
    """Serve a model in a process of its own from when it answers until the block ends. `ValueError` if the extra
    `local` is not installed, the port is taken, or the weights cannot be loaded."""
    _check(served)
    with tempfile.TemporaryFile() as log:
        process = _started(served, log)
        try:
            _wait(served, process, log)
            yield LocalModel(f"http://127.0.0.1:{served.port}/v1", process)
        finally:
            _end(process)


def _check(served: Served) -> None:
    if importlib.util.find_spec("xllamacpp") is None:
        raise ValueError("serving a model needs more packages: pip install 'negolab[local]'")
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", served.port))
        except OSError:
            raise ValueError(f"port {served.port} is taken: choose another with --port") from None


def _started(served: Served, log: IO[bytes]) -> subprocess.Popen[bytes]:
    # Threads that wait by spinning take the cores that the games need.
    env = {**os.environ, "OMP_WAIT_POLICY": "passive"}
    # By its path: the rest of negolab is not needed there.
    command = [sys.executable, "-P", server.__file__, msgspec.json.encode(served).decode()]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=log, stderr=log, env=env)


def _wait(served: Served, process: subprocess.Popen[bytes], log: IO[bytes]) -> None:
    """Until it answers; `ValueError` with its last words if it does not."""
    until = time.monotonic() + READY
    while time.monotonic() < until:
        if process.poll() is not None:
            raise ValueError(f"the model at {served.path} could not be served: {_last_words(log)}")
        if _healthy(served.port):
            return
        time.sleep(_PAUSE)
    raise ValueError(f"the model at {served.path} was not ready after {READY:g} s: {_last_words(log)}")


def _healthy(port: int) -> bool:
    import urllib.request  # it brings http and ssl, which no other command needs

    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def _last_words(log: IO[bytes]) -> str:
    log.seek(0)
    lines = [line.strip() for line in log.read()[-20_000:].decode(errors="replace").splitlines()]
    return next(
        (line for line in reversed(lines) if "error" in line.lower()), lines[-1] if lines else "it said nothing"
    )


def _end(process: subprocess.Popen[bytes]) -> None:
    """By closing its standard input, else by its process id."""
    assert process.stdin is not None
    process.stdin.close()
    try:
        process.wait(_GRACE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def served_model(
    path: Path, *, port: int = 8080, slots: int = 4, threads: int | None = None, context: int = 8192
) -> Served:
    """What `running` takes, with its defaults; `path` is that of the weights."""
    threads = default_threads() if threads is None else threads
    return Served(path=str(path), port=port, slots=slots, threads=threads, context=context)
