"""A sweep's results in the browser: `negolab sweep show`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from negolab.cli import screens, sweep
from negolab.cli.options import Module, known
from negolab.cli.table import RUNS
from negolab.sweep import standing


def show(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The sweep's folder, as `negolab sweep run` says it.")],
    module: Module = None,
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port of the page on this machine.")] = 8867,
    out: Annotated[Path, typer.Option(help="Folder that keeps branches made there.")] = RUNS / "branches",
    base_url: screens.BaseUrls = None,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open it in the browser.")] = True,
) -> None:
    """Look at a sweep in the browser, while it runs or later: its cells, their records, its results."""
    known(module)
    standing.plan_of(run)
    screens.results(run, module, port, out, base_url or (), browser)


def add_to(app: typer.Typer) -> None:
    """Among the commands of `negolab sweep`."""
    sweep.app.command()(show)
