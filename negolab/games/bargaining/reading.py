"""Parsing of replies, with one grammar for both seats.

A false acceptance ends a paid game, while a false re-prompt costs one line, so a doubtful reply is invalid.
"""

from __future__ import annotations

import re
from functools import lru_cache
from unicodedata import category

import msgspec

from negolab.game import Invalid, InvalidKind
from negolab.games.bargaining.lexer import (
    ACCEPTANCES,
    OFFER_WORDS,
    REJECTIONS,
    WALK_AWAY,
    has_digit,
    is_negated,
    is_vetoed,
    normalise,
    read_numbers,
    without_courtesies,
    words_of,
)
from negolab.games.bargaining.state import Accept, Action, Offer, Reject
from negolab.money import format_cents

MAX_MESSAGE = 280
_MESSAGE = re.compile(r"(?im)^[ \t]*message:")
_PRICE = re.compile(r"([0-9]{1,7})(?:\.([0-9]{1,2}))?")
_DECIMAL_COMMA = re.compile(r"(?<![\w.,])(\d{1,7}),(\d\d?)(?![.,]?\d)")
_CLAUSE_END = re.compile(r"[.,;:!?]")
_ACCEPT, _REJECT = Accept(), Reject()


class Grammar(msgspec.Struct, frozen=True, gc=False):
    """Grammar for a game's replies. `whole_a`: "a" accepts only alone; `veto`: "no deal" does not accept; `unit_guard`:
    "45 cents" is not a dollar price; `refusal_guard`: "not 45" is not an offer."""

    price_lo: int
    price_hi: int
    acceptances: frozenset[str]
    walk_away: bool
    whole_a: bool
    veto: bool
    unit_guard: bool
    refusal_guard: bool


@lru_cache(maxsize=256)
def grammar(
    lo: int,
    hi: int,
    extra: tuple[str, ...],
    walk_away: bool,
    whole_a: bool,
    veto: bool,
    unit_guard: bool,
    refusal_guard: bool,
) -> Grammar:
    return Grammar(lo, hi, ACCEPTANCES.union(extra), walk_away, whole_a, veto, unit_guard, refusal_guard)


def read_price(text: str, lo: int, hi: int) -> int | None:
    """Parse a text that is a plain price in range, as nearly every reply is, into cents; None if it takes the
    grammar."""
    plain = _PRICE.fullmatch(text)
    if plain is None:
        return None
    whole, fraction = plain.groups()
    cents = int(whole) * 100
    if fraction is not None:
        cents += int(fraction) * (1 if len(fraction) == 2 else 10)
    return cents if lo <= cents <= hi else None


def read_reply(text: str, rules: Grammar, stands: bool, last: bool, asked: int | None = None) -> Action | str:
    """Parse a reply into an action, or into the code of its fault.

    Args:
        text: The reply.
        rules: The grammar.
        stands: True if there is an offer to answer.
        last: True if no round is left for another offer.
        asked: The standing price, if the other seat offered it.
    """
    plain = normalise(text)
    if plain is None:
        return "too_long"
    words = words_of(plain)
    digit = has_digit(plain)
    if stands and not digit and "?" not in plain and is_rejection(words, rules, last):
        return _REJECT
    hit = _is_acceptance(words, digit, rules)
    taken_back = hit and rules.veto and is_vetoed(plain, words)
    if hit and not taken_back:
        if digit:
            return "ambiguous_accept_and_number"
        return _ACCEPT if stands else "nothing_to_accept"
    return read_offer(plain, words, rules, last, asked) or ("vetoed_acceptance" if taken_back else "no_valid_input")


def is_rejection(words: list[str], rules: Grammar, last: bool) -> bool:
    words = without_courtesies(words)
    return (last and words in REJECTIONS) or (rules.walk_away and words in WALK_AWAY)


def _is_acceptance(words: list[str], digit: bool, rules: Grammar) -> bool:
    if not rules.acceptances.isdisjoint(words):
        return True
    return words == ["a"] and not digit if rules.whole_a else "a" in words


