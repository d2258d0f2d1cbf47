"""One plain spelling of what people type: no look-alike widths, invisible characters or typographic marks."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import groupby
from unicodedata import category, combining, decimal, normalize

LONGEST = 20_000
"""Code points of a raw reply that are looked at."""
LONGEST_NORMAL = 2_000
"""Code points of the plain spelling that are read; a longer text is refused, for a cut could lose the "not"."""

_MARKS = dict.fromkeys("\u2014\u2015", " ")
_MARKS |= dict.fromkeys("\u2010\u2011\u2012\u2013\u2212", "-")
_MARKS |= dict.fromkeys("\u2018\u2019\u201b\u2032\u0060", "'")
_MARKS |= dict.fromkeys("\u2044\u2215", "/")
_ASCII = dict.fromkeys((*range(32), 127), " ") | {ord("`"): "'"}
_DOTS = re.compile(r"\.{2,}")
_LEADING_MARKS = {ord(c): normalize("NFKD", c) for c in "\u0f73\u0f75\u0f81\uff9e\uff9f"}
"""The only characters of combining class 0 that decompose into marks alone."""


def normalise(text: str) -> str | None:
    """The plain spelling in lower case; None if it is too long to be read."""
    if len(text) > LONGEST:
        return None
    text = _plain_ascii(text) if text.isascii() else _plain(text)
    text = _DOTS.sub(" ", text.lower())
    return text if len(text) <= LONGEST_NORMAL else None


def _plain_ascii(text: str) -> str:
    return text if text.isprintable() and "`" not in text else text.translate(_ASCII)


def _plain(text: str) -> str:
    if len(text) > LONGEST_NORMAL:
        text = _ordered(text)
    text = normalize("NFKC", text)
    return text.translate({ord(c): _fold(c) for c in set(text)})


def _ordered(text: str) -> str:
    """An equivalent text with its combining marks in canonical order: unicodedata would sort them in quadratic time."""
    runs = groupby(text.translate(_LEADING_MARKS), key=lambda c: combining(c) != 0)
    return "".join("".join(sorted(run, key=combining) if marks else run) for marks, run in runs)


@lru_cache(maxsize=4096)
def _fold(char: str) -> str:
    if char in _MARKS:
        return _MARKS[char]
    kind = category(char)
    if kind == "Cf":
        return ""
    if kind in ("Cc", "Zs", "Zl", "Zp"):
        return " "
    return str(decimal(char)) if kind == "Nd" else char
