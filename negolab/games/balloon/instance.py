"""Instances: items with efforts, a LIMIT, and what each item is worth to each seat; and how they are drawn."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from negolab.game import SEATS, Seat
from negolab.games.balloon.checks import check, whole

Mode = Literal["equal", "inverse", "independent"]
Correlation = Literal["uncorrelated", "weakly-correlated", "strongly-correlated", "subset-sum", "inversely-correlated"]

MOST_ITEMS = 300
_WORDS = tuple(f"{letter}{number:02}" for letter in "ABC" for number in range(100))


class Instance(msgspec.Struct, frozen=True):
    """An explicit start. The order of each mapping is kept: prompts list the items in it."""

    effort: dict[str, int]
    limit: int
    importance: dict[Seat, dict[str, int]]

    def __post_init__(self) -> None:
        if not 1 <= len(self.effort) <= MOST_ITEMS:
            raise ValueError(f"effort must have 1 to {MOST_ITEMS} items, not {len(self.effort)}")
        for name in self.effort:
            _check_name(name)
        _check_numbers("effort", self.effort, 1)
        check("limit", self.limit, whole(self.limit, 0), "an integer of at least 0")
        if set(self.importance) != set(SEATS):
            raise ValueError(f"importance must have the seats A and B, not {list(self.importance)}")
        for seat, own in self.importance.items():
            if own.keys() != self.effort.keys():
                odd = sorted(own.keys() ^ self.effort.keys(), key=str)
                raise ValueError(f"importance of {seat} must have the same items as effort; not in both: {odd[:5]}")
            _check_numbers(f"importance of {seat}", own, 0)


def _check_name(name: Any) -> None:
    if not isinstance(name, str) or not name:
        raise ValueError(f"an item's name must be a non-empty string, not {name!r}")
    if "{" in name or "}" in name or len((name + ".").splitlines()) > 1:
        raise ValueError(f"an item's name must be without braces and line breaks, not {name!r}")
    if any("\ud800" <= letter <= "\udfff" for letter in name):
        raise ValueError(f"an item's name must be writable as UTF-8, not {name!r}")


def _check_numbers(what: str, numbers: Mapping[str, int], least: int) -> None:
    for name, number in numbers.items():
        if not whole(number, least):
            raise ValueError(f"{what} must be integers of at least {least}, not {number!r} for {name!r}")


def uncorrelated() -> dict[Seat, Correlation]:
    """The kind of the published instances, for both seats."""
    return {"A": "uncorrelated", "B": "uncorrelated"}


def draw(
    rng: random.Random,
    *,
    items: int,
    effort_range: tuple[int, int],
    limit_ratio: float,
    correlation: Mapping[Seat, Correlation],
    mode: Mode,
    importance_seed: int | None,
    in_item_order: bool,
) -> Instance:
    """An instance: names (a letter and two digits), then efforts, then importances. With an `importance_seed` these
    have generators of their own, so that they repeat from one instance to the next."""
    low, high = effort_range
    effort = {name: rng.randint(low, high) for name in rng.sample(_WORDS, items)}
    seed = importance_seed
    rngs = (rng, rng) if seed is None else (random.Random(seed), random.Random(seed + 1))
    own = importances(effort, correlation["A"], correlation["B"], mode, *rngs)
    if in_item_order:
        own["B"] = {name: own["B"][name] for name in effort}
    return Instance(effort, limit_of(effort, limit_ratio), own)


def limit_of(effort: Mapping[str, int], ratio: float) -> int:
    """The LIMIT: `ratio` of the total effort, rounded down, but at least one item fits."""
    return max(int(ratio * sum(effort.values())), min(effort.values()))


def importances(
    effort: Mapping[str, int],
    correlation_a: Correlation,
    correlation_b: Correlation,
    mode: Mode,
    rng_a: random.Random,
    rng_b: random.Random,
) -> dict[Seat, dict[str, int]]:
    """What each item is worth to each seat, as clembench makes it (Pisinger's knapsack classes).

    `inverse` turns A's ranking around: B's mapping then rises by value, its order no longer that of the items.
    """
    a = _worths(effort, correlation_a, rng_a)
    if mode == "equal":
        b = dict(a)
    elif mode == "independent":
        b = _worths(effort, correlation_b, rng_b)
    else:
        rising = sorted(a, key=a.__getitem__)
        b = {mirror: a[name] for mirror, name in zip(reversed(rising), rising, strict=True)}
    return {"A": a, "B": b}


def _worths(effort: Mapping[str, int], kind: Correlation, rng: random.Random) -> dict[str, int]:
    top = max(effort.values())
    return {name: worth(weight, top, kind, rng) for name, weight in effort.items()}


def worth(weight: int, top: int, kind: Correlation, rng: random.Random) -> int:
    """One item's importance by its effort `weight` and the largest effort `top`."""
    near = top // 10
    match kind:
        case "uncorrelated":
            return rng.randint(1, top)
        case "weakly-correlated":
            return max(1, weight + rng.randint(-near, near))
        case "strongly-correlated":
            return weight + near
        case "subset-sum":
            return weight
        case "inversely-correlated":
            return top + 1 - weight
