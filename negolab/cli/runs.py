"""Records of matches: `replay`, `check`, `export`."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer
from tqdm import tqdm

from negolab import catalog
from negolab.cli import screens, terminal
from negolab.cli.options import Module, known, seat_of
from negolab.cli.table import RUNS
from negolab.events import Forfeited, Rejected, Replied
from negolab.game import SEATS, Observation, Seat
from negolab.match import differences
from negolab.record import Closing, Record
from negolab.store import iterate, read

FileOrFolder = Annotated[Path, typer.Argument(metavar="FILE", help="A file of records or a run's folder.")]
Id = Annotated[str | None, typer.Option("--id", help="One record, by its id or the start of it.")]


def one(records: Iterable[Record], id: str | None) -> list[Record]:
    """The records whose id starts with `id`; all if it is None."""
    found = [record for record in records if id is None or record.id.startswith(id)]
    if not found:
        raise ValueError("there are no records" if id is None else f"no record whose id starts with {id!r}")
    return found


def replay(
    file: FileOrFolder,
    id: Id = None,
    seat: Annotated[str | None, typer.Option(help="Only what A or B saw and said.")] = None,
    module: Module = None,
    browser: Annotated[bool, typer.Option("--browser", help="Look through the records in the browser.")] = False,
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port of that page on this machine.")] = 8867,
    out: Annotated[Path, typer.Option(help="Folder that keeps branches made there.")] = RUNS / "branches",
    base_url: screens.BaseUrls = None,
) -> None:
    """Print a record as it was played; for a run of several, list them. With --browser, look through them there."""
    known(module)
    if browser:
        if not file.exists():
            raise FileNotFoundError(f"no records at {file}: neither a file nor a folder")
        if id is not None or seat is not None:
            raise ValueError("with --browser, record and seat are chosen on the page: leave out --id and --seat")
        screens.replay(file, module, port, out, base_url or ())
    view = None if seat is None else seat_of(seat)
    records = one(iterate(file), id)
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
    terminal.show(list(record.events))
    outcome = record.outcome
    if outcome is not None:
        print(f"\npayoffs in {record.game.unit}")
        print("\n".join(terminal.details(outcome.details)))


def _seat_view(record: Record, seat: Seat) -> str:
    told = record.game.told(seat)
    out: list[str] = []
    last: Observation[Any, Any] | None = None
    for entry in record.seen_by(seat).entries:
        if isinstance(entry, Observation):
            if told.turn(entry.public) == () or seat in told.turn(entry.public):
                out.append(told.prompt(entry, last))
                last = entry
        elif isinstance(entry, Closing):
            out.append(f"{entry.end}: you get {told.paid(entry.payoff)}")
        elif isinstance(entry, Replied | Rejected | Forfeited):
            out.append(terminal.line(entry) or "")
    return "\n\n".join(out)


def _list(records: list[Record]) -> None:
    for record in records[:50]:
        players = " / ".join(record.header.players.get(s, "?") for s in SEATS)
        paid = " / ".join(terminal.number(record.payoffs[s]) for s in SEATS)
        print(f"{record.id:34} {record.header.game:12} {players:40} {record.end or 'unfinished':12} {paid}")
    if len(records) > 50:
        print(f"... and {len(records) - 50} more")
    print(f"\n{len(records)} records: choose one with --id")


def check(run: FileOrFolder, module: Module = None) -> None:
    """Deal and play every record of a run again: do they come to their stored events and outcome?"""
    known(module)
    n = bad = 0
    ids: set[str] = set()
    for record in tqdm(iterate(run), unit="record", file=sys.stderr, mininterval=0.5, disable=None):
        n += 1
        again = [f"record {record.id}: the id stands there twice"] if record.id in ids else []
        ids.add(record.id)
        for text in [*again, *differences(record)]:
            bad += 1
            print(text)
    if bad:
        raise ValueError(f"{bad} differences in {n} records")
    if not n:
        raise ValueError(f"there are no records in {run}")
    all_ = "1 record, it replays to its" if n == 1 else f"{n} records, all replay to their"
    print(f"{all_} stored events and outcome")


def export(
    file: FileOrFolder,
    to: Annotated[str, typer.Option(help="md, html or tex (a transcript per record), csv or parquet (tables).")],
    out: Annotated[Path | None, typer.Option(help="Folder to write to; default: where the records are.")] = None,
    id: Id = None,
    seat: Annotated[str | None, typer.Option(help="Transcripts of only what A or B saw and said.")] = None,
    module: Module = None,
) -> None:
    """Write transcripts to read or print, or tables to compute with."""
    known(module)
    if to not in (*_STYLES, *_TABLES):
        raise ValueError(f"--to {to!r}: {catalog.near(to, [*_STYLES, *_TABLES])}")
    view = None if seat is None else seat_of(seat)
    if view is not None and to in _TABLES:
        raise ValueError(f"--seat {view}: a table holds both seats; choose --to {', '.join(_STYLES)}")
    records = one(read(file), id)
    folder = out or (file if file.is_dir() else file.parent)
    folder.mkdir(parents=True, exist_ok=True)
    paths = _tables(records, to, folder) if to in _TABLES else _transcripts(records, to, folder, view)
    for path in paths[:10]:
        print(path)
    if len(paths) > 10:
        print(f"... and {len(paths) - 10} more")


_STYLES = {"md": "markdown", "html": "html", "tex": "latex"}
"""Ending of a transcript's file -> its style."""
_TABLES = ("csv", "parquet")


def _tables(records: list[Record], to: str, folder: Path) -> list[Path]:
    from negolab.analysis import tables

    paths = []
    frames = {"matches": tables.matches(records), "turns": tables.turns(records)}
    if len(replies := tables.replies(records)):
        frames["replies"] = replies
    for name, frame in frames.items():
        paths.append(folder / f"{name}.{to}")
        tables.write(frame, paths[-1])
    return paths


def _transcripts(records: list[Record], to: str, folder: Path, seat: Seat | None) -> list[Path]:
    from negolab.formats import transcript

    paths = []
    for record in records:
        name = stem = _safe(record.id) + (f"-{seat}" if seat else "")
        again = 1
        while folder / f"{name}.{to}" in paths:
            again += 1
            name = f"{stem}-{again}"
        paths.append(folder / f"{name}.{to}")
        source = record.seen_by(seat) if seat else record
        paths[-1].write_text(transcript.export(source, _STYLES[to]), "utf-8")
    return paths


def _safe(name: str) -> str:
    return "".join(c if c.isalnum() or c in "-_" else "_" for c in name)[:100]


def add_to(app: typer.Typer) -> None:
    for command in (replay, check, export):
        app.command()(command)
