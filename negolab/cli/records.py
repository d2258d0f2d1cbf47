"""`negolab replay | check | export`: show, verify and export recorded matches."""

from __future__ import annotations

import sys
from functools import partial
from importlib import import_module
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from tqdm import tqdm

from negolab import catalog
from negolab._internal import manifest
from negolab._internal.files import atomic_write, private_files, replacing
from negolab._internal.validation import suggest
from negolab.cli import play, serve
from negolab.cli.options import BaseUrls, Db, Group, Modules, Trust, advanced, ask_to_trust, import_games, parse_seats
from negolab.cli.play import RUNS, escape_line, print_some
from negolab.events import Forfeited, Rejected, Replied
from negolab.formatting import counted, escape_control, format_end
from negolab.game import SEATS, Observation, Seat
from negolab.record import Record, SeatOutcome, reading
from negolab.sweeps import status
from negolab.verification import Difference, find_differences

if TYPE_CHECKING:
    from negolab.formats import RecordSource, SourceEntry

app = Group()
FileOrFolder = Annotated[
    Path, typer.Argument(metavar="FILE", help="File of records, or folder of a run, a sweep or published episodes.")
]
Id = Annotated[str | None, typer.Option("--id", help="ID of one record, or the beginning or end of its ID.")]


def select_records(source: RecordSource, id: str | None) -> list[Record]:
    """Return the records whose id starts or ends with `id`, or all if it is None; `ValueError` if there are none."""
    selected = [record for record in source if _has_id(record, id)]
    if not selected:
        raise ValueError(source.why_empty if id is None else _no_record(id))
    return selected


def _has_id(record: Record, id: str | None) -> bool:
    """Return True if a record's id starts or ends with `id`: ids in a run differ in their last digits."""
    return id is None or record.id.startswith(id) or record.id.endswith(id)


def _no_record(id: str) -> str:
    return f"no record has an ID that starts or ends with {id!r}"


def open_records(path: Path) -> RecordSource:
    """Open what FILE names: records, a run, a sweep, or a folder of published episodes."""
    from negolab.formats import open_source

    return open_source(path)


def print_left_out(source: RecordSource) -> None:
    """Print to stderr what a source holds besides the records read from it."""
    for sentence in source.left_out:
        print(play.escape_line(f"negolab: {sentence}"), file=sys.stderr)


@app.command()
def replay(
    file: FileOrFolder,
    id: Id = None,
    seat: Annotated[
        str | None, typer.Option(help="Show only what one seat saw and said: A, B or its role, such as buyer.")
    ] = None,
    module: Modules = None,
    trust: Trust = False,
    browser: Annotated[bool, typer.Option("--browser", help="Open the records in the browser.")] = False,
    html: Annotated[Path | None, typer.Option(help="Write one HTML file that steps through the matches.")] = None,
    port: Annotated[int, advanced(min=1, max=65535, help="Port of the browser page on this machine.")] = 8867,
    out: Annotated[Path, advanced(help="Folder for branches created in the browser.")] = RUNS / "branches",
    base_urls: BaseUrls = None,
) -> None:
    """Print a match, or list the matches of a run.

    With --browser, open the matches in the browser. With --html, write a file to share: it opens in any browser,
    offline and without negolab; with --seat, it contains only what that seat saw.
    """
    modules = import_games(file, module, trust)
    source = open_records(file)
    if browser:
        if id is not None or seat is not None:
            raise ValueError("with --browser, record and seat are chosen on the page: leave out --id and --seat")
        serve.start(
            serve.PageOptions(page="replay", source=file, modules=modules, port=port, out=out, base_urls=base_urls)
        )
    records = select_records(source, id)
    views = parse_seats(seat, records)
    print_left_out(source)
    if html is not None:
        page: str = import_module("negolab_widgets.replay.file").replay_page(records, views)
        atomic_write(html, page.encode())
        print(escape_line(f"{html}: {counted(len(records), 'match')}, {len(page) / 1e6:.1f} MB"))
        return
    if len(records) > 1:
        if seat is not None:
            raise ValueError(f"{len(records)} records found: choose one with --id to see it as seat {views[0]}")
        _list(records)
        return
    (record,) = records
    with reading(record):
        if views:
            print(escape_control(_seat_view(record, views[0])))
        else:
            _print_match(record)


