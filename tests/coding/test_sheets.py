"""Codebooks, blind sheets and readings: what coders get, what is read back, and that nothing is lost."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZIP_BZIP2, ZIP_DEFLATED, ZIP_LZMA, ZipFile

import pandas as pd
import pytest

import negolab as nl
from negolab._internal.files import MAX_BYTES
from negolab.analysis.columns import write_xlsx
from negolab.coding import units as coding
from negolab.coding.agreement import agreement, kappas
from negolab.coding.codebook import Code, Codebook, read_codebook
from negolab.coding.units import (
    Place,
    Reading,
    Unit,
    all_readings,
    exchange,
    keep,
    latest,
    read_sheet,
    readings_file,
    units,
    write_sheet,
)
from negolab.match import Match
from tests.analysis.test_export import kept
from tests.coding.dialogues import bargained
from tests.support.command import negolab, succeeding

BOOK = """
[codes.threat]
definition = "Announces something bad."
[codes.tone]
definition = "How friendly it is."
scale = [1, 5]
"""


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Three matches, whose players and treatment have telling names."""
    records = [bargained(id=f"treatment-{n}", cost=4000 + n, value=6500 + n) for n in range(3)]
    (tmp_path / "tone.toml").write_text(BOOK)
    return kept(tmp_path / "run", *records)


@pytest.fixture
def book(run: Path) -> Codebook:
    return read_codebook(run.parent / "tone.toml")[1]


def fill(sheet: Path, **columns: str) -> pd.DataFrame:
    """Fill in columns of a sheet, the same in each row."""
    read = pd.read_excel if sheet.suffix == ".xlsx" else pd.read_csv
    frame: pd.DataFrame = read(sheet, dtype=str, keep_default_na=False).assign(**columns)
    frame.to_excel(sheet, index=False) if sheet.suffix == ".xlsx" else frame.to_csv(sheet, index=False)
    return frame


@pytest.mark.parametrize("ending", ["csv", "xlsx"])
def test_a_sheet_is_written_filled_in_and_read_back_as_often_as_one_likes(run: Path, ending: str) -> None:
    sheet = run.parent / f"anna.{ending}"
    command = ("code", str(run), "--book", str(run.parent / "tone.toml"), "--coder", "anna", "--sheet", str(sheet))
    first = negolab(*command)
    assert first.returncode == 0 and "fill in its 9 rows" in first.stdout, first.stderr
    assert "0 of 9 are coded" in negolab(*command).stdout
    fill(sheet, threat="x", tone="4")
    assert "9 new or changed; 9 of 9 are coded" in negolab(*command).stdout
    assert "0 new or changed; 9 of 9 are coded" in negolab(*command).stdout
    fill(sheet, threat="", tone="2")
    assert "9 new or changed" in negolab(*command).stdout
    assert len(all_readings(run)) == 18, "what was answered before is kept"
    own = latest(run, "tone")["anna"]
    assert {(reading.codes["threat"], reading.codes["tone"]) for reading in own.values()} == {(0, 2)}
    assert all(reading.at > 0 for reading in own.values())


def test_what_is_played_later_gets_a_sheet_of_its_own_and_no_sheet_is_written_over(run: Path, book: Codebook) -> None:
    sheet = sheet_of(run, book)
    text = sheet.read_bytes()
    kept(run / "more", bargained(id="later"))
    _, written = exchange(run, "tone", book, "anna")
    assert "tone-anna-part2.csv was written: fill in its 3 rows" in written and sheet.read_bytes() == text
    assert exchange(run, "tone", book, "anna") == ["anna: 0 new or changed; 0 of 12 are coded"]
    sheet.with_stem("tone-anna-part2").rename(third := sheet.with_stem("tone-anna-part3"))
    kept(run / "most", bargained(id="last"))
    third.write_bytes(text := third.read_bytes() + b",,,,\n\n")
    assert "tone-anna-part2.csv was written: fill in its 3 rows" in exchange(run, "tone", book, "anna")[1]
    assert third.read_bytes() == text, "a sheet in between was gone"
    with pytest.raises(ValueError, match="'anna-part2': a coder's name cannot end in -part"):
        exchange(run, "tone", book, "anna-part2")


def sheet_of(run: Path, book: Codebook) -> Path:
    """The sheet that is written for anna."""
    exchange(run, "tone", book, "anna")
    return run / "codes" / "tone-anna.csv"


