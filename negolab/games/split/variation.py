"""The same match with only what one seat alone knows drawn anew: what the other seat sees must not change."""

from __future__ import annotations

import random
from functools import lru_cache
from typing import TYPE_CHECKING

from negolab.game import Seat, State, other
from negolab.games.split.position import BEATEN_BY, BEATS, Draw, Hand, Position, Private, Schedule, Units
from negolab.games.split.sources import Context, corpus_scenarios, partner, worth

if TYPE_CHECKING:
    from negolab.games.split.rules import Split

_TRIES = 2000


def vary(game: Split, state: Position, seat: Seat, rng: random.Random) -> Position | None:
    """None where a seat knows nothing alone: values are public, or the other's follow from its own."""
    if game.show == "both" or game.source in ("fixed", "ten_one_exclusive"):
        return None
    assert isinstance(state.hidden, Schedule)
    now = state.public.round - 1
    done = now if game.redraw == "all" else 0
    kept, rest = state.hidden.rounds[:done], state.hidden.rounds[done:]
    varied = _hands(game, rest, seat, rng) if game.show == "hand" else _valued(game, rest, seat, rng)
    schedule = Schedule(kept + varied)
    private = _private(state.private[seat], schedule.rounds[now], seat)
    return State(state.public, {**state.private, seat: private}, schedule)


def _private(private: Private, drawn: Draw, seat: Seat) -> Private:
    """The same private state over another draw; nothing is drawn for a match that is over."""
    values = drawn.values[seat] if private.values is not None else None
    hand = drawn.hands[seat] if private.hand is not None and drawn.hands is not None else None
    return Private(values, hand, private.ask, private.lapsed, private.earned)


def _hands(game: Split, rounds: tuple[Draw, ...], seat: Seat, rng: random.Random) -> tuple[Draw, ...]:
    """Other winners, against the same hands of the other seat."""
    varied: list[Draw] = []
    wins = False
    for drawn in rounds:
        assert drawn.hands is not None
        wins = not wins if varied and game.roles == "alternate" else rng.random() < 0.5
        against = drawn.hands[other(seat)]
        hands: dict[Seat, Hand] = {**drawn.hands, seat: BEATEN_BY[against] if wins else BEATS[against]}
        varied.append(Draw(drawn.stock, worth(game, seat if wins else other(seat)), hands))
    return tuple(varied)


def _valued(game: Split, rounds: tuple[Draw, ...], seat: Seat, rng: random.Random) -> tuple[Draw, ...]:
    """Other values of `seat` in every round; the same in all of them where they are drawn once a match."""
    if game.redraw == "all":
        return tuple(_with(drawn, seat, _values(game, drawn, seat, rng)) for drawn in rounds)
    values = _values(game, rounds[0], seat, rng)
    return tuple(_with(drawn, seat, values) for drawn in rounds)


def _with(drawn: Draw, seat: Seat, values: Units) -> Draw:
    return Draw(drawn.stock, {**drawn.values, seat: values}, drawn.hands)


def _values(game: Split, drawn: Draw, seat: Seat, rng: random.Random) -> Units:
    """Drawn from the source, given the stock and the other seat's values; as they were if nothing else fits."""
    own, against = drawn.values[seat], drawn.values[other(seat)]
    if game.source in ("corpus", "contexts"):
        contexts = corpus_scenarios() if game.source == "corpus" else game.contexts or ()
        return rng.choice(_fitting(contexts, drawn.stock, seat, against) or (own,))
    tries = (partner(game, against, rng) for _ in range(_TRIES))
    return next((values for values in tries if values is not None), own)


@lru_cache(maxsize=256)
def _fitting(contexts: tuple[Context, ...], stock: Units, seat: Seat, against: Units) -> tuple[Units, ...]:
    """What `seat` may value the types at where the other seat's values are these."""
    own, opposed = (1, 2) if seat == "A" else (2, 1)
    return tuple(context[own] for context in contexts if context[0] == stock and context[opposed] == against)
