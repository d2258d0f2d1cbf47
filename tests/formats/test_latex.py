"""Printed transcripts: the LaTeX source, and the text of its PDF."""

from __future__ import annotations

import re
import subprocess
import unicodedata
from functools import cache
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from negolab.catalog import game_names, load
from negolab.formats import transcript
from negolab.formats.transcript.latex import escape_character, escape_latex
from negolab.game import Invalid
from negolab.games.balloon import Instance
from negolab.match import Match
from negolab.record import Record, SeatRecord
from tests.conftest import missing, needs
from tests.formats.test_transcript import golden

TEXLIVE = "texlive-latex-recommended texlive-latex-extra lmodern"
LINE = st.text(st.characters(exclude_characters="\r\n"), max_size=400)
COMMAND = re.compile(r"\\([A-Za-z]+|.)", re.DOTALL)
ALL_ASCII = "".join(map(chr, range(32, 127)))
ATTACKS = (
    "\\end{tcolorbox}\\end{document}",
    "\\input{/etc/passwd} \\openin5=/etc/passwd \\immediate\\write18{touch caught} \\def\\par{}",
    "^^5cinput{/etc/passwd} ^^M^^M ^^00 \\csname end\\endcsname",
    "\\immediate\\openout5=caught \\immediate\\write5{x}\\catcode`\\%=0 %input{/etc/passwd} \\usepackage{caught}",
    "%\n50 % of\\%\n% {\n\\\\[3cm] & # ] [ \\verb|x|",
    "}" * 300,
    "{" * 300,
    "$$ \\$ _^_^ \\left( \\iffalse",
    ALL_ASCII * 20,
    "--- ,, << >> '' `` ?` !` fi ffi",
    "",
    "\n\n   \n" * 40,
    " " * 3000 + "x",
    "\t" * 500 + "x",
    "Q" * 5000,
    "W" * 500 + "\xa0" * 500,
    "\N{BALLOON}" * 2000,
    "שלום עולם \u202e override " * 100,
    "e\u0301\u0323" * 300 + "\ufeff\u200b\u00ad",
    "nul \0 bell \a escape \x1b delete \x7f feed \f line \u2028 next \x85",
    " ".join(map(chr, range(0xA0, 0x250))),
    "".join(map(chr, range(0x1E00, 0x2300))),
    "Q long words " * 8000,
    "Q" * 100_000,
)


class Printed(NamedTuple):
    """A PDF: its text, its pages' sizes, and the boxes of its words (left, top, right, bottom) in points."""

    file: Path
    text: str
    log: str
    pages: list[tuple[float, float]]
    words: list[tuple[float, float, float, float]]


def printed(source: Record | SeatRecord, folder: Path, engine: str = "pdflatex") -> Printed:
    """Compile the transcript, with shell escape on so that an injected command would show."""
    program, to_text = needs(engine, TEXLIVE), needs("pdftotext", "poppler-utils")
    styles = ["tcolorbox.sty", "lmodern.sty"]
    if subprocess.run(["kpsewhich", *styles], capture_output=True, text=True).stdout.count(".sty") < len(styles):
        missing(f"{' or '.join(styles)} is not installed: apt-get install {TEXLIVE}")
    (folder / "it.tex").write_text(transcript.export(source), "ascii")
    command = [program, "-halt-on-error", "-interaction=nonstopmode", "-shell-escape", "it.tex"]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace", timeout=300)
    assert ran.returncode == 0, ran.stdout[-2000:]
    file = folder / "it.pdf"
    text, boxes = (
        subprocess.run([to_text, *flags, file, "-"], capture_output=True, text=True, check=True).stdout
        for flags in ([], ["-bbox"])
    )
    pages = [(float(w), float(h)) for w, h in re.findall(r'<page width="(.*?)" height="(.*?)"', boxes)]
    found = re.findall(r'<word xMin="(.*?)" yMin="(.*?)" xMax="(.*?)" yMax="(.*?)"', boxes)
    words = [(float(a), float(b), float(c), float(d)) for a, b, c, d in found]
    return Printed(file, text, (folder / "it.log").read_text("utf-8", "replace"), pages, words)


def squeezed(text: str) -> str:
    """Text without blanks and without typographic ligatures."""
    return re.sub(r"\s|\xad", "", unicodedata.normalize("NFKC", text))


