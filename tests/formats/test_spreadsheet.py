"""Spreadsheets in published style, with dirt in them, as records: every row is part of one or named with a reason."""

from __future__ import annotations

import csv
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from negolab_widgets.report import Report

import negolab as nl
from negolab.analysis import tables
from negolab.events import Replied
from negolab.formats.spreadsheet import LEFT_OUT, Importer, import_sheet, read_map, read_number
from negolab.record import final_state
from negolab.verification import replay_differences
from tests.analysis.test_export import kept
from tests.coding.dialogues import bargained
from tests.conftest import ROOT
from tests.support.command import negolab, succeeding
from tests.support.timing import grows_linearly

SHEETS = ROOT / "tests" / "fixtures" / "spreadsheets"
FILES = {"price_log.csv": "bargaining", "divisions.csv": "agenda", "camping_log.tsv": "agenda"}
MAP = """
offer.price = "price"
[columns]
match = "match"
party = "party"
action = "action"
[parties]
A = ["seller"]
B = ["buyer"]
[game]
price_hi = 10000
seller_costs = [4000]
buyer_values = [6000]
"""


def write(folder: Path, rows: str, plan: str = MAP) -> tuple[Path, Path]:
    (folder / "log.csv").write_text(rows)
    (folder / "log.toml").write_text(plan)
    return folder / "log.csv", folder / "log.toml"


@pytest.mark.parametrize(("name", "game"), FILES.items())
def test_every_row_is_part_of_a_record_that_replays_or_is_named(name: str, game: str) -> None:
    made = import_sheet(SHEETS / name, (SHEETS / name).with_suffix(".toml"), game)
    used = [row for record in made.records.values() for row in record.header.notes["rows"]]
    text = (SHEETS / name).read_text("utf-8-sig")
    delimiter = {"divisions.csv": ";", "camping_log.tsv": "\t"}.get(name, ",")
    rows = len(list(csv.reader(text.splitlines(keepends=True), delimiter=delimiter)))
    assert sorted([*used, *made.left_out]) == list(range(2, rows + 1))
    assert len(used) == len(set(used)) and not set(used) & set(made.left_out)
    for record in made.records.values():
        assert replay_differences(record) == []


def test_a_price_log_gives_a_deal_at_48_and_no_deal_is_no_price() -> None:
    made = import_sheet(SHEETS / "price_log.csv", SHEETS / "price_log.toml", "bargaining")
    deal, refused = made.records["price_log-g1"], made.records["price_log-g3"]
    assert deal.payoffs == {"A": 800, "B": 1200} and deal.header.players == {"A": "gpt-4", "B": "claude-2"}
    assert [cents for _, _, cents in final_state(deal).public.offers] == [5000, 4500, 4800]
    assert len(final_state(deal).public.messages) == 2
    assert (refused.end, final_state(refused).public.price) == ("NO_DEAL", None)
    assert "'-1' is not a number" in made.left_out[16][1] and "ends the match again" in made.left_out[22][1]
    assert "comes after the end in row 28" in made.left_out[29][1] and "out of range" in made.left_out[30][1]


def test_a_division_keeps_who_said_what_and_none_is_no_word() -> None:
    made = import_sheet(SHEETS / "divisions.csv", SHEETS / "divisions.toml", "agenda")
    said = final_state(made.records["divisions-b-001"]).public.messages
    assert [(m.seat, m.reply, m.offer, bool(m.talk)) for m in said] == [
        ("A", None, (6000,), True),
        ("B", "reject", (5000,), True),
        ("A", "accept", None, False),
    ]
    assert made.records["divisions-b-002"].end == "NO_DEAL"
    assert "shares of money" in made.left_out[12][1]


def test_claims_at_once_are_a_split(tmp_path: Path) -> None:
    plan = MAP.split("[game]")[0].replace("offer.price", "offer.coins").replace("action", "round")
    rows = "match,party,round,price\n1,seller,1,6\n1,buyer,1,4\n2,seller,1,6\n2,seller,2,5\n"
    file, map_ = write(tmp_path, rows, plan + "[game]\ncontexts = [[[10], [2], [1]]]\n")
    made = import_sheet(file, map_, "split")
    assert made.records["log-1"].payoffs == {"A": 12, "B": 4}
    assert "one claim from each party" in made.left_out[4][1]