def _print_match(record: Record) -> None:
    header = record.header
    players = ", ".join(f"{s} = {name}" for s, name in header.players.items())
    preset = "" if header.preset is None else f", preset {header.preset}"
    seed = "" if header.seed is None else f", seed {header.seed}"
    print(play.escape_line(f"{header.game}{preset}{seed}: {players}") + "\n")
    play.print_events(list(record.events), record.game)
    if record.outcome is not None:
        play.print_details(record.outcome.details, record.game)


def _seat_view(record: Record, seat: Seat) -> str:
    """Format a match as one seat saw it: prompts, its own replies and their rejections, and the end."""
    told = record.game.told(seat)
    out: list[str] = []
    last: Observation[Any, Any] | None = None
    for entry in record.seen_by(seat).entries:
        if isinstance(entry, Observation):
            if told.turn(entry.public) == () or seat in told.turn(entry.public):
                out.append(told.prompt(entry, last))
                last = entry
        elif isinstance(entry, SeatOutcome):
            out.append(f"{format_end(entry.end)}: you get {told.format_payoff(entry.payoff)}")
        elif isinstance(entry, Replied | Rejected | Forfeited):
            out.append(play.format_event(entry, told) or "")
    return "\n\n".join(out)


def _list(records: list[Record]) -> None:
    for record in records[:50]:
        players = " / ".join(record.header.players.get(s, "?") for s in SEATS)
        paid = " / ".join(record.game.format_payoff(record.payoffs[s]) for s in SEATS)
        line = f"{record.id:34} {record.header.game:12} {players:40} {format_end(record.end):12} {paid}"
        print(play.escape_line(line))
    if len(records) > 50:
        print(f"... and {len(records) - 50} more")
    print(f"\n{len(records)} records: choose one with --id")


@app.command()
def check(run: FileOrFolder, module: Modules = None, trust: Trust = False) -> None:
    """Replay every record and compare it with what is stored.

    Published episodes are replayed under the rules and compared with their files; for a sweep, what each cell ran is
    compared with the plan.
    """
    import_games(run, module, trust)
    source = open_records(run)
    n, causes = _find_causes(source)
    if not n and source.kind != "sweep":
        raise ValueError(source.why_empty)
    print_left_out(source)
    for cause, (count, first) in causes.items():
        print(play.escape_line(f"{counted(count, 'record')}: {cause}; first: {first}"))
    if others := _other_values(run) if source.kind == "sweep" else []:
        more = f"; and {len(others) - 3:,} more" if len(others) > 3 else ""
        raise ValueError(f"cells that ran with values other than the plan's: {'; '.join(others[:3])}{more}")
    if causes:
        raise ValueError(f"{sum(count for count, _ in causes.values()):,} differences in {counted(n, 'record')}")
    if (planned := manifest.planned_matches(run)) > n:
        print(f"negolab: {planned - n:,} of {planned:,} planned matches are missing", file=sys.stderr)
    same = "reproduces its stored events and outcome" if n == 1 else "reproduce their stored events and outcomes"
    print(play.escape_line(f"{counted(n, 'record')} {same}" if n else source.why_empty))


def _other_values(sweep: Path) -> list[str]:
    """Name the finished cells of a sweep whose kernels had other parameter values than the plan, with both values."""
    found = ((id, ended.other_values()) for id, ended in status.read_done(sweep).items())
    return [f"{id} ({values})" for id, values in found if values]