@cache
def hostile() -> Record:
    """A match with LaTeX injections in replies, in a relayed message, in names of items and players, in notes."""
    evil = "\\item %$#&_^~"
    most = {"A01": 10, evil: 20, "Q" * 3000: 1}
    small = Instance(most, 40, {"A": most, "B": most})
    players = {"A": "\\input{a}", "B": "% b"}
    match = Match(load("balloon", instance=small, patience=1000), seed=0, players=players)
    for number, text in enumerate(ATTACKS):
        match.submit("A", f"first{number:02} {text} last{number:02}")
    match.reject("A", Invalid(("late",), "Too late; \\answer sooner.", "time"))
    match.submit("A", "")
    match.submit("A", "PROPOSAL: {'A01'}\nARGUMENT: {'\\end{document} % passed on, " + "Q" * 5000 + "'}")
    match.submit("B", "AGREE: {'A01'}\nARGUMENT: {'Lebewohl, \N{BALLOON}'}")
    record = match.record()
    notes = {"remark": "two\n\nlines % \\par", "long": "Q" * 4000, ATTACKS[1]: ATTACKS[3]}
    header = msgspec.structs.replace(
        record.header, id=f"id{ATTACKS[1]}", preset=f"preset{ATTACKS[4]}", created=f"created{ATTACKS[2]}", notes=notes
    )
    return msgspec.structs.replace(record, header=header)


@pytest.fixture(scope="module")
def printed_hostile(tmp_path_factory: pytest.TempPathFactory) -> Printed:
    return printed(hostile(), tmp_path_factory.mktemp("hostile"))


# What it spells.


@given(LINE)
def test_no_text_issues_a_command(line: str) -> None:
    text = escape_latex(line)
    assert text.isascii() and text.count("{") - text.count("\\{") == text.count("}") - text.count("\\}")
    ours = {name for character in line for name in COMMAND.findall(escape_character(character)[0])}
    assert set(COMMAND.findall(text)) <= ours | {"allowbreak", "space", "codepoint"}
    bare = COMMAND.sub("", text).replace("%\n", "")
    assert re.fullmatch(r"[A-Za-z0-9!()*+./:;=?@,\-\[\]{} \n]*", bare)


@given(LINE)
def test_nothing_is_left_out_and_blanks_are_kept(line: str) -> None:
    text = (
        escape_latex(line).replace("%\n", "").replace("\\allowbreak{}", "").replace("\n", " ").replace("\\space{}", " ")
    )
    blank = {" ": " ", "\xa0": " ", "\t": "    "}
    assert text == "".join(blank.get(character) or escape_character(character)[0] for character in line)


@given(LINE)
def test_every_sign_is_spelled_in_its_own_way(line: str) -> None:
    seen = set(line) - set(" \xa0\t")
    assert len({escape_character(character)[0] for character in seen}) == len(seen)


def test_a_file_is_ascii_in_short_lines() -> None:
    for source in (hostile(), hostile().seen_by("A"), hostile().seen_by("B")):
        text = transcript.latex(source)
        assert text.isascii() and max(map(len, text.split("\n"))) < 400
        assert not re.search(r"\n[ \t]*\n", text) and text.count("\\end{document}") == 1


def test_a_long_message_goes_on_in_further_boxes() -> None:
    match = Match(load("balloon"), seed=0)
    match.submit("A", "line\n" * 2000)
    boxes = re.findall(
        r"\\begin\{tcolorbox\}\[from-a, title=\{(.*?)\}\]\n", transcript.latex(match.record()), re.DOTALL
    )
    assert len(boxes) > 2 and boxes[0].startswith("2\\enspace{}A") and boxes[1].endswith("(continued)")


def test_a_seat_prints_only_what_it_saw() -> None:
    text = transcript.latex(hostile().seen_by("B"))
    assert "first03" in transcript.latex(hostile()) and "first03" not in text and "remark" not in text
    assert "Lebewohl" in text and "as seat B saw it" in text.replace("\n", " ")


# What is printed.


def test_a_hostile_match_is_printed_from_its_first_word_to_its_last(printed_hostile: Printed) -> None:
    text = squeezed(printed_hostile.text)
    marks = [mark for number in range(len(ATTACKS)) for mark in (f"first{number:02}", f"last{number:02}")]
    places = [text.index(mark) for mark in marks]
    assert places == sorted(places) and len(printed_hostile.pages) > 50
    assert text.index("Thematchisover:agreed.") > text.index("Lebewohl") > places[-1]
    for words in ("\\input{/etc/passwd}", "^^5cinput{/etc/passwd}", "\\write18{touchcaught}", "50%of\\%", "\\par{}"):
        assert words in text
    for name in ("id", "preset", "created"):
        assert f"{name}{squeezed(getattr(hostile().header, name).removeprefix(name))}" in text
    assert ALL_ASCII.replace(" ", "") in text and "---,,<<>>''``?`!`" in text
    assert text.count("<U+1F388>") == 2001 and text.count("<U+05E9>") == 100 and "<U+0000>" in text


