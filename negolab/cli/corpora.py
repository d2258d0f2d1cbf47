"""`negolab import dealornodeal | casino | clembench | csv`: published corpora and the user's own spreadsheets as
records."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer
from tqdm import tqdm

from negolab._internal.validation import located
from negolab.cli.options import Group, Modules, import_modules
from negolab.cli.play import MAX_NAMED, escape_line, print_some
from negolab.formatting import counted
from negolab.game import SEATS
from negolab.record import Record, final_state, parse_record, reading
from negolab.store import FILE, Store, iter_records

if TYPE_CHECKING:
    from negolab.formats.clembench import LeftOut
    from negolab.formats.dealornodeal_records import CorpusFile

app = Group(
    "import",
    "Import published corpora or your own spreadsheet as records.",
)
Out = Annotated[Path, typer.Option(metavar="RUN", help="Folder for the records.")]


class Imported(NamedTuple):
    """Result of an import: all records, and how many are new; `copies` counts duplicates in the source."""

    records: list[Record]
    new: int
    copies: int


def import_records(found: Collection[tuple[str, Callable[[], Record]]], out: Path, unit: str) -> Imported:
    """Write the records not yet in the folder, and print which dialogues or episodes yielded none.

    A new folder appears with all its records, or not at all.

    Args:
        found: For each record, its place in the corpus and a function that builds it; if that raises ValueError, or
            another record has its id, the record is left out.
        out: The folder.
        unit: Name of the source of one record, such as a dialogue.

    Raises:
        ValueError: There is no record at all, or the folder holds a run or other records.
    """
    records, errors, copies = dict[str, Record](), list[str](), 0
    for place, make in tqdm(found, unit=unit, file=sys.stderr, mininterval=0.5, disable=None):
        try:
            with located("it contains what no record can hold", (UnicodeEncodeError, RecursionError)):
                record = parse_record(make().to_line())
            twin = records.setdefault(record.id, record)
            if twin.events != record.events:
                raise ValueError(f"another {unit} has the same ID, {record.id!r}")
            copies += twin is not record
        except ValueError as error:
            errors.append(f"{place}: {error}")
    if not records:
        raise ValueError(f"no {unit} could be replayed: {errors[0]}")
    with new_folder(out) as folder, Store(folder).for_single_matches() as store:
        there = {one.id: one for one in iter_records(store.file)}
        others = [id_ for id_, one in there.items() if id_ not in records or records[id_].events != one.events]
        if others:
            raise ValueError(f"{out} already contains other records, such as {min(others)}: choose another folder")
        for id_, record in records.items():
            if id_ not in there:
                store.append(record)
    print_some([f"left out: {text}" for text in errors], _MORE_LEFT_OUT)
    return Imported(list(records.values()), len(records) - len(there), copies)


@contextmanager
def new_folder(out: Path) -> Iterator[Path]:
    """Yield the folder if it exists, or else a draft next to it, which takes its place unless something fails."""
    if out.exists():
        yield out
        return
    beside = next(folder for folder in out.absolute().parents if folder.is_dir())
    try:
        with TemporaryDirectory(prefix=".import-", dir=beside) as place:
            draft = Path(place) / "run"
            yield draft
            out.parent.mkdir(parents=True, exist_ok=True)
            draft.rename(out)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(out / FILE)) from None


_MORE_LEFT_OUT = "left out: {:,} more"


def list_some(items: Sequence[object]) -> str:
    """List the first `MAX_NAMED` items and count the rest."""
    more = len(items) - MAX_NAMED
    return ", ".join(map(str, items[:MAX_NAMED])) + (f" and {more:,} more" if more > 0 else "")


# Deal or No Deal.


@app.command()
def dealornodeal(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="Corpus files: data.txt, or train.txt, val.txt, test.txt.")
    ],
    out: Out,
    all_: Annotated[bool, typer.Option("--all", help="Include dialogues with only one view.")] = False,
) -> None:
    """Import Deal or No Deal dialogues and print the published statistics."""
    from negolab.formats import dealornodeal_records as corpus

    names = Counter(path.stem for path in files)
    if twice := [name for name, count in names.items() if count > 1]:
        raise ValueError(f"two files are called {twice[0]}, and records are named after files: import them separately")
    read = [corpus.read_file(path) for path in files]
    for file in read:
        _print_file(file, all_)
    chosen = [(file.path.name, one) for file in read for one in file.dialogues if all_ or one["views"] == 2]
    if not chosen:
        raise ValueError("every dialogue in these files has only one view: import them with --all")
    found = [(f"{name}, line {one['line']}", partial(corpus.to_record, one, name)) for name, one in chosen]
    _print_result(import_records(found, out, "dialogue").records, out)


def _print_file(file: CorpusFile, all_: bool) -> None:
    single = file.single
    print(f"{file.path}: {counted(len(file.dialogues) - len(single), 'dialogue')} with both views")
    if single:
        taken = "imported" if all_ else "left out (--all imports them)"
        print(f"  one view only, {taken}: {counted(len(single), 'dialogue')}, in lines {list_some(single)}")
    if file.scenarios:
        print(f"  contexts without a dialogue, left out: {file.scenarios:,}")
    print_some([f"  no dialogue in {error}" for error in file.errors], "  no dialogue in {:,} more lines")


def _print_result(records: list[Record], out: Path) -> None:
    from negolab.formats.dealornodeal_records import figures

    ends = Counter(str(record.header.notes.get("end", "agreed")) for record in records)
    told = ", ".join(f"{count:,} {end}" for end, count in ends.most_common())
    print(f"{out}: {counted(len(records), 'record')} ({told}); statistics for these only, without intervals:")
    both = [record for record in records if record.header.notes["views"] == 2]
    found = figures(both)
    if len(both) < len(records):
        print(f"of the {len(both):,} with both views, like the published figures:")
    print(f"agreement        {_percent(found.agreement)}   n = {counted(found.dialogues, 'dialogue')}")
    score = "     -" if found.score is None else f"{found.score:6.3f}"
    print(f"mean score       {score}     n = {2 * found.dialogues:,} scores, two per dialogue, 0 without an agreement")
    print(f"Pareto-optimal   {_percent(found.pareto)}   n = {counted(found.agreed, 'agreement')}")


def _percent(share: float | None) -> str:
    return "     -  " if share is None else f"{share:6.1%} "


# CaSiNo.


@app.command()
def casino(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="Corpus files: casino.json, or one of its splits.")
    ],
    out: Out,
) -> None:
    """Import CaSiNo dialogues and print the published statistics."""
    from negolab.coding.units import Place, Reading, keep, latest
    from negolab.formats import casino as corpus

    found = [
        (f"{path.name}, dialogue {one['dialogue_id']}", partial(corpus.to_record, one, path.name))
        for path in files
        for one in corpus.read_file(path)
    ]
    records, _, copies = import_records(found, out, "dialogue")
    labelled = [
        Reading(book=corpus.SOURCE, coder="corpus", place=Place(one.id, None, turn, SEATS[turn % 2]), codes=codes)
        for one in records
        for turn, codes in corpus.labels(one)
    ]
    there = latest(out, corpus.SOURCE).get("corpus", {})
    keep(out, [one for one in labelled if one.place not in there])
    print(f"{counted(len(labelled), 'utterance')} with labels: codes from the codebook casino, by the coder corpus")
    if copies:
        print(f"{counted(copies, 'dialogue')} repeated, each written once")
    _print_camps(records, out)


def _print_camps(records: list[Record], out: Path) -> None:
    """Print figures for the imported records; each record has the points stored in the corpus."""
    from negolab.formats.casino import figures

    found = figures(records)
    matching = f"{counted(found.dialogues, 'record')}, whose points match the stored ones"
    print(f"{out}: {matching}; statistics for these only, without intervals:")
    print(f"agreements       {found.agreed:,}, walked away {found.dialogues - found.agreed:,}")
    print(f"offers           {found.offers:,}, rejections {found.rejections:,}")
    print(f"mean points      {found.points:6.2f}   n = {2 * found.dialogues:,} workers, two per dialogue")
    if found.joint is not None:
        print(f"mean joint       {found.joint:6.2f}   n = {counted(found.agreed, 'agreement')}")


# clembench.


@app.command()
def clembench(
    folders: Annotated[list[Path], typer.Argument(metavar="SOURCE...", help="Results folders, or parts of them.")],
    out: Out,
    scores: Annotated[bool, typer.Option("--scores", help="Print a line for each stored score.")] = False,
) -> None:
    """Import clembench's hot_air_balloon episodes and recompute their scores."""
    from negolab.formats.clembench import count_left_out

    for folder in folders:
        if not folder.is_dir():
            raise ValueError(f"{folder} is not a folder: choose a folder of results, such as results_en")
        if out.resolve().is_relative_to(folder.resolve()):
            raise ValueError(f"{out} is inside {folder}, which is being read: choose a folder outside it")
    imported, left_out, repeated = _read_episodes(folders)
    told = count_left_out(left_out)
    if not imported:
        raise ValueError(f"no episodes to import in {', '.join(map(str, folders))}: {'; '.join(told) or 'none found'}")
    new = import_records([(id_, partial(imported.__getitem__, id_)) for id_ in imported], out, "episode").new
    print(f"{out}: {counted(len(imported), 'record')}" + (f", {new:,} of them new" * (new < len(imported))))
    for players, count in Counter(" / ".join(one.header.players.values()) for one in imported.values()).items():
        print(escape_line(f"  {players}: {counted(count, 'episode')}"))
    if repeated:
        print(f"{counted(repeated, 'episode')} repeated, each written once")
    for sentence in told:
        print(escape_line(sentence))
    _print_scores(imported.values(), scores)


