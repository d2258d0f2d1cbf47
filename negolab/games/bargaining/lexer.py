"""The normalized text of a reply, and the numbers and words in it: prices, acceptances, and what takes one back."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import groupby, pairwise
from typing import NamedTuple
from unicodedata import category, combining, decimal, normalize

MAX_RAW = 20_000
"""Largest raw reply that is read, in code points."""
MAX_NORMALISED = 2_000
"""Largest normalized reply, in code points; a longer one is refused, because a cut could lose the "not"."""

_MARKS = dict.fromkeys("\u2014\u2015", " ")
_MARKS |= dict.fromkeys("\u2010\u2011\u2012\u2013\u2212", "-")
_MARKS |= dict.fromkeys("\u2018\u2019\u201b\u2032\u0060", "'")
_MARKS |= dict.fromkeys("\u2044\u2215", "/")
_ASCII = dict.fromkeys((*range(32), 127), " ") | {ord("`"): "'"}
_DOTS = re.compile(r"\.{2,}")
_LEADING_MARKS = {ord(c): normalize("NFKD", c) for c in "\u0f73\u0f75\u0f81\uff9e\uff9f"}
"""The only characters of combining class 0 that decompose into marks alone."""


def normalise(text: str) -> str | None:
    """Return the text in lowercase, without full-width look-alikes, invisible characters or typographic marks; None if
    it is too long."""
    if len(text) > MAX_RAW:
        return None
    text = _plain_ascii(text) if text.isascii() else _plain(text)
    text = _DOTS.sub(" ", text.lower())
    return text if len(text) <= MAX_NORMALISED else None


def _plain_ascii(text: str) -> str:
    return text if text.isprintable() and "`" not in text else text.translate(_ASCII)


def _plain(text: str) -> str:
    if len(text) > MAX_NORMALISED:
        text = _order_marks(text)
    text = normalize("NFKC", text)
    return text.translate({ord(c): _fold(c) for c in set(text)})


def _order_marks(text: str) -> str:
    """Put combining marks in canonical order; unicodedata would sort them in quadratic time."""
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


# Numbers.

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
"""Number of characters to the left of a number that can decide its sign."""
_DIGIT = re.compile(r"\d")


class Numbers(NamedTuple):
    """Numbers in a text: distinct prices in cents, the start of each mention, and whether any number is out of range or
    malformed."""

    prices: set[int]
    starts: list[int]
    outside: bool
    malformed: bool


def has_digit(text: str) -> bool:
    return _DIGIT.search(text) is not None


def read_numbers(text: str, lo: int, hi: int, unit_guard: bool) -> Numbers:
    """Read all numbers from left to right; the range `lo` to `hi` is checked against the exact value, before
    rounding."""
    prices: set[int] = set()
    starts: list[int] = []
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
        is_negative = _MINUS.search(text[max(0, core.start() - _MINUS_REACH) : core.start()]) is not None
        price = _price(digits, is_negative, lo, hi)
        outside = outside or price is None
        if price is not None:
            prices.add(price)
            starts.append(core.start())
    return Numbers(prices, starts, outside, malformed or _DIGIT.search(text, at) is not None)


def _well_grouped(digits: str) -> bool:
    return "," not in digits or _THOUSANDS.fullmatch(digits) is not None


def _price(digits: str, negative: bool, lo: int, hi: int) -> int | None:
    """Return the price in cents, rounded half up; None if the exact value is out of range."""
    whole, _, fraction = digits.replace(",", "").partition(".")
    cents, rest = int(whole or "0") * 100 + int(fraction[:2].ljust(2, "0")), fraction[2:]
    exact = not rest.strip("0")
    if negative and (cents or not exact):
        return None
    if cents < lo or cents > hi or (cents == hi and not exact):
        return None
    return cents + (rest[:1] >= "5")


# Words.

ACCEPTANCES = frozenset({"accept", "yes", "deal"})
REJECTIONS = (["reject"], ["i", "reject"], ["no"], ["no", "deal"])
WALK_AWAY = (["walk", "away"], ["i", "walk", "away"])

_WORD = re.compile(r"[^\W\d_]+(?:['-][^\W\d_]+)*")
_NEGATION = """no not never none nothing neither nor nope nah cannot without refuse refuses refused refusing reject
    rejects rejected rejecting decline declines declined declining cant dont wont wouldnt couldnt shouldnt didnt
    doesnt isnt arent wasnt aint"""
_CONDITION = """if unless until till when once but however although though except provided providing assuming only
    instead before after later soon maybe perhaps possibly might could would should almost nearly"""
_QUESTION = "what how why which who whether where"
_REQUEST = """give make get find want need wish hope better best cheaper lower less reduce drop discount improve
    another different bad worse worst terrible unfair too expensive high wait think thinking consider considering
    breaker breakers"""
_OFFER = "i we my our offer offers counter counteroffer price is of at the a to pay dollar dollars usd buck bucks"
_NEGATIONS = frozenset(_NEGATION.split())
_VETOES = frozenset(f"{_NEGATION} {_CONDITION} {_QUESTION} {_REQUEST}".split())
_OTHER_PARTY = frozenset(("you", "u", "ai", "seller", "bot", "computer", "assistant", "manager", "they"))
_COURTESIES = frozenset(("thanks", "please", "sorry"))

OFFER_WORDS = frozenset(_OFFER.split())
"""Words that may accompany the other's price in a seat's own offer at that price."""


def words_of(text: str) -> list[str]:
    return _WORD.findall(text)


def without_thanks(words: Sequence[str]) -> list[str]:
    """Remove every pair `thank you` or `thank u`."""
    kept: list[str] = []
    paired = False
    for word, after in pairwise([*words, ""]):
        if paired:
            paired = False
        elif word == "thank" and after in ("you", "u"):
            paired = True
        else:
            kept.append(word)
    return kept


def without_courtesies(words: Sequence[str]) -> list[str]:
    return [word for word in without_thanks(words) if word not in _COURTESIES]


def is_negated(words: Sequence[str]) -> bool:
    return any(word in _NEGATIONS or word.endswith("n't") for word in words)


def is_vetoed(text: str, words: Sequence[str]) -> bool:
    """Return True if an acceptance is taken back by a negation, condition, question or request."""
    if "?" in text:
        return True
    words = without_thanks(words)
    return (
        any(word in _VETOES or word.endswith("n't") for word in words)
        or _asks_other_party(words)
        or _speaks_of_own_offer(words)
    )


def _speaks_of_own_offer(words: Sequence[str]) -> bool:
    """Return True for texts such as `accept my offer`, which do not mean the standing offer."""
    first = next((i for i, word in enumerate(words) if word in ("accept", "deal")), len(words))
    return any(word in ("my", "mine") for word in words[first + 1 :])


def _asks_other_party(words: Sequence[str]) -> bool:
    """Return True for texts that ask the other to accept: `you accept`, `will you ...`, `please accept`."""
    last = max((i for i, word in enumerate(words) if word == "accept"), default=0)
    if any(word in _OTHER_PARTY for word in words[:last]):
        return True
    return any(
        (a in ("will", "can", "do", "did") and b in ("you", "u")) or (a == "please" and b == "accept")
        for a, b in pairwise(words)
    )