def test_no_letter_of_a_hostile_match_is_cut(printed_hostile: Printed) -> None:
    rows = sum(row.text.count("Q") + row.reason.count("Q") for row in transcript.rows(hostile()))
    head = 3000 + 4000 + 3000  # the item in the table, the note, and the item again in the parameter `instance`
    assert rows > 119_000 and printed_hostile.text.count("Q") >= rows + head
    assert printed_hostile.text.count("}") >= 300 and printed_hostile.text.count("{") >= 300


def test_no_text_of_a_hostile_match_is_obeyed(printed_hostile: Printed) -> None:
    assert "root:" not in printed_hostile.text
    left = {path.name for path in printed_hostile.file.parent.iterdir()}
    assert left == {"it.tex", "it.pdf", "it.log", "it.aux"}


def test_nothing_is_printed_beyond_the_margins(printed_hostile: Printed) -> None:
    assert "Overfull" not in printed_hostile.log and "Missing character" not in printed_hostile.log
    ((width, height),) = set(printed_hostile.pages)
    for left, top, right, bottom in printed_hostile.words:
        assert 50 < left < right < width - 50 and top > 40 and bottom < height - 20


def test_every_page_has_ink_and_empty_margins(printed_hostile: Printed) -> None:
    program = needs("pdftoppm", "poppler-utils")
    shown = printed_hostile.file.with_name("page")
    subprocess.run([program, "-r", "12", "-gray", printed_hostile.file, shown], check=True)
    pages = sorted(shown.parent.glob("page-*.pgm"))
    assert len(pages) == len(printed_hostile.pages)
    for page in pages:
        kind, size, _, pixels = page.read_bytes().split(b"\n", 3)
        width = int(size.split()[0])
        assert kind == b"P5" and min(pixels) < 230
        edges = [pixels[at : at + 7] + pixels[at + width - 7 : at + width] for at in range(0, len(pixels), width)]
        assert min(map(min, edges)) > 250
        page.unlink()


def test_lualatex_prints_a_hostile_match(tmp_path: Path) -> None:
    needs("lualatex", "texlive-luatex")
    text = squeezed(printed(hostile(), tmp_path, "lualatex").text)
    assert f"last{len(ATTACKS) - 1:02}" in text and "Thematchisover:agreed." in text


@pytest.mark.parametrize("game", game_names())
def test_each_game_is_printed(game: str, tmp_path: Path) -> None:
    record = golden(game)
    for source in (record, record.seen_by("A")) if game == "split" else (record,):
        paper = printed(source, tmp_path)
        text = squeezed(paper.text)
        assert len(paper.pages) > 1 and "Overfull" not in paper.log
        assert record.game.format_payoff(record.payoffs["A"]).replace(" ", "") in text
        for row in transcript.messages(source):
            for line in filter(str.isascii, row.text.splitlines()):
                assert all(word in text for word in re.findall(r"\w{1,20}", line))


def test_no_cell_of_a_table_is_cut(tmp_path: Path) -> None:
    evil = ("*", "*star", "[3cm]", "& \\\\ %", "W" * 60, "\N{BALLOON}" * 8, *(f"item{number}" for number in range(200)))
    efforts = dict(zip(evil, range(1_900, 2_200), strict=False))
    items = Instance(efforts, 10**6, {"A": efforts, "B": efforts})
    match = Match(load("balloon", instance=items), seed=0)
    for source in (match.record(), match.record().seen_by("A")):
        paper = printed(source, tmp_path)
        table = squeezed(paper.text).partition("Messages")[0]
        assert "longtable" in transcript.latex(source) and "Overfull" not in paper.log
        assert all(words in table for words in ("*star", "[3cm]", "&\\\\%", "item199", "1,900", "2,105"))
        assert table.count("*") == 2 and table.count("importancetoyou") >= 2  # on each page
        assert table.count("W") == 60 and table.count("<U+1F388>") == 8


def test_an_unfinished_match_is_printed(tmp_path: Path) -> None:
    paper = printed(Match(load("trading"), seed=1).record(), tmp_path)
    assert "Not over" in paper.text and "Messages" in paper.text
