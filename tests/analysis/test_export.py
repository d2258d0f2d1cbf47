"""Export of runs and sweeps: tables that join, typed columns, a dictionary, and code that runs."""

from __future__ import annotations

import csv
import importlib
import json
import os
import re
import resource
import subprocess
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import msgspec
import pandas as pd
import pytest

import negolab as nl
from negolab.analysis import columns, export, match_frames, measures
from negolab.analysis.columns import Column
from negolab.analysis.tables import matches, with_parameters
from negolab.catalog import game_names
from negolab.formats import open_source
from negolab.record import final_state
from negolab.store import Store
from negolab.sweeps.folder import read_sweep_status
from tests.support.command import NEGOLAB, negolab, succeeding
from tests.support.sweeps import finish_cells, finished_sweep

PLAYERS = {
    "agenda": "linear",
    "balloon": "linear",
    "bargaining": "boulware",
    "split": "truthful",
    "trading": "fair-split",
}


def kept(folder: Path, *records: nl.Record) -> Path:
    """Write records as a run."""
    with Store(folder) as store:
        for record in records:
            store.append(record)
    return folder


def exported(source: Path, out: Path, to: str = "csv") -> dict[str, pd.DataFrame]:
    """Export a source and read its tables."""
    out.mkdir(exist_ok=True)
    rows = export.export(export.open_tables(open_source(source)), out, [to])
    read = pd.read_csv if to == "csv" else pd.read_parquet
    tables = {name: read(out / f"{name}.{to}") for name in rows}
    assert {name: len(table) for name, table in tables.items()} == rows
    return tables


def exported_records(folder: Path, *records: nl.Record, to: str = "csv") -> dict[str, pd.DataFrame]:
    """Keep records as a run in `folder/run` and export it to `folder/out`; each gets an id of its own."""
    named = [
        msgspec.structs.replace(one, header=msgspec.structs.replace(one.header, id=f"{at}-{one.id}"))
        for at, one in enumerate(records)
    ]
    return exported(kept(folder / "run", *named), folder / "out", to)


def dictionary(folder: Path) -> pd.DataFrame:
    return pd.read_csv(folder / "out" / "dictionary.csv", keep_default_na=False)


@pytest.mark.parametrize(("game", "to"), [*((game, "csv") for game in game_names()), ("trading", "parquet")])
def test_the_tables_of_a_run_join_and_the_dictionary_names_their_columns(game: str, to: str, tmp_path: Path) -> None:
    tables = exported_records(tmp_path, *nl.batch(game, PLAYERS[game], "random-legal", n=6), to=to)
    assert tables["matches"]["match"].is_unique and len(tables["matches"]) == 6
    assert set(tables["turns"]["match"]) == set(tables["measures"]["match"]) == set(tables["matches"]["match"])
    moves = tables["turns"].set_index(["match", "turn"])["seat"]
    for made in tables["proposals"].itertuples():
        assert moves[made.match, made.turn] == made.seat
    named = dictionary(tmp_path)
    for name, table in tables.items():
        assert list(table.columns) == list(named[named.table == name].column)
    assert (named[["type", "meaning"]] != "").all(axis=None)
    assert set(named[named.column.str.startswith("payoff")].unit) == {nl.load(game).unit}


@pytest.mark.parametrize("game", [*game_names(), "tests.support.games.picnic"])
def test_no_column_of_any_preset_or_of_a_game_of_ones_own_is_undefined(game: str, tmp_path: Path) -> None:
    module = importlib.import_module(f"negolab.games.{game}" if game in game_names() else game)
    games = [nl.load(game, preset) for preset in module.PRESETS]
    tables = exported_records(
        tmp_path, *(record for each in games for record in nl.batch(each, "random-legal", "random-legal", n=1))
    )
    assert len(tables["seats"]) == 2 * len(games) and tables["seats"].own_value.notna().all()
    rows = dictionary(tmp_path).to_dict("records")
    assert all(row["type"] and row["meaning"] for row in rows)
    unsaid = [row["column"] for row in rows if re.match(r"measure of \w+|parameter \w+ of the game", row["meaning"])]
    assert not unsaid, "a name in place of a meaning"
    same = json.loads((tmp_path / "out" / "settings.json").read_text())["matches"]
    described = {(row["table"], row["column"]) for row in rows}
    columns = {(name, str(column)) for name, table in tables.items() for column in table}
    assert described == columns | {("settings", name) for name in same}


