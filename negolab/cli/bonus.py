"""`negolab study bonus`: the files of bonuses for a panel, from the panel's own export."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from negolab.cli.options import Db, advanced
from negolab.cli.play import printable
from negolab.cli.study import StudyFile, open_known_database
from negolab.studies.bonus import Settlement, settle, write_again
from negolab.studies.database import Database
from negolab.studies.panel import PAID, RETURNED, PanelFormat
from negolab.studies.payment import Currency
from negolab.studies.study_file import read_study


def bonus(
    file: StudyFile,
    panel: Annotated[Path | None, typer.Option(metavar="CSV", help="The panel's export of its submissions.")] = None,
    db: Db = None,
    out: Annotated[Path | None, typer.Option(help="New file to write (default: FILE-bonus-1.csv and so on).")] = None,
    with_fee: Annotated[bool, typer.Option("--with-fee", help="Include the show-up fee.")] = False,
    recompute: Annotated[
        bool,
        advanced(
            "--recompute", help="Pay according to the current study file instead of what participants were shown."
        ),
    ] = False,
    id_column: Annotated[str, advanced(help="Column with the panel's IDs.")] = "Participant id",
    status_column: Annotated[str, advanced(help='Column with the status; "" for none.')] = "Status",
    paid_status: Annotated[
        list[str] | None, advanced(help=f"Status to pay (default: {', '.join(PAID)}). Repeatable.")
    ] = None,
    returned_status: Annotated[
        list[str] | None, advanced(help=f"Status that frees a place (default: {', '.join(RETURNED)}). Repeatable.")
    ] = None,
    delimiter: Annotated[str, advanced(help="Separator between ID and amount in the file.")] = ",",
    status: Annotated[bool, typer.Option("--status", help="List the files written so far, with their hashes.")] = False,
    again: Annotated[
        str | None,
        typer.Option(metavar="HASH", help="Recreate the file with this hash; needs an export with its IDs."),
    ] = None,
) -> None:
    """Write a file of the bonuses due, from the panel's export. Nobody is paid twice; nothing is sent."""
    if len(delimiter) != 1 or delimiter in '"\r\n' or delimiter.isalnum():
        raise ValueError(f"--delimiter must be a single character between ID and amount, not {delimiter!r}")
    paid, returned = tuple(paid_status or PAID), tuple(returned_status or RETURNED)
    form = PanelFormat(id_column, status_column, paid, returned, delimiter)
    study = read_study(file)
    with open_known_database(file, db, study) as database:
        if status:
            lines = file_lines(database, study.name)
        elif panel is None:
            raise ValueError("add --panel with the panel's export of submissions, or --status")
        elif again is not None:
            path = write_again(database, study, panel, form, again, out=out, beside=file)
            lines = [f"{path}: recreated, byte for byte"]
        else:
            lines = bonus_lines(
                settle(database, study, panel, form, out=out, beside=file, with_fee=with_fee, recompute=recompute)
            )
    print("\n".join(map(printable, lines)))


def file_lines(database: Database, study: str) -> list[str]:
    """Describe the files that runs have written, oldest first."""
    lines, bonuses = [], database.bonuses(study).values()
    for file in database.bonus_files(study):
        amounts = [bonus.amount for bonus in bonuses if bonus.file == file.sha256]
        state = (
            "unfinished because its run was interrupted: run it again with --panel"
            if file.written is None
            else f"written {datetime.fromtimestamp(file.written).astimezone():%Y-%m-%d %H:%M:%S %Z}"
        )
        lines.append(f"{file.path}: {_describe_file(amounts, file.currency)}, {state}, sha256 {file.sha256}")
    return lines or ["no bonus file has been written yet"]


def bonus_lines(done: Settlement) -> list[str]:
    """Describe the result of a run, line by line."""
    counted = (
        (done.earlier, "with a bonus from an earlier run: skipped"),
        (done.nothing, "with nothing due beyond the fee"),
        (
            done.incomplete,
            "in the file did not complete the study: it pays them the full amount in [payment.endings], so the panel's "
            "own reward would be an extra payment",
        ),
    )
    lines = [*done.said, *(f"{n} {what}" for n, what in counted if n)]
    lines += [
        f"{path}: its run was interrupted; it is complete now: upload it unless you already did"
        for path in done.resumed
    ]
    if done.path is None:
        return [*lines, "no bonus is due now: no file was written"]
    return [*lines, f"{done.path}: {_describe_file(done.amounts.values(), done.currency)}, to upload to the panel"]


def _describe_file(amounts: Collection[int], currency: Currency) -> str:
    return f"{len(amounts)} bonus{'' if len(amounts) == 1 else 'es'}, {currency.text(sum(amounts))} in all"
