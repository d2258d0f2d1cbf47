"""A transcript as one self-contained HTML page: no scripts, no external resources, and all text escaped."""

from __future__ import annotations

from functools import cache
from html import escape
from importlib.resources import files

from negolab.formats.transcript.header import MASTER, Facts, Head, Part, Table, make_header
from negolab.formats.transcript.rows import Row, messages
from negolab.record import Record, SeatRecord

_CONTROLS = {code: 0x2400 + code for code in range(32) if chr(code) not in "\t\n\r"} | {0x7F: 0x2421}
_LONG = 40
"""Number of characters above which a value is shown on separate lines."""
_WRAPPED = 24
"""Number of characters above which a table cell is text on several lines."""
_SHORT = 16
"""Number of characters up to which a word in a table is not broken."""
_MANY = 5
"""Number of columns above which a table may break words, to fit on paper."""


def html(source: Record | SeatRecord) -> str:
    """Return the HTML page of a record, or of one seat's view."""
    top = make_header(source)
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
    """Return the colors that pages and widgets share, followed by the page's own rules."""
    colours = files("negolab.formats").joinpath("colours.css").read_text("utf-8")
    return colours + files("negolab.formats.transcript").joinpath("page.css").read_text("utf-8")


def _safe(text: str) -> str:
    """Escape HTML and make control characters visible."""
    return escape(text.translate(_CONTROLS))


def _bdi(text: str) -> str:
    """Isolate a name, so that its writing direction does not affect the rest of the line."""
    return f"<bdi>{_safe(text)}</bdi>"


# Header.


def _sheet(panels: str) -> str:
    return f'<div class="sheet">{panels}</div>'


def _end(top: Head) -> str:
    paid = ((seat.lower(), f"{seat} · {player}" if player else seat, paid) for seat, player, paid in top.paid)
    return "".join(
        f'<section class="panel card {cls}"><span class="label">{_bdi(name)}</span>'
        f"{f'<strong>{_bdi(value)}</strong>' if value else ''}</section>"
        for cls, name, value in (("plain", "Outcome", top.end), *paid)
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
    is_short = max(map(len, text.split()), default=0) <= _SHORT
    look = ' class="long"' if len(text) > _WRAPPED else ' class="short"' if is_short else ""
    return f"<{tag}{scope}{look}>{_safe(text)}</{tag}>"


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
    # HTML drops a line break right after <pre>, so add one in case the text begins with one.
    said = f'<pre dir="auto">\n{_safe(row.text)}</pre>' if row.text else '<pre class="empty">\n(nothing)</pre>'
    said += f'<pre dir="auto" class="reason">\n{_safe(row.reason)}</pre>' if row.reason else ""
    return (
        f'<li><div class="{kind}{" refused" if refused else ""}"><div class="label meta">{meta}</div>{said}</div></li>'
    )
