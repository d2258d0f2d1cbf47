"""The conversation of a match, as one seat heard it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import NamedTuple

from negolab_widgets.html import Markup, element, join, said

MOST = 60
"""Entries that are shown; earlier ones are counted."""


class Said(NamedTuple):
    """One entry: who speaks ("you", "the seller", ...), what, what it did (a short note), and how it looks:
    `own`, `other`, `refused` or `note`."""

    who: str
    text: str
    note: str = ""
    kind: str = "other"


_CLASSES = {"own": "nl-you", "other": "nl-table", "refused": "nl-bad", "note": "nl-note"}


_BOX = re.compile(r"[\u2500-\u257f]")
"""What lines are drawn with."""


def talk(
    entries: Sequence[Said], *, monospaced: bool = False, whole: bool = False, empty: str = "Nothing was said yet."
) -> Markup:
    """The entries, oldest first; the box opens at its newest entry, or is as high as they are if `whole`."""
    earlier = len(entries) - MOST
    drawn = [_entry(entry, _lines if monospaced else said) for entry in entries[-MOST:]]
    if earlier > 0:
        drawn.insert(0, element("div", f"{earlier} earlier messages", cls="nl-note nl-soft"))
    if not drawn:
        drawn = [element("div", empty, cls="nl-note nl-soft")]
    cls = f"nl-log{' nl-mono' if monospaced else ''}{' nl-whole' if whole else ''}"
    # The outer box runs from the bottom up, so that it always shows the newest entry.
    return element("div", element("div", *drawn), cls=cls, role="log", aria_label="What was said", tabindex="0")


def _entry(entry: Said, written: Callable[[str], Markup]) -> Markup:
    who = element("div", entry.who, cls="nl-who")
    note = element("div", entry.note, cls="nl-did") if entry.note else Markup("")
    words = written(entry.text) if entry.text.strip() else element("div", "(no words)", cls="nl-soft")
    return element("div", join([who, words, note]), cls=_CLASSES[entry.kind])


def _lines(text: str) -> Markup:
    """Prose that wraps, and drawings of lines that do not."""
    runs = groupby(text.split("\n"), key=lambda line: bool(_BOX.search(line)))
    return join(
        element("div", said("\n".join(lines)), cls="nl-drawn" if is_drawn else "nl-prose") for is_drawn, lines in runs
    )
