"""Everything that one seat in a study's match was told and has said, as its page shows it."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import msgspec

from negolab.catalog import text_front
from negolab.events import Event, Rejected, Replied
from negolab.game import Observation, Seat, other
from negolab.match import Match
from negolab.record import PERSON, SeatOutcome
from negolab.studies.page_state import SeatView, TalkEntry
from negolab.studies.texts import format_payoff, refusal_text
from negolab.texts import are_overridden


class SeatSession:
    """Conversation and rules of one person's seat, built from the match's events.

    Feed it the events reply by reply, starting with the deal: a live match and a replayed one then give the same
    conversation.
    """

    def __init__(self, match: Match, seat: Seat, *, closing: str = "", fixed_texts: bool = True) -> None:
        self.seat = seat
        # Fixed texts call the opponent a machine, which does not fit a match between two people.
        person = match.players.get(other(seat)) == PERSON
        self._front = None if person or not fixed_texts else text_front(match.game, seat, closing=closing)
        self._talk: list[TalkEntry] = []
        self._rules = ""
        self._texts = 0
        self._since = match.seen(seat)
        self._unread = True
        self.turn = 0
        self.shown: SeatView | None = None
        """The view after the last events; None: there have been none."""

    @property
    def fronted(self) -> bool:
        """True if the game provides fixed texts for this seat."""
        return self._front is not None

    def after(self, match: Match, events: Sequence[Event]) -> SeatSession:
        """Return the session after new events in `match`; this one stays unchanged, even if the game's code raises."""
        then = copy.copy(self)
        then._talk = [*self._talk]
        if not (self._rules or self._front):
            then._rules = match.told(self.seat).prompt(match.seen(self.seat), None)
        for event in events:
            match event:
                case Replied(seat, reply) if seat == self.seat:
                    then._talk.append(TalkEntry("own", reply.text))
                    then.turn += 1
                case Rejected(seat, invalid) if seat == self.seat and not self._front:
                    then._talk.append(TalkEntry("refused", invalid.reason))
        then._read(match, match.seen(self.seat))
        then.shown = then.view(match)
        # If anything that a page will show of this raises, it must raise here, not there.
        msgspec.to_builtins((then.shown, match.ended and format_payoff(match.game, match.ended.payoffs[self.seat])))
        return then

    def _read(self, match: Match, seen: Observation[Any, Any]) -> None:
        """Add newly visible information to the conversation, if the seat is asked or the match is over."""
        if not (match.asks(self.seat) or match.ended is not None):
            return
        if self._front is not None:
            front = self._front(match.events)
            self._rules = self._rules or (front[0] if front else "")
            self._talk += [TalkEntry("game", text) for text in front[self._texts :]]
            self._texts = len(front)
        elif self._unread or seen != self._since:
            if news := match.told(self.seat).prompt(seen, self._since).strip():
                self._talk.append(TalkEntry("game", news))
            self._since, self._unread = seen, False

    def refusal(self, match: Match, events: Sequence[Event]) -> str:
        """Return the reason why `events` reject the seat's reply, in the game's fixed text if it has one and the study
        has no texts of its own.

        "" if the reply was accepted.
        """
        refused = [e.invalid for e in events if isinstance(e, Rejected) and e.seat == self.seat]
        if refused and self._front and not are_overridden():
            return self._front(match.events)[-1]
        return " ".join(refusal_text(match.game, invalid) for invalid in refused)

    def view(self, match: Match) -> SeatView:
        """Return the seat's current view."""
        ended, asked = match.ended, match.asks(self.seat)
        return SeatView(
            seen=match.seen(self.seat),
            asked=asked,
            left=match.pending()[self.seat].retries_left if asked else None,
            talk=tuple(self._talk),
            rules=self._rules,
            closing=None if ended is None else SeatOutcome(ended.end, ended.payoffs[self.seat]),
            turn=self.turn,
        )
