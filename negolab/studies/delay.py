"""Simulated thinking time of automated players."""

from __future__ import annotations

import random
from math import exp, isfinite, log

from negolab._internal.validation import TomlTable


class Delay(TomlTable, frozen=True):
    """Simulated thinking time of an automated player: log-normal, clipped to `least` ... `most` seconds."""

    median: float = 0.0
    """Seconds; 0: no delay."""
    spread: float = 0.0
    """Standard deviation of the logarithm."""
    least: float = 0.0
    most: float = 60.0

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if not (isfinite(value) and value >= 0):
                raise ValueError(f"{name} must be a number of 0 or more, not {value:g}")
        if self.median and not self.least <= self.median <= self.most:
            raise ValueError(f"median must lie between least and most, {self.least:g} to {self.most:g} s")

    def seconds(self, rng: random.Random) -> float:
        """Draw a delay in seconds; takes one draw from `rng` in any case, so that later draws stay the same."""
        drawn = rng.gauss(0.0, 1.0)
        if self.median == 0:
            return 0.0
        # `exp` overflows beyond about 709; so far out the bounds decide anyway.
        power = min(max(log(self.median) + self.spread * drawn, -700.0), 700.0)
        return min(max(exp(power), self.least), self.most)
