"""Requirements of tests, served pages, the browser, and the counts of conformance vectors in the summary."""

from __future__ import annotations

import gc
import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple, NoReturn

import pytest
from hypothesis import HealthCheck, settings
from negolab_widgets.server.config import LAB
from typing_extensions import override
from xdist.scheduler import LoadFileScheduling

from negolab import catalog, user_code
from negolab.cli.serve import OPTIONS, free_ports
from negolab.players import code
from negolab.studies.trial.browsers import FLAGS
from negolab.user_code import TRUSTED

SLOW = os.environ.get("NEGOLAB_SLOW") == "1"
"""Set by hand before a release: soaks at full length, and every game where two stand for all."""
NEGOLAB_CI = os.environ.get("NEGOLAB_CI") == "1"
"""Set by `.ci/run` alone: what a test needs must be there."""
ROOT = Path(__file__).parent.parent
pytest_plugins = ("tests.support.databases",)
LONG = {"model", "soak", "visitor"}
PATIENCE = 180_000
"""Milliseconds for which a browser waits for what a page must come to show: a busy machine is no fault."""
EXAMPLES = 100 if SLOW else 25
"""Examples of each property: always the same in the README's test command, fresh ones under `-m long`."""


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Restore Ctrl-C, and bytecode; set which examples hypothesis draws: always the same in short, fresh ones under
    `-m long`."""
    # Where none is written, each of some hundred processes that tests start compiles the package anew.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    # A shell that starts the tests in the background ignores SIGINT, and so do the programs that they start.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if NEGOLAB_CI:
        config.pluginmanager.register(Announcer(config))
    fresh = is_long_run(config)
    if fresh and config.option.hypothesis_seed is None:
        config.option.hypothesis_seed = str(secrets.randbelow(2**32))
    settings.register_profile(
        "negolab",
        max_examples=EXAMPLES,
        deadline=None,
        derandomize=not fresh,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    settings.load_profile("negolab")


def is_long_run(config: pytest.Config) -> bool:
    return "long" in config.option.markexpr and "not long" not in config.option.markexpr


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark what takes long; a property runs in both suites."""
    if getattr(getattr(item, "obj", None), "is_hypothesis_test", False):
        item.add_marker("hypothesis")
    marks = {mark.name for mark in item.iter_markers()}
    if item.path.parent.name == "long" or marks & LONG or ("hypothesis" in marks and is_long_run(item.config)):
        item.add_marker("long")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a long test that begins after NEGOLAB_UNTIL, in seconds since 1970, by which `.ci/run` has to end: on a slow
    machine it then says which tests it did not come to, instead of nothing at all."""
    if "long" in item.keywords and time.time() > float(os.environ.get("NEGOLAB_UNTIL", "inf")):
        pytest.skip("the time for long tests is over")


class Announcer:
    """Writes each failure when it happens: a run that is ended before its summary has named it."""

    def __init__(self, config: pytest.Config) -> None:
        self.plugins = config.pluginmanager

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        terminal: Any = self.plugins.get_plugin("terminalreporter")  # none in a worker of xdist
        if report.failed and terminal is not None:
            last = report.longreprtext.rstrip().rpartition("\n")[2]
            terminal.write_line(f"\n{report.nodeid}: {report.when} failed after {report.duration:.0f} s: {last}")


FIRST = ("browser", "sweeps", "widgets", "studies", "players", "runs", "long")
"""Folders whose files take longest: begun first, so that no worker ends with one while the others are idle."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: FIRST.index(name) if (name := item.path.parent.name) in FIRST else len(FIRST))


class CrashSafeScheduling(LoadFileScheduling):
    """As `--dist loadfile`, but a run goes on after a worker's crash.

    That one hands out the files that the worker had finished once more; a worker that is given nothing but these waits
    for ever.
    """

    @override
    def remove_node(self, node: Any) -> str | None:
        work = self.assigned_work.get(node, {})
        for file in [file for file, done in work.items() if all(done.values())]:
            del work[file]
        crashed: str | None = super().remove_node(node)
        return crashed


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> CrashSafeScheduling | None:
    return CrashSafeScheduling(config, log) if config.getvalue("dist") == "loadfile" else None


