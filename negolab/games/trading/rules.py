"""Resource trading: two players with private holdings and values alternate messages, offers and replies.

After up to `max_turns` messages, the player with the larger gain in its own values wins. The rules follow TextArena's
two-player Negotiation (`seed`, `tolerant`); the preset `textarena-0.7.4` replays that release's SimpleNegotiation
exactly, quirks included.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from itertools import takewhile
from typing import Any, ClassVar

import msgspec
from typing_extensions import override

from negolab.formatting import format_quote
from negolab.game import ANY_LENGTH, SEATS, Invalid, Outcome, Seat, State, other
from negolab.games.trading import offers, prompt, textarena
from negolab.games.trading.parameters import Parameters
from negolab.games.trading.reading import (
    BROKEN,
    is_plain,
    parse_lenient,
    parse_strict,
    read_fair,
    refusal,
    scan_offers,
    spoken_tokens,
    without_tokens,
)
from negolab.games.trading.state import (
    GOODS,
    NOTHING,
    Entry,
    Goods,
    Move,
    Offer,
    Position,
    Private,
    Public,
    Seen,
    covers,
    exchange,
    execute_trade,
    format_goods,
    gain,
    has_traded,
    subtract,
    to_goods,
    worth,
)
from negolab.moves import Moves
from negolab.reading import REASONING_OPEN, left_out, without_reasoning
from negolab.theory.surplus import exchange_frontier


def stakes(game: Trading, state: Position, seat: Seat, move: Move) -> tuple[dict[Seat, int | float], ...]:
    """Return both gains since the start as if the move's offer were accepted immediately, because the payoff, a win or
    a loss, depends on the whole match. () if there is no offer or the other seat cannot cover it."""
    after = game.step(state, {seat: move})
    offer, taker = after.public.messages[-1].offer, other(seat)
    if offer is None or not covers(after.private[taker].holdings, offer.want):
        return ()
    own = execute_trade(after.private, offer, taker)
    return ({"A": gain(own["A"]), "B": gain(own["B"])},)


_TURNS: dict[Seat | None, tuple[Seat, ...]] = {"A": ("A",), "B": ("B",), None: ()}


class Trading(Parameters, frozen=True, kw_only=True):
    """Resource trading."""

    unit: ClassVar[str] = "win +1, draw 0, loss -1"
    stake_unit: ClassVar[str | None] = "gain in own worth"
    measure_units: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ("gain", "joint", "possible", "mutual", "worth_start", "worth_end"), "own worth"
    )
    divisible: ClassVar[bool] = True
    legacy_defaults: ClassVar[Mapping[str, Any]] = {"reading": "literal"}
    words: ClassVar[tuple[str, ...]] = ("text", "malformed", "warnings")

    @override
    def deal(self, rng: random.Random) -> Position:
        p, q = self._draw_holdings(rng), self._draw_holdings(rng)
        a, b = self._draw_values(rng), self._draw_values(rng)
        return State(Public(0, self.max_turns, "A"), {"A": Private(p, a, p), "B": Private(q, b, q)})

    def _draw_holdings(self, rng: random.Random) -> Goods:
        low, high = self.holdings_range
        a, b, c, d, e = [rng.randint(low, high) for _ in range(5)]
        return a, b, c, d, e

    def _draw_values(self, rng: random.Random) -> Goods:
        a, b, c, d, e = [rng.randint(low, high) for low, high in self.value_ranges()]
        return a, b, c, d, e

    def start(self, holdings: Mapping[Seat, Goods], values: Mapping[Seat, Goods]) -> Position:
        """Return the initial state for explicit goods vectors: holdings from 0 and values from 1, without an upper
        limit."""
        for seat in SEATS:
            _require_goods(f"holdings of {seat}", holdings[seat], 0)
            _require_goods(f"values of {seat}", values[seat], 1)
        goods: dict[Seat, Goods] = {seat: to_goods(holdings[seat]) for seat in SEATS}
        private = {seat: Private(goods[seat], to_goods(values[seat]), goods[seat]) for seat in SEATS}
        return State(Public(0, self.max_turns, "A"), private)

    @override
    def turn(self, public: Public) -> tuple[Seat, ...]:
        return _TURNS[public.to_move]

    # Parsing and writing.

    @override
    def parse(self, text: str, seen: Seen) -> Move | Invalid:
        if not isinstance(text, str):
            raise TypeError(f"a message must be a string, not {type(text).__name__}")
        if self.reading == "fair" and not (self.lenient or is_plain(text)):
            return self._parse_fair(text, seen)
        if "[" not in text:
            return self._judge(Move(text), seen) if not self.lenient else Move(text)
        lower = text.lower()
        accept, deny = "[accept]" in lower, "[deny]" in lower
        if self.lenient:
            offer, malformed = parse_lenient(text)
            return Move(text, accept, deny, offer, malformed)
        # No other letter becomes one of these when lowercased, so the search is exact.
        first, tokens, broken = scan_offers(text) if "[offer" in lower else (None, 0, False)
        offer = None if first is None else parse_strict(first)
        warnings = self._warnings(seen.public, accept or deny, offer is not None, tokens > 1, broken)
        malformed = first is not None and offer is None
        return self._judge(Move(text, accept, deny, offer, False, warnings), seen, malformed)

    def _parse_fair(self, text: str, seen: Seen) -> Move | Invalid:
        spoken = without_reasoning(text)
        if spoken is None:
            return Invalid(("reasoning_open",), REASONING_OPEN, "format")
        waiting = seen.public.waiting
        said, offers = read_fair(spoken, None if waiting is None else (waiting.give, waiting.want))
        accept, deny = bool(said.counting("accept")), bool(said.counting("deny"))
        if waiting is not None and not (accept or deny or offers) and said.vetoed:
            return refusal(
                "vetoed_reply",
                f'Your message does not say whether you take the offer ("{said.vetoed}"): '
                "write [Accept] or [Deny] on a line of its own.",
            )
        offer = offers[-1] if offers else None
        is_broken = BROKEN.search(said.talk) is not None
        warnings = self._warnings(seen.public, accept or deny, offer is not None, len(offers) > 1, is_broken)
        move = Move(spoken, accept, deny, offer, False, warnings)
        return self._judge(move, seen, malformed=bool(offers) and offer is None)

    def _warnings(self, public: Public, replies: bool, offers: bool, extra: bool, broken: bool) -> tuple[str, ...]:
        """Return the codes of parts that have no effect although their author may believe they do."""
        warnings: tuple[str, ...] = ()
        if replies and public.waiting is None:
            warnings += ("reply_without_offer",)
        if extra:
            warnings += ("extra_offers",)
        if offers and public.turn == self.max_turns - 1:
            warnings += ("offer_unanswerable",)
        if broken:
            warnings += ("broken_offer",)
        return warnings

    def _judge(self, move: Move, seen: Seen, malformed: bool = False) -> Move | Invalid:
        """Return the move, or an `Invalid` for its first fault, judged from what its author sees."""
        holdings, waiting = seen.private.holdings, seen.public.waiting
        if waiting is not None:
            if move.accept and move.deny:
                return refusal("both_replies", "Your message holds both [Accept] and [Deny]: send exactly one.")
            if not (move.accept or move.deny) and self.rules == "seed":
                missing = refusal("no_reply", "An offer is waiting for you: answer it with [Accept] or [Deny].")
                is_unreadable = self.reading == "fair" and move.offer is None
                return Invalid(missing.codes, missing.reason, "format") if is_unreadable else missing
            if move.accept:
                if not covers(holdings, waiting.want):
                    return refusal("accept_holdings", "You do not hold what the offer asks of you: [Deny] it.")
                holdings = exchange(holdings, waiting.want, waiting.give)
        if malformed:
            return refusal("offer_format", "Your offer cannot be read: write it as [Offer: 2 Wheat, 1 Ore -> 3 Sheep].")
        if move.offer is not None and not covers(holdings, move.offer[0]):
            return refusal("offer_holdings", "You do not hold all that your offer gives: offer only what is yours.")
        return move

    @override
    def say(self, action: Move) -> str:
        return action.text

    @override
    def options(self, seen: Seen) -> tuple[Move, ...]:
        if seen.public.to_move != seen.seat:
            return ()
        return tuple(Move(*parts) for parts in offers.message_options(self, seen))

    # Playing.

    @override
    def step(self, state: Position, actions: Mapping[Seat, Move]) -> Position:
        ((seat, move),) = actions.items()
        public = state.public
        if seat != public.to_move or not isinstance(move, Move):
            raise ValueError(f"seat {seat} cannot play {move!r:.80} now: it is {public.to_move or 'nobody'}'s turn")
        if self.lenient:
            return textarena.step(state, seat, move)
        return self._step(state, seat, move)

    def _step(self, state: Position, seat: Seat, move: Move) -> Position:
        public, private = state.public, state.private
        waiting = public.waiting
        trade = None
        if waiting is not None and move.accept:
            trade, private = waiting, execute_trade(private, waiting, seat)
        offer = None
        if move.offer is not None:
            give, want = move.offer
            if not covers(private[seat].holdings, give):
                raise ValueError(f"seat {seat} offers {give}, more than it holds")
            offer = Offer(seat, give, want)
        entry = Entry(seat, move.text, trade, waiting is not None and trade is None, offer)
        turn = public.turn + 1
        over = turn == public.max_turns
        after = Public(
            turn,
            public.max_turns,
            None if over else other(seat),
            offer,
            public.messages + (entry,),  # noqa: RUF005 -- twice as fast as unpacking
            "limit" if over else None,
        )
        return State(after, private)

    @override
    def retries(self, seat: Seat) -> int:
        return 1 if self.rules == "tolerant" else 0

    @override
    def forfeit(self, state: Position, seat: Seat, invalid: Invalid) -> Position:
        public = msgspec.structs.replace(state.public, end="forfeit", loser=seat, to_move=None)
        return State(public, state.private)

    @override
    def bound(self) -> int:
        # TextArena plays one more turn, and lets each turn hold one message with a tolerated error.
        return 2 * (self.max_turns + 1) if self.lenient else self.max_turns

    # Results.

    @override
    def format_payoff(self, payoff: int | float | None) -> str:
        words = {1: "a win (+1)", 0: "a draw (0)", -1: "a loss (\N{MINUS SIGN}1)"}
        return super().format_payoff(payoff) if payoff is None else words[int(payoff)]

    @override
    def outcome(self, state: Position) -> Outcome:
        public = state.public
        if public.loser is not None:
            kept = 0 if self.rules == "seed" else 1
            return Outcome("FORFEIT", {seat: -1 if seat == public.loser else kept for seat in SEATS})
        if public.end is None:
            return Outcome("ABORTED", {"A": None, "B": None})
        lead = gain(state.private["A"]) - gain(state.private["B"])
        sign = (lead > 0) - (lead < 0)
        return Outcome("AGREED" if has_traded(public) else "NO_DEAL", {"A": sign, "B": -sign})

    @override
    def stakes(self, state: Position, seat: Seat, action: Move) -> tuple[dict[Seat, int | float], ...]:
        return stakes(self, state, seat, action)

    @override
    def offered(self, state: Position, seat: Seat, action: Move) -> tuple[dict[Seat, int | float], ...]:
        offer = self.step(state, {seat: action}).public.messages[-1].offer
        if offer is None:
            return ()
        change, own = subtract(offer.want, offer.give), state.private
        return ({seat: worth(change, own[seat].values), other(seat): -worth(change, own[other(seat)].values)},)

    @override
    def terms(self, action: Move) -> tuple[dict[str, Any], ...]:
        if action.offer is None:
            return ()
        give, want = ({name: n for name, n in zip(GOODS, goods, strict=True) if n} for goods in action.offer)
        return ({"package": {"give": give, "want": want}},)

    @override
    def describe(self, action: Move) -> str:
        give, want = (format_goods(goods) for goods in action.offer or (NOTHING, NOTHING))
        offered = f"offers {give} for {want}" if action.offer else ""
        replies = ("accepts" if action.accept else "", "denies" if action.deny else "", offered)
        return " and ".join(filter(None, replies)) or f"says {format_quote(action.text)}"

    @override
    def spoken(self, action: Move) -> str:
        return without_tokens(action.text)

    @override
    def left_out(self, text: str, seen: Seen) -> tuple[tuple[int, int, str], ...]:
        waiting = seen.public.waiting
        if self.reading == "literal" or self.lenient:
            return ()
        spoken = spoken_tokens(without_reasoning(text) or "", None if waiting is None else (waiting.give, waiting.want))
        return left_out(text, [(token.raw, token.why) for token in spoken.tokens])

    @override
    def describe_effect(self, public: Public) -> str:
        trade = public.messages[-1].trade if public.messages else None
        since = takewhile(lambda entry: entry.offer != trade, reversed(public.messages[:-1]))
        return "an offer that had been refused" if trade and any(entry.denied for entry in since) else ""

    @override
    def frontier(self, state: Position) -> tuple[tuple[float, float], ...]:
        # Gains over all reallocations of the goods, treated as divisible.
        a, b = state.private["A"], state.private["B"]
        return exchange_frontier(a.values, b.values, a.start, b.start)

    @override
    def own_value(self, state: Position, seat: Seat) -> Any:
        return state.private[seat].values

    @override
    def details(self, state: Position) -> dict[str, Any]:
        from negolab.games.trading import measures

        return measures.details(state)

    @override
    def moves(self, seen: Seen, talk: int = ANY_LENGTH) -> Moves:
        from negolab.games.trading import moves

        return moves.moves(self, seen, talk)

    @override
    def prompt(self, seen: Seen, since: Seen | None) -> str:
        return prompt.full_prompt(self, seen) if since is None else prompt.update_prompt(self, seen, since)

    @override
    def reply_format(self, seen: Seen) -> tuple[str, ...]:
        return () if self.reading == "literal" else (prompt.TOKENS["fair"] + "\n\n",)

    @override
    def describe_forfeit(self, seen: Seen) -> str:
        return "you lose the match"

    @override
    def facts(self, seen: Seen) -> dict[str, Any]:
        own = seen.private
        rows = zip(GOODS, own.holdings, own.values, strict=True)
        return {
            "goods": {name: {"you hold": n, "worth each": v, "worth together": n * v} for name, n, v in rows},
            "worth now": worth(own.holdings, own.values),
            "gain so far": gain(own),
        }

    @override
    def vary(self, state: Position, seat: Seat, rng: random.Random) -> Position:
        holdings, values = self._draw_holdings(rng), self._draw_values(rng)
        return State(state.public, {**state.private, seat: Private(holdings, values, holdings)})

    @override
    def revealed(self, public: Public) -> bool:
        # A win or loss tells which gain was larger.
        return public.end is not None


def _require_goods(name: str, row: Any, least: int) -> None:
    if len(row) != 5 or not all(isinstance(n, int) and n >= least for n in row):
        raise ValueError(f"{name} must be five integers >= {least}, not {row!r}")
