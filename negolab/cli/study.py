"""`negolab study links | texts | status | doctor | export`, beside `try` and `bonus`: studies for people."""

from __future__ import annotations

import csv
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import sqlalchemy as sa
import typer

from negolab.cli.options import BaseUrls, Db, Group, PriceOption, advanced
from negolab.cli.play import RUNS, printable
from negolab.formatting import format_end
from negolab.studies import links as tokens
from negolab.studies.database import ACTIVE, TEST, Database, Participant
from negolab.studies.database.connection import database_url, describe_error
from negolab.studies.endings import ENDINGS
from negolab.studies.payment import Currency
from negolab.studies.status import Person, Status, TreatmentCount
from negolab.studies.status import status as study_status
from negolab.studies.study_config import Study
from negolab.studies.study_file import needed_texts, read_study, read_texts
from negolab.texts import format_texts

_CLEAR = "\x1b[H\x1b[2J"
_LONGEST = 40
"""Most active participants that are listed; the rest are counted."""


def print_status(database: Database, study: Study, *, again: bool = False) -> None:
    """Print the current status of a study; with `again`, replace the last one if the output is a terminal."""
    text = "\n".join(status_lines(study_status(database, study)))
    if again:
        text = (_CLEAR if sys.stdout.isatty() else "\n") + text
    print(text, flush=True)


def status_lines(now: Status) -> list[str]:
    """Format a status as lines of plain text."""
    at = datetime.fromtimestamp(now.at).astimezone()
    working = [person for person in now.people if person.status in ACTIVE]
    return [
        f"{printable(now.title)} ({now.study}), {at:%Y-%m-%d %H:%M:%S}",
        _count_statuses(now),
        "",
        *cell_lines(now.cells, now.currency),
        "",
        *_working(working, now.at),
        _matches(now),
        *map(printable, filter(None, [*now.waits(), now.models, now.replaced()])),
        *_errors(now),
    ]


def _count_statuses(now: Status) -> str:
    """Count the participants in each status, in the order in which they pass through them."""
    people = [person for person in now.people if person.link != TEST]
    tests = len(now.people) - len(people)
    count = Counter(person.status for person in people)
    reading = sum(person.status == "invited" and person.opened for person in people)
    parts = [f"{count[name]} {name}" for name in ("invited", *ACTIVE, *ENDINGS) if count[name]]
    if reading:
        parts[0] += f" ({reading} reading)"
    told = f"{len(people)} participants: {', '.join(parts)}" if parts else "no participants yet"
    return f"{told}; in addition, {tests} from test links, who are not counted" if tests else told


def cell_lines(cells: tuple[TreatmentCount, ...], currency: Currency | None) -> list[str]:
    """Lay out the participants of each treatment, and what they earned."""
    width = max(len("treatment"), *(len(cell.name) for cell in cells))
    head = f"{'treatment':{width}}  weight  active  complete  dropped"
    rows = [f"{c.name:{width}}  {c.weight:6g}  {c.active:6}  {c.complete:8}  {c.dropped:7}" for c in cells]
    if currency is not None:
        head += f"  {'earned ' + currency.code:>12}  by n"
        rows = [f"{row}  {currency.plain(c.earned):>12}  {c.paid:4}" for row, c in zip(rows, cells, strict=True)]
    return [head, *rows]


def _working(people: list[Person], at: float) -> list[str]:
    if not people:
        return []
    width = max(len("treatment"), *(len(person.treatment or "") for person in people))
    head = f"  no.  {'treatment':{width}}  status    min. there  min. since last move  match"
    rows = [
        f"{p.number:5}  {p.treatment or '':{width}}  {p.status:8}  {(at - p.since) / 60:10.1f}  {_idle(p):>20}  {_match(p)}"  # noqa: E501
        for p in people[:_LONGEST]
    ]
    more = [f"... and {len(people) - _LONGEST} more"] if len(people) > _LONGEST else []
    return [head, *rows, *more, ""]


def _idle(person: Person) -> str:
    return "" if person.idle is None else f"{person.idle / 60:.1f}"


def _match(person: Person) -> str:
    if person.match is None:
        return ""
    return f"{person.match} (practice {person.practice})" if person.practice else person.match


def _matches(now: Status) -> str:
    ends = ", ".join(f"{n} {end}" for end, n in sorted((format_end(end), n) for end, n in now.ended.items()))
    over = f"{sum(now.ended.values())} ended ({ends})" if ends else "none ended"
    return f"matches: {now.running} running, {over}"


def _errors(now: Status) -> list[str]:
    return ["", *(f"error: {printable(text)}" for text in now.errors)] if now.errors else ["no errors"]


app = Group()

StudyFile = Annotated[Path, typer.Argument(metavar="FILE", help="The study file, such as prices.toml.")]
_EVERY = 2.0
"""Seconds between updates of `status --watch`."""


