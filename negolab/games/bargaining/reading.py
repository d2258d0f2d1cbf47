"""What a reply means: the input grammar, the same for both seats.

A false acceptance ends a paid game and a false re-prompt costs one line: in doubt a reply is no valid input.
"""

from __future__ import annotations

import re
from functools import lru_cache
from unicodedata import category

import msgspec

from negolab.game import Invalid, Kind
from negolab.games.bargaining.money import money
from negolab.games.bargaining.normal import normalise
from negolab.games.bargaining.numbers import has_digit, read_numbers
from negolab.games.bargaining.state import Accept, Action, Offer, Reject
from negolab.games.bargaining.words import (
    ACCEPTANCES,
    REJECTIONS,
    WALK_AWAY,
    vetoed,
    without_courtesies,
    words_of,
)

LONGEST_MESSAGE = 280
_MESSAGE = re.compile(r"(?im)^[ \t]*message:")
_PRICE = re.compile(r"([0-9]{1,7})(?:\.([0-9]{1,2}))?")
_ACCEPT, _REJECT = Accept(), Reject()


class Grammar(msgspec.Struct, frozen=True, gc=False):
    """What a game lets its players say. `whole_a`: "a" accepts only alone; `veto`: "no deal" does not accept;
    `unit_guard`: "45 cents" is no dollar price."""

    price_lo: int
    price_hi: int
    acceptances: frozenset[str]
    walk_away: bool
    whole_a: bool
    veto: bool
    unit_guard: bool


@lru_cache(maxsize=256)
def grammar(
    lo: int, hi: int, extra: tuple[str, ...], walk_away: bool, whole_a: bool, veto: bool, unit_guard: bool
) -> Grammar:
    return Grammar(lo, hi, ACCEPTANCES.union(extra), walk_away, whole_a, veto, unit_guard)


def read_price(text: str, lo: int, hi: int) -> int | None:
    """The cents of a text that is nothing but a plain price in range: what nearly every reply is, read without
    the grammar. None says only that the grammar must look."""
    plain = _PRICE.fullmatch(text)
    if plain is None:
        return None
    whole, fraction = plain.groups()
    cents = int(whole) * 100
    if fraction is not None:
        cents += int(fraction) * (1 if len(fraction) == 2 else 10)
    return cents if lo <= cents <= hi else None


def read(text: str, rules: Grammar, stands: bool, last: bool) -> Action | str:
    """The action of a reply, or the code of what is wrong with it. `stands`: there is an offer to answer; `last`:
    no round is left for another."""
    plain = normalise(text)
    if plain is None:
        return "too_long"
    words = words_of(plain)
    digit = has_digit(plain)
    if stands and not digit and "?" not in plain and _rejects(words, rules, last):
        return _REJECT
    hit = _accepts(words, digit, rules)
    taken_back = hit and rules.veto and vetoed(plain, words)
    if hit and not taken_back:
        if digit:
            return "ambiguous_accept_and_number"
        return _ACCEPT if stands else "nothing_to_accept"
    return _offer(plain, rules, last) or ("vetoed_acceptance" if taken_back else "no_valid_input")


def _rejects(words: list[str], rules: Grammar, last: bool) -> bool:
    words = without_courtesies(words)
    return (last and words in REJECTIONS) or (rules.walk_away and words in WALK_AWAY)


def _accepts(words: list[str], digit: bool, rules: Grammar) -> bool:
    if not rules.acceptances.isdisjoint(words):
        return True
    return words == ["a"] and not digit if rules.whole_a else "a" in words


def _offer(plain: str, rules: Grammar, last: bool) -> Action | str | None:
    """The one price of a text; at the last response, where no round is left for it, it rejects."""
    found = read_numbers(plain, rules.price_lo, rules.price_hi, rules.unit_guard)
    if len(found.prices) > 1:
        return "several_prices"
    if found.malformed:
        return "malformed_number"
    if found.prices:
        return _REJECT if last else Offer(found.prices.pop())
    return "out_of_range" if found.outside else None


# Talk.


def split_message(text: str) -> tuple[str, str]:
    """The decision and the message after the first line that starts with `message:`."""
    marker = _MESSAGE.search(text)
    return (text, "") if marker is None else (text[: marker.start()], tidy(text[marker.end() :]))


def tidy(message: str) -> str:
    """One line of at most 280 code points."""
    return " ".join("".join(map(_printed, message)).split())[:LONGEST_MESSAGE]


def _printed(char: str) -> str:
    kind = category(char)
    if kind == "Cs":
        return "\ufffd"
    return " " if kind in ("Cc", "Zl", "Zp") else char


def say_message(message: str) -> str:
    """A message as a line that reads back as itself. One that was cut behind a word ends in a space, which stays
    only while more follows."""
    return f"MESSAGE: {message}…" if message.endswith(" ") else f"MESSAGE: {message}"


def is_tidy(message: object) -> bool:
    return isinstance(message, str) and (message == "" or split_message(say_message(message)) == ("", message))


# What to say about a reply that is no action.

_FAULTS = {
    "too_long": "Your reply is too long",
    "ambiguous_accept_and_number": "Your reply holds both an acceptance and a number",
    "nothing_to_accept": "There is no offer to accept yet",
    "several_prices": "Your reply names more than one price",
    "malformed_number": "Your reply holds a number that is not a plain price in dollars",
    "out_of_range": "Your price is out of range",
    "vetoed_acceptance": "Your reply speaks of accepting but refuses, asks or sets a condition",
    "no_valid_input": "Your reply holds neither a price nor a clear answer",
}
_RULES = ("nothing_to_accept", "out_of_range")


@lru_cache(maxsize=1024)
def refusal(code: str, rules: Grammar, stands: bool, last: bool) -> Invalid:
    """The `Invalid` of a code, its reason ending in what to do."""
    kind: Kind = "rule" if code in _RULES else "format"
    return Invalid((code,), f"{_FAULTS[code]}: {due(rules, stands, last)}.", kind)


def due(rules: Grammar, stands: bool, last: bool) -> str:
    """What a seat may answer."""
    if last:
        return "answer accept or reject"
    price = f"a price from {money(rules.price_lo)} to {money(rules.price_hi)}"
    if not stands:
        return f"answer with {price}"
    return f"answer with {price}, accept or walk away" if rules.walk_away else f"answer with {price} or accept"
