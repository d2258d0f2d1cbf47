"""Balloon instances, and how they are drawn: items with efforts, a LIMIT, and each seat's importances."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from negolab._internal.validation import Name, check_fields
from negolab.game import SEATS, Seat

Mode = Literal["equal", "inverse", "independent"]
Correlation = Literal["uncorrelated", "weakly-correlated", "strongly-correlated", "subset-sum", "inversely-correlated"]

MOST_ITEMS = 300
_ITEM_NAMES = tuple(f"{letter}{number:02}" for letter in "ABC" for number in range(100))


MANY_ITEMS, LARGEST = 20, 2_200
"""With more than `MANY_ITEMS` items, the largest effort or importance, so that a seat's best set is found in
seconds."""


class Instance(msgspec.Struct, frozen=True):
    """An explicit instance. Each mapping keeps its order, in which prompts list the items."""

    effort: dict[Name, int]
    limit: Annotated[int, Meta(ge=0)]
    importance: dict[Seat, dict[str, int]]

    def __post_init__(self) -> None:
        check_fields(self)
        if not 1 <= len(self.effort) <= MOST_ITEMS:
            raise ValueError(f"effort must have 1 to {MOST_ITEMS} items, not {len(self.effort)}")
        for name in self.effort:
            _check_name(name)
        _check_numbers("effort", self.effort, 1)
        if set(self.importance) != set(SEATS):
            raise ValueError(f"importance must have the seats A and B, not {list(self.importance)}")
        for seat, own in self.importance.items():
            if own.keys() != self.effort.keys():
                odd = sorted(own.keys() ^ self.effort.keys(), key=str)
                raise ValueError(f"importance of {seat} must have the same items as effort; not in both: {odd[:5]}")
            _check_numbers(f"importance of {seat}", own, 0)


def _check_name(name: str) -> None:
    if not name:
        raise ValueError("an item's name must not be empty")
    if "{" in name or "}" in name or len((name + ".").splitlines()) > 1:
        raise ValueError(f"an item's name must not contain braces or line breaks, not {name!r}")
    if any("\ud800" <= letter <= "\udfff" for letter in name):
        raise ValueError(f"an item's name must be writable as UTF-8, not {name!r}")


def _check_numbers(what: str, numbers: Mapping[str, int], least: int) -> None:
    for name, number in numbers.items():
        if number < least:
            raise ValueError(f"{what} must be whole numbers >= {least}, not {number!r} for {name!r}")
        if len(numbers) > MANY_ITEMS and number > LARGEST:
            raise ValueError(
                f"{what} must be at most {LARGEST:,} with more than {MANY_ITEMS} items, not {number!r} for {name!r}"
            )


def uncorrelated() -> dict[Seat, Correlation]:
    """Return the correlation in the published instances, for both seats."""
    return {"A": "uncorrelated", "B": "uncorrelated"}


def draw_instance(
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
    """Draw an instance: names (a letter and two digits), then efforts, then importances.

    With an `importance_seed`, the importances have their own generators and so repeat across instances.
    """
    low, high = effort_range
    effort = {name: rng.randint(low, high) for name in rng.sample(_ITEM_NAMES, items)}
    seed = importance_seed
    rngs = (rng, rng) if seed is None else (random.Random(seed), random.Random(seed + 1))
    own = importances(effort, correlation["A"], correlation["B"], mode, *rngs)
    if in_item_order:
        own["B"] = {name: own["B"][name] for name in effort}
    return Instance(effort, effort_limit(effort, limit_ratio), own)


def effort_limit(effort: Mapping[str, int], ratio: float) -> int:
    """Return the LIMIT: `ratio` times the total effort, rounded down, but at least the smallest effort."""
    return max(int(ratio * sum(effort.values())), min(effort.values()))


def importances(
    effort: Mapping[str, int],
    correlation_a: Correlation,
    correlation_b: Correlation,
    mode: Mode,
    rng_a: random.Random,
    rng_b: random.Random,
) -> dict[Seat, dict[str, int]]:
    """Draw each item's importance to both seats as clembench does (Pisinger's knapsack classes).

    `inverse` reverses A's ranking: B's mapping is then sorted by value and not in item order.
    """
    a = _draw_importances(effort, correlation_a, rng_a)
    if mode == "equal":
        b = dict(a)
    elif mode == "independent":
        b = _draw_importances(effort, correlation_b, rng_b)
    else:
        rising = sorted(a, key=a.__getitem__)
        b = {mirror: a[name] for mirror, name in zip(reversed(rising), rising, strict=True)}
    return {"A": a, "B": b}


def _draw_importances(effort: Mapping[str, int], kind: Correlation, rng: random.Random) -> dict[str, int]:
    top = max(effort.values())
    return {name: draw_importance(weight, top, kind, rng) for name, weight in effort.items()}


def draw_importance(weight: int, top: int, kind: Correlation, rng: random.Random) -> int:
    """Draw one item's importance from its effort `weight` and the largest effort `top`."""
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
