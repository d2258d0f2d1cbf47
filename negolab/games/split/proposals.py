"""Reading proposals: where in a reply they stand. `bodies` reads what stands there.

A reply may hold tagged regions, `Proposal:` lines, a JSON object, or be a plain proposal. If it holds several they must
all say the same: guessing which one was meant would hide misread bids.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import chain

from negolab.game import Invalid
from negolab.games.split.bodies import read_body
from negolab.games.split.names import Names, names
from negolab.games.split.position import Proposal, Units
from negolab.games.split.reading import fold, refusal, spoken

_MARKUP = str.maketrans("*`", "  ")
_LABEL = re.compile(r"proposal[ \t]*+:")
_LINE_END = re.compile(r"[\r\n]")
_LEAD_IN = re.compile(r"(?:i(?:['’]ll|\s++will)?+\s++)?(?:keep|take|want|ask\s++for)(?!\w)\s*+:?+")
_SHORT = 160
"""Replies up to this length are remembered: the same few come again and again, within a match and across matches."""


def read_proposal(text: str, items: tuple[str, ...], stock: Units, exact: bool) -> Proposal | Invalid:
    """The proposal in a reply; legal for this stock, and no deal only under the exact rule."""
    return (_remembered if len(text) <= _SHORT else _read)(text, items, stock, exact)


def written(items: tuple[str, ...], keep: Sequence[object] | None) -> str:
    """A proposal as the game writes it; `read_proposal` reads it back."""
    if keep is None:
        return "<no_deal/>"
    if len(items) == 1:
        return f"<{items[0]}_to_self>{keep[0]}</{items[0]}_to_self>"
    listed = ", ".join([f"{units} {item}" for item, units in zip(items, keep, strict=True)])
    return f"<items_to_self>{listed}</items_to_self>"


def _read(text: str, items: tuple[str, ...], stock: Units, exact: bool) -> Proposal | Invalid:
    reply = spoken(text)
    if isinstance(reply, Invalid):
        return reply
    table = names(items)
    first: Proposal | None = None
    for body in _bodies(reply.translate(_MARKUP).strip(), table):
        found = read_body(body, table, stock, exact)
        if isinstance(found, Invalid):
            return found
        if first is not None and found != first:
            return refusal("contradictory", "Your reply holds different proposals: send exactly one.")
        first = found
    assert first is not None
    return first


_remembered = lru_cache(maxsize=8192)(_read)


def _bodies(text: str, table: Names) -> Iterator[str]:
    """At least one body, by the first way of writing that applies. Lazy: reading stops at the first bad one."""
    low = fold(text)
    for ways in (_regions(text, low, table), _lines(text, low)):
        found = next(ways, None)
        if found is not None:
            return chain((found,), ways)
    return iter((_json(text) if "{" in text else text[_lead_in(low) :],))


def _regions(text: str, low: str, table: Names) -> Iterator[str]:
    """What stands in proposal tags; one that is not closed runs to the end."""
    at = 0
    while opened := table.opening.search(low, at):
        tag, proposal = opened.group("tag", "proposal")
        if tag is None and proposal is None:
            at = opened.end()
            yield "no deal"
            continue
        close = f"</{tag}>" if tag else "<<proposal_end>>"
        end = low.find(close, opened.end())
        yield text[opened.end() : end if end >= 0 else len(text)]
        if end < 0:
            return
        at = end + len(close)


def _lines(text: str, low: str) -> Iterator[str]:
    """What follows each `Proposal:` on its line."""
    for label in _LABEL.finditer(low):
        before = low[label.start() - 1 : label.start()]
        if not (before.isalpha() or before == "_"):
            end = _LINE_END.search(text, label.end())
            yield text[label.end() : end.start() if end else len(text)]


def _json(text: str) -> str:
    first, last = text.find("{"), text.rfind("}")
    return text[first : last + 1] if last > first else text[first:]


def _lead_in(low: str) -> int:
    """Length of words such as `I'll take:` at the start of a plain reply."""
    lead = _LEAD_IN.match(low)
    return lead.end() if lead else 0
