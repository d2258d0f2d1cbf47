"""What tests share: programs that must be there in CI, a served dashboard, and the counts of vectors in the summary."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

CI = os.environ.get("CI") == "true"


def needs(program: str, package: str) -> str:
    """The path of a program. Missing: a failure in CI, elsewhere a skip that names the package."""
    found = shutil.which(program)
    if found is None:
        text = f"{program} is not installed: apt-get install {package}"
        if CI:
            pytest.fail(text)
        pytest.skip(text)
    return found


class Served(NamedTuple):
    """A running dashboard: its address and the folder of its records."""

    url: str
    out: Path


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def serving(command: list[str], out: Path, **popen: Any) -> Iterator[Served]:
    """Run `command serve` until the caller is done with it; ended by its process id, its kernels with it."""
    port = free_port()
    process = subprocess.Popen(
        [*command, "serve", "--no-browser", f"--port={port}", f"--out={out}"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        **popen,
    )
    assert process.stdout is not None
    said = []
    for line in process.stdout:
        said.append(line)
        if line.startswith("negolab is at"):
            break
    else:
        pytest.fail("the dashboard did not start: " + "".join(said)[-3000:])
    try:
        yield Served(f"http://127.0.0.1:{port}/", out)
    finally:
        os.killpg(process.pid, signal.SIGINT)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    yield from serving([sys.executable, "-m", "negolab"], tmp_path_factory.mktemp("people"))


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """A headless browser of the system."""
    path = needs("chromium", "chromium")
    from playwright.sync_api import sync_playwright

    quiet = "no-sandbox disable-gpu disable-quic no-first-run"
    quiet += " disable-background-networking disable-component-update disable-sync"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=[f"--{flag}" for flag in quiet.split()])
        yield browser
        browser.close()


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print how many vectors of each file passed, also where workers ran the tests."""
    reports = [r for kind in ("passed", "failed") for r in terminalreporter.stats.get(kind, [])]
    counts = [(name, value) for r in reports for name, value in getattr(r, "user_properties", []) if "vectors" in name]
    if counts:
        terminalreporter.section("conformance")
        for name, value in sorted(counts):
            terminalreporter.write_line(f"{name.removeprefix('vectors of '):42} {value}")
