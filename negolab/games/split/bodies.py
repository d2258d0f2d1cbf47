"""Reading the body of a proposal: a list of units, `<hats>4</hats>` elements, a JSON object, a number, or no deal."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from negolab.game import Invalid
from negolab.games.split.names import Names
from negolab.games.split.position import Proposal, Units
from negolab.games.split.reading import fold, refusal

Pairs = list[tuple[str, str]]
"""(name, digits) in the order written; names not yet known, digits not yet converted."""

_ENTRY = re.compile(r"([0-9]++)\s*+([a-z]++)|([a-z]++)\s*+[:=]\s*+([0-9]++)")
_BETWEEN = re.compile(r"(?:[\s,;&]|and(?![a-z]))++")
_ELEMENT = re.compile(r"<([a-z]++)>\s*+([0-9]++)\s*+</\1>")
_GAP = re.compile(r"[\s,]*+")
_DIGITS = re.compile(r"[0-9]++")


def read_body(text: str, table: Names, stock: Units, exact: bool) -> Proposal | Invalid:
    """One body as a proposal."""
    text = _trimmed(text)
    low = fold(text)
    if low in ("no deal", "no_deal"):
        return Proposal(None) if exact else _no_deal(table)
    pairs = _pairs(text, low, table)
    return _unreadable(table) if pairs is None else proposal(pairs, table, stock)


def read_list(text: str, table: Names, stock: Units) -> Proposal | Invalid:
    """A list such as `4 hats, 6 books` alone."""
    pairs = _list(fold(_trimmed(text)))
    return _unreadable(table) if pairs is None else proposal(pairs, table, stock)


def proposal(pairs: Iterable[tuple[str, str]], table: Names, stock: Units) -> Proposal | Invalid:
    """Units per type; each type at most once, at least one, the others 0, none above the stock."""
    keep: dict[int, int] = {}
    for name, digits in pairs:
        at = table.types.get(name)
        if at is None:
            return refusal("unknown_item", f"There is no such item: name only {_listed(table)}.")
        if at in keep:
            return refusal("repeated_item", f"You name {_cut(table.items[at])} more than once: name each type once.")
        units = _within(digits, stock[at])
        if units is None:
            item = _cut(table.items[at])
            return refusal("over_stock", f"Only {stock[at]} {item} can be had: keep from 0 to {stock[at]} {item}.")
        keep[at] = units
    if not keep:
        return _unreadable(table)
    return Proposal(tuple([keep.get(at, 0) for at in range(len(stock))]))


def _within(digits: str, most: int) -> int | None:
    """The number, or None if it is above `most`. Lengths are compared first: conversion takes time and has limits."""
    digits = digits.lstrip("0") or "0"
    if len(digits) > len(str(most)):
        return None
    number = int(digits)
    return number if number <= most else None


def _trimmed(text: str) -> str:
    """Without whitespace around it and without full stops, commas and semicolons at its end."""
    end = len(text)
    while end and (text[end - 1] in ".,;" or text[end - 1].isspace()):
        end -= 1
    return text[:end].lstrip()


def _pairs(text: str, low: str, table: Names) -> Pairs | None:
    if text.startswith("{"):
        return _json(text, table)
    if "<" in text:
        return _elements(low)
    if len(table.items) == 1 and _DIGITS.fullmatch(low):
        return [(table.items[0], low)]
    return _list(low)


def _list(low: str) -> Pairs | None:
    """`4 hats and 6 books`, `hats: 4, books=6`; None where anything else stands."""
    pairs: Pairs = []
    at = 0
    while entry := _ENTRY.match(low, at):
        digits, name, name_first, digits_last = entry.groups()
        pairs.append((name or name_first, digits or digits_last))
        if entry.end() == len(low):
            return pairs
        between = _BETWEEN.match(low, entry.end())
        if between is None:
            return None
        at = between.end()
    return None


def _elements(low: str) -> Pairs | None:
    """`<hats>4</hats> <books>6</books>`; None where anything else stands."""
    pairs: Pairs = []
    at = 0
    while entry := _ELEMENT.match(low, at):
        pairs.append((entry[1], entry[2]))
        gap = _GAP.match(low, entry.end())
        assert gap is not None
        at = gap.end()
    return pairs if at == len(low) else None


class _Object(list[tuple[str, Any]]):
    """A JSON object as its pairs, so that a repeated key shows."""


class _Integer(str):
    """The digits of a JSON integer, unconverted."""

    __slots__ = ()


def _json(text: str, table: Names) -> Pairs | None:
    try:
        found = json.loads(text, object_pairs_hook=_Object, parse_int=_Integer, parse_float=_not_whole)
    except (ValueError, RecursionError):
        return None
    if isinstance(found, _Object) and len(found) == 1:
        found = _unwrapped(found, table)
    if not isinstance(found, _Object):
        return None
    pairs = [(fold(key.strip()), value) for key, value in found]
    return pairs if all(isinstance(n, _Integer) and n[0] != "-" for _, n in pairs) else None


def _unwrapped(found: _Object, table: Names) -> Any:
    """What stands under a key such as `proposal`: an object or, with a single type, its number."""
    ((key, value),) = found
    if fold(key.strip()) not in table.wrappers:
        return found
    if isinstance(value, _Integer) and len(table.items) == 1:
        return _Object([(table.items[0], value)])
    return value if isinstance(value, _Object) else found


def _not_whole(_: str) -> None:
    return None


def _unreadable(table: Names) -> Invalid:
    return refusal("unreadable", f"Your proposal cannot be read: write it as {_form(table)}.")


def _no_deal(table: Names) -> Invalid:
    return refusal("no_deal_not_allowed", f"No deal is not possible here: write what you keep as {_form(table)}.")


def _form(table: Names) -> str:
    first = _cut(table.items[0])
    if len(table.items) == 1:
        return f"<{first}_to_self>n</{first}_to_self>"
    return (
        f"<items_to_self>n {first}, n {_cut(table.items[1])}{', ...' if len(table.items) > 2 else ''}</items_to_self>"
    )


def _listed(table: Names) -> str:
    return ", ".join(_cut(item) for item in table.items[:8]) + (", ..." if len(table.items) > 8 else "")


def _cut(item: str) -> str:
    """The name; a very long one shortened, since reasons are short."""
    return item if len(item) <= 40 else item[:37] + "..."
