"""Agenda: two seats alternate messages and offers until they agree on one option for every issue.

Each has its own points per option and a reservation value for no deal, and may be told a role. All parameters can be
written in a scenario file.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product
from typing import Any, ClassVar

import msgspec
from typing_extensions import override

from negolab.formatting import format_quote, format_terms
from negolab.game import ANY_LENGTH, SEATS, Invalid, Outcome, Seat, State, other
from negolab.games.agenda import draws, prompt
from negolab.games.agenda.parameters import Parameters
from negolab.games.agenda.reading import (
    Tokens,
    is_plain,
    option_name,
    read_offer,
    refusal,
    scan,
    scan_fair,
    with_semicolons,
    write_offer,
)
from negolab.games.agenda.scenario import Issue, Row, iter_offers, parse_discount, without_points
from negolab.games.agenda.state import (
    Agreement,
    Entry,
    Message,
    Position,
    Public,
    Response,
    Seen,
    seen_by_author,
    worth,
)
from negolab.moves import Moves
from negolab.reading import REASONING_OPEN, left_out, read_tokens, without_reasoning

NEAR = 0.7
"""Smallest similarity at which a fair reading suggests a name for an unknown one."""
MAX_OFFERS = 500
"""Largest number of offers among a seat's options; if there are more agreements, evenly spaced ones are taken."""
_TURNS: dict[Seat | None, tuple[Seat, ...]] = {"A": ("A",), "B": ("B",), None: ()}


