"""Legal actions to choose from: all of them, or a fair sample of many."""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING

from negolab.games.split.position import Action, Message, Proposal, Seen, Units
from negolab.games.split.reading import is_sendable
from negolab.games.split.statements import announcement, truth

if TYPE_CHECKING:
    from negolab.games.split.rules import Split

MOST = 2000


def messages(game: Split, seen: Seen) -> tuple[Action, ...]:
    """The pass, and the true announcement of what the seat knows of itself, where it fits into a message."""
    own = truth(seen.private)
    text = "" if own is None else announcement(game.items, own)
    return (Message(""), Message(text)) if text and is_sendable(text, game.max_chars) else (Message(""),)


@lru_cache(maxsize=64)
def proposals(stock: Units, exact: bool) -> tuple[Action, ...]:
    """In lexicographic order; beyond `MOST` evenly spaced ones, first and last included. Under the exact rule no deal
    comes last."""
    count = prod(units + 1 for units in stock)
    chosen = range(count) if count <= MOST else (i * (count - 1) // (MOST - 1) for i in range(MOST))
    kept = tuple([Proposal(_at(index, stock)) for index in chosen])
    return (*kept, Proposal(None)) if exact else kept


def _at(index: int, stock: Units) -> Units:
    """The proposal at this place of the lexicographic order: `index` in the mixed radix of the stock."""
    keep: list[int] = []
    for units in reversed(stock):
        index, digit = divmod(index, units + 1)
        keep.append(digit)
    return tuple(reversed(keep))
