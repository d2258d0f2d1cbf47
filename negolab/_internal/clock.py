"""The time by which negolab goes: this machine's, but it never goes back.

Where the machine's clock is set back, by NTP or by hand, the time goes on from where it was: nobody's limit grows, and
what came later is later. Where it is set forward, or the machine slept, the time follows.
"""

from __future__ import annotations

import time as machine

_ahead = float("-inf")
"""Seconds by which the time is ahead of `monotonic`."""


def time() -> float:
    """Return the time in seconds since 1970."""
    return not_before(machine.time())


def not_before(at: float) -> float:
    """Go on from `at`, in seconds since 1970, unless it is later already, and return the time."""
    global _ahead
    _ahead = max(_ahead, at - machine.monotonic())
    return machine.monotonic() + _ahead
