"""Start and stop the process of a local model server."""

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
from typing import IO

import msgspec

from negolab.llm.local import server
from negolab.llm.local.server import ServerConfig

READY_SECONDS = 120.0
"""Time limit for loading the weights."""

_POLL_SECONDS = 0.1
_STOP_SECONDS = 10.0


class LocalModel(msgspec.Struct, frozen=True):
    """A running server: its OpenAI-compatible address and its process."""

    url: str
    process: subprocess.Popen[bytes]


def default_threads() -> int:
    """Return the number of cores, minus one for the games: on a busy machine, a thread per core is far slower."""
    return max(1, (os.cpu_count() or 1) - 1)


@contextmanager
def running_server(served: ServerConfig) -> Iterator[LocalModel]:
    """Serve a model in a separate process until the block ends.

    Raises:
        ValueError: The extra `local` is not installed, the port is taken, or the weights cannot be loaded.
    """
    _check(served)
    with tempfile.TemporaryFile() as log:
        process = _start(served, log)
        try:
            _wait_until_ready(served, process, log)
            yield LocalModel(f"http://127.0.0.1:{served.port}/v1", process)
        finally:
            _stop(process)


def _check(served: ServerConfig) -> None:
    if importlib.util.find_spec("xllamacpp") is None:
        raise ValueError("serving a model needs more packages: pip install 'negolab[local]'")
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", served.port))
        except OSError:
            raise ValueError(f"port {served.port} is taken: choose another with --port") from None


def _start(served: ServerConfig, log: IO[bytes]) -> subprocess.Popen[bytes]:
    # Spinning threads would take the cores that the games need.
    env = {**os.environ, "OMP_WAIT_POLICY": "passive"}
    # By its path, so that the rest of negolab is not imported.
    command = [sys.executable, "-P", server.__file__, msgspec.json.encode(served).decode()]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=log, stderr=log, env=env)


def _wait_until_ready(served: ServerConfig, process: subprocess.Popen[bytes], log: IO[bytes]) -> None:
    """Wait until the server answers; ValueError with its last log line if it does not."""
    until = time.monotonic() + READY_SECONDS
    while time.monotonic() < until:
        if process.poll() is not None:
            raise ValueError(f"the model at {served.path} could not be served: {_last_log_line(log)}")
        if _is_healthy(served.port):
            return
        time.sleep(_POLL_SECONDS)
    raise ValueError(f"the model at {served.path} was not ready after {READY_SECONDS:g} s: {_last_log_line(log)}")


def _is_healthy(port: int) -> bool:
    import urllib.request  # it imports http and ssl, which no other command needs

    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def _last_log_line(log: IO[bytes]) -> str:
    log.seek(0)
    lines = [line.strip() for line in log.read()[-20_000:].decode(errors="replace").splitlines()]
    return next(
        (line for line in reversed(lines) if "error" in line.lower()), lines[-1] if lines else "it printed nothing"
    )


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Close the standard input of the server; kill it if that does not end it."""
    assert process.stdin is not None
    process.stdin.close()
    try:
        process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
