"""The two private numbers: drawn at the start, and redrawn to ask what the other seat could tell apart."""

from __future__ import annotations

import random
from collections.abc import Sequence

from negolab.games.bargaining.state import Told


def draw(numbers: Sequence[int], rng: random.Random) -> int:
    """One of `numbers`; a single one draws nothing from `rng`."""
    return numbers[0] if len(numbers) == 1 else rng.choice(numbers)


def possible(told: Told, lo: int, hi: int) -> Sequence[int]:
    """The numbers from `lo` to `hi` that agree with what the other seat was told of them; a claim rules out none."""
    if told[0] == "set":
        return [int(number) for number in told[1:] if lo <= int(number) <= hi]
    if told[0] in ("range", "verified"):
        return range(max(lo, int(told[1])), min(hi, int(told[2])) + 1)
    return range(lo, hi + 1)
