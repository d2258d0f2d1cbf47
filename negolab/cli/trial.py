"""`negolab study try`: bots go through a study before links go out."""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Annotated, NamedTuple, NoReturn

import msgspec
import typer
from tqdm import tqdm

from negolab.cli.options import BaseUrls, PriceOption
from negolab.cli.play import printable
from negolab.cli.serve import ServeOptions, free_ports, running_trial
from negolab.cli.study import StudyFile, cell_lines
from negolab.formatting import format_end
from negolab.studies.database import Database
from negolab.studies.host_config import KnownEndpoints, build_host_config
from negolab.studies.study_file import read_study

if TYPE_CHECKING:
    from negolab.studies.study_config import Study
    from negolab.studies.trial.browsers import BrowserVisit
    from negolab.studies.trial.findings import Findings

BOTS = 40
SLACK = 60.0
"""Seconds beyond all limits after which a browser to which nothing happens gives up."""


def try_(
    file: StudyFile,
    n: Annotated[
        int | None,
        typer.Option("-n", min=1, max=1000, help=f"Number of bots (default: {BOTS}, or none with --browser)."),
    ] = None,
    browsers: Annotated[
        int | None,
        typer.Option("--browser", min=1, max=20, metavar="N", help="Use N real browsers, in real time."),
    ] = None,
    pictures: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Save a screenshot of each kind of page.")
    ] = None,
    models: Annotated[
        bool,
        typer.Option(
            "--models",
            help="Call the study's language models, which costs money (default: random-legal replaces them).",
        ),
    ] = False,
    base_urls: BaseUrls = None,
    budget: Annotated[float | None, typer.Option(min=0, help="Maximum cost of models in US dollars.")] = None,
    prices: PriceOption = None,
    out: Annotated[Path | None, typer.Option(help="Folder for the bots' tables.")] = None,
) -> None:
    """Test a study with bots or real browsers. Exit with status 1 if anything is wrong.

    Nothing is saved unless you pass --out or --pictures.
    """
    if not models and (base_urls or budget is not None or prices):
        raise ValueError("--base-url, --budget and --price need --models")
    if pictures is not None and browsers is None:
        raise ValueError("--pictures needs browsers: add --browser 2")
    if out is not None and browsers is not None and n is None:
        raise ValueError(f"--out keeps the bots' data: add -n {BOTS}")
    study, wrong = read_study(file), False
    known = _models(study, base_urls or (), budget, prices or ()) if models else None
    program = None
    if browsers is not None:
        from negolab.studies.trial.browsers import find_browser

        program = find_browser()
    if browsers is None or n is not None:
        wrong = _try_bots(study, BOTS if n is None else n, known, out)
    if browsers is not None:
        pool = min(8, browsers)
        server = ServeOptions(file, base_urls=base_urls, budget=budget, prices=prices, max_kernels=browsers, pool=pool)
        wrong |= _try_browsers(study, BrowserTrial(browsers, program, pictures, models, server))
    if wrong:
        raise typer.Exit(1)


def _try_bots(study: Study, n: int, models: KnownEndpoints | None, out: Path | None) -> bool:
    """Let bots try a study, and print what came of it; return True if anything is wrong."""
    from negolab.studies.export import export
    from negolab.studies.trial.findings import examine
    from negolab.studies.trial.run import trial

    began = time.monotonic()
    with _progress(n, "bot") as bar, trial(study, n, models=models, progress=bar.update) as (run, database):
        if out is not None:
            export(database, run.study, out)
        found = examine(run, database)
    print(f"{printable(study.title)} ({study.name}): {n} bots with seed {study.seed}, {_took(run.seconds, began)}")
    _print_replaced(run.replaced)
    print("\n".join(map(printable, found_lines(found))))
    if out is not None:
        print(f"the bots' tables are in {out}, under the study's name {run.study.name}")
    return bool(found.wrong)


def _progress(total: int, unit: str) -> tqdm[NoReturn]:
    return tqdm(total=total, unit=unit, file=sys.stderr, mininterval=0.2, disable=None, leave=False)