def _find_causes(source: RecordSource) -> tuple[int, dict[str, tuple[int, str]]]:
    """Count the records, and the differing ones by cause, each with a description of the first.

    Raises:
        ValueError: A record's game is not one of negolab's and was not imported.
    """
    n, causes = 0, dict[str, tuple[int, str]]()
    ids: set[tuple[str | None, str]] = set()
    for entry in tqdm(source.entries(), unit="record", file=sys.stderr, mininterval=0.5, disable=None):
        n += 1
        if ":" in (game := entry.record.header.game):
            catalog.imported_class(game)  # raises an error for a game whose module was not named
        key = (entry.cell, entry.record.id)
        repeated = [Difference("the ID appears twice", "")] if key in ids else []
        ids.add(key)
        for cause, text in [*repeated, *find_differences(entry.record), *entry.differences]:
            count, first = causes.get(cause, (0, _place(entry, text)))
            causes[cause] = (count + 1, first)
    return n, causes


def _place(entry: SourceEntry, text: str) -> str:
    """Name a record, the cell or folder that contains it, and what differs in it."""
    where = entry.record.header.notes.get("folder") if entry.cell is None else f"cell {entry.cell}"
    return f"record {entry.record.id}" + (f" in {where}" if where else "") + (f": {text}" if text else "")


@app.command()
def export(
    source: Annotated[Path, typer.Argument(help="File of records, folder of a run or sweep, study file, or scenario.")],
    to: Annotated[
        str,
        typer.Option(
            help="Tables: csv, parquet, xlsx, or several, separated by commas. Transcripts: md, html or tex. "
            "A scenario: genius or negmas."
        ),
    ],
    out: Annotated[Path | None, typer.Option(help="Folder to write to (default: where the records are).")] = None,
    id: Id = None,
    seat: Annotated[
        str | None, typer.Option(help="Transcripts of what one seat saw and said: A, B or its role.")
    ] = None,
    db: Db = None,
    module: Modules = None,
    trust: Trust = False,
) -> None:
    """Write tables (with a data dictionary) or transcripts, or convert a scenario to another program's domain files."""
    if to in _DOMAINS:
        _domain(str(source), to, out or Path(f"{source.stem}-{to}"))
        return
    import_games(source, module, trust)
    if to not in (*_STYLES, *_TABLES) and "," not in to:
        raise ValueError(f"--to {to!r}: {suggest(to, [*_STYLES, *_TABLES, *_DOMAINS])}")
    if seat is not None and to not in _STYLES:
        raise ValueError(f"--seat {seat}: tables contain both seats; choose --to {', '.join(_STYLES)}")
    if source.suffix == ".toml":
        if to in _STYLES or id is not None:
            raise ValueError(
                f"{source}: a study can be exported only as tables of all its matches: use --to csv or --to parquet"
            )
        from negolab.cli import study

        study.export(source, db, out, to)
        return
    folder = out or (source if source.is_dir() else source.parent)
    folder.mkdir(parents=True, exist_ok=True)
    with private_files():
        if to not in _STYLES:
            _tables(source, id, to, folder)
            return
        opened = open_records(source)
        records = select_records(opened, id)
        print_left_out(opened)
        paths = _transcripts(records, to, folder, parse_seats(seat, records))
    print_some(list(map(str, paths)), "... and {:,} more")


_STYLES = {"md": "markdown", "html": "html", "tex": "latex"}
"""File extension of a transcript -> its style."""
_TABLES = ("csv", "parquet", "xlsx")
_DOMAINS = ("genius", "negmas")
_SAME = 300
"""Number of initial characters that identify a transcript's kind; for Markdown, those of its title."""


def _domain(scenario: str, to: str, folder: Path) -> None:
    """Write a scenario for another program, and print what could not be converted."""
    from negolab.formats.domains import domain_files

    texts = domain_files(scenario, to)
    if there := [name for name in texts if (folder / name).exists()]:
        raise ValueError(f"{folder / there[0]} already exists: choose another folder with --out")
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        atomic_write(folder / name, text.encode())
        print(escape_line(str(folder / name)))
    print(
        "not included: turns, roles, briefs, talk, who opens, what is shown, how offers are answered, walking away, "
        "source"
    )


