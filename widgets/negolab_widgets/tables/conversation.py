"""The conversation of a match as HTML, as one seat sees it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import NamedTuple

from negolab.studies.texts import table_texts
from negolab_widgets.html import Markup, element, join, preformatted

MAX_ENTRIES = 60
"""Entries that are shown; earlier ones are counted."""


class ConversationEntry(NamedTuple):
    """One entry: who speaks ("you", "the seller"), the text, a short note of what it did, and its look (`own`, `other`,
    `refused`, `note`)."""

    who: str
    text: str
    note: str = ""
    kind: str = "other"


_CLASSES = {"own": "nl-you", "other": "nl-table", "refused": "nl-bad", "note": "nl-note"}


_BOX = re.compile(r"[\u2500-\u257f]")
"""Characters of which drawings in text consist."""


def render_conversation(
    entries: Sequence[ConversationEntry],
    *,
    monospaced: bool = False,
    whole: bool = False,
) -> Markup:
    """Render the entries, oldest first; the box opens at the newest, or is as high as they are if `whole`."""
    earlier = table_texts.EARLIER.format(count=len(entries) - MAX_ENTRIES) if len(entries) > MAX_ENTRIES else ""
    words = earlier if entries else table_texts.NOTHING_SAID
    drawn = (_render_entry(entry, _render_lines if monospaced else preformatted) for entry in entries[-MAX_ENTRIES:])
    note = element("div", words, cls="nl-note nl-soft") if words else ""
    cls = f"nl-log{' nl-mono' if monospaced else ''}{' nl-whole' if whole else ''}"
    # The outer box runs from the bottom up, so that it always shows the newest entry.
    return element("div", element("div", note, *drawn), cls=cls, role="log", aria_label=table_texts.SAID, tabindex="0")


def _render_entry(entry: ConversationEntry, written: Callable[[str], Markup]) -> Markup:
    who = element("div", entry.who, cls="nl-who")
    note = element("div", entry.note, cls="nl-did") if entry.note else Markup("")
    silence = "" if entry.note else element("div", table_texts.NO_WORDS, cls="nl-soft")
    words = written(entry.text) if entry.text.strip() else silence
    return element("div", join([who, words, note]), cls=_CLASSES[entry.kind])


def _render_lines(text: str) -> Markup:
    """Render prose that wraps and drawings that do not."""
    runs = groupby(text.split("\n"), key=lambda line: bool(_BOX.search(line)))
    return join(
        element("div", preformatted("\n".join(lines)), cls="nl-drawn" if is_drawn else "nl-prose")
        for is_drawn, lines in runs
    )
