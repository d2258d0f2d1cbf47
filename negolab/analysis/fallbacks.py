"""Moves that a rule made in place of a player whose replies could not be used.

A `Forfeited` event is such a fallback if it changed what both seats see or ended the match; otherwise, it only used up
patience, and the seat was asked again. Everything here is read from the events of a record.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from typing_extensions import override

from negolab.events import Ended, Event, Forfeited, Rejected, Stepped
from negolab.game import SEATS, Invalid, InvalidKind, Reply, Seat
from negolab.record import Record, start_state, states

TOKEN_LIMITS = ("max_completion_tokens", "max_tokens")
"""Possible names of the request field that limits an answer's length."""


class Cause(NamedTuple):
    """The kind and first code of a rejection and, for an answer that was cut, the limit in tokens, if known."""

    kind: InvalidKind
    code: str
    tokens: int | None = None

    @override
    def __str__(self) -> str:
        if self.code == "cut" and self.tokens is not None:
            return f"answers cut at {self.tokens:,} tokens"
        return _CAUSES.get(self.code) or f"{_KINDS[self.kind]} ({self.code})"


_CAUSES = {
    "cut": "answers cut at the token limit",
    "refused": "answers that declined to play",
    "filtered": "answers withheld by a content filter",
    "empty": "empty answers",
    "thoughts": "answers with reasoning and no text",
    "called": "calls of tools instead of answers",
    "unfinished": "answers that ended for an unknown reason",
    "bad_json": "answers that are not a JSON object",
    "bad_field": "JSON that does not fit the form",
    "late": "late replies",
}
_KINDS: dict[InvalidKind, str] = {
    "format": "unreadable replies",
    "rule": "replies against the rules",
    "time": "late replies",
}


def cause_of(invalid: Invalid, notes: Mapping[str, Any], seat: Seat, reply: Reply | None = None) -> Cause:
    """Return why a reply was rejected; `notes` are its match's notes, which include the request fields of its
    models."""
    code = invalid.codes[0]
    if code != "cut":
        return Cause(invalid.kind, code)
    fields = notes.get("models", {}).get(seat, {}).get("parameters", {})
    limit = next((fields[name] for name in TOKEN_LIMITS if fields.get(name)), None)
    # A model that turns out to reason gets a higher limit than its match began with.
    is_passed = limit is not None and (((reply and reply.usage) or {}).get("output") or 0) > limit
    return Cause(invalid.kind, code, None if is_passed else limit)


def list_causes(causes: Mapping[Cause, int], most: int = 4) -> str:
    """List causes by frequency, with counts if there are several causes."""
    texts: Counter[str] = Counter()
    for cause, count in causes.items():
        texts[str(cause)] += count
    if len(texts) == 1:
        return next(iter(texts))
    listed = [f"{count:,} {text}" for text, count in texts.most_common(most)]
    return ", ".join([*listed, "..."] if len(texts) > most else listed)


class SeatMoves(NamedTuple):
    """The moves of one seat in a match.

    Attributes:
        moves: Number of all moves: accepted replies and fallbacks.
        causes: For each fallback, why the last reply before it was rejected.
    """

    moves: int
    causes: tuple[Cause, ...]

    @property
    def fallbacks(self) -> int:
        """Number of moves that a rule made."""
        return len(self.causes)


class Fallbacks(NamedTuple):
    """The fallbacks of a match.

    Attributes:
        seats: The moves of each seat.
        decided: True if a fallback was the ending action or the accepted offer or, in a game that pays as it goes, a
            proposal in a round that was settled.
    """

    seats: Mapping[Seat, SeatMoves]
    decided: bool

    @property
    def any(self) -> bool:
        """True if a rule made at least one move."""
        return any(own.causes for own in self.seats.values())


class _Fallback(NamedTuple):
    """A fallback: event `at` of its record; `joint` if it was both seats' turn; `paid` if their round pays
    immediately."""

    at: int
    seat: Seat
    joint: bool = False
    paid: bool = False


def find_fallbacks(record: Record) -> Fallbacks:
    """Find the fallbacks of a match; it is replayed only if a seat forfeited and the match continued.

    If such a record cannot be replayed, because words were deleted or its game is not imported, every forfeit counts as
    a move.
    """
    events, notes = record.events, record.header.notes
    forfeits: list[int] = []
    counts = dict.fromkeys(SEATS, 0)
    for at, event in enumerate(events):
        if type(event) is Stepped:
            for seat in event.seats:
                counts[seat] += 1
        elif type(event) is Forfeited:
            forfeits.append(at)
    if not forfeits:
        return Fallbacks({seat: SeatMoves(n, ()) for seat, n in counts.items()}, False)
    found = _moves_by_rule(record, forfeits)
    causes: dict[Seat, list[Cause]] = {seat: [] for seat in SEATS}
    for one in found:
        rejected = events[one.at - 1]
        assert isinstance(rejected, Rejected)
        causes[one.seat].append(cause_of(rejected.invalid, notes, one.seat, rejected.said))
    seats = {seat: SeatMoves(counts[seat] + len(causes[seat]), tuple(causes[seat])) for seat in SEATS}
    return Fallbacks(seats, any(_decides(record, one, found) for one in found))


def _moves_by_rule(record: Record, forfeits: list[int]) -> list[_Fallback]:
    """Return the forfeits that were moves."""
    events = record.events
    if len(forfeits) == 1 and _ends(events, forfeits[0] + 1):
        return [_Fallback(at, _movers(events[at])[0]) for at in forfeits]
    try:
        return list(_replayed(record))
    except ValueError:
        return [_Fallback(at, _movers(events[at])[0], joint=True) for at in forfeits]


def _replayed(record: Record) -> Iterable[_Fallback]:
    game, events, before = record.game, record.events, start_state(record)
    for at, (event, after) in enumerate(zip(events, states(record), strict=True)):
        if isinstance(event, Forfeited) and (after.public != before.public or _ends(events, at + 1)):
            joint = len(game.turn(before.public)) == len(SEATS)
            yield _Fallback(at, event.seat, joint, joint and game.pays_as_it_goes)
        before = after


def _decides(record: Record, fallback: _Fallback, found: list[_Fallback]) -> bool:
    """Return True if the match ended on a fallback, or on the other seat's answer to it."""
    events, moves = record.events, {one.at for one in found}
    after = range(fallback.at + 1, len(events))
    following = next((at for at in after if isinstance(events[at], Stepped | Ended) or at in moves), None)
    if following is None or isinstance(events[following], Ended):
        return following is not None and _ends(events, following)
    if fallback.seat in _movers(events[following]):
        return False
    ended = _ends(events, following + 1)
    return fallback.paid or (ended and (fallback.joint or record.end == "AGREED"))


def _movers(event: Event) -> tuple[Seat, ...]:
    return event.seats if isinstance(event, Stepped) else (event.seat,)  # type: ignore[union-attr]


def _ends(events: tuple[Event, ...], at: int) -> bool:
    """Return True if event `at` ends the match by the rules."""
    event = events[at] if at < len(events) else None
    return isinstance(event, Ended) and event.reason is None