def test_proposals_have_prices_as_numbers_and_packages_as_json(tmp_path: Path) -> None:
    (bargain,) = nl.batch("bargaining", "boulware", "linear", n=1)
    made = exported_records(tmp_path, bargain)["proposals"]
    assert list(made["price_cents"]) == [cents for _, _, cents in final_state(bargain).public.offers]
    assert made["first"].tolist() == [True] + [False] * (len(made) - 1)
    own = made[made.seat == "A"]
    assert own["concession"].dropna().tolist() == (-own["own_payoff"].diff().dropna()).tolist()
    trades = nl.batch("trading", "fair-split", "greedy-honest", n=1)
    (tmp_path / "b").mkdir()
    packages = exported_records(tmp_path / "b", *trades)["proposals"]["package"]
    assert all(set(json.loads(package)) == {"give", "want"} for package in packages)


def test_a_run_of_several_games_has_the_columns_of_all(tmp_path: Path) -> None:
    records = [record for game in game_names() for record in nl.batch(game, PLAYERS[game], "random-legal", n=2)]
    tables = exported_records(tmp_path, *records, to="parquet")
    matches = tables["matches"].set_index("game")
    assert matches.loc["trading", "game_max_turns"].notna().all()
    assert matches.loc["bargaining", "game_max_turns"].isna().all()
    assert "price" in tables["measures"] and "harmonic" in tables["measures"]


def test_the_tables_of_a_sweep_join_by_cell_and_match_and_have_its_parameters(tmp_path: Path) -> None:
    sweep = finished_sweep(tmp_path, "repeats = 1\n[grid]\nbeta = [0.2, 5.0]\nrounds = [4, 8]\n")
    tables = exported(sweep.path, tmp_path / "tables")
    matches = tables["matches"]
    assert not matches.duplicated(["cell", "match"]).any()
    assert set(matches["beta"]) == {0.2, 5.0} and set(matches["rounds"]) == {4, 8}
    assert set(tables["cells"]["cell"]) == set(matches["cell"]) and set(tables["cells"]["beta"]) == {0.2, 5.0}
    assert len(tables["turns"].merge(matches, on=["cell", "match"], validate="many_to_one")) == len(tables["turns"])


def joined_by_readme(folder: Path) -> pd.DataFrame:
    """Run the lines for pandas of an export's README and return the joined frame."""
    text = (folder / "README.txt").read_text()
    lines = re.findall(r"^    (.*)$", text.partition("pandas\n")[2].partition("R\n")[0], flags=re.M)
    assert len(lines) == 4
    names: dict[str, pd.DataFrame] = {}
    for line in lines:
        exec(line.replace('csv(f"', f'csv(f"{folder}/'), names)
    return names["both"]


def test_the_lines_of_the_readme_run(tmp_path: Path) -> None:
    exported_records(tmp_path, *nl.batch("bargaining", "random-legal", "linear", n=8))
    assert len(joined_by_readme(tmp_path / "out")) == 8


def read_as_printed(folder: Path, name: str) -> pd.DataFrame:
    """Read a table with the options that the README prints."""
    (options,) = re.findall(r"read_csv\(f\"{name}.csv\"(.*?)\) for", (folder / "README.txt").read_text())
    names: dict[str, pd.DataFrame] = {"pd": pd}  # type: ignore[dict-item]
    exec(f'table = pd.read_csv("{folder}/{name}.csv"{options})', names)
    return names["table"]


