"""A transcript as Markdown: all text from players is in fenced blocks that it cannot close."""

from __future__ import annotations

import re

from negolab.formats.transcript.header import MASTER, Facts, Part, Table, make_header
from negolab.formats.transcript.rows import messages
from negolab.record import Record, SeatRecord

_SPECIAL = re.compile(r"([\\`*_\[\]|<>&~$])")


def markdown(source: Record | SeatRecord) -> str:
    """Return the Markdown text of a record, or of one seat's view."""
    top = make_header(source)
    parts = [line for part in top.parts for line in _part(part)]
    lines = [f"# {_safe(top.title)}", "", *_facts(top.outcome), "", *parts, "## Messages", "", _safe(MASTER)]
    for number, row in enumerate(messages(source), 1):
        remarks = "".join(f" · {_safe(remark)}" for remark in (*row.flags, row.taken) if remark)
        lines += ["", f"**{number} · {row.way}**{remarks}", "", *_fenced(row.text)]
        if row.reason:
            lines += ["", f"Why {number} was not accepted:", "", *_fenced(row.reason)]
    after = (line for part in top.after for line in ("", *_part(part)))
    return "\n".join([*lines, *after]).rstrip("\n") + "\n"


def _safe(text: str) -> str:
    """Join the lines of a text into one and escape the special characters of Markdown."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))


def _fenced(text: str) -> tuple[str, str, str]:
    """Return the lines of a fenced block whose fence is longer than any run of backticks in the text."""
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence}text", text, fence


def _part(part: Part) -> list[str]:
    tables = (line for table in part.tables for line in (*_table(table), ""))
    return [f"## {part.name}", "", *_facts(part.facts), *([""] if part.facts else []), *tables]


def _facts(facts: Facts) -> list[str]:
    return [f"- **{_safe(name)}**: {_safe(value)}" for name, value in facts]


def _table(table: Table) -> list[str]:
    lines = [table.columns, ("---", *("---:" for _ in table.columns[1:]))]
    marked = ["| " + " | ".join(map(_safe, lines[0])) + " |", "| " + " | ".join(lines[1]) + " |"]
    return marked + ["| " + " | ".join(map(_safe, row)) + " |" for row in table.rows]
