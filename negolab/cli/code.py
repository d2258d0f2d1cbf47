"""`negolab code`: people and models code what was said, and how far they agree."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from negolab._internal.files import private_files
from negolab.cli.options import Modules, Trust, import_games
from negolab.cli.play import escape_line

app = typer.Typer(rich_markup_mode=None)


@app.command()
def code(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Records: a file, or the folder of a run or a sweep.")],
    book: Annotated[Path, typer.Option(help="The codebook, a TOML file: negolab new codebook.")],
    coder: Annotated[str, typer.Option(help="Who codes, such as anna.")],
    sheet: Annotated[
        Path | None, typer.Option(help="The coder's sheet, .csv or .xlsx (default: a CSV file in the run's folder).")
    ] = None,
    module: Modules = None,
    trust: Trust = False,
) -> None:
    """Write a blind sheet of what was said for a coder, and read back what is filled in, as often as you like."""
    from negolab.coding.codebook import read_codebook
    from negolab.coding.sheets import exchange

    import_games(run, module, trust)
    name, codes = read_codebook(book)
    with private_files():
        done = exchange(run, name, codes, coder, sheet)
    if done.written:
        print(escape_line(f"{done.sheet} is written: fill in its {done.written:,} rows and run this command again"))
    print(escape_line(f"{coder}: {done.read:,} new or changed; {done.coded:,} of {done.units:,} are coded"))