@app.command()
def texts(file: StudyFile) -> None:
    """Print all the text that participants see; you can change it under [texts] in the study file."""
    study, unknown = read_texts(file)
    print(format_texts(needed_texts(study), study.texts))
    for fault in unknown:
        print(printable(f"negolab: {file}: texts: {fault}"), file=sys.stderr)
    if unknown:
        raise typer.Exit(1)


@app.command()
def links(
    file: StudyFile,
    n: Annotated[int | None, typer.Option("-n", min=1, max=100_000, help="Create this many links.")] = None,
    open_: Annotated[bool, typer.Option("--open", help="Print one link that anyone may use.")] = False,
    test: Annotated[
        bool, typer.Option("--test", help="Create links for testing the study; their data are not counted.")
    ] = False,
    new_study: Annotated[
        bool, advanced("--new", help="Add the study to a database that already contains other studies.")
    ] = False,
    url: Annotated[str, typer.Option(help="Public address of the study.")] = tokens.LOCAL_URL,
    db: Db = None,
    out: Annotated[Path | None, typer.Option(help="Write the links to a new CSV file.")] = None,
) -> None:
    """Print links for participants, one per line; without -n or --open, the unused links."""
    if open_ and (n is not None or out is not None or test):
        raise ValueError("--open prints one open link: leave out -n, --out and --test")
    study = read_study(file)
    tokens.link_url(url, "")
    _warn_of_missing_models(study)
    with _link_writer(out) as write, closing(Database(_database_address(file, db))) as database:
        if not new_study:
            check_study_name(database, study, file, db)
        kept = database.study(study.name, study.text)
        if open_:
            print(tokens.link_url(url, tokens.make_token(kept.secret, study.name, tokens.OPEN)))
            _expiry("this open link", time.time(), study)
            _warn_of_short_seed(file, study)
            return
        link = TEST if test else "one"
        people = database.invite(study.name, n, link=link) if n is not None else _unused(database, study, link)
        if not people:
            raise ValueError(f"{file}: no valid unused links are left; create 20 with -n 20")
        if study.external is not None and not test:
            print("these links have no panel IDs, which `study bonus` needs: use --open", file=sys.stderr)
        write([(p.number, tokens.link_url(url, tokens.personal_token(kept, p))) for p in people])
        _expiry("the first of them", people[0].created, study)
        _warn_of_short_seed(file, study)


def _warn_of_short_seed(file: Path, study: Study) -> None:
    from negolab.studies.doctor import short_seed

    if (short := short_seed(study)) is not None:
        print(
            f"before you send them: seed {short} can be guessed; use a longer one (negolab study doctor {file})",
            file=sys.stderr,
        )


def _warn_of_missing_models(study: Study) -> None:
    """Say what `negolab serve` will lack, judged by this environment, for the language models of a study."""
    if not any(settings.has_model for settings, _ in study.matches()):
        return
    from negolab.studies.host_config import HostConfig, build_host_config
    from negolab.studies.server import check_prices, reach

    checks: list[Callable[[], None]] = [
        lambda: reach(study, build_host_config("", (), None, os.environ).models()),
        lambda: check_prices(study, HostConfig("")),
    ]
    for check in checks:
        try:
            check()
        except ValueError as error:
            print(f"before you send them: {error}", file=sys.stderr)


def _unused(database: Database, study: Study, link: str) -> list[Participant]:
    """Return the participants whose personal link, of a kind, has not been opened and is still valid."""
    people = [p for p in database.participants(study.name) if p.link == link and p.opened is None]
    return [p for p in people if p.created + study.expires * 86400 > time.time()]


def _expiry(what: str, created: float, study: Study) -> None:
    """Print to stderr until when a link is valid; stdout holds links only."""
    until = datetime.fromtimestamp(created + study.expires * 86400, UTC)
    print(f"{what} is valid until {until:%Y-%m-%d %H:%M} UTC", file=sys.stderr)
    if study.external is not None and what == "this open link":
        print(f"each participant's link must end in ?{study.external}=ID", file=sys.stderr)


def _print_links(links: list[tuple[int, str]]) -> None:
    print("\n".join(link for _, link in links))


@contextmanager
def _link_writer(out: Path | None) -> Iterator[Callable[[list[tuple[int, str]]], None]]:
    """Yield a function that prints links, or writes them with their numbers to a new CSV file.

    The file is readable by its owner only, and removed again after an error.
    """
    if out is None:
        yield _print_links
        return
    try:
        number = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise ValueError(f"{out} already exists and was not changed: choose another file with --out") from None
    except OSError as error:
        raise ValueError(f"{out} cannot be written: {error.strerror}") from None
    try:
        with open(number, "w", newline="", encoding="utf-8") as file:  # noqa: PTH123
            yield lambda links: csv.writer(file).writerows([("number", "link"), *links])
    except BaseException:
        out.unlink()
        raise


