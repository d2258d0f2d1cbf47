"""Transcripts of any game, from its record or one seat's view: as rows, as LaTeX to print, as a page, as Markdown, and
in the layout of clembench's LaTeX for comparison."""

from __future__ import annotations

from collections.abc import Callable

from negolab.formats.transcript.latex import latex
from negolab.formats.transcript.page import html
from negolab.formats.transcript.published import clembench
from negolab.formats.transcript.telling import Row, messages, rows
from negolab.formats.transcript.text import markdown
from negolab.record import Record, View


def export(source: Record | View, style: str = "latex") -> str:
    """The transcript in a style: `latex`, `html`, `markdown` or, of balloon only, `clembench`."""
    if style not in STYLES:
        raise ValueError(f"style must be one of {', '.join(STYLES)}, not {style!r}")
    return STYLES[style](source)


STYLES: dict[str, Callable[[Record | View], str]] = {
    "latex": latex,
    "html": html,
    "markdown": markdown,
    "clembench": clembench,
}
"""Style -> function of a record or view."""

__all__ = ["STYLES", "Row", "clembench", "export", "html", "latex", "markdown", "messages", "rows"]
