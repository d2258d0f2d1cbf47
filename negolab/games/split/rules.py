"""Split games: in each round, two seats may talk, then state simultaneously and in private what they keep of a stock.

Over-claims are scaled down in proportion, or both get nothing unless the two asks agree exactly. The variants differ in
where values come from: chance (classic), rock-paper-scissors (Trust-and-Split, arXiv 2511.19405), the rules of Deal or
No Deal (Lewis et al. 2017, arXiv 1706.05125), or fixed values without talk (Advantage Alignment, arXiv 2406.14662).
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import prod
from typing import Any, ClassVar

from typing_extensions import override

from negolab.formatting import format_quote, format_terms
from negolab.game import ANY_LENGTH, SEATS, FrozenDict, Invalid, Outcome, Seat, State, other
from negolab.games.split import draws, prompt
from negolab.games.split.allocation import allocate, points
from negolab.games.split.draws import draw_rounds, parse_draw
from negolab.games.split.parameters import Parameters, require
from negolab.games.split.reading import (
    SELECTION,
    around_message,
    fair_proposal,
    fair_talk,
    is_sendable,
    read_free_proposal,
    read_free_talk,
    read_message,
    read_proposal,
    refusal,
    write_proposal,
)
from negolab.games.split.state import (
    HANDS,
    Action,
    Draw,
    EndTalk,
    Message,
    Position,
    Private,
    Proposal,
    Public,
    Schedule,
    Seen,
    Sent,
    Settled,
    Units,
)
from negolab.games.split.statements import announcement_text, parse_offer, parse_statement, true_statement
from negolab.moves import Moves

MAX_OPTIONS = 2000


def message_options(game: Split, seen: Seen) -> tuple[Action, ...]:
    """Return a pass; the true statement about oneself, if it fits into a message; and, in free talk, its end."""
    own = true_statement(seen.private)
    text = "" if own is None else announcement_text(game.items, own)
    said = (Message(""), Message(text)) if text and is_sendable(text, game.max_chars) else (Message(""),)
    return (*said, EndTalk()) if game.is_free else said


@lru_cache(maxsize=64)
def proposal_options(stock: Units, exact: bool) -> tuple[Action, ...]:
    """Return proposals in lexicographic order; if there are more than `MAX_OPTIONS`, return that many evenly spaced
    ones, including the first and the last.

    Under the exact rule, no deal comes last.
    """
    count = prod(units + 1 for units in stock)
    chosen = (
        range(count) if count <= MAX_OPTIONS else (i * (count - 1) // (MAX_OPTIONS - 1) for i in range(MAX_OPTIONS))
    )
    kept = tuple([Proposal(_proposal_at(index, stock)) for index in chosen])
    return (*kept, Proposal(None)) if exact else kept


def _proposal_at(index: int, stock: Units) -> Units:
    """Return the proposal at `index` in lexicographic order: its digits in the mixed radix of the stock."""
    keep: list[int] = []
    for units in reversed(stock):
        index, digit = divmod(index, units + 1)
        keep.append(digit)
    return tuple(reversed(keep))


_ONLY: dict[Seat, tuple[Seat, ...]] = {"A": ("A",), "B": ("B",)}


class Split(Parameters, frozen=True, kw_only=True):
    """One protocol for all variants."""

    pays_as_it_goes: ClassVar[bool] = True
    measure_units: ClassVar[Mapping[str, str]] = {"joint": "points", "best": "points"}
    legacy_defaults: ClassVar[Mapping[str, Any]] = {"talk": "quota", "talk_limit": 20, "reading": "literal"}
    Hidden: ClassVar[Any] = Schedule

    # Dealing.

    @override
    def deal(self, rng: random.Random) -> Position:
        first: Seat = rng.choice(SEATS) if self.first == "random" else self.first
        return self.start(first, list(draw_rounds(self, first, rng)))

    def start(self, first: Seat, rounds: Sequence[Draw | Mapping[str, Any]]) -> Position:
        """Return the initial state for an explicit schedule, with one entry per round: a `Draw`, or plain `{"stock":
        {item: n}, "values": {seat: {item: v}}, "hands": {seat: hand} | None}`."""
        require(first in SEATS, "first", first, "A or B")
        require(len(rounds) == self.rounds, "rounds", len(rounds), f"{self.rounds} entries")
        schedule = Schedule(tuple([r if isinstance(r, Draw) else parse_draw(self, r) for r in rounds]))
        return self._begin(1, first, schedule, (), (), ((), ()))

    def _begin(
        self,
        number: int,
        first: Seat,
        schedule: Schedule,
        messages: tuple[Sent, ...],
        history: tuple[Settled, ...],
        earned: tuple[tuple[float, ...], tuple[float, ...]],
    ) -> Position:
        """Begin round `number`: copy from the schedule what its seats may see."""
        drawn = schedule.rounds[number - 1]
        values, hands = drawn.values, drawn.hands
        phase, on_turn = ("talk", _ONLY[first]) if self.messages_each else ("split", SEATS)
        shown = FrozenDict(values) if self.show == "both" else None
        public = Public(number, phase, first, on_turn, drawn.stock, shown, messages, history)  # type: ignore[arg-type]
        if self.show == "own":
            a, b = (
                Private(values["A"], None, None, False, earned[0]),
                Private(values["B"], None, None, False, earned[1]),
            )
        elif self.show == "hand" and hands is not None:
            a, b = Private(None, hands["A"], None, False, earned[0]), Private(None, hands["B"], None, False, earned[1])
        else:
            a, b = Private(None, None, None, False, earned[0]), Private(None, None, None, False, earned[1])
        return State(public, {"A": a, "B": b}, schedule)

    @override
    def turn(self, public: Public) -> tuple[Seat, ...]:
        return public.on_turn

    # Parsing and writing.

    @override
    def parse(self, text: str, seen: Seen) -> Action | Invalid:
        public = seen.public
        if self.reading == "fair" and public.phase != "over":
            talks = public.phase == "talk"
            meant = (fair_talk if talks else fair_proposal)(text, self.items, free=self.is_free)
            if isinstance(meant, Invalid):
                return meant
            text = meant
        if public.phase == "split":
            read = read_free_proposal if self.is_free else read_proposal
            return read(text, self.items, public.stock, self.rule == "exact")
        if public.phase == "talk":
            return (read_free_talk if self.is_free else read_message)(text, self.max_chars)
        return refusal("unreadable", "The match is over: nothing more is asked.")

    @override
    def say(self, action: Action) -> str:
        if isinstance(action, Message):
            return f"<message>{action.text}</message>"
        if isinstance(action, EndTalk):
            return SELECTION
        if not isinstance(action, Proposal):
            raise ValueError(f"a split game accepts messages and proposals, not {action!r:.80}")
        return write_proposal(self.items, action.keep, free=self.is_free)

    @override
    def options(self, seen: Seen) -> tuple[Action, ...]:
        if seen.seat not in seen.public.on_turn:
            return ()
        if seen.public.phase == "talk":
            return message_options(self, seen)
        return proposal_options(seen.public.stock, self.rule == "exact")

    # Playing.

    @override
    def step(self, state: Position, actions: Mapping[Seat, Action]) -> Position:
        on_turn = state.public.on_turn
        if not actions or not all([seat in on_turn for seat in actions]):  # noqa: C419 -- a third of the time
            raise ValueError(
                f"{' and '.join(on_turn) or 'nobody'} may act now, not {' and '.join(actions) or 'nobody'}"
            )
        if state.public.phase == "split":
            return self._file(state, {seat: self._ask(state, actions[seat]) for seat in actions}, ())
        ((seat, action),) = actions.items()
        if self.is_free and isinstance(action, EndTalk):
            return self._talk(state, Sent(state.public.round, seat, "", False, ends=True))
        if not isinstance(action, Message) or not is_sendable(action.text, self.max_chars, free=self.is_free):
            raise ValueError(
                f"seat {seat} must send a message of at most {self.max_chars} characters, not {action!r:.80}"
            )
        return self._talk(state, Sent(state.public.round, seat, action.text, False))

    def _ask(self, state: Position, action: Action) -> Units | None:
        stock = state.public.stock
        if isinstance(action, Proposal):
            keep = action.keep
            if keep is None:
                if self.rule == "exact":
                    return None
            elif _is_within(keep, stock):
                return keep
        raise ValueError(f"a proposal must keep between 0 and the stock {stock} of each type, not {action!r:.80}")

    def _talk(self, state: Position, sent: Sent) -> Position:
        was = state.public
        messages = was.messages + (sent,)  # noqa: RUF005 -- twice as fast
        is_last = self._is_talk_over(messages)
        public = Public(
            was.round,
            "split" if is_last else "talk",
            was.first,
            SEATS if is_last else _ONLY[other(sent.seat)],
            was.stock,
            was.values,
            messages,
            was.history,
        )
        return State(public, state.private, state.hidden)

    def _is_talk_over(self, messages: tuple[Sent, ...]) -> bool:
        last = messages[-1]
        if not self.is_free:
            # Every finished round has sent its full number of messages.
            return len(messages) == 2 * self.quota * last.round
        return last.ends or sum([sent.round == last.round for sent in messages]) == self.talk_limit

    def _file(self, state: Position, asks: dict[Seat, Units | None], lapsed: tuple[Seat, ...]) -> Position:
        """File asks; the round is settled once both are there."""
        if len(asks) == 2:
            return self._settle(state, asks, lapsed)
        ((seat, ask),) = asks.items()
        private, away = state.private, other(seat)
        if away not in state.public.on_turn:
            waiting = private[away]
            lapsed = tuple([s for s in SEATS if s in lapsed or (s == away and waiting.lapsed)])
            return self._settle(state, {seat: ask, away: waiting.ask}, lapsed)
        was, own = state.public, private[seat]
        public = Public(was.round, was.phase, was.first, _ONLY[away], was.stock, was.values, was.messages, was.history)
        filed = Private(own.values, own.hand, ask, seat in lapsed, own.earned)
        return State(public, {**private, seat: filed}, state.hidden)

    def _settle(self, state: Position, asks: dict[Seat, Units | None], lapsed: tuple[Seat, ...]) -> Position:
        was, private, schedule = state.public, state.private, state.hidden
        drawn = schedule.rounds[was.round - 1]
        ask_a, ask_b = asks["A"], asks["B"]
        share_a, share_b, agreed = allocate(self.rule, was.stock, ask_a, ask_b)
        a, b = points(share_a, drawn.values["A"]), points(share_b, drawn.values["B"])
        settled = Settled(
            was.round,
            was.first,
            was.stock,
            FrozenDict({"A": ask_a, "B": ask_b}),
            FrozenDict({"A": share_a, "B": share_b}),
            agreed,
            lapsed,
            FrozenDict(drawn.values) if self.reveal else None,
            FrozenDict(drawn.hands) if self.reveal and drawn.hands is not None else None,
            FrozenDict({"A": a, "B": b}) if self.reveal else None,
        )
        history = was.history + (settled,)  # noqa: RUF005 -- twice as fast as unpacking
        earned = (private["A"].earned + (a,), private["B"].earned + (b,))  # noqa: RUF005
        if was.round < self.rounds:
            return self._begin(was.round + 1, other(was.first), schedule, was.messages, history, earned)
        public = Public(was.round, "over", was.first, (), was.stock, was.values, was.messages, history)
        return State(public, _final_privates(*earned), schedule)

    @override
    def retries(self, seat: Seat) -> int:
        return self.attempts - 1

    @override
    def forfeit(self, state: Position, seat: Seat, invalid: Invalid) -> Position:
        was, private = state.public, state.private
        if self.fallback == "end":
            public = Public(was.round, "over", was.first, (), was.stock, was.values, was.messages, was.history, seat)
            return State(public, _final_privates(private["A"].earned, private["B"].earned), state.hidden)
        if was.phase == "talk":
            return self._talk(state, Sent(was.round, seat, "", True))
        # Unread words are not consent: asking for 0 would complete a deal with a seat that asks for everything.
        ask = None if self.rule == "exact" else (0,) * len(was.stock)
        return self._file(state, {seat: ask}, (seat,))

    @override
    def bound(self) -> int:
        return self.rounds * ((self.talk_limit if self.is_free else 2 * self.quota) + 2)

    # Results. They are computed in `measures`, which is imported when called: a participant's process needs only the
    # rules.

    @override
    def outcome(self, state: Position) -> Outcome:
        public = state.public
        payoffs: dict[Seat, int | float | None] = {s: sum(state.private[s].earned, 0.0) for s in SEATS}
        if public.ended_by is not None:
            return Outcome("FORFEIT", payoffs)
        if public.phase != "over":
            return Outcome("ABORTED", payoffs)
        divided = any(any(settled.shares[s]) for settled in public.history for s in SEATS)
        return Outcome("AGREED" if divided else "NO_DEAL", payoffs)

    @override
    def own_value(self, state: Position, seat: Seat) -> Any:
        return [drawn.values[seat] for drawn in state.hidden.rounds]

    @override
    def disagreement(self, state: Position) -> dict[Seat, int | float]:
        return {seat: sum(state.private[seat].earned, 0.0) for seat in SEATS}

    @override
    def stakes(self, state: Position, seat: Seat, action: Action) -> tuple[dict[Seat, int | float], ...]:
        from negolab.games.split.measures import stakes

        return stakes(state, seat, action)

    @override
    def offered(self, state: Position, seat: Seat, action: Action) -> tuple[dict[Seat, int | float], ...]:
        from negolab.games.split.measures import offered

        return offered(state, seat, action)

    @override
    def terms(self, action: Action) -> tuple[dict[str, Any], ...]:
        if not isinstance(action, Proposal) or action.keep is None:
            return ()
        return ({"package": dict(zip(self.items, action.keep, strict=True))},)

    @override
    def own_facts(self, seen: Seen) -> Mapping[str, float]:
        if seen.private.hand is not None:
            return {hand: hand == seen.private.hand for hand in HANDS}
        return dict(zip(self.items, seen.private.values or (), strict=False))

    @override
    def spoken(self, action: Action) -> str:
        return action.text if isinstance(action, Message) else ""

    @override
    def describe(self, action: Action) -> str:
        match action:
            case Message(text):
                return f"says {format_quote(text)}" if text else "says nothing"
            case EndTalk():
                return "ends the talk"
        return " or ".join(f"keeps {format_terms(terms)}" for terms in self.terms(action)) or "proposes no deal"

    @override
    def frontier(self, state: Position) -> tuple[tuple[float, float], ...]:
        from negolab.games.split.measures import frontier

        return frontier(state)

    @override
    def max_joint_payoff(self, state: Position) -> float:
        from negolab.games.split.measures import best_joint_of_match as best_of

        return best_of(state)

    @override
    def details(self, state: Position) -> dict[str, Any]:
        from negolab.games.split.measures import details

        return details(self, state)

    # Information.

    @override
    def moves(self, seen: Seen, talk: int = ANY_LENGTH) -> Moves:
        from negolab.games.split import moves

        return moves.moves(self, seen, talk)

    @override
    def same(self, seen: Seen, decided: Action, said: Action) -> bool:
        if not isinstance(decided, Message) or not isinstance(said, Message):
            return decided == said
        return self._stated(seen, decided) == self._stated(seen, said)

    def _stated(self, seen: Seen, message: Message) -> tuple[object, ...]:
        """Return what a message states about its author (hand or values) and which division it offers (units)."""
        hands = seen.private.hand is not None
        return parse_statement(message.text, self.items, hands), parse_offer(
            message.text, self.items, seen.public.stock
        )

    @override
    def left_out(self, text: str, seen: Seen) -> tuple[tuple[int, int, str], ...]:
        if self.reading == "literal" or seen.public.phase != "talk":
            return ()
        before, inside, behind = around_message(text)
        start = len(text) - len(behind)
        around = ((0, len(before)), (start, len(text))) if inside else ()
        return tuple((*part, "outside of the message") for part in around if text[slice(*part)].strip())

    @override
    def reply_format(self, seen: Seen) -> tuple[str, ...]:
        is_due = self.reading == "fair" and seen.seat in seen.public.on_turn
        return (prompt.reply_format(self, seen),) if is_due else ()

    @override
    def prompt(self, seen: Seen, since: Seen | None) -> str:
        return prompt.full_prompt(self, seen) if since is None else prompt.update_prompt(self, seen, since)

    @override
    def describe_forfeit(self, seen: Seen) -> str:
        return prompt.describe_forfeit(self, seen.public.phase == "talk")

    @override
    def facts(self, seen: Seen) -> dict[str, Any]:
        return prompt.facts(self, seen)

    @override
    def secrets(self, seat: Seat) -> tuple[str, ...]:
        return ("contexts",)

    @override
    def vary(self, state: Position, seat: Seat, rng: random.Random) -> Position | None:
        return draws.vary(self, state, seat, rng)

    @override
    def revealed(self, public: Public) -> bool:
        return self.reveal and bool(public.history)


def _is_within(keep: Units, stock: Units) -> bool:
    """Return True if `keep` holds whole units within the stock, one number per type."""
    if type(keep) is not tuple or len(keep) != len(stock):
        return False
    for units, most in zip(keep, stock, strict=True):  # noqa: SIM110 -- half the time of all()
        if type(units) is not int or not 0 <= units <= most:
            return False
    return True


def _final_privates(earned_a: tuple[float, ...], earned_b: tuple[float, ...]) -> dict[Seat, Private]:
    """Return both private states after the end of the match."""
    return {"A": Private(None, None, None, False, earned_a), "B": Private(None, None, None, False, earned_b)}
