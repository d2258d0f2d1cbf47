"""Parsing of offers with two grammars, strict (`seed`, `tolerant`) and lenient (TextArena 0.7.4's), and of texts as
they were meant.

All take time linear in the text: every regular expression is possessive or stops at the next bracket.
"""

from __future__ import annotations

import re
from functools import lru_cache

from negolab.game import Invalid
from negolab.games.trading.state import GOODS, Deal, Goods, to_goods
from negolab.reading import Spoken, read_tokens, with_arrows

_HEAD = r"\[[oO][fF][fF][eE][rR]"
_TOKEN = re.compile(_HEAD + r"(?:([:\s][^\[\]]*+)(\])?|(\]))?")
_LENIENT = re.compile(_HEAD + r"([^\[\]]++)\]")
_PAIR = re.compile(r"(?<!\d)(\d++)\s++([A-Za-z\u0130\u0131\u017f\u212a]++)")

_STRICT_NAMES = {form: i for i, name in enumerate(GOODS) for form in (name.lower(), name.lower() + "s")}
_LENIENT_NAMES = {**{name: i for i, name in enumerate(GOODS)}, "Sheeps": 2, "Woods": 1}

MAX_DIGITS = 4300
"""Number of digits beyond which Python neither reads nor prints an integer."""


def scan_offers(text: str) -> tuple[str | None, int, bool]:
    """Return the first offer token's body, the number of tokens, and whether a token lacks its closing bracket."""
    first, tokens, broken = None, 0, False
    for body, closed, mention in _TOKEN.findall(text):
        if closed:
            first = body if first is None else first
            tokens += 1
        elif not mention:
            broken = True
    return first, tokens, broken


def parse_strict(body: str) -> Deal | None:
    """Parse a body such as `: 2 Wheat, 1 Ore -> 3 Sheep`; None if it is malformed."""
    # Offers repeat within and across matches; a bound on the length keeps the cache small.
    return _strict_cached(body) if len(body) < 120 else _parse_strict(body)


def _parse_strict(body: str) -> Deal | None:
    body = body.strip().removeprefix(":").removesuffix(".")
    sides = body.split("->")
    if len(sides) != 2:
        return None
    give, want = _strict_list(sides[0]), _strict_list(sides[1])
    return None if give is None or want is None else (give, want)


_strict_cached = lru_cache(maxsize=8192)(_parse_strict)


def _strict_list(side: str) -> Goods | None:
    words = side.replace(",", " , ").split()
    amounts = [0, 0, 0, 0, 0]
    at = 0
    while True:
        if at + 2 > len(words):
            return None
        good = _STRICT_NAMES.get(words[at + 1].lower()) if words[at + 1].isascii() else None
        amount = _strict_amount(words[at])
        if good is None or not amount:
            return None
        amounts[good] += amount
        at += 2
        if at == len(words):
            return to_goods(amounts)
        after = _separator(words, at)
        if after is None:
            return None
        at = after


def _separator(words: list[str], at: int) -> int | None:
    """Return the index after `,`, `and` or `, and`; None if there is none at `at`."""
    comma = words[at] == ","
    behind = at + 1 if comma else at
    conjunction = behind < len(words) and words[behind].isascii() and words[behind].lower() == "and"
    if not comma and not conjunction:
        return None
    return behind + 1 if conjunction else behind


def _strict_amount(word: str) -> int:
    """Parse 1 to 9 ASCII digits; anything else is 0."""
    return int(word) if len(word) <= 9 and word.isascii() and word.isdigit() else 0


_LIST = r"\d++ [A-Za-z]++(?:, \d++ [A-Za-z]++)*+"
_PLAIN = re.compile(rf"Pass\.|\[(?:Accept|Deny)\]|(?:\[Deny\] )?\[Offer: {_LIST} -> {_LIST}\]")


