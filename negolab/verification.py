"""Checks of a record: its match is dealt and played again, and the result is compared with what is stored."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from typing import NamedTuple

from negolab.events import Event, same_event
from negolab.match import Match
from negolab.record import Record, start_state


class Difference(NamedTuple):
    """A difference between a stored match and what the rules make of it.

    Attributes:
        cause: The kind of difference, in the same words for all matches that have it.
        text: The difference in this match.
    """

    cause: str
    text: str


def replay_differences(record: Record) -> list[str]:
    """Deal and play a record again and describe, one per line, the differences from what is stored (`negolab
    check`)."""
    return [f"record {record.id}: {text}" for _, text in find_differences(record)]


def find_differences(record: Record) -> list[Difference]:
    """Deal and play a record again.

    Returns:
        The differences from what is stored: those in the deal, and the first one in the events, which later ones follow
            from.
    """
    try:
        return list(_find_differences(record))
    except Exception as error:  # whatever a damaged record leads to is a finding about that record
        why = f"cannot be replayed: {type(error).__name__}: {error}"
        return [Difference(_VARYING.sub("...", why.replace(record.id, "...")), why)]


_VARYING = re.compile(r"'[^']*'|\"[^\"]*\"|\d+")
"""Values in an error's text that differ from record to record."""


def _find_differences(record: Record) -> Iterator[Difference]:
    seed = record.header.seed
    if seed is not None and record.game.deal(random.Random(seed)) != start_state(record):
        yield Difference("the start is not what its seed draws", f"the start is not what seed {seed} draws")
    again = Match.replay(record)
    for i, (stored, replayed) in enumerate(zip(record.events, again.events, strict=False)):
        if i and not same_event(stored, replayed):
            cause = _event_difference(stored, replayed)
            yield Difference(cause, f"event {i}: stored {stored!r:.200}, replayed {replayed!r:.200}")
            return
    if len(again.events) != len(record.events):
        text = f"{len(record.events)} events are stored, but {len(again.events)} result from the replay"
        yield Difference("the replay gives a different number of events", text)


def _event_difference(stored: Event, replayed: Event) -> str:
    was, comes = type(stored).__name__, type(replayed).__name__
    if was != comes:
        return f"the replay gives {comes} where {was} is stored"
    fields = (name for name in stored.__struct_fields__ if getattr(stored, name) != getattr(replayed, name))
    return f"{was} differs in {', '.join(fields)}"
