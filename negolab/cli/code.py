"""`negolab code`: coding of what was said, by people and models, and their agreement."""

from __future__ import annotations

import asyncio
import shlex
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from negolab._internal.files import private_files
from negolab.cli.batch import print_above_bar
from negolab.cli.options import Modules, PriceOption, Trust, import_games
from negolab.cli.play import escape_line
from negolab.coding.codebook import Codebook, read_codebook
from negolab.formatting import escape_control
from negolab.llm.configuration import ModelConfiguration, open_models
from negolab.llm.endpoint.errors import RunFailed
from negolab.llm.endpoint.policy import Limits
from negolab.llm.endpoint.prices import Prices
from negolab.llm.settings import model_settings
from negolab.players.lookup import parse_model_name

app = typer.Typer(rich_markup_mode=None)


@app.command()
def code(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Records: a file, or the folder of a run or a sweep.")],
    book: Annotated[Path, typer.Option(help="The codebook, a TOML file; see `negolab new codebook`.")],
    coder: Annotated[
        str | None, typer.Option(help="Name of the coder, such as anna (default: show agreement).")
    ] = None,
    sheet: Annotated[
        Path | None, typer.Option(help="The coder's sheet, .csv or .xlsx (default: a CSV file in the run's folder).")
    ] = None,
    gold: Annotated[
        str | None, typer.Option(help="Coder to treat as the gold standard when correcting the other coders' rates.")
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="Use this model as the coder: llm:gpt-5-mini,temperature=0,persona=strict.md.")
    ] = None,
    base_url: Annotated[str | None, typer.Option(help="Endpoint for the model.")] = None,
    concurrency: Annotated[int, typer.Option(help="Maximum number of simultaneous calls.", min=1)] = 20,
    budget: Annotated[
        float | None, typer.Option(help="Maximum total cost of coding this run in US dollars.", min=0)
    ] = None,
    price: PriceOption = None,
    module: Modules = None,
    trust: Trust = False,
) -> None:
    """Write a blinded coding sheet for a coder, and read it back once it is filled in.

    Run the command as often as you like. With --model, a language model does the coding; run the same
    command again to resume. Without --coder, report how well coders agree.
    """
    from negolab.coding.units import exchange

    import_games(run, module, trust)
    name, codes = read_codebook(book)
    with private_files():
        if coder is None:
            _print_agreement(run, name, codes, gold)
        elif model is None:
            print(escape_control("\n".join(exchange(run, name, codes, coder, sheet))))
        else:
            prices = Prices.parse(price) if price else None
            models = ModelConfiguration(
                base_url=base_url, limits=Limits(at_once=concurrency), usd=budget, prices=prices
            )
            _code_by_model(run, name, codes, coder, model, models)


def _code_by_model(
    run: Path, name: str, book: Codebook, coder: str, model: str, configuration: ModelConfiguration
) -> None:
    """Let a model code what it has not coded yet, and print what it could not code and what the coding cost."""
    from negolab.coding.models import code_units
    from negolab.coding.units import readings_file

    settings, file = model_settings(parse_model_name(model)), readings_file(run)
    file.parent.mkdir(exist_ok=True)
    with ExitStack() as resources:
        models = open_models(configuration, file.parent, str(file.resolve()), [print_above_bar], resources)
        models.check_key(settings.base_url, settings.key)
        models.policy.check(settings.model)
        try:
            failed = asyncio.run(code_units(run, name, book, coder, settings, models, models.policy.limits.at_once))
        except RunFailed as error:
            raise RuntimeError(f"{error}; run the same command again to resume") from None
        failed.append(f"{coder}: {len(failed):,} could not be coded; ${models.usage.usd:.2f} in all")
        print(escape_control("\n".join(failed)))


def _print_agreement(run: Path, name: str, book: Codebook, gold: str | None) -> None:
    """Print how far coders agree, and write a list of their disagreements."""
    from negolab.analysis.columns import write_table
    from negolab.coding import agreement, units

    readings = units.latest(run, name)
    if not readings:
        raise ValueError(f"{run} has no codes for {name} yet: add --coder NAME, and --model for a language model")
    tables = {
        "Krippendorff's alpha, 95% intervals over matches": agreement.agreement(book, readings),
        "Cohen's kappa by pair": agreement.kappas(book, readings),
    }
    if gold is not None:
        tables[f"Rates corrected by {gold} (Rogan and Gladen 1978)"] = agreement.corrected_rates(book, readings, gold)
    print(escape_line("Units by coder: " + ", ".join(f"{coder} {len(own):,}" for coder, own in readings.items())))
    for title, table in tables.items():
        if len(table):
            shown = table.loc[:, (table != "").any()].round(3).to_string(index=False, na_rep="-")
            print(escape_control(f"\n{title}\n{shown}"))
    if len(differ := agreement.disagreements(run, book, readings)):
        file = units.readings_file(run).with_name(f"{name}-disagreements.csv")
        write_table(differ, file)
        command = shlex.join(["negolab", "replay", str(run), "--id", differ["match"].iloc[0]])
        first = f"to see the first one in context: {command}"
        print(escape_control(f"\nCoders differ on {len(differ):,} units and codes: {file}\n{first}"))
