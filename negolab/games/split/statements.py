"""Statements about oneself and offers of divisions, in the few forms that scripted players write and read.

The measures use the same parsing to tell whether a seat was honest.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from negolab.games.split.reading import lower_ascii, name_table, read_list, singular, singular_and_plural
from negolab.games.split.state import Hand, Private, Proposal, Units

Statement = Hand | Units
"""A hand, or values per type."""

_HAND = re.compile(r"\b(?:rock|paper|scissors)\b")
_VALUE_WORD = re.compile(r"\bvalues?\b")
_VALUE = re.compile(r"\bvalue(?:\s++is\b|\s*+[=:])\s*+([0-9]{1,3})(?![0-9])")
_OFFER = "i take "
_OFFER_END = re.compile(r"[;.\r\n]")


def announcement_text(items: tuple[str, ...], statement: Statement) -> str:
    """Write a hand or values as a message."""
    if isinstance(statement, str):
        return f"My hand is {statement}."
    if len(items) == 1:
        return f"My value is {statement[0]} per {singular(items[0])}."
    listed = ", ".join(f"{item}={value}" for item, value in zip(items, statement, strict=True))
    return f"My values are {listed}."


def true_statement(private: Private) -> Statement | None:
    """Return what a seat could truthfully state: its hand or its values; None if it has neither to itself."""
    return private.hand if private.hand is not None else private.values


def parse_hand(text: str) -> Hand | None:
    """Parse the one hand named in a text; None if it names none or several."""
    hands = set(_HAND.findall(lower_ascii(text)))
    return hands.pop() if len(hands) == 1 else None


def parse_values(text: str, items: tuple[str, ...]) -> Units | None:
    """Parse the values a text states, one for each type; None if any is missing or stated in two ways."""
    low = lower_ascii(text)
    if not _VALUE_WORD.search(low):
        return None
    if len(items) == 1:
        found = [set(_VALUE.findall(low))]
    else:
        found = [set(pattern.findall(low)) for pattern in _patterns(items)]
    numbers = [{int(digits) for digits in stated} for stated in found]
    return tuple([stated.pop() for stated in numbers]) if all(len(stated) == 1 for stated in numbers) else None


@lru_cache(maxsize=64)
def _patterns(items: tuple[str, ...]) -> tuple[re.Pattern[str], ...]:
    """Compile, per type, the pattern for its value: `hats=3` or `hat: 3`."""
    return tuple(
        re.compile(rf"\b(?:{'|'.join(singular_and_plural(item))})\s*+[=:]\s*+([0-9]{{1,3}})(?![0-9])") for item in items
    )


def parse_statement(text: str, items: tuple[str, ...], hands: bool) -> Statement | None:
    """Parse the hand (in games with hands) or the values that a text states."""
    return parse_hand(text) if hands else parse_values(text, items)


def offer_text(items: tuple[str, ...], keep: Units) -> str:
    """Write a proposed division as a message."""
    listed = ", ".join(f"{units} {item}" for item, units in zip(items, keep, strict=True))
    return f"I take {listed}; you take the rest."


def parse_offer(text: str, items: tuple[str, ...], stock: Units) -> Units | None:
    """Parse what the author of a text offers to keep: the list after its last `I take`."""
    low = lower_ascii(text)
    start = low.rfind(_OFFER)
    if start < 0:
        return None
    start += len(_OFFER)
    end = _OFFER_END.search(low, start)
    found = read_list(low[start : end.start() if end else len(low)], name_table(items), stock)
    return found.keep if isinstance(found, Proposal) else None


def latest_statement(texts: Sequence[str], items: tuple[str, ...], hands: bool) -> Statement | None:
    """Return the last readable statement among texts in the order they were sent."""
    for text in reversed(texts):
        found = parse_statement(text, items, hands)
        if found is not None:
            return found
    return None
