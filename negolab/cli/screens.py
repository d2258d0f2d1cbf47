"""The screens: `serve` and `lab` start the dashboard package as a program of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from negolab.cli.table import RUNS


def serve(
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port on this machine.")] = 8866,
    out: Annotated[Path, typer.Option(help="Folder that keeps the records.")] = RUNS / "people",
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open it in the browser.")] = True,
) -> None:
    """Open the dashboard where people play, on this machine."""
    _run("serve", "--port", str(port), "--out", str(out), *([] if browser else ["--no-browser"]))


def replay(file: Path, module: str | None, port: int, out: Path) -> None:
    """Open the page that replays the records of `file`."""
    game = [] if module is None else ["--module", module]
    _run("replay", "--file", str(file), *game, "--port", str(port), "--out", str(out))


def lab(
    folder: Annotated[Path, typer.Option("--dir", help="Where your copy of the notebooks is kept.")] = Path(
        "negolab-notebooks"
    ),
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port on this machine.")] = 8888,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open it in the browser.")] = True,
) -> None:
    """Open JupyterLab on a copy of the notebooks."""
    _run("lab", "--dir", str(folder), "--port", str(port), *([] if browser else ["--no-browser"]))


def _run(*args: str) -> None:
    command = [sys.executable, "-P", "-m", "negolab_widgets.dashboard", *args]
    if os.name == "posix":
        # Become the dashboard: a signal to this process then reaches it.
        os.execv(sys.executable, command)
    raise typer.Exit(subprocess.call(command))


def add_to(app: typer.Typer) -> None:
    app.command()(serve)
    app.command()(lab)
