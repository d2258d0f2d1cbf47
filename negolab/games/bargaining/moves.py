"""The moves of bargaining: offer a price, accept, reject or walk away, whichever are possible now."""

from __future__ import annotations

from collections.abc import Callable

from negolab.games.bargaining.parameters import Parameters
from negolab.games.bargaining.prompt import example_price
from negolab.games.bargaining.reading import MAX_MESSAGE, clean_message
from negolab.games.bargaining.state import Accept, Offer, Reject, Seen, may_talk
from negolab.games.bargaining.words import WORDS
from negolab.money import cents_to_dollars, format_cents
from negolab.moves import Count, Field, Move, Moves, Price, Words


def moves(told: Parameters, seen: Seen, talk: int) -> Moves:
    accept = Move("accept", Accept, label=WORDS.ACCEPT, means="to accept the offer that stands")
    if seen.public.last_response:
        return Moves((accept, Move("reject", Reject, label=WORDS.REJECT, means="to end without a deal")))
    away = Move("walk_away", Reject, label=WORDS.WALK_AWAY, means="to walk away without a deal")
    answers = (accept, away) if told.walk_away else (accept,)
    return Moves((offer_move(told, seen, talk), *(answers if seen.public.offers else ())))


def offer_move(told: Parameters, seen: Seen, talk: int) -> Move:
    low, high = told.price_lo, told.price_hi
    made: Callable[..., Offer] = _make_offer
    if told.reading == "fair":
        fields: dict[str, Field] = {"price": Price(low, high, label=WORDS.PRICE)}
        means = (
            f"to offer a price, in dollars with two decimals, from {cents_to_dollars(low)} to {cents_to_dollars(high)}"
        )
    else:
        made = _make_offer_of_cents
        shown = example_price(seen.public.terms)
        fields = {"price_cents": Count(low, high, "cents", label=WORDS.PRICE, example=shown)}
        means = f"to offer {format_cents(shown)} (from {low} to {high} cents)"
    if talk and may_talk(told.talk, seen.seat):
        fields["message"] = Words(min(talk, MAX_MESSAGE), label=WORDS.MESSAGE, default="")
        means += ", with a short message or an empty one"
    return Move("offer", made, fields, WORDS.OFFER_A_PRICE, means)


def _make_offer(price: int, message: str = "") -> Offer:
    return Offer(price, clean_message(message))


def _make_offer_of_cents(price_cents: int, message: str = "") -> Offer:
    return _make_offer(price_cents, message)
