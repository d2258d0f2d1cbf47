"""Spreadsheets in published style, with dirt in them, as records: every row is part of one or named with a reason."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import negolab as nl
from negolab.formats.spreadsheet import import_sheet, read_number
from negolab.record import final_state
from negolab.verification import replay_differences
from tests.conftest import ROOT
from tests.support.command import negolab, succeeding

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
    assert made.records["divisions-b-002"].end == "OUT_OF_TIME"
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


@pytest.mark.parametrize(
    ("text", "decimal", "number"),
    [("$ 1,050.50", ".", "1050.5"), ("1.050,00 €", ",", "1050"), ("1 200", ".", "1200"), ("USD 45", ".", "45")],
)
def test_a_number_is_read_with_its_currency_and_its_marks(text: str, decimal: str, number: str) -> None:
    assert read_number(text, decimal) == number


@pytest.mark.parametrize("text", ["-1", "None", "45,50", "45 50", "45 cents", ""])
def test_what_is_no_number_is_never_one(text: str) -> None:
    with pytest.raises(ValueError, match="is not a number"):
        read_number(text)


def test_a_mistake_in_the_map_or_the_file_is_one_line(tmp_path: Path) -> None:
    for plan, said in (
        (MAP.replace('"price"', '"prize"'), "offer.price names the column 'prize'"),
        (MAP.replace("action =", "acton ="), "did you mean action?"),
    ):
        with pytest.raises(ValueError, match=said):
            import_sheet(*write(tmp_path, "match,party,action,price\n", plan), "bargaining")
    for sheet, said in (
        ("", "has no rows"),
        ("," * 20_000, "one of them of 20,001 cells"),
        ("," * 9_000 + "\n,," * 2_000, "has 2,001 rows"),
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
    succeeding("check", "run", cwd=tmp_path)
    assert "already has records" in negolab(*args, cwd=tmp_path).stderr
