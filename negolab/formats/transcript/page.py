"""A transcript as one page that stands by itself: no script, no outside address, and every text escaped."""

from __future__ import annotations

from html import escape

from negolab.formats.transcript.head import Facts, Head, Table, head
from negolab.formats.transcript.telling import Row, rows
from negolab.record import Record, View

_STYLE = """
:root { color-scheme: light; --a: #ccffe6; --b: #ffd9b8; --master: #e6e6e6; --note: #f2f2f2; --line: #bbb; }
body { margin: 1.5rem auto; max-width: 75rem; padding: 0 1rem; color: #111; background: #fff;
  font: 1rem/1.45 system-ui, sans-serif; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin: 1.5rem 0 .4rem; }
table { border-collapse: collapse; margin: .3rem 0; }
th, td { border: 1px solid var(--line); padding: .15rem .5rem; text-align: left; vertical-align: top;
  overflow-wrap: anywhere; }
.numbers td { text-align: right; font-variant-numeric: tabular-nums; }
.rows { display: grid; grid-template-columns: 1fr 1.2fr 1fr; gap: .5rem; margin: 0; padding: 0; list-style: none; }
.rows > .name { font-weight: 600; border-bottom: 2px solid var(--line); text-align: center; }
.row { min-width: 0; border-radius: .4rem; padding: .4rem .6rem; }
.row header { font-size: .75rem; color: #444; }
.row pre { margin: .2rem 0 0; white-space: pre-wrap; overflow-wrap: anywhere;
  font: .85rem/1.4 ui-monospace, monospace; }
.from-a { grid-column: 1; background: var(--a); } .from-b { grid-column: 3; background: var(--b); }
.from-gm { grid-column: 2; background: var(--master); } .note { grid-column: 2; background: var(--note); }
.to-a { margin-right: 12%; } .to-b { margin-left: 12%; }
"""
_CONTROLS = {code: 0x2400 + code for code in range(32) if chr(code) not in "\t\n\r"}


def html(source: Record | View) -> str:
    """The page of a record, or of a seat's view."""
    top = head(source)
    lines = [
        "<!doctype html>",
        '<html lang="en">',
        '<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">',
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">",
        f"<title>{_safe(top.title)}</title><style>{_STYLE}</style></head>",
        f"<body><h1>{_safe(top.title)}</h1>",
        *_head(top),
        "<h2>Messages</h2>",
        '<ol class="rows"><li class="name">A</li><li class="name">master</li><li class="name">B</li>',
        *(_row(number, row) for number, row in enumerate(rows(source), 1)),
        "</ol></body></html>",
    ]
    return "\n".join(lines) + "\n"


def _safe(text: str) -> str:
    """Escaped, with control characters made visible."""
    return escape(text.translate(_CONTROLS))


def _head(top: Head) -> list[str]:
    parts = [("Match", top.about), ("Parameters", top.parameters), ("Start", top.start)]
    lines = [line for name, facts in parts if facts for line in (f"<h2>{name}</h2>", _facts(facts))]
    return [*lines, *map(_table, top.tables), "<h2>Outcome</h2>", _facts(top.outcome)]


def _facts(facts: Facts) -> str:
    rows = "".join(f"<tr><th>{_safe(name)}</th><td>{_safe(value)}</td></tr>" for name, value in facts)
    return f"<table>{rows}</table>"


def _table(table: Table) -> str:
    names = "".join(f"<th>{_safe(column)}</th>" for column in table.columns)
    rows = "".join(
        f"<tr><th>{_safe(name)}</th>{''.join(f'<td>{_safe(cell)}</td>' for cell in cells)}</tr>"
        for name, *cells in table.rows
    )
    return f'<table class="numbers"><tr>{names}</tr>{rows}</table>'


def _row(number: int, row: Row) -> str:
    kind = "note" if row.cell == "GM|GM" else f"from-{row.sender.lower()} to-{row.receiver.lower()}"
    place = f'class="row {kind}" style="grid-row: {number + 1}"'
    # A line break right after <pre> is not shown, so there is always one to spare.
    return f'<li {place}><header>{number} · {row.way}</header><pre dir="auto">\n{_safe(row.text)}</pre></li>'
