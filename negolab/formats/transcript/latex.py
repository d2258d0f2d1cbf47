"""A transcript for printing: LaTeX that compiles with any text, breaks across pages and leaves nothing out.

The file is pure ASCII. Letters, digits and a few signs stand for themselves; every other character is written as a
fixed command or as its code point, so that text from players cannot inject commands.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

from negolab.formats.transcript.header import MASTER, Facts, Head, Part, Table, make_header
from negolab.formats.transcript.rows import Row, messages
from negolab.record import Record, SeatRecord

_PREAMBLE = r"""\documentclass[a4paper]{article}
\usepackage[T1]{fontenc}
\usepackage{textcomp}
\IfFileExists{lmodern.sty}{\usepackage{lmodern}}{}
\usepackage[margin=20mm]{geometry}
\usepackage{array}
\usepackage{longtable}
\usepackage{tcolorbox}
\tcbuselibrary{breakable}
\definecolor{seat-a}{rgb}{0.8,1,0.9}
\definecolor{seat-b}{rgb}{1,0.85,0.72}
\definecolor{master}{rgb}{0.9,0.9,0.9}
\definecolor{note}{rgb}{0.95,0.95,0.95}
\definecolor{refused}{rgb}{1,0.88,0.88}
\tcbset{
  breakable, halign=flush left, boxrule=0pt, arc=1mm, boxsep=0mm, left=2.5mm, right=2.5mm, top=1.5mm, bottom=1.5mm,
  toptitle=1.5mm, bottomtitle=0mm, titlerule=0mm, fonttitle=\sffamily\scriptsize, halign title=flush left,
  coltitle=black!65, before skip=1.5mm, after skip=1.5mm,
  row/.style={colback=#1, colframe=#1, colbacktitle=#1},
  from-a/.style={row=seat-a, right skip=0.3\linewidth},
  to-a/.style={row=master, left skip=0.1\linewidth, right skip=0.2\linewidth},
  to-b/.style={row=master, left skip=0.2\linewidth, right skip=0.1\linewidth},
  from-b/.style={row=seat-b, left skip=0.3\linewidth},
  note/.style={row=note, left skip=0.3\linewidth, right skip=0.3\linewidth},
  refused-a/.style={row=refused, right skip=0.3\linewidth},
  refused-b/.style={row=refused, left skip=0.3\linewidth},
}
\newcommand{\codepoint}[1]{\texttt{\textless{}U+#1\textgreater{}}}
\newcommand{\splitword}{\penalty5000}
\setlength{\parindent}{0pt}
\renewcommand{\arraystretch}{1.15}
\setlength{\LTleft}{0pt}
\setlength{\LTpre}{1.5mm}
\setlength{\LTpost}{1.5mm}
\hyphenpenalty=10000
\hbadness=10000
\vbadness=10000
\begin{document}
\raggedright
"""

_MARKS = {
    "0300": r"\`",
    "0301": r"\'",
    "0302": r"\^",
    "0303": r"\~",
    "0304": r"\=",
    "0306": r"\u",
    "0307": r"\.",
    "0308": r"\"",
    "030A": r"\r",
    "030B": r"\H",
    "030C": r"\v",
    "0323": r"\d",
    "0327": r"\c",
    "0328": r"\k",
    "0331": r"\b",
}
_BELOW = {"0323", "0327", "0328", "0331"}
_NAMED = r"""
\ textbackslash   ^ textasciicircum   ~ textasciitilde   | textbar   < textless   > textgreater   " textquotedbl
' textquotesingle   ` textasciigrave   ‘ textquoteleft   ’ textquoteright   “ textquotedblleft   ” textquotedblright
‚ quotesinglbase   „ quotedblbase   « guillemotleft   » guillemotright   ‹ guilsinglleft   › guilsinglright
– textendash   — textemdash   … textellipsis   • textbullet   · textperiodcentered   ¡ textexclamdown
¿ textquestiondown   § textsection   † textdagger   © textcopyright   ® textregistered   ™ texttrademark
€ texteuro   £ textsterling   ¥ textyen   ¢ textcent   ° textdegree   ± textpm   × texttimes   ÷ textdiv   − textminus
µ textmu   ¬ textlnot   ½ textonehalf   ¼ textonequarter   ¾ textthreequarters   ¹ textonesuperior   ² texttwosuperior
³ textthreesuperior   ª textordfeminine   º textordmasculine
← textleftarrow   → textrightarrow   ↑ textuparrow   ↓ textdownarrow
ß ss   æ ae   Æ AE   œ oe   Œ OE   ø o   Ø O   ł l   Ł L   ı i   þ th   Þ TH   ð dh   Ð DH   đ dj   Đ DJ
"""
_NAMES = _NAMED.split()
_SIGNS = {
    **{sign: f"\\{name}{{}}" for sign, name in zip(_NAMES[::2], _NAMES[1::2], strict=True)},
    **{sign: f"\\{sign}" for sign in "{}$&#%_"},
    # Two hyphens or commas would form a ligature, and a bracket could begin an option.
    "-": "-{}",
    ",": ",{}",
    "[": "{[}",
    "]": "{]}",
    **{sign: rf"\ensuremath{{\{name}}}" for sign, name in {"≤": "leq", "≥": "geq", "≠": "neq", "≈": "approx"}.items()},
    "\t": r"\space{}\space{}\space{}\space{}",
    "\N{NO-BREAK SPACE}": r"\space{}",
}
_PLAIN = re.compile(r"[A-Za-z0-9!()*+./:;=?@]")
_LINES = re.compile(r"\r\n|\r|\n")

_RUN = 25
"""Number of characters without a blank after which a line may break."""
_WIDE = 100
"""Number of characters after which a line of the file is broken; TeX reads at most 200,000 in one line."""
_BOX = 500
"""Printed lines per box: TeX cannot hold a box taller than 5.7 m, about 1,300 lines."""
_PRINTED = 70
"""Approximate minimum number of characters in a printed line."""
_CELL = 120
"""Maximum number of characters in a table cell, because a row cannot break across pages."""
_COLUMNS = 9
"""Maximum number of columns that fit on a page."""
_ACROSS = 40
"""Number of wide letters that fit on one line of a table, in all columns together."""


def latex(source: Record | SeatRecord) -> str:
    """Return the LaTeX file of a record, or of one seat's view."""
    top = make_header(source)
    listed = (text for number, row in enumerate(messages(source), 1) for text in _row(number, row))
    after = (text for part in top.after for text in _part(part))
    legend = f"{{\\footnotesize {_inline(MASTER)}\\par}}\\nopagebreak\\smallskip\n"
    return "".join([_PREAMBLE, *_head(top), _heading("Messages"), legend, *listed, *after, "\\end{document}\n"])


@lru_cache(maxsize=4096)
def escape_character(character: str) -> tuple[str, int]:
    """Return a character other than a blank as LaTeX, and its approximate printed width in characters."""
    if _PLAIN.fullmatch(character):
        return character, 1
    if character in _SIGNS:
        return _SIGNS[character], 1
    base, *marks = unicodedata.decomposition(character).split() or [""]
    if len(marks) == 1 and marks[0] in _MARKS and int(base, 16) < 128:
        letter = chr(int(base, 16))
        letter = f"\\{letter}" if letter in "ij" and marks[0] not in _BELOW else letter
        return f"{_MARKS[marks[0]]}{{{letter}}}", 1
    code = f"{ord(character):04X}"
    return f"\\codepoint{{{code}}}", len(code) + 4


def escape_latex(line: str, run_length: int = _RUN, may_break: str = r"\allowbreak{}") -> str:
    """Escape one line of text: blanks are kept, long words may break, and no line of the file is long.

    Args:
        line: Text without line breaks.
        run_length: Number of characters without a blank after which a break is allowed.
        may_break: The command that allows a break.
    """
    out, run, wide, last = [], 0, 0, " "
    for character in line:
        if character == " ":
            piece, width = (" ", 0) if last != " " else (r"\space{}", 0)
            run = 0
        else:
            piece, width = escape_character(character)
            if run + width > run_length:
                piece, run = may_break + piece, 0
        if wide > _WIDE:
            # A line end stands for a blank; elsewhere % keeps it from adding one.
            piece = "\n" if piece == " " else f"%\n{piece}"
            wide = 0
        out.append(piece)
        run, wide, last = run + width, wide + len(piece), character
    return "".join(out)


def _inline(text: str) -> str:
    """Escape text and join its lines into one."""
    return escape_latex(" ".join(text.split()))


def _paragraphs(lines: list[str]) -> str:
    return "".join(f"\\leavevmode{{}}{escape_latex(line)}\\par\n" if line else "\\smallskip\n" for line in lines)


def _boxfuls(text: str) -> Iterator[list[str]]:
    """Group the lines of a text so that each group fits in one box."""
    room, held = _BOX, list[str]()
    for line in _LINES.split(text):
        for piece in _pieces(line):
            needed = 1 + _width(piece) // _PRINTED
            if held and needed > room:
                yield held
                room, held = _BOX, []
            held.append(piece)
            room -= needed
    yield held


def _pieces(line: str) -> list[str]:
    """Cut a line that does not fit in one box into pieces that do."""
    if _width(line) < _BOX * _PRINTED:
        return [line]
    step = _BOX * _PRINTED * len(line) // _width(line) - _PRINTED
    return [line[at : at + step] for at in range(0, len(line), step)]


def _width(text: str) -> int:
    """Return an upper estimate of the printed width in characters."""
    return len(text) if text.isascii() and text.isprintable() else 10 * len(text)


def _boxes(style: str, title: str, text: str) -> Iterator[str]:
    for place, lines in enumerate(_boxfuls(text)):
        content = _paragraphs(lines) if any(lines) else "\\leavevmode\\strut\\par\n"
        named = title + _inline(" (continued)") if place else title
        yield f"\\begin{{tcolorbox}}[{style}, title={{{named}}}]\n{content}\\end{{tcolorbox}}\n"


def _row(number: int, row: Row) -> Iterator[str]:
    title = r"\enspace{}".join(map(_inline, filter(None, (str(number), row.way, *row.flags, row.taken))))
    side = "to-" + row.receiver if row.sender == "GM" else "from-" + row.sender
    yield from _boxes("note" if row.sender == row.receiver else side.lower(), title, row.text)
    if row.reason:
        yield from _boxes(f"refused-{row.sender.lower()}", _inline(f"why {number} was not accepted"), row.reason)


# Header.


def _heading(name: str) -> str:
    return f"\\par\\bigskip{{\\large\\bfseries {_inline(name)}\\par}}\\nopagebreak\\smallskip\n"


def _head(top: Head) -> Iterator[str]:
    yield f"{{\\Large\\bfseries {_inline(top.title)}\\par}}\\medskip\n"
    yield from _facts(top.outcome)
    for part in top.parts:
        yield from _part(part)


def _part(part: Part) -> Iterator[str]:
    yield _heading(part.name)
    yield "\\begingroup\\footnotesize\n"
    yield from _facts(part.facts)
    for table in part.tables:
        yield from _table(table)
    yield "\\endgroup\n"


def _facts(facts: Facts) -> Iterator[str]:
    for name, value in facts:
        first, *more = _LINES.split(value)
        head = f"\\hangindent=1em {{\\bfseries {_inline(name)}}}\\quad{{}}{escape_latex(first)}"
        yield f"{head}\\par\n{_paragraphs(more)}"


def _table(table: Table) -> Iterator[str]:
    """Yield a table that may break across pages, or facts if it has too many columns or too long a cell."""
    longest = max(_width(cell) for row in (table.columns, *table.rows) for cell in row)
    if longest <= _CELL and len(table.columns) <= _COLUMNS:
        yield from _grid(table)
        return
    for name, *cells in table.rows:
        yield from _facts([(name, "; ".join(map(" ".join, zip(table.columns[1:], cells, strict=True))))])


def _grid(table: Table) -> Iterator[str]:
    n = len(table.columns)
    yield f"\\begin{{longtable}}{{{_column(n, 'raggedright') + _column(n, 'raggedleft') * (n - 1)}}}\n"
    yield f"{_cells(table.columns)} \\hline\\endhead\n"
    yield from (f"{_cells(row)}\n" for row in table.rows)
    yield "\\end{longtable}\n"


def _cells(row: tuple[str, ...]) -> str:
    # \leavevmode, because \\ would read a star at the start of the next row as its own.
    cells = (escape_latex(" ".join(cell.split()), _ACROSS // len(row), r"\splitword{}") for cell in row)
    return r"\leavevmode{}" + " & ".join(cells) + r" \\"


def _column(n: int, align: str) -> str:
    width = rf"\dimexpr(\linewidth-{2 * n}\tabcolsep)/{n}\relax"
    return rf">{{\{align}\arraybackslash}}p{{{width}}}"