def _tables(source: Path, id: str | None, to: str, folder: Path) -> None:
    """Write the tables of a run or a sweep with a progress bar, and print how many rows each has."""
    from negolab.analysis import export
    from negolab.coding.units import CODES, code_rows

    endings, opened = export.parse_endings(to), open_records(source)
    tables = export.open_tables(opened, None if id is None else partial(_has_id, id=id))
    if coded := list(code_rows(source)):
        tables = tables._replace(others={**tables.others, "codes": ([*tables.join, *CODES], coded)})
    rows = export.export(tables, folder, endings, source)
    print_left_out(opened)
    if "measures" not in rows:  # a row for each match, even if the game fails on other tables
        raise ValueError(f"there are no records in {source}" if id is None else _no_record(id))
    print(export.describe_rows(rows))
    print(play.escape_line(str(folder)))


def _transcripts(records: list[Record], to: str, folder: Path, seats: list[Seat]) -> list[Path]:
    """Write one transcript per record. With `seats`, write only what the record's seat saw, and leave the id, from
    which the seed could be found, out of the file name. Equal file names get a number.

    Raises:
        ValueError: A file with that name is not a transcript, such as one of the user's files if somebody else named
            the record.
    """
    from negolab.formats import transcript

    for seat in set(seats):
        if there := next(folder.glob(f"match-*-{seat}.{to}"), None):
            raise ValueError(f"{there} already exists: choose another folder with --out to avoid mixing files")
    paths: list[Path] = []
    for at, (record, seat) in enumerate(zip_longest(records, seats), 1):
        name = stem = f"match-{at}-{seat}" if seat else _safe(record.id)
        number = 1
        while folder / f"{name}.{to}" in paths:
            number += 1
            name = f"{stem}-{number}"
        paths.append(folder / f"{name}.{to}")
        with reading(record):
            text = transcript.export(record.seen_by(seat) if seat else record, _STYLES[to])
        begin = text.partition("\n- ")[0][:_SAME]
        if paths[-1].is_file() and not paths[-1].read_text("utf-8", "replace").startswith(begin):
            raise ValueError(f"{paths[-1]} already exists and is not a transcript: choose another folder with --out")
        with replacing(paths[-1]) as draft:
            draft.write_text(text, "utf-8")
    return paths


def _safe(name: str) -> str:
    return "".join(c if c.isalnum() or c in "-_" else "_" for c in name)[:100]


@app.command()
def report(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run or sweep.")],
    notebook: Annotated[Path | None, typer.Option(help="Your own report notebook, with the parameter `run`.")] = None,
    out: Annotated[Path | None, typer.Option(help="File to write (default: report.html in the run's folder).")] = None,
    code: Annotated[bool, typer.Option("--code", help="Include the notebook's code.")] = False,
    figures: Annotated[Path | None, typer.Option(help="Folder for the figures as PDF, PNG and SVG.")] = None,
    tables: Annotated[Path | None, typer.Option(help="Folder for the tables as CSV and LaTeX.")] = None,
    trust: Trust = False,
) -> None:
    """Write a one-page HTML report on a run.

    If a sweep's plan names a report notebook, that notebook is used instead; `--figures` and `--tables` apply only to
    the standard report.
    """
    from negolab.sweeps.report import write_report

    import_games(run, None, trust)
    written = [write_report(run, out, notebook, code=code, check=partial(ask_to_trust, trust=trust))]
    if figures or tables:
        files = import_module("negolab_widgets.report_files")
        found = files.Report(run)
        written += files.write_tables(found, tables) if tables else []
        written += files.write_figures(found, figures) if figures else []
    for file in written:
        print(escape_line(str(file)))