@given(prices=st.lists(st.integers(0, 10000), min_size=1, max_size=8), accepts=st.booleans())
def test_a_match_written_as_a_price_log_comes_back_with_its_outcome(
    tmp_path_factory: pytest.TempPathFactory, prices: list[int], accepts: bool
) -> None:
    game = nl.load("bargaining", rounds=9, seller_costs=(4000,), buyer_values=(6000,), walk_away=True)
    match = nl.Match(game, seed=1)
    sides = {"A": "seller", "B": "buyer"}
    rows = ["match,party,action,price"]
    for text in [*(f"{cents / 100:.2f}" for cents in prices), "accept" if accepts else "walk away"]:
        (seat,) = match.pending()
        match.submit(seat, text)
        rows.append(f"1,{sides[seat]},,{text}" if text[0].isdigit() else f"1,{sides[seat]},{text},")
    made = import_sheet(*write(tmp_path_factory.mktemp("log"), "\n".join(rows)), "bargaining")
    again = made.records["log-1"]
    assert match.ended is not None and (again.end, again.payoffs) == (match.ended.end, match.ended.payoffs)


def test_treatments_come_along_and_each_match_is_an_observation(tmp_path: Path) -> None:
    plan = MAP.replace("[columns]", '[columns]\ntreatment = "arm"')
    matches = (("1", "Seller", "High"), ("2", " SELLER", " high"), ("3", "seller", "low"))
    rows = "".join(f"{n},{who},,50,\n{n},buyer,accept,,{arm}\n" for n, who, arm in matches)
    made = import_sheet(
        *write(tmp_path, f"match,party,action,price,arm\n{rows}4,seller,,50,\n4,buyer,accept,,\n", plan), "bargaining"
    )
    records = list(made.records.values())
    for frame in (tables.matches(records), tables.seats(records)):
        assert list(dict.fromkeys(frame["treatment"])) == ["High", "low"] and frame["draw"].nunique() == 3
    assert {record.header.players["A"] for record in records} == {"seller"}
    assert made.lost == ["4"] and "row 8: its match has nothing in 'arm'" in made.left_out[9][1]
    with pytest.raises(ValueError, match="columns has no party"):
        import_sheet(*write(tmp_path, "match,action,price\n", MAP.replace('party = "party"', "")), "bargaining")


def test_the_line_that_names_the_delimiter_for_excel_is_no_header(tmp_path: Path) -> None:
    made = import_sheet(
        *write(tmp_path, "sep=;\nmatch;party;action;price\n1;seller;;50\n1;buyer;accept;\n"), "bargaining"
    )
    assert made.records["log-1"].header.notes["rows"] == [3, 4]
    with pytest.raises(ValueError, match=r"columns\.match names the column 'match', which is not in"):
        import_sheet(*write(tmp_path, "sep=;\n"), "bargaining")


@pytest.mark.parametrize("end", ["", "1,buyer,no deal,\n"])
def test_no_deal_without_a_move_is_an_end_without_a_move(tmp_path: Path, end: str) -> None:
    plan = 'unfinished = "no deal"\n' + MAP
    (record,) = import_sheet(
        *write(tmp_path, f"match,party,action,price\n1,seller,,70\n{end}", plan), "bargaining"
    ).records.values()
    assert [event.reply.text for event in record.events if isinstance(event, Replied)] == ["70"]
    assert (record.end, record.payoffs) == ("NO_DEAL", {"A": 0, "B": 0})
    assert replay_differences(record) == []


