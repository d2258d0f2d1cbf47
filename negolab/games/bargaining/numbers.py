"""Numbers in a normalised text: prices, numbers out of range, and what only looks like a number."""

from __future__ import annotations

import re
from typing import NamedTuple

_CORE = re.compile(r"(?<![\w.])(?<!\d,)(?:\d+(?:,\d+)*(?:\.\d+)?|\.\d+)")
_ORDINAL = r"(?P<ordinal>(?:st|nd|rd|th)(?!\w))"
_TAILS = (
    r"(?P<guard>[ ]?%|[ ]?¢|[ ]?(?:percent|per cent|pct|cents?)(?!\w))"
    r"|(?P<unit>(?:usd|dollars?|bucks?)(?!\w))"
    r"|(?P<glue>[\w/][\w./]*|\.\d[\w./]*)"
)
_TAIL = re.compile(_TAILS)
_TAIL_OF_DIGITS = re.compile(f"{_ORDINAL}|{_TAILS}")
_THOUSANDS = re.compile(r"[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?")
_MINUS = re.compile(r"(?<!\w)(?<!\d[.,)%])-(?:[$€£] ?)?$")
_MINUS_REACH = 6
"""Characters left of a number that can decide its sign."""
_DIGIT = re.compile(r"\d")


class Numbers(NamedTuple):
    """What a text holds: distinct prices in cents, and whether any number is out of range or malformed."""

    prices: set[int]
    outside: bool
    malformed: bool


def has_digit(text: str) -> bool:
    return _DIGIT.search(text) is not None


def read_numbers(text: str, lo: int, hi: int, unit_guard: bool) -> Numbers:
    """Every number from left to right; the range `lo` to `hi` is tested on the exact value, before rounding."""
    prices: set[int] = set()
    outside = malformed = False
    at = 0
    while core := _CORE.search(text, at):
        malformed = malformed or _DIGIT.search(text, at, core.start()) is not None
        digits = core[0]
        tail = (_TAIL_OF_DIGITS if digits.isdigit() else _TAIL).match(text, core.end())
        at = tail.end() if tail else core.end()
        kind = tail.lastgroup if tail else None
        if kind == "ordinal":
            continue
        if kind == "glue" or (kind == "guard" and unit_guard) or not _well_grouped(digits):
            malformed = True
            continue
        price = _price(digits, _negative(text, core.start()), lo, hi)
        outside = outside or price is None
        if price is not None:
            prices.add(price)
    return Numbers(prices, outside, malformed or _DIGIT.search(text, at) is not None)


def _well_grouped(digits: str) -> bool:
    return "," not in digits or _THOUSANDS.fullmatch(digits) is not None


def _negative(text: str, start: int) -> bool:
    return _MINUS.search(text[max(0, start - _MINUS_REACH) : start]) is not None


def _price(digits: str, negative: bool, lo: int, hi: int) -> int | None:
    """Cents rounded half up; None if the exact value is out of range."""
    whole, _, fraction = digits.replace(",", "").partition(".")
    cents, rest = int(whole or "0") * 100 + int(fraction[:2].ljust(2, "0")), fraction[2:]
    exact = not rest.strip("0")
    if negative and (cents or not exact):
        return None
    if cents < lo or cents > hi or (cents == hi and not exact):
        return None
    return cents + (rest[:1] >= "5")
