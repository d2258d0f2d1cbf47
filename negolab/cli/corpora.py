"""`negolab import dealornodeal`: published corpora as records."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    name="import",
    help="Published corpora as records, to replay, check, export and measure.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
Out = Annotated[Path, typer.Option(metavar="RUN", help="New folder that keeps the records.")]


@app.command()
def dealornodeal(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="data.txt, or train.txt, val.txt, test.txt.")],
    out: Out,
    all_: Annotated[bool, typer.Option("--all", help="Also dialogues of which there is one view only.")] = False,
) -> None:
    """Write a record per dialogue of Deal or No Deal (Lewis et al. 2017)."""
    raise ValueError("Deal or No Deal cannot be imported yet")


def add_to(app_: typer.Typer) -> None:
    app_.add_typer(app)
