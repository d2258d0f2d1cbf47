"""Draws of stocks, values and hands (one per round, or fewer if `redraw` says so), and redraws of one seat's."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import pairwise, product
from typing import Any

from negolab._internal.validation import convert_value
from negolab.game import SEATS, Seat, State, other
from negolab.games.split.parameters import Parameters, Row, require
from negolab.games.split.state import BEATEN_BY, BEATS, HANDS, HIGH, LOW, Draw, Hand, Position, Private, Schedule, Units

Context = tuple[Units, Units, Units]
"""A stock, A's values and B's values."""

DOND_TOTAL = 10
"""Worth of the whole stock to each seat in Deal or No Deal."""


def draw_rounds(game: Parameters, first: Seat, rng: random.Random) -> Iterator[Draw]:
    """Yield the draws for the rounds of a match whose first speaker is `first`."""
    drawn: Draw | None = None
    winner: Seat = first
    for number in range(game.rounds):
        starter = first if number % 2 == 0 else other(first)
        if game.source == "rps":
            winner = rng.choice(SEATS) if drawn is None or game.roles == "random" else other(winner)
            drawn = _draw_hands(game, winner, rng)
        elif drawn is None or game.redraw == "all":
            drawn = _draw_round(game, starter, rng)
        elif game.redraw == "stock":
            drawn = Draw(_draw_stock(game, rng), drawn.values)
        yield drawn


def _draw_round(game: Parameters, starter: Seat, rng: random.Random) -> Draw:
    if game.source == "corpus":
        scenarios = corpus_scenarios()
        return _draw_of_context(scenarios[rng.randrange(len(scenarios))])
    if game.source == "contexts":
        assert game.contexts is not None
        return _draw_of_context(rng.choice(game.contexts))
    if game.source == "fixed":
        return Draw(_draw_stock(game, rng), _assign_fixed_rows(game, starter, rng))
    stock = _draw_stock(game, rng)
    # Neither seat is always the one whose values are made to fit.
    fitted = rng.choice(SEATS) if game.equal_totals else "B"
    while True:
        a = draw_values(game, rng)
        b = draw_partner_values(game, a, rng)
        if b is not None:
            return Draw(stock, {"A": a, "B": b} if fitted == "B" else {"A": b, "B": a})


def _draw_of_context(context: Context) -> Draw:
    stock, a, b = context
    return Draw(stock, {"A": a, "B": b})


def _draw_stock(game: Parameters, rng: random.Random) -> Units:
    return game.stock if game.stock is not None else random_composition(rng.randint(5, 7), len(game.items), rng)


def random_composition(total: int, parts: int, rng: random.Random) -> Units:
    """Split `total` into whole numbers at `parts` - 1 uniform cuts."""
    cuts = [0, *sorted(rng.randint(0, total) for _ in range(parts - 1)), total]
    return tuple([right - left for left, right in pairwise(cuts)])


def draw_values(game: Parameters, rng: random.Random) -> Units:
    """Draw one seat's values, before conditions on the pair."""
    parts = len(game.items)
    if game.source == "uniform":
        low, span = game.low, game.high - game.low + 1
        return tuple([low + int(span * rng.random()) for _ in range(parts)])
    if game.source == "dond":
        return random_composition(DOND_TOTAL, parts, rng)
    return tuple([rng.choice((HIGH, LOW)) for _ in range(parts)])


def draw_partner_values(game: Parameters, values: Units, rng: random.Random) -> Units | None:
    """Draw values for the other seat; None if the pair is rejected and must be drawn again.

    Repeated until accepted, this draws the allowed pairs with equal probability. For equal totals, only the last type
    is adjusted, which keeps the probabilities equal and rejections rare.
    """
    if game.source == "ten_one_exclusive":
        drawn = tuple([LOW if value == HIGH else HIGH for value in values])
    else:
        drawn = draw_values(game, rng)
    if game.source == "dond":
        return drawn if _is_valid_pair(values, drawn) else None
    if game.equal_totals and sum(drawn) != sum(values):
        last = drawn[-1] + sum(values) - sum(drawn)
        if game.source == "ten_one_exclusive" or not _is_possible(game, last):
            return None
        drawn = (*drawn[:-1], last)
    return None if game.conflict and drawn == values else drawn


def _is_possible(game: Parameters, value: int) -> bool:
    return game.low <= value <= game.high if game.source == "uniform" else value in (HIGH, LOW)


def _is_valid_pair(a: Units, b: Units) -> bool:
    """Return True if every type is worth something to some seat, and some type to both."""
    return all(map(any, zip(a, b, strict=True))) and any(map(all, zip(a, b, strict=True)))


def _assign_fixed_rows(game: Parameters, starter: Seat, rng: random.Random) -> dict[Seat, Units]:
    """Assign the high row, as `roles` says, to A, by a coin flip, or to the seat that does not speak first."""
    high, low = game.fixed
    owner: Seat = "A"
    if game.roles == "random":
        owner = rng.choice(SEATS)
    elif game.roles == "alternate":
        owner = other(starter)
    return {"A": high, "B": low} if owner == "A" else {"A": low, "B": high}


def _draw_hands(game: Parameters, winner: Seat, rng: random.Random) -> Draw:
    """Draw one of the three pairs of hands with this winner."""
    strong = rng.choice(HANDS)
    assert game.stock is not None
    hands: dict[Seat, Hand] = {"A": strong, "B": BEATS[strong]} if winner == "A" else {"A": BEATS[strong], "B": strong}
    return Draw(game.stock, values_of_hands(game, winner), hands)


def values_of_hands(game: Parameters, winner: Seat) -> dict[Seat, Units]:
    """Return both seats' values, given the winner of the hands."""
    return {seat: (HIGH if seat == winner else LOW,) * len(game.items) for seat in SEATS}