def everything_given(run: Path, book: Codebook) -> Iterator[str]:
    """All that a coder is given of a run, as text."""
    for unit in units(run, book.unit).values():
        yield " ".join((unit.id, unit.text, *unit.before))
    yield sheet_of(run, book).read_text()


@pytest.mark.parametrize("kind", ["utterance", "seat", "match"])
def test_a_coder_is_blind_to_players_treatments_values_payoffs_and_what_came_later(run: Path, kind: str) -> None:
    (run.parent / "tone.toml").write_text(f'unit = "{kind}"\n{BOOK}')
    _, book = read_codebook(run.parent / "tone.toml")
    one = list(everything_given(run, book))
    hidden = ("anna-bot", "llm:secret", "treatment", "4001", "6501", "seller", "buyer", "AGREED", "1500", "55")
    assert not [(word, given) for given in one for word in hidden if word in re.sub(r"u[0-9a-f]{12}", "", given)]
    # The same words of other players with other values, who end otherwise, are given alike.
    texts = ("59\\nMESSAGE: My cost is $40.", "51\\nMESSAGE: Too much for me.", "56\\nMESSAGE: Take it or leave it.")
    other = [
        bargained(*(text.replace("\\n", "\n") for text in texts), id=f"treatment-{n}", cost=3000, value=9000)
        for n in range(3)
    ]
    assert list(everything_given(kept(run.parent / "again" / "run", *other), book)) == one


def test_an_utterance_comes_with_what_was_said_before_it_and_nothing_later(run: Path) -> None:
    given = {place.turn: unit for place, unit in units(run, "utterance").items() if place.match == "treatment-0"}
    assert given[0].before == () and given[1].before == ("other speaker: My cost is $40.",)
    assert given[2].before == ("same speaker: My cost is $40.", "other speaker: Too much for me.")


def test_a_damaged_record_is_named(tmp_path: Path) -> None:
    file = kept(tmp_path / "run", bargained(id="m7")) / "records.jsonl"
    whole, damaged = '"private":{"A":{"cost":4000}', '"private":{"A":{}'
    file.write_text(file.read_text().replace(whole, damaged))
    with pytest.raises(ValueError, match="record m7: AssertionError"):
        units(file, "seat")


def test_a_long_match_comes_with_what_was_said_last(tmp_path: Path) -> None:
    match = Match(nl.load("bargaining", talk="both", rounds=100, walk_away=True), seed=1)
    for n in range(99):
        match.submit(next(iter(match.pending())), f"{40 + n % 10}\nMESSAGE: line {n}")
    match.abort("enough")
    *_, last = units(kept(tmp_path / "run", match.record()), "utterance").values()
    assert [line.rpartition(" ")[2] for line in last.before] == [str(n) for n in range(48, 98)]


def test_coders_have_orders_of_their_own_and_their_first_units_in_common() -> None:
    found = [coding.Unit(f"u{n}", str(n)) for n in range(50)]
    anna, ben = (coding.drawn_order(found, coder) for coder in ("anna", "ben"))
    assert anna != ben and anna[:20] != found[:20] and sorted(anna) == sorted(ben) == sorted(found)
    assert set(anna[:20]) == set(ben[:20]) and anna == coding.drawn_order(found[::-1], "anna")


def test_formulas_in_what_was_said_are_text_and_ids_survive(book: Codebook, tmp_path: Path) -> None:
    run = kept(tmp_path / "own", bargained("60\nMESSAGE: =1+1", "50\nMESSAGE: @SUM(A1)", "accept"))
    sheet = sheet_of(run, book)
    frame = fill(sheet, tone="3")
    assert set(frame["text"]) == {"'=1+1", "'@SUM(A1)"}
    assert exchange(run, "tone", book, "anna") == ["anna: 2 new or changed; 2 of 2 are coded"]