def test_a_reason_names_the_row_where_the_fault_is(tmp_path: Path) -> None:
    plan = MAP.replace("[6000]", '["{value}"]').replace('["buyer"]', '["buyer"]\nskip = [""]')
    rows = "match,party,action,price,value\n1,seller,,70,200\n1,buyer,,60,\n1,seller,accept,,\n"
    rows += "2,seller,,70,60\n2,buyer,reject,,\n2,seller,,65,\n2,buyer,accept,,\nTotal,,,135,\n"
    made = import_sheet(*write(tmp_path, rows, plan), "bargaining")
    assert made.left_out[4][1].startswith("row 2: value must be")
    assert made.left_out[7][1] == "row 6: ends the match without an offer, but row 7 continues it: fill in the offer"
    assert made.left_out[9] == ("Total", "belongs to a party that the map skips") and made.lost == ["1", "2"]
    blank = import_sheet(*write(tmp_path, "match,party,action,price\n1,,,70\n"), "bargaining")
    assert 'skip = [""]' in blank.left_out[2][1]


@pytest.mark.parametrize(
    ("text", "decimal", "number"),
    [("$ 1,050.50", ".", "1050.5"), ("1.050,00 €", ",", "1050"), ("1 200", ".", "1200"), ("USD 45", ".", "45")],
)
def test_a_number_is_read_with_its_currency_and_its_marks(text: str, decimal: str, number: str) -> None:
    assert read_number(text, decimal) == number


@pytest.mark.parametrize("text", ["-1", "None", "45,50", "45 50", "45 cents", "", "9" * 4400])
def test_what_is_no_number_is_never_one(text: str) -> None:
    with pytest.raises(ValueError, match="is not a number"):
        read_number(text)


def test_a_mistake_in_the_map_or_the_file_is_one_line(tmp_path: Path) -> None:
    for plan, said in (
        (MAP.replace('"price"', '"prize"'), "offer.price names the column 'prize'"),
        (MAP.replace("action =", "acton ="), "did you mean action?"),
        (f'delimiter = "(x+x+)+y"\n{MAP}', "delimiter"),
        (MAP.replace('"price"', '{ B = "price" }'), r"log\.toml: offer.price must name one column, or a column each"),
        (MAP.replace('["buyer"]', '["buyer", "Seller"]'), r"log\.toml: parties: 'seller' has two meanings: list it"),
        (MAP.replace("[game]", '[game]\npreset = "../other.toml"'), "preset is outside the map's folder: copy"),
        *(
            (
                MAP.replace("[game]", f"[game]\npreset = {preset}"),
                "game.preset must be a preset's name or a file beside",
            )
            for preset in ('["casino"]', "5", '"{price}"', '"a\\u0000.toml"')
        ),
    ):
        with pytest.raises(ValueError, match=said):
            import_sheet(*write(tmp_path, "match,party,action,price\n", plan), "bargaining")
    for sheet, said in (
        ("", "has no rows"),
        ("," * 20_000, "the widest with 20,001 cells"),
        ("," * 9_000 + "\n,," * 2_000, ": 2,001 rows"),
    ):
        with pytest.raises(ValueError, match=said):
            import_sheet(*write(tmp_path, sheet), "bargaining")
    with pytest.raises(ValueError, match="imported as agenda, bargaining, split, not as 'trading'"):
        import_sheet(*write(tmp_path, ""), "trading")
    file, map_ = write(tmp_path, "")
    file.write_bytes("match,party,action,price\n1,seller,,5\xa3\n".encode("latin-1"))
    with pytest.raises(ValueError, match="line 2: not UTF-8 text"):
        import_sheet(file, map_, "bargaining")


def test_the_commands_draft_a_map_and_import_by_it(tmp_path: Path) -> None:
    rows = (
        "game_id,role,decision,price,cost,value\n1,seller,,50,40,60\n1,buyer,,45,,\n1,seller,,48,,\n1,buyer,accept,,,\n"
    )
    (tmp_path / "mine.csv").write_text(rows)
    succeeding("new", "import-map", "mine.csv", cwd=tmp_path)
    args = ("import", "csv", "mine.csv", "--game", "bargaining", "--map", "mine.toml", "--out", "run")
    ran = negolab(*args, cwd=tmp_path)
    assert ran.returncode == 0 and "1 record (1 AGREED)" in ran.stdout, ran.stderr
    assert "left out: 0 of 1 match, 0 rows" in ran.stdout
    succeeding("check", "run", cwd=tmp_path)
    assert "already has records" in negolab(*args, cwd=tmp_path).stderr


