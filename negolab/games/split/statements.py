"""What seats say about themselves and about divisions, in the few forms that scripted players write and can read.

The measures use the same reading to tell whether a seat was honest.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from negolab.games.split.bodies import read_list
from negolab.games.split.names import forms, names, singular
from negolab.games.split.position import Hand, Private, Proposal, Units
from negolab.games.split.reading import fold

Statement = Hand | Units
"""A hand, or values per type."""

_HAND = re.compile(r"\b(?:rock|paper|scissors)\b")
_VALUE_WORD = re.compile(r"\bvalues?\b")
_VALUE = re.compile(r"\bvalue(?:\s++is\b|\s*+[=:])\s*+([0-9]{1,3})(?![0-9])")
_OFFER = "i take "
_OFFER_END = re.compile(r"[;.\r\n]")


def announcement(items: tuple[str, ...], statement: Statement) -> str:
    """A hand or values in words."""
    if isinstance(statement, str):
        return f"My hand is {statement}."
    if len(items) == 1:
        return f"My value is {statement[0]} per {singular(items[0])}."
    listed = ", ".join(f"{item}={value}" for item, value in zip(items, statement, strict=True))
    return f"My values are {listed}."


def truth(private: Private) -> Statement | None:
    """What a seat could announce of itself: its hand or its values, or nothing where it has neither for itself."""
    return private.hand if private.hand is not None else private.values


def heard_hand(text: str) -> Hand | None:
    """The one hand named in a text; None if it names none or several."""
    found = set(_HAND.findall(fold(text)))
    return found.pop() if len(found) == 1 else None


def heard_values(text: str, items: tuple[str, ...]) -> Units | None:
    """The values a text states, one for each type; None if any is missing or stated in two ways."""
    low = fold(text)
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
    """Per type, what states its value: `hats=3` or `hat: 3`."""
    return tuple(re.compile(rf"\b(?:{'|'.join(forms(item))})\s*+[=:]\s*+([0-9]{{1,3}})(?![0-9])") for item in items)


def heard(text: str, items: tuple[str, ...], hands: bool) -> Statement | None:
    """The hand (in games of hands) or the values that a text states."""
    return heard_hand(text) if hands else heard_values(text, items)


def offer(items: tuple[str, ...], keep: Units) -> str:
    """A proposed division in words."""
    listed = ", ".join(f"{units} {item}" for item, units in zip(items, keep, strict=True))
    return f"I take {listed}; you take the rest."


def heard_offer(text: str, items: tuple[str, ...], stock: Units) -> Units | None:
    """What the author of a text offers to keep: the list after its last `I take`."""
    low = fold(text)
    start = low.rfind(_OFFER)
    if start < 0:
        return None
    start += len(_OFFER)
    end = _OFFER_END.search(low, start)
    found = read_list(low[start : end.start() if end else len(low)], names(items), stock)
    return found.keep if isinstance(found, Proposal) else None


def latest(texts: Sequence[str], items: tuple[str, ...], hands: bool) -> Statement | None:
    """The last readable statement among texts in the order they were sent."""
    for text in reversed(texts):
        found = heard(text, items, hands)
        if found is not None:
            return found
    return None
