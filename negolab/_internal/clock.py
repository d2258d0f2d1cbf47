"""The clock that negolab goes by: this machine's, except that it never goes back.

If the machine's clock is set back, by NTP or by hand, the time continues from where it was, so nobody's limit grows,
and what came later is later. If it is set forward, or the machine slept, the time follows.
"""

from __future__ import annotations

import time as machine

_ahead = float("-inf")
"""Seconds by which the time is ahead of `monotonic`."""


def time() -> float:
    """Return the time in seconds since 1970."""
    return not_before(machine.time())


def not_before(at: float) -> float:
    """Continue from `at`, in seconds since 1970, unless it is already later, and return the time."""
    global _ahead
    _ahead = max(_ahead, at - machine.monotonic())
    return machine.monotonic() + _ahead
