"""`negolab serve | lab`: start the server of the web pages as a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from negolab.cli.options import DB, Db
from negolab.cli.play import RUNS
from negolab.cli.study import check_servable

BaseUrls = Annotated[
    list[str] | None,
    typer.Option(metavar="URL[,key=NAME]", help="Language models to play with; $NAME holds their key; repeatable."),
]
Port = Annotated[int, typer.Option(min=1, max=65535, help="Port on this machine.")]


def serve(
    study: Annotated[Path | None, typer.Argument(metavar="[STUDY.toml]", help="A study for people.")] = None,
    port: Port = 8866,
    out: Annotated[Path, typer.Option(help="Folder that keeps the records.")] = RUNS / "people",
    db: Db = None,
    host: Annotated[str, typer.Option(help="Address that participants reach.")] = "127.0.0.1",
    public_url: Annotated[str | None, typer.Option(metavar="URL", help="What participants' links begin with.")] = None,
    behind_proxy: Annotated[bool, typer.Option("--behind-proxy", help="A proxy does TLS and names visitors.")] = False,
    certfile: Annotated[Path | None, typer.Option(help="Certificate, where there is no proxy.")] = None,
    keyfile: Annotated[Path | None, typer.Option(help="Its key.")] = None,
    kernel_user: Annotated[str | None, typer.Option(metavar="NAME", help="User of the kernels (needs root).")] = None,
    max_kernels: Annotated[int | None, typer.Option(min=1, help="Participants at once (default: by memory).")] = None,
    pool: Annotated[int, typer.Option(min=1, max=8, help="Kernels kept warm for those who come next.")] = 2,
    desk_port: Annotated[int, typer.Option(min=1, max=65535, help="Port of your own pages beside a study.")] = 8867,
    base_url: BaseUrls = None,
    budget: Annotated[float | None, typer.Option(min=0, help="US dollars that they may cost in all.")] = None,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open it in the browser.")] = True,
) -> None:
    """Open the dashboard where people play, on this machine; with a study, also its participants' pages."""
    if study is not None and study.is_file():
        check_servable(study, db)
    if db is not None:
        os.environ[DB] = db  # a password in it would be seen in the list of processes
    given = {
        "--public-url": public_url,
        "--certfile": certfile,
        "--keyfile": keyfile,
        "--kernel-user": kernel_user,
        "--max-kernels": max_kernels,
        "--budget": budget,
    }
    more = [f"--base-url={url}" for url in base_url or []]
    more += [f"{name}={value}" for name, value in given.items() if value is not None]
    more += ["--behind-proxy"] if behind_proxy else []
    more += [] if study is None else [str(study)]
    always = [f"--port={port}", f"--out={out}", f"--host={host}", f"--pool={pool}", f"--desk-port={desk_port}"]
    _run("serve", *always, *more, *([] if browser else ["--no-browser"]))


def replay(file: Path, module: str | None, port: int, out: Path, base_urls: Sequence[str] = ()) -> None:
    """Open the page that replays the records of `file`; matches can be branched to models at `base_urls`."""
    more = [] if module is None else ["--module", module]
    more += [f"--base-url={url}" for url in base_urls]
    _run("replay", "--file", str(file), *more, "--port", str(port), "--out", str(out))


def results(
    run: Path, module: str | None, port: int, out: Path, base_urls: Sequence[str] = (), browser: bool = True
) -> None:
    """Open the page of the sweep in the folder `run`."""
    more = [] if module is None else ["--module", module]
    more += [f"--base-url={url}" for url in base_urls]
    more += [] if browser else ["--no-browser"]
    _run("results", "--file", str(run), *more, "--port", str(port), "--out", str(out))


def lab(
    folder: Annotated[Path, typer.Option("--dir", help="Where your copy of the notebooks is kept.")] = Path(
        "negolab-notebooks"
    ),
    port: Port = 8888,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open it in the browser.")] = True,
) -> None:
    """Open JupyterLab on a copy of the notebooks."""
    _run("lab", "--dir", str(folder), "--port", str(port), *([] if browser else ["--no-browser"]))


def _run(*args: str) -> None:
    """Run the server with these arguments and exit with its code."""
    command = [sys.executable, "-P", "-m", "negolab_widgets.server", *args]
    if os.name == "posix":
        # Replace this process by the server, so that signals reach it.
        os.execv(sys.executable, command)
    raise typer.Exit(subprocess.call(command))


def add_to(app: typer.Typer) -> None:
    app.command()(serve)
    app.command()(lab)
