"""`negolab replay | check | export`: show, verify and export recorded matches."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer
from tqdm import tqdm

from negolab._internal.validation import suggest
from negolab.cli import play, serve, study
from negolab.cli.options import Db, Module, import_game_module, parse_seat
from negolab.cli.play import RUNS
from negolab.events import Forfeited, Rejected, Replied
from negolab.game import SEATS, Observation, Seat
from negolab.match import replay_differences
from negolab.record import Record, SeatOutcome
from negolab.store import iter_records, read

FileOrFolder = Annotated[Path, typer.Argument(metavar="FILE", help="A file of records or a run's folder.")]
Id = Annotated[str | None, typer.Option("--id", help="One record, by its id or the start of it.")]


def select_records(records: Iterable[Record], id: str | None) -> list[Record]:
    """Return the records whose id starts with `id`, or all if it is None; `ValueError` if there are none."""
    selected = [record for record in records if id is None or record.id.startswith(id)]
    if not selected:
        raise ValueError("there are no records" if id is None else f"no record whose id starts with {id!r}")
    return selected


def replay(
    file: FileOrFolder,
    id: Id = None,
    seat: Annotated[str | None, typer.Option(help="Only what A or B saw and said.")] = None,
    module: Module = None,
    browser: Annotated[bool, typer.Option("--browser", help="Look through the records in the browser.")] = False,
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port of that page on this machine.")] = 8867,
    out: Annotated[Path, typer.Option(help="Folder that keeps branches made there.")] = RUNS / "branches",
    base_urls: serve.BaseUrls = None,
) -> None:
    """Print a record as it was played; for a run of several, list them. With --browser, look through them there."""
    import_game_module(module)
    if browser:
        if not file.exists():
            raise FileNotFoundError(f"no records at {file}: neither a file nor a folder")
        if id is not None or seat is not None:
            raise ValueError("with --browser, record and seat are chosen on the page: leave out --id and --seat")
        serve.start(
            serve.PageOptions(page="replay", source=file, module=module, port=port, out=out, base_urls=base_urls)
        )
    view = None if seat is None else parse_seat(seat)
    records = select_records(iter_records(file), id)
    if len(records) > 1:
        if view is not None:
            raise ValueError(f"{len(records)} records here: choose one with --id to see it as seat {view}")
        _list(records)
        return
    (record,) = records
    if view is not None:
        print(_seat_view(record, view))
        return
    header = record.header
    players = ", ".join(f"{s} = {name}" for s, name in header.players.items())
    print(f"{header.game}, preset {header.preset}, seed {header.seed}: {players}\n")
    play.print_events(list(record.events))
    outcome = record.outcome
    if outcome is not None:
        print(f"\npayoffs in {record.game.unit}")
        print("\n".join(play.format_details(outcome.details)))


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
            out.append(f"{entry.end}: you get {told.format_payoff(entry.payoff)}")
        elif isinstance(entry, Replied | Rejected | Forfeited):
            out.append(play.format_event(entry) or "")
    return "\n\n".join(out)


def _list(records: list[Record]) -> None:
    for record in records[:50]:
        players = " / ".join(record.header.players.get(s, "?") for s in SEATS)
        paid = " / ".join(play.format_payoff(record.payoffs[s]) for s in SEATS)
        print(f"{record.id:34} {record.header.game:12} {players:40} {record.end or 'unfinished':12} {paid}")
    if len(records) > 50:
        print(f"... and {len(records) - 50} more")
    print(f"\n{len(records)} records: choose one with --id")


def check(run: FileOrFolder, module: Module = None) -> None:
    """Deal and play every record of a run again and compare the events and outcome with the stored ones."""
    import_game_module(module)
    n = bad = 0
    ids: set[str] = set()
    for record in tqdm(iter_records(run), unit="record", file=sys.stderr, mininterval=0.5, disable=None):
        n += 1
        repeated = [f"record {record.id}: the id stands there twice"] if record.id in ids else []
        ids.add(record.id)
        for text in [*repeated, *replay_differences(record)]:
            bad += 1
            print(text)
    if bad:
        raise ValueError(f"{bad} differences in {n} records")
    if not n:
        raise ValueError(f"there are no records in {run}")
    all_ = "1 record, it replays to its" if n == 1 else f"{n} records, all replay to their"
    print(f"{all_} stored events and outcome")


def export(
    source: Annotated[Path, typer.Argument(help="A file of records, the folder of a run or a sweep, or a study file.")],
    to: Annotated[str, typer.Option(help="csv or parquet (tables), md, html or tex (a transcript per record).")],
    out: Annotated[Path | None, typer.Option(help="Folder to write to; default: where the records are.")] = None,
    id: Id = None,
    seat: Annotated[str | None, typer.Option(help="Transcripts of only what A or B saw and said.")] = None,
    db: Db = None,
    module: Module = None,
) -> None:
    """Write tables for analysis, with a dictionary of their columns, or transcripts to read or print."""
    import_game_module(module)
    if to not in (*_STYLES, *_TABLES):
        raise ValueError(f"--to {to!r}: {suggest(to, [*_STYLES, *_TABLES])}")
    view = None if seat is None else parse_seat(seat)
    if view is not None and to in _TABLES:
        raise ValueError(f"--seat {view}: a table holds both seats; choose --to {', '.join(_STYLES)}")
    if source.suffix == ".toml":
        if to in _STYLES or id is not None:
            raise ValueError(f"{source}: of a study there are tables of all matches: choose --to csv or --to parquet")
        study.export(source, db, out, to)
        return
    folder = out or (source if source.is_dir() else source.parent)
    folder.mkdir(parents=True, exist_ok=True)
    if to in _TABLES:
        _tables(source, id, to, folder)
        return
    paths = _transcripts(select_records(read(source), id), to, folder, view)
    for path in paths[:10]:
        print(path)
    if len(paths) > 10:
        print(f"... and {len(paths) - 10} more")


_STYLES = {"md": "markdown", "html": "html", "tex": "latex"}
"""File ending of a transcript -> its style."""
_TABLES = ("csv", "parquet")


def _tables(source: Path, id: str | None, to: str, folder: Path) -> None:
    """Write the tables of a run or a sweep with a progress bar, and print how many rows each has."""
    from negolab.analysis import export

    tables = export.open_tables(source)
    found = (one for one in tables.records if id is None or one.record.id.startswith(id))
    shown = tqdm(found, unit="match", file=sys.stderr, mininterval=0.5, disable=None)
    rows = export.export(tables._replace(records=shown), folder, [to])
    if "matches" not in rows:
        raise ValueError(
            f"there are no records in {source}" if id is None else f"no record whose id starts with {id!r}"
        )
    print(", ".join(f"{count:,} {name}" for name, count in rows.items()))
    print(folder)


def _transcripts(records: list[Record], to: str, folder: Path, seat: Seat | None) -> list[Path]:
    """Write one transcript per record; records of equal file names get a number."""
    from negolab.formats import transcript

    paths = []
    for record in records:
        name = stem = _safe(record.id) + (f"-{seat}" if seat else "")
        number = 1
        while folder / f"{name}.{to}" in paths:
            number += 1
            name = f"{stem}-{number}"
        paths.append(folder / f"{name}.{to}")
        source = record.seen_by(seat) if seat else record
        paths[-1].write_text(transcript.export(source, _STYLES[to]), "utf-8")
    return paths


def _safe(name: str) -> str:
    return "".join(c if c.isalnum() or c in "-_" else "_" for c in name)[:100]


def add_to(app: typer.Typer) -> None:
    for command in (replay, check, export):
        app.command()(command)
