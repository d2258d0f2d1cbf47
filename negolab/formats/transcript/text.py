"""A transcript as Markdown: every text in a fenced block that nothing inside can close."""

from __future__ import annotations

import re

from negolab.formats.transcript.head import Facts, Head, Table, head
from negolab.formats.transcript.telling import rows
from negolab.record import Record, View

_SPECIAL = re.compile(r"([\\`*_\[\]|<>&~$])")


def markdown(source: Record | View) -> str:
    """The text of a record, or of a seat's view."""
    top = head(source)
    lines = [f"# {_safe(top.title)}", "", *_head(top), "## Messages"]
    for number, row in enumerate(rows(source), 1):
        lines += ["", f"**{number} · {row.way}**", "", *_fenced(row.text)]
    return "\n".join(lines) + "\n"


def _safe(text: str) -> str:
    """On one line, and every character that could mean something to Markdown taken literally."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))


def _fenced(text: str) -> tuple[str, str, str]:
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence}text", text, fence


def _head(top: Head) -> list[str]:
    parts = [("Match", top.about), ("Parameters", top.parameters), ("Start", top.start)]
    lines = [line for name, facts in parts if facts for line in (f"## {name}", "", *_facts(facts), "")]
    for table in top.tables:
        lines += [*_table(table), ""]
    return [*lines, "## Outcome", "", *_facts(top.outcome), ""]


def _facts(facts: Facts) -> list[str]:
    return [f"- **{_safe(name)}**: {_safe(value)}" for name, value in facts]


def _table(table: Table) -> list[str]:
    lines = [table.columns, ("---", *("---:" for _ in table.columns[1:]))]
    marked = ["| " + " | ".join(map(_safe, lines[0])) + " |", "| " + " | ".join(lines[1]) + " |"]
    return marked + ["| " + " | ".join(map(_safe, row)) + " |" for row in table.rows]