@pytest.fixture(scope="session", autouse=True)
def trusted_code(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Keep the list of code that the tests run apart from the user's."""
    os.environ[TRUSTED] = str(tmp_path_factory.mktemp("trusted") / "trusted.txt")


@pytest.fixture(autouse=True)
def loaded_code(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Forget the games and players of a test's own modules after it, so that no other test is offered them."""
    path, modules, games, players = list(sys.path), set(sys.modules), set(catalog._imported), dict(code._found)
    yield
    folder = str(tmp_path_factory.getbasetemp())
    for name in sys.modules.keys() - modules:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(folder):
            del sys.modules[name]
            code._facts.pop(name, None)
    sys.path[:] = path
    if catalog._imported != games:
        catalog._imported.intersection_update(games)
        catalog._home.cache_clear()
    user_code._Finder.codes.clear()
    catalog.untrusted.clear()
    code._found.clear()
    code._found.update(players)


def pytest_collection_finish() -> None:
    """Exempt what was imported and collected from garbage collection, which statsmodels forces on every call."""
    gc.freeze()


def missing(requirement: str) -> NoReturn:
    """Skip a test for want of a requirement; in `.ci/run`, fail it."""
    pytest.fail(requirement) if NEGOLAB_CI else pytest.skip(requirement)


def needs(program: str, package: str, path: str | None = None) -> str:
    """Return the path of a program, looked up in `path` (None: $PATH); if it is missing, name the package."""
    return shutil.which(program, path=path) or missing(f"{program} is not installed: apt-get install {package}")


class Served(NamedTuple):
    """A running server: its address with the token, the folder of its records, for JupyterLab that of the notebooks,
    and its process id. `base` is the address without the token."""

    url: str
    out: Path
    folder: Path | None = None
    pid: int = 0

    @property
    def base(self) -> str:
        return "/".join(self.url.split("/")[:3]) + "/"


def free_port() -> int:
    return free_ports(1)[0]


def serving(command: list[str], out: Path, *options: str, **popen: Any) -> Generator[Served, None, None]:
    """Run `command serve` until the generator is closed."""
    yield from showing([*command, "serve", f"--out={out}", *options], out, **popen)


def showing(command: list[str], out: Path, **popen: Any) -> Generator[Served, None, None]:
    """Run a command that serves a page at a free port until the generator is closed."""
    port = free_port()
    with running([*command, "--no-browser", f"--port={port}"], "negolab is at", **popen) as (line, pid):
        yield Served(line.split()[3], out, pid=pid)


def launching(out: Path, prefix: Sequence[str] = (), **options: Any) -> Generator[Served, None, None]:
    """Start the server itself, as `negolab` does, with these options, until the caller is done with it."""
    env = launch_environment(out=out, **{"port": free_port(), **options})
    with running([*prefix, *LAUNCH], "negolab is at", env=env, stdin=subprocess.DEVNULL) as (line, pid):
        yield Served(line.split()[3], out, pid=pid)


LAUNCH = [sys.executable, "-P", "-m", "negolab_widgets.server"]


def launch_environment(**options: Any) -> dict[str, str]:
    """The environment that hands options to the server; it finds modules of the tests."""
    text = json.dumps({"command": "serve", "browser": False, **options}, default=str)
    return {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'widgets'}", OPTIONS: text}


@contextmanager
def running(
    command: list[str], ready: str, stop: signal.Signals = signal.SIGINT, **popen: Any
) -> Iterator[tuple[str, int]]:
    """Run a server; yield the line of output that contains `ready`, and its process id."""
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True, **popen
    )
    assert process.stdout is not None
    output: list[str] = []
    for line in process.stdout:
        output.append(line)
        if ready in line:
            break
    else:
        pytest.fail("the server did not start: " + "".join(output)[-3000:])
    # Drain its output, so that a full pipe never blocks it.
    Thread(target=lambda: deque(process.stdout or (), maxlen=0), daemon=True).start()
    try:
        yield line, process.pid
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, stop)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """`negolab`: the lobby."""
    yield from serving([sys.executable, "-m", "negolab"], tmp_path_factory.mktemp("people"))


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """JupyterLab on a copy of the notebooks; `url` ends in `lab/tree/`, `out` keeps the records."""
    folder, out = tmp_path_factory.mktemp("lab"), tmp_path_factory.mktemp("people")
    shutil.copytree(ROOT / "notebooks", folder, dirs_exist_ok=True)
    # Keep cells that are scrolled out of view in the page, and suppress the news dialog.
    for name, setting in {
        "notebook-extension/tracker": {"windowingMode": "none"},
        "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
    }.items():
        path = folder / ".settings" / "@jupyterlab" / f"{name}.jupyterlab-settings"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(setting))
    port = free_port()
    options = {
        "ServerApp.ip": "127.0.0.1",
        "ServerApp.port": port,
        "ServerApp.open_browser": False,
        "ServerApp.allow_root": True,
        "ServerApp.root_dir": folder,
        "IdentityProvider.token": "",
        "LabApp.expose_app_in_browser": True,
        "LabApp.user_settings_dir": folder / ".settings",
        "LabApp.workspaces_dir": folder / ".workspaces",
    }
    command = [*LAB, *(f"--{name}={value}" for name, value in options.items())]
    # The notebooks record to temporary folders.
    env = {**os.environ, "NEGOLAB_OUT": str(out), "TMPDIR": str(out), "PYTHONPATH": str(ROOT)}
    # On SIGINT it would ask for confirmation.
    with running(command, f"127.0.0.1:{port}/lab", signal.SIGTERM, cwd=folder, env=env):
        yield Served(f"http://127.0.0.1:{port}/lab/tree/", out, folder)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """Headless Chromium for a module's tests."""
    with launch_chromium() as launched:
        yield launched


@contextmanager
def launch_chromium() -> Iterator[Any]:
    """Launch the system's Chromium with playwright."""
    from playwright.sync_api import sync_playwright

    path = needs("chromium", "chromium")
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", *FLAGS])
        launched.on("context", lambda context: context.set_default_timeout(PATIENCE))
        yield launched
        launched.close()


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Print how examples of a long run are drawn again, and how many conformance vectors of each file passed."""
    if config.option.hypothesis_seed is not None:
        terminalreporter.write_line(
            f"properties drew their examples with --hypothesis-seed={config.option.hypothesis_seed}"
        )
    reports = [r for kind in ("passed", "failed") for r in terminalreporter.stats.get(kind, [])]
    counts = [(name, value) for r in reports for name, value in getattr(r, "user_properties", []) if "vectors" in name]
    if counts:
        terminalreporter.section("conformance")
        for name, value in sorted(counts):
            terminalreporter.write_line(f"{name.removeprefix('vectors of '):42} {value}")
