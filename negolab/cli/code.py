"""`negolab code`: people and models code what was said, and how far they agree."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from negolab._internal.files import private_files
from negolab.cli.options import Modules, Trust, import_games
from negolab.cli.play import escape_control, escape_line

if TYPE_CHECKING:
    import pandas as pd

    from negolab.coding.codebook import Codebook

app = typer.Typer(rich_markup_mode=None)


@app.command()
def code(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Records: a file, or the folder of a run or a sweep.")],
    book: Annotated[Path, typer.Option(help="The codebook, a TOML file: negolab new codebook.")],
    coder: Annotated[str | None, typer.Option(help="Who codes, such as anna; without it, agreement is shown.")] = None,
    sheet: Annotated[
        Path | None, typer.Option(help="The coder's sheet, .csv or .xlsx (default: a CSV file in the run's folder).")
    ] = None,
    gold: Annotated[
        str | None, typer.Option(help="The coder who is right: rates of the others are corrected by it.")
    ] = None,
    module: Modules = None,
    trust: Trust = False,
) -> None:
    """Write a blind sheet of what was said for a coder, and read back what is filled in, as often as you like.

    Without --coder, say how far coders agree."""
    from negolab.coding.codebook import read_codebook
    from negolab.coding.sheets import exchange

    import_games(run, module, trust)
    name, codes = read_codebook(book)
    if coder is None:
        with private_files():
            _print_agreement(run, name, codes, gold)
        return
    with private_files():
        done = exchange(run, name, codes, coder, sheet)
    if done.written:
        print(escape_line(f"{done.sheet} is written: fill in its {done.written:,} rows and run this command again"))
    print(escape_line(f"{coder}: {done.read:,} new or changed; {done.coded:,} of {done.units:,} are coded"))


def _print_agreement(run: Path, name: str, book: Codebook, gold: str | None) -> None:
    """Print how far coders agree, and write the list of what they differ on."""
    import pandas as pd

    from negolab.analysis.columns import write_table
    from negolab.coding.agreement import agreement, corrected_rates, disagreements, kappas
    from negolab.coding.units import latest, readings_file

    readings = latest(run, name)
    if not readings:
        raise ValueError(f"{run}: nobody has coded by {name}: name a --coder, and a --model where that is one")
    _print_table("Coders", pd.DataFrame([{"coder": one, "units": len(own)} for one, own in readings.items()]))
    _print_table("Krippendorff's alpha, 95% intervals over matches", pd.DataFrame(agreement(book, readings)))
    _print_table("Cohen's kappa by pair", kappas(book, readings))
    if gold is not None:
        rates = pd.DataFrame(corrected_rates(book, readings, gold))
        _print_table(f"Rates corrected by {gold} (Rogan and Gladen 1978), 95% intervals over matches", rates)
    if len(differ := disagreements(run, book, readings)):
        file = readings_file(run).with_name(f"{name}-disagreements.csv")
        write_table(differ, file)
        print(escape_line(f"Coders differ on {len(differ):,} units and codes: {file}"))
        print(escape_line(f"to see the first in its place: negolab replay {run} --id {differ['match'].iloc[0]}"))


def _print_table(title: str, table: pd.DataFrame) -> None:
    if len(table):
        print(f"{title}\n" + escape_control(table.round(3).to_string(index=False, na_rep="-")) + "\n")