def _print_replaced(models: Sequence[str]) -> None:
    for name in models:
        print(f"random-legal replaced {printable(name)}: use --models to call the model itself")


def _took(seconds: float, began: float) -> str:
    return f"{seconds / 60:.0f} min of the study in {time.monotonic() - began:.0f} s"


def _models(study: Study, base_urls: Sequence[str], budget: float | None, prices: Sequence[str]) -> KnownEndpoints:
    """Return the endpoints of language models; `ValueError` if there are none, or a price lacks for a budget."""
    from negolab.studies.server import check_prices

    config = build_host_config("", base_urls, budget, os.environ, prices)
    if not config.endpoints:
        raise ValueError("--models: no endpoint is configured: add --base-url URL")
    check_prices(study, config)
    return config.models()


def found_lines(found: Findings) -> list[str]:
    """Describe what a trial found, line by line."""
    currency = found.status.currency
    return [
        "",
        *_table(("what bots did", "n", "ended"), [(what, str(sum(n.values())), _counts(n)) for what, n in found.paths]),
        "",
        *_table(("ending", "n", "code"), [(name, str(n), code or "none") for name, n, code in found.endings]),
        *(
            f"the study did not end for {n} who closed the page at {at}: there is no time limit"
            for at, n in found.stayed.items()
        ),
        "",
        *_table(
            ("page", "came", "passed", "median s", "longest s"),
            [(p.name, str(p.came), str(p.passed), f"{p.median:.0f}", f"{p.longest:.0f}") for p in found.pages],
        ),
        "times are for bots that read 4 words a second, including waits for others",
        "",
        *cell_lines(found.status.cells, currency),
        "",
        *(_payments(found) if currency is not None else ["no payments: the study has no [payment]"]),
        "",
        _matches(found),
        "bots make random legal moves: their agreements and earnings follow the rules, but do not predict people's",
        *_conclusion(found),
    ]


def _counts(count: Counter[str]) -> str:
    return ", ".join(f"{n} {name}" for name, n in count.most_common())


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Lay out a table: numbers to the right, all else to the left."""
    every = [head, *rows]
    widths = [max(len(row[i]) for row in every) for i in range(len(head))]
    right = [bool(rows) and all(row[i].isdigit() for row in rows) for i in range(len(head))]
    return [
        "  ".join(f"{cell:{'>' if r else '<'}{w}}" for cell, w, r in zip(row, widths, right, strict=True)).rstrip()
        for row in every
    ]


def _payments(found: Findings) -> list[str]:
    """Lay out the payments by ending, in units of the currency."""
    money = found.status.currency
    assert money is not None

    def row(name: str, amounts: Sequence[int]) -> tuple[str, ...]:
        return (
            name,
            str(len(amounts)),
            *map(money.text, (round(sum(amounts) / len(amounts)), min(amounts), max(amounts))),
        )

    every = [amount for amounts in found.pay.values() for amount in amounts]
    rows = [row(ending, amounts) for ending, amounts in found.pay.items()] + ([row("all", every)] if every else [])
    return _table((f"paid ({money.code})", "n", "mean", "least", "most"), rows)


def _matches(found: Findings) -> str:
    """Count the matches by their end."""
    ends = {format_end(end): n for end, n in found.status.ended.items()}
    parts = ", ".join(f"{n} {end}" for end, n in sorted(ends.items()))
    of_two = f"{found.pairs} of two people; {found.practice} for practice"
    return f"matches: {sum(ends.values())} ended ({parts or 'none'}), {of_two}"


def _conclusion(found: Findings) -> list[str]:
    lines = [f"{found.untried} bots would try every page in every way: -n {found.untried}"] if found.untried else []
    return [*lines, "", *_verdict(found.wrong)]


def _verdict(wrong: Sequence[str]) -> list[str]:
    return [f"wrong: {text}" for text in wrong] or ["no problems were found"]


# Browsers.


class BrowserTrial(NamedTuple):
    """Browsers that try a study, and the server that they visit."""

    n: int
    program: str | None
    """Path of the browser; None: playwright's own."""
    pictures: Path | None
    with_models: bool
    server: ServeOptions


