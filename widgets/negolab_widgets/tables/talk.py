"""The conversation of a match, as one seat heard it."""

from __future__ import annotations

from collections.abc import Sequence
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


def talk(entries: Sequence[Said], *, monospaced: bool = False, empty: str = "Nothing was said yet.") -> Markup:
    """The entries, oldest first; the box opens at its newest entry."""
    earlier = len(entries) - MOST
    drawn = [_entry(entry) for entry in entries[-MOST:]]
    if earlier > 0:
        drawn.insert(0, element("div", f"{earlier} earlier messages", cls="nl-note nl-soft"))
    if not drawn:
        drawn = [element("div", empty, cls="nl-note nl-soft")]
    cls = "nl-log nl-mono" if monospaced else "nl-log"
    # The outer box runs from the bottom up, so that it always shows the newest entry.
    return element("div", element("div", *drawn), cls=cls, role="log", aria_label="What was said", tabindex="0")


def _entry(entry: Said) -> Markup:
    who = element("div", entry.who, cls="nl-who")
    note = element("div", entry.note, cls="nl-did") if entry.note else Markup("")
    words = said(entry.text) if entry.text.strip() else element("div", "(no words)", cls="nl-soft")
    return element("div", join([who, words, note]), cls=_CLASSES[entry.kind])
