"""Replies, proposals and claims of a record, in order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from typing import Any, NamedTuple

from negolab.events import Event, Rejected, Replied
from negolab.game import SEATS, Invalid, Reply, Seat, State, observe
from negolab.ledger import Cost
from negolab.record import Record, start_state, states


def iter_replies(record: Record) -> Iterator[tuple[Replied | Rejected, Reply | None, Invalid | None]]:
    """Yield the result of each request to a seat: its event, the reply if there was one, and the rejection if any."""
    return replies_in(record.events)


def replies_in(events: Sequence[Event]) -> Iterator[tuple[Replied | Rejected, Reply | None, Invalid | None]]:
    """Yield what `iter_replies` does for a part of a match that begins with a request."""
    for at in reply_positions(events):
        event = events[at]
        if isinstance(event, Replied):
            yield event, event.reply, _refusal(events, at)
        elif isinstance(event, Rejected):
            yield event, event.said, event.invalid


def reply_positions(events: Sequence[Event]) -> list[int]:
    """Return the indexes of the events that `replies_in` yields; equal events of a record may be one object."""
    return [
        at
        for at, event in enumerate(events)
        if isinstance(event, Replied) or (isinstance(event, Rejected) and event.wordless)
    ]


def model_cost(record: Record) -> Cost:
    """Return what the answers of models in a record took."""
    return reduce(Cost.plus, (Cost.of_reply(reply) for _, reply, _ in iter_replies(record) if reply), Cost())


class AcceptedReply(NamedTuple):
    """A legal reply: event `at` of its record, the parsed action, and the state before it."""

    at: int
    seat: Seat
    text: str
    action: Any
    before: State[Any, Any]


def iter_accepted(record: Record) -> Iterator[AcceptedReply]:
    """Yield every reply that was a legal action, in order.

    Raises:
        ValueError: The record cannot be replayed; names the event.
    """
    game = record.game
    told = {seat: game.told(seat) for seat in SEATS}
    before = start_state(record)
    for at, (event, after) in enumerate(zip(record.events, states(record), strict=True)):
        if isinstance(event, Replied) and _refusal(record.events, at) is None:
            action = told[event.seat].parse(event.reply.text, observe(before, event.seat))
            if not isinstance(action, Invalid):
                yield AcceptedReply(at, event.seat, event.reply.text, action, before)
        before = after


def _refusal(events: Sequence[Event], at: int) -> Invalid | None:
    """Return the rejection of the reply that is event `at`.

    A wordless rejection that follows rejects another answer: the other seat's, in a simultaneous move.
    """
    after = events[at + 1] if at + 1 < len(events) else None
    return after.invalid if isinstance(after, Rejected) and not after.wordless else None


class Proposal(NamedTuple):
    """A proposal in the reply that is event `at` of its record.

    `a` and `b` are the payoffs of A and B if it were accepted, `terms` what it states as plain data; it is the
    `place`-th proposal of `action`, from 0.
    """

    at: int
    seat: Seat
    text: str
    a: float
    b: float
    terms: Mapping[str, Any]
    action: Any
    place: int


def proposals(record: Record) -> tuple[Proposal, ...]:
    """Return every proposal of the accepted replies, in order, with payoffs by `Game.stakes` and `Game.terms`.

    Empty for games without proposals.

    Raises:
        ValueError: The record cannot be replayed; names the event.
    """
    game = record.game
    found: list[Proposal] = []
    for at, seat, text, action, before in iter_accepted(record):
        stakes = game.stakes(before, seat, action)
        terms = game.terms(action) or ({},) * len(stakes)
        found += (
            Proposal(at, seat, text, pay["A"], pay["B"], of, action, place)
            for place, (pay, of) in enumerate(zip(stakes, terms, strict=False))
        )
    return tuple(found)


def decisive_event(record: Record) -> int:
    """Return the index of the event in which a match was decided.

    In an agreement it is the reply with the proposal that was accepted: the last one that states what the match paid.
    Without a deal, and where no proposal states that (as in games of several deals), it is the last reply.

    Raises:
        ValueError: The record cannot be replayed.
    """
    paid = (record.payoffs["A"], record.payoffs["B"])
    if record.end == "AGREED":
        accepted = [made.at for made in proposals(record) if (made.a, made.b) == paid]
        if accepted:
            return accepted[-1]
    return max(reply_positions(record.events), default=0)


class Claim(NamedTuple):
    """A statement of `seat` about `topic` in the reply that is event `at`: the `stated` value and the `true` one."""

    at: int
    seat: Seat
    topic: str
    stated: Any
    true: Any

    @property
    def honest(self) -> bool:
        """True if the stated value is the true one."""
        return bool(self.stated == self.true)


def claim_truth(claims: Iterable[Claim]) -> dict[Seat, float | None]:
    """Return the fraction (0 to 1) of each seat's claims that were true; None for a seat that made none."""
    made: dict[Seat, list[bool]] = {seat: [] for seat in SEATS}
    for claim in claims:
        made[claim.seat].append(claim.honest)
    return {seat: sum(flags) / len(flags) if flags else None for seat, flags in made.items()}
