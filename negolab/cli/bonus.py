"""`negolab study bonus`: the file of bonuses for a panel, from the panel's own export."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from negolab.cli.options import Db
from negolab.cli.play import printable
from negolab.cli.study import app as study_app
from negolab.cli.study import open_known_database
from negolab.studies.bonus import PAID, RETURNED, PanelFormat, Settlement, settle
from negolab.studies.study_file import read_study


def bonus(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The study's file, such as prices.toml.")],
    panel: Annotated[Path, typer.Option(metavar="CSV", help="The panel's own export of its submissions.")],
    db: Db = None,
    out: Annotated[Path | None, typer.Option(help="New file to write; default: FILE-bonus-1.csv and so on.")] = None,
    with_fee: Annotated[bool, typer.Option("--with-fee", help="Include the show-up fee.")] = False,
    recompute: Annotated[
        bool, typer.Option("--recompute", help="Pay what the file says now, not what participants were shown.")
    ] = False,
    id_column: Annotated[str, typer.Option(help="Column of the panel's ids.")] = "Participant id",
    status_column: Annotated[str, typer.Option(help='Column of the status; "": there is none.')] = "Status",
    paid_status: Annotated[
        list[str] | None, typer.Option(help=f"Status that is paid; repeatable; default: {', '.join(PAID)}.")
    ] = None,
    returned_status: Annotated[
        list[str] | None, typer.Option(help=f"Status that gives its place back; default: {', '.join(RETURNED)}.")
    ] = None,
    delimiter: Annotated[str, typer.Option(help="Between id and amount in the file that is written.")] = ",",
) -> None:
    """Write what a panel still has to pay, from its own export; a second run pays nobody twice. Nothing is sent."""
    if len(delimiter) != 1 or delimiter in '"\r\n' or delimiter.isalnum():
        raise ValueError(f"--delimiter must be one character between id and amount, not {delimiter!r}")
    paid, returned = tuple(paid_status or PAID), tuple(returned_status or RETURNED)
    form = PanelFormat(id_column, status_column, paid, returned, delimiter)
    study = read_study(file)
    with open_known_database(file, db, study) as database:
        done = settle(database, study, panel, form, out=out, beside=file, with_fee=with_fee, recompute=recompute)
    print("\n".join(map(printable, bonus_lines(done))))


def bonus_lines(done: Settlement) -> list[str]:
    """Describe the result of a run, line by line."""
    lines = list(done.said)
    if done.earlier:
        lines.append(f"{done.earlier} with a bonus that an earlier run wrote: left out")
    if done.nothing:
        lines.append(f"{done.nothing} with nothing due beyond the fee")
    if done.incomplete:
        lines.append(
            f"{done.incomplete} in the file did not complete the study: it pays them all of [payment.endings], so "
            "the panel's own reward would come on top"
        )
    lines += [f"{path}: its run broke off; it is complete now: upload it, unless you have" for path in done.resumed]
    n, total = len(done.amounts), done.currency.text(sum(done.amounts.values()))
    lines.append(f"{done.path}: {_describe_file(n, total)}")
    return lines


def _describe_file(n: int, total: str) -> str:
    """Say how many bonuses a file holds."""
    if not n:
        return "empty, as nobody is to be paid"
    return f"{n} bonus{'' if n == 1 else 'es'}, {total} in all, to upload at the panel"


def add_to(_: typer.Typer) -> None:
    study_app.command()(bonus)