@app.command()
def status(
    file: StudyFile,
    db: Db = None,
    watch: Annotated[bool, typer.Option("--watch", help="Refresh every 2 seconds until Ctrl-C.")] = False,
) -> None:
    """Show participants, treatments and matches."""
    study = read_study(file)
    with open_known_database(file, db, study) as database:
        print_status(database, study)
        database.check_writable()  # while it takes no writes, as on a full disk, the study waits
        while watch:
            time.sleep(_EVERY)
            try:
                print_status(database, study, again=True)
            except sa.exc.DBAPIError as error:
                print(f"the database is unavailable ({describe_error(error)}); retrying", file=sys.stderr)


@app.command()
def doctor(
    file: StudyFile,
    db: Db = None,
    out: Annotated[Path, typer.Option(help="Folder for records.")] = RUNS / "people",
    public_url: Annotated[
        str | None, typer.Option("--url", metavar="URL", help="Public address, if the study is already being served.")
    ] = None,
    behind_proxy: Annotated[bool, typer.Option("--behind-proxy", help="Same as for `negolab serve`.")] = False,
    max_kernels: Annotated[int | None, advanced(min=1, help="Same as for `negolab serve`.")] = None,
    base_urls: BaseUrls = None,
    prices: PriceOption = None,
) -> None:
    """Check everything a session needs. Exit with status 1 if anything is wrong.

    Pass the same options that you pass to `negolab serve`.
    """
    from negolab.studies.doctor import examine

    checks = examine(
        file,
        _database_address(file, db),
        out,
        os.environ,
        public_url=public_url,
        behind_proxy=behind_proxy,
        max_kernels=max_kernels,
        base_urls=base_urls or (),
        prices=prices or (),
    )
    findings = []
    for finding in checks:
        print(printable(finding.line()), flush=True)
        findings.append(finding)
    if any(finding.advice for finding in findings):
        raise typer.Exit(1)


@app.command()
def export(
    file: StudyFile,
    db: Db = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder to write to (default: FILE-export next to the file).")
    ] = None,
    to: Annotated[str, typer.Option(help="File format: csv, parquet or both.")] = "both",
    test: Annotated[bool, typer.Option("--test", help="Export only the data from test links.")] = False,
) -> None:
    """Write the study's data as tables, with participants, answers and events."""
    from negolab.analysis.export import describe_rows, parse_endings
    from negolab.studies.export import export as write

    parse_endings(to)
    study = read_study(file)
    folder = out or file.parent / f"{file.stem}{'-test' if test else ''}-export"
    with open_known_database(file, db, study) as database:
        rows = write(database, study, folder, to, test=test)
    print(describe_rows(rows))
    print(printable(str(folder)))


def _database_address(file: Path, db: str | None) -> str:
    """Return the database of a study: `db`, or by default a file beside the study file."""
    return db if db is not None else str(file.with_suffix(".db"))


def _is_there(place: str) -> bool:
    """Return True if the database exists; does not create it."""
    url = database_url(place)
    return url.get_backend_name() != "sqlite" or Path(str(url.database)).is_file()


@contextmanager
def open_known_database(file: Path, db: str | None, study: Study) -> Iterator[Database]:
    """Open the database of a study; `ValueError` if it does not exist or does not know the study."""
    none = ValueError(f"{file}: no links yet; `negolab study links {file} -n 20` creates 20 links")
    if not _is_there(_database_address(file, db)):
        raise none
    with closing(Database(_database_address(file, db))) as database:
        check_study_name(database, study, file, db)
        if database.kept(study.name) is None:
            raise none
        try:
            yield database
        except sa.exc.DBAPIError as error:
            raise ValueError(
                f"{database} cannot be used at the moment: {describe_error(error)}; if it is damaged, restore a copy"
            ) from None


def check_servable(file: Path, db: str | None) -> None:
    """Check that a study can be served.

    Raises:
        ValueError: The study file is invalid, or its name is new to a database that holds other studies.
    """
    study = read_study(file)
    if _is_there(_database_address(file, db)):
        with closing(Database(_database_address(file, db))) as database:
            check_study_name(database, study, file, db)


def check_study_name(database: Database, study: Study, file: Path, db: str | None) -> None:
    """Check that the database holds this study or none; otherwise links of the others would stop working.

    Raises:
        ValueError: The database holds other studies only.
    """
    stored = database.studies()
    if stored and study.name not in stored:
        listed = ", ".join(stored[-3:])
        # A URL is not printed, since it can hold a password.
        where = f" --db {db}" if db is not None and "://" not in db else ""
        raise ValueError(
            f'{file}: the study is called {study.name!r}, but the database has {listed}: write name = "{stored[-1]}" '
            f"in the file to continue that study, or add a new one with `negolab study links {file}{where} -n 20 --new`"
        )
