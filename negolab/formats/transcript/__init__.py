"""Transcripts of any game, from a record or one seat's view, as rows, LaTeX, HTML or Markdown.

The style `clembench` reproduces clembench's LaTeX layout, for comparison with published transcripts.
"""

from __future__ import annotations

from collections.abc import Callable

from negolab.formats.transcript.clembench import CLEMBENCH_GAME, clembench
from negolab.formats.transcript.html import html
from negolab.formats.transcript.latex import latex
from negolab.formats.transcript.markdown import markdown
from negolab.formats.transcript.rows import Row, messages, rows
from negolab.record import Record, SeatRecord


def export(source: Record | SeatRecord, style: str = "latex") -> str:
    """Return the transcript of a match as text.

    Args:
        source: A record, or one seat's view of it.
        style: `latex`, `html`, `markdown`, or `clembench` for balloon only.

    Raises:
        ValueError: Unknown style, or `clembench` for another game.
    """
    if style not in STYLES:
        raise ValueError(f"style must be one of {', '.join(STYLES)}, not {style!r}")
    return STYLES[style](source)


def styles(game: str) -> list[str]:
    """List the styles for records of a game, given the id that the records contain."""
    return [style for style in STYLES if style != "clembench" or game == CLEMBENCH_GAME]


STYLES: dict[str, Callable[[Record | SeatRecord], str]] = {
    "latex": latex,
    "html": html,
    "markdown": markdown,
    "clembench": clembench,
}
"""Style -> function that formats a record or view."""

__all__ = ["STYLES", "Row", "clembench", "export", "html", "latex", "markdown", "messages", "rows", "styles"]