def read_offer(plain: str, words: list[str], rules: Grammar, last: bool, asked: int | None) -> Action | str | None:
    """Read the one price in a text as an offer; at the last response, when no round is left, it rejects."""
    found = read_numbers(plain, rules.price_lo, rules.price_hi, rules.unit_guard)
    if len(found.prices) > 1:
        return "several_prices"
    if found.malformed:
        return "malformed_number"
    if not found.prices:
        return "out_of_range" if found.outside else None
    if last:
        return _REJECT
    (cents,) = found.prices
    if rules.refusal_guard:
        if cents == asked and not OFFER_WORDS.issuperset(words):
            return "echoed_price"
        if _refuses_price(plain, found.starts):
            return "refused_price"
    return Offer(cents)


def _refuses_price(plain: str, starts: list[int]) -> bool:
    """Return True if a clause says no before its price; if a price is named twice, one refusal is enough."""
    before = 0
    for start in starts:
        if is_negated(words_of(_CLAUSE_END.split(plain[before:start])[-1])):
            return True
        before = start
    return False


# Messages.


def split_message(text: str) -> tuple[str, str]:
    """Split a reply into the decision and the message after the first line that starts with `message:`."""
    marker = _MESSAGE.search(text)
    return (text, "") if marker is None else (text[: marker.start()], clean_message(text[marker.end() :]))


def clean_message(message: str) -> str:
    """Reduce a message to one line of at most 280 code points."""
    return " ".join("".join(map(_printable, message)).split())[:MAX_MESSAGE]


def _printable(char: str) -> str:
    kind = category(char)
    if kind == "Cs":
        return "\ufffd"
    return " " if kind in ("Cc", "Zl", "Zp") else char


def write_message(message: str) -> str:
    """Write a message as a line that parses back to itself: a trailing space, left by cutting, needs text after it."""
    return f"MESSAGE: {message}…" if message.endswith(" ") else f"MESSAGE: {message}"


def is_clean_message(message: object) -> bool:
    return isinstance(message, str) and (message == "" or split_message(write_message(message)) == ("", message))


# Reasons for invalid replies.

_REASONS = {
    "too_long": "Your reply is too long",
    "ambiguous_accept_and_number": "Your reply holds both an acceptance and a number",
    "nothing_to_accept": "There is no offer to accept yet",
    "several_prices": "Your reply names more than one price",
    "malformed_number": "Your reply holds a number that is not a plain price in dollars",
    "out_of_range": "Your price is out of range",
    "vetoed_acceptance": "Your reply speaks of accepting but refuses, asks or sets a condition",
    "echoed_price": "Your reply repeats the price that was offered to you, and its other words do not offer it",
    "refused_price": "Your reply says no to the price that it names",
    "reasoning_open": "Your reply opens its reasoning with a tag and does not close it",
    "key_twice": "Your reply names a key of its object twice",
    "no_valid_input": "Your reply holds neither a price nor a clear answer",
}
_RULES = ("nothing_to_accept", "out_of_range")


@lru_cache(maxsize=1024)
def refusal(code: str, rules: Grammar, stands: bool, last: bool, meant: str = "") -> Invalid:
    """Return the `Invalid` for a code; its reason ends with what to do, or how to write the price that was `meant`."""
    kind: InvalidKind = "rule" if code in _RULES else "format"
    why = f"Your price has a decimal comma: write {meant}, or" if meant else f"{_REASONS[code]}:"
    return Invalid((code,), f"{why} {allowed_answers(rules, stands, last)}.", kind)


def without_decimal_comma(text: str) -> str:
    """Return a text's price that has a decimal comma, written with a point; "" if there is none.

    >>> without_decimal_comma("I offer 52,50"), without_decimal_comma("1,000")
    ('52.50', '')
    """
    found = _DECIMAL_COMMA.search(normalise(text) or "")
    return "" if found is None else f"{found[1]}.{found[2]}"


def allowed_answers(rules: Grammar, stands: bool, last: bool) -> str:
    """Say what a seat may answer."""
    if last:
        return "answer accept or reject"
    price = f"a price from {format_cents(rules.price_lo)} to {format_cents(rules.price_hi)}"
    if not stands:
        return f"answer with {price}"
    return f"answer with {price}, accept or walk away" if rules.walk_away else f"answer with {price} or accept"