@pytest.mark.parametrize("word", ["None", "NA", "null", "nan"])
def test_a_word_that_readers_take_for_nothing_comes_back_as_a_word(word: str, tmp_path: Path) -> None:
    match = nl.Match(nl.load("bargaining"), seed=1)
    match.submit("A", word)
    match.submit("A", "50")
    exported_records(tmp_path, match.record())
    turns = read_as_printed(tmp_path / "out", "turns")
    assert list(turns.text) == [word, "50"] and list(turns.legal) == [False, True]
    assert turns.model.isna().all(), "nothing stays nothing"


def test_seats_tell_what_each_side_drew_claimed_and_got(tmp_path: Path) -> None:
    records = nl.batch(nl.load("bargaining", "asymmetric"), "boulware", "random-legal", n=20, seed=4)
    tables = exported(kept(tmp_path / "run", *records), tmp_path / "out")
    rows = tables["seats"].set_index(["match", "seat"])
    assert len(rows) == 40 and set(rows.role) == {"buyer", "seller"}
    for record in records:
        start, found = record.events[0].state.private, measures.measure_match(record)
        for seat, own in (("A", start["A"].cost), ("B", start["B"].value)):
            row = rows.loc[(record.id, seat)]
            first = next((cents for _, by, cents in final_state(record).public.offers if by == seat), None)
            assert (row.own_value, row.payoff) == (own, record.payoffs[seat])
            assert row.player == record.header.players[seat] != row.opponent
            told = row.gain, row.first_offer, row.first_offer_payoff
            expected = found[f"gain_{seat.lower()}"], first, found[f"first_offer_payoff_{seat.lower()}"]
            assert [None if value != value else value for value in told] == list(expected)
            assert row.agreed == (record.end == "AGREED") and row.version == record.header.negolab
    matches = tables["matches"].set_index("match")
    turns = tables["turns"].set_index(["match", "turn"])
    for id, match in matches[matches.end == "AGREED"].iterrows():
        reply = turns.loc[(id, match.accepted_turn)]
        assert (reply.text, reply.seat) == ("accept", match.accepted_by)
    assert matches.loc[matches.end != "AGREED", "accepted_by"].isna().all()
    assert list(rows.own_value.xs("A", level="seat")) == list(matches.own_value_a)


def test_settings_that_never_change_stand_in_one_file_and_the_others_in_the_table(tmp_path: Path) -> None:
    games = [nl.load("bargaining", rounds=rounds) for rounds in (4, 6)]
    tables = exported_records(tmp_path, *(one for game in games for one in nl.batch(game, "linear", "linear", n=2)))
    same = json.loads((tmp_path / "out" / "settings.json").read_text())["matches"]
    assert list(tables["matches"].game_rounds) == [4, 4, 6, 6]
    assert "game_rounds" not in same and same["game_item"] == "item" and same["game_price_hi"] == 10_000
    assert not set(same) & set(tables["matches"])
    named = dictionary(tmp_path)
    assert list(named[named.table == "settings"].column) == list(same)


def test_own_columns_keep_their_names_beside_parameters_of_the_same_name(tmp_path: Path) -> None:
    own = ("cell", "state", "attempts", "match", "preset", "efficiency", "game_rounds")
    sweep = finished_sweep(tmp_path, "repeats = 2\n[grid]\nrounds = [4, 8]\nhow = ['linear', 'boulware']\n", count=0)
    plan = read_sweep_status(sweep.path).plan
    cells = [msgspec.structs.replace(cell, params={**cell.params, **dict.fromkeys(own, 7)}) for cell in plan.cells()]
    finish_cells(sweep, cells, games=4)
    tables = exported(sweep.path, tmp_path / "tables")
    ids = {cell.id for cell in cells}
    assert all(set(table["cell"]) <= ids for table in tables.values())
    assert set(tables["cells"]["state"]) == {"done"}
    assert len(tables["matches"]) == len(joined_by_readme(tmp_path / "tables")) == 32
    for name in ("cells", "matches"):
        assert all(set(tables[name][f"param_{parameter}"]) == {7} for parameter in own), name
        assert set(tables[name]["rounds"]) == {4, 8}
    assert set(tables["matches"]["game_rounds"]) == {4, 8}
    assert {"param_cell", "param_state"} <= set(with_parameters(matches(sweep.path), sweep.path))