@pytest.mark.parametrize(
    ("column", "cell", "said"),
    [
        ("tone", "9", "row 2: tone: '9' is not a valid value: write a whole number from 1 to 5"),
        ("threat", "maybe", "row 2: threat: 'maybe' is not a valid value: write 1 for yes or 0 for no"),
        ("tone", "--1", "row 2: tone: '--1' is not a valid value: write a whole number from 1 to 5"),
        ("id", "u0", "row 'u0' is not in"),
    ],
)
def test_a_cell_that_cannot_be_read_is_named_and_nothing_of_the_sheet_is_kept(
    run: Path, book: Codebook, column: str, cell: str, said: str
) -> None:
    sheet = sheet_of(run, book)
    fill(sheet, **{"tone": "3", column: cell})
    with pytest.raises(ValueError, match=re.escape(said)):
        exchange(run, "tone", book, "anna")
    assert not all_readings(run)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "codes is missing"),
        ("[codes]", "codes: no codes are defined: write [codes.NAME] and its definition"),
        ("[codes.text]\ndefinition = 'x'", "text is a column of every sheet"),
        ("[codes.a]\ndefinition = ' '", "definition is empty"),
        ("[codes.a]\ndefinition = 'x'\nscale = [5, 1]", "is not a scale: write [1, 5]"),
        ("[codes.a]\ndefinition = 'x'\nscale = [0, 1001]", "has more than 1,001 values"),
        ("exclusive = true\n[codes.a]\ndefinition = 'x'\nscale = [1, 5]", "exclusive codes must be yes or no"),
        ("unit = 'word'\n[codes.a]\ndefinition = 'x'", "unit must be one of match, seat, utterance"),
        ("[codes.a]\ndefinition = 'x'\nexample = ['y']", "unknown field `example`"),
    ],
)
def test_a_mistake_in_a_codebook_is_named_in_one_line(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "mine.toml").write_text(text)
    with pytest.raises(ValueError, match=re.escape(said)) as error:
        read_codebook(tmp_path / "mine.toml")
    assert "mine.toml" in str(error.value) and "\n" not in str(error.value)


def test_a_new_codebook_can_be_used_at_once_and_holds_the_strategies_of_casino(tmp_path: Path) -> None:
    succeeding("new", "codebook", "mine", cwd=tmp_path)
    name, book = read_codebook(tmp_path / "mine.toml")
    assert name == "mine" and {"small-talk", "uv-part", "non-strategic", "threat", "promise"} <= book.codes.keys()


def test_two_coders_at_once_and_a_kill_lose_nothing(run: Path) -> None:
    write = (
        "import sys; from pathlib import Path; from negolab.coding.units import Place, Reading, keep\n"
        "for n in range(200): keep(Path(sys.argv[1]), [Reading(book='b', coder=sys.argv[2], place=Place('m', turn=n),"
        " codes={'a': 1}, quotes={'a': 'x' * 500})])"
    )
    both = [subprocess.Popen([sys.executable, "-c", write, str(run), coder]) for coder in ("anna", "ben")]
    assert [one.wait(60) for one in both] == [0, 0]
    with coding.readings_file(run).open("ab") as file:
        file.write(b'{"book": "b", "coder": "ce')
    keep(run, [Reading(book="b", coder="ben", place=Place("m", turn=0), codes={})])
    found = latest(run, "b")
    assert len(found["anna"]) == 200 and len(found["ben"]) == 199, "a torn line loses itself alone, and undo is kept"


@pytest.mark.parametrize(
    ("reading", "said"),
    [
        ("[1, 2]", "line 2 is not a reading (Expected `object`, got `array`)"),
        ('{"book": "b", "coder": "c", "place": ["m"], "codes": {"a": 1%s}}' % ("0" * 400), "line 2 is not a reading"),
        ('{"book": "b", "coder": "c", "place": ["m"], "codes": {"a": 1}, "at": 1e300}', "line 2 is not a reading"),
    ],
)
def test_a_damaged_reading_is_named_with_its_line(run: Path, reading: str, said: str) -> None:
    keep(run, [Reading(book="tone", coder="anna", place=Place("treatment-0", turn=0, seat="A"), codes={"tone": 2})])
    with coding.readings_file(run).open("a") as file:
        file.write(reading)
    file_lines = coding.readings_file(run).read_text().split("\n")
    said = said.replace("line 2", f"line {len(file_lines)}")
    with pytest.raises(ValueError, match=re.escape(f"{coding.readings_file(run)}: {said}")):
        all_readings(run)


