"""Where stocks, values and hands come from: one draw per round, or fewer where `redraw` says so."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import pairwise, product
from typing import TYPE_CHECKING, Any

from negolab.game import SEATS, Seat, other
from negolab.games.split.parameters import demand, is_row
from negolab.games.split.position import BEATS, HANDS, HIGH, LOW, Draw, Hand, Units

if TYPE_CHECKING:
    from negolab.games.split.rules import Split

Context = tuple[Units, Units, Units]
"""A stock, the values of A and the values of B."""

OWN_TOTAL = 10
"""What everything together is worth to each seat in Deal or No Deal."""


def draw(game: Split, first: Seat, rng: random.Random) -> Iterator[Draw]:
    """One draw after another for the rounds of a match whose first speaker is `first`."""
    drawn: Draw | None = None
    winner: Seat = first
    for number in range(game.rounds):
        starter = first if number % 2 == 0 else other(first)
        if game.source == "rps":
            winner = rng.choice(SEATS) if drawn is None or game.roles == "random" else other(winner)
            drawn = _hands(game, winner, rng)
        elif drawn is None or game.redraw == "all":
            drawn = _round(game, starter, rng)
        elif game.redraw == "stock":
            drawn = Draw(_stock(game, rng), drawn.values)
        yield drawn


def _round(game: Split, starter: Seat, rng: random.Random) -> Draw:
    if game.source == "corpus":
        scenarios = corpus_scenarios()
        return _drawn(scenarios[rng.randrange(len(scenarios))])
    if game.source == "contexts":
        assert game.contexts is not None
        return _drawn(rng.choice(game.contexts))
    if game.source == "fixed":
        return Draw(_stock(game, rng), _fixed(game, starter, rng))
    stock = _stock(game, rng)
    # Neither seat is always the one whose values are made to fit.
    fitted = rng.choice(SEATS) if game.equal_totals else "B"
    while True:
        a = row(game, rng)
        b = partner(game, a, rng)
        if b is not None:
            return Draw(stock, {"A": a, "B": b} if fitted == "B" else {"A": b, "B": a})


def _drawn(context: Context) -> Draw:
    stock, a, b = context
    return Draw(stock, {"A": a, "B": b})


def _stock(game: Split, rng: random.Random) -> Units:
    return game.stock if game.stock is not None else gaps(rng.randint(5, 7), len(game.items), rng)


def gaps(total: int, parts: int, rng: random.Random) -> Units:
    """The gaps that `parts` - 1 uniform cuts leave in 0 .. `total`: whole numbers that add up to it."""
    cuts = [0, *sorted(rng.randint(0, total) for _ in range(parts - 1)), total]
    return tuple([right - left for left, right in pairwise(cuts)])


def row(game: Split, rng: random.Random) -> Units:
    """One seat's values, before the pair is looked at."""
    parts = len(game.items)
    if game.source == "uniform":
        low, span = game.low, game.high - game.low + 1
        return tuple([low + int(span * rng.random()) for _ in range(parts)])
    if game.source == "dond":
        return gaps(OWN_TOTAL, parts, rng)
    return tuple([rng.choice((HIGH, LOW)) for _ in range(parts)])


def partner(game: Split, values: Units, rng: random.Random) -> Units | None:
    """Values for the other seat, or None: the pair is rejected and drawn again.

    Repeated until it is accepted this draws from the wanted pairs with equal chances. For equal totals only the last
    type is made to fit, which keeps the chances equal and the rejections few.
    """
    if game.source == "ten_one_exclusive":
        drawn = tuple([LOW if value == HIGH else HIGH for value in values])
    else:
        drawn = row(game, rng)
    if game.source == "dond":
        return drawn if _is_worth_talking(values, drawn) else None
    if game.equal_totals and sum(drawn) != sum(values):
        last = drawn[-1] + sum(values) - sum(drawn)
        if game.source == "ten_one_exclusive" or not _is_possible(game, last):
            return None
        drawn = (*drawn[:-1], last)
    return None if game.conflict and drawn == values else drawn


def _is_possible(game: Split, value: int) -> bool:
    return game.low <= value <= game.high if game.source == "uniform" else value in (HIGH, LOW)


def _is_worth_talking(a: Units, b: Units) -> bool:
    """Every type is worth something to a seat, and some type to both."""
    return all(map(any, zip(a, b, strict=True))) and any(map(all, zip(a, b, strict=True)))


def _fixed(game: Split, starter: Seat, rng: random.Random) -> dict[Seat, Units]:
    """The high row goes to A, by a coin flip, or to the seat that does not speak first."""
    high, low = game.fixed
    owner: Seat = "A"
    if game.roles == "random":
        owner = rng.choice(SEATS)
    elif game.roles == "alternate":
        owner = other(starter)
    return {"A": high, "B": low} if owner == "A" else {"A": low, "B": high}


def _hands(game: Split, winner: Seat, rng: random.Random) -> Draw:
    """One of the three pairs of hands with this winner."""
    strong = rng.choice(HANDS)
    assert game.stock is not None
    hands: dict[Seat, Hand] = {"A": strong, "B": BEATS[strong]} if winner == "A" else {"A": BEATS[strong], "B": strong}
    return Draw(game.stock, worth(game, winner), hands)


def worth(game: Split, winner: Seat) -> dict[Seat, Units]:
    """Values by the winner of the hands."""
    return {seat: (HIGH if seat == winner else LOW,) * len(game.items) for seat in SEATS}


@lru_cache(maxsize=1)
def corpus_scenarios() -> tuple[Context, ...]:
    """Every (counts, values of A, values of B) that the rules by which the Deal or No Deal corpus was made allow.

    5 to 7 objects, 1 to 5 of each type; everything is worth 10 to each seat; every type is worth something to a seat
    and some type to both (Lewis et al. 2017). The corpus itself uses a part of them.
    """
    return tuple(
        (counts, a, b)
        for counts in product(range(1, 6), repeat=3)
        if 5 <= sum(counts) <= 7
        for valuations in (_valuations(counts),)
        for a in valuations
        for b in valuations
        if _is_worth_talking(a, b)
    )


def _valuations(counts: Units) -> list[Units]:
    ranges = [range(OWN_TOTAL // count + 1) for count in counts]
    return [v for v in product(*ranges) if sum(n * x for n, x in zip(counts, v, strict=True)) == OWN_TOTAL]


def from_plain(game: Split, plain: Mapping[str, Any]) -> Draw:
    """A draw as plain data names it: `{"stock": {item: n}, "values": {seat: {item: v}}, "hands": {seat: hand}}`."""
    given, hands = plain.get("values", {}), plain.get("hands")
    if game.show == "hand":
        told = isinstance(hands, Mapping) and all(hands.get(seat) in HANDS for seat in SEATS)
        demand(told, "hands", hands, "a hand of each seat")
    return Draw(
        _units(game, plain.get("stock", {}), "stock"),
        {seat: _units(game, given.get(seat, {}), f"values of {seat}") for seat in SEATS},
        {seat: hands[seat] for seat in SEATS} if hands else None,
    )


def _units(game: Split, plain: Mapping[str, int], what: str) -> Units:
    demand(plain.keys() == set(game.items), what, dict(plain), "one number for each of " + ", ".join(game.items))
    units = tuple([plain[item] for item in game.items])
    demand(is_row(units, len(units)), what, units, "whole numbers")
    return units
