"""Replies, proposals and claims of a record, in order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from typing import Any, NamedTuple

from negolab.events import Event, Forfeited, Rejected, Replied, Stepped, same_payoffs
from negolab.game import SEATS, Invalid, InvalidKind, Reply, Seat, State
from negolab.ledger import Cost
from negolab.record import Record, kept_for_last, said, start_state, states


@kept_for_last
def iter_replies(record: Record) -> tuple[tuple[Replied | Rejected, Reply | None, Invalid | None], ...]:
    """Return the result of each request to a seat: its event, the reply (if there was one) and the rejection (if
    any)."""
    return tuple(replies_in(record.events))


def replies_in(events: Sequence[Event]) -> Iterator[tuple[Replied | Rejected, Reply | None, Invalid | None]]:
    """Yield what `iter_replies` returns, for a part of a match that begins with a request."""
    for at in reply_positions(events):
        event = events[at]
        if isinstance(event, Replied):
            yield event, event.reply, _refusal(events, at)
        elif isinstance(event, Rejected):
            yield event, event.said, event.invalid


def reply_positions(events: Sequence[Event]) -> list[int]:
    """Return the indices of the events that `replies_in` yields; equal events of a record may be the same object."""
    return [
        at
        for at, event in enumerate(events)
        if isinstance(event, Replied) or (isinstance(event, Rejected) and event.wordless)
    ]


def model_cost(record: Record) -> Cost:
    """Return the cost of the models' answers in a record."""
    return reduce(Cost.plus, (Cost.of_reply(reply) for _, reply, _ in iter_replies(record) if reply), Cost())


def agreeing_reply(record: Record) -> tuple[int, Seat, Reply] | None:
    """Return the reply that ended a match in agreement: its number, its seat and its words.

    None for any other end, if both seats or a rule moved last, and in games with several deals, which end without a
    request.
    """
    last = next((event for event in reversed(record.events) if isinstance(event, Stepped | Forfeited)), None)
    if record.end != "AGREED" or not isinstance(last, Stepped) or len(last.seats) > 1 or record.game.stakes_add_up:
        return None
    legal = [(turn, event.seat, reply) for turn, (event, reply, why) in enumerate(iter_replies(record)) if not why]
    turn, seat, reply = legal[-1]
    return None if reply is None else (turn, seat, reply)


class AcceptedReply(NamedTuple):
    """A legal reply: event `at` of its record, the parsed action, and the state before it."""

    at: int
    seat: Seat
    text: str
    action: Any
    before: State[Any, Any]


@kept_for_last
def iter_accepted(record: Record) -> tuple[AcceptedReply, ...]:
    """Return every reply that was a legal action, in order.

    Raises:
        ValueError: The record cannot be replayed; the message names the event.
    """
    found, before = list[AcceptedReply](), start_state(record)
    for at, (event, after) in enumerate(zip(record.events, states(record), strict=True)):
        if isinstance(event, Replied) and _refusal(record.events, at) is None:
            action = said(record, at).action
            if not isinstance(action, Invalid):
                found.append(AcceptedReply(at, event.seat, event.reply.text, action, before))
        before = after
    return tuple(found)


def _refusal(events: Sequence[Event], at: int) -> Invalid | None:
    """Return the rejection of the reply that is event `at`.

    A wordless rejection that follows rejects a different answer: that of the other seat, in a simultaneous move.
    """
    after = events[at + 1] if at + 1 < len(events) else None
    return after.invalid if isinstance(after, Rejected) and not after.wordless else None


def codes(record: Record) -> Counter[tuple[Seat, InvalidKind, str]]:
    """Count the codes of rejections by seat and kind; one rejected reply may have several codes."""
    rejected = ((event.seat, invalid) for event, _, invalid in iter_replies(record) if invalid is not None)
    return Counter((seat, invalid.kind, code) for seat, invalid in rejected for code in invalid.codes)


def forfeiting_seat(record: Record) -> tuple[Seat, InvalidKind] | None:
    """Return the seat whose faults ended the match by forfeit, and the kind of its last fault; None without a
    forfeit."""
    if record.end != "FORFEIT":
        return None
    seats = [event.seat for event in record.events if isinstance(event, Forfeited)]
    kinds = [(event.seat, invalid.kind) for event, _, invalid in iter_replies(record) if invalid is not None]
    return next((last for last in reversed(kinds) if last[0] in seats[-1:]), None)


class Proposal(NamedTuple):
    """A proposal in the reply that is event `at` of its record.

    Attributes:
        a: What it would bring A by itself if accepted.
        b: The same for B.
        terms: What it states, as plain data.
        total: What A and B would then have, including what earlier rounds or trades brought; None if the other seat
            could not carry it out.
        worths: What A and B would have gotten from it in the first turn, so that proposals are compared as of one date;
            if it is for one round of several, or for goods, what it brings by itself.
    """

    at: int
    seat: Seat
    text: str
    a: float
    b: float
    terms: Mapping[str, Any]
    total: Mapping[Seat, float] | None
    worths: Mapping[Seat, float]

    def pays(self, seat: Seat) -> float:
        """Return what the proposal would bring a seat by itself."""
        return self.a if seat == "A" else self.b


@kept_for_last
def proposals(record: Record) -> tuple[Proposal, ...]:
    """Return every proposal in the accepted replies, in order, from `Game.offered`, `Game.stakes` and `Game.terms`.

    Empty for games without proposals.

    Raises:
        ValueError: The record cannot be replayed; the message names the event.
    """
    game, begun = record.game, start_state(record)
    found: list[Proposal] = []
    for at, seat, text, action, before in iter_accepted(record):
        stakes = game.stakes(before, seat, action)
        made = game.offered(before, seat, action) if game.stakes_add_up else stakes
        worths = made if game.stakes_add_up else game.stakes(begun, seat, action)
        totals = stakes or (None,) * len(made)
        rows = zip(made, game.terms(action) or ({},) * len(made), totals, worths, strict=False)
        found += (Proposal(at, seat, text, pay["A"], pay["B"], of, total, worth) for pay, of, total, worth in rows)
    return tuple(found)


def decisive_event(record: Record) -> int:
    """Return the index of the event that decided a match.

    In an agreement, it is the reply with the accepted proposal, which is the last one that states what the match paid.
    Without a deal, or if no proposal states that (as in games with several deals), it is the last reply.

    Raises:
        ValueError: The record cannot be replayed.
    """
    accepted = accepted_proposal(record, proposals(record)) if record.end == "AGREED" else None
    return max(reply_positions(record.events), default=0) if accepted is None else accepted.at


def accepted_proposal(record: Record, made: Sequence[Proposal]) -> Proposal | None:
    """Return the last of a record's proposals that states what the match paid; None if none does."""
    paid = () if record.game.stake_unit else reversed(made)
    return next((one for one in paid if one.total and same_payoffs(one.total, record.payoffs)), None)


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