def test_more_coders_codes_or_values_than_a_study_has_are_refused(run: Path, book: Codebook) -> None:
    def reading(coder: str = "anna", turn: int = 0, **codes: int) -> Reading:
        return Reading(book="tone", coder=coder, place=Place("treatment-0", turn=turn, seat="A"), codes=codes)

    keep(run, [reading(turn=turn, tone=turn) for turn in range(1002)])
    with pytest.raises(ValueError, match="tone has more than 1,001 different values"):
        agreement(book, latest(run, "tone"))
    keep(run, [reading(f"c{n}", tone=1) for n in range(30)])
    assert kappas(book, {name: {} for name in latest(run, "tone")}).empty, "pairs of so many are not compared"
    keep(run, [reading(f"c{n}", tone=1) for n in range(99)])
    said = r"readings\.ndjson: 101 coders and 2 codes exceed the maximum of 100 coders, or of 1,000 for"
    with pytest.raises(ValueError, match=said):
        exchange(run, "tone", book, "another")
    assert len(latest(run, "tone")) == 100, "and nothing of theirs was kept"


def test_coders_and_codes_that_would_take_minutes_to_compare_are_refused(run: Path) -> None:
    def given(coder: str, codes: int) -> Reading:
        place = Place("treatment-0", turn=0, seat="A")
        return Reading(book="tone", coder=coder, place=place, codes={f"c{n}": 1 for n in range(codes)})

    keep(run, [given(f"coder-{n}", 200) for n in range(5)])
    assert len(latest(run, "tone")) == 5
    keep(run, [given("coder-0", 201)])
    with pytest.raises(ValueError, match="5 coders and 201 codes exceed the maximum of 100 coders, or of 1,000 for"):
        latest(run, "tone")


def test_a_filled_sheet_of_more_codes_than_can_be_read_again_is_refused_before_any_is_kept(run: Path) -> None:
    big = Codebook(codes={f"c{n}": Code(definition="x") for n in range(1001)})
    sheet = run.parent / "anna.csv"
    write_sheet(sheet, [*units(run, big.unit).values()], big)
    fill(sheet, c0="1")
    with pytest.raises(ValueError, match="1 coders and 1,001 codes exceed the maximum of 100 coders, or of 1,000 for"):
        exchange(run, "big", big, "anna", sheet)
    assert not all_readings(run)


def test_readings_that_the_file_has_no_room_for_are_refused_and_those_there_are_still_read(
    run: Path, book: Codebook
) -> None:
    fill(sheet_of(run, book), threat="1", tone="2")
    file = readings_file(run)
    file.write_bytes(b"x" * (MAX_BYTES - 20))
    with pytest.raises(ValueError, match=r"readings\.ndjson is full, at the maximum of 64 MiB"):
        exchange(run, "tone", book, "anna")
    assert all_readings(run) == []


