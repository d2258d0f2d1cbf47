"""What tests of the participants' server share: a gate with a small page, over a host that knows a few tokens."""

from __future__ import annotations

import http.client
import json
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx

from tests.conftest import ROOT, free_port

PAGE = """
import ipywidgets as w
from IPython.display import display

said = w.Label("nothing yet")
button = w.Button(description="Press")
button.on_click(lambda _: setattr(said, "value", said.value + "!"))
display(button, said)
"""
KERNEL_ID = re.compile(r'"kernelId": "([0-9a-f-]+)"')


def notebook(folder: Path, name: str = "study", source: str = PAGE) -> Path:
    """A page of one cell."""
    cell = {"cell_type": "code", "execution_count": None, "id": "0", "metadata": {}, "outputs": [], "source": source}
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    text = json.dumps({"cells": [cell], "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5})
    path = folder / f"{name}.ipynb"
    path.write_text(text)
    return path


class Gate(NamedTuple):
    """A running gate, its host's process and its own, and the folder of the sockets."""

    url: str
    pid: int
    host: subprocess.Popen[bytes]
    folder: Path
    start: Any

    @property
    def port(self) -> int:
        return int(self.url.rsplit(":", 1)[1].strip("/"))

    @property
    def cookie(self) -> str:
        return f"negolab-gate-{self.port}"

    def get(self, path: str = "", token: str | None = None, method: str = "GET", **headers: str) -> httpx.Response:
        """One request, as a browser that shows that token makes it; nothing is followed."""
        shown = {"Cookie": f"{self.cookie}={token}"} if token else {}
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return httpx.request(method, self.url + path, headers={**shown, **named}, timeout=60)

    def opened(self, token: str, within: float = 60) -> str:
        """Ask for the page until there is a kernel for that token; its id."""
        end = time.monotonic() + within
        while time.monotonic() < end:
            answer = self.get("", token)
            if found := KERNEL_ID.search(answer.text):
                return found[1]
            time.sleep(0.3)
        raise AssertionError(f"no kernel for {token} within {within} s: {answer.status_code} {answer.text[-500:]}")

    def told(self) -> list[tuple[str, dict[str, str]]]:
        """What the host was asked."""
        with httpx.Client(transport=httpx.HTTPTransport(uds=str(self.folder / "desk.sock"))) as client:
            return [(name, body) for name, body in client.get("http://host/told").json()["told"]]


def kernels(pid: int) -> list[int]:
    """The kernels that a server runs, by process id."""
    listed = subprocess.run(["ps", "-ww", "-eo", "pid,ppid,args"], capture_output=True, text=True, check=True).stdout
    rows = [line.split(None, 2) for line in listed.splitlines()[1:]]
    return [int(row[0]) for row in rows if int(row[1]) == pid and "ipykernel" in row[2]]


def until(true: Any, within: float = 60.0, pause: float = 0.1) -> bool:
    """Whether it becomes true in that time."""
    end = time.monotonic() + within
    while time.monotonic() < end:
        if true():
            return True
        time.sleep(pause)
    return bool(true())


def answers(port: int, path: str = "/") -> bool:
    """Whether a server answers there, whatever it says."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", path)
        connection.getresponse()
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
    return True


@contextmanager
def host(folder: Path, *options: str) -> Iterator[subprocess.Popen[bytes]]:
    """The small host of the tests on sockets in a folder."""
    command = [
        sys.executable,
        "-m",
        "tests.support.fake_host",
        f"--seats={folder}/seats.sock",
        f"--desk={folder}/desk.sock",
    ]
    process = subprocess.Popen([*command, *options], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None and process.stdout.readline() == b"ready\n"
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@contextmanager
def gate(*options: str, page: Path | None = None, warm: bool = True) -> Iterator[Gate]:
    """A gate with these options (`pool_size=2`, `check_owner=False`, ...), ready and with a warm kernel."""
    from negolab_widgets.server.config import participants_environment as of_participants

    port = free_port()
    with tempfile.TemporaryDirectory(prefix="nl-") as name:
        folder = Path(name)
        own = folder / "own"
        own.mkdir()
        command = [sys.executable, "-P", "-m", "negolab_widgets.server.gate", str(page or notebook(folder))]
        command += [f"--Gate.port={port}", f"--Gate.seats={folder}/seats.sock", f"--Gate.connection_dir_root={folder}"]
        command += [f"--Gate.{option}" if not option.startswith("--") else option for option in options]
        env = of_participants(str(folder / "seats.sock"), own)
        started: list[subprocess.Popen[bytes]] = []

        def start() -> int:
            started.append(subprocess.Popen(command, env=env, stderr=(folder / "log").open("ab")))
            assert until(lambda: answers(port) or started[-1].poll() is not None)
            assert started[-1].poll() is None, (folder / "log").read_text()
            return started[-1].pid

        with host(folder) as running:
            try:
                pid = start()
                found = Gate(f"http://127.0.0.1:{port}/", pid, running, folder, start)
                if warm:
                    found.opened("good-first")
                yield found
            finally:
                for process in started:
                    if process.poll() is None:
                        process.send_signal(signal.SIGTERM)
                for process in started:
                    process.wait(60)


def raw(port: int, text: str) -> str:
    """What comes back for these bytes."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        connection.sendall(text.encode())
        return connection.makefile("rb").read().decode(errors="replace")
