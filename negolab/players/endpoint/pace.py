"""How fast units may go, a call or a token each: evenly, with a little room to catch up."""

from __future__ import annotations

from math import inf

MINUTE = 60.0
SLACK = 0.25
"""Seconds of a declared rate that may be caught up after a delay."""
STRICT = 0.992
"""Share of the rate that is used where nothing is caught up: what is sent evenly does not arrive quite evenly."""


class Pace:
    """Lets `rate` units a second go. A delay of up to `slack` seconds is caught up, a longer one is lost, so that no
    burst follows a pause. A unit that costs more than is left goes, and the next one waits for it."""

    def __init__(self, rate: float = inf, slack: float = SLACK) -> None:
        self.rate = rate
        self.opens = -inf
        """The clock's time from which the next unit may go."""
        self._slack = slack

    @classmethod
    def a_minute(cls, units: float | None) -> Pace:
        """At most so many single units in any minute: what can be caught up is taken off the rate beforehand."""
        return cls() if units is None else cls(units / (MINUTE + SLACK))

    def take(self, now: float, units: float = 1.0) -> None:
        """Note that units go now."""
        if self.rate < inf:
            # The very first unit finds no unused time to catch up.
            since = now if self.opens == -inf else max(self.opens, now - self._slack)
            self.opens = since + units / self.rate

    def strict(self) -> None:
        """Catch up nothing any more: the other side takes no two units closer together than the rate says."""
        if self._slack:
            self._slack = 0.0
            self.rate *= STRICT

    def correct(self, units: float) -> None:
        """So many more units (fewer: below 0) went than was noted."""
        if self.rate < inf:
            self.opens += units / self.rate
