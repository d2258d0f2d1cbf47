"""`negolab import dealornodeal | casino | clembench | csv`: published corpora and own spreadsheets as records."""

from __future__ import annotations

import shutil
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from tqdm import tqdm

from negolab._internal.validation import located
from negolab.cli.options import Group, Modules, import_modules
from negolab.cli.play import MAX_NAMED, escape_line, print_some
from negolab.formatting import counted
from negolab.game import SEATS
from negolab.record import Record, parse_record
from negolab.store import Store

if TYPE_CHECKING:
    from negolab.formats.clembench import LeftOut
    from negolab.formats.dealornodeal_records import CorpusFile

app = Group(
    "import",
    "Import published corpora or your own spreadsheet as records.",
)
Out = Annotated[Path, typer.Option(metavar="RUN", help="Folder for the records.")]


@contextmanager
def open_store(out: Path, ids: set[str]) -> Iterator[Store]:
    """Open the folder for records with these ids; an import that was stopped goes on there, and one that fails removes
    the folders that it made, but those in which others have put something.

    Raises:
        ValueError: The folder holds a run, or records of something else.
    """
    made = list[Path]()
    for folder in reversed((out, *out.parents)):
        if not folder.exists():
            with suppress(FileExistsError):  # another program is faster
                folder.mkdir()
                made.append(folder)
    try:
        with Store(out).for_single_matches() as store:
            if others := store.ids() - ids:
                raise ValueError(f"{out} already contains other records, such as {min(others)}: choose another folder")
            yield store
    except Exception:
        if out in made:
            shutil.rmtree(out, ignore_errors=True)
        for folder in reversed(made):
            with suppress(OSError):
                folder.rmdir()
        raise


def import_records(
    found: Mapping[str, tuple[str, Callable[[], Record]]], out: Path, unit: str
) -> tuple[list[Record], int]:
    """Write the records that the folder does not have yet, and print which dialogues or episodes gave none.

    Args:
        found: For each record's id, its place in the corpus and a function that builds it; if that raises ValueError,
            the record is left out.
        out: The folder.
        unit: What one record is made from, such as a dialogue.

    Returns:
        All records, and the number of new ones.

    Raises:
        ValueError: There is no record at all, or the folder holds others (see `open_store`).
    """
    records, errors = [], []
    with open_store(out, set(found)) as store:
        there = store.ids()
        for id_, (place, make) in tqdm(found.items(), unit=unit, file=sys.stderr, mininterval=0.5, disable=None):
            try:
                record = make()
                with located("it contains what no record can hold", (UnicodeEncodeError, RecursionError)):
                    record.to_line()
            except ValueError as error:
                errors.append(f"{place}: {error}")
                continue
            if id_ not in there:
                store.append(record)
            records.append(record)
        if not records:
            raise ValueError(f"no {unit} could be replayed: {errors[0]}")
    print_some([f"left out: {text}" for text in errors], _MORE_LEFT_OUT)
    return records, len(records) - len(there)


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
    records, _ = import_records(
        {
            corpus.record_id(one, name): (f"{name}, line {one['line']}", partial(corpus.to_record, one, name))
            for name, one in chosen
        },
        out,
        "dialogue",
    )
    _print_result(records, out)


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

    read = [(path.name, one) for path in files for one in corpus.read_file(path)]
    found = {
        corpus.record_id(one): (f"{name}, dialogue {one['dialogue_id']}", partial(corpus.to_record, one, name))
        for name, one in read
    }
    records, _ = import_records(found, out, "dialogue")
    labelled = [
        Reading(book=corpus.SOURCE, coder="corpus", place=Place(one.id, None, turn, SEATS[turn % 2]), codes=codes)
        for one in records
        for turn, codes in corpus.labels(one)
    ]
    keep(out, [] if latest(out, corpus.SOURCE) else labelled)
    print(f"{counted(len(labelled), 'utterance')} with labels: codes from the codebook casino, by the coder corpus")
    if len(read) > len(found):
        print(f"{counted(len(read) - len(found), 'dialogue')} repeated, each written once")
    _print_camps(records, out)


def _print_camps(records: list[Record], out: Path) -> None:
    """Print the figures of the imported records; each has the points that the corpus stores."""
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
    found = {id_: (id_, partial(imported.__getitem__, id_)) for id_ in imported}
    _, written = import_records(found, out, "episode")
    print(f"{out}: {counted(len(imported), 'record')}" + (f", {written:,} of them new" * (written < len(imported))))
    for players, count in Counter(" / ".join(one.header.players.values()) for one in imported.values()).items():
        print(escape_line(f"  {players}: {counted(count, 'episode')}"))
    if repeated:
        print(f"{counted(repeated, 'episode')} repeated, each written once")
    for sentence in told:
        print(escape_line(sentence))
    _print_scores(imported.values(), scores)


def _read_episodes(folders: Sequence[Path]) -> tuple[dict[str, Record], list[LeftOut], int]:
    """Return all records by id, the episodes that have no record, and how many copies of episodes there are."""
    from negolab.formats.clembench import LeftOut, read_tree

    found = (one for folder in folders for one in read_tree(folder))
    read = list(tqdm(found, unit="episode", file=sys.stderr, mininterval=0.5, disable=None))
    records = [one for one in read if not isinstance(one, LeftOut)]
    left_out = {one.folder: one for one in read if isinstance(one, LeftOut)}
    imported = {record.id: record for record in records}
    return imported, list(left_out.values()), len(records) - len(imported)


def _print_scores(imported: Collection[Record], by_name: bool) -> None:
    """Derive the stored scores of all episodes again, and print how many differ and in which episodes."""
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
    import_modules(module)
    found = _read_logs(logs)
    if not found:
        raise ValueError(f"no matches in {list_some(logs)}: choose logs of negolab's tasks")
    records, _ = import_records(found, out, "match")
    _print_ends(out, records)


def _read_logs(logs: Sequence[Path]) -> dict[str, tuple[str, Callable[[], Record]]]:
    """Return each match's place and what makes its record, by id; by place where it is damaged or its id is taken."""
    from negolab.inspect_tasks import read_samples

    found: dict[str, tuple[str, Callable[[], Record]]] = {}
    texts: dict[str, bytes] = {}
    for place, text in (sample for log in logs for sample in read_samples(log)):
        make, id_ = partial(parse_record, text), place
        with suppress(ValueError):  # said by `import_records`, with its place
            id_ = make().id
        if texts.setdefault(id_, text) == text:
            found[id_] = place, make
        else:
            found[place] = place, partial(_refuse_twin, id_)
    return found


def _refuse_twin(id_: str) -> Record:
    raise ValueError(f"another match has the same ID, {id_!r}")


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
    found = {id_: (id_, partial(records.__getitem__, id_)) for id_ in records}
    import_records(found, out, "match")
    write_table(table, out / LEFT_OUT)
    _print_ends(out, records.values())
    missing = (
        f"left out: {len(lost):,} of {counted(len(lost) + len(records), 'match')}, {counted(len(left_out), 'row')}"
    )
    print(missing + f", each with its reason in {out / LEFT_OUT}" * bool(left_out))
    if unused:
        print(escape_line(f"columns that are not in the map: {list_some(unused)}"))
