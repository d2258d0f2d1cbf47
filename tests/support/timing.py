"""Growth of time with the length of what is read, shown by a doubling series instead of a limit in seconds."""

from __future__ import annotations

import time
from collections.abc import Callable


def grows_linearly(prepare: Callable[[int], Callable[[], object]], length: int) -> bool:
    """Check that eight times the length takes less than sixteen times as long: 8 if linear, 64 if quadratic.

    Args:
        prepare: Makes, for a length, what is timed.
        length: The shorter one, such that it takes a millisecond or more.
    """

    def cpu_seconds(run: Callable[[], object]) -> float:
        """The least of three readings, which a busy machine lengthens least."""
        took = []
        for _ in range(3):
            began = time.process_time()
            run()
            took.append(time.process_time() - began)
        return min(took)

    return cpu_seconds(prepare(8 * length)) < 16 * max(cpu_seconds(prepare(length)), 0.001)