def test_an_export_is_one_command_for_a_run_and_says_its_rows(tmp_path: Path) -> None:
    source = kept(tmp_path / "run", *nl.batch("trading", "fair-split", "random-legal", n=3))
    ran = negolab("export", str(source), "--to", "csv,parquet", "--out", str(tmp_path / "tables"))
    assert ran.returncode == 0 and "3 matches" in ran.stdout, ran.stderr
    assert {file.stat().st_mode & 0o777 for file in (tmp_path / "tables").iterdir()} == {0o600}, "for the user alone"
    assert (tmp_path / "tables" / "README.txt").is_file()
    assert {(tmp_path / "tables" / f"seats.{to}").is_file() for to in ("csv", "parquet")} == {True}
    last = negolab("export", str(source), "--to", "csv", "--id", "0000002", "--out", str(tmp_path / "last"))
    assert last.returncode == 0 and last.stdout.startswith("1 match, "), last.stderr
    for options, said in (
        (("csv", "--id", "nothing"), "no record has an ID that starts or ends with 'nothing'"),
        (("csv,xls",), "--to 'csv,xls': did you mean"),
    ):
        wrong = negolab("export", str(source), "--to", *options, "--out", str(tmp_path / "none"))
        assert wrong.returncode == 2 and said in wrong.stderr


def test_a_folder_has_the_tables_of_one_run_which_may_be_exported_again(tmp_path: Path) -> None:
    for name, players in (("first", ("boulware", "linear")), ("second", ("linear", "boulware"))):
        kept(tmp_path / name, *nl.batch("bargaining", *players, n=2))
    to = ("--to", "csv", "--out", str(tmp_path / "tables"))
    for _ in range(2):
        succeeding("export", str(tmp_path / "first"), *to)
    before = (tmp_path / "tables" / "matches.csv").read_bytes()
    other = negolab("export", str(tmp_path / "second"), *to)
    assert other.returncode == 2 and "tables already contains tables of ../first: choose another folder" in other.stderr
    assert (tmp_path / "tables" / "matches.csv").read_bytes() == before


def test_without_openpyxl_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r"--to xlsx needs openpyxl: pip install 'negolab\[xlsx\]'"):
        export.parse_endings("csv,xlsx")


def test_a_workbook_holds_what_the_csv_file_holds(tmp_path: Path) -> None:
    match = nl.Match(nl.load("bargaining"), seed=1)
    match.submit("A", "=1+1\x07")
    tables = exported_records(tmp_path, match.record())
    export.export(export.open_tables(open_source(tmp_path / "run")), tmp_path / "out", ["xlsx"])
    for name, table in tables.items():
        sheet = pd.read_excel(tmp_path / "out" / f"{name}.xlsx")
        assert list(sheet.columns) == list(table.columns) and len(sheet) == len(table)
    assert pd.read_excel(tmp_path / "out" / "turns.xlsx").text[0] == "'=1+1\ufffd"
    assert pd.read_excel(tmp_path / "out" / "seats.xlsx").payoff.isna().all()


def test_an_export_whose_folder_is_replaced_is_an_error(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    tables = export.open_tables(open_source(kept(tmp_path / "run", *nl.batch("trading", "fair-split", "chat", n=3))))

    def last() -> Iterator[Mapping[str, int]]:
        yield {"x": 1}
        (tmp_path / "moved").mkdir()
        for path in out.iterdir():  # such as by a program that keeps two folders alike
            path.rename(tmp_path / "moved" / path.name)
        out.rename(tmp_path / "gone")
        (tmp_path / "moved").rename(out)

    others = {"others": ([Column("x", "integer", "a number")], last())}
    with pytest.raises(FileNotFoundError, match="was deleted, moved or replaced"):
        export.export(tables._replace(others=others), out, ["csv"])


@pytest.mark.parametrize("to", ["tex", "csv", "parquet"])
def test_a_full_disk_names_the_file_and_leaves_none_that_is_half_written(to: str, tmp_path: Path) -> None:
    source = kept(tmp_path / "run", *nl.batch("trading", "fair-split", "chat", n=3))
    out = tmp_path / "out"
    ran = subprocess.run(
        [*NEGOLAB, "export", str(source), "--to", to, "--out", str(out)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},  # none is cut off
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)),
    )
    assert ran.returncode == 2 and ran.stdout == ""
    assert re.fullmatch(rf"negolab: {out}/\S+: .*[Ff]ile too large\S*\n", ran.stderr), ran.stderr
    assert not list(out.iterdir())


