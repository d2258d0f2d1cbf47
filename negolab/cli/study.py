"""A study for people: `negolab study new | links | status | export`."""

from __future__ import annotations

import csv
import os
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, TextIO

import typer

from negolab import catalog
from negolab.cli import standing
from negolab.cli.options import Db
from negolab.people import links as tokens
from negolab.people import template
from negolab.people.connection import location
from negolab.people.database import Database, Kept, Participant
from negolab.people.parts import named
from negolab.people.study import Study, read

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Studies for people, from a file in TOML.")

StudyFile = Annotated[Path, typer.Argument(metavar="FILE", help="The study's file, such as prices.toml.")]
_EVERY = 2.0
"""Seconds between two looks of `status --watch`."""


@app.command()
def new(
    file: StudyFile,
    game: Annotated[str, typer.Option(help="A game's name, or a .py file beside the study.")] = "trading",
) -> None:
    """Write a study file that works as it is, to be changed."""
    if file.suffix != ".toml":
        raise ValueError(f"{file}: a study file ends in .toml")
    if "_" in file.stem:
        raise ValueError(f"{file}: write - for _ in the name: {file.stem.replace('_', '-')}.toml")
    named(file.stem, f"{file}: the study is called after its file; its name")
    try:
        template.write(file, game)
    except FileExistsError:
        raise ValueError(f"{file} is there already and was left alone: choose another name") from None
    print(f"{file} is written: read it, change it, then")
    print(f"  negolab study links {file} -n 20    makes 20 links, one for each participant")
    print(f"  negolab serve {file}                opens the study to them")


@app.command()
def links(
    file: StudyFile,
    n: Annotated[int | None, typer.Option("-n", min=1, max=100_000, help="Make this many new links.")] = None,
    open_: Annotated[bool, typer.Option("--open", help="Print a new link that anybody may use.")] = False,
    new_study: Annotated[bool, typer.Option("--new", help="Add a study to a database that holds others.")] = False,
    url: Annotated[str, typer.Option(help="Public address of the study.")] = tokens.HERE,
    db: Db = None,
    out: Annotated[Path | None, typer.Option(help="New CSV file for the links, instead of printing them.")] = None,
) -> None:
    """Print links for participants, one per line. Without -n or --open: those that nobody has used yet."""
    if open_ and (n is not None or out is not None):
        raise ValueError("--open prints one open link: leave out -n and --out")
    study = read(file)
    tokens.url(url, "")
    with _writer(out) as write, closing(Database(_place(file, db))) as database:
        if not new_study:
            same(database, study, file, db)
        kept = database.study(study.name, study.text)
        if open_:
            print(tokens.url(url, tokens.token(kept.secret, study.name, tokens.OPEN)))
            _expiry("this open link", time.time(), study)
            return
        people = database.invite(study.name, n) if n is not None else _unused(database, study)
        if not people:
            raise ValueError(f"{file}: no unused links that are still valid; -n 20 makes 20")
        write([(p.number, _link(kept, p, url)) for p in people])
        _expiry("the first of them", people[0].created, study)


def _unused(database: Database, study: Study) -> list[Participant]:
    """Who has a link that nobody has opened and that opens something still."""
    people = [p for p in database.participants(study.name) if p.link == "one" and p.opened is None]
    return [p for p in people if p.created + study.expires * 86400 > time.time()]


def _link(kept: Kept, p: Participant, url: str) -> str:
    return tokens.url(url, tokens.token(kept.secret, kept.id, p.id, created=p.created))


def _expiry(what: str, created: float, study: Study) -> None:
    """Say on stderr until when a link is valid: stdout holds links and nothing else."""
    until = datetime.fromtimestamp(created + study.expires * 86400, UTC)
    print(f"{what} is valid until {until:%Y-%m-%d %H:%M} UTC", file=sys.stderr)
    if study.external is not None and what == "this open link":
        print(f"each participant's link must end in ?{study.external}=ID", file=sys.stderr)