def test_a_draft_finds_columns_by_their_heads_and_lists_their_words(tmp_path: Path) -> None:
    rows = 'Neg #,Condition,Who,Name,Offer (USD),Accepted?\n1,x,Seller,Bo,"1,500.50",no\n'
    rows += "1,x,Buyer ,Cy,n/a,yes\n1,x,seller,Bo,1,\n"
    (tmp_path / "mine.csv").write_text(rows)
    succeeding("new", "import-map", "mine.csv", cwd=tmp_path)
    drafted = read_map(tmp_path / "mine.toml")
    assert drafted.columns == {
        "match": "Neg #", "party": "Who", "action": "Accepted?", "player": "Name", "treatment": "Condition"
    }  # fmt: skip
    assert drafted.parties == {"A": ("Seller",), "B": ("Buyer",)} and drafted.game["price_hi"] == 150050
    assert 'action = "Accepted?"   # "no", "yes"\n' in (tmp_path / "mine.toml").read_text()


def test_a_draft_holds_the_names_of_columns_as_notes_whatever_they_are(tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text('match,party,price,"odd\n[actions]\naccept = [""offer""]"\n1,seller,5,x\n')
    succeeding("new", "import-map", "mine.csv", cwd=tmp_path)
    assert read_map(tmp_path / "mine.toml").actions == {}


def test_a_report_shows_no_other_file_as_what_was_left_out(tmp_path: Path) -> None:
    (tmp_path / "private.csv").write_text("match,reason\nconfidential,why\n")
    run = kept(tmp_path / "run", bargained())
    for left_out in ("match\n1\n", None):
        (run / LEFT_OUT).unlink(missing_ok=True)
        (run / LEFT_OUT).write_text(left_out) if left_out else (run / LEFT_OUT).symlink_to(tmp_path / "private.csv")
        assert "confidential" not in str(Report(run).body()[0])


def test_a_report_compares_treatments_and_counts_what_was_left_out(tmp_path: Path) -> None:
    plan = MAP.replace("[columns]", '[columns]\ntreatment = "arm"')
    rows = "".join(f"{n},seller,,{50 + n},{'ab'[n % 2]}\n{n},buyer,accept,,\n" for n in range(8))
    write(tmp_path, f"match,party,action,price,arm\n{rows}9,seller,,50,a\n", plan)
    succeeding(*["import", "csv", "log.csv", "--game", "bargaining", "--map", "log.toml", "--out", "run"], cwd=tmp_path)
    text = str(Report(tmp_path / "run").body()[0])
    assert "with treatment b than with a" in text and "8 matches." in text
    assert "does not end the match, and no row follows" in text.partition("What went wrong")[2]


@pytest.mark.long
@pytest.mark.alone
@pytest.mark.parametrize("has_rounds", [False, True])
def test_rows_are_read_in_time_linear_in_their_number(tmp_path: Path, has_rounds: bool) -> None:
    plan = MAP.replace("[columns]", '[columns]\nmessage = "words"' + '\nround = "round"' * has_rounds)
    (tmp_path / "map.toml").write_text(plan)
    importer = Importer(read_map(tmp_path / "map.toml"), "agenda")

    def reading(count: int) -> Callable[[], object]:
        """Of one match, in which nobody offers anything before the end."""
        empty = {"": "", "action": "", "price": ""}
        rows = {
            n: {"party": ("seller", "buyer")[n % 2], "round": str(n), "words": str(n), **empty} for n in range(count)
        }
        rows[count] = {**empty, "party": "buyer", "round": str(count), "words": "", "action": "walk away"}
        assert importer.log("1", rows) is not None
        return partial(importer.log, "1", rows)

    assert grows_linearly(reading, 2_000)
