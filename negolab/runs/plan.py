"""The plan of a run: its games, each with an ID, the seed of its deal and the players by seat."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from negolab import catalog
from negolab._internal.validation import Count
from negolab.catalog import AnyGame
from negolab.game import SEATS, Seat
from negolab.players.lookup import PlayerSpec, resolve_players


def derive_seed(seed: int, *names: str | int) -> int:
    """Derive a 48-bit seed for one named purpose, so that streams are independent without a global generator.

    Example:
        >>> derive_seed(0, "deal", 1) == derive_seed(0, "deal", 1) != derive_seed(0, "deal", 2)
        True
    """
    text = "/".join(map(str, (seed, *names)))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:6], "big")


class Pairing(msgspec.Struct, frozen=True, kw_only=True):
    """One game of a plan: its ID, the seed of its deal, and the players' names by seat."""

    id: str
    seed: int
    players: dict[Seat, str]


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """`n` games of `a` against `b`, as stored in a manifest.

    With `swap`, games 2k and 2k+1 are one deal played from both seats, so `n` must be even. With `repeats`, each draw
    is played that many times in each seating.
    """

    game: str
    preset: str | None
    params: dict[str, Any]
    a: str
    b: str
    n: int
    seed: int
    swap: bool = False
    repeats: Count | UnsetType = UNSET

    def __post_init__(self) -> None:
        if self.n < 1:
            raise ValueError(f"n must be at least 1, not {self.n}")
        if self.swap and self.n % 2:
            raise ValueError(f"n must be even to swap seats, not {self.n}")

    @property
    def games_a_draw(self) -> int:
        """Number of games on one draw of chance."""
        return (2 if self.swap else 1) * (self.repeats or 1)

    def pairings(self) -> Iterator[Pairing]:
        """Yield the games; their IDs do not depend on `n`, so that a plan can grow."""
        parts = [self.game, self.preset, self.params, self.a, self.b, self.seed, self.swap]
        identity = msgspec.json.encode(parts + [self.repeats] * bool(self.repeats), order="sorted")
        prefix = hashlib.sha256(identity).hexdigest()[:16]
        for i in range(self.n):
            is_swapped = self.swap and i % 2 == 1
            players: dict[Seat, str] = {"A": self.b, "B": self.a} if is_swapped else {"A": self.a, "B": self.b}
            deal = derive_seed(self.seed, "deal", i // self.games_a_draw)
            yield Pairing(id=f"{prefix}-{i:07d}", seed=deal, players=players)


def resume_plan(game: AnyGame, plan: Plan, stored: Mapping[str, Any]) -> tuple[AnyGame, Plan]:
    """Return the game and plan for resuming a run with the stored plan `stored` (`{}`: a new run).

    A parameter that was added to the game later is left out of both, so that the games keep their IDs.
    """
    params = stored.get("params", plan.params)
    params_then = {
        name: value for name, value in plan.params.items() if name in params or name not in game.legacy_defaults
    }
    return catalog.with_legacy_defaults(game, params), msgspec.structs.replace(plan, params=params_then)


def make_plan(
    game: AnyGame, a: PlayerSpec, b: PlayerSpec, *, n: int = 100, seed: int = 0, swap: bool = False, repeats: int = 1
) -> Plan:
    """Make a plan of `n` games of `a` against `b`; raise ValueError if a player does not exist or cannot play its
    seats."""
    first, second = resolve_players(game, a, b)
    for player, seats in ((first, SEATS if swap else SEATS[:1]), (second, SEATS if swap else SEATS[1:])):
        for seat in seats:
            player.check_seat(seat)
    if type(n) is not int or type(seed) is not int:
        raise ValueError(f"n and seed must be whole numbers, not {n!r} and {seed!r}")
    params = catalog.parameters(game)
    return Plan(
        game=catalog.game_id(game),
        preset=game.preset,
        params=params,
        a=first.name,
        b=second.name,
        n=n,
        seed=seed,
        swap=swap,
        repeats=UNSET if repeats == 1 else repeats,
    )