def _read_episodes(folders: Sequence[Path]) -> tuple[dict[str, Record], list[LeftOut], int]:
    """Return all records by id, the episodes without a record, and the number of duplicate episodes."""
    from negolab.formats.clembench import LeftOut, read_tree

    found = (one for folder in folders for one in read_tree(folder))
    read = list(tqdm(found, unit="episode", file=sys.stderr, mininterval=0.5, disable=None))
    records = [one for one in read if not isinstance(one, LeftOut)]
    left_out = {one.folder: one for one in read if isinstance(one, LeftOut)}
    imported = {record.id: record for record in records}
    return imported, list(left_out.values()), len(records) - len(imported)


def _print_scores(imported: Collection[Record], by_name: bool) -> None:
    """Recompute the stored scores of all episodes, and print how many differ, and in which episodes."""
    from negolab.formats.clembench import DIFFERENCES, score_lines

    if differ := [record.id for record in imported if record.header.notes.get(DIFFERENCES)]:
        print(escape_line(f"the files disagree with the rules in {list_some(differ)}"))
    for line in score_lines(imported, by_name=by_name):
        print(escape_line(line))


# inspect_ai.


@app.command()
def inspect(
    logs: Annotated[list[Path], typer.Argument(metavar="LOG...", help="inspect_ai log files (.eval or .json).")],
    out: Out,
    module: Modules = None,
) -> None:
    """Import the matches in inspect_ai logs (`inspect eval negolab/bargaining`)."""
    if find_spec("inspect_ai") is None:
        raise ValueError("inspect_ai logs need inspect_ai: pip install 'negolab[inspect]'")
    from negolab.inspect_tasks import read_samples

    import_modules(module)
    found = [(place, partial(_replayed, text)) for log in logs for place, text in read_samples(log)]
    if not found:
        raise ValueError(f"no matches in {list_some(logs)}: choose logs of negolab's tasks")
    _print_ends(out, import_records(found, out, "match").records)