def test_codes_are_neither_read_nor_written_through_links(run: Path, book: Codebook, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (run / "codes").symlink_to(outside)
    with pytest.raises(ValueError, match="codes is a symbolic link"):
        exchange(run, "tone", book, "anna")
    assert not [*outside.iterdir()]
    (run / "codes").unlink()
    (run / "codes").mkdir()
    (outside / "own.csv").write_text("id,threat,tone\n912345678,1,2\n")
    (run / "codes" / "tone-anna.csv").symlink_to(outside / "own.csv")
    assert "9 rows" in exchange(run, "tone", book, "anna")[-1], "the link is replaced by the sheet"
    assert (outside / "own.csv").read_text().endswith("912345678,1,2\n")


@pytest.mark.parametrize("ending", ["csv", "xlsx"])
def test_a_unit_or_a_column_that_stands_twice_in_a_sheet_is_named(run: Path, book: Codebook, ending: str) -> None:
    sheet = run.parent / f"anna.{ending}"
    exchange(run, "tone", book, "anna", sheet)
    frame = fill(sheet, threat="1", tone="2")
    twice = pd.concat([frame, frame.iloc[:1].assign(tone="3")])
    columns = frame.rename(columns={"before": "tone"})
    for changed, said in ((twice, "appears twice with different codes"), (columns, "tone is present twice")):
        changed.to_excel(sheet, index=False) if ending == "xlsx" else changed.to_csv(sheet, index=False)
        with pytest.raises(ValueError, match=said):
            exchange(run, "tone", book, "anna", sheet)
    assert not all_readings(run)


def share_text(sheet: Path, text: str, cells: int) -> None:
    """Add rows of four cells to a workbook that share one text."""
    with ZipFile(sheet) as packed:
        parts = {name: packed.read(name).decode() for name in packed.namelist()}
    page, texts = "xl/worksheets/sheet1.xml", "xl/sharedStrings.xml"
    row = '<c t="s"><v>0</v></c>' * 4
    rows = f"<row>{row}</row>" * (cells // 4)
    parts[page] = re.sub("<dimension.*?/>", "", parts[page].replace("</sheetData>", f"{rows}</sheetData>"))
    head = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml.sharedStrings+xml"
    kinds = "[Content_Types].xml"
    parts[kinds] = parts[kinds].replace("</Types>", f'<Override PartName="/{texts}" ContentType="{kind}"/></Types>')
    parts[texts] = f"<sst {head}><si><t>{text}</t></si></sst>"
    with ZipFile(sheet, "w", ZIP_DEFLATED) as packed:
        for name, part in parts.items():
            packed.writestr(name, part)


def rewrite_rows(sheet: Path, rows: str, before: str = "") -> None:
    """Write other rows into the first sheet of a workbook, and text before it."""
    with ZipFile(sheet) as packed:
        parts = {name: packed.read(name) for name in packed.namelist()}
    with ZipFile(sheet, "w", ZIP_DEFLATED) as packed:
        for name, part in parts.items():
            whole = f"<sheetData>{rows}</sheetData>".encode()
            cells = re.sub(b"<sheetData>.*</sheetData>", whole, part, flags=re.DOTALL)
            packed.writestr(name, before.encode() + cells if "worksheets/sheet1" in name else part)


def test_a_workbook_that_is_none_or_has_a_cell_far_outside_is_read_in_one_line(run: Path, book: Codebook) -> None:
    from openpyxl import load_workbook

    sheet = run.parent / "anna.xlsx"
    exchange(run, "tone", book, "anna", sheet)
    fill(sheet, threat="1", tone="2")
    workbook = load_workbook(sheet)
    workbook.worksheets[0]["XFD100000"] = "x"
    workbook.save(sheet)
    assert "9 of 9 are coded" in exchange(run, "tone", book, "anna", sheet)[0]
    share_text(sheet, random.Random(1).randbytes(16_000).hex(), cells=3_000)
    with pytest.raises(
        ValueError, match=r"anna\.xlsx cannot be read as a workbook: it exceeds the maximum of 64 MiB of text"
    ):
        exchange(run, "tone", book, "anna", sheet)
    styled = run.parent / "styled.xlsx"
    with ZipFile(styled, "w", ZIP_DEFLATED) as packed:
        packed.writestr("xl/styles.xml", b"<xf/>" * 300_000)
    with pytest.raises(
        ValueError, match=r"styled\.xlsx cannot be read as a workbook: its xl/styles\.xml has more than 131,072"
    ):
        exchange(run, "tone", book, "anna", styled)
    with ZipFile(sheet, "a", ZIP_DEFLATED) as packed:
        packed.writestr("xl/more.xml", b" " * (65 << 20))
    with pytest.raises(ValueError, match=r"anna\.xlsx cannot be read as a workbook: it exceeds the maximum of 64 MiB"):
        exchange(run, "tone", book, "anna", sheet)
    sheet.write_bytes(b"no workbook")
    with pytest.raises(ValueError, match=r"anna\.xlsx cannot be read as a workbook"):
        exchange(run, "tone", book, "anna", sheet)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_in_place_of_a_workbook_is_not_waited_for(run: Path) -> None:
    os.mkfifo(pipe := run.parent / "anna.xlsx")
    words = ("code", str(run), "--book", str(run.parent / "tone.toml"), "--coder", "anna", "--sheet", str(pipe))
    ran = negolab(*words, timeout=20)
    assert ran.returncode == 2 and "anna.xlsx cannot be read as a workbook" in ran.stderr


def test_a_workbook_ends_at_the_last_row_that_a_program_can_make(run: Path, book: Codebook) -> None:
    sheet = run.parent / "anna.xlsx"
    exchange(run, "tone", book, "anna", sheet)
    rewrite_rows(sheet, '<row r="99999999999"><c><v>1</v></c></row>')
    with pytest.raises(ValueError, match=r"anna\.xlsx: the column id is missing"):
        exchange(run, "tone", book, "anna", sheet)


def test_a_workbook_of_many_rows_that_are_padded_to_a_wide_header_is_refused_before_it_fills_the_memory(
    run: Path, book: Codebook
) -> None:
    sheet = run.parent / "anna.xlsx"
    exchange(run, "tone", book, "anna", sheet)
    head = "".join(f'<c t="str"><v>c{n}</v></c>' for n in range(900))
    rewrite_rows(sheet, f"<row>{head}</row>{'<row><c><v>1</v></c></row>' * 10_000}")
    with pytest.raises(
        ValueError, match=r"anna\.xlsx cannot be read as a workbook: it exceeds the maximum of 64 MiB of text"
    ):
        exchange(run, "tone", book, "anna", sheet)


@pytest.mark.parametrize(
    "row",
    [
        "<c><is>" * 1_200_000 + "</is></c>" * 1_200_000,
        "<c/>" * 3_000_000,
        f'<c a="{"x>" * 8_000_000}"/>',
        f"<c {' '.join(f'a{n}={chr(34) * 2}' for n in range(400_000))}/>",
        f"<!-- {'x>' * 8_000_000} -->",
        f"<?x {('x>' * 50_000 + '<') * 160} ?>",
    ],
    ids=["deep", "wide", "attribute", "attributes", "comment", "instruction"],
)
def test_a_workbook_of_very_many_or_long_elements_is_refused_before_it_is_parsed(
    row: str, run: Path, book: Codebook
) -> None:
    sheet = run.parent / "anna.xlsx"
    exchange(run, "tone", book, "anna", sheet)
    rewrite_rows(sheet, f"<row>{row}</row>", before=" " * 9)
    with pytest.raises(ValueError, match=r"anna\.xlsx cannot be read as a workbook: its xl/worksheets/sheet1\.xml has"):
        exchange(run, "tone", book, "anna", sheet)


def test_a_query_or_a_picture_in_a_workbook_is_not_read(run: Path, book: Codebook) -> None:
    sheet = run.parent / "anna.xlsx"
    exchange(run, "tone", book, "anna", sheet)
    with ZipFile(sheet, "a", ZIP_DEFLATED) as packed:
        packed.writestr(
            "customXml/item1.xml", f"<?xml version='1.0'?><DataMashup>{'A' * 300_000}</DataMashup>".encode("utf-16")
        )
        packed.writestr("xl/media/image1.jpeg", b"\xff\xd8" + b"<" * 200_000)
    assert "0 of 9 are coded" in exchange(run, "tone", book, "anna", sheet)[0]


def rewrite(sheet: Path, part: str, old: str, new: str) -> None:
    """Replace text in a part of a workbook."""
    with ZipFile(sheet) as packed:
        parts = {name: packed.read(name) for name in packed.namelist()}
    assert old.encode() in parts[part]
    with ZipFile(sheet, "w", ZIP_DEFLATED) as packed:
        for name, xml in parts.items():
            packed.writestr(name, xml.replace(old.encode(), new.encode()) if name == part else xml)


def test_an_empty_chart_and_a_link_to_another_workbook_are_not_read(run: Path, book: Codebook) -> None:
    from openpyxl import load_workbook

    sheet = run.parent / "anna.xlsx"
    exchange(run, "tone", book, "anna", sheet)
    workbook = load_workbook(sheet)
    workbook.create_chartsheet("Chart", 0)
    workbook.save(sheet)
    space = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    link = f'<externalReferences><externalReference xmlns:r="{space}" r:id="rId99"/></externalReferences>'
    rewrite(sheet, "xl/workbook.xml", "</workbook>", f"{link}</workbook>")
    assert "0 of 9 are coded" in exchange(run, "tone", book, "anna", sheet)[0]


@pytest.mark.parametrize("formula", ["<f>1+0</f><v></v>", "<f>1+0</f>", '<f t="shared" si="0"/><v />'])
def test_a_formula_without_a_value_is_refused_with_its_row_and_one_with_a_value_is_read(
    formula: str, run: Path, book: Codebook
) -> None:
    sheet = run.parent / "anna.xlsx"
    exchange(run, "tone", book, "anna", sheet)
    fill(sheet, threat="1", tone="2")
    page, cell = "xl/worksheets/sheet1.xml", '<c r="D4" t="inlineStr"><is><t>1</t></is></c>'
    computed = '<c r="D4"><f>1+0</f><v>1</v></c><c r="F4" t="str"><f>""</f><v></v></c>'
    rewrite(sheet, page, cell, computed)
    assert "9 of 9 are coded" in exchange(run, "tone", book, "anna", sheet)[0]
    rewrite(sheet, page, computed, f'<c r="D4">{formula}</c>')
    said = "read as a workbook: row 4 has a formula without a value: replace formulas by their values"
    with pytest.raises(ValueError, match=rf"anna\.xlsx cannot be {said}"):
        exchange(run, "tone", book, "anna", sheet)


def test_a_workbook_in_a_format_that_is_not_read_is_refused_with_what_to_do(run: Path, book: Codebook) -> None:
    sheet = run.parent / "anna.xlsx"
    exchange(run, "tone", book, "anna", sheet)
    usual = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    rewrite(sheet, "xl/workbook.xml", usual, "http://purl.oclc.org/ooxml/spreadsheetml/main")
    with pytest.raises(ValueError, match=r"Strict Open XML: save it as an ordinary Excel workbook or as a \.csv file"):
        exchange(run, "tone", book, "anna", sheet)


def test_a_text_with_characters_that_no_workbook_may_hold_is_read_back_without_them(run: Path, book: Codebook) -> None:
    sheet = run.parent / "anna.xlsx"
    write_sheet(sheet, [Unit("one", "a\x1f\ufffe\uffffb")], book)
    assert [id for id, _ in read_sheet(sheet, book)] == ["one"]
    write_xlsx([pd.DataFrame({"payoff\ufffe": [1]})], sheet)
    assert pd.read_excel(sheet).columns.tolist() == ["payoff\ufffd"]


@pytest.mark.parametrize("packing", [ZIP_DEFLATED, ZIP_BZIP2, ZIP_LZMA])
def test_a_damaged_workbook_is_refused_by_its_name(packing: int, run: Path, book: Codebook) -> None:
    sheet = run.parent / "anna.xlsx"
    exchange(run, "tone", book, "anna", sheet)
    with ZipFile(sheet) as packed:
        parts = {name: packed.read(name) for name in packed.namelist()}
    with ZipFile(sheet, "w", packing) as packed:
        for name, xml in parts.items():
            packed.writestr(name, xml)
    with ZipFile(sheet) as packed:
        place = next(part.header_offset for part in packed.infolist() if "sheet1" in part.filename) + 100
    whole, drawn = sheet.read_bytes(), random.Random(1)
    for _ in range(20):
        damaged = bytearray(whole)
        for at in drawn.sample(range(place, place + 200), 20):
            damaged[at] = drawn.randrange(256)
        sheet.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"anna\.xlsx cannot be read as a workbook: "):
            list(read_sheet(sheet, book))


def test_a_text_that_a_workbook_would_cut_is_refused(run: Path, book: Codebook) -> None:
    sheet = run.parent / "anna.xlsx"
    unit = Unit("one", "x" * 32_768)
    with pytest.raises(
        ValueError, match=r"anna\.xlsx: a cell of a workbook can contain 32,767 characters, but one here"
    ):
        write_sheet(sheet, [unit], book)
    assert not sheet.exists()


@pytest.mark.parametrize("ending", ["csv", "xlsx"])
def test_a_sheet_ends_where_it_could_not_be_read_back_and_the_next_one_goes_on(
    ending: str, run: Path, book: Codebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    sheet = run.parent / f"anna[1].{ending}"  # as a browser calls a second download
    whole = sum(len("".join((unit.text, *unit.before))) for unit in units(run, book.unit).values())
    monkeypatch.setattr("negolab.coding.units._MAX_TEXT", whole // 2)
    said = [exchange(run, "tone", book, "anna", sheet)[-1] for _ in range(9)]
    rows = [len([*read_sheet(path, book)]) for path in run.parent.glob(f"anna*.{ending}")]
    assert sum(rows) == 9 and len(rows) > 1 and f"fill in its {max(rows)} rows" in said[0]
    assert "are coded" in said[-1], "every unit is in a sheet"


def test_codes_are_exported_by_match_turn_and_seat_and_records_are_read_as_before(run: Path, book: Codebook) -> None:
    fill(sheet_of(run, book), threat="1", tone="2")
    exchange(run, "tone", book, "anna")
    assert negolab("export", str(run), "--to", "csv").stdout.count("18 codes") == 1
    codes, said = (pd.read_csv(run / f"{table}.csv") for table in ("codes", "utterances"))
    joined = said.merge(codes, on=["match", "turn", "seat"])
    assert len(joined) == len(codes) == 18 and set(joined[joined["code"] == "tone"]["value"]) == {2}
    assert "codes,value,integer" in (run / "dictionary.csv").read_text()
    assert len(nl.read(run)) == 3
