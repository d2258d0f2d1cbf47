"""A participants' server (gate) in a process of its own, with a small page and a fake host."""

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
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx2

from tests.conftest import free_port
from tests.support.fake_host import main
from tests.support.forked import ForkedProcess

PAGE = """
import ipywidgets as w
from IPython.display import display

said = w.Label("nothing yet")
button = w.Button(description="Press")
button.on_click(lambda _: setattr(said, "value", said.value + "!"))
display(button, said)
"""
KERNEL_ID = re.compile(r'"kernelId": "([0-9a-f-]+)"')


def write_page(folder: Path, name: str = "study", source: str = PAGE) -> Path:
    """Write a notebook of one cell and return its path."""
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
    fake_host: ForkedProcess
    folder: Path
    start: Any
    start_host: Callable[[], object]

    @property
    def port(self) -> int:
        return int(self.url.rsplit(":", 1)[1].strip("/"))

    @property
    def cookie(self) -> str:
        return f"negolab-gate-{self.port}"

    def get(self, path: str = "", token: str | None = None, method: str = "GET", **headers: str) -> httpx2.Response:
        """Send one request with the token's cookie; redirects are not followed."""
        shown = {"Cookie": f"{self.cookie}={token}"} if token else {}
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        # Without verification no certificates are loaded, which takes longer than the request.
        return httpx2.request(method, self.url + path, headers={**shown, **named}, timeout=300, verify=False)

    def open_kernel(self, token: str, within: float = 60) -> str:
        """Load the page until the token has a kernel and return the kernel's id."""
        found = KERNEL_ID.search(self.open_page(token, within).text)
        assert found
        return found[1]

    def open_page(self, token: str, within: float = 60) -> httpx2.Response:
        """Load the page until the token has a kernel and return the page."""
        end = time.monotonic() + within
        while time.monotonic() < end:
            answer = self.get("", token)
            if KERNEL_ID.search(answer.text):
                return answer
            time.sleep(0.2)
        raise AssertionError(f"no kernel for {token} within {within} s: {answer.status_code} {answer.text[-500:]}")

    def reports(self) -> list[dict[str, Any]]:
        """What the gate has told its host of itself."""
        return [body for name, body in self.requests() if name == "gate"]

    def settle(self) -> None:
        """Wait until the pool has a kernel; a gate whose pool is of one then starts none."""
        before = len(self.reports())
        assert wait_until(lambda: any(report["warm"] for report in self.reports()[before + 1 :]))

    def requests(self) -> list[tuple[str, dict[str, Any]]]:
        """The requests that the fake host received: name and body."""
        with httpx2.Client(transport=httpx2.HTTPTransport(uds=str(self.folder / "admin.sock"))) as client:
            return [(name, body) for name, body in client.get("http://host/requests").json()["requests"]]


def wait_until(condition: Callable[[], Any], within: float = 60.0, pause: float = 0.1) -> bool:
    """Poll `condition` for at most `within` seconds; return True as soon as it holds."""
    end = time.monotonic() + within
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(pause)
    return bool(condition())


def is_listening(port: int, path: str = "/") -> bool:
    """Return True if an HTTP server answers on the port, with any status."""
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
def fake_host(folder: Path, *options: str) -> Iterator[ForkedProcess]:
    """Run the fake host on sockets in `folder`."""
    process = ForkedProcess(main, f"--seats={folder}/seats.sock", f"--admin={folder}/admin.sock", *options)
    assert process.stdout.readline() == "ready\n"
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@contextmanager
def running_gate(
    *options: str, page: Path | None = None, warm: bool = True, module: str = "negolab_widgets.server.gate"
) -> Iterator[Gate]:
    """Run a gate with options such as `pool_size=2`; wait until it is ready and, if `warm`, has a kernel."""
    from negolab_widgets.server.config import participants_environment

    port = free_port()
    with tempfile.TemporaryDirectory(prefix="nl-") as name:
        folder = Path(name)
        own = folder / "own"
        own.mkdir()
        command = [sys.executable, "-P", "-m", module, str(page or write_page(folder))]
        command += [f"--Gate.port={port}", f"--Gate.seats={folder}/seats.sock", f"--Gate.connection_dir_root={folder}"]
        command += [f"--Gate.{option}" if not option.startswith("--") else option for option in options]
        env = participants_environment(str(folder / "seats.sock"), own)
        started: list[subprocess.Popen[bytes]] = []

        def start() -> int:
            started.append(subprocess.Popen(command, env=env, stderr=(folder / "log").open("ab")))
            assert wait_until(lambda: is_listening(port) or started[-1].poll() is not None)
            assert started[-1].poll() is None, (folder / "log").read_text()
            return started[-1].pid

        with ExitStack() as hosts:
            running = hosts.enter_context(fake_host(folder))
            try:
                pid = start()
                url, start_host = f"http://127.0.0.1:{port}/", lambda: hosts.enter_context(fake_host(folder))
                server = Gate(url, pid, running, folder, start, start_host)
                if warm:
                    server.open_kernel("good-first")
                yield server
            finally:
                for process in started:
                    if process.poll() is None:
                        process.send_signal(signal.SIGTERM)
                for process in started:
                    process.wait(60)


def send_raw(port: int, text: str) -> str:
    """Send these bytes over TCP and return the whole answer."""
    with socket.create_connection(("127.0.0.1", port), timeout=300) as connection:
        connection.sendall(text.encode())
        return connection.makefile("rb").read().decode(errors="replace")