def _replayed(text: bytes) -> Record:
    record = parse_record(text)
    with reading(record):
        final_state(record)
    return record


def _print_ends(out: Path, records: Collection[Record]) -> None:
    ends = Counter(str(record.end) for record in records)
    print(f"{out}: {counted(len(records), 'record')} ({', '.join(f'{count:,} {end}' for end, count in ends.items())})")


# Own spreadsheets.


@app.command("csv")
def csv_(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Spreadsheet saved as CSV in UTF-8.")],
    out: Out,
    game: Annotated[str, typer.Option(help="Game to import as: agenda, bargaining or split.")],
    map_: Annotated[Path, typer.Option("--map", metavar="MAP", help="Column map; see `negolab new import-map`.")],
) -> None:
    """Import your own spreadsheet and list every row left out."""
    import pandas as pd

    from negolab.analysis.columns import write_table
    from negolab.formats.spreadsheet import LEFT_OUT, import_sheet

    if next(out.glob("*.jsonl"), None) is not None:
        raise ValueError(f"{out} already has records: delete it, or choose another folder")
    records, left_out, unused, lost = import_sheet(file, map_, game)
    table = pd.DataFrame([(row, *why) for row, why in left_out.items()], columns=["row", "match", "reason"])
    told = [
        f"row{'s' * (len(rows) > 1)} {list_some(rows.tolist())}{f' (match {match})' * bool(match)}: {reason}"
        for (match, reason), rows in table.groupby(["match", "reason"], sort=False)["row"]
    ]
    print_some([f"left out: {file.name}, {text}" for text in told], _MORE_LEFT_OUT)
    if not records:
        raise ValueError(f"no match in {file} could be imported with {map_}: see the rows and reasons above")
    import_records([(id_, partial(records.__getitem__, id_)) for id_ in records], out, "match")
    write_table(table, out / LEFT_OUT)
    _print_ends(out, records.values())
    missing = (
        f"left out: {len(lost):,} of {counted(len(lost) + len(records), 'match')}, {counted(len(left_out), 'row')}"
    )
    print(missing + f", each with its reason in {out / LEFT_OUT}" * bool(left_out))
    if unused:
        print(escape_line(f"columns that are not in the map: {list_some(unused)}"))