class Agenda(Parameters, frozen=True, kw_only=True):
    """Several issues, one option each."""

    measure_units: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ("points", "joint_points", "best_joint_points", "logrolling"), "points"
    ) | dict.fromkeys(("own_concession", "theirs_concession"), "points per message")

    legacy_defaults: ClassVar[Mapping[str, Any]] = {"reading": "literal"}
    words: ClassVar[tuple[str, ...]] = ("talk",)

    @override
    def secrets(self, seat: Seat) -> dict[str, Any]:
        away = other(seat)
        hidden: dict[str, Any] = {
            "brief": msgspec.structs.replace(self.brief, **{away: None}),
            "reservation": msgspec.structs.replace(self.reservation, **{away: None}),
            "source": None,
        }
        if self.show != "all":
            hidden["correlation"] = None
            hidden["issues"] = self.issues if isinstance(self.issues, int) else without_points(self.issues, away)
        return hidden

    # Dealing.

    @override
    def deal(self, rng: random.Random) -> Position:
        opener: Seat = rng.choice(SEATS) if self.opens == "drawn" else self.opens
        return self.start(opener, draws.draw_points(self, rng))

    def start(self, opener: Seat, points: Mapping[Seat, Sequence[Row | int]]) -> Position:
        """Return the initial state for explicit points.

        Args:
            opener: The seat that writes first.
            points: For each seat, an entry per issue, as a scenario writes them: a number per option, or the value of
                one unit.
        """
        if opener not in SEATS:
            raise ValueError(f"opener must be A or B, not {opener!r}")
        return State(Public(opener), draws.private_states(self, points))

    @override
    def turn(self, public: Public) -> tuple[Seat, ...]:
        return _TURNS[public.to_move]

    # Reading and writing.

    @override
    def parse(self, text: str, seen: Seen) -> Message | Invalid:
        tokens = scan(text) if self.reading == "literal" or is_plain(text) else self._scan_fair(text, seen)
        if isinstance(tokens, Invalid):
            return tokens
        if (fault := self._token_fault(tokens.replies, tokens.offers, seen.public)) is not None:
            return fault
        offer = None
        if tokens.offers:
            read = read_offer(tokens.offers[0], self.agenda, NEAR if self.reading == "fair" else 0.0)
            if isinstance(read, Invalid):
                return read
            if self.is_last(seen.public):
                return refusal(
                    "offer_at_last_message", "This is the last message: nobody could answer an offer. Send none."
                )
            offer = read
        if (fault := self._talk_fault(tokens.talk)) is not None:
            return fault
        if not (tokens.replies or tokens.offers or tokens.talk):
            return refusal("nothing_said", "Your message is empty: reply, make an offer or say something.")
        return Message(_REPLIES[tokens.replies[0]] if tokens.replies else None, offer, tokens.talk)

    def _scan_fair(self, text: str, seen: Seen) -> Tokens | Invalid:
        """Return what is meant; an offer beside an acceptance does not count if it repeats the standing one."""
        spoken = without_reasoning(text)
        if spoken is None:
            return refusal("reasoning_open", REASONING_OPEN)
        tokens, vetoed = scan_fair(spoken)
        replies, standing = tokens.replies, seen.public.standing
        bodies = [with_semicolons(body or "", self.agenda) for body in tokens.offers]
        read = {body: read_offer(body, self.agenda, NEAR) for body in bodies}
        offers = [body for at, body in enumerate(bodies) if read[body] not in [read[other] for other in bodies[:at]]]
        if replies == ["accept"] and standing is not None:
            repeated = [seen_by_author(seat, self.agenda, standing) for seat in SEATS]
            offers = [body for body in offers if read[body] not in repeated]
        if vetoed and standing is not None and not (replies or offers):
            return refusal(
                "vetoed_reply",
                f'Your message does not say whether you take the offer ("{vetoed}"): '
                "write [Accept] or [Reject] on a line of its own, or an offer.",
            )
        return Tokens(replies, [*offers], tokens.talk)

    def _token_fault(self, replies: list[str], offers: list[str | None], public: Public) -> Invalid | None:
        """Return the first fault in the tokens, before the offer is read."""
        if len(replies) > 1:
            return refusal("two_replies", f"Your message holds {len(replies)} replies, such as [Accept]: send one.")
        if len(offers) > 1:
            return refusal("two_offers", f"Your message holds {len(offers)} offers: send one.")
        reply = replies[0] if replies else None
        if reply == "walk away" and not self.walk_away:
            return refusal("walk_away_off", "Nobody can walk away here: make an offer, or answer the one that stands.")
        if reply in ("accept", "reject") and public.standing is None:
            return refusal("no_standing_offer", f"No offer of the other side stands, so you cannot {reply} one.")
        if reply in ("accept", "walk away") and offers:
            return refusal("reply_and_offer", f"You cannot {reply} and make an offer in one message: do one of both.")
        if self.answer == "must" and public.standing is not None and reply is None and not offers:
            away = ", [Walk away]" if self.walk_away else ""
            ways = f"[Accept], [Reject]{away}" + ("" if self.is_last(public) else " or an offer of your own")
            missing = refusal("reply_missing", f"The offer that stands must be answered: send {ways}.")
            return missing if self.reading == "literal" else Invalid(missing.codes, missing.reason, "format")
        return None

    def _talk_fault(self, talk: str) -> Invalid | None:
        if len(talk) > self.max_chars:
            reason = f"Your talk has {len(talk)} characters, and at most {self.max_chars} are allowed: shorten it."
            return refusal("talk_too_long", reason)
        if talk and not self.talk:
            return refusal("no_talk", "Nobody can talk here: send offers and replies alone.")
        return None

    @override
    def say(self, action: Message) -> str:
        reply = None if action.reply is None else f"[{action.reply.capitalize()}]"
        offer = None if action.offer is None else write_offer(action.offer, self.agenda)
        # In a fair reading, talk says what a token beside it means, so each gets its own paragraph.
        return (" " if self.reading == "literal" else "\n\n").join(filter(None, (reply, action.talk, offer)))

    @override
    def options(self, seen: Seen) -> tuple[Message, ...]:
        public = seen.public
        if public.to_move != seen.seat:
            return ()
        replies: list[Response] = ["accept", "reject"] if public.standing is not None else []
        words = self._small_talk(public)
        away: list[Response] = ["walk away"] if self.walk_away else []
        offers = () if self.is_last(public) else iter_offers(self.agenda, MAX_OFFERS)
        return (
            *(Message(reply) for reply in replies),
            *words,
            *(Message(reply) for reply in away),
            *(Message(offer=offer) for offer in offers),
        )

    def _small_talk(self, public: Public) -> tuple[Message, ...]:
        """Return a message of talk alone, if one is legal."""
        if not self.talk or (self.answer == "must" and public.standing is not None):
            return ()
        return (Message(talk="Make me an offer."[: self.max_chars].rstrip()),)

    # Playing.

    @override
    def step(self, state: Position, actions: Mapping[Seat, Message]) -> Position:
        ((seat, message),) = actions.items()
        public = state.public
        if seat != public.to_move or not isinstance(message, Message):
            raise ValueError(f"seat {seat} cannot play {message!r:.80} now: it is {public.to_move or 'nobody'}'s turn")
        offer = None if message.offer is None else seen_by_author(seat, self.agenda, message.offer)
        entry = Entry(seat, message.talk, message.reply, offer)
        messages = public.messages + (entry,)  # noqa: RUF005 -- twice as fast as unpacking
        if message.reply == "accept":
            if public.standing is None:
                raise ValueError(f"seat {seat} cannot accept: there is no standing offer")
            return State(Public(None, messages, public.standing, "agreed"), state.private)
        if message.reply == "walk away":
            return State(Public(None, messages, None, "walked_away"), state.private)
        after = Public(other(seat), messages, offer)
        if len(messages) == self.turns or not self._can_say_something(after):
            after = Public(None, messages, None, "time")
        return State(after, state.private)

    def _can_say_something(self, public: Public) -> bool:
        return self.talk or self.walk_away or public.standing is not None or not self.is_last(public)

    @override
    def forfeit(self, state: Position, seat: Seat, invalid: Invalid) -> Position:
        return State(Public(None, state.public.messages, None, "forfeit", seat), state.private)

    @override
    def describe_forfeit(self, seen: Seen) -> str:
        paid = min(0, seen.private.reservation) * self.discounting(len(seen.public.messages))
        return f"the match ends without a deal and you are paid {self.format_payoff(plain_number(paid))}"

    @override
    def bound(self) -> int:
        return self.turns

    # Agreements, for players of any game that has them.

    def agreements(self, seen: Seen) -> Iterator[Agreement]:
        """Yield every agreement in lexicographic order."""
        return product(*(range(issue.size) for issue in self.agenda))

    def worth(self, seen: Seen, agreement: Agreement | None) -> int:
        """Return the seat's points for an agreement before discounting (None: for no deal)."""
        return seen.private.reservation if agreement is None else worth(seen.private.points, agreement)

    def offers(self, seen: Seen) -> tuple[tuple[Seat, Agreement], ...]:
        """Return the offers so far, with their authors."""
        return tuple([(entry.seat, entry.offer) for entry in seen.public.messages if entry.offer is not None])

    def propose(self, seen: Seen, agreement: Agreement) -> Message | None:
        """Return the message that accepts an agreement if it stands, or else offers it; None if nobody could answer."""
        if agreement == seen.public.standing:
            return Message("accept")
        if self.is_last(seen.public):
            return None
        return Message(offer=seen_by_author(seen.seat, self.agenda, agreement))

    # Results.

    def discounting(self, messages: int) -> Fraction:
        """Return the factor for points after this many messages."""
        return parse_discount(str(self.discount)) ** messages

    def payoffs(self, state: Position) -> dict[Seat, Fraction] | None:
        """Return the exact payoffs; None if the match is not over."""
        public, points = state.public, self.points(state)
        if points is None:
            return None
        messages = {"time": self.turns, "forfeit": len(public.messages)}.get(public.end or "", len(public.messages) - 1)
        return {seat: points[seat] * self.discounting(messages) for seat in SEATS}

    def points(self, state: Position) -> dict[Seat, int] | None:
        """Return both seats' points before discounting; None if the match is not over."""
        public = state.public
        if public.end is None:
            return None
        if public.end == "agreed":
            assert public.standing is not None
            return {seat: worth(state.private[seat].points, public.standing) for seat in SEATS}
        alone = {seat: state.private[seat].reservation for seat in SEATS}
        return {seat: min(0, points) if seat == public.loser else points for seat, points in alone.items()}

    @override
    def outcome(self, state: Position) -> Outcome:
        payoffs = self.payoffs(state)
        if payoffs is None or state.public.end is None:
            return Outcome("ABORTED", {"A": None, "B": None})
        return Outcome(_ENDS[state.public.end], {seat: plain_number(payoffs[seat]) for seat in SEATS})

    @override
    def role(self, seat: Seat) -> str:
        return prompt.role(self, seat)

    @override
    def own_value(self, state: Position, seat: Seat) -> Any:
        return state.private[seat].points

    @override
    def disagreement(self, state: Position) -> dict[Seat, int | float]:
        factor = self.discounting(len(state.public.messages))
        return {seat: plain_number(state.private[seat].reservation * factor) for seat in SEATS}

    @override
    def stakes(self, state: Position, seat: Seat, action: Message) -> tuple[dict[Seat, int | float], ...]:
        if action.offer is None:
            return ()
        agreement = seen_by_author(seat, self.agenda, action.offer)
        factor = self.discounting(len(state.public.messages) + 1)
        return ({s: plain_number(worth(state.private[s].points, agreement) * factor) for s in SEATS},)

    @override
    def terms(self, action: Message) -> tuple[dict[str, Any], ...]:
        if action.offer is None:
            return ()
        rows = zip(self.agenda, action.offer, strict=True)
        return ({"package": {issue.name: _plain_option(issue, number) for issue, number in rows}},)

    @override
    def describe(self, action: Message) -> str:
        replies = {"accept": "accepts", "reject": "rejects", "walk away": "walks away", None: ""}
        offered = "" if action.offer is None else f"offers {format_terms(self.terms(action)[0])}"
        said = f"says {format_quote(action.talk)}" if action.talk else ""
        return ", ".join(filter(None, (replies[action.reply], offered, said))) or "says nothing"

    @override
    def frontier(self, state: Position) -> tuple[tuple[float, float], ...]:
        # What can be reached soonest: the standing offer can be accepted in this message, any other in the next.
        from negolab.games.agenda.measures import points_frontier

        frontier = points_frontier(state)
        factor = self.discounting(len(state.public.messages) + 1)
        return tuple((plain_number(a * factor), plain_number(b * factor)) for a, b in frontier)

    @override
    def max_joint_payoff(self, state: Position) -> float | None:
        # Both can do without a deal, which may pay more than any deal.
        agreed = super().max_joint_payoff(state)
        return None if agreed is None else max(agreed, sum(self.disagreement(state).values()))

    @override
    def details(self, state: Position) -> dict[str, Any]:
        from negolab.games.agenda import measures

        return measures.details(state, self.points(state))

    # What a seat reads.

    @override
    def moves(self, seen: Seen, talk: int = ANY_LENGTH) -> Moves:
        from negolab.games.agenda import moves

        return moves.moves(self, seen, talk)

    @override
    def left_out(self, text: str, seen: Seen) -> tuple[tuple[int, int, str], ...]:
        tokens = read_tokens(without_reasoning(text) or "").tokens
        return () if self.reading == "literal" else left_out(text, [(token.raw, token.why) for token in tokens])

    @override
    def reply_format(self, seen: Seen) -> tuple[str, ...]:
        return () if self.reading == "literal" else (prompt.reply_format(self) + "\n\n",)

    @override
    def prompt(self, seen: Seen, since: Seen | None) -> str:
        return prompt.full_prompt(self, seen) if since is None else prompt.update_prompt(self, seen, since)

    @override
    def facts(self, seen: Seen) -> dict[str, Any]:
        own = seen.private
        rows = {
            issue.name: {
                option_name(issue, n): points for n, points in enumerate(prompt.own_row(issue, row, seen.seat))
            }
            for issue, row in zip(self.agenda, own.points, strict=True)
        }
        facts: dict[str, Any] = {"your points": rows, "without a deal": own.reservation}
        return {**facts, "brief": own.brief} if own.brief else facts

    @override
    def vary(self, state: Position, seat: Seat, rng: random.Random) -> Position:
        return draws.vary(self, state, seat, rng)


_REPLIES: dict[str, Response] = {"accept": "accept", "reject": "reject", "walk away": "walk away"}
_ENDS: dict[str, Any] = {
    "agreed": "AGREED",
    "walked_away": "NO_DEAL",
    "time": "OUT_OF_TIME",
    "forfeit": "FORFEIT",
}


def plain_number(value: Fraction | int) -> int | float:
    """Return an exact number as an integer if it is whole, otherwise as a float."""
    fraction = Fraction(value)
    return fraction.numerator if fraction.denominator == 1 else float(fraction)


def _plain_option(issue: Issue, number: int) -> str | dict[str, int]:
    if issue.units is None:
        return option_name(issue, number)
    return {"own": number, "other": issue.units - number}
