"""Measures of a trading match: what trades there were, and the truth of what seats said they hold and value."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from negolab.analysis.claims import Claim, truth
from negolab.analysis.measures import flat
from negolab.analysis.said import accepted
from negolab.games.trading.goods import GOODS
from negolab.games.trading.position import crossed
from negolab.record import Record, final

_GOOD = rf"(?:{'|'.join(GOODS)})s?"
_COUNT = rf"(?:[0-9]{{1,9}}|no)\s+{_GOOD}\b"
_HOLD = re.compile(
    rf"(?<!if )(?<!when )\bI(?:'ve got| have| hold| own)(?: only| just| exactly| now)?\s+"
    rf"((?>{_COUNT}(?:(?:\s*,\s*(?:and\s+)?|\s+and\s+){_COUNT})*))(?!\s+to\s+(?:offer|spare|trade|sell|give))",
    re.IGNORECASE,
)
_HELD = re.compile(rf"([0-9]{{1,9}}|no)\s+({'|'.join(GOODS)})", re.IGNORECASE)
_NAME = f"({'|'.join(GOODS)})"
_WORTH = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"\b{_NAME}s? (?:is|are) worth ([0-9]{{1,9}})(?: points)?(?: each)? to me\b",
        rf"\bI value {_NAME}s? at ([0-9]{{1,9}})\b",
        rf"\bmy value (?:of|for) {_NAME}s? is ([0-9]{{1,9}})\b",
    )
)
_TOKEN = re.compile(r"\[[^\[\]]*\]")


def measures(record: Record) -> dict[str, Any]:
    """What `measures.of` says of trading besides, from `Game.details`: `share` and `mutual_share`, the joint gain per
    largest joint gain of all, and per largest at which neither seat loses (at most 1, negative if both together lost;
    None where nothing could be gained); `mutual` in own worth; `trades` between the seats; `first_trade`; offers and
    refusals of each seat; `truth`, the share of each seat's `claims` that were true."""
    told = record.game.details(final(record))
    by_seat = {"offers": told["offers"], "refusals": told["refusals"], "truth": truth(claims(record))}
    return {
        **{name: told[name] for name in ("share", "mutual", "mutual_share", "trades")},
        "first_trade": first_trade(record),
        **flat(by_seat),
    }


def first_trade(record: Record) -> int | None:
    """Messages of both seats up to the first trade between them, that message included; None if there was none."""
    messages = final(record).public.messages
    return next((turn for turn, entry in enumerate(messages, 1) if crossed(entry)), None)


def claims(record: Record) -> tuple[Claim, ...]:
    """What seats said they hold ("I have 5 Wheat and 2 Ore") or value ("Wheat is worth 6 to me", "I value Ore at 33",
    "my value for Ore is 33"), good by good, with what was so when they were asked. Only these plain forms are read, so
    other words may hold more; offers and other tokens in brackets are no statements."""
    found: list[Claim] = []
    for at, seat, _, action, before in accepted(record):
        own = before.private[seat]
        text = _TOKEN.sub(" ", action.text)
        found += (Claim(at, seat, f"{GOODS[r]} held", units, own.holdings[r]) for r, units in _held(text))
        found += (Claim(at, seat, f"value of {GOODS[r]}", worth, own.values[r]) for r, worth in _valued(text))
    return tuple(found)


def _held(text: str) -> Iterator[tuple[int, int]]:
    for listed in _HOLD.finditer(text):
        for count, good in _HELD.findall(listed[1]):
            yield _index(good), 0 if count.lower() == "no" else int(count)


def _valued(text: str) -> Iterator[tuple[int, int]]:
    for pattern in _WORTH:
        for good, worth in pattern.findall(text):
            yield _index(good), int(worth)


def _index(good: str) -> int:
    return GOODS.index(good.capitalize())