def is_plain(text: str) -> bool:
    """Return True for tokens alone: both readings agree on them, and the literal one takes a fortieth of the time."""
    return _PLAIN.fullmatch(text) is not None


def spoken_tokens(text: str, waiting: Deal | None) -> Spoken:
    """Find the tokens in a text without reasoning."""
    give, want = [{(units, good) for good, units in enumerate(side) if units} for side in waiting or ((), ())]

    def names_waiting(words: str) -> bool:
        theirs, *mine = map(_amounts, _FOR_MINE.split(words))
        return [set(theirs), *map(set, mine)] == [give, want] if mine else give | want >= set(theirs) != set()

    return read_tokens(text, is_offer=lambda body: parse_fair(body) is not None, names_standing=names_waiting)


def read_fair(text: str, waiting: Deal | None) -> tuple[Spoken, tuple[Deal | None, ...]]:
    """Read a text without reasoning: its tokens, and its distinct offers in order (None for one that cannot be read);
    beside an acceptance, an offer that repeats the waiting one does not count."""
    spoken = spoken_tokens(text, waiting)
    offers = dict.fromkeys(parse_fair(token.body) for token in spoken.counting("offer"))
    if spoken.counting("accept"):
        offers.pop(waiting, None)
    return spoken, tuple(offers)


def _amounts(words: str) -> list[tuple[int, int | None]]:
    """Return the amounts that words name, each with the number of its good (None: something else)."""
    return [(int(units), _STRICT_NAMES.get(good)) for units, good in re.findall(r"(\d{1,9})x? ([a-z]+)", words)]


BROKEN = re.compile(_HEAD)
"""The head of a token in talk: an `[Offer]` without what is offered, or one that does not end."""
_FOR_MINE = re.compile(" for (?:my|our) ")
_TIMES = re.compile(r"(?<!\w)(\d{1,9}) ?x ?(?=[A-Za-z])")
_AND = re.compile(r" ?[+&] ?")


def parse_fair(body: str) -> Deal | None:
    """Parse a body like `parse_strict`, but allow `2x Wheat`, `+`, `&`, other arrows and brackets around a side too."""
    body = _AND.sub(", ", _TIMES.sub(r"\1 ", with_arrows(" ".join(body.split()))))
    sides = [side.strip() for side in body.removeprefix(":").removesuffix(".").split("->")]
    return parse_strict("->".join(s[1:-1] if s.startswith("[") and s.endswith("]") else s for s in sides))


def parse_lenient(text: str) -> tuple[Deal | None, bool]:
    """Return the first offer token's deal, and True if that token is malformed; (None, False) if there is none."""
    token = _LENIENT.search(text)
    if token is None:
        return None, False
    body = token[1]
    if body.count("->") != 1:
        return None, True
    left, _, right = body.partition("->")
    give, want = _lenient_list(left), _lenient_list(right)
    return (None, True) if give is None or want is None else ((give, want), False)


def _lenient_list(side: str) -> Goods | None:
    amounts = [0, 0, 0, 0, 0]
    found = False
    for run, letters in _PAIR.findall(side):
        good = _LENIENT_NAMES.get(letters.title())
        if good is None or len(run) > MAX_DIGITS or (amount := int(run)) < 1:
            return None
        amounts[good] += amount
        found = True
    if not found or max(amounts) >= _TOO_MANY:
        return None
    return to_goods(amounts)


_TOO_MANY = 10**MAX_DIGITS


def without_tokens(text: str) -> str:
    """Return the talk around the tokens in a text, on one line."""
    return " ".join(_BRACKETED.sub(" ", text).split())


_BRACKETED = re.compile(r"\[(?:accept|deny|offer[^\[\]]*+)\]", re.IGNORECASE)


def refusal(code: str, reason: str) -> Invalid:
    """Return the `Invalid` for a code; only a malformed offer is of kind "format"."""
    return Invalid((code,), reason, "format" if code == "offer_format" else "rule")
