"""`negolab serve | lab`: options of the web page servers, and starting them as separate processes."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Annotated, Literal, NoReturn

import msgspec
import typer

from negolab.catalog import scenario_game
from negolab.cli.options import BaseUrls, Db, Group, Modules, PriceOption, advanced, import_modules, with_options
from negolab.cli.play import RUNS

app = Group()
OPTIONS = "NEGOLAB_SERVER_OPTIONS"
"""Environment variable that passes options to the server. On its command line, anybody could read a database
password."""

Port = Annotated[int, typer.Option(min=1, max=65535, help="Port on this machine.")]
Browser = Annotated[bool, typer.Option("--browser/--no-browser", help="Open the browser.")]


class ServerOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="command"):
    """Base class of a server's options."""


class ServeOptions(ServerOptions, frozen=True, tag="serve"):
    """Options of `negolab serve`."""

    study: Annotated[Path | None, typer.Argument(metavar="[STUDY.toml]", help="A study file.")] = None
    port: Port = 8866
    out: Annotated[Path, typer.Option(help="Folder for records.")] = RUNS / "people"
    db: Db = None
    host: Annotated[str, advanced(help="Address to listen on.")] = "127.0.0.1"
    public_url: Annotated[str | None, typer.Option(metavar="URL", help="Public address of a study, for its links.")] = (
        None
    )
    behind_proxy: Annotated[
        bool, typer.Option("--behind-proxy", help="A proxy handles TLS and forwards visitors' addresses.")
    ] = False
    certfile: Annotated[Path | None, advanced(help="TLS certificate, if no proxy handles TLS.")] = None
    keyfile: Annotated[Path | None, advanced(help="Private key for the certificate.")] = None
    kernel_user: Annotated[str | None, advanced(metavar="NAME", help="User to run kernels as (needs root).")] = None
    max_kernels: Annotated[
        int | None, advanced(min=1, help="Maximum number of simultaneous participants (default: depends on memory).")
    ] = None
    pool: Annotated[int, advanced(min=1, max=8, help="Kernels kept warm for the next visitors.")] = 2
    desk_port: Annotated[
        int, advanced(min=1, max=65535, help="Port of the researcher's own pages while a study is being served.")
    ] = 8867
    modules: Modules = None
    scenarios: Annotated[
        list[Path] | None,
        typer.Option("--scenario", metavar="FILE", help="Scenario to offer in the lobby. Repeatable."),
    ] = None
    trust: Annotated[bool, advanced("--trust", help="Serve the study even if its code has changed.")] = False
    base_urls: BaseUrls = None
    budget: Annotated[float | None, typer.Option(min=0, help="Maximum cost of models in US dollars.")] = None
    prices: PriceOption = None
    browser: Browser = True


class PageOptions(ServerOptions, frozen=True, tag="page"):
    """Options of `negolab replay --browser` and `negolab sweep show`: a page about what `source` contains."""

    page: Literal["replay", "results"]
    source: Path
    port: int
    out: Path
    modules: list[str] = []
    base_urls: list[str] | None = None
    browser: bool = True


class LabOptions(ServerOptions, frozen=True, tag="lab"):
    """Options of `negolab lab`."""

    folder: Annotated[Path, typer.Option("--dir", help="Folder for your copy of the notebooks.")] = Path(
        "negolab-notebooks"
    )
    port: Port = 8888
    browser: Browser = True


@app.command()
@with_options(ServeOptions)
def serve(options: ServeOptions) -> None:
    """Play in the browser, or serve a study to participants."""
    if options.study is not None and options.study.is_file():
        from negolab.cli.study import check_servable

        check_servable(options.study, options.db)
    modules = import_modules(options.modules)
    for path in options.scenarios or []:
        scenario_game(path)  # raises an error that says what is wrong with it
    start(msgspec.structs.replace(options, modules=modules))


@app.command()
@with_options(LabOptions)
def lab(options: LabOptions) -> None:
    """Open JupyterLab on a copy of the notebooks."""
    start(options)


def start(options: ServerOptions) -> NoReturn:
    """Run the server with these options and exit with its code."""
    os.environ[OPTIONS] = msgspec.json.encode(options, enc_hook=str).decode()
    command = [sys.executable, "-P", "-m", "negolab_widgets.server"]
    if os.name == "posix":
        # Replace this process with the server, so that signals reach it.
        os.execv(sys.executable, command)
    raise typer.Exit(subprocess.call(command))


@contextmanager
def running_trial(options: ServeOptions, *, with_models: bool) -> Iterator[deque[str]]:
    """Serve a study that browsers try, in a separate process, until the block ends.

    Args:
        options: What to serve, and where.
        with_models: Let language models play; see `negolab.studies.trial.stand_ins`.

    Yields:
        The latest lines that the server prints, once it is up.

    Raises:
        RuntimeError: The server did not start; the error quotes its last line.
    """
    trial = {"trial": "models" if with_models else "stand-ins", "browser": False}
    table = msgspec.to_builtins(options, enc_hook=str) | trial
    server = subprocess.Popen(
        [sys.executable, "-P", "-m", "negolab_widgets.server"],
        env={**os.environ, OPTIONS: msgspec.json.encode(table).decode()},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,  # Ctrl-C goes to this process, which then ends the server
    )
    lines: deque[str] = deque(maxlen=50)
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # the server is then ended too
    try:
        assert server.stdout is not None
        for line in server.stdout:
            lines.append(line.rstrip())
            if line.startswith("negolab is at"):
                lines.clear()
                break
        else:
            raise RuntimeError(f"the server did not start: {lines[-1] if lines else f'exit code {server.wait()}'}")
        # Keep reading, so that a full pipe never blocks the server.
        threading.Thread(target=lines.extend, args=(map(str.rstrip, server.stdout),), daemon=True).start()
        yield lines
    finally:
        server.send_signal(signal.SIGINT)
        try:
            server.wait(20)
        except subprocess.TimeoutExpired:
            server.kill()
        signal.signal(signal.SIGTERM, before)


def free_ports(n: int) -> list[int]:
    """Return ports on this machine that nobody listens on."""
    with ExitStack() as stack:
        probes = [stack.enter_context(socket.socket()) for _ in range(n)]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [int(probe.getsockname()[1]) for probe in probes]
