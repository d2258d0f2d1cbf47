"""Alternating-offer price negotiation between a seller (A) and a buyer (B) over one item.

The k-th offer of the game is round k. The seat that did not make the standing offer accepts it or makes the next; the
offer of the last round can only be accepted or rejected. Stahl 1972, Rubinstein 1982.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, ClassVar, Literal

from typing_extensions import override

from negolab.formatting import format_quote
from negolab.game import ANY_LENGTH, Invalid, Outcome, Seat, State
from negolab.games.bargaining import prompt as prompts
from negolab.games.bargaining.fair import Heard, read_fairly, said, told_numbers
from negolab.games.bargaining.parameters import Parameters
from negolab.games.bargaining.reading import (
    Grammar,
    grammar,
    is_clean_message,
    read_price,
    read_reply,
    refusal,
    split_message,
    without_decimal_comma,
    write_message,
)
from negolab.games.bargaining.state import (
    SEAT_NAMES,
    Accept,
    Action,
    Offer,
    Private,
    Public,
    Reject,
    Seen,
    Terms,
    Told,
    history,
    may_talk,
    reservation_value,
)
from negolab.money import discounted, divide_half_up
from negolab.moves import Moves
from negolab.reading import left_out


def draw_number(numbers: Sequence[int], rng: random.Random) -> int:
    """Draw one of `numbers`; a single one uses no randomness."""
    return numbers[0] if len(numbers) == 1 else rng.choice(numbers)


def consistent_numbers(told: Told, lo: int, hi: int) -> Sequence[int]:
    """Return the numbers from `lo` to `hi` that agree with what the other seat was told; a claim rules out none."""
    if told[0] == "set":
        return [int(number) for number in told[1:] if lo <= int(number) <= hi]
    if told[0] in ("range", "verified"):
        return range(max(lo, int(told[1])), min(hi, int(told[2])) + 1)
    return range(lo, hi + 1)


def deal_payoffs(game: Bargaining, state: State[Public, Private], price: int, waited: int) -> dict[Seat, int | float]:
    """Return the payoffs for a deal at `price` on an offer that came after `waited` others."""
    value, cost = state.private["B"].value, state.private["A"].cost
    assert value is not None and cost is not None
    gain_a = price if game.frame == "keeps_item" else price - cost
    gain_b = value - price
    return {
        "A": discounted(gain_a, game.discount_seller, waited),
        "B": discounted(gain_b, game.discount_buyer, waited),
    }


_NOBODY: tuple[Seat, ...] = ()
_ONLY_A: tuple[Seat, ...] = ("A",)
_ONLY_B: tuple[Seat, ...] = ("B",)


class Bargaining(Parameters, frozen=True, kw_only=True):
    """Alternating-offer bargaining."""

    unit: ClassVar[str] = "cents"
    measure_units: ClassVar[Mapping[str, str]] = dict.fromkeys(
        (
            *("price", "price_less_spe", "price_less_nash"),
            *("price_lo", "price_hi", "buyer_values", "seller_costs", "buyer_told", "seller_told"),
            *("default_opening", "examples", "outside_seller", "outside_buyer"),
        ),
        "cents",
    )
    # In the rules, the seller is the AI and the buyer the human, whoever plays.
    seat_words: ClassVar[Mapping[str, str]] = {SEAT_NAMES["A"]: "A (seller)", SEAT_NAMES["B"]: "B (buyer)"}
    divisible: ClassVar[bool] = True
    legacy_defaults: ClassVar[Mapping[str, Any]] = {"refusal_guard": False, "reading": "literal"}
    words: ClassVar[tuple[str, ...]] = ("message",)

    # Initial states.

    @override
    def deal(self, rng: random.Random) -> State[Public, Private]:
        if self.buyer_values is None or self.seller_costs is None:
            raise ValueError("one seat's view of a game cannot be dealt: the numbers are hidden")
        return self.start(draw_number(self.buyer_values, rng), draw_number(self.seller_costs, rng))

    def start(self, value: int, cost: int) -> State[Public, Private]:
        """Return the initial state for a value and a cost with price_lo <= cost < value <= price_hi."""
        self.check_reservation_values(value, cost)
        public = Public(
            self._terms(),
            value=value if self.seller_told == ("exact",) else None,
            cost=cost if self.buyer_told == ("exact",) else None,
        )
        return State(public, {"A": Private(cost=cost), "B": Private(value=value)})

    def _terms(self) -> Terms:
        return Terms(
            self.rounds,
            self.opener,
            self.price_lo,
            self.price_hi,
            self.buyer_told,
            self.seller_told,
            self.frame,
            self.talk,
            self.walk_away,
            self.discount_seller,
            self.discount_buyer,
            self.outside_seller,
            self.outside_buyer,
        )

    # Turns.

    @override
    def turn(self, public: Public) -> tuple[Seat, ...]:
        if public.status != "in_progress":
            return _NOBODY
        if public.offers:
            return _ONLY_B if public.offers[-1][1] == "A" else _ONLY_A
        return _ONLY_A if self.opener == "seller" else _ONLY_B

    @override
    def parse(self, text: str, seen: Seen) -> Action | Invalid:
        offers = seen.public.offers
        made, rules = len(offers), self._grammar()
        last, is_fair, message = made >= self.rounds, self.reading == "fair", ""
        if is_fair:
            plain = said(text)
            if plain is None:
                return refusal("reasoning_open", rules, made > 0, last)
            text = plain
        if self.talk != "none" and may_talk(self.talk, seen.seat):
            text, message = split_message(text)
        cents = read_price(text, self.price_lo, self.price_hi)
        if cents is not None and not last:
            return Offer(cents, message)
        asked = offers[-1][2] if offers and offers[-1][1] != seen.seat else None
        read = read_fairly if is_fair else read_reply
        found = read(text, rules, made > 0, last, asked)
        if isinstance(found, str):
            # An older game keeps its words, so that its records replay to the letter.
            is_explained = found == "malformed_number" and self.refusal_guard and not last
            return refusal(found, rules, made > 0, last, without_decimal_comma(text) if is_explained else "")
        return Offer(found.cents, message) if message and isinstance(found, Offer) else found

    def _grammar(self) -> Grammar:
        return grammar(
            self.price_lo,
            self.price_hi,
            self.extra_accept,
            self.walk_away,
            self.whole_a,
            self.veto,
            self.unit_guard,
            self.refusal_guard,
        )

    @override
    def say(self, action: Action) -> str:
        if isinstance(action, Offer):
            price = f"{action.cents / 100:.2f}"
            return f"{price}\n{write_message(action.message)}" if action.message else price
        if isinstance(action, Accept):
            return "accept"
        return "walk away" if self.walk_away else "reject"

    @override
    def options(self, seen: Seen) -> tuple[Action, ...]:
        public = seen.public
        if seen.seat not in self.turn(public):
            return ()
        if public.last_response:
            return (Accept(), Reject())
        prices = price_grid(self.price_lo, self.price_hi)
        if not public.offers:
            return prices
        return (Accept(), Reject(), *prices) if self.walk_away else (Accept(), *prices)

    @override
    def step(self, state: State[Public, Private], actions: Mapping[Seat, Action]) -> State[Public, Private]:
        public = state.public
        turn = self.turn(public)
        if len(actions) != 1 or turn is _NOBODY or turn[0] not in actions:
            raise ValueError(f"it is {' and '.join(turn) or 'nobody'}'s turn, not {' and '.join(actions)}'s")
        seat = turn[0]
        action = actions[seat]
        if type(action) is Offer:
            return State(self._offered(public, seat, action), state.private)
        if type(action) is Accept and public.offers:
            return State(_end(public, "deal_reached", seat), state.private)
        if type(action) is Reject and public.offers and (self.walk_away or public.last_response):
            return State(_end(public, "no_deal", seat), state.private)
        raise ValueError(f"{action!r} is not legal in round {len(public.offers)} of {self.rounds}")

    def _offered(self, public: Public, seat: Seat, offer: Offer) -> Public:
        number, cents, messages = len(public.offers) + 1, offer.cents, public.messages
        if number > self.rounds:
            raise ValueError(f"{offer!r} is not legal: round {self.rounds} was the last")
        if type(cents) is not int or not self.price_lo <= cents <= self.price_hi:
            raise ValueError(f"cents must be a whole number from {self.price_lo} to {self.price_hi}, not {cents!r}")
        if offer.message:
            if not may_talk(self.talk, seat):
                raise ValueError(f"seat {seat} may not send a message with talk={self.talk!r}")
            if not is_clean_message(offer.message):
                raise ValueError(f"a message must be one line of at most 280 characters, not {offer.message!r}")
            messages += ((number, seat, offer.message),)
        return Public(
            public.terms,
            public.offers + ((number, seat, cents),),  # noqa: RUF005 (faster than unpacking)
            messages,
            value=public.value,
            cost=public.cost,
        )

    # Results.

    @override
    def outcome(self, state: State[Public, Private]) -> Outcome:
        public = state.public
        if public.status == "in_progress":
            return Outcome("ABORTED", {"A": None, "B": None})
        if public.price is None:
            return Outcome("FORFEIT" if public.forfeited else "NO_DEAL", dict(self.disagreement(state)))
        return Outcome("AGREED", {**deal_payoffs(self, state, public.price, len(public.offers) - 1)})

    @override
    def stakes(self, state: State[Public, Private], seat: Seat, action: Action) -> tuple[dict[Seat, int | float], ...]:
        if not isinstance(action, Offer):
            return ()
        return (deal_payoffs(self, state, action.cents, len(state.public.offers)),)

    @override
    def terms(self, action: Action) -> tuple[dict[str, Any], ...]:
        return ({"price_cents": action.cents},) if isinstance(action, Offer) else ()

    @override
    def own_facts(self, seen: Seen) -> Mapping[str, float]:
        return {"": reservation_value(seen) / 100}

    @override
    def describe(self, action: Action) -> str:
        match action:
            case Offer(_, message):
                return super().describe(action) + (f" and says {format_quote(message)}" if message else "")
            case Accept():
                return "accepts"
        return "walks away" if self.walk_away else "rejects"

    @override
    def frontier(self, state: State[Public, Private]) -> tuple[tuple[float, float], ...]:
        # The line of all prices in round 1, given by its two ends; a later deal lies below it if both gain.
        ends = (deal_payoffs(self, state, price, 0) for price in (self.price_lo, self.price_hi))
        return tuple((end["A"], end["B"]) for end in ends)

    @override
    def role(self, seat: Seat) -> str:
        return "seller" if seat == "A" else "buyer"

    @override
    def disagreement(self, state: State[Public, Private]) -> dict[Seat, int | float]:
        kept = state.private["A"].cost if self.frame == "keeps_item" else 0
        assert kept is not None
        return {"A": self.outside_seller + kept, "B": self.outside_buyer}

    @override
    def details(self, state: State[Public, Private]) -> dict[str, Any]:
        public = state.public
        return {"price": public.price, "round": len(public.offers), "history": history(public)}

    @override
    def retries(self, seat: Seat) -> int | None:
        return self.seller_retries if seat == "A" else self.buyer_retries

    @override
    def forfeit(self, state: State[Public, Private], seat: Seat, invalid: Invalid) -> State[Public, Private]:
        if seat == "B":
            return State(_end(state.public, "no_deal", seat, forfeited=True), state.private)
        # The seller falls back to a move that reveals nothing.
        return self.step(state, {"A": self._fallback(state)})

    def _fallback(self, state: State[Public, Private]) -> Action:
        public = state.public
        if public.last_response:
            return Reject()
        own = [cents for _, seat, cents in public.offers if seat == "A"]
        return Offer(own[-1] if own else self._default_opening(public))

    def _default_opening(self, public: Public) -> int:
        if isinstance(self.default_opening, int):
            return self.default_opening
        if public.value is None or public.cost is None:
            raise ValueError("the fair price is not public, so default_opening must be an amount in cents")
        return fair_price(public.value, public.cost)

    # Information.

    @override
    def moves(self, seen: Seen, talk: int = ANY_LENGTH) -> Moves:
        from negolab.games.bargaining import moves

        return moves.moves(self, seen, talk)

    @override
    def prompt(self, seen: Seen, since: Seen | None) -> str:
        known = 0 if since is None else len(since.public.offers)
        head = [prompts.describe_rules(seen, self.item), ""] if since is None else []
        due = prompts.request(seen, seen.seat in self.turn(seen.public), self.reading)
        return "\n".join([*head, *prompts.offer_history(seen, known), due])

    @override
    def left_out(self, text: str, seen: Seen) -> tuple[tuple[int, int, str], ...]:
        offers = seen.public.offers
        if self.reading == "literal":
            return ()
        asked = offers[-1][2] if offers and offers[-1][1] != seen.seat else None
        heard = Heard(self._grammar(), bool(offers), len(offers) >= self.rounds, asked)
        return left_out(text, told_numbers(split_message(said(text) or "")[0], heard))

    @override
    def reply_format(self, seen: Seen) -> tuple[str, ...]:
        how = (f"\n{line}" for line in prompts.message_rules(seen)[1:])
        return () if self.reading == "literal" else (*how, prompts.answer_format(seen.public, self.reading))

    @override
    def facts(self, seen: Seen) -> dict[str, Any]:
        return prompts.facts(seen)

    @override
    def describe_forfeit(self, seen: Seen) -> str:
        return prompts.describe_forfeit(seen)

    @override
    def secrets(self, seat: Seat) -> tuple[str, ...]:
        return ("treatment", "buyer_values", "seller_costs", "default_opening", "seller_retries", "buyer_retries")

    @override
    def vary(self, state: State[Public, Private], seat: Seat, rng: random.Random) -> State[Public, Private] | None:
        told = self.buyer_told if seat == "A" else self.seller_told
        if told == ("exact",):
            return None
        value, cost = state.private["B"].value, state.private["A"].cost
        assert value is not None and cost is not None
        lo, hi = self.price_lo, self.price_hi
        if not self.allow_no_zopa:
            lo, hi = (lo, value - 1) if seat == "A" else (cost + 1, hi)
        numbers = consistent_numbers(told, lo, hi)
        if not numbers:
            return None
        number = rng.choice(numbers)
        redrawn = Private(cost=number) if seat == "A" else Private(value=number)
        return State(state.public, {**state.private, seat: redrawn})

    @override
    def bound(self) -> int:
        return self.rounds + 1


def fair_price(value: int, cost: int) -> int:
    """Return the midpoint of value and cost in cents, rounded half up."""
    return (value + cost + 1) // 2


@lru_cache(maxsize=256)
def price_grid(lo: int, hi: int) -> tuple[Offer, ...]:
    """Return 21 offers with evenly spaced prices from `lo` to `hi`, without repetition."""
    return tuple(Offer(cents) for cents in dict.fromkeys(lo + divide_half_up(i * (hi - lo), 20) for i in range(21)))


def _end(public: Public, status: Literal["deal_reached", "no_deal"], by: Seat, *, forfeited: bool = False) -> Public:
    price = public.standing if status == "deal_reached" else None
    return Public(public.terms, public.offers, public.messages, status, price, by, forfeited, public.value, public.cost)
