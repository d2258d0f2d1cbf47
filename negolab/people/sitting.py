"""One seat of a running match as its person meets it: what was said so far, and what stands before them now."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from negolab.events import Event, Rejected, Replied
from negolab.fronts import front
from negolab.game import Observation, Seat, other
from negolab.match import Match
from negolab.record import Closing

PERSON = "person"
"""What a person is called in a record."""
LEFT, STOPPED = "left by the person", "stopped by the person"
"""Why a match or a branch has no end of its own."""


class Said(msgspec.Struct, frozen=True):
    """One entry of the talk: by the person (`own`), told to them (`told`), or why words were not accepted."""

    kind: Literal["own", "told", "refused"]
    text: str


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """All that leaves for a seat's screen: what it sees, whether it is asked, how many refusals it has left (None: any
    number), the talk, the rules as it was given them, how it ended, and how often it has replied."""

    seen: Observation[Any, Any]
    asked: bool
    left: int | None
    said: tuple[Said, ...]
    rules: str
    closing: Closing | None
    turn: int


class Sitting:
    """A fold over a match's events for one seat: fed with each move, it has the same history live and replayed."""

    def __init__(self, match: Match, seat: Seat) -> None:
        self.seat = seat
        # Its fixed texts speak of a machine across the table.
        person = match.players.get(other(seat)) == PERSON
        self._front = None if person else front(match.game, seat)
        self._said: list[Said] = []
        self._rules = "" if self._front else match.told(seat).prompt(match.seen(seat), None)
        self._texts = 0
        self._since = match.seen(seat)
        self._unread = True
        self.turn = 0
        self._read(match, self._since)

    @property
    def fronted(self) -> bool:
        """Whether the game speaks to this seat in fixed texts of its own."""
        return self._front is not None

    def heard(self, match: Match, events: Sequence[Event]) -> None:
        """Take note of what just happened in `match`."""
        for event in events:
            match event:
                case Replied(seat, reply) if seat == self.seat:
                    self._said.append(Said("own", reply.text))
                    self.turn += 1
                case Rejected(seat, invalid) if seat == self.seat and not self._front:
                    self._said.append(Said("refused", invalid.reason))
        self._read(match, match.seen(self.seat))

    def _read(self, match: Match, seen: Observation[Any, Any]) -> None:
        """Put what became visible into the talk, when the seat is asked or the match is over."""
        if not (match.asks(self.seat) or match.ended is not None):
            return
        if self._front is not None:
            texts = self._front(match.events)
            self._rules = self._rules or (texts[0] if texts else "")
            self._said += [Said("told", text) for text in texts[self._texts :]]
            self._texts = len(texts)
        elif self._unread or seen != self._since:
            if news := match.told(self.seat).prompt(seen, self._since).strip():
                self._said.append(Said("told", news))
            self._since, self._unread = seen, False

    def refusal(self, match: Match, events: Sequence[Event]) -> str:
        """Why the seat's words were not accepted, in the words of the front where there is one; "" if they were."""
        reasons = [e.invalid.reason for e in events if isinstance(e, Rejected) and e.seat == self.seat]
        return self._front(match.events)[-1] if reasons and self._front else " ".join(reasons)

    def table(self, match: Match) -> Table:
        """What stands before the seat now."""
        ended, asked = match.ended, match.asks(self.seat)
        return Table(
            seen=match.seen(self.seat),
            asked=asked,
            left=match.pending()[self.seat].retries_left if asked else None,
            said=tuple(self._said),
            rules=self._rules,
            closing=None if ended is None else Closing(ended.end, ended.payoffs[self.seat]),
            turn=self.turn,
        )