@lru_cache(maxsize=1)
def corpus_scenarios() -> tuple[Context, ...]:
    """Return every (counts, values of A, values of B) that the rules of the Deal or No Deal corpus allow.

    There are 5 to 7 objects, 1 to 5 of each type; together they are worth 10 to each seat; every type is worth
    something to some seat, and some type to both (Lewis et al. 2017). The corpus itself uses some of these scenarios.
    """
    return tuple(
        (counts, a, b)
        for counts in product(range(1, 6), repeat=3)
        if 5 <= sum(counts) <= 7
        for valuations in (_valuations(counts),)
        for a in valuations
        for b in valuations
        if _is_valid_pair(a, b)
    )


def _valuations(counts: Units) -> list[Units]:
    ranges = [range(DOND_TOTAL // count + 1) for count in counts]
    return [v for v in product(*ranges) if sum(n * x for n, x in zip(counts, v, strict=True)) == DOND_TOTAL]


def parse_draw(game: Parameters, plain: Mapping[str, Any]) -> Draw:
    """Parse a draw from `{"stock": {item: n}, "values": {seat: {item: v}}, "hands": {seat: hand}}`."""
    values, hands = plain.get("values", {}), plain.get("hands")
    if game.show == "hand":
        told = isinstance(hands, Mapping) and all(hands.get(seat) in HANDS for seat in SEATS)
        require(told, "hands", hands, "a hand of each seat")
    return Draw(
        _parse_units(game, plain.get("stock", {}), "stock"),
        {seat: _parse_units(game, values.get(seat, {}), f"values of {seat}") for seat in SEATS},
        {seat: hands[seat] for seat in SEATS} if hands else None,
    )


def _parse_units(game: Parameters, plain: Mapping[str, int], what: str) -> Units:
    require(plain.keys() == set(game.items), what, dict(plain), "one number for each of " + ", ".join(game.items))
    units: Units = convert_value([plain[item] for item in game.items], Row, what)
    return units


# Redraws for the blindness law: what the other seat sees must not change.

_MAX_TRIES = 2000


def vary(game: Parameters, state: Position, seat: Seat, rng: random.Random) -> Position | None:
    """Redraw what only `seat` knows; None if there is nothing, because values are public or follow from the other's."""
    if game.show == "both" or game.source in ("fixed", "ten_one_exclusive"):
        return None
    assert isinstance(state.hidden, Schedule)
    now = state.public.round - 1
    done = now if game.redraw == "all" else 0
    kept, rest = state.hidden.rounds[:done], state.hidden.rounds[done:]
    varied = _vary_hands(game, rest, seat, rng) if game.show == "hand" else _vary_values(game, rest, seat, rng)
    schedule = Schedule(kept + varied)
    private = _with_draw(state.private[seat], schedule.rounds[now], seat)
    return State(state.public, {**state.private, seat: private}, schedule)


def _with_draw(private: Private, drawn: Draw, seat: Seat) -> Private:
    """Replace the drawn part of a private state; after the end of a match, it has none."""
    values = drawn.values[seat] if private.values is not None else None
    hand = drawn.hands[seat] if private.hand is not None and drawn.hands is not None else None
    return Private(values, hand, private.ask, private.lapsed, private.earned)


def _vary_hands(game: Parameters, rounds: tuple[Draw, ...], seat: Seat, rng: random.Random) -> tuple[Draw, ...]:
    """Redraw the winners, keeping the other seat's hands."""
    varied: list[Draw] = []
    wins = False
    for drawn in rounds:
        assert drawn.hands is not None
        wins = not wins if varied and game.roles == "alternate" else rng.random() < 0.5
        against = drawn.hands[other(seat)]
        hands: dict[Seat, Hand] = {**drawn.hands, seat: BEATEN_BY[against] if wins else BEATS[against]}
        varied.append(Draw(drawn.stock, values_of_hands(game, seat if wins else other(seat)), hands))
    return tuple(varied)


def _vary_values(game: Parameters, rounds: tuple[Draw, ...], seat: Seat, rng: random.Random) -> tuple[Draw, ...]:
    """Redraw the values of `seat` in every round, or once if values are drawn once per match."""
    if game.redraw == "all":
        return tuple(_with_values(drawn, seat, _redraw_values(game, drawn, seat, rng)) for drawn in rounds)
    values = _redraw_values(game, rounds[0], seat, rng)
    return tuple(_with_values(drawn, seat, values) for drawn in rounds)


def _with_values(drawn: Draw, seat: Seat, values: Units) -> Draw:
    return Draw(drawn.stock, {**drawn.values, seat: values}, drawn.hands)


def _redraw_values(game: Parameters, drawn: Draw, seat: Seat, rng: random.Random) -> Units:
    """Redraw from the source, given the stock and the other seat's values; unchanged if no other values are
    possible."""
    own, against = drawn.values[seat], drawn.values[other(seat)]
    if game.source in ("corpus", "contexts"):
        contexts = corpus_scenarios() if game.source == "corpus" else game.contexts or ()
        return rng.choice(_compatible_values(contexts, drawn.stock, seat, against) or (own,))
    tries = (draw_partner_values(game, against, rng) for _ in range(_MAX_TRIES))
    return next((values for values in tries if values is not None), own)


@lru_cache(maxsize=256)
def _compatible_values(contexts: tuple[Context, ...], stock: Units, seat: Seat, against: Units) -> tuple[Units, ...]:
    """Return the possible values of `seat`, given the stock and the other seat's values."""
    own, opposed = (1, 2) if seat == "A" else (2, 1)
    return tuple(context[own] for context in contexts if context[0] == stock and context[opposed] == against)