class _Writer:
    """Links to stdout, or to a CSV file."""

    def __init__(self, file: TextIO | None) -> None:
        self._file = file

    def __call__(self, listed: list[tuple[int, str]]) -> None:
        if self._file is None:
            print("\n".join(link for _, link in listed))
            return
        rows = csv.writer(self._file)
        rows.writerows([("number", "link"), *listed])


@contextmanager
def _writer(out: Path | None) -> Iterator[_Writer]:
    """Where links go. A file is new, of its owner alone, and gone again if no link could be written to it."""
    if out is None:
        yield _Writer(None)
        return
    try:
        number = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise ValueError(f"{out} is there already and was left alone: choose another file with --out") from None
    except OSError as error:
        raise ValueError(f"{out}: cannot be written: {error.strerror}") from None
    try:
        with open(number, "w", newline="", encoding="utf-8") as file:  # noqa: PTH123
            yield _Writer(file)
    except BaseException:
        out.unlink()
        raise


@app.command()
def status(
    file: StudyFile,
    db: Db = None,
    watch: Annotated[bool, typer.Option("--watch", help="Look again every 2 seconds; Ctrl-C ends it.")] = False,
) -> None:
    """Who is where in a study."""
    study = read(file)
    with _known(file, db, study) as database:
        standing.show(database, study)
        while watch:
            time.sleep(_EVERY)
            standing.show(database, study, again=True)


@app.command()
def export(
    file: StudyFile,
    db: Db = None,
    out: Annotated[Path | None, typer.Option(help="Folder to write to; default: FILE-export beside it.")] = None,
    to: Annotated[str, typer.Option(help="csv, parquet or both.")] = "both",
) -> None:
    """Write what was played as tables: events, matches, participants and answers, with a dictionary of columns."""
    from negolab.people.export import KINDS
    from negolab.people.export import export as write

    if to not in KINDS:
        raise ValueError(f"--to {to!r}: {catalog.near(to, KINDS)}")
    study = read(file)
    folder = out or file.parent / f"{file.stem}-export"
    with _known(file, db, study) as database:
        rows = write(database, study, folder, to)
    print(", ".join(f"{n} {name}" for name, n in rows.items()))
    print(folder)


def _place(file: Path, db: str | None) -> str:
    """The database of a study: beside its file, if no other is named."""
    return db if db is not None else str(file.with_suffix(".db"))


def _is_there(place: str) -> bool:
    """Whether there is a database already; looking makes none."""
    url = location(place)
    return url.get_backend_name() != "sqlite" or Path(str(url.database)).is_file()


@contextmanager
def _known(file: Path, db: str | None, study: Study) -> Iterator[Database]:
    """The database, which must be there and know the study."""
    none = ValueError(f"{file}: nobody was invited yet; `negolab study links {file} -n 20` makes 20 links")
    if not _is_there(_place(file, db)):
        raise none
    with closing(Database(_place(file, db))) as database:
        same(database, study, file, db)
        if database.kept(study.name) is None:
            raise none
        yield database


def servable(file: Path, db: str | None) -> None:
    """`ValueError` for a study that cannot be served, or whose name is new to a database of other studies."""
    study = read(file)
    if _is_there(_place(file, db)):
        with closing(Database(_place(file, db))) as database:
            same(database, study, file, db)


def same(database: Database, study: Study, file: Path, db: str | None) -> None:
    """`ValueError` if the database holds other studies only: those who have their links would find them dead."""
    known = database.studies()
    if known and study.name not in known:
        listed = ", ".join(known[-3:])
        # A URL can hold a password: it is not printed.
        where = f" --db {db}" if db is not None and "://" not in db else ""
        raise ValueError(
            f'{file}: the study is called {study.name!r}, but the database holds {listed}: write name = "{known[-1]}" '
            f"into the file to go on with that one, or add a study with `negolab study links {file}{where} -n 20 --new`"
        )


def add_to(app_: typer.Typer) -> None:
    app_.add_typer(app, name="study")
