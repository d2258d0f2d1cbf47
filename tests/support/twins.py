"""Pairs of games that differ in a secret of one seat, which the other must not tell apart."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import msgspec

from negolab import catalog
from negolab.catalog import AnyGame
from negolab.game import SEATS, Seat


def twins(game: AnyGame, seeds: int = 16) -> list[tuple[AnyGame, AnyGame, Seat]]:
    """Find pairs of games that differ in a secret of one seat: (game, twin, the seat that must not tell them apart).

    Candidates are changes of single parameters and the presets of the same module. A pair counts if, for every seed
    tried, both deal the same observation to the seat, and for some seed a different state.
    """
    return [
        (game, twin, seat)
        for twin in [*_changed_games(game), *_other_presets(game)]
        for seat in SEATS
        if _indistinguishable(game, twin, seat, seeds)
    ]


def _indistinguishable(game: AnyGame, twin: AnyGame, seat: Seat, seeds: int) -> bool:
    differ = False
    for seed in range(seeds):
        left, right = game.deal(random.Random(seed)), twin.deal(random.Random(seed))
        if left.public != right.public or left.private[seat] != right.private[seat]:
            return False
        differ = differ or left.private != right.private
    return differ


def _other_presets(game: AnyGame) -> Iterator[AnyGame]:
    fields = type(game).__struct_fields__
    for name, changes in catalog.presets(catalog.module_of(game)).items():
        if name != game.preset and all(param in fields for param in changes):
            yield catalog.make_game(type(game), {**changes, "preset": name})


def _changed_games(game: AnyGame) -> Iterator[AnyGame]:
    for name in type(game).__struct_fields__:
        for value in _other_values(getattr(game, name)):
            try:
                changed = msgspec.structs.replace(game, **{name: value})
                changed.deal(random.Random(0))
                yield changed
            except (ValueError, TypeError):
                continue


def _other_values(value: Any) -> list[Any]:
    """Vary a value, keeping its shape, far enough that draws which use it come out differently."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int | float):
        return [2 * value + 1, value // 2, value + 100]
    if isinstance(value, tuple) and value and all(isinstance(v, int) for v in value):
        return [tuple(2 * v + 1 for v in value), tuple(v // 2 for v in value), tuple(v + 100 for v in value)]
    return []