# Cells that would act.


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r"])
def test_text_that_begins_like_a_formula_is_shown_by_a_spreadsheet_also_as_a_name_or_a_category(
    start: str, tmp_path: Path
) -> None:
    text = f"{start}1+1"
    words = pd.Series([text, "plain", None], dtype="category")
    frame = pd.DataFrame({text: words, "text": [text, "'", None], "number": [-1.5, -2, 3]})
    columns.write_table(frame, tmp_path / "t.csv")
    with (tmp_path / "t.csv").open(encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file)
    assert head == [f"'{text}", "text", "number"]
    assert rows == [[f"'{text}", f"'{text}", "-1.5"], ["plain", "'", "-2.0"], ["", "", "3.0"]]
    assert frame.columns[0] == frame["text"][0] == text, "the frame itself stays"
    columns.write_table(frame, tmp_path / "t.parquet")
    assert list(pd.read_parquet(tmp_path / "t.parquet")[text].dropna()) == [text, "plain"]


def test_a_parameter_of_somebody_elses_sweep_computes_nothing_in_a_spreadsheet(tmp_path: Path) -> None:
    sweep = finished_sweep(tmp_path, "[grid]\nbeta = [0.2]\nrounds = [4]\n").path
    status = next(sweep.glob("cells/*/cell.json"))
    status.write_text(status.read_text().replace('"beta"', '"=cmd|calc!A0"'))
    exported(sweep, tmp_path / "tables")
    heads = [file.read_text("utf-8").splitlines()[0] for file in (tmp_path / "tables").glob("*.csv")]
    assert sum("'=cmd|calc!A0" in head for head in heads) == 3, "the tables of matches, seats and cells"
    assert not any(",=cmd" in head for head in heads)


def test_a_link_in_somebody_elses_folder_leads_nothing_that_is_written_elsewhere(tmp_path: Path) -> None:
    sweep = finished_sweep(tmp_path, "[grid]\nbeta = [0.2]\nrounds = [4]\n").path
    mine = tmp_path / "mine"
    mine.write_text("precious")
    cell = next(sweep.glob("cells/*"))
    names = ["matches.csv.tmp", "README.txt", "README.txt.tmp", "dictionary.csv", "report.html.tmp", "report.html"]
    for link in [*(sweep / name for name in names), cell / "matches.parquet", cell / "matches.parquet.tmp"]:
        link.unlink(missing_ok=True)
        link.symlink_to(mine)
    succeeding("export", str(sweep), "--to", "csv")
    assert "pandas" in (sweep / "README.txt").read_text() and (sweep / "dictionary.csv").stat().st_size > 1000
    match_frames.read_sweep(sweep)
    assert (cell / "matches.parquet").stat().st_size > 1000
    assert mine.read_text() == "precious"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("manifest.json", "is not a sweep folder"),
        ("cell.json", "is not a valid cell status file"),
        ("matches.parquet", "None"),
    ],
)
def test_a_pipe_in_somebody_elses_folder_holds_nobody_up(name: str, said: str, tmp_path: Path) -> None:
    sweep = finished_sweep(tmp_path, "[grid]\nbeta = [0.2]\nrounds = [4]\n").path
    pipe = (sweep if name == "manifest.json" else next(sweep.glob("cells/*"))) / name
    pipe.unlink(missing_ok=True)
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as thread:
        try:
            reading = thread.submit(lambda: (read_sweep_status(sweep), match_frames.read_sweep(sweep)))
            assert said in str(reading.exception(timeout=10))
        finally:
            with suppress(OSError):  # nobody reads
                os.close(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
