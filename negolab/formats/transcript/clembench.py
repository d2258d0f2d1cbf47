"""The exact layout of clembench's transcripts, only for comparison with published ones.

Like the original, it escapes nothing, so that LaTeX rejects most of the files and obeys commands that players wrote;
for printing, use the style `latex`, which prints them as text.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from negolab.formats.transcript.rows import Row, rows
from negolab.record import Record, SeatRecord

CLEMBENCH_GAME = "balloon"
"""The game whose transcripts clembench publishes."""

HEAD = r"""
\documentclass{article}
\usepackage{colortbl}
\usepackage{makecell}
\usepackage{multirow}
\usepackage{supertabular}

\begin{document}

\newcounter{utterance}

\twocolumn

{ \footnotesize  \setcounter{utterance}{1}
\setlength{\tabcolsep}{0pt}
\begin{supertabular}{c@{$\;$}|p{.15\linewidth}@{}p{.15\linewidth}p{.15\linewidth}p{.15\linewidth}p{.15\linewidth}p{.15\linewidth}}

    \# & $\;$A & \multicolumn{4}{c}{Game Master} & $\;\:$B\\
    \hline """
HEAD += "\n"
FOOT = "\n\\end{supertabular}\n}\n\n\\end{document}\n"


class Cell(NamedTuple):
    """Layout of one kind of cell: columns before and after, columns spanned, width, color and direction label."""

    left: str
    span: int
    width: str
    rgb: str
    who: str
    right: str


CELLS = {
    "GM>A": Cell("& &", 4, "0.6", "0.9,0.9,0.9", r"A$\langle$GM", "&"),
    "A>GM": Cell("&", 4, "0.6", "0.8,1,0.9", r"A$\rangle$GM", "& &"),
    "GM>B": Cell("& &", 4, "0.6", "0.9,0.9,0.9", r"GM$\rangle$B", "&"),
    "B>GM": Cell("& & &", 4, "0.6", "1,0.85,0.72", r"GM$\langle$B", ""),
    "GM|GM": Cell("& & &", 2, "0.3", "0.95,0.95,0.95", "GM$|$GM", "& &"),
}


def clembench(source: Record | SeatRecord) -> str:
    """Return the transcript of a balloon match in clembench's layout.

    Raises:
        ValueError: The game is not balloon.
    """
    game = source.game if isinstance(source, SeatRecord) else source.header.game
    if game != CLEMBENCH_GAME:
        raise ValueError(f"the clembench layout is for {CLEMBENCH_GAME} only, not {game}: use latex")
    return latex(rows(source))


def latex(listed: Iterable[Row]) -> str:
    """Return a LaTeX file with these rows in clembench's layout."""
    return HEAD + "".join(_cell(CELLS[row.cell], row.text) for row in listed) + FOOT


def _cell(cell: Cell, text: str) -> str:
    text = text.replace("\n", r"\\ \tt ")
    return (
        "\n    \\theutterance \\stepcounter{utterance}  \n\n"
        f"    {cell.left} \\multicolumn{{{cell.span}}}{{p{{{cell.width}\\linewidth}}}}"
        f"{{\\cellcolor[rgb]{{{cell.rgb}}}{{%\n"
        f"\t\\makecell[{{{{p{{\\linewidth}}}}}}]{{% \n\t  \\tt {{\\tiny [{cell.who}]}}  \n"
        f"\t {text} \n\t  }} \n\t   }} \n\t   }} \n\t {cell.right} \\\\ \n \n"
    )
