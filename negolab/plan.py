"""What a batch will play, before it is played: its games, each with an id, a deal and who sits where."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import msgspec

from negolab import catalog
from negolab.catalog import AnyGame
from negolab.game import Seat
from negolab.players.player import player


def derived(seed: int, *names: str | int) -> int:
    """A 48-bit seed for one named purpose, from the plan's seed: independent streams without a global generator."""
    text = "/".join(map(str, (seed, *names)))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:6], "big")


class Pairing(msgspec.Struct, frozen=True, kw_only=True):
    """One game of a batch: its id, the seed of its deal, and the players' names by seat."""

    id: str
    seed: int
    players: dict[Seat, str]


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """A batch that can be written down: `n` games of `a` against `b`. With `swap`, games 2k and 2k+1 are one deal
    played from both seats, so `n` must be even."""

    game: str
    preset: str | None
    params: dict[str, Any]
    a: str
    b: str
    n: int
    seed: int
    swap: bool = False

    def __post_init__(self) -> None:
        if self.n < 1:
            raise ValueError(f"n must be at least 1, not {self.n}")
        if self.swap and self.n % 2:
            raise ValueError(f"n must be even to swap seats, not {self.n}")

    def pairings(self) -> Iterator[Pairing]:
        """The games, each with an id that does not depend on the order or number played, so that a plan can grow."""
        rest = msgspec.json.encode(
            [self.game, self.preset, self.params, self.a, self.b, self.seed, self.swap], order="sorted"
        )
        prefix = hashlib.sha256(rest).hexdigest()[:16]
        for i in range(self.n):
            turned = self.swap and i % 2 == 1
            players: dict[Seat, str] = {"A": self.b, "B": self.a} if turned else {"A": self.a, "B": self.b}
            deal = derived(self.seed, "deal", i // 2 if self.swap else i)
            yield Pairing(id=f"{prefix}-{i:07d}", seed=deal, players=players)


def plan_of(game: AnyGame, a: str, b: str, *, n: int = 100, seed: int = 0, swap: bool = False) -> Plan:
    """The plan of `n` games of `a` against `b`; `ValueError` if a player does not exist or cannot play the game."""
    for name in (a, b):
        player(name, game)
    if type(n) is not int or type(seed) is not int:
        raise ValueError(f"n and seed must be whole numbers, not {n!r} and {seed!r}")
    plain = catalog.parameters(game)
    return Plan(game=catalog.game_id(game), preset=game.preset, params=plain, a=a, b=b, n=n, seed=seed, swap=swap)