def _try_browsers(study: Study, trial: BrowserTrial) -> bool:
    """Let browsers try a study, and print what came of it; return True if anything is wrong."""
    from negolab.studies.trial.stand_ins import browsers_study, without_models

    began, tried = time.monotonic(), browsers_study(study, with_models=trial.with_models)
    visits, endings, wrong = _visit(tried, trial)
    who = "1 browser" if trial.n == 1 else f"{trial.n} browsers"
    print(f"{printable(study.title)} ({study.name}): {who} in {time.monotonic() - began:.0f} s")
    if not trial.with_models:
        _print_replaced(without_models(study)[1])
    if tried.pairing != study.pairing:
        player = printable(str(tried.pairing.player))
        print(f"in this trial, anyone who waits {tried.pairing.wait:g} s for a partner plays {player}")
    print("\n".join(map(printable, [*browser_lines(visits, endings), "", *_verdict(wrong)])))
    if trial.pictures is not None:
        print(f"pictures: {printable(str(trial.pictures))}")
    return bool(wrong)


def _visit(study: Study, trial: BrowserTrial) -> tuple[list[BrowserVisit], dict[int, str], list[str]]:
    """Serve a study until browsers have gone through it; return them, their endings and all that was wrong."""
    from negolab.studies.trial.browsers import BrowserVisit, invite_links, visit_all, wrong_visits
    from negolab.studies.trial.run import longest_limit

    pages = max(len(study.pages(treatment)) for treatment in study.treatments) + 2
    port, desk_port = free_ports(2)
    with tempfile.TemporaryDirectory(prefix="negolab-try-") as folder, _progress(trial.n * pages, "page") as bar:
        db, out = Path(folder) / "trial.db", Path(folder) / "out"
        server = msgspec.structs.replace(trial.server, db=str(db), out=out, port=port, desk_port=desk_port)
        with running_trial(server, with_models=trial.with_models) as lines, closing(Database(db)) as database:
            links = invite_links(database, study, trial.n, f"http://127.0.0.1:{port}/")
            visits = [
                BrowserVisit(number, study, database, id, link, pictures=trial.pictures, progress=bar.update)
                for number, (id, link) in enumerate(links.items(), 1)
            ]
            asyncio.run(visit_all(visits, trial.program, longest_limit(study) + SLACK))
            printed = [f"the server printed: {line}" for line in list(lines) if not line.startswith((" ", "Traceback"))]
            wrong = [*dict.fromkeys([*wrong_visits(study, database, visits), *printed])]
            return visits, {visit.number: database.participant(visit.id).status for visit in visits}, wrong


def browser_lines(visits: Sequence[BrowserVisit], endings: Mapping[int, str]) -> list[str]:
    """Describe the pages of browsers, and how the study ended for each."""
    from negolab.studies.trial.browsers import place

    came: dict[str, list[float | None]] = {}
    for page in sorted(
        (page for visit in visits for page in visit.pages), key=lambda page: (page.position, page.kind != "waiting")
    ):
        came.setdefault(place(page), []).append(page.seconds)
    if replies := [seconds for visit in visits for seconds in visit.replies]:
        came["a reply in a match"] = [*replies]
    rows = [(name, str(len(every)), *_seconds([s for s in every if s is not None])) for name, every in came.items()]
    ends = [(f"{v.number}", f"{v.size[0]}", endings[v.number], v.code or "none") for v in visits]
    return [
        "",
        *_table(("page", "came", "median s", "longest s"), rows),
        "seconds from the click to the page; a page that no click leads to has none",
        "",
        *_table(("browser", "px wide", "ended", "code"), ends),
    ]


def _seconds(every: Sequence[float]) -> tuple[str, str]:
    return (f"{median(every):.1f}", f"{max(every):.1f}") if every else ("", "")
