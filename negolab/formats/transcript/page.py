"""A transcript as one page that stands by itself: no script, no outside address, and every text escaped."""

from __future__ import annotations

from functools import cache
from html import escape
from importlib.resources import files

from negolab.formats.transcript.head import MASTER, Facts, Head, Part, Table, head
from negolab.formats.transcript.telling import Row, messages
from negolab.record import Record, View

_CONTROLS = {code: 0x2400 + code for code in range(32) if chr(code) not in "\t\n\r"} | {0x7F: 0x2421}
_LONG = 40
"""Characters of a value above which it gets lines of its own."""
_SHORT = 16
"""Characters up to which a word in a table stays whole."""
_MANY = 5
"""Columns above which a table breaks words to fit on paper."""


def html(source: Record | View) -> str:
    """The page of a record, or of a seat's view."""
    top = head(source)
    lines = [
        "<!doctype html>",
        '<html lang="en">',
        '<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">',
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">",
        f"<title>{_safe(top.title)}</title><style>{_style()}</style></head>",
        f"<body><main><h1>{_safe(top.title)}</h1>",
        _sheet(_end(top)),
        _sheet("".join(map(_part, top.parts))),
        f'<p class="label">{_safe(MASTER)}</p>{_names(top)}<ol aria-label="Messages">',
        *(_row(number, row) for number, row in enumerate(messages(source), 1)),
        f"</ol>{_sheet(''.join(map(_part, top.after)))}</main></body></html>",
    ]
    return "\n".join(lines) + "\n"


@cache
def _style() -> str:
    """The colours that pages and widgets share, then the page's own rules."""
    colours = files("negolab.formats").joinpath("colours.css").read_text("utf-8")
    return colours + files("negolab.formats.transcript").joinpath("page.css").read_text("utf-8")


def _safe(text: str) -> str:
    """Escaped, with control characters made visible."""
    return escape(text.translate(_CONTROLS))


def _bdi(text: str) -> str:
    """A name within a line, so that its direction does not turn the rest."""
    return f"<bdi>{_safe(text)}</bdi>"


# Head.


def _sheet(panels: str) -> str:
    return f'<div class="sheet">{panels}</div>'


def _end(top: Head) -> str:
    cards = [("plain", "Outcome", top.end)]
    cards += [(seat.lower(), f"{seat} · {player}" if player else seat, paid) for seat, player, paid in top.paid]
    return "".join(
        f'<section class="panel card {cls}"><span class="label">{_bdi(name)}</span>'
        f"{f'<strong>{_bdi(value)}</strong>' if value else ''}</section>"
        for cls, name, value in cards
    )


def _part(part: Part) -> str:
    wide = " wide" if len(part.facts) > 8 or any(len(table.columns) > 4 for table in part.tables) else ""
    tables = "".join(map(_table, part.tables))
    return f'<section class="panel plain{wide}"><h2>{_safe(part.name)}</h2>{_facts(part.facts)}{tables}</section>'


def _facts(facts: Facts) -> str:
    lines = (
        f'<div class="line{" long" if len(value) > _LONG else ""}"><dt>{_bdi(name)}</dt>'
        f'<dd dir="auto">{_safe(value)}</dd></div>'
        for name, value in facts
    )
    return f"<dl>{''.join(lines)}</dl>" if facts else ""


def _table(table: Table) -> str:
    names = "".join(_cell("th", column, ' scope="col"') for column in table.columns)
    many = ' class="many"' if len(table.columns) > _MANY else ""
    body = "".join(map(_cells, table.rows))
    scroll = f'class="scroll" role="group" tabindex="0" aria-label="{_safe(table.columns[0])}"'
    return f"<div {scroll}><table{many}><thead><tr>{names}</tr></thead><tbody>{body}</tbody></table></div>"


def _cells(row: tuple[str, ...]) -> str:
    name, *cells = row
    return "".join(["<tr>", _cell("th", name, ' scope="row"'), *(_cell("td", cell) for cell in cells), "</tr>"])


def _cell(tag: str, text: str, scope: str = "") -> str:
    short = ' class="short"' if max(map(len, text.split()), default=0) <= _SHORT else ""
    return f"<{tag}{scope}{short}>{_safe(text)}</{tag}>"


# Rows.


def _names(top: Head) -> str:
    players = {seat: player for seat, player, _ in top.paid}
    named = ((cls, " · ".join(filter(None, (name, players.get(name, ""))))) for cls, name in _COLUMNS)
    cells = "".join(f'<div class="{cls}">{_bdi(name)}</div>' for cls, name in named)
    return f'<div class="names">{cells}</div>'


_COLUMNS = (("a", "A"), ("gm", "master"), ("b", "B"))


def _row(number: int, row: Row) -> str:
    refused, flags = bool(row.codes) or row.refusal, row.flags
    kind = "note" if row.sender == row.receiver else f"{row.sender.lower()} to-{row.receiver.lower()}"
    meta = f"<span>{number} · {row.way}</span>" + "".join(f'<span class="flag">{_safe(flag)}</span>' for flag in flags)
    meta += f'<span class="taken">{_safe(row.taken)}</span>' if row.taken else ""
    # A line break right after <pre> is not shown, so there is always one to spare.
    said = f'<pre dir="auto">\n{_safe(row.text)}</pre>' if row.text else '<pre class="empty">\n(nothing)</pre>'
    said += f'<pre dir="auto" class="reason">\n{_safe(row.reason)}</pre>' if row.reason else ""
    return (
        f'<li><div class="{kind}{" refused" if refused else ""}"><div class="label meta">{meta}</div>{said}</div></li>'
    )
