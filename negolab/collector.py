"""The collector of garbage while thousands of calls are in flight."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

YOUNG = 20_000
"""New objects at which it looks: a few megabytes."""

_lock = threading.Lock()
_runs = 0
_before = gc.get_threshold()


@contextmanager
def seldom() -> Iterator[None]:
    """Let it look seldom, until the last of those who want so has ended: what is there already stays, and what calls in
    flight hold is in use. Else it takes a twentieth of the processor's time, milliseconds at once, and finds nothing.
    """
    global _runs, _before
    with _lock:
        if not _runs:
            _before = gc.get_threshold()
            gc.freeze()
            if _before[0]:  # 0: it is off
                gc.set_threshold(max(YOUNG, _before[0]), *_before[1:])
        _runs += 1
    try:
        yield
    finally:
        with _lock:
            _runs -= 1
            if not _runs:
                gc.set_threshold(*_before)
                gc.unfreeze()
